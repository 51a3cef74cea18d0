/** Which rows are meant: a value that the engine builds and each database compiles. Logic has two values. */

import type { Column, Inverse, Reference, Resource } from '../schema/model.ts';

export type Comparison = 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'contains' | 'startsWith' | 'endsWith';

export type Filter =
  | { readonly is: Comparison; readonly column: Column; readonly value: unknown }
  | { readonly is: 'in'; readonly column: Column; readonly values: readonly unknown[] }
  /** A list that has one of the values, or each of them. */
  | { readonly is: 'hasSome' | 'hasEvery'; readonly column: Column; readonly values: readonly unknown[] }
  /** A list that has none at all. */
  | { readonly is: 'empty'; readonly column: Column }
  | { readonly is: 'null'; readonly column: Column }
  | Searched
  | { readonly is: 'all' | 'any'; readonly of: readonly Filter[] }
  | { readonly is: 'not'; readonly of: Filter }
  /** The referenced record exists and matches. */
  | { readonly is: 'related'; readonly field: Reference; readonly where: Filter }
  /** Some record of the list matches. */
  | { readonly is: 'some'; readonly field: Inverse; readonly where: Filter };

/** A record that has all of these words in the fields that its type is searched by. */
export interface Searched {
  readonly is: 'search';
  readonly resource: Resource;
  readonly words: readonly SearchedWord[];
}

export interface SearchedWord {
  readonly text: string;
  /** Whether it may be the beginning of one. */
  readonly begins: boolean;
}

/** Another field of the same record in the place of a value, as a @check may have it: `{ field: "orderedOn" }`. */
export class FieldOperand {
  readonly column: Column;

  constructor(column: Column) {
    this.column = column;
  }

  toJSON(): unknown {
    return { field: this.column.name };
  }
}

/** A filter that combines no others: a comparison, or what is asked of related records. */
export type Condition = Exclude<Filter, { readonly of: unknown }>;

export function equal(column: Column, value: unknown): Filter {
  return { is: 'eq', column, value };
}

export function among(column: Column, values: readonly unknown[]): Filter {
  return { is: 'in', column, values };
}

export const everything: Filter = { is: 'all', of: [] };
export const nothing: Filter = { is: 'any', of: [] };

export function isEverything(filter: Filter): boolean {
  return filter.is === 'all' && filter.of.length === 0;
}

export function isNothing(filter: Filter): boolean {
  return filter.is === 'any' && filter.of.length === 0;
}

/** Flattened, so that what means the same is the same; what nothing can match is told without asking. */
export function all(filters: readonly (Filter | undefined)[]): Filter {
  const of: Filter[] = [];
  for (const filter of filters)
    if (filter?.is === 'all') of.push(...filter.of);
    else if (filter) of.push(filter);
  if (of.some(isNothing)) return nothing;
  return of.length === 1 && of[0] ? of[0] : { is: 'all', of };
}

/** Simplified, so that what is always so, or never, can be told without asking. */
export function any(filters: readonly Filter[]): Filter {
  if (filters.some(isEverything)) return everything;
  const of = filters.flatMap((filter) => (filter.is === 'any' ? filter.of : [filter]));
  return of.length === 1 && of[0] ? of[0] : { is: 'any', of };
}

export function not(filter: Filter): Filter {
  if (isNothing(filter)) return everything;
  return isEverything(filter) ? nothing : { is: 'not', of: filter };
}

/** What is asked of the record itself. */
export function conditionsOn(filter: Filter): readonly Condition[] {
  switch (filter.is) {
    case 'all':
    case 'any':
      return filter.of.flatMap(conditionsOn);
    case 'not':
      return conditionsOn(filter.of);
    default:
      return [filter];
  }
}

/** The same, and what is asked of related records. */
export function conditionsIn(filter: Filter): readonly Condition[] {
  return conditionsOn(filter).flatMap((each) =>
    'where' in each ? [each, ...conditionsIn(each.where)] : each,
  );
}

/** The filter with others for its conditions. */
export function replaced(filter: Filter, replace: (condition: Condition) => Filter): Filter {
  switch (filter.is) {
    case 'all':
      return all(filter.of.map((each) => replaced(each, replace)));
    case 'any':
      return any(filter.of.map((each) => replaced(each, replace)));
    case 'not':
      return not(replaced(filter.of, replace));
    default:
      return replace(filter);
  }
}

/** The columns of a record itself that say whether it matches, those that lead to its relations included. */
export function ownColumns(filter: Filter, { key }: Resource): Set<Column> {
  return new Set(
    conditionsOn(filter).flatMap((each) => {
      if (each.is === 'related') return each.field.column;
      if (each.is === 'some') return key;
      if (each.is === 'search') return each.resource.searched;
      return 'value' in each && each.value instanceof FieldOperand
        ? [each.column, each.value.column]
        : each.column;
    }),
  );
}

/** The resources that a filter looks at beyond the record itself. */
export function reached(filter: Filter): Set<Resource> {
  return new Set(conditionsIn(filter).flatMap((each) => ('where' in each ? each.field.target : [])));
}

/** A text that is equal for equal filters, in whichever order and through whichever door they were written. */
export function canonical(filter: Filter): string {
  switch (filter.is) {
    case 'all':
    case 'any':
      return `${filter.is}(${filter.of.map(canonical).sort().join()})`;
    case 'not':
      return `not(${canonical(filter.of)})`;
    case 'related':
    case 'some':
      return `${filter.is} ${filter.field.name}(${canonical(filter.where)})`;
    case 'search':
      return `search ${filter.words.map(({ text, begins }) => `${text}${begins ? '*' : ''}`).join(' ')}`;
    case 'null':
    case 'empty':
      return `${filter.column.name} ${filter.is}`;
    case 'in':
    case 'hasSome':
    case 'hasEvery':
      return `${filter.column.name} ${filter.is} ${JSON.stringify(filter.values)}`;
    default:
      return `${filter.column.name} ${filter.is} ${JSON.stringify(filter.value)}`;
  }
}
