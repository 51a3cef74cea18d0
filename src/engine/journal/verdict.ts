/** Whether a record as it was can match a filter, as far as that is known without the database. */

import { FieldOperand, type Filter } from '../../query/filter.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { isScalar } from '../../schema/values.ts';
import type { Row } from '../../storage/statements.ts';

/** False only where it certainly does not. */
export function mayMatch(filter: Filter, resource: Resource, record: Row): boolean {
  return verdict(filter, resource, record) !== false;
}

/** Undefined where only the database knows. */
function verdict(filter: Filter, resource: Resource, record: Row): boolean | undefined {
  switch (filter.is) {
    case 'all':
      return joined(
        filter.of.map((each) => verdict(each, resource, record)),
        false,
      );
    case 'any':
      return joined(
        filter.of.map((each) => verdict(each, resource, record)),
        true,
      );
    case 'not': {
      const inner = verdict(filter.of, resource, record);
      return inner === undefined ? undefined : !inner;
    }
    case 'related':
    case 'some':
    case 'search':
    case 'hasSome':
    case 'hasEvery':
    case 'empty':
      return undefined;
    default:
      return isPlain(filter.column, resource) ? compared(filter, record[filter.column.name]) : undefined;
  }
}

/** The one that decides all of them, where one of them is that. */
function joined(verdicts: readonly (boolean | undefined)[], decisive: boolean): boolean | undefined {
  if (verdicts.includes(decisive)) return decisive;
  return verdicts.includes(undefined) ? undefined : !decisive;
}

/** Whether its values are compared as JavaScript does: one that ignores letter case, or is exact, is the database's. */
function isPlain(column: Column, { columns }: Resource): boolean {
  if (column.list || column.folded || !columns.includes(column)) return false;
  if (!isScalar(column.type)) return true;
  return ['serial', 'integer', 'float', 'boolean', 'text', 'uuid'].includes(column.type.stored);
}

type Compared = Exclude<
  Filter,
  { readonly is: 'all' | 'any' | 'not' | 'related' | 'some' | 'search' | 'hasSome' | 'hasEvery' | 'empty' }
>;

/** Null is equal to nothing, and neither less nor more. */
function compared(filter: Compared, value: unknown): boolean | undefined {
  if (filter.is === 'null') return value === null;
  if (value === null) return filter.is === 'ne';
  if (filter.is === 'in')
    return filter.values.every(isAlike(value)) ? filter.values.includes(value) : undefined;
  const { is, value: other } = filter;
  if (other instanceof FieldOperand || !isAlike(value)(other)) return undefined;
  if (is === 'eq') return value === other;
  if (is === 'ne') return value !== other;
  if (typeof value === 'string' && typeof other === 'string') {
    if (is === 'contains') return value.includes(other);
    if (is === 'startsWith') return value.startsWith(other);
    // Texts are compared by code point in the database, and by code unit here.
    return is === 'endsWith' ? value.endsWith(other) : undefined;
  }
  if (typeof value !== 'number' || typeof other !== 'number') return undefined;
  if (is === 'gt') return value > other;
  if (is === 'gte') return value >= other;
  if (is === 'lt') return value < other;
  return is === 'lte' ? value <= other : undefined;
}

/** Whether the two can be told apart by `===`. */
function isAlike(value: unknown): (other: unknown) => boolean {
  const type = typeof value;
  return (other) => typeof other === type && ['string', 'number', 'boolean'].includes(type);
}
