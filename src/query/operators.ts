/** The operators of the filter grammar: one table for parsing, GraphQL inputs, documentation and SQL. */

import type { Column } from '../schema/model.ts';
import { isScalar, isText } from '../schema/values.ts';

/** What kind of operand an operator takes: a value of the column, a list of them, or true and false. */
type Operand = 'value' | 'list' | 'flag';

export interface Operator {
  readonly operand: Operand;
  readonly fits: (column: Column) => boolean;
  readonly doc: string;
}

function isPlain({ list, type }: Column): boolean {
  return !list && !(isScalar(type) && type.stored === 'json');
}

function isOrdered(column: Column): boolean {
  return isPlain(column) && isScalar(column.type) && column.type.stored !== 'boolean';
}

/** A list of values that can be compared one by one. */
function isListed(column: Column): boolean {
  return column.list && isPlain({ ...column, list: false });
}

/**
 * How long the text of `contains` may be: a database holds it against every place of every text that it looks at, and
 * PostgreSQL cannot be interrupted meanwhile.
 */
export const LONGEST_PART = 500;
/** How many values a list may have: each use of it is laid out for the search. */
export const MOST_VALUES = 10_000;

export const operators = {
  eq: { operand: 'value', fits: isPlain, doc: 'equal to' },
  ne: { operand: 'value', fits: isPlain, doc: 'not equal to; null is not equal to anything' },
  gt: { operand: 'value', fits: isOrdered, doc: 'greater than' },
  gte: { operand: 'value', fits: isOrdered, doc: 'greater than or equal to' },
  lt: { operand: 'value', fits: isOrdered, doc: 'less than' },
  lte: { operand: 'value', fits: isOrdered, doc: 'less than or equal to' },
  in: { operand: 'list', fits: isPlain, doc: `one of these, ${MOST_VALUES} at most` },
  contains: {
    operand: 'value',
    fits: isText,
    doc: `contains this text of ${LONGEST_PART} characters at most, taken literally; letter case counts`,
  },
  startsWith: {
    operand: 'value',
    fits: isText,
    doc: 'begins with this text, taken literally; letter case counts',
  },
  endsWith: {
    operand: 'value',
    fits: isText,
    doc: 'ends with this text, taken literally; letter case counts',
  },
  has: { operand: 'value', fits: isListed, doc: 'a list that has this value' },
  hasSome: {
    operand: 'list',
    fits: isListed,
    doc: `a list that has at least one of these values, ${MOST_VALUES} at most`,
  },
  hasEvery: {
    operand: 'list',
    fits: isListed,
    doc: `a list that has each of these values, ${MOST_VALUES} at most`,
  },
  isEmpty: { operand: 'flag', fits: isListed, doc: 'whether a list has no values; null is no list' },
  isNull: { operand: 'flag', fits: () => true, doc: 'whether there is no value' },
} as const satisfies Record<string, Operator>;

export type OperatorName = keyof typeof operators;

export const operatorNames = Object.keys(operators) as OperatorName[];

export function operatorsOf(column: Column): OperatorName[] {
  return operatorNames.filter((name) => operators[name].fits(column));
}

/** Columns that rows can be ordered and grouped by. */
export function isSortable(column: Column): boolean {
  return isPlain(column);
}
