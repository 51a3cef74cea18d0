/** What records take of the limits of one answer, counted as often as the answer has them. */

import { checkSum } from '../../query/aggregates.ts';
import { withSums } from '../../query/results.ts';
import type { Row } from '../../storage/statements.ts';
import type { Budget } from '../budget.ts';
import type { Aggregate, Selection } from '../operation.ts';
import {
  AROUND_OBJECT,
  bytesOf,
  bytesOfJson,
  bytesOfName,
  bytesOfWritten,
  timesOf,
  VALUE,
} from '../sizes.ts';
import type { Branch, Times } from './branches.ts';

export function checkSums(operation: Aggregate, rows: readonly Row[]): void {
  for (const measure of withSums(operation.measures, operation))
    if (measure.of === 'sum') for (const row of rows) checkSum(measure, row[measure.as]);
}

export function spendOften(selection: Selection, times: Times, budget: Budget): void {
  budget.take(
    sumOf(times, ([, often]) => often * timesOf(selection)),
    (isExact) =>
      sumOf(times, ([node, often]) => often * bytesOf(selection, [node], isExact), budget.limits.bytes),
  );
  budget.weigh(
    Array.from(times, ([node, often]) => [[node], often]),
    selection,
  );
}

/** Goes on to `most`, and not beyond: many may have the same long text, and what is too much already is not measured further. */
function sumOf<T>(items: Iterable<T>, of: (item: T) => number, most = Number.POSITIVE_INFINITY): number {
  let all = 0;
  for (const item of items) {
    all += of(item);
    if (all > most) break;
  }
  return all;
}

/** What a branch adds to the answer. */
export function spend({ relation, property, parents, times, found }: Branch, budget: Budget): void {
  const { selection, field, summary } = relation;
  if (field.kind === 'inverse' && !times && !summary) {
    budget.spend(found, selection);
    return;
  }
  const below = (parent: Row): readonly Row[] => {
    const nodes = parent[property] as Row | Row[] | null;
    return nodes === null ? [] : Array.isArray(nodes) ? nodes : [nodes];
  };
  const often = (parent: Row) => times?.get(parent) ?? 1;
  const sum = (of: (nodes: readonly Row[]) => number, most?: number) =>
    sumOf(parents, (parent) => often(parent) * of(below(parent)), most);
  const { bytes } = budget.limits;
  if (summary) {
    const { aggregate } = summary;
    budget.take(sum(({ length }) => length) * summary.times, (isExact) =>
      sum((rows) => bytesOfGroups(aggregate, rows, isExact), bytes),
    );
    for (const parent of parents) checkSums(aggregate, parent[property] as Row[]);
    return;
  }
  const none = field.kind === 'reference' ? timesOf(selection) * VALUE : 0;
  budget.take(sum(({ length }) => length) * timesOf(selection), (isExact) =>
    sum((nodes) => (nodes.length === 0 ? none : bytesOf(selection, nodes, isExact)), bytes),
  );
  budget.weigh(
    parents.map((parent) => [below(parent), often(parent)]),
    selection,
  );
}

export function bytesOfGroups(
  { by, measures, relations, rendered }: Aggregate,
  rows: readonly Row[],
  isExact: boolean,
): number {
  const bytesOfValue = isExact ? bytesOfWritten : bytesOfJson;
  const answered = [...by.map(({ name }) => name), ...measures.map(({ as }) => as)];
  // REST has the names of a row, each in an object of its function.
  const named = [...answered, ...relations.map(({ as }) => as)];
  const names =
    rendered?.names ?? named.reduce((sum, name) => sum + bytesOfName(name) + 2 * AROUND_OBJECT, 0);
  let bytes = rows.length * names;
  for (const row of rows)
    for (const name of answered) bytes += (rendered?.times[name] ?? 1) * bytesOfValue(row[name]);
  return bytes;
}

/** Of the nodes that a branch has found; only where something hangs on them does it matter. */
export function appearances({ relation, property, parents, times, found }: Branch): Times | undefined {
  const { field, selection } = relation;
  const isBare = selection.relations.length === 0 && !selection.changes;
  if (isBare || (field.kind === 'inverse' && !times)) return undefined;
  if (field.kind === 'reference' && !times && found.length === parents.length) return undefined;
  const counted = new Map<Row, number>();
  for (const parent of parents) {
    const below = parent[property] as Row | Row[] | null;
    for (const node of below === null ? [] : [below].flat())
      counted.set(node, (counted.get(node) ?? 0) + (times?.get(parent) ?? 1));
  }
  return counted;
}
