/** The texts of INSERT statements, made once for all records that have values for the same columns. */

import type { Resource } from '../schema/model.ts';
import { storedColumns } from '../schema/values.ts';
import type { Compiled, Dialect } from './dialect.ts';
import type { Insert } from './storage.ts';

/** Which columns a new record has hangs on its resource; a key that an import brings along is about all that differs. */
const KEPT = 8;

interface Insertion {
  readonly sql: string;
  /** For each column of the resource, whether it is among them. */
  readonly has: readonly boolean[];
}

export class Insertions {
  readonly #dialect: Dialect;
  readonly #write: (insert: Insert) => string;
  readonly #kept = new WeakMap<Resource, Insertion[]>();

  /** `write`: makes the text of one. */
  constructor(dialect: Dialect, write: (insert: Insert) => string) {
    this.#dialect = dialect;
    this.#write = write;
  }

  compile(insert: Insert): Compiled {
    const { resource, values, version } = insert;
    const parameters: unknown[] = [];
    for (const column of resource.columns) {
      if (!Object.hasOwn(values, column.name)) continue;
      const value = values[column.name];
      parameters.push(value === null ? null : this.#dialect.encode(column, value));
    }
    parameters.push(version);
    return { sql: this.#textOf(insert), parameters, columns: storedColumns(resource) };
  }

  #textOf(insert: Insert): string {
    const { resource, values } = insert;
    const { columns } = resource;
    const known = this.#kept.get(resource) ?? [];
    const same = known.find(({ has }) =>
      columns.every(({ name }, index) => Object.hasOwn(values, name) === has[index]),
    );
    if (same) return same.sql;
    const sql = this.#write(insert);
    if (known.length < KEPT) known.push({ sql, has: columns.map(({ name }) => Object.hasOwn(values, name)) });
    this.#kept.set(resource, known);
    return sql;
  }
}
