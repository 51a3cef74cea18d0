/** What the arguments of a list ask for: filter, search, order and page. */

import { type Fault, type FaultCode, pointer } from '../base/errors.ts';
import { all, everything, type Filter, type Searched } from '../query/filter.ts';
import { type ListQuery, readList } from '../query/list.ts';
import type { OrderBy } from '../query/order.ts';
import { columnThrough, MOST_RECORDS, MOST_STEPS, recordsFor } from '../query/referred.ts';
import type { Groups } from '../query/results.ts';
import { NOT_SEARCHED, RELEVANCE, readSearch, relevanceOf, SEARCH } from '../query/search.ts';
import { WhereReader } from '../query/where.ts';
import { integerFrom } from '../schema/keys.ts';
import type { Column, Reference, Resource } from '../schema/model.ts';
import { Serial } from '../schema/scalars.ts';
import type { Arguments, Given } from './fields.ts';

/** What is being planned: where in the selection, and what was found to be wrong so far. */
export interface Planning extends Given {
  readonly at: readonly string[];
  readonly faults: Fault[];
}

/** GraphQL writes integer keys as strings; what is no plain integer stays as it is, for the engine to refuse. */
export function spelt(column: Column, value: unknown): unknown {
  return column.type === Serial && typeof value === 'string' ? integerFrom(value) : value;
}

export function listOf(resource: Resource, args: Arguments, given: Planning, isNested = false): ListQuery {
  const searched = searchOf(resource, args, given);
  const where = all([whereOf(resource, args, given), searched]);
  // One object for all: a column that has decided already decides nothing.
  const relevance = searched && relevanceOf(searched);
  const orderBy = (args['orderBy'] ?? []) as Arguments[];
  const wrong = (code: FaultCode, detail: string, ...at: number[]) =>
    given.faults.push({ pointer: pointer(...given.at, 'orderBy', ...at), code, detail });
  const order = orderBy.flatMap((each, index) => {
    const report = (code: FaultCode, detail: string) => wrong(code, detail, index);
    if (!(RELEVANCE in each)) return orderOf(resource, each, report);
    if (relevance) return [{ column: relevance, descending: each[RELEVANCE] === 'DESC' }];
    // What is wrong with the search was told.
    if (args[SEARCH] == null) report('REQUIRED', NOT_SEARCHED);
    return [];
  });
  if (recordsFor(order.map(({ column }) => column)) > MOST_RECORDS)
    wrong('OUT_OF_RANGE', `orderBy may lead to ${MOST_RECORDS} other records at most`);
  const argument = (name: string) => ({ name, value: args[name] });
  const page = {
    first: argument('first'),
    after: argument('after'),
    last: argument('last'),
    before: argument('before'),
    offset: argument('offset'),
  };
  const report = (name: string, code: FaultCode, detail: string) =>
    given.faults.push({ pointer: pointer(...given.at, name), code, detail });
  return readList(resource, where, order, page, given.most, report, isNested);
}

/** `{ title: ASC }`, or `{ category: { name: ASC } }`; it has one member. */
function orderOf(
  resource: Resource,
  input: Arguments,
  report: (code: FaultCode, detail: string) => void,
  before: readonly Reference[] = [],
): OrderBy[] {
  return Object.entries(input).flatMap(([name, value]): OrderBy[] => {
    const field = resource.fieldByName.get(name);
    if (field?.kind === 'column')
      return [{ column: columnThrough(before, field), descending: value === 'DESC' }];
    // Only what is searched itself has it.
    if (name === RELEVANCE) report('REQUIRED', NOT_SEARCHED);
    if (field?.kind !== 'reference') return [];
    if (before.length < MOST_STEPS)
      return orderOf(field.target, value as Arguments, report, [...before, field]);
    report('OUT_OF_RANGE', `orderBy may follow ${MOST_STEPS} references at most`);
    return [];
  });
}

export function searchOf(
  resource: Resource,
  args: Arguments,
  { at, faults }: Planning,
): Searched | undefined {
  return readSearch(resource, args[SEARCH], (code, detail) =>
    faults.push({ pointer: pointer(...at, SEARCH), code, detail }),
  );
}

export function whereOf(resource: Resource, args: Arguments, given: Planning): Filter {
  return filterOf(resource, 'where', args, given);
}

export function filterOf(
  of: Resource | Groups,
  name: string,
  args: Arguments,
  { at, faults }: Planning,
): Filter {
  const given = args[name];
  if (given == null) return everything;
  const reader = new WhereReader(
    spelt,
    (path, code, detail) => faults.push({ pointer: pointer(...at, name, ...path), code, detail }),
    (target) => target.graphql,
  );
  return reader.read(of, given);
}
