/** Compares the file with the database: the steps that lead from one to the other, and what stands in the way. */

import type { Fault } from '../../errors.ts';
import type { Column, Model, Reference, Resource } from '../../schema/model.ts';
import { checkValue, isScalar, storedColumns } from '../../schema/values.ts';
import { quote } from '../compile.ts';
import { run, select } from '../storage.ts';
import type { Ddl, Session, Shape, Shapes } from './database.ts';
import { type IndexPlan, indexesOf } from './tables.ts';

export type Step =
  | { readonly do: 'create table'; readonly resource: Resource }
  | { readonly do: 'add reference'; readonly reference: Reference }
  | { readonly do: 'add column'; readonly resource: Resource; readonly column: Column }
  | { readonly do: 'fill'; readonly resource: Resource; readonly column: Column }
  | { readonly do: 'allow null'; readonly table: string; readonly column: string }
  | { readonly do: 'forbid null'; readonly resource: Resource; readonly column: Column }
  | {
      readonly do: 'create index';
      readonly index: IndexPlan;
      readonly rebuild: boolean;
      readonly live: boolean;
    }
  | { readonly do: 'drop index'; readonly table: string; readonly name: string };

export interface Refusal {
  readonly what: string;
  readonly why: string;
  readonly how: string;
}

export interface Comparison {
  readonly steps: readonly Step[];
  readonly refusals: readonly Refusal[];
  /** Tables and columns that the file does not name, as `Table` or `Table.column`. */
  readonly surplus: readonly string[];
}

/** Looks at rows that a step could fail on. */
export interface Rows {
  any(resource: Resource, condition: string): Promise<boolean>;
  duplicate(resource: Resource, columns: readonly Column[]): Promise<boolean>;
  /** The first stored value that the column does not admit. */
  misfit(
    resource: Resource,
    column: Column,
  ): Promise<{ readonly key: unknown; readonly detail: string } | undefined>;
}

export async function compare(
  before: Model | undefined,
  model: Model,
  shapes: Shapes,
  ddl: Ddl,
  rows: Rows,
): Promise<Comparison> {
  const comparing = new Comparing(before, ddl, rows);
  for (const resource of model.resources) {
    const shape = shapes.get(resource.table);
    if (shape) await comparing.table(resource, shape);
    else comparing.newTable(resource);
  }
  const known = new Set(model.resources.map(({ table }) => table));
  const tables = [...shapes.keys()].filter((table) => !known.has(table));
  return {
    steps: comparing.inOrder(),
    refusals: comparing.refusals,
    surplus: [...tables, ...comparing.surplus],
  };
}

class Comparing {
  readonly steps: Step[] = [];
  readonly refusals: Refusal[] = [];
  readonly surplus: string[] = [];
  readonly #last: Step[] = [];
  readonly #before: Model | undefined;
  readonly #ddl: Ddl;
  readonly #rows: Rows;

  constructor(before: Model | undefined, ddl: Ddl, rows: Rows) {
    this.#before = before;
    this.#ddl = ddl;
    this.#rows = rows;
  }

  newTable(resource: Resource): void {
    this.steps.push({ do: 'create table', resource });
    for (const reference of resource.references) this.#last.push({ do: 'add reference', reference });
    for (const index of indexesOf(resource))
      this.#last.push({ do: 'create index', index, rebuild: false, live: false });
  }

  /** Tables can point to each other, so all of them come first. */
  inOrder(): Step[] {
    return [...this.steps, ...this.#last];
  }

  async table(resource: Resource, shape: Shape): Promise<void> {
    for (const column of storedColumns(resource)) {
      const stored = shape.columns.get(column.stored);
      if (!stored) await this.#newColumn(resource, column);
      else if (stored.type !== this.#ddl.type(column) || !this.#isSameKind(resource, column))
        this.#refuse(resource, column, {
          what: `its type changed to ${typeName(column)}`,
          why: 'stored values have another type',
          how: `Give the new type to a new field and copy the values, or keep "${column.name}" as it was`,
        });
      else await this.#oldColumn(resource, column, stored.required);
    }
    const named = new Set(storedColumns(resource).map(({ stored }) => stored));
    for (const [name, { required, filled }] of shape.columns) {
      if (named.has(name)) continue;
      this.surplus.push(`${resource.table}.${name}`);
      // Inserts no longer give it a value.
      if (required && !filled) this.steps.push({ do: 'allow null', table: resource.table, column: name });
    }
    await this.#indexes(resource, shape);
  }

  async #newColumn(resource: Resource, column: Column): Promise<void> {
    const empty = column.required && column.origin.by !== 'version' ? await this.#isEmpty(resource) : true;
    const filled = defaultOf(column) !== undefined;
    if (column === resource.key)
      this.#refuse(resource, column, {
        what: 'the key is another field',
        why: 'records are stored under the old key',
        how: 'Keep the old key, or start with a new resource',
      });
    else if (column.required && !filled && !empty)
      this.#refuse(resource, column, {
        what: 'it is new and required',
        why: 'existing records have no value for it',
        how: 'Add @default(value: …), or drop the "!"',
      });
    else {
      this.steps.push({ do: 'add column', resource, column });
      if (column.reference) this.#last.push({ do: 'add reference', reference: column.reference });
      if (column.required && !filled) this.steps.push({ do: 'forbid null', resource, column });
    }
  }

  async #oldColumn(resource: Resource, column: Column, required: boolean): Promise<void> {
    const misfit = this.#mayMisfit(resource, column) && (await this.#rows.misfit(resource, column));
    if (misfit)
      this.#refuse(resource, column, {
        what: 'it admits less than before',
        why: `${misfit.detail}, but ${resource.singular} ${misfit.key} has another value`,
        how: 'Change such records first, or widen the constraint',
      });
    if (required && !column.required)
      this.steps.push({ do: 'allow null', table: resource.table, column: column.stored });
    if (required || !column.required) return;
    const nulls = await this.#rows.any(resource, `${quote(column.stored)} IS NULL`);
    if (nulls && defaultOf(column) === undefined)
      this.#refuse(resource, column, {
        what: 'it is now required',
        why: 'there are records without a value for it',
        how: 'Give them one first, add @default(value: …), or drop the "!"',
      });
    else {
      if (nulls) this.steps.push({ do: 'fill', resource, column });
      this.steps.push({ do: 'forbid null', resource, column });
    }
  }

  /** Values that are stored alike but mean something else: a list is kept as JSON, an enum as text. */
  #isSameKind(resource: Resource, column: Column): boolean {
    const old = this.#old(resource, column);
    if (!old) return true;
    if (old.list !== column.list || (old.reference === undefined) !== (column.reference === undefined))
      return false;
    if (old.reference?.target.table !== column.reference?.target.table) return false;
    return keptAs(old) === keptAs(column);
  }

  /** A column that was not in the last file may have been filled under any rule. */
  #mayMisfit(resource: Resource, column: Column): boolean {
    const old = this.#old(resource, column);
    if (column.origin.by === 'version' || column === resource.key || column.reference) return false;
    return !old || admits(old) !== admits(column);
  }

  #old(resource: Resource, column: Column): Column | undefined {
    const before = this.#before?.resources.find(({ table }) => table === resource.table);
    return before && storedColumns(before).find(({ stored }) => stored === column.stored);
  }

  async #indexes(resource: Resource, shape: Shape): Promise<void> {
    const wanted = indexesOf(resource);
    for (const index of wanted) {
      if (shape.indexes.has(index.name)) continue;
      const isNew = index.columns.some(({ stored }) => !shape.columns.has(stored));
      if (index.unique && !isNew && (await this.#rows.duplicate(resource, index.columns))) {
        const names = index.columns.map(({ name }) => name).join(', ');
        this.refusals.push({
          what: `${resource.name}(${names}): it is now unique`,
          why: 'there are records with the same value',
          how: 'Change such records first, or drop the @unique',
        });
        continue;
      }
      this.#last.push({
        do: 'create index',
        index,
        rebuild: shape.brokenIndexes.has(index.name),
        live: true,
      });
    }
    // A unique index that the file no longer asks for would still refuse rows; any other does no harm.
    const old = this.#before?.resources.find(({ table }) => table === resource.table);
    const names = new Set(wanted.map(({ name }) => name));
    for (const { name, unique } of old ? indexesOf(old) : [])
      if (unique && !names.has(name) && shape.indexes.has(name))
        this.steps.push({ do: 'drop index', table: resource.table, name });
  }

  #isEmpty(resource: Resource): Promise<boolean> {
    return this.#rows.any(resource, '1 = 1').then((any) => !any);
  }

  #refuse(resource: Resource, column: Column, { what, why, how }: Refusal): void {
    this.refusals.push({ what: `${resource.name}.${column.name}: ${what}`, why, how });
  }
}

export function defaultOf({ origin }: Column): unknown {
  return 'default' in origin ? origin.default : undefined;
}

function keptAs({ type, list }: Column): string {
  return list ? 'json' : isScalar(type) ? type.stored : 'text';
}

function typeName({ type, list }: Column): string {
  return list ? `[${type.name}!]` : type.name;
}

/** Everything that decides which values a column admits, as text that can be compared. */
function admits({ type, list, constraint }: Column): string {
  const values = isScalar(type) ? type.name : type.values.map(({ name }) => name);
  return JSON.stringify([values, list, constraint && { ...constraint, pattern: constraint.pattern?.source }]);
}

/** Looks at rows through a session of the database. */
export function rowsOf(session: Session): Rows {
  return {
    async any({ table }, condition) {
      return (
        (await session.query(`SELECT 1 AS "x" FROM ${quote(table)} WHERE ${condition} LIMIT 1`)).length > 0
      );
    },
    async duplicate({ table }, columns) {
      const list = columns.map(({ stored }) => quote(stored));
      const given = list.map((name) => `${name} IS NOT NULL`).join(' AND ');
      const sql = `SELECT 1 AS "x" FROM ${quote(table)} WHERE ${given} GROUP BY ${list.join(', ')} HAVING COUNT(*) > 1 LIMIT 1`;
      return (await session.query(sql)).length > 0;
    },
    async misfit(resource, column) {
      let found: { key: unknown; detail: string } | undefined;
      await session.load(function* () {
        const rows = yield* run(select(resource, [resource.key, column]));
        for (const row of rows) {
          const value = row[column.name];
          const faults: Fault[] = [];
          if (value !== null) checkValue(column, value, faults);
          if (faults[0] && !found) found = { key: row[resource.key.name], detail: faults[0].detail };
        }
      });
      return found;
    },
  };
}
