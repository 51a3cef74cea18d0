/** The fields that the functions of a deployment make of others, and that nobody writes. */

import type { Column, Resource } from './schema/types.ts';

export interface Computed {
  readonly column: Column;
  readonly from: readonly string[];
}

/** Both doors tell of what they are made in the description of the field, and there alone. */
export function computedOf({ columns, create, update }: Resource): Computed[] {
  const written = new Set([...create, ...update].map(({ name }) => name));
  return columns.flatMap((column) => {
    const [, from] = /^Computed from (.*)\.$/m.exec(column.description ?? '') ?? [];
    return from === undefined || written.has(column.name) ? [] : [{ column, from: from.split(', ') }];
  });
}
