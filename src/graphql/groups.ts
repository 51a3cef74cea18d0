/** What a query asks of groups beside their numbers: which of them, in which order, and how many. */

import { cited } from '../base/errors.ts';
import type { Filter } from '../query/filter.ts';
import { type ArgumentReport, readLimit, readOffset } from '../query/list.ts';
import type { OrderBy } from '../query/order.ts';
import { type GroupQuery, groupsOf, orderOfGroups } from '../query/results.ts';
import type { Column, Resource } from '../schema/model.ts';
import type { Arguments } from './fields.ts';

type Direction = 'ASC' | 'DESC';

export function groupQueryOf(
  resource: Resource,
  by: readonly Column[],
  having: Filter,
  args: Arguments,
  most: number,
  report: ArgumentReport,
): GroupQuery {
  const orderBy = (args['orderBy'] ?? []) as Readonly<
    Record<string, Direction | Record<string, Direction>>
  >[];
  const order = orderBy.flatMap((each) =>
    Object.entries(each).flatMap(([of, inner]): OrderBy[] =>
      typeof inner === 'string'
        ? orderedBy(groupsOf(resource).fieldByName.get(of), inner)
        : Object.entries(inner).flatMap(([name, direction]) =>
            of === 'by'
              ? common(by, name, direction, report)
              : orderedBy(resultOf(resource, of, name), direction),
          ),
    ),
  );
  return {
    having,
    order: orderOfGroups(by, order),
    limit: readLimit({ name: 'first', value: args['first'] }, most, report),
    offset: readOffset({ name: 'offset', value: args['offset'] }, report),
  };
}

function orderedBy(column: { readonly kind: string } | undefined, direction: Direction): OrderBy[] {
  return column?.kind === 'column' ? [{ column: column as Column, descending: direction === 'DESC' }] : [];
}

function resultOf(resource: Resource, of: string, name: string): Column | undefined {
  const results = groupsOf(resource).fieldByName.get(of);
  return results?.kind === 'results' ? results.fieldByName.get(name) : undefined;
}

function common(
  by: readonly Column[],
  name: string,
  direction: Direction,
  report: ArgumentReport,
): OrderBy[] {
  const column = by.find((each) => each.name === name);
  if (column) return orderedBy(column, direction);
  report('orderBy', 'UNKNOWN', `Groups cannot be sorted by ${cited(name)}, which is not among groupBy.`);
  return [];
}
