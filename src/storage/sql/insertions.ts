/** The texts of INSERT statements, made once for all records that have values for the same columns. */

import type { Column, Resource } from '../../schema/model.ts';
import type { Insert } from '../statements.ts';
import { type Codecs, encoded } from './codec.ts';
import type { Compiled } from './dialect.ts';

/** Which columns a new record has hangs on its resource; a key that an import brings along is about all that differs. */
const KEPT = 8;

interface Insertion {
  readonly sql: string;
  /** For each column of the resource, whether it is among them. */
  readonly has: readonly boolean[];
}

export class Insertions {
  readonly #codecs: Codecs;
  readonly #write: (insert: Insert) => string;
  readonly #kept = new WeakMap<Resource, Insertion[]>();

  /** `write`: makes the text of one. */
  constructor(codecs: Codecs, write: (insert: Insert) => string) {
    this.#codecs = codecs;
    this.#write = write;
  }

  compile(insert: Insert): Omit<Compiled, 'decoders'> {
    const { resource, values, version } = insert;
    const { columns } = resource;
    const parameters: unknown[] = [];
    const known = this.#kept.get(resource) ?? [];
    // Mostly the first is the one.
    let [same] = known;
    for (let index = 0; index < columns.length; index++) {
      const column = columns[index] as Column;
      const has = Object.hasOwn(values, column.name);
      if (has !== same?.has[index]) same = undefined;
      if (!has) continue;
      parameters.push(encoded(this.#codecs, column, values[column.name]));
    }
    parameters.push(version);
    const { sql } = same ?? this.#textOf(insert, known);
    return { sql, parameters };
  }

  #textOf(insert: Insert, known: Insertion[]): Insertion {
    const { resource, values } = insert;
    const has = resource.columns.map(({ name }) => Object.hasOwn(values, name));
    const same = known.find((each) => each.has.every((is, index) => is === has[index]));
    if (same) return same;
    const made = { sql: this.#write(insert), has };
    if (known.length < KEPT) known.push(made);
    this.#kept.set(resource, known);
    return made;
  }
}
