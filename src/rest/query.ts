/** The query string of a read → filters, order, page and shape, with every fault reported. */

import { cited } from '../base/errors.ts';
import { DEFAULT_LIMIT, MOST_CHANGES } from '../engine/journal/reading.ts';
import type { Selection } from '../engine/operation.ts';
import { all, everything, type Filter, type Searched } from '../query/filter.ts';
import { type ArgumentReport, type ListQuery, readLimit, readList, wholeList } from '../query/list.ts';
import type { Groups } from '../query/results.ts';
import { isSearchable, notSearchable, readSearch, SEARCH } from '../query/search.ts';
import { DEEPEST, WhereReader } from '../query/where.ts';
import type { Column, Inverse, Reference, Resource, Through } from '../schema/model.ts';
import { fromText } from '../schema/spelling.ts';
import { didYouMean } from '../schema/suggest.ts';
import { upsertKeys } from '../schema/upserts.ts';
import { storedColumns } from '../schema/values.ts';
import { type AggregateRequest, includedIn, operandIn, readAggregate } from './groups.ts';
import {
  changesParameters,
  includedParameters,
  isListParameter,
  listParameters,
  oneParameters,
  QueryParameters,
} from './parameters.ts';
import { readShape } from './shape.ts';
import { readSort } from './sort.ts';

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

export function readListRequest(resource: Resource, query: string, limits: ReadLimits): ListRequest {
  const given = new QueryParameters(query);
  const reader = new QueryReader(given, limits);
  const aggregate = reader.aggregate(resource);
  const selection = aggregate ? reader.groupSelection(resource, aggregate.by) : reader.selection(resource);
  const where = [reader.where(resource, 'where'), ...reader.filters(resource)];
  const list = aggregate
    ? { ...wholeList(resource), where: all([...where, reader.search(resource, SEARCH)]) }
    : reader.list(resource, where, '');
  const count = given.flag('count');
  given.finish(listParameters, resource);
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
  const given = new QueryParameters(query);
  const reader = new QueryReader(given, limits);
  const shaped = given.has('fields') || given.has('include');
  const selection = reader.selection(resource);
  const isUpsert = mayUpsert && upsertKeys(resource).size > 0;
  const by = isUpsert ? reader.upsert(resource) : undefined;
  given.finish(isUpsert ? [...oneParameters, 'upsert'] : oneParameters, resource);
  return { shape: shaped ? selection : undefined, by };
}

/** What is asked of a feed of changes; only of those of one type can be asked what records are like. */
export function readChangesRequest(
  resource: Resource | undefined,
  query: string,
): { readonly after: string | undefined; readonly limit: number; readonly where: Filter } {
  const given = new QueryParameters(query);
  const reader = new QueryReader(given, { most: MOST_CHANGES, depth: 0 });
  const { limit, after } = reader.page();
  const where = resource && reader.where(resource, 'where', () => false);
  given.finish(resource ? changesParameters : changesParameters.slice(0, 2), resource);
  return { after, limit: limit ?? DEFAULT_LIMIT, where: where ?? everything };
}

/** For routes that take no parameter at all. */
export function refuseParameters(resource: Resource, query: string): void {
  if (query !== '') new QueryParameters(query).finish([], resource);
}

class QueryReader {
  readonly #given: QueryParameters;
  readonly #limits: ReadLimits;

  constructor(given: QueryParameters, limits: ReadLimits) {
    this.#given = given;
    this.#limits = limits;
  }

  page(): { readonly limit: number | undefined; readonly after: string | undefined } {
    const report: ArgumentReport = (parameter, code, detail) => this.#given.report(parameter, code, detail);
    const limit = readLimit(this.#given.number('limit'), this.#limits.most, report);
    return { limit, after: this.#given.take('after') };
  }

  /** `prefix` is `posts[` for what is said of an included list. */
  list(resource: Resource, where: readonly (Filter | undefined)[], prefix: string): ListQuery {
    const named = (name: string) => (prefix === '' ? name : `${prefix}[${name}]`);
    const text = (name: string) => ({ name: named(name), value: this.#given.take(named(name)) });
    const limit = this.#given.number(named('limit'));
    const before = prefix === '' ? text('before') : { name: '', value: undefined };
    // Before a cursor, the page that ends there is meant.
    const backwards = before.value !== undefined;
    const none = { name: limit.name, value: undefined };
    const page = {
      first: backwards ? none : limit,
      after: text('after'),
      last: backwards ? limit : none,
      before,
      offset: this.#given.number(named('offset')),
    };
    const searched = this.search(resource, named(SEARCH));
    return readList(
      resource,
      all([...where, searched]),
      readSort(this.#given, resource, named('sort'), searched),
      page,
      this.#limits.most,
      (parameter, code, detail) => this.#given.report(parameter, code, detail),
      prefix !== '',
    );
  }

  upsert(resource: Resource): readonly Column[] | undefined {
    const name = this.#given.take('upsert');
    if (name === undefined) return undefined;
    const keys = upsertKeys(resource);
    const by = keys.get(name);
    if (by) return by;
    const cure = didYouMean(name, keys.keys()) || ` There are: ${[...keys.keys()].join(', ')}.`;
    this.#given.report(
      'upsert',
      'UNKNOWN',
      `No ${resource.singular} can be looked up by "${cited(name)}".${cure}`,
    );
    return undefined;
  }

  search(resource: Resource, name: string): Searched | undefined {
    if (isSearchable(resource))
      return readSearch(resource, this.#given.take(name), (code, detail) =>
        this.#given.report(name, code, detail),
      );
    // Unless it is a field of that name.
    if (!this.#given.isTaken(name) && this.#given.take(name) !== undefined)
      this.#given.report(name, 'UNKNOWN', notSearchable(resource));
    return undefined;
  }

  where(of: Resource | Groups, parameter: string, sees?: (target: Resource) => boolean): Filter | undefined {
    const text = this.#given.take(parameter);
    if (text === undefined) return undefined;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      this.#given.report(parameter, 'FORMAT', `${parameter} must be JSON`);
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
      (path, code, detail) => this.#given.report(parameter(path), code, detail),
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
    for (const [name, text] of this.#given.all) {
      const [, path = '', operator] = /^([^[\]]+)(?:\[([^[\]]*)\])?$/.exec(name) ?? [];
      if (this.#given.isTaken(name) || (operator === undefined && isListParameter(name, resource))) continue;
      const found = follow(resource, path, reader);
      if (!found) continue;
      this.#given.take(name);
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
      parameters: this.#given.all,
      most: this.#limits.most,
      report: (parameter, code, detail) => this.#given.report(parameter, code, detail),
      take: (name) => this.#given.take(name),
      number: (name) => this.#given.number(name),
      words: (name) => this.#given.words(name),
      allWords: (name) => this.#given.allWords(name),
      column: (name, parameter, fits, columns) =>
        this.#given.column(resource, name, parameter, fits, columns),
      where: (of, parameter) => this.where(of, parameter),
      reader: () => this.#textReader(),
    });
  }

  /** What is included of the records that groups are of. */
  groupSelection(resource: Resource, by: readonly Column[]): Selection {
    const report: ArgumentReport = (parameter, code, detail) => this.#given.report(parameter, code, detail);
    const include = includedIn(resource, by, 'include', this.#given.words('include'), report);
    const fields = includedIn(resource, by, 'fields', this.#given.words('fields'), report);
    // As in GraphQL, what the groups have in common is a level of its own.
    return this.#shape(resource, include, fields, this.#limits.depth - 1);
  }

  /** `fields=title,posts.title&include=posts.comments`: what a GraphQL selection would say. */
  selection(resource: Resource): Selection {
    return this.#shape(
      resource,
      this.#given.words('include'),
      this.#given.words('fields'),
      this.#limits.depth,
    );
  }

  #shape(
    resource: Resource,
    include: readonly string[],
    fields: readonly string[],
    depth: number,
  ): Selection {
    return readShape(resource, include, fields, {
      report: (parameter, detail) => this.#given.report(parameter, 'UNKNOWN', detail),
      column: (of, name) => this.#given.column(of, name, 'fields', () => true, storedColumns(of)),
      list: (field, at) => this.#included(field, at),
      depth,
    });
  }

  #included(field: Inverse | Through, at: string): ListQuery {
    if (!includedParameters.some((name) => this.#given.has(`${at}[${name}]`))) return wholeList(field.target);
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
