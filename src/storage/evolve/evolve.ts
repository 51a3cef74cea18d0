/** Brings a database to the state that a file asks for, once, however many nodes start. */

import type { Column, Model } from '../../schema/model.ts';
import { readSchema } from '../../schema/read.ts';
import { quote } from '../compile.ts';
import type { Program } from '../storage.ts';
import { type Comparison, compare, defaultOf, type Refusal, rowsOf, type Step } from './compare.ts';
import type { Ddl, Evolvable, Session } from './database.ts';
import { createIndex, createTable, DEPRECATED, HISTORY, indexesOf } from './tables.ts';

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
  readonly surplus: readonly string[];
  /** By `Type.field`. */
  readonly deprecatedSince: ReadonlyMap<string, Date>;
}

/** Applies what is safe and refuses the rest; `seed` runs when the database is new. */
export async function evolve(
  database: Evolvable,
  model: Model,
  seed: () => Program<void>,
): Promise<Evolution> {
  return database.exclusively(async (session) => {
    const last = await lastApplied(session);
    const comparison = await look(session, database.ddl, model);
    if (comparison.refusals.length > 0) throw new EvolutionRefused(comparison.refusals);
    const { steps, surplus } = comparison;
    const late = database.ddl.buildsIndexesConcurrently ? steps.filter(isLateIndex) : [];
    await session.transaction(async () => {
      for (const step of steps)
        if (!late.includes(step))
          for (const sql of statements(step, database.ddl, '')) await session.query(sql);
      if (!last) await loadInto(session, database.ddl, model, seed);
      if (last?.fingerprint !== model.fingerprint || steps.length > 0) await record(session, model, steps);
      await recordDeprecations(session, model);
    });
    for (const step of late)
      for (const sql of statements(step, database.ddl, ' CONCURRENTLY')) await session.query(sql);
    return { applied: steps.map(describe), surplus, deprecatedSince: await deprecations(session) };
  });
}

/** Stores records in one transaction, with the keys that they have. */
export async function load(database: Evolvable, model: Model, program: () => Program<void>): Promise<void> {
  await database.exclusively((session) =>
    session.transaction(() => loadInto(session, database.ddl, model, program)),
  );
}

async function loadInto(
  session: Session,
  ddl: Ddl,
  model: Model,
  program: () => Program<void>,
): Promise<void> {
  await session.load(program);
  for (const resource of model.resources) {
    const sql = ddl.afterLoad(resource);
    if (sql) await session.query(sql);
  }
}

/** What would be done, without doing it. */
export async function preview(
  database: Evolvable,
  model: Model,
): Promise<Comparison & { readonly before: Model | undefined }> {
  return database.exclusively(async (session) => {
    const last = await lastApplied(session);
    return { ...(await look(session, database.ddl, model)), before: last && modelOf(last.schema) };
  });
}

/** Drops what the file does not name; the caller has shown it. */
export async function prune(database: Evolvable, model: Model, surplus: readonly string[]): Promise<void> {
  await database.exclusively(async (session) => {
    const shapes = await database.ddl.shapes(session);
    await session.transaction(async () => {
      for (const [table, shape] of shapes) {
        if (surplus.includes(table)) {
          await session.query(`DROP TABLE ${quote(table)}`);
          continue;
        }
        const doomed = [...shape.columns.keys()].filter((column) => surplus.includes(`${table}.${column}`));
        if (doomed.length > 0) await dropColumns(session, database.ddl, model, table, doomed);
      }
      const steps = surplus.map((name) => `drop ${name}`);
      await insertHistory(session, model, steps);
    });
  });
}

async function dropColumns(
  session: Session,
  ddl: Ddl,
  model: Model,
  table: string,
  columns: string[],
): Promise<void> {
  const resource = model.resources.find((each) => each.table === table);
  const wanted = new Set(resource ? indexesOf(resource).map(({ name }) => name) : []);
  // An index keeps SQLite from dropping its columns.
  for (const name of (await ddl.shapes(session)).get(table)?.indexes ?? [])
    if (!wanted.has(name) && name.startsWith(`${table}_`))
      await session.query(`DROP INDEX IF EXISTS ${quote(name)}`);
  for (const column of columns)
    await session.query(`ALTER TABLE ${quote(table)} DROP COLUMN ${quote(column)}`);
}

async function look(session: Session, ddl: Ddl, model: Model): Promise<Comparison> {
  const last = await lastApplied(session);
  const shapes = await ddl.shapes(session);
  return compare(last && modelOf(last.schema), model, shapes, ddl, rowsOf(session));
}

async function lastApplied(session: Session): Promise<{ fingerprint: string; schema: string } | undefined> {
  const [row] = await session.query(
    `SELECT "fingerprint", "schema" FROM ${quote(HISTORY)} ORDER BY "id" DESC LIMIT 1`,
  );
  return row && { fingerprint: String(row['fingerprint']), schema: String(row['schema']) };
}

/** A file that an older Duet accepted may break a rule of this one; the tables then speak for themselves. */
function modelOf(schema: string): Model | undefined {
  return readSchema(schema).model;
}

async function record(session: Session, model: Model, steps: readonly Step[]): Promise<void> {
  await insertHistory(session, model, steps.map(describe));
}

async function insertHistory(session: Session, model: Model, steps: readonly string[]): Promise<void> {
  const [row] = await session.query(`SELECT COALESCE(MAX("id"), 0) + 1 AS "next" FROM ${quote(HISTORY)}`);
  const at = new Date().toISOString();
  await session.query(
    `INSERT INTO ${quote(HISTORY)} ("id", "at", "fingerprint", "schema", "steps") VALUES ($1, $2, $3, $4, $5)`,
    [Number(row?.['next']), at, model.fingerprint, model.source, JSON.stringify(steps)],
  );
}

/** A deprecation counts from when it was first applied; one that is taken back is forgotten. */
async function recordDeprecations(session: Session, model: Model): Promise<void> {
  const now = new Date().toISOString();
  const current = new Set(
    model.resources.flatMap(({ name, fields }) =>
      fields.filter(({ deprecated }) => deprecated !== undefined).map((field) => `${name}.${field.name}`),
    ),
  );
  for (const field of (await deprecations(session)).keys())
    if (!current.has(field))
      await session.query(`DELETE FROM ${quote(DEPRECATED)} WHERE "field" = $1`, [field]);
  for (const field of current)
    await session.query(
      `INSERT INTO ${quote(DEPRECATED)} ("field", "at") VALUES ($1, $2) ON CONFLICT ("field") DO NOTHING`,
      [field, now],
    );
}

async function deprecations(session: Session): Promise<Map<string, Date>> {
  const rows = await session.query(`SELECT "field", "at" FROM ${quote(DEPRECATED)}`);
  return new Map(rows.map((row) => [String(row['field']), new Date(String(row['at']))]));
}

function isLateIndex(step: Step): boolean {
  return step.do === 'create index' && step.live;
}

function statements(step: Step, ddl: Ddl, how: '' | ' CONCURRENTLY'): string[] {
  switch (step.do) {
    case 'create table':
      return [createTable(step.resource, ddl)];
    case 'add reference':
      return ddl.addReference(step.reference);
    case 'add column': {
      const { resource, column } = step;
      const value = defaultOf(column);
      const filled = column.required && value !== undefined;
      const fill = filled ? ` NOT NULL DEFAULT ${ddl.literal(column, value)}` : '';
      const reference = column.reference ? ddl.inlineReference(column.reference) : '';
      return [
        `${alter(resource.table)} ADD COLUMN ${quote(column.stored)} ${ddl.definition(column)}${fill}${reference}`,
      ];
    }
    case 'fill': {
      const name = quote(step.column.stored);
      const value = ddl.literal(step.column, defaultOf(step.column));
      return [`UPDATE ${quote(step.resource.table)} SET ${name} = ${value} WHERE ${name} IS NULL`];
    }
    case 'allow null':
      return [`${alter(step.table)} ALTER COLUMN ${quote(step.column)} DROP NOT NULL`];
    case 'forbid null':
      return [`${alter(step.resource.table)} ALTER COLUMN ${quote(step.column.stored)} SET NOT NULL`];
    case 'create index': {
      const create = createIndex(step.index, how);
      return step.rebuild ? [`DROP INDEX${how} ${quote(step.index.name)}`, create] : [create];
    }
    case 'drop index':
      return [`DROP INDEX ${quote(step.name)}`];
  }
}

function alter(table: string): string {
  return `ALTER TABLE ${quote(table)}`;
}

export function describe(step: Step): string {
  const at = (table: string, column: Column | string) =>
    `${table}.${typeof column === 'string' ? column : column.stored}`;
  switch (step.do) {
    case 'create table':
      return `create table ${step.resource.table}`;
    case 'add reference':
      return `let ${at(step.reference.owner.table, step.reference.column)} refer to ${step.reference.target.table}`;
    case 'create index': {
      const { unique, resource, columns } = step.index;
      const list = columns.map(({ stored }) => stored).join(', ');
      return `create ${unique ? 'unique ' : ''}index on ${resource.table} (${list})`;
    }
    case 'drop index':
      return `drop unique index of ${step.table}`;
    case 'allow null':
      return `allow null in ${at(step.table, step.column)}`;
    case 'add column':
      return `add column ${at(step.resource.table, step.column)}`;
    case 'fill':
      return `fill ${at(step.resource.table, step.column)} with its default`;
    case 'forbid null':
      return `forbid null in ${at(step.resource.table, step.column)}`;
  }
}
