/** What the arguments of lists and groups ask for, spelt as GraphQL spells them: by its door, and by functions of a deployment. */

import { cited, type FaultCode } from '../base/errors.ts';
import { integerFrom } from '../schema/keys.ts';
import type { Column, Reference, Resource } from '../schema/model.ts';
import { Serial } from '../schema/scalars.ts';
import { didYouMean } from '../schema/suggest.ts';
import { all, everything, type Filter, type Searched } from './filter.ts';
import { admitsOrder, type ListQuery, readLimit, readList, readOffset } from './list.ts';
import { isSortable } from './operators.ts';
import type { OrderBy } from './order.ts';
import { columnThrough, MOST_RECORDS, MOST_STEPS, recordsFor } from './referred.ts';
import { type GroupQuery, type Groups, groupsOf, orderOfGroups } from './results.ts';
import { NOT_SEARCHED, RELEVANCE, readSearch, relevanceOf, SEARCH } from './search.ts';
import { WhereReader } from './where.ts';

type Arguments = Readonly<Record<string, unknown>>;

export interface Reading {
  /** How many records there may be at the most. */
  readonly most: number;
  /** How many a list has that does not say how many; undefined for all of them. */
  readonly page?: number | undefined;
  /** Whether filters may lead to a resource. */
  readonly sees: (resource: Resource) => boolean;
  /** Told what is wrong; the path begins with the name of the argument. */
  readonly report: (path: readonly (string | number)[], code: FaultCode, detail: string) => void;
}

/** Integer keys may be texts; what is no plain integer stays as it is, to be refused as a value. */
export function spelt(column: Column, value: unknown): unknown {
  return column.type === Serial && typeof value === 'string' ? integerFrom(value) : value;
}

export function listOf(resource: Resource, args: Arguments, reading: Reading, isNested = false): ListQuery {
  const searched = searchOf(resource, args, reading);
  const where = all([filterOf(resource, 'where', args, reading), searched]);
  // One object for all: a column that has decided already decides nothing.
  const relevance = searched && relevanceOf(searched);
  const order = ordersIn(args, reading, (each, report) => {
    if (!(RELEVANCE in each)) return orderOf(resource, each, report);
    if (relevance) return directed(relevance, each[RELEVANCE], report);
    // What is wrong with the search was told.
    if (args[SEARCH] == null) report('REQUIRED', NOT_SEARCHED);
    return [];
  });
  if (recordsFor(order.map(({ column }) => column)) > MOST_RECORDS)
    reading.report(['orderBy'], 'OUT_OF_RANGE', `orderBy may lead to ${MOST_RECORDS} other records at most`);
  const argument = (name: string) => ({ name, value: args[name] });
  const isPaged = args['first'] != null || args['last'] != null || reading.page === undefined;
  const page = {
    first: isPaged ? argument('first') : { name: 'first', value: Math.min(reading.page, reading.most) },
    after: argument('after'),
    last: argument('last'),
    before: argument('before'),
    offset: argument('offset'),
  };
  const report = (name: string, code: FaultCode, detail: string) => reading.report([name], code, detail);
  return readList(resource, where, order, page, reading.most, report, isNested);
}

type Report = (code: FaultCode, detail: string) => void;

function ordersIn(
  args: Arguments,
  reading: Reading,
  read: (each: Arguments, report: Report) => OrderBy[],
): OrderBy[] {
  const given = args['orderBy'] ?? [];
  const all: readonly Arguments[] = Array.isArray(given) ? given : [given];
  if (!admitsOrder(all.length, 'orderBy', (name, code, detail) => reading.report([name], code, detail)))
    return [];
  return all.flatMap((each, index) =>
    read(each, (code, detail) => reading.report(['orderBy', index], code, detail)),
  );
}

function directed(column: Column, direction: unknown, report: Report): OrderBy[] {
  if (direction === 'ASC' || direction === 'DESC') return [{ column, descending: direction === 'DESC' }];
  report('ENUM', `${column.name} must be 'ASC' or 'DESC'`);
  return [];
}

/** `{ title: ASC }`, or `{ category: { name: ASC } }`. */
function orderOf(
  resource: Resource,
  input: Arguments,
  report: Report,
  before: readonly Reference[] = [],
): OrderBy[] {
  return Object.entries(input).flatMap(([name, value]): OrderBy[] => {
    const field = resource.fieldByName.get(name);
    if (field?.kind === 'column' && isSortable(field))
      return directed(columnThrough(before, field), value, report);
    if (field?.kind !== 'reference') {
      const sortable = resource.fields.filter((each) =>
        each.kind === 'column' ? isSortable(each) : each.kind === 'reference',
      );
      const cure = didYouMean(
        name,
        sortable.map((each) => each.name),
      );
      // Only what is searched itself has it.
      if (name === RELEVANCE) report('REQUIRED', NOT_SEARCHED);
      else report('UNKNOWN', `"${cited(name)}" cannot be sorted by.${cure}`);
      return [];
    }
    if (typeof value !== 'object' || value === null)
      report('TYPE', `${name} must be an object of its fields`);
    else if (before.length >= MOST_STEPS)
      report('OUT_OF_RANGE', `orderBy may follow ${MOST_STEPS} references at most`);
    else return orderOf(field.target, value as Arguments, report, [...before, field]);
    return [];
  });
}

export function searchOf(resource: Resource, args: Arguments, { report }: Reading): Searched | undefined {
  return readSearch(resource, args[SEARCH], (code, detail) => report([SEARCH], code, detail));
}

export function filterOf(
  of: Resource | Groups,
  name: string,
  args: Arguments,
  { report, sees }: Reading,
): Filter {
  const given = args[name];
  if (given == null) return everything;
  return new WhereReader(spelt, (path, code, detail) => report([name, ...path], code, detail), sees).read(
    of,
    given,
  );
}

/** Which groups, in which order, and how many. */
export function groupQueryOf(
  resource: Resource,
  by: readonly Column[],
  args: Arguments,
  reading: Reading,
): GroupQuery {
  const report = (name: string, code: FaultCode, detail: string) => reading.report([name], code, detail);
  return {
    having: filterOf(groupsOf(resource), 'having', args, reading),
    order: orderOfGroups(
      by,
      ordersIn(args, reading, (each, told) => orderOfResults(resource, by, each, told)),
    ),
    limit: readLimit({ name: 'first', value: args['first'] }, reading.most, report),
    offset: readOffset({ name: 'offset', value: args['offset'] }, report),
  };
}

/** `{ count: DESC }`, `{ sum: { pages: DESC } }`, or `{ by: { author: ASC } }`. */
function orderOfResults(
  resource: Resource,
  by: readonly Column[],
  input: Arguments,
  report: Report,
): OrderBy[] {
  return Object.entries(input).flatMap(([of, inner]): OrderBy[] => {
    const field = groupsOf(resource).fieldByName.get(of);
    if (field?.kind === 'column') return directed(field, inner, report);
    return Object.entries(inner ?? {}).flatMap(([name, direction]) => {
      const column = of === 'by' ? by.find((each) => each.name === name) : field?.fieldByName.get(name);
      if (column) return directed(column, direction, report);
      const why =
        of === 'by' ? `${cited(name)}, which is not among groupBy` : `${cited(of)} of ${cited(name)}`;
      report('UNKNOWN', `Groups cannot be sorted by ${why}.`);
      return [];
    });
  });
}
