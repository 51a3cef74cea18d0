/** Lists of many records at once: what is asked of them besides their records, and what becomes of it. */

import type { Measure } from '../../query/aggregates.ts';
import { type Filter, isEverything, nothing } from '../../query/filter.ts';
import { withSums } from '../../query/results.ts';
import type { Resource } from '../../schema/model.ts';
import {
  type Aggregate as AggregateStatement,
  PARENT,
  type Row,
  type Statement,
} from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import type { Budget } from '../budget.ts';
import type { Aggregate, Relation } from '../operation.ts';
import { far, mostBytes, near, perOf } from './selects.ts';

/** One relation of some records. */
export interface Branch {
  readonly relation: Relation;
  /** Where a parent keeps it. */
  readonly property: string;
  readonly parents: readonly Row[];
  readonly times: Times | undefined;
  readonly keys: readonly unknown[];
  found: Row[];
  /** A row of each list that goes on beyond its page. */
  beyond: Row[];
  /** How many each list has, where anybody wants to know. */
  counts: Row[];
  /** The numbers of a list without records, unless they are not wanted. */
  ofNone: Row | undefined;
}

/**
 * How often each node stands in the answer; undefined when each does once. A record that many refer to is read once and
 * written out for each of them, with everything below it: a user's posts' author's posts are as many as posts squared.
 */
export type Times = ReadonlyMap<Row, number>;

export const ROWS: Measure = { as: 'count', of: 'count', column: undefined };

export function counting(resource: Resource, where: Filter | undefined): AggregateStatement {
  return {
    do: 'aggregate',
    resource,
    where,
    by: [],
    measures: [ROWS],
    having: undefined,
    order: [],
    limit: undefined,
    offset: 0,
    most: undefined,
    bytes: undefined,
  };
}

export function numbersOf(operation: Aggregate, budget: Budget): AggregateStatement {
  const { resource, where, by, having, order, limit, offset } = operation;
  return {
    do: 'aggregate',
    resource,
    where,
    by,
    measures: withSums(operation.measures, operation),
    having: isEverything(having) ? undefined : having,
    order,
    limit,
    offset,
    most: budget.most,
    bytes: mostBytes(budget.limits),
  };
}

export function isCounted({ relation: { paged, summary }, keys }: Branch): boolean {
  return keys.length > 0 && (summary !== undefined || paged?.count === true);
}

/** Reads the numbers that are wanted of lists: one statement for those of all records. */
export function* count(counted: readonly Branch[], budget: Budget): Program<void> {
  const asked = counted.flatMap((branch): Asked[] => {
    const { relation, keys } = branch;
    const { field, list, summary } = relation;
    const per = { ...perOf(relation), values: keys };
    const howMany = (where: Filter | undefined): Asked => ({
      statement: { ...counting(field.target, where), per },
      take: (rows) => {
        branch.counts = rows;
      },
    });
    if (!summary) return [howMany(list?.where)];
    const numbers = numbersOf(summary.aggregate, budget);
    const own: Asked = {
      statement: { ...numbers, per },
      take: (rows) => {
        branch.found = rows;
      },
    };
    if (numbers.by.length > 0) return [own];
    if (!numbers.having) {
      branch.ofNone = numbers.offset > 0 ? undefined : ofNone(numbers);
      return [own];
    }
    // Lists of which no number is answered have no record, or numbers that are not wanted.
    const none: Asked = {
      statement: { ...numbers, where: nothing, limit: 1 },
      take: ([row]) => {
        branch.ofNone = row;
      },
    };
    return [own, none, howMany(numbers.where)];
  });
  const answers = yield asked.map(({ statement }) => statement);
  asked.forEach(({ take }, index) => {
    take(answers[index] ?? []);
  });
}

interface Asked {
  readonly statement: Statement;
  readonly take: (rows: Row[]) => void;
}

/** Makes of what each record has been given what the answer has for it. */
export function complete({ relation, property, parents, beyond, counts }: Branch): void {
  const { paged, summary } = relation;
  if (!paged && !summary) return;
  const { name: nearName } = near(relation);
  const { name: farName } = far(relation);
  const isCut = new Set(beyond.map((row) => row[farName]));
  const totals = new Map(counts.map((row) => [row[PARENT], Number(row[ROWS.as])]));
  for (const parent of parents) {
    const nodes = parent[property] as Row[];
    const key = parent[nearName];
    const total = paged?.count ? (totals.get(key) ?? 0) : undefined;
    parent[property] = summary
      ? summary.complete(nodes)
      : paged?.complete({ nodes, more: isCut.has(key), total }, key);
  }
}

/** Without groups there is one row for all records, also where there is none. */
function ofNone({ measures }: AggregateStatement): Row {
  return Object.fromEntries(measures.map(({ as, of }) => [as, of.startsWith('count') ? 0 : null]));
}
