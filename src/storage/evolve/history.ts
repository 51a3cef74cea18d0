/** What a database remembers of the files that were applied to it: which, when, and what came of them. */

import { checksFit } from '../../query/checks.ts';
import type { Column, Model, Resource } from '../../schema/model.ts';
import { foldedNameOf } from '../../schema/names.ts';
import { readSchema } from '../../schema/read.ts';
import { keptColumns } from '../../schema/values.ts';
import { history } from '../own.ts';
import { quote } from '../sql/dialect.ts';
import type { Session } from './database.ts';
import { DEPRECATED, type IndexPlan, indexesOf } from './tables.ts';

interface Applied {
  /** Its generation. */
  readonly fingerprint: string;
  readonly schema: string;
}

/** Read only when somebody asks what was in it: a database may remember hundreds of them. */
class AppliedFile {
  readonly #schema: string;
  #read: Read | undefined;

  /** `model`: when it was read already. */
  constructor(schema: string, model: Model | undefined) {
    this.#schema = schema;
    this.#read = model && byTable(model);
  }

  /** A file that an older Duet accepted may break a rule of this one, and is then not known. */
  get model(): Model | undefined {
    return this.#content.model;
  }

  resource(table: string): Resource | undefined {
    return this.#content.resources.get(table);
  }

  get #content(): Read {
    this.#read ??= byTable(readSchema(this.#schema, [checksFit], () => true).model);
    return this.#read;
  }
}

interface Read {
  readonly model: Model | undefined;
  readonly resources: ReadonlyMap<string, Resource>;
}

function byTable(model: Model | undefined): Read {
  return { model, resources: new Map(model?.resources.map((resource) => [resource.table, resource])) };
}

/** What was applied before. Columns and tables that no file ever named are another program's. */
export class Past {
  readonly last: Applied | undefined;
  /** By fingerprint, the newest first. */
  readonly #files: ReadonlyMap<string, AppliedFile>;
  /** In words, the newest first. */
  readonly #steps: readonly string[];

  /** `current`: the file of today, which was read already. */
  constructor(applied: readonly (Applied & { readonly steps: readonly string[] })[], current: Model) {
    this.last = applied[0];
    this.#files = new Map(
      applied.map(({ fingerprint, schema }) => [
        fingerprint,
        new AppliedFile(schema, fingerprint === current.generation ? current : undefined),
      ]),
    );
    this.#steps = applied.flatMap(({ steps }) => steps);
  }

  /** The last file. */
  get model(): Model | undefined {
    return this.last && this.#files.get(this.last.fingerprint)?.model;
  }

  has({ generation }: Model): boolean {
    return this.#files.has(generation);
  }

  /** Whether the newer of two steps that undo each other, both in words, is the second. */
  gaveUp(taken: string, undone: string): boolean {
    return this.#steps.find((step) => step === taken || step === undone) === undone;
  }

  hasMade(table: string): boolean {
    return this.#steps.includes(creation(table)) || !this.#resources(table).next().done;
  }

  /** As the newest file that had it. */
  column(table: string, stored: string): Column | undefined {
    for (const resource of this.#resources(table))
      for (const column of keptColumns(resource)) if (column.stored === stored) return column;
    return undefined;
  }

  /** Whether a file had it, or might have: what is hidden beside a column is made before its file is remembered. */
  hasNamed(table: string, stored: string): boolean {
    for (const resource of this.#resources(table))
      for (const column of keptColumns(resource))
        if (column.stored === stored || foldedNameOf(column.stored) === stored) return true;
    return false;
  }

  /** Every index that any file asked for. */
  indexes(table: string): ReadonlyMap<string, IndexPlan> {
    const plans = [...this.#resources(table)].flatMap(indexesOf);
    return new Map(plans.map((plan) => [plan.name, plan]));
  }

  /** Whoever needs only the newest leaves the older files unread. */
  *#resources(table: string): Generator<Resource, void> {
    for (const file of this.#files.values()) {
      const resource = file.resource(table);
      if (resource) yield resource;
    }
  }
}

/** The words by which a table's making is remembered, even when the file can no longer be read. */
export function creation(table: string): string {
  return `create table ${table}`;
}

export async function pastOf(session: Session, current: Model): Promise<Past> {
  const rows = await session.query(
    `SELECT "fingerprint", "schema", "steps" FROM ${quote(history.table)} ORDER BY "id" DESC`,
  );
  return new Past(
    rows.map((row) => ({
      fingerprint: String(row['fingerprint']),
      schema: String(row['schema']),
      steps: JSON.parse(String(row['steps'])),
    })),
    current,
  );
}

export async function remember(
  session: Session,
  { fingerprint, schema }: Applied,
  steps: readonly string[],
): Promise<void> {
  const [row] = await session.query(
    `SELECT COALESCE(MAX("id"), 0) + 1 AS "next" FROM ${quote(history.table)}`,
  );
  const at = new Date().toISOString();
  await session.query(
    `INSERT INTO ${quote(history.table)} ("id", "at", "fingerprint", "schema", "steps") VALUES ($1, $2, $3, $4, $5)`,
    [Number(row?.['next']), at, fingerprint, schema, JSON.stringify(steps)],
  );
}

/** A deprecation counts from when it was first applied. */
export async function rememberDeprecations(session: Session, model: Model): Promise<void> {
  const now = new Date().toISOString();
  for (const field of deprecatedIn(model))
    await session.query(
      `INSERT INTO ${quote(DEPRECATED)} ("field", "at") VALUES ($1, $2) ON CONFLICT ("field") DO NOTHING`,
      [field, now],
    );
}

/** One that is taken back is forgotten. */
export async function forgetDeprecations(session: Session, model: Model): Promise<void> {
  const current = deprecatedIn(model);
  for (const field of (await deprecations(session)).keys())
    if (!current.has(field))
      await session.query(`DELETE FROM ${quote(DEPRECATED)} WHERE "field" = $1`, [field]);
}

function deprecatedIn({ resources }: Model): Set<string> {
  return new Set(
    resources.flatMap(({ name, fields }) =>
      fields.filter(({ deprecated }) => deprecated !== undefined).map((field) => `${name}.${field.name}`),
    ),
  );
}

/** By `Type.field`. */
export async function deprecations(session: Session): Promise<Map<string, Date>> {
  const rows = await session.query(`SELECT "field", "at" FROM ${quote(DEPRECATED)}`);
  return new Map(rows.map((row) => [String(row['field']), new Date(String(row['at']))]));
}
