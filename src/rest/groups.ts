/** `aggregate`, `groupBy`, `having`, and what `sort`, `limit`, `include` and `fields` mean beside them. */

import { cited } from '../base/errors.ts';
import { aggregateFits, aggregateFunctions, type Wanted } from '../query/aggregates.ts';
import { all, type Filter } from '../query/filter.ts';
import { type Argument, type ArgumentReport, admitsOrder, readLimit, readOffset } from '../query/list.ts';
import { type OperatorName, operators } from '../query/operators.ts';
import type { OrderBy } from '../query/order.ts';
import { groupable, spelt } from '../query/parts.ts';
import {
  comparable,
  type GroupQuery,
  type Groups,
  groupsOf,
  notComparable,
  orderOfGroups,
} from '../query/results.ts';
import type { WhereReader } from '../query/where.ts';
import type { Column, Resource } from '../schema/model.ts';
import { flagFrom } from '../schema/spelling.ts';
import { didYouMean } from '../schema/suggest.ts';
import { visible } from './shape.ts';

/** Numbers in place of the records. */
export interface AggregateRequest extends GroupQuery {
  readonly by: readonly Column[];
  readonly wanted: readonly Wanted[];
}

/** What reading groups needs of the parameters around them. */
export interface GroupContext {
  readonly parameters: ReadonlyMap<string, string>;
  /** How many groups there may be. */
  readonly most: number;
  readonly report: ArgumentReport;
  /** The value of a parameter, which is known then. */
  readonly take: (name: string) => string | undefined;
  readonly number: (name: string) => Argument;
  readonly words: (name: string) => string[];
  /** Those of an order, which are counted. */
  readonly allWords: (name: string) => string[];
  /** Reports a name that is no such column. */
  readonly column: (
    name: string,
    parameter: string,
    fits: (column: Column) => boolean,
    columns?: readonly Column[],
  ) => Column | undefined;
  readonly where: (of: Groups, parameter: string) => Filter | undefined;
  /** Of conditions that are parameters each. */
  readonly reader: () => WhereReader;
}

/** Undefined where the records themselves are wanted. */
export function readAggregate(resource: Resource, context: GroupContext): AggregateRequest | undefined {
  const { parameters, most, report, take, number, words, allWords, column, where } = context;
  const conditions = [...parameters.keys()].filter((name) => HAVING.test(name));
  if (!parameters.has('aggregate') && !parameters.has('groupBy')) {
    for (const name of ['having', ...conditions])
      if (take(name) !== undefined)
        report(name, 'UNKNOWN', `${name} goes with aggregate or groupBy; records are filtered by where`);
    return undefined;
  }
  const every = () => true;
  const by = [
    ...new Set(words('groupBy').flatMap((name) => column(name, 'groupBy', every, groupable(resource)) ?? [])),
  ];
  const wanted = words('aggregate').flatMap((word) => readWanted(word, 'aggregate', context) ?? []);
  const reader = context.reader();
  const having = conditions.map((name) => {
    const [, word = '', operator = ''] = HAVING.exec(name) ?? [];
    const text = take(name) ?? '';
    const result = readResult(resource, word, name, context);
    return result && reader.compare(result, operator, operandIn(text, operator), [name]);
  });
  const sort = allWords('sort');
  const order = (admitsOrder(sort.length, 'sort', report) ? sort : []).flatMap((word): OrderBy[] => {
    const descending = word.startsWith('-');
    const found = readOrder(resource, descending ? word.slice(1) : word, by, context);
    return found ? [{ column: found, descending }] : [];
  });
  for (const name of ['after', 'before', 'count'])
    if (take(name) !== undefined) report(name, 'UNKNOWN', `${name} does not go with aggregates`);
  return {
    by,
    wanted,
    having: all([where(groupsOf(resource), 'having'), ...having]),
    order: orderOfGroups(by, order),
    limit: readLimit(number('limit'), most, report),
    offset: readOffset(number('offset'), report),
  };
}

/** `having[sum(total)][gte]`: in two brackets, so that a field of this name is still filtered by one. */
const HAVING = /^having\[([^[\]]*)\]\[([^[\]]*)\]$/;

/** `count`, `sum(total)`. */
const AGGREGATE = /^([a-zA-Z]+)(?:\(([^()]*)\))?$/;

function readWanted(word: string, parameter: string, { report, column }: GroupContext): Wanted | undefined {
  const [, name, field] = AGGREGATE.exec(word) ?? [];
  const of = aggregateFunctions.find((each) => each === name);
  if (!of || (of === 'count') !== (field === undefined)) {
    const all = 'count, countDistinct(field), sum(field), avg(field), min(field), max(field)';
    report(parameter, 'UNKNOWN', `"${cited(word)}" is no aggregate. There are: ${all}.`);
    return undefined;
  }
  if (field === undefined) return { of, column: undefined };
  const found = column(field, parameter, (each) => aggregateFits(of, each));
  return found && { of, column: found };
}

/** What groups can be filtered and sorted by. */
function readResult(
  resource: Resource,
  word: string,
  parameter: string,
  context: GroupContext,
): Column | undefined {
  const wanted = readWanted(word, parameter, context);
  const result = wanted && comparable(resource, wanted);
  if (wanted?.column && !result) context.report(parameter, 'UNKNOWN', notComparable(wanted.column.name));
  return result;
}

/** The word `count` is the number of records, also where a field is named so. */
function readOrder(
  resource: Resource,
  word: string,
  by: readonly Column[],
  context: GroupContext,
): Column | undefined {
  const [, name] = AGGREGATE.exec(word) ?? [];
  const common = by.find((column) => spelt(column) === word);
  const isResult = word === 'count' || (word !== name && aggregateFunctions.some((each) => each === name));
  if (isResult) return readResult(resource, word, 'sort', context);
  if (common) return common;
  const names = [...by.map(spelt), 'count'];
  const cure =
    didYouMean(word, names) ||
    ` There are: ${[...names, 'sum(field)', 'max(field)'].join(', ')} and the like.`;
  context.report('sort', 'UNKNOWN', `Groups cannot be sorted by "${cited(word)}".${cure}`);
  return undefined;
}

/** The paths that lead on from references which all records of a group have in common. */
export function includedIn(
  { references }: Resource,
  by: readonly Column[],
  parameter: 'include' | 'fields',
  paths: readonly string[],
  report: ArgumentReport,
): string[] {
  const common = references.filter((each) => by.includes(each.column) && visible(each));
  const names = common.map(({ name }) => name);
  const cure =
    names.length > 0 ? ` There are: ${names.join(', ')}.` : ' Group by the key of a reference to have it.';
  return paths.filter((path) => {
    const [first = '', ...rest] = path.split('.');
    if (parameter === 'fields' && rest.length === 0)
      report(
        parameter,
        'UNKNOWN',
        `"${cited(path)}" does not go with aggregates, but a path such as author.name does`,
      );
    else if (names.includes(first)) return true;
    else
      report(
        parameter,
        'UNKNOWN',
        `"${cited(first)}" is no reference that the groups have in common.${cure}`,
      );
    return false;
  });
}

/** What a text stands for beside an operator. */
export function operandIn(text: string, operator: string | undefined): unknown {
  const taken = operators[operator as OperatorName]?.operand;
  if (taken === 'list') return text === '' ? [] : text.split(',');
  return taken === 'flag' ? flagFrom(text) : text;
}
