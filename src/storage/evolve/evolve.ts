/** Brings a database to the state that a file asks for, once, however many nodes start. */

import type { Column, Model, Resource } from '../../schema/model.ts';
import { keptAs } from '../../schema/values.ts';
import type { Derived } from '../derived.ts';
import { NotUnique } from '../faults.ts';
import { quote } from '../sql/dialect.ts';
import type { Program } from '../storage.ts';
import { statements } from './applying.ts';
import type { Comparison } from './compare.ts';
import { type Evolvable, ReadOnly, type Widening } from './database.ts';
import { deprecations, forgetDeprecations, pastOf, remember, rememberDeprecations } from './history.ts';
import { build, buildAll, dropAhead, findsBy, isLateIndex, type LateIndex } from './indexing.ts';
import { look, lookAhead } from './looking.ts';
import { catchUp, catchUpByLog, mend, mendAll, untilFew } from './mending.ts';
import { add, release, settle } from './raising.ts';
import { EvolutionRefused, type Refusal } from './refusals.ts';
import { describe, type Step, typeName } from './steps.ts';
import { KEPT } from './tables.ts';
import type { Versions } from './versions.ts';
import { endLog, isAbandoned, WriteLog, WriteLogLost } from './write-log.ts';

export interface Evolution {
  /** What was done, in words. */
  readonly applied: readonly string[];
  /** What was not asked for again, in words. */
  readonly held: readonly string[];
  readonly surplus: readonly string[];
  /** By `Type.field`. */
  readonly deprecatedSince: ReadonlyMap<string, Date>;
  /** Whether the database can only be read. */
  readonly readOnly: boolean;
}

/**
 * Applies what is safe and refuses the rest; `seed` runs when the database is new.
 *
 * A file that was applied before, and that another has followed, gives up what it needs to but asks for nothing again
 * unless it `insists`, and the other stays the newest: a node that starts again in the middle of a rollout must not
 * make the others fail.
 */
export async function evolve(
  database: Evolvable,
  model: Model,
  seed: () => Program<void>,
  insists = false,
): Promise<Evolution> {
  const applied: string[] = [];
  const evolution = (async () => {
    for (let losses = 0, isAhead = true; ; ) {
      const first = await attempt(database, model, seed, insists);
      if (first === 'busy') {
        await Bun.sleep(OTHERS_MS);
        continue;
      }
      if (!('unmended' in first)) return { ...first, applied: [...applied, ...first.applied] };
      const { unmended, fresh, finders, log } = first;
      applied.push(...first.applied);
      try {
        const seen = await mendAll(database, unmended, log);
        // Before older nodes may write no longer, and not while nobody does; when all have their values, as that is faster.
        const built = finders.filter(({ index }) => isAhead || !index.unique);
        applied.push(...(await buildAll(database, built, log)));
        const second = await attempt(database, model, seed, insists, { unmended, fresh, log, seen });
        return { ...second, applied: [...applied, ...second.applied] };
      } catch (error) {
        await log?.abandon(database);
        // Two have the same value, which the next look tells; or one has the value that another had until it was written.
        if (error instanceof NotUnique && isAhead && database.ddl.buildsIndexesConcurrently) {
          await dropAhead(database, unmended);
          isAhead = false;
        } else if (!(error instanceof WriteLogLost) || ++losses === MOST_LOSSES) throw error;
      }
    }
  })();
  return evolution.catch((error) => {
    if (error instanceof ReadOnly) return asItStands(database, model);
    throw error;
  });
}

/** How often a node asks whether another is done with the records. */
const OTHERS_MS = 1000;
/** So often it begins again because another has taken its place. */
const MOST_LOSSES = 5;
/** How long it catches up with those who write before it looks at what they wrote. */
const CATCH_UP_MS = 5000;

/** There is room for what is kept beside records, who can be given it before anything else changes. */
interface Prepared {
  readonly applied: readonly string[];
  readonly unmended: readonly Derived[];
  /** Columns that were added for it: records have their defaults there, or nothing. */
  readonly fresh: ReadonlySet<Column>;
  /** What finds records by it, and can be made while others write. */
  readonly finders: readonly LateIndex[];
  /** Tells what is written from now on, where the database does. */
  readonly log: WriteLog | undefined;
}

/** What records have been given that is kept beside them; a look is enough, for what older nodes wrote since. */
interface Mended extends Pick<Prepared, 'unmended' | 'fresh' | 'log'> {
  /** Where there is no log. */
  readonly seen: ReadonlyMap<Derived, Versions>;
}

/** `busy`: another node is bringing records up to date. */
function attempt<M extends Mended | undefined = undefined>(
  database: Evolvable,
  model: Model,
  seed: () => Program<void>,
  insists: boolean,
  mended?: M,
): Promise<Evolution | (M extends Mended ? never : Prepared | 'busy')>;
async function attempt(
  database: Evolvable,
  model: Model,
  seed: () => Program<void>,
  insists: boolean,
  mended?: Mended,
): Promise<Evolution | Prepared | 'busy'> {
  const { ddl } = database;
  const isMended = mended !== undefined;
  const log = mended?.log;
  return database.exclusively(async (session) => {
    await log?.keep(session);
    const past = await pastOf(session, model);
    const catchUpNow = (until?: number) =>
      log ? catchUpByLog(session, mended.unmended, log, until) : undefined;
    await catchUpNow(ddl.keepsWritersOut ? undefined : performance.now() + CATCH_UP_MS);
    const looking = { insists, isMended, fresh: mended?.fresh };
    const comparison = await look(session, ddl, model, past, looking);
    const { steps, refusals, rewrites, held, surplus, isOlder } = comparison;
    refuse(refusals, rewrites);
    const { added, gone, unmended } = comparison.duties;
    /** Looks again, at what was written since. */
    const lookAgain = async (until?: number) => {
      const { written: only, found } = (await catchUpNow(until)) ?? {};
      if (found === 0) return 0;
      const again = await look(session, ddl, model, past, { ...looking, isMended: true, only });
      refuse(again.refusals, again.rewrites);
      return found ?? 0;
    };
    // A reference is added with its column, or never.
    const isLate = (column: Column, staysBehind: boolean) =>
      steps.some(
        (step) =>
          ((step.do === 'add column' && column.reference) || (step.do === 'fill' && staysBehind)) &&
          step.column === column,
      );
    const early = unmended.filter(({ of, staysBehind }) => !of.some((column) => isLate(column, staysBehind)));
    // What older nodes write until they may no longer is looked at again.
    const logged = new Set<Resource>();
    if (added.length > 0 && past.last) {
      for (const { resource } of early) logged.add(resource);
      if (!ddl.keepsWritersOut) for (const resource of comparison.looked) logged.add(resource);
    }
    const isBusy = comparison.log !== undefined && !(await isAbandoned(session, ddl, comparison.log));
    if (!isMended && (early.length > 0 || logged.size > 0)) {
      if (isBusy && logged.size > 0) return 'busy';
      const room = steps.filter((step): step is Room => makesRoom(step, early));
      await session.transaction(async () => {
        for (const step of room) for (const sql of statements(step, ddl)) await session.query(sql);
      });
      const begun = logged.size > 0 ? await WriteLog.begin(session, ddl, [...logged]) : undefined;
      const finders = ddl.buildsIndexesConcurrently
        ? steps.filter((step): step is LateIndex => isLateIndex(step) && findsBy(step, early))
        : [];
      if (early.length > 0 || begun) {
        const fresh = new Set(room.flatMap((step) => (step.do === 'add column' ? [step.column] : [])));
        return { applied: room.map(describe), unmended: early, fresh, finders, log: begun };
      }
    }
    const late = ddl.buildsIndexesConcurrently ? steps.filter(isLateIndex) : [];
    const applied = steps.map(describe);
    // What makes records wrong is there before the first of them; what only finds them is made faster when all are.
    const isFinder = (step: Step) => !past.last && step.do === 'create index' && !step.index.unique;
    const apply = async (wanted: (step: Step) => boolean) => {
      for (const step of steps.filter((each) => wanted(each) && !late.some((one) => one === each)))
        if (step.do === 'widen') await ddl.widen(session, step);
        else for (const sql of statements(step, ddl)) await session.query(sql);
    };
    if (log && !ddl.keepsWritersOut) await untilFew(() => lookAgain(performance.now() + CATCH_UP_MS));
    if (added.length > 0 || unmended.length > 0)
      await session.transaction(() => add(session, ddl, comparison.duties));
    try {
      for (const derived of early) {
        const seen = mended?.seen.get(derived);
        if (seen) await catchUp(session, derived, seen);
        else if (!mended?.unmended.includes(derived)) await mend(session, derived);
      }
      // Until a moment ago, nodes of older files wrote what this one may refuse; on SQLite, until its records were mended.
      const wereOthers = !ddl.keepsWritersOut && steps.some((step) => step.do === 'raise');
      if (log ? !ddl.keepsWritersOut : wereOthers || early.length > 0) await lookAgain();
      await session.transaction(async () => {
        await apply((step) => !isFinder(step));
        if (!past.last) await session.load(seed);
        await apply(isFinder);
        const { generation: fingerprint, source: schema } = model;
        const newest = isOlder && past.last ? past.last : { fingerprint, schema };
        if (past.last?.fingerprint !== newest.fingerprint || steps.length > 0)
          await remember(session, newest, applied);
        await release(session, gone);
        await rememberDeprecations(session, model);
        if (!isOlder) await forgetDeprecations(session, model);
      });
    } catch (error) {
      // Those who cannot be told go on; SQLite has forgotten it by itself.
      await session.transaction(() => release(session, added)).catch(() => {});
      throw error;
    }
    for (const derived of unmended) if (!early.includes(derived)) await mend(session, derived);
    if (unmended.length > 0) await session.transaction(() => settle(session, unmended));
    if (log) await log.end(session);
    else if (comparison.log !== undefined && !isBusy) await endLog(session, ddl);
    for (const step of late) await build(session, database.ddl, step);
    const deprecatedSince = await deprecations(session);
    return {
      applied,
      held: held.map(describe),
      surplus,
      deprecatedSince,
      readOnly: false,
    };
  });
}

/** Nobody sees it, and nobody minds it where it stays unused. */
function makesRoom(step: Step, early: readonly Derived[]): step is Room {
  if (step.do === 'keep words') return early.some(({ of }) => of === step.resource.searched);
  if (step.do !== 'add column') return false;
  const { column } = step;
  return keptAs(column) === 'folded' || early.some(({ made, of }) => made === column || of.includes(column));
}

type Room = Extract<Step, { do: 'add column' | 'keep words' }>;

/** What rewrites a table is done when somebody asks for it, and not by a node that is to serve at once. */
function refuse(refusals: readonly Refusal[], rewrites: readonly Widening[]): void {
  const all = [
    ...refusals,
    ...rewrites.map(({ resource, column, from }) => ({
      what: `${resource.name}.${column.name}: its type changed from ${typeName(from)} to ${typeName(column)}`,
      why: 'that rewrites the table',
      how: 'Stop the nodes of the old schema, and run `duet migrate` with this one',
    })),
  ];
  if (all.length > 0) throw new EvolutionRefused(all);
}

/** What cannot be changed can be served, if it need not be. */
async function asItStands(database: Evolvable, model: Model): Promise<Evolution> {
  return database.looking(async (session) => {
    const { steps, refusals, rewrites, held, surplus, past } = await lookAhead(session, database.ddl, model);
    refuse(refusals, rewrites);
    const needed = past.last ? steps.map(describe) : ['create all tables'];
    if (needed.length > 0)
      throw new Error(
        `the database is read-only, but the schema asks for changes: ${needed.join(', ')}. Run \`duet migrate\` with this schema where the database can be written, then start again`,
      );
    const deprecatedSince = await deprecations(session);
    return { applied: [], held: held.map(describe), surplus, deprecatedSince, readOnly: true };
  });
}

/** Stores records in one transaction, with the keys that they have. */
export async function load(database: Evolvable, program: () => Program<void>): Promise<void> {
  await database.exclusively((session) => session.transaction(() => session.load(program)));
}

/** There are records, and nobody said that they may go. */
export class NotEmpty extends Error {}

/** The same in place of everything that PostgreSQL has; a SQLite database is replaced as a file. */
export async function replaceAll(
  database: Evolvable,
  { resources }: Model,
  program: () => Program<void>,
  mayReplace: boolean,
): Promise<void> {
  const tables = [...resources.map(({ table }) => table), ...KEPT].map(quote);
  await database.exclusively((session) =>
    session.transaction(async () => {
      const rows = tables.map((table) => `EXISTS (SELECT 1 FROM ${table})`).join(' OR ');
      const [found] = await session.query(`SELECT ${rows} AS "some"`);
      if (found?.['some'] === true && !mayReplace) throw new NotEmpty('there are records');
      // All at once: they may refer to each other.
      await session.query(`TRUNCATE ${tables.join(', ')}`);
      await session.load(program);
    }),
  );
}

/** What would be done, without doing it. */
export async function preview(
  database: Evolvable,
  model: Model,
): Promise<Comparison & { readonly before: Model | undefined }> {
  return database.looking(async (session) => {
    const { past, ...comparison } = await lookAhead(session, database.ddl, model);
    return { ...comparison, before: past.model };
  });
}
