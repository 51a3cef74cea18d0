/** Whether a record as it was can match a filter, as far as that is known without the database. */

import { conditionsOn, FieldOperand, type Filter } from '../../query/filter.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { isScalar } from '../../schema/values.ts';
import type { Row } from '../../storage/statements.ts';

/** A longer text is not searched: two that are nearly alike can be compared at each place of it. */
const LONGEST_SEARCHED = 1000;

/** False only where it certainly does not. */
export type Judge = (record: Row) => boolean;

/** Made once, for all records that it is asked about. */
export function judgeOf(filter: Filter, resource: Resource): Judge {
  const verdict = verdictOf(filter, resource);
  return (record) => verdict(record) !== false;
}

/** What a judge compares with at the most. */
export function operandsIn(filter: Filter): number {
  return conditionsOn(filter).reduce((sum, each) => sum + ('values' in each ? each.values.length : 1), 0);
}

/** Undefined where only the database knows. */
type Verdict = (record: Row) => boolean | undefined;

const unknown: Verdict = () => undefined;
const verdicts = new WeakMap<Filter, Verdict>();

/** Made once for a filter, however often it is asked: a list of values becomes a set. */
export function keptVerdict(filter: Filter, resource: Resource): Verdict {
  let verdict = verdicts.get(filter);
  if (!verdict) {
    verdict = verdictOf(filter, resource);
    verdicts.set(filter, verdict);
  }
  return verdict;
}

function verdictOf(filter: Filter, resource: Resource): Verdict {
  switch (filter.is) {
    case 'all':
      return joined(filter.of, resource, false);
    case 'any':
      return joined(filter.of, resource, true);
    case 'not': {
      const inner = verdictOf(filter.of, resource);
      return (record) => {
        const verdict = inner(record);
        return verdict === undefined ? undefined : !verdict;
      };
    }
    case 'related':
    case 'some':
    case 'search':
    case 'hasSome':
    case 'hasEvery':
    case 'empty':
      return unknown;
    default: {
      if (!isPlain(filter.column, resource)) return unknown;
      const { name } = filter.column;
      const verdict = compared(filter);
      return (record) => verdict(record[name]);
    }
  }
}

/** The first that is the decisive one decides for all of them. */
function joined(filters: readonly Filter[], resource: Resource, decisive: boolean): Verdict {
  const verdicts = filters.map((each) => verdictOf(each, resource));
  return (record) => {
    let joint: boolean | undefined = !decisive;
    for (const each of verdicts) {
      const verdict = each(record);
      if (verdict === decisive) return decisive;
      if (verdict === undefined) joint = undefined;
    }
    return joint;
  };
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
function compared(filter: Compared): (value: unknown) => boolean | undefined {
  if (filter.is === 'null') return (value) => value === null;
  if (filter.is === 'in') {
    const values = new Set(filter.values);
    const types = new Set(filter.values.map((each) => typeof each));
    return (value) => {
      if (value === null) return false;
      const areAlike = types.size === 0 || (types.size === 1 && types.has(typeof value) && isSimple(value));
      return areAlike ? values.has(value) : undefined;
    };
  }
  const { is, value: other } = filter;
  return (value) => {
    if (value === null) return is === 'ne';
    if (other instanceof FieldOperand || typeof value !== typeof other || !isSimple(value)) return undefined;
    if (is === 'eq') return value === other;
    if (is === 'ne') return value !== other;
    if (typeof value === 'string' && typeof other === 'string') {
      if (value.length > LONGEST_SEARCHED) return undefined;
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
  };
}

/** Whether it can be told apart from others of its type by `===`. */
function isSimple(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
