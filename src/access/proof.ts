/** Whether whatever one rule's filter matches is matched by another, as far as that can be told from how they are written. */

import { Claim } from '../query/claim.ts';
import { all, canonical, type Filter } from '../query/filter.ts';

/** Beyond these, a filter is taken as it is written: alternatives in each of many conditions multiply. */
const MOST_CASES = 256;

/**
 * The ways in which a filter can match, each a list of what holds in it together. A reference leads to one record, and some
 * record of a list is one: each way of that record is a way of the filter.
 */
export function casesOf(filter: Filter): readonly (readonly Filter[])[] {
  switch (filter.is) {
    case 'any': {
      const cases = filter.of.flatMap(casesOf);
      return cases.length > MOST_CASES ? [[filter]] : cases;
    }
    case 'all': {
      let cases: readonly (readonly Filter[])[] = [[]];
      for (const each of filter.of) {
        const own = casesOf(each);
        const ways = cases.length * own.length > MOST_CASES ? [[each]] : own;
        cases = cases.flatMap((held) => ways.map((way) => [...held, ...way]));
      }
      return cases;
    }
    case 'related':
    case 'some':
      return casesOf(filter.where).map((way) => [{ ...filter, where: all(way) }]);
    default:
      return [[filter]];
  }
}

/**
 * Whether `wanted` matches wherever all of these hold: never true where that is not so, whatever claims a caller brings. A `not`
 * must be the same: one with a claim that is missing matches nothing, whatever else it asks for.
 */
export function follows(wanted: Filter, held: readonly Filter[]): boolean {
  return isProven(wanted, held, new Set(held.map(textOf)));
}

function isProven(wanted: Filter, held: readonly Filter[], texts: ReadonlySet<string>): boolean {
  if (texts.has(textOf(wanted))) return true;
  switch (wanted.is) {
    case 'all':
      return wanted.of.every((each) => isProven(each, held, texts));
    case 'any':
      return wanted.of.some((each) => isProven(each, held, texts));
    case 'related': {
      const led = held.flatMap((each) =>
        each.is === 'related' && each.field === wanted.field ? [each.where] : [],
      );
      return led.length > 0 && follows(wanted.where, led.flatMap(conjuncts));
    }
    case 'some':
      return held.some(
        (each) =>
          each.is === 'some' && each.field === wanted.field && follows(wanted.where, conjuncts(each.where)),
      );
    case 'in': {
      // A claim that is missing matches nothing, also beside other values.
      const claims = wanted.values.filter((value) => value instanceof Claim);
      return held.some((each) => {
        if (!('column' in each) || each.column !== wanted.column) return false;
        const values = each.is === 'in' ? each.values : each.is === 'eq' ? [each.value] : undefined;
        return values !== undefined && hasEach(wanted.values, values) && hasEach(values, claims);
      });
    }
    default:
      return false;
  }
}

function conjuncts(filter: Filter): readonly Filter[] {
  return filter.is === 'all' ? filter.of : [filter];
}

function hasEach(values: readonly unknown[], wanted: readonly unknown[]): boolean {
  const texts = new Set(values.map((value) => JSON.stringify(value)));
  return wanted.every((value) => texts.has(JSON.stringify(value)));
}

const kept = new WeakMap<Filter, string>();

/** Equal for equal filters, in whichever order their values were written, too. */
function textOf(filter: Filter): string {
  let text = kept.get(filter);
  if (text === undefined) {
    text = canonical(sorted(filter));
    kept.set(filter, text);
  }
  return text;
}

function sorted(filter: Filter): Filter {
  if (filter.is === 'all' || filter.is === 'any') return { ...filter, of: filter.of.map(sorted) };
  if (filter.is === 'not') return { ...filter, of: sorted(filter.of) };
  if ('where' in filter) return { ...filter, where: sorted(filter.where) };
  if (!('values' in filter)) return filter;
  const byText = new Map(filter.values.map((value) => [JSON.stringify(value), value]));
  return { ...filter, values: [...byText.keys()].sort().map((text) => byText.get(text)) };
}
