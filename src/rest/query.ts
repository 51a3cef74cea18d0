/** The query string of a read → filters, order, page and shape, with every fault reported. */

import { cited, type Fault, validationFailed } from '../base/errors.ts';
import { DEFAULT_LIMIT, MOST_CHANGES } from '../engine/journal/reading.ts';
import type { Selection } from '../engine/operation.ts';
import { all, everything, type Filter, type Searched } from '../query/filter.ts';
import {
  type Argument,
  type ArgumentReport,
  type ListQuery,
  readLimit,
  readList,
  wholeList,
} from '../query/list.ts';
import { isSortable } from '../query/operators.ts';
import type { OrderBy } from '../query/order.ts';
import { spelt } from '../query/parts.ts';
import { columnThrough, MOST_RECORDS, MOST_STEPS, recordsFor } from '../query/referred.ts';
import type { Groups } from '../query/results.ts';
import {
  isSearchable,
  NOT_SEARCHED,
  notSearchable,
  RELEVANCE,
  readSearch,
  relevanceOf,
  SEARCH,
} from '../query/search.ts';
import { DEEPEST, WhereReader } from '../query/where.ts';
import type { Column, Inverse, Reference, Resource, Through } from '../schema/model.ts';
import { fromText } from '../schema/spelling.ts';
import { didYouMean } from '../schema/suggest.ts';
import { upsertKeys } from '../schema/upserts.ts';
import { storedColumns } from '../schema/values.ts';
import { type AggregateRequest, includedIn, operandIn, readAggregate } from './groups.ts';
import { readShape, visible } from './shape.ts';

/** What a read may ask for. */
export interface ReadLimits {
  /** The longest page. */
  readonly most: number;
  /** Levels of fields. */
  readonly depth: number;
}

export interface ListRequest {
  readonly list: ListQuery;
  readonly selection: Selection;
  readonly count: boolean;
  /** Then the selection has what is included of the records that groups are of. */
  readonly aggregate: AggregateRequest | undefined;
}

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

export function readListRequest(resource: Resource, query: string, limits: ReadLimits): ListRequest {
  const reader = new QueryReader(query, limits);
  const aggregate = reader.aggregate(resource);
  const selection = aggregate ? reader.groupSelection(resource, aggregate.by) : reader.selection(resource);
  const where = [reader.where(resource, 'where'), ...reader.filters(resource)];
  const list = aggregate
    ? { ...wholeList(resource), where: all([...where, reader.search(resource, SEARCH)]) }
    : reader.list(resource, where, '');
  const count = reader.flag('count');
  reader.finish(listParameters, resource);
  return { list, selection, count, aggregate };
}

/** What is said beside the key or the body of one record. */
export interface OneParameters {
  /** What is answered, where that is not the plain record. */
  readonly shape: Selection | undefined;
  /** By what a record is looked up that is to be changed or created. */
  readonly by: readonly Column[] | undefined;
}

/** `mayUpsert`: the request creates records. */
export function readOneParameters(
  resource: Resource,
  query: string,
  limits: ReadLimits,
  mayUpsert: boolean,
): OneParameters {
  const reader = new QueryReader(query, limits);
  const shaped = reader.has('fields') || reader.has('include');
  const selection = reader.selection(resource);
  const isUpsert = mayUpsert && upsertKeys(resource).size > 0;
  const by = isUpsert ? reader.upsert(resource) : undefined;
  reader.finish(isUpsert ? [...oneParameters, 'upsert'] : oneParameters, resource);
  return { shape: shaped ? selection : undefined, by };
}

export const changesParameters = ['limit', 'after', 'where'] as const;

/** What is asked of a feed of changes; only of those of one type can be asked what records are like. */
export function readChangesRequest(
  resource: Resource | undefined,
  query: string,
): { readonly after: string | undefined; readonly limit: number; readonly where: Filter } {
  const reader = new QueryReader(query, { most: MOST_CHANGES, depth: 0 });
  const { limit, after } = reader.page();
  const where = resource && reader.where(resource, 'where', () => false);
  reader.finish(resource ? changesParameters : changesParameters.slice(0, 2), resource);
  return { after, limit: limit ?? DEFAULT_LIMIT, where: where ?? everything };
}

/** For routes that take no parameter at all. */
export function refuseParameters(resource: Resource, query: string): void {
  if (query !== '') new QueryReader(query, NOTHING).finish([], resource);
}

const NOTHING: ReadLimits = { most: 0, depth: 0 };

class QueryReader {
  readonly #parameters = new Map<string, string>();
  readonly #used = new Set<string>();
  readonly #faults: Fault[] = [];
  readonly #limits: ReadLimits;

  constructor(query: string, limits: ReadLimits) {
    this.#limits = limits;
    for (const [name, value] of new URLSearchParams(query)) {
      if (this.#parameters.has(name)) this.#report(name, 'UNKNOWN', `"${cited(name)}" is given twice`);
      this.#parameters.set(name, value);
    }
  }

  has(name: string): boolean {
    return this.#parameters.has(name);
  }

  #take(name: string): string | undefined {
    const value = this.#parameters.get(name);
    if (value !== undefined) this.#used.add(name);
    return value;
  }

  #report(parameter: string, code: Fault['code'], detail: string): void {
    this.#faults.push({ parameter: cited(parameter), code, detail });
  }

  /** Whatever nothing has read is refused by name: it would be believed to work. */
  finish(allowed: readonly string[], resource: Resource | undefined): void {
    for (const name of this.#parameters.keys()) {
      if (this.#used.has(name)) continue;
      const isList = allowed === listParameters;
      const fields = isList && resource ? resource.columns.map((column) => column.name) : [];
      const known = isList && resource ? allowed.filter((each) => isListParameter(each, resource)) : allowed;
      const options = [...known, ...fields];
      const cure =
        didYouMean(name, options) ||
        (options.length > 0 ? ` There are: ${options.join(', ')}.` : ' There are none here.');
      this.#report(name, 'UNKNOWN', `"${cited(name)}" is no parameter of this path.${cure}`);
    }
    if (this.#faults.length > 0) throw validationFailed(this.#faults);
  }

  flag(name: string): boolean {
    const value = this.#take(name);
    if (value !== undefined && value !== 'true' && value !== 'false')
      this.#report(name, 'TYPE', `${name} must be true or false`);
    return value === 'true';
  }

  page(): { readonly limit: number | undefined; readonly after: string | undefined } {
    const report: ArgumentReport = (parameter, code, detail) => this.#report(parameter, code, detail);
    const limit = readLimit(this.#number('limit'), this.#limits.most, report);
    return { limit, after: this.#take('after') };
  }

  /** `prefix` is `posts[` for what is said of an included list. */
  list(resource: Resource, where: readonly (Filter | undefined)[], prefix: string): ListQuery {
    const named = (name: string) => (prefix === '' ? name : `${prefix}[${name}]`);
    const text = (name: string) => ({ name: named(name), value: this.#take(named(name)) });
    const limit = this.#number(named('limit'));
    const before = prefix === '' ? text('before') : { name: '', value: undefined };
    // Before a cursor, the page that ends there is meant.
    const backwards = before.value !== undefined;
    const none = { name: limit.name, value: undefined };
    const page = {
      first: backwards ? none : limit,
      after: text('after'),
      last: backwards ? limit : none,
      before,
      offset: this.#number(named('offset')),
    };
    const searched = this.search(resource, named(SEARCH));
    return readList(
      resource,
      all([...where, searched]),
      this.#sort(resource, named('sort'), searched),
      page,
      this.#limits.most,
      (parameter, code, detail) => this.#report(parameter, code, detail),
      prefix !== '',
    );
  }

  #number(name: string): Argument {
    const value = this.#take(name);
    return {
      name,
      value: value === undefined || /^\d{1,9}$/.test(value) ? value && Number(value) : Number.NaN,
    };
  }

  upsert(resource: Resource): readonly Column[] | undefined {
    const name = this.#take('upsert');
    if (name === undefined) return undefined;
    const keys = upsertKeys(resource);
    const by = keys.get(name);
    if (by) return by;
    const cure = didYouMean(name, keys.keys()) || ` There are: ${[...keys.keys()].join(', ')}.`;
    this.#report('upsert', 'UNKNOWN', `No ${resource.singular} can be looked up by "${cited(name)}".${cure}`);
    return undefined;
  }

  search(resource: Resource, name: string): Searched | undefined {
    if (isSearchable(resource))
      return readSearch(resource, this.#take(name), (code, detail) => this.#report(name, code, detail));
    // Unless it is a field of that name.
    if (!this.#used.has(name) && this.#take(name) !== undefined)
      this.#report(name, 'UNKNOWN', notSearchable(resource));
    return undefined;
  }

  #sort(resource: Resource, name: string, searched: Searched | undefined): OrderBy[] {
    // One object for both: a column that has decided already decides nothing.
    const relevance = searched && relevanceOf(searched);
    const order = this.#words(name).flatMap((word): OrderBy[] => {
      const descending = word.startsWith('-');
      if (isSearchable(resource) && word.slice(descending ? 1 : 0) === RELEVANCE) {
        // Whoever asks for it wants the most relevant first; with a sign it is the other way round.
        if (relevance) return [{ column: relevance, descending: !descending }];
        // What is wrong with the search was told.
        if (!this.has(name.replace('sort', SEARCH))) this.#report(name, 'REQUIRED', NOT_SEARCHED);
        return [];
      }
      const column = this.#sortable(resource, descending ? word.slice(1) : word, name);
      return column ? [{ column, descending }] : [];
    });
    if (recordsFor(order.map(({ column }) => column)) > MOST_RECORDS)
      this.#report(name, 'OUT_OF_RANGE', `${name} may lead to ${MOST_RECORDS} other records at most`);
    return order;
  }

  /** `title`, or `category.name`. */
  #sortable(resource: Resource, path: string, parameter: string): Column | undefined {
    const names = path.split('.');
    const last = names.pop() ?? '';
    if (names.length > MOST_STEPS) {
      this.#report(parameter, 'OUT_OF_RANGE', `${parameter} may follow ${MOST_STEPS} references at most`);
      return undefined;
    }
    const references: Reference[] = [];
    let at = resource;
    for (const name of names) {
      const field = visible(at.fieldByName.get(name));
      if (field?.kind !== 'reference') {
        const there = at.references.filter(visible).map((each) => each.name);
        const cure = didYouMean(name, there) || ` There are: ${there.join(', ') || 'none'}.`;
        this.#report(parameter, 'UNKNOWN', `"${cited(name)}" is no reference of ${at.name}.${cure}`);
        return undefined;
      }
      references.push(field);
      at = field.target;
    }
    const column = this.#column(at, last, parameter, isSortable);
    return column && columnThrough(references, column);
  }

  #words(name: string): string[] {
    const text = this.#take(name);
    if (text === undefined) return [];
    if (text !== '') return text.split(',');
    this.#report(name, 'REQUIRED', `${name} must name at least one field`);
    return [];
  }

  #column(
    resource: Resource,
    name: string,
    parameter: string,
    fits: (column: Column) => boolean,
    columns: readonly Column[] = resource.columns,
  ): Column | undefined {
    const fitting = columns.filter(fits);
    const column = fitting.find((each) => spelt(each) === name);
    if (!column) {
      const names = fitting.map(spelt);
      const cure = didYouMean(name, names) || ` There are: ${names.join(', ')}.`;
      this.#report(parameter, 'UNKNOWN', `"${cited(name)}" cannot stand in ${parameter}.${cure}`);
    }
    return column;
  }

  where(of: Resource | Groups, parameter: string, sees?: (target: Resource) => boolean): Filter | undefined {
    const text = this.#take(parameter);
    if (text === undefined) return undefined;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      this.#report(parameter, 'FORMAT', `${parameter} must be JSON`);
      return undefined;
    }
    return this.#reader(
      () => parameter,
      (_, given) => given,
      sees,
    ).read(of, value);
  }

  #reader(
    parameter: (path: readonly (string | number)[]) => string,
    spelling: (column: Column, value: unknown) => unknown,
    sees: (target: Resource) => boolean = (target) => target.rest,
  ) {
    return new WhereReader(
      spelling,
      (path, code, detail) => this.#report(parameter(path), code, detail),
      sees,
    );
  }

  /** Of conditions that are parameters each. */
  #textReader(): WhereReader {
    return this.#reader(
      ([name]) => String(name),
      (column, value) => fromText(column, String(value)),
    );
  }

  /** `pages=412`, `pages[gte]=100`, `author.name[eq]=Ann`. */
  filters(resource: Resource): Filter[] {
    const filters: Filter[] = [];
    const reader = this.#textReader();
    for (const [name, text] of this.#parameters) {
      const [, path = '', operator] = /^([^[\]]+)(?:\[([^[\]]*)\])?$/.exec(name) ?? [];
      if (this.#used.has(name) || (operator === undefined && isListParameter(name, resource))) continue;
      const found = follow(resource, path, reader);
      if (!found) continue;
      this.#used.add(name);
      const filter = reader.compare(found.column, operator ?? 'eq', operandIn(text, operator), [name]);
      if (filter)
        filters.push(
          found.references.reduceRight<Filter>((where, field) => ({ is: 'related', field, where }), filter),
        );
    }
    return filters;
  }

  aggregate(resource: Resource): AggregateRequest | undefined {
    return readAggregate(resource, {
      parameters: this.#parameters,
      most: this.#limits.most,
      report: (parameter, code, detail) => this.#report(parameter, code, detail),
      take: (name) => this.#take(name),
      number: (name) => this.#number(name),
      words: (name) => this.#words(name),
      column: (name, parameter, fits, columns) => this.#column(resource, name, parameter, fits, columns),
      where: (of, parameter) => this.where(of, parameter),
      reader: () => this.#textReader(),
    });
  }

  /** What is included of the records that groups are of. */
  groupSelection(resource: Resource, by: readonly Column[]): Selection {
    const report: ArgumentReport = (parameter, code, detail) => this.#report(parameter, code, detail);
    const include = includedIn(resource, by, 'include', this.#words('include'), report);
    const fields = includedIn(resource, by, 'fields', this.#words('fields'), report);
    // As in GraphQL, what the groups have in common is a level of its own.
    return this.#shape(resource, include, fields, this.#limits.depth - 1);
  }

  /** `fields=title,posts.title&include=posts.comments`: what a GraphQL selection would say. */
  selection(resource: Resource): Selection {
    return this.#shape(resource, this.#words('include'), this.#words('fields'), this.#limits.depth);
  }

  #shape(
    resource: Resource,
    include: readonly string[],
    fields: readonly string[],
    depth: number,
  ): Selection {
    return readShape(resource, include, fields, {
      report: (parameter, detail) => this.#report(parameter, 'UNKNOWN', detail),
      column: (of, name) => this.#column(of, name, 'fields', () => true, storedColumns(of)),
      list: (field, at) => this.#included(field, at),
      depth,
    });
  }

  #included(field: Inverse | Through, at: string): ListQuery {
    if (!includedParameters.some((name) => this.has(`${at}[${name}]`))) return wholeList(field.target);
    return this.list(field.target, [this.where(field.target, `${at}[where]`)], at);
  }
}

/** Leads through references to a column. */
function follow(
  resource: Resource,
  path: string,
  reader: WhereReader,
): { references: Reference[]; column: Column } | undefined {
  const references: Reference[] = [];
  let at = resource;
  const names = path.split('.');
  if (names.length > DEEPEST) return undefined;
  const last = names.pop() ?? '';
  for (const name of names) {
    const field = reader.field(at, name);
    if (field?.kind !== 'reference') return undefined;
    references.push(field);
    at = field.target;
  }
  const column = reader.field(at, last);
  return column?.kind === 'column' ? { references, column } : undefined;
}

/** What is searched by no field has no such parameter, and its field of that name is filtered as any other. */
export function isListParameter(name: string, resource: Resource): boolean {
  return listParameters.some((each) => each === name) && (name !== SEARCH || isSearchable(resource));
}
