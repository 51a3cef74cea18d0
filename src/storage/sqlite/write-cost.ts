/** What it costs SQLite to change rows, with their indexes and their texts. */

import type { Database } from 'bun:sqlite';
import type { Filter } from '../../query/filter.ts';
import type { Resource } from '../../schema/model.ts';
import { indexesOf } from '../evolve/tables.ts';
import { type Filled, type Statement, type Table, textIn } from '../statements.ts';
import { MOST_TESTS } from './cost.ts';
import { BYTES, bytesIn, splittingOf, takenApart } from './given.ts';
import { keyIn, keysOf, named } from './keyed.ts';
import type { Reading } from './plan.ts';
import { MOST_AT_ONCE, MOST_ROWS, type Sizes } from './sizes.ts';
import { held, lengthIn, measuredOf, read } from './texts.ts';

/** What it costs to change a row; and, in a large file, a page that has it or an index of it. */
const CHANGE = 50;
const CHANGED_PAGE = 150;
/** More than these are changed elsewhere, whatever they are. */
export const MOST_CHANGED = MOST_TESTS / CHANGE;
/**
 * When a transaction ends, FTS5 merges a page of its index on each of its levels for each record whose words were removed, and as much
 * for what is written where more is left to merge: 0.4 ms in a large one, and nothing looks at the clock meanwhile.
 */
const MERGED = 600;
/** A new row is written, and not looked for. */
const NEW = 0.5;
/** So many take no time, as do those that a commit has of many clients. */
const FEW_NEW = 100;
/** In a smaller file all texts together are short. */
export const SHORT_FILE = BYTES * MOST_TESTS;

export type Writing = Exclude<Statement, Reading | Filled>;

export class WriteCost {
  readonly #database: Database;
  readonly #sizes: Sizes;

  constructor(database: Database, sizes: Sizes) {
    this.#database = database;
    this.#sizes = sizes;
  }

  of(statement: Writing): number {
    switch (statement.do) {
      case 'update': {
        const { resource, set, where, own = [], next = [] } = statement;
        const keys = keysOf(where);
        this.#sizes.grew(resource, 0, set, keys);
        const changes = (name: string) => Object.hasOwn(set, name) || own.some((each) => each.name === name);
        const row = keys === 1 ? CHANGE : this.#ofRow(resource, changes);
        const bare =
          keys * (row + bytesIn(set) / BYTES + this.#merged(resource, changes)) +
          takenApart(own, next) +
          splittingOf(statement);
        return bare + this.#changed(resource, where, bare);
      }
      case 'update all': {
        const { resource, columns, rows } = statement;
        const changed = new Set(columns.map(({ name }) => name));
        const changes = (name: string) => changed.has(name);
        return rows.length * (this.#ofRow(resource, changes) + this.#merged(resource, changes));
      }
      case 'insert':
      case 'upsert':
        this.#sizes.grew(statement.resource, 1, statement.values);
        return splittingOf(statement) + this.#merged(statement.resource);
      case 'insert all': {
        const { resource, rows } = statement;
        for (const row of rows) this.#sizes.grew(resource, 1, row);
        if (rows.length <= FEW_NEW) return splittingOf(statement);
        return splittingOf(statement) + rows.length * (this.#ofRow(resource) * NEW + this.#merged(resource));
      }
      case 'mend words':
        return splittingOf(statement);
      case 'delete':
      case 'bury': {
        const { resource, where } = statement;
        const keys = keysOf(where);
        const bare = keys * ((keys === 1 ? CHANGE : this.#ofRow(resource)) + this.#merged(resource));
        return bare + this.#changed(resource, where, bare);
      }
      default:
        return 0;
    }
  }

  /** Of Duet's own tables, in which there may be much. */
  ofOwn(statement: Writing): number {
    if (statement.do === 'insert all')
      return statement.rows.reduce((sum, row) => sum + textIn(row), 0) / BYTES;
    if (statement.do !== 'update' && statement.do !== 'delete') return 0;
    const { resource, where } = statement;
    const isKeyed = keyIn(where, resource.key) !== undefined;
    // What is outdated may be any number of long texts.
    if (statement.do === 'delete' && this.#sizes.isLarge)
      return isKeyed ? this.#changed(resource, where) : Number.POSITIVE_INFINITY;
    const isFew = isKeyed || (statement.do === 'delete' && statement.first !== undefined);
    return isFew ? 0 : CHANGE * this.#sizes.rowsOf(resource.table);
  }

  /** In a large file each index that has what changes is another page to read and to write. */
  #ofRow(resource: Table, changes = (_name: string) => true): number {
    const indexes = indexesOf(resource as Resource).filter(({ columns }) =>
      columns.some(({ name }) => changes(name)),
    );
    return this.#sizes.isLarge ? CHANGED_PAGE * (1 + indexes.length) : CHANGE * (1 + indexes.length / 8);
  }

  #merged(resource: Table, changes = (_name: string) => true): number {
    const { searched } = resource as Resource;
    return searched.some(({ name }) => changes(name)) && this.#sizes.bytes > SHORT_FILE ? MERGED : 0;
  }

  /** Rows that are changed are written anew, with all of their texts. */
  #changed(resource: Table, where: Filter, bare = 0): number {
    const keys = keysOf(where);
    if (keys === 1 || bare > MOST_TESTS || this.#sizes.bytes <= SHORT_FILE) return 0;
    // To measure them would itself take long.
    if (Math.min(keys, MOST_ROWS) * measuredOf(resource) > MOST_AT_ONCE) return Number.POSITIVE_INFINITY;
    const part = named({ resource, where });
    return part ? lengthIn(held(this.#database, resource, MOST_ROWS, part), read(resource)).all / BYTES : 0;
  }
}
