/** Brings a database to the state that a file asks for, once, however many nodes start. */

import type { Model } from '../../schema/model.ts';
import { defaultOf } from '../../schema/values.ts';
import { duties } from '../own.ts';
import { quote } from '../sql/dialect.ts';
import type { Program } from '../storage.ts';
import { type Comparison, compare, notUnique, type Refusal } from './compare.ts';
import { type Ddl, type Evolvable, ReadOnly, type Session, type Widening } from './database.ts';
import { deprecations, forgetDeprecations, Past, pastOf, remember, rememberDeprecations } from './history.ts';
import { add, compareDuties, type Duties, release } from './raising.ts';
import { rowsOf } from './rows.ts';
import { describe, type Step, typeName } from './steps.ts';
import { surplusOf } from './surplus.ts';
import {
  createIndex,
  createTable,
  definitionOf,
  HISTORY,
  type IndexPlan,
  KEPT,
  literalOf,
  required,
} from './tables.ts';

export class EvolutionRefused extends Error {
  readonly refusals: readonly Refusal[];

  constructor(refusals: readonly Refusal[]) {
    super(refusals.map(({ what, why, how }) => `${what}, but ${why}. ${how}.`).join('\n'));
    this.refusals = refusals;
  }
}

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
  const { ddl } = database;
  const evolution = database.exclusively(async (session) => {
    const past = await pastOf(session, model);
    const comparison = await look(session, ddl, model, past, insists);
    const { steps, refusals, rewrites, held, surplus, isOlder } = comparison;
    refuse(refusals, rewrites);
    const { added, gone } = comparison.duties;
    const late = ddl.buildsIndexesConcurrently ? steps.filter(isLateIndex) : [];
    const applied = steps.map(describe);
    // What makes records wrong is there before the first of them; what only finds them is made faster when all are.
    const isFinder = (step: Step) => !past.last && step.do === 'create index' && !step.index.unique;
    const apply = async (wanted: (step: Step) => boolean) => {
      for (const step of steps.filter((each) => wanted(each) && !late.some((one) => one === each)))
        if (step.do === 'widen') await ddl.widen(session, step);
        else for (const sql of statements(step, ddl)) await session.query(sql);
    };
    if (added.length > 0) await session.transaction(() => add(session, ddl, added));
    try {
      // Until a moment ago, nodes of older files wrote what this one may refuse.
      if (steps.some((step) => step.do === 'raise') && ddl.buildsIndexesConcurrently) {
        const again = await look(session, ddl, model, past, insists);
        refuse(again.refusals, again.rewrites);
      }
      await session.transaction(async () => {
        await apply((step) => !isFinder(step));
        if (!past.last) await session.load(seed);
        await apply(isFinder);
        const { fingerprint, source: schema } = model;
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
  return evolution.catch((error) => {
    if (error instanceof ReadOnly) return asItStands(database, model);
    throw error;
  });
}

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
  const past = (await ddl.has(session, HISTORY)) ? await pastOf(session, model) : new Past([], model);
  const isKept = await ddl.has(session, duties.table);
  return { ...(await look(session, ddl, model, past, false, isKept)), past };
}

/**
 * Drops what the caller has shown, and answers with what it dropped: nothing that the file names by now, and nothing
 * that another program made.
 */
export async function prune(
  database: Evolvable,
  model: Model,
  shown: readonly string[],
): Promise<readonly string[]> {
  const { ddl } = database;
  return database.exclusively(async (session) => {
    const past = await pastOf(session, model);
    const shapes = await ddl.shapes(session);
    const doomed = surplusOf(model, shapes, past).filter(({ name, own }) => own && shown.includes(name));
    if (!past.last || doomed.length === 0) return [];
    const { last } = past;
    const names = doomed.map(({ name }) => name);
    await session.transaction(async () => {
      // Columns first: one of them may refer to a table that goes.
      for (const { table, column } of doomed) {
        if (column === undefined) continue;
        // An index keeps SQLite from dropping its columns.
        for (const index of past.indexes(table).values())
          if (index.columns.some(({ stored }) => stored === column))
            await session.query(`DROP INDEX IF EXISTS ${quote(index.name)}`);
        await session.query(`${alter(table)} DROP COLUMN ${quote(column)}`);
      }
      const tables = doomed.filter(({ column }) => column === undefined).map(({ table }) => table);
      for (const sql of tables.length > 0 ? ddl.dropTables(tables) : []) await session.query(sql);
      await remember(
        session,
        last,
        names.map((name) => `drop ${name}`),
      );
    });
    return names;
  });
}

interface Looked extends Comparison {
  readonly duties: Duties;
  /** Another file has followed this one, and stays the newest. */
  readonly isOlder: boolean;
}

/** `isKept`: the database has a table of what writers keep true. */
async function look(
  session: Session,
  ddl: Ddl,
  model: Model,
  past: Past,
  insists: boolean,
  isKept = true,
): Promise<Looked> {
  const shapes = await ddl.shapes(session);
  // An ordinary start makes no table, and need not ask.
  const isNew = model.resources.some(({ table }) => !shapes.has(table));
  const otherNames = isNew ? await ddl.otherNames(session) : new Map<string, string>();
  const comparison = await compare(past, model, shapes, ddl, rowsOf(session), insists, otherNames);
  const isOlder = past.has(model) && past.last?.fingerprint !== model.fingerprint && !insists;
  const found = isOlder || !isKept ? { added: [], gone: [] } : await compareDuties(session, model);
  const raised = new Set(found.added.map(({ table }) => table).filter((table) => past.hasMade(table)));
  const raises = [...raised].map((table): Step => ({ do: 'raise', table }));
  return { ...comparison, steps: [...comparison.steps, ...raises], duties: found, isOlder };
}

type LateIndex = Extract<Step, { do: 'create index' }>;

function isLateIndex(step: Step): step is LateIndex {
  return step.do === 'create index' && step.live;
}

/** Builds an index while others write, who may break it: what is left of it then would still refuse rows. */
async function build(session: Session, ddl: Ddl, { index, rebuild }: LateIndex): Promise<void> {
  const drop = `DROP INDEX CONCURRENTLY IF EXISTS ${quote(index.name)}`;
  if (rebuild) await session.query(drop);
  try {
    await session.query(createIndex(index, ddl, ' CONCURRENTLY'));
  } catch (error) {
    await session.query(drop).catch(() => {});
    const values = index.columns.map(({ stored }) => ({ stored, otherwise: undefined }));
    if (index.unique && (await rowsOf(session).duplicate(index.resource, values)))
      throw new EvolutionRefused([notUnique(index)]);
    throw error;
  }
}

function statements(step: Exclude<Step, Widening>, ddl: Ddl): string[] {
  switch (step.do) {
    case 'create table':
      return [createTable(step.resource, ddl)];
    case 'add reference':
      return ddl.addReference(step.reference);
    case 'add column': {
      const { resource, column } = step;
      // Without a default there is nothing to fill rows with; null is then forbidden by a step of its own.
      const fill = defaultOf(column) === undefined ? '' : required(column, ddl);
      const reference = column.reference ? ddl.inlineReference(column.reference) : '';
      return [
        `${alter(resource.table)} ADD COLUMN ${quote(column.stored)} ${definitionOf(column, ddl)}${fill}${reference}`,
      ];
    }
    case 'fill': {
      const name = quote(step.column.stored);
      const value = literalOf(step.column, defaultOf(step.column), ddl);
      const version = quote(step.resource.version.stored);
      const set = `${name} = ${value}, ${version} = ${version} + 1`;
      return [`UPDATE ${quote(step.resource.table)} SET ${set} WHERE ${name} IS NULL`];
    }
    case 'allow null':
      return [`${alter(step.table)} ALTER COLUMN ${quote(step.column)} DROP NOT NULL`];
    case 'forbid null':
      return [`${alter(step.resource.table)} ALTER COLUMN ${quote(step.column.stored)} SET NOT NULL`];
    case 'create index':
      return [...(step.rebuild ? [dropIndex(step.index)] : []), createIndex(step.index, ddl, '')];
    case 'drop index':
      return [dropIndex(step.index)];
    case 'raise':
      return [];
  }
}

function dropIndex({ name }: IndexPlan): string {
  return `DROP INDEX ${quote(name)}`;
}

function alter(table: string): string {
  return `ALTER TABLE ${quote(table)}`;
}
