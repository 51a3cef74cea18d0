/** Where in a query something is planned, and what is wrong with its arguments. */

import { type Fault, pointer } from '../base/errors.ts';
import type { Reading } from '../query/arguments.ts';
import type { Given } from './fields.ts';

/** What is being planned: where in the selection, and what was found to be wrong so far. */
export interface Planning extends Given {
  readonly at: readonly string[];
  readonly faults: Fault[];
}

/** Arguments of what is planned: what is wrong with them is told where they stand. */
export function readingOf({ at, faults, most, page }: Planning): Reading {
  return {
    most,
    page,
    sees: ({ graphql }) => graphql,
    report: (path, code, detail) => faults.push({ pointer: pointer(...at, ...path), code, detail }),
  };
}
