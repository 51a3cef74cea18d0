/** Which rows are meant: a value that the engine builds and each database compiles. */

import type { Column } from '../schema/model.ts';

export type Filter =
  | { readonly is: 'equal'; readonly column: Column; readonly value: unknown }
  | { readonly is: 'among'; readonly column: Column; readonly values: readonly unknown[] }
  | { readonly is: 'above'; readonly column: Column; readonly value: unknown }
  | { readonly is: 'all'; readonly of: readonly Filter[] };

export function equal(column: Column, value: unknown): Filter {
  return { is: 'equal', column, value };
}

export function above(column: Column, value: unknown): Filter {
  return { is: 'above', column, value };
}

export function among(column: Column, values: readonly unknown[]): Filter {
  return { is: 'among', column, values };
}

export function all(of: readonly Filter[]): Filter {
  return { is: 'all', of };
}
