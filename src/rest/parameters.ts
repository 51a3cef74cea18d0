/** The parameters of a query string, by name: each is taken by what reads it, and what nothing has taken is refused. */

import { cited, type Fault, isFull, validationFailed } from '../base/errors.ts';
import type { Argument } from '../query/list.ts';
import { spelt } from '../query/parts.ts';
import { isSearchable, SEARCH } from '../query/search.ts';
import type { Column, Resource } from '../schema/model.ts';
import { didYouMean } from '../schema/suggest.ts';

/** The parameters that are not fields; a field of the same name is filtered by its bracket form. */
export const listParameters = [
  'limit',
  'after',
  'before',
  'offset',
  'sort',
  'where',
  SEARCH,
  'fields',
  'include',
  'count',
  'aggregate',
  'groupBy',
  'having',
] as const;
export const oneParameters = ['fields', 'include'] as const;
/** What can be said of an included list: `posts[limit]=3`. */
export const includedParameters = ['limit', 'after', 'offset', 'sort', 'where', SEARCH] as const;
export const changesParameters = ['limit', 'after', 'where'] as const;

/** What is searched by no field has no such parameter, and its field of that name is filtered as any other. */
export function isListParameter(name: string, resource: Resource): boolean {
  return listParameters.some((each) => each === name) && (name !== SEARCH || isSearchable(resource));
}

export class QueryParameters {
  /** By name. */
  readonly all = new Map<string, string>();
  readonly #taken = new Set<string>();
  readonly #faults: Fault[] = [];

  constructor(query: string) {
    for (const [name, value] of new URLSearchParams(query)) {
      if (this.all.has(name)) this.report(name, 'UNKNOWN', `"${cited(name)}" is given twice`);
      this.all.set(name, value);
    }
  }

  has(name: string): boolean {
    return this.all.has(name);
  }

  /** Whether something has read it. */
  isTaken(name: string): boolean {
    return this.#taken.has(name);
  }

  take(name: string): string | undefined {
    const value = this.all.get(name);
    if (value !== undefined) this.#taken.add(name);
    return value;
  }

  /** Reading ends where there are more faults than anybody is told of: each of them may cost the search for a similar name. */
  report(parameter: string, code: Fault['code'], detail: string): void {
    this.#faults.push({ parameter: cited(parameter), code, detail });
    if (isFull(this.#faults)) throw validationFailed(this.#faults);
  }

  /** Whatever nothing has read is refused by name: it would be believed to work. */
  finish(allowed: readonly string[], resource: Resource | undefined): void {
    for (const name of this.all.keys()) {
      if (this.#taken.has(name)) continue;
      const isList = allowed === listParameters;
      const fields = isList && resource ? resource.columns.map((column) => column.name) : [];
      const known = isList && resource ? allowed.filter((each) => isListParameter(each, resource)) : allowed;
      const options = [...known, ...fields];
      const cure =
        didYouMean(name, options) ||
        (options.length > 0 ? ` There are: ${options.join(', ')}.` : ' There are none here.');
      this.report(name, 'UNKNOWN', `"${cited(name)}" is no parameter of this path.${cure}`);
    }
    if (this.#faults.length > 0) throw validationFailed(this.#faults);
  }

  flag(name: string): boolean {
    const value = this.take(name);
    if (value !== undefined && value !== 'true' && value !== 'false')
      this.report(name, 'TYPE', `${name} must be true or false`);
    return value === 'true';
  }

  number(name: string): Argument {
    const value = this.take(name);
    return {
      name,
      value: value === undefined || /^\d{1,9}$/.test(value) ? value && Number(value) : Number.NaN,
    };
  }

  /** Each once: the same one again says nothing, and there is room for thousands of it. */
  words(name: string): string[] {
    return [...new Set(this.allWords(name))];
  }

  /** Where they are counted, those that are there again count too. */
  allWords(name: string): string[] {
    const text = this.take(name);
    if (text === undefined) return [];
    if (text !== '') return text.split(',');
    this.report(name, 'REQUIRED', `${name} must name at least one field`);
    return [];
  }

  column(
    resource: Resource,
    name: string,
    parameter: string,
    fits: (column: Column) => boolean,
    columns: readonly Column[] = resource.columns,
  ): Column | undefined {
    const column = columns.find((each) => spelt(each) === name && fits(each));
    if (!column) {
      const names = columns.filter(fits).map(spelt);
      const cure = didYouMean(name, names) || ` There are: ${names.join(', ')}.`;
      this.report(parameter, 'UNKNOWN', `"${cited(name)}" cannot stand in ${parameter}.${cure}`);
    }
    return column;
  }
}
