/** The texts of INSERT statements, made once for all rows that have values for the same columns. */

import type { Column, Resource } from '../../schema/model.ts';
import { keptColumns, writtenColumns } from '../../schema/values.ts';
import { newChanges } from '../own.ts';
import type { Insert, InsertAll, Table } from '../statements.ts';
import { type Codecs, encoded } from './codec.ts';
import type { Compiled, Dialect, Words } from './dialect.ts';

/** Which columns a new record has hangs on its resource; a key that an import brings along is about all that differs. */
const KEPT = 8;

interface Insertion {
  readonly sql: string;
  /** For each column that is written, whether it is among them. */
  readonly has: readonly boolean[];
}

interface Known {
  readonly columns: readonly Column[];
  readonly insertions: Insertion[];
}

/** What a change has of its own. */
const given = newChanges.columns.filter(({ name }) => name !== 'key' && name !== 'after');

export class Insertions {
  readonly #codecs: Codecs;
  readonly #words: Words['kept'];
  readonly #write: (insert: Insert | InsertAll) => string;
  readonly #kept = new WeakMap<Resource, Known>();
  /** Of those that write their changes, too. */
  readonly #noted = new WeakMap<Resource, Known>();
  /** Of a single row with a value for each column. */
  readonly #whole = new WeakMap<Table, string>();

  /** `write`: makes the text of one. */
  constructor({ codecs, words }: Dialect, write: (insert: Insert | InsertAll) => string) {
    this.#codecs = codecs;
    this.#words = words.kept;
    this.#write = write;
  }

  compile(insert: Insert): Omit<Compiled, 'decoders'> {
    const { resource, values, version, change } = insert;
    const kept = change ? this.#noted : this.#kept;
    const known = kept.get(resource) ?? begun(kept, resource);
    const { columns } = known;
    const parameters: unknown[] = [];
    // Mostly the first is the one.
    let [same] = known.insertions;
    for (let index = 0; index < columns.length; index++) {
      const column = columns[index] as Column;
      const has = Object.hasOwn(values, column.name);
      if (has !== same?.has[index]) same = undefined;
      if (!has) continue;
      parameters.push(encoded(this.#codecs, column, values[column.name]));
    }
    const words = this.#words?.columns(resource) ?? [];
    const found = words.length > 0 ? this.#words?.of(resource, values) : undefined;
    for (const { name } of words) parameters.push(found?.[name]);
    parameters.push(version);
    if (change) {
      const row = change();
      for (const column of given) parameters.push(encoded(this.#codecs, column, row[column.name] ?? null));
    }
    const { sql } = same ?? this.#textOf(insert, known);
    return { sql, parameters };
  }

  /** Undefined where there is more than one row, or more to do than to store it. */
  compileWhole(insert: InsertAll): Omit<Compiled, 'decoders'> | undefined {
    const { resource, rows, claims } = insert;
    const [row] = rows;
    if (!row || rows.length > 1 || claims || this.#words?.columns(resource).length) return undefined;
    let sql = this.#whole.get(resource);
    if (sql === undefined) {
      sql = this.#write(insert);
      this.#whole.set(resource, sql);
    }
    const value = (column: Column) => encoded(this.#codecs, column, row[column.name] ?? null);
    return { sql, parameters: keptColumns(resource).map(value) };
  }

  #textOf(insert: Insert, { columns, insertions }: Known): Insertion {
    const has = columns.map(({ name }) => Object.hasOwn(insert.values, name));
    const same = insertions.find((each) => each.has.every((is, index) => is === has[index]));
    if (same) return same;
    const made = { sql: this.#write(insert), has };
    if (insertions.length < KEPT) insertions.push(made);
    return made;
  }
}

function begun(kept: WeakMap<Resource, Known>, resource: Resource): Known {
  const known = { columns: writtenColumns(resource), insertions: [] };
  kept.set(resource, known);
  return known;
}
