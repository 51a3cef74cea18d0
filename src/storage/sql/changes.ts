/** The texts of UPDATE and DELETE statements, made once for all that change the same columns of records named by their keys. */

import { Lru } from '../../base/lru.ts';
import { FieldOperand, type Filter } from '../../query/filter.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { comparedBy, writtenColumns } from '../../schema/values.ts';
import type { Delete, Table, Update } from '../statements.ts';
import { encoded } from './codec.ts';
import type { Compiled, Dialect } from './dialect.ts';

/** Clients mostly send the same few fields; of all that could be set together there are as many as there are subsets. */
const KEPT = 64;

type Known = Omit<Compiled, 'decoders'>;

export class Changes {
  readonly #dialect: Dialect;
  readonly #write: (change: Update | Delete) => Known;
  readonly #kept = new WeakMap<Table, Lru<string, string>>();

  /** `write`: makes the text of one. */
  constructor(dialect: Dialect, write: (change: Update | Delete) => Known) {
    this.#dialect = dialect;
    this.#write = write;
  }

  compile(change: Update | Delete): Known {
    const parameters: unknown[] = [];
    const shape = this.#shape(change, parameters);
    if (shape === undefined) return this.#write(change);
    const { resource } = change;
    let texts = this.#kept.get(resource);
    if (!texts) {
      texts = new Lru(KEPT);
      this.#kept.set(resource, texts);
    }
    let sql = texts.get(shape);
    if (sql === undefined) {
      sql = this.#write(change).sql;
      texts.set(shape, sql);
    }
    return { sql, parameters };
  }

  /** What its text hangs on, and its parameters in their order; undefined where it hangs on more. */
  #shape(change: Update | Delete, parameters: unknown[]): string | undefined {
    if (change.do === 'delete') {
      const asked = change.first ? undefined : this.#asked(change.where, parameters);
      return asked !== undefined && change.tellsKeys ? `keys ${asked}` : asked;
    }
    const { resource, set, add, where, ifVersion, counts, isSilent } = change;
    if (this.#isOfEach(change)) return undefined;
    let shape = isSilent ? 'silent' : '';
    for (const column of writtenColumns(resource)) {
      const { name } = column;
      if (Object.hasOwn(set, name)) shape += this.#given('=', column, set[name], parameters);
      else if (add && Object.hasOwn(add, name)) shape += this.#given('+', column, add[name], parameters);
    }
    const asked = this.#asked(where, parameters);
    if (asked === undefined) return undefined;
    const { version } = resource;
    const guard =
      ifVersion === undefined || !version ? '' : this.#given('if', version, ifVersion, parameters);
    return `${shape}${counts ? '#' : ''} ${asked}${guard}`;
  }

  /** Whether rows have values of their own: what functions make, and words, which hang on what else the record has. */
  #isOfEach({ resource, set, own }: Update): boolean {
    if (own && own.length > 0) return true;
    if (!this.#dialect.words.kept || !resource.version) return false;
    const { searched } = resource as Resource;
    return searched.length > 0 && searched.some(({ name }) => Object.hasOwn(set, name));
  }

  /** Records are named by their keys; beside that, their numbers may be asked for room. */
  #asked(filter: Filter, parameters: unknown[]): string | undefined {
    switch (filter.is) {
      case 'all': {
        let shape = '';
        for (const each of filter.of) {
          const asked = this.#asked(each, parameters);
          if (asked === undefined) return undefined;
          shape += asked;
        }
        return `(${shape})`;
      }
      case 'not': {
        const asked = this.#asked(filter.of, parameters);
        return asked === undefined ? undefined : `!${asked}`;
      }
      case 'null':
        return `null ${filter.column.name} `;
      case 'in':
        parameters.push(this.#dialect.list(filter.values, comparedBy(filter.column)));
        return `in ${filter.column.name} `;
      case 'eq':
      case 'gte':
      case 'lte':
        if (filter.value instanceof FieldOperand) return undefined;
        return this.#given(filter.is, comparedBy(filter.column), filter.value, parameters);
      default:
        return undefined;
    }
  }

  #given(how: string, column: Column, value: unknown, parameters: unknown[]): string {
    parameters.push(encoded(this.#dialect.codecs, column, value));
    return `${how} ${column.name} `;
  }
}
