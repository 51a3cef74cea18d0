/** What is computed of a group, as if it were a column: groups are filtered and ordered by it as records are. */

import type { Column, Resource } from '../schema/model.ts';
import { type Scalar, scalars } from '../schema/scalars.ts';
import {
  type AggregateFunction,
  aggregateFits,
  aggregateFunctions,
  isExact,
  type Measure,
  measuresOf,
  type Wanted,
} from './aggregates.ts';
import { conditionsOn, type Filter } from './filter.ts';
import type { Order } from './order.ts';

export interface Result extends Column {
  readonly computed: AggregateFunction;
  /** `count` has none. */
  readonly from: Column | undefined;
}

/** Those of one function, by the names of their fields. */
export interface Results {
  readonly kind: 'results';
  readonly name: AggregateFunction;
  readonly fields: readonly { readonly name: string }[];
  readonly fieldByName: ReadonlyMap<string, Result>;
  /** Why there is none of the field that is named so. */
  readonly refused: ReadonlyMap<string, string>;
}

/** What there is to ask of the groups of a resource. */
export interface Groups {
  readonly name: string;
  readonly fields: readonly (Result | Results)[];
  readonly fieldByName: ReadonlyMap<string, Result | Results>;
}

export function isResult(column: Column): column is Result {
  return 'computed' in column;
}

const known = new WeakMap<Resource, Groups>();

export function groupsOf(resource: Resource): Groups {
  let groups = known.get(resource);
  if (!groups) {
    const fields = aggregateFunctions.map((of): Result | Results => {
      if (of === 'count') return resultOf(of, undefined, resource.key);
      const fitting = resource.columns.filter((column) => aggregateFits(of, column));
      const exact = fitting.filter((column) => of === 'avg' && isExact(column));
      const fields = fitting.filter((column) => !exact.includes(column));
      return {
        kind: 'results',
        name: of,
        fields,
        fieldByName: new Map(fields.map((column) => [column.name, resultOf(of, column, column)])),
        refused: new Map(exact.map(({ name }) => [name, notComparable(name)])),
      };
    });
    groups = { name: 'a group', fields, fieldByName: new Map(fields.map((field) => [field.name, field])) };
    known.set(resource, groups);
  }
  return groups;
}

/** Undefined for an average that is exact: the engine divides and rounds it, so that databases cannot compare it. */
export function comparable(resource: Resource, { of, column }: Wanted): Result | undefined {
  const field = groupsOf(resource).fieldByName.get(of);
  return field?.kind === 'results' ? field.fieldByName.get(column?.name ?? '') : field;
}

/** What to ask groups for instead. */
export function notComparable(name: string): string {
  return `avg(${name}) is rounded for the answer, so groups can be neither filtered nor sorted by it; use sum(${name}) and count`;
}

/** `like`: what has all the rest that a column has. */
function resultOf(computed: AggregateFunction, from: Column | undefined, like: Column): Result {
  const isCount = computed === 'count' || computed === 'countDistinct';
  const isExtreme = computed === 'min' || computed === 'max';
  const isFloat = (computed === 'sum' || computed === 'avg') && !isExact(like);
  return {
    ...like,
    name: from ? `${computed}(${from.name})` : computed,
    type: isCount ? scalar('Int') : isFloat ? scalar('Float') : like.type,
    required: isCount,
    constraint: undefined,
    reference: undefined,
    // The least of texts that are compared without letter case is compared so too.
    folded: isExtreme && from?.folded ? resultOf(computed, from.folded, from.folded) : undefined,
    computed,
    from,
  };
}

function scalar(name: 'Int' | 'Float'): Scalar {
  return scalars.get(name) as Scalar;
}

/** Which groups, in which order and which part of them. */
export interface GroupQuery {
  /** Of results. */
  readonly having: Filter;
  /** By results, and by what is grouped by; no two groups are equal in it. */
  readonly order: Order;
  readonly limit: number | undefined;
  /** How many groups are left out at the beginning. */
  readonly offset: number;
}

/** What the groups have in common decides between equals. */
export function orderOfGroups(by: readonly Column[], wanted: Order): Order {
  const order = [...wanted, ...by.map((column) => ({ column, descending: false }))];
  return order.filter(({ column }, index) => order.findIndex((each) => each.column === column) === index);
}

/** By what groups are filtered and ordered. */
export function askedOf({ having, order }: Pick<GroupQuery, 'having' | 'order'>): Column[] {
  const filtered = conditionsOn(having).flatMap((each) => ('column' in each ? each.column : []));
  return [...filtered, ...order.map(({ column }) => column)];
}

/**
 * With the sums that groups are filtered and ordered by: where one of those cannot be answered, databases need not agree on
 * where its group belongs, so it is an error too.
 */
export function withSums(
  measures: readonly Measure[],
  query: Pick<GroupQuery, 'having' | 'order'>,
): readonly Measure[] {
  const results = askedOf(query).filter(isResult);
  if (results.length === 0) return measures;
  const all = new Map(measures.map((measure) => [measure.as, measure]));
  for (const measure of measuresOf(results.map(({ computed: of, from: column }) => ({ of, column }))))
    if (measure.of === 'sum' && !all.get(measure.as)?.isTotal) all.set(measure.as, measure);
  return [...all.values()];
}
