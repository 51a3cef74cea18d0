/** Compares the file with the database: the steps that lead from one to the other, and what stands in the way. */

import { admitsAll, widens } from '../../schema/admits.ts';
import type { Column, Model, Resource } from '../../schema/model.ts';
import { withArticle } from '../../schema/names.ts';
import { defaultOf, keptAs, keptColumns, scaleOf } from '../../schema/values.ts';
import { codecOf } from '../sql/codec.ts';
import { quote } from '../sql/dialect.ts';
import { wordsName } from '../words.ts';
import { brokenChecks } from './checks.ts';
import type { Ddl, Shape, Shapes, Widening } from './database.ts';
import type { Past } from './history.ts';
import { howToFill, mayDefault, notUnique, type Refusal } from './refusals.ts';
import type { FutureValue, Rows } from './rows.ts';
import { describe, type Step, typeName } from './steps.ts';
import { type Surplus, surplusOf } from './surplus.ts';
import { allIndexesOf, isNeverNull, isSame, literalOf, uniquesAhead } from './tables.ts';

/** A step after which the database refuses what it accepted before. */
type Tightening = Extract<Step, { do: 'forbid null' | 'create index' }>;

export interface Comparison {
  readonly steps: readonly Step[];
  readonly refusals: readonly Refusal[];
  /** What the file asks for, but another gave up since: nodes of that one may still be running. */
  readonly held: readonly Tightening[];
  /** What the file asks for, but an ordinary start does not do, because it rewrites a table that others use. */
  readonly rewrites: readonly Widening[];
  /** Tables and columns that the file does not name, as `Table` or `Table.column`. */
  readonly surplus: readonly string[];
  /** Those of them that an earlier file named: only they can be pruned. */
  readonly prunable: readonly string[];
}

/**
 * `insists`: a file that was applied before asks again for what others gave up since. `otherNames`: what is no table, but
 * has a name like one.
 */
export async function compare(
  past: Past,
  model: Model,
  shapes: Shapes,
  ddl: Ddl,
  rows: Rows,
  insists: boolean,
  otherNames: ReadonlyMap<string, string>,
): Promise<Comparison> {
  const surplus = surplusOf(model, shapes, past);
  const comparing = new Comparing(past, ddl, rows, insists, past.has(model) && !insists);
  for (const resource of model.resources) {
    const shape = shapes.get(resource.table);
    if (!shape) comparing.newTable(resource, shapes, otherNames);
    else if (past.hasMade(resource.table)) await comparing.table(resource, shape, surplus);
    else comparing.foreignTable(resource);
  }
  return {
    steps: comparing.inOrder(),
    refusals: comparing.refusals,
    held: comparing.held,
    rewrites: comparing.rewrites,
    surplus: surplus.map(({ name }) => name),
    prunable: surplus.filter(({ own }) => own).map(({ name }) => name),
  };
}

class Comparing {
  readonly steps: Step[] = [];
  readonly refusals: Refusal[] = [];
  readonly held: Tightening[] = [];
  readonly rewrites: Widening[] = [];
  readonly #last: Step[] = [];
  readonly #past: Past;
  readonly #ddl: Ddl;
  readonly #rows: Rows;
  /** The file was applied before, and is taken for that of a node that starts again while a later one is rolled out. */
  readonly #again: boolean;
  /** Whether somebody waits for what takes long. */
  readonly #insists: boolean;

  constructor(past: Past, ddl: Ddl, rows: Rows, insists: boolean, again: boolean) {
    this.#insists = insists;
    this.#past = past;
    this.#ddl = ddl;
    this.#rows = rows;
    this.#again = again;
  }

  newTable(resource: Resource, shapes: Shapes, otherNames: ReadonlyMap<string, string>): void {
    const other = alikeBut(resource.table, otherNames.keys());
    if (other !== undefined) {
      const kind = otherNames.get(other) ?? '';
      this.refusals.push({
        what: `${resource.name}: it would be stored in a new table "${resource.table}"`,
        why: `there is ${withArticle(kind)} "${other}"`,
        how: `Name another with @table(name: "…"), or rename the ${kind}`,
      });
      return;
    }
    const alike = alikeBut(resource.table, shapes.keys());
    if (alike !== undefined) {
      this.refusals.push({
        what: `${resource.name}: it would be stored in a new table "${resource.table}"`,
        why: `there is a table "${alike}", and names must differ in more than letter case`,
        how: `Add @table(name: "${alike}") to keep using that one, or @table with another name`,
      });
      return;
    }
    this.steps.push({ do: 'create table', resource });
    if (resource.searched.length > 0) this.steps.push({ do: 'keep words', resource });
    for (const reference of resource.references) this.#last.push({ do: 'add reference', reference });
    for (const index of allIndexesOf(resource, this.#ddl))
      this.#last.push({ do: 'create index', index, rebuild: false, live: false });
  }

  foreignTable({ name, table }: Resource): void {
    this.refusals.push({
      what: `${name}: it would be stored in the table "${table}"`,
      why: 'another program made a table of that name',
      how: 'Name another with @table(name: "…")',
    });
  }

  /** Tables can point to each other, so all of them come first. */
  inOrder(): Step[] {
    return [...this.steps, ...this.#last];
  }

  async table(resource: Resource, shape: Shape, surplus: readonly Surplus[]): Promise<void> {
    const before = this.refusals.length;
    for (const column of keptColumns(resource)) {
      const stored = shape.columns.get(column.stored);
      const from = stored && this.#widenedFrom(resource, column, stored.type);
      if (from) await this.#widenedColumn(resource, column, from, stored.required);
      else if (
        stored &&
        (stored.type !== codecOf(this.#ddl.codecs, column).type || !this.#isSameKind(resource, column))
      )
        this.#refuse(resource, column, {
          what: `its type changed to ${typeName(column)}`,
          why: 'stored values have another type',
          how: `Give the new type to a new field and copy the values, or keep "${column.name}" as it was`,
        });
      else if (column === resource.key && !stored?.primary)
        this.#refuse(resource, column, {
          what: 'the key is another field',
          why: 'records are stored under the old key',
          how: 'Keep the old key, or start with a new resource',
        });
      else if (stored) await this.#oldColumn(resource, column, stored.required);
      else await this.#newColumn(resource, column, shape);
    }
    for (const { table, column } of surplus) {
      if (table !== resource.table || column === undefined) continue;
      const stored = shape.columns.get(column);
      // Inserts no longer give it a value.
      if (stored?.required && !stored.filled) this.steps.push({ do: 'allow null', table, column });
    }
    await this.#indexes(resource, shape);
    if (resource.searched.length > 0 && !shape.words.has(wordsName(resource)))
      this.steps.push({ do: 'keep words', resource });
    // Of columns that cannot be what the file says, nothing can be asked.
    if (this.refusals.length === before && !this.#again)
      this.refusals.push(...(await brokenChecks(resource, shape, this.#past, this.#rows)));
  }

  async #newColumn(resource: Resource, column: Column, shape: Shape): Promise<void> {
    const alike = alikeBut(column.stored, shape.columns.keys());
    const filled = defaultOf(column) !== undefined;
    if (alike !== undefined)
      this.#refuse(resource, column, {
        what: `it would be stored in a new column "${column.stored}"`,
        why: `there is a column "${alike}", and names must differ in more than letter case`,
        how: `Add @column(name: "${alike}") to keep using that one, or @column with another name`,
      });
    else if (isNeverNull(column) && !filled && !(await this.#isEmpty(resource)))
      this.#refuse(resource, column, {
        what: 'it is new and required',
        why: 'existing records have no value for it',
        how: howToFill(column),
      });
    else {
      this.steps.push({ do: 'add column', resource, column });
      if (column.reference) this.#last.push({ do: 'add reference', reference: column.reference });
      if (isNeverNull(column) && !filled) this.steps.push({ do: 'forbid null', resource, column });
    }
  }

  /** The column as it was, where the new one is wider and is kept in another form. */
  #widenedFrom({ table }: Resource, column: Column, type: string): Column | undefined {
    const old = this.#past.column(table, column.stored);
    if (!old || !widens(old, column) || codecOf(this.#ddl.codecs, old).type !== type) return undefined;
    const isSameForm =
      codecOf(this.#ddl.codecs, column).type === type &&
      (!this.#ddl.keepsUnits || scaleOf(old) === scaleOf(column));
    return isSameForm ? undefined : old;
  }

  async #widenedColumn(resource: Resource, column: Column, from: Column, required: boolean): Promise<void> {
    const step: Widening = { do: 'widen', resource, column, from, required };
    if (this.#insists) this.steps.push(step);
    else this.rewrites.push(step);
    await this.#oldColumn(resource, column, required, from);
  }

  /** `from`: what its values are stored as until then. */
  async #oldColumn(resource: Resource, column: Column, required: boolean, from = column): Promise<void> {
    const misfit =
      (from !== column || this.#mayMisfit(resource, column)) &&
      (await this.#rows.misfit(resource, column, from));
    if (misfit)
      this.#refuse(resource, column, {
        what: 'it admits less than before',
        why: `${misfit.detail}, but ${resource.singular} ${misfit.key} has another value`,
        how: 'Change such records first, or widen the constraint',
      });
    if (required && !isNeverNull(column))
      this.steps.push({ do: 'allow null', table: resource.table, column: column.stored });
    if (required || !isNeverNull(column)) return;
    const forbid: Tightening = { do: 'forbid null', resource, column };
    if (this.#isHeld(forbid)) return;
    const nulls = await this.#rows.any(resource, `${quote(column.stored)} IS NULL`);
    if (nulls && defaultOf(column) === undefined)
      this.#refuse(resource, column, {
        what: 'it is now required',
        why: 'there are records without a value for it',
        how: mayDefault(column)
          ? 'Give them one first, add @default(value: …), or drop the "!"'
          : 'Give them one first, or drop the "!"',
      });
    else {
      if (nulls) this.steps.push({ do: 'fill', resource, column });
      this.steps.push(forbid);
    }
  }

  /** Whether another file gave up what this one asks for again: its nodes write what would then be refused. */
  #isHeld(step: Tightening): boolean {
    const held = this.#again && this.#past.gaveUp(describe(step), describe(opposite(step)));
    if (held) this.held.push(step);
    return held;
  }

  /** Values that are stored alike but mean something else: a list is kept as JSON, an enum as text. */
  #isSameKind(resource: Resource, column: Column): boolean {
    const old = this.#past.column(resource.table, column.stored);
    if (!old) return true;
    if (old.list !== column.list || (old.reference === undefined) !== (column.reference === undefined))
      return false;
    if (old.reference?.target.table !== column.reference?.target.table) return false;
    return widens(old, column) || (keptAs(old) === keptAs(column) && scaleOf(old) === scaleOf(column));
  }

  /** A column that was not in the last file may have been filled under any rule. */
  #mayMisfit({ table }: Resource, column: Column): boolean {
    if (
      this.#again ||
      column.reference ||
      ['version', 'serial', 'uuid', 'function'].includes(column.origin.by)
    )
      return false;
    // What the engine itself makes fits.
    if (keptAs(column) === 'folded') return false;
    const before = this.#past.model?.resources.find((each) => each.table === table);
    const old = before && keptColumns(before).find(({ stored }) => stored === column.stored);
    return !old || !admitsAll(old, column);
  }

  async #indexes(resource: Resource, shape: Shape): Promise<void> {
    const wanted = new Map(allIndexesOf(resource, this.#ddl).map((index) => [index.name, index]));
    for (const index of wanted.values()) {
      const stored = shape.indexes.get(index.name);
      if (stored && isSame(stored, index)) continue;
      const create: Tightening = { do: 'create index', index, rebuild: stored !== undefined, live: true };
      if (index.unique && this.#isHeld(create)) continue;
      const values = index.columns.map((column) => this.#future(resource, column, shape));
      const twins = index.unique ? await this.#rows.twins(resource, index.columns, values) : [];
      if (twins.length > 0) {
        this.refusals.push(notUnique(index, twins));
        continue;
      }
      this.#last.push(create);
    }
    // A unique index that the file no longer asks for would still refuse rows; any other that works does no harm.
    const harmful = new Set(
      [...shape.indexes].flatMap(([name, { unique, kind }]) =>
        !wanted.has(name) && (unique || kind === 'broken') ? [name] : [],
      ),
    );
    if (harmful.size === 0) return;
    // Also what a file has left behind that was never applied.
    const ahead = uniquesAhead(resource).map((index) => [index.name, index] as const);
    for (const [name, index] of new Map([...this.#past.indexes(resource.table), ...ahead]))
      if (harmful.has(name)) this.steps.push({ do: 'drop index', index });
  }

  #future(resource: Resource, column: Column, { columns }: Shape): FutureValue {
    const given = resource.columns.find(({ folded }) => folded === column) ?? column;
    const value = given.required ? defaultOf(given) : undefined;
    return {
      stored: columns.has(column.stored) ? column.stored : undefined,
      otherwise: value === undefined ? undefined : literalOf(column, value, this.#ddl),
    };
  }

  #isEmpty(resource: Resource): Promise<boolean> {
    return this.#rows.any(resource, '1 = 1').then((any) => !any);
  }

  #refuse(resource: Resource, column: Column, { what, why, how }: Refusal): void {
    this.refusals.push({ what: `${resource.name}.${column.name}: ${what}`, why, how });
  }
}

/** What undoes a step. */
function opposite(step: Tightening): Step {
  if (step.do === 'create index') return { do: 'drop index', index: step.index };
  return { do: 'allow null', table: step.resource.table, column: step.column.stored };
}

/** SQLite takes two such names for one, and on any database they would be taken for a rename that lost its data. */
function alikeBut(name: string, others: Iterable<string>): string | undefined {
  return [...others].find((other) => other.toLowerCase() === name.toLowerCase());
}
