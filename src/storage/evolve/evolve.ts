/** Brings a database to the state that a file asks for, once, however many nodes start. */

import type { Column, Model } from '../../schema/model.ts';
import { keptAs } from '../../schema/values.ts';
import { type Derived, derivedOf } from '../derived.ts';
import { LOOK } from '../duties.ts';
import { duties, history } from '../own.ts';
import { quote } from '../sql/dialect.ts';
import type { Program } from '../storage.ts';
import { statements } from './applying.ts';
import { type Comparison, compare } from './compare.ts';
import { type Ddl, type Evolvable, ReadOnly, type Session, type Widening } from './database.ts';
import { deprecations, forgetDeprecations, Past, pastOf, remember, rememberDeprecations } from './history.ts';
import { build, buildAll, findsBy, isLateIndex, type LateIndex } from './indexing.ts';
import { catchUp, mend, mendInTurns } from './mending.ts';
import { add, compareDuties, type Duties, release, settle } from './raising.ts';
import { EvolutionRefused, type Refusal } from './refusals.ts';
import { rowsOf } from './rows.ts';
import { describe, type Step, typeName } from './steps.ts';
import { KEPT } from './tables.ts';
import type { Versions } from './versions.ts';

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
  const evolution = (async () => {
    const first = await attempt(database, model, seed, insists);
    if (!('unmended' in first)) return first;
    const mended = new Map<Derived, Versions>();
    for (const derived of first.unmended) mended.set(derived, await mendInTurns(database, derived));
    // Before older nodes may write no longer, and not while nobody does; when all have their values, as that is faster.
    const made = await buildAll(database, first.finders);
    const second = await attempt(database, model, seed, insists, mended);
    return { ...second, applied: [...first.applied, ...made, ...second.applied] };
  })();
  return evolution.catch((error) => {
    if (error instanceof ReadOnly) return asItStands(database, model);
    throw error;
  });
}

/** There is room for what is kept beside records, who can be given it before anything else changes. */
interface Prepared {
  readonly applied: readonly string[];
  readonly unmended: readonly Derived[];
  /** What finds records by it, and can be made while others write. */
  readonly finders: readonly LateIndex[];
}

type Mended = ReadonlyMap<Derived, Versions>;

/** `mended`: what records have been given that is kept beside them; a look is enough, for what older nodes wrote since. */
function attempt<M extends Mended | undefined = undefined>(
  database: Evolvable,
  model: Model,
  seed: () => Program<void>,
  insists: boolean,
  mended?: M,
): Promise<Evolution | (M extends Mended ? never : Prepared)>;
async function attempt(
  database: Evolvable,
  model: Model,
  seed: () => Program<void>,
  insists: boolean,
  mended?: Mended,
): Promise<Evolution | Prepared> {
  const { ddl } = database;
  const isMended = mended !== undefined;
  return database.exclusively(async (session) => {
    const past = await pastOf(session, model);
    const comparison = await look(session, ddl, model, past, { insists, isMended });
    const { steps, refusals, rewrites, held, surplus, isOlder } = comparison;
    refuse(refusals, rewrites);
    const { added, gone, unmended } = comparison.duties;
    const isNew = (column: Column, staysBehind: boolean) =>
      steps.some(
        (step) => (step.do === 'add column' || (step.do === 'fill' && staysBehind)) && step.column === column,
      );
    const early = unmended.filter(({ of, staysBehind }) => !of.some((column) => isNew(column, staysBehind)));
    if (early.length > 0 && !isMended) {
      const room = steps.filter((step): step is Room => makesRoom(step, early));
      await session.transaction(async () => {
        for (const step of room) for (const sql of statements(step, ddl)) await session.query(sql);
      });
      const finders = ddl.buildsIndexesConcurrently
        ? steps.filter((step): step is LateIndex => isLateIndex(step) && findsBy(step, early))
        : [];
      return { applied: room.map(describe), unmended: early, finders };
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
    if (added.length > 0 || unmended.length > 0)
      await session.transaction(() => add(session, ddl, comparison.duties));
    try {
      for (const derived of early) {
        const seen = mended?.get(derived);
        if (seen) await catchUp(session, derived, seen);
        else await mend(session, derived);
      }
      // Until a moment ago, nodes of older files wrote what this one may refuse; on SQLite, until its records were mended.
      const wereOthers = !ddl.keepsWritersOut && steps.some((step) => step.do === 'raise');
      if (wereOthers || early.length > 0) {
        const again = await look(session, ddl, model, past, { insists, isMended: true });
        refuse(again.refusals, again.rewrites);
      }
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
  return (
    keptAs(column) === 'folded' ||
    (column.origin.by === 'function' && early.some(({ made }) => made === column))
  );
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

/** Looks at a database that may be new, where nothing can be changed. */
async function lookAhead(
  session: Session,
  ddl: Ddl,
  model: Model,
): Promise<Looked & { readonly past: Past }> {
  const past = (await ddl.has(session, history.table)) ? await pastOf(session, model) : new Past([], model);
  const isKept = await ddl.has(session, duties.table);
  return { ...(await look(session, ddl, model, past, { isKept, foresees: true })), past };
}

interface Looked extends Comparison {
  readonly duties: Duties;
  /** Another file has followed this one, and stays the newest. */
  readonly isOlder: boolean;
}

/** `isKept`: the database has a table of what writers keep true. `isMended`: as in `attempt`. `foresees`: as in `rowsOf`. */
async function look(
  session: Session,
  ddl: Ddl,
  model: Model,
  past: Past,
  { insists = false, isKept = true, isMended = false, foresees = false },
): Promise<Looked> {
  const shapes = await ddl.shapes(session);
  // An ordinary start makes no table, and need not ask.
  const isNew = model.resources.some(({ table }) => !shapes.has(table));
  const otherNames = isNew ? await ddl.otherNames(session) : new Map<string, string>();
  const found = compareDuties(isKept ? await session.query(LOOK) : [], model);
  const before = found.unmended.filter(({ resource: { table } }) => shapes.has(table) && past.hasMade(table));
  const isThere = ({ resource, of }: Derived) =>
    of.every(({ stored }) => shapes.get(resource.table)?.columns.has(stored));
  const rows = rowsOf(session, isMended ? [] : before.filter(isThere), foresees);
  const comparison = await compare(past, model, shapes, ddl, rows, insists, otherNames);
  const filled = comparison.steps.flatMap((step) =>
    step.do === 'fill'
      ? derivedOf(step.resource).filter(({ of, staysBehind }) => staysBehind && of.includes(step.column))
      : [],
  );
  const unmended = [...new Set([...before, ...filled])];
  const isOlder = past.has(model) && past.last?.fingerprint !== model.generation && !insists;
  if (isOlder) {
    const refusals = [...comparison.refusals, ...unmended.map(neglected)];
    return { ...comparison, refusals, duties: { added: [], gone: [], unmended: [] }, isOlder };
  }
  const raised = new Set(found.added.map(({ table }) => table).filter((table) => past.hasMade(table)));
  const raises = [...raised].map((table): Step => ({ do: 'raise', table }));
  const mends = unmended.map((derived): Step => ({ do: 'mend', derived }));
  const steps = [...comparison.steps, ...raises, ...mends];
  return { ...comparison, steps, duties: { ...found, unmended }, isOlder };
}

/** A node that starts again must not hold the others to it, and cannot do without. */
function neglected({ resource, of }: Derived): Refusal {
  const names = of.map(({ name }) => `${resource.name}.${name}`).join(', ');
  return {
    what: `${names}: what is kept beside it is read by this schema`,
    why: 'another schema gave it up, and has written records without it',
    how: 'Run `duet migrate` with this schema, which brings all records up to date',
  };
}
