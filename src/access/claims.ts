/** What a caller's token says, put where the rules ask for it. */

import type { Fault } from '../base/errors.ts';
import { Claim } from '../query/claim.ts';
import {
  all,
  any,
  type Comparison,
  type Condition,
  conditionsIn,
  type Filter,
  isNothing,
  not,
  nothing,
} from '../query/filter.ts';
import type { Column } from '../schema/model.ts';
import { fromText } from '../schema/spelling.ts';
import { checkValue, isScalar, keptAs } from '../schema/values.ts';

export type Claims = Readonly<Record<string, unknown>>;

/** A claim as a value of a column; undefined when there is none, or it does not fit. */
export function claimFor(column: Column, name: string, claims: Claims): unknown {
  const claim = ownClaim(name, claims);
  if (claim === undefined) return undefined;
  const value =
    column.list && Array.isArray(claim) ? claim.map((each) => spelt(column, each)) : spelt(column, claim);
  const faults: Fault[] = [];
  const checked = checkValue(column, value, faults);
  return faults.length === 0 ? checked : undefined;
}

/**
 * The filter of a rule for one caller. A claim that is missing or does not fit matches nothing, and so does every `not` around
 * it, whatever else it asks for: that nothing is related to a record must not open it to whoever brings no claim.
 */
export function filled(filter: Filter, claims: Claims): Filter {
  switch (filter.is) {
    case 'all':
      return all(filter.of.map((each) => filled(each, claims)));
    case 'any':
      return any(filter.of.map((each) => filled(each, claims)));
    case 'not':
      return conditionsIn(filter.of).every((each) => met(each, claims))
        ? not(filled(filter.of, claims))
        : nothing;
    case 'related':
    case 'some': {
      const where = filled(filter.where, claims);
      return isNothing(where) ? where : { ...filter, where };
    }
    default:
      return met(filter, claims) ?? nothing;
  }
}

/** The condition with the claims that it asks for itself; undefined when one is missing or does not fit. */
function met(condition: Condition, claims: Claims): Condition | undefined {
  switch (condition.is) {
    case 'related':
    case 'some':
    case 'null':
    case 'empty':
    case 'search':
      return condition;
    case 'in':
    case 'hasSome':
    case 'hasEvery': {
      const each = condition.values.map((value) => operands(condition.column, value, claims));
      const values = each.flat();
      // Every list has each of no values: a claim that says nothing is not to match everything.
      const isEmpty = condition.is === 'hasEvery' && each.some(({ length }) => length === 0);
      return values.includes(undefined) || isEmpty ? undefined : { ...condition, values };
    }
    default: {
      const [value, ...more] = operands(condition.column, condition.value, claims);
      // Every text begins with an empty one: a claim that says nothing is not to match everything.
      const isEmpty = value === '' && condition.value instanceof Claim && isPart(condition.is);
      return value === undefined || isEmpty || more.length > 0 ? undefined : { ...condition, value };
    }
  }
}

/** The names of the claims that a filter asks for. */
export function claimsIn(filter: Filter): string[] {
  return conditionsIn(filter)
    .flatMap((each): readonly unknown[] =>
      'values' in each ? each.values : 'value' in each ? [each.value] : [],
    )
    .flatMap((value) => (value instanceof Claim ? [value.claim] : []));
}

/** What these claims say, as a text that is equal for equal ones; the order of a list does not matter. */
export function told(names: Iterable<string>, claims: Claims): string {
  const values = [...names].sort().map((name) => {
    const claim = ownClaim(name, claims) ?? null;
    return [name, Array.isArray(claim) ? claim.map((each) => JSON.stringify(each)).sort() : claim];
  });
  return JSON.stringify(values);
}

function isPart(comparison: Comparison): boolean {
  return comparison === 'contains' || comparison === 'startsWith' || comparison === 'endsWith';
}

/** A claim can be a list; undefined stands for what does not fit. */
function operands(column: Column, value: unknown, claims: Claims): unknown[] {
  if (!(value instanceof Claim)) return [value];
  const claim = ownClaim(value.claim, claims);
  return Array.isArray(claim) ? claim.map((each) => fitting(column, each)) : [fitting(column, claim)];
}

/** Unlike a stored value, what one is compared with need not meet the constraint. */
function fitting(column: Column, claim: unknown): unknown {
  if (claim === undefined || claim === null) return undefined;
  const { type } = column;
  const value = spelt(column, claim);
  if (!isScalar(type)) return type.values.some(({ name }) => name === value) ? value : undefined;
  let fits = true;
  const checked = type.check(value, () => {
    fits = false;
  });
  return fits ? checked : undefined;
}

/** Tokens write most things as text, and some write numbers where text is meant. */
function spelt(column: Column, claim: unknown): unknown {
  // Past 2^53 several numbers of a token are one here: it would be taken for somebody else's.
  const isExact = typeof claim === 'number' && (!Number.isInteger(claim) || Number.isSafeInteger(claim));
  const { type } = column;
  const isText = keptAs({ ...column, list: false }) === 'text' || (isScalar(type) && type.is === 'exact');
  if (isText && isExact) return String(claim);
  return typeof claim === 'string' ? fromText(column, claim) : claim;
}

function ownClaim(name: string, claims: Claims): unknown {
  return Object.hasOwn(claims, name) ? (claims[name] ?? undefined) : undefined;
}
