/** Which operations take a token, as the API description tells them: those that no rule allows to the anonymous. */

import type { Action } from '../../schema/model.ts';
import type { JsonSchema } from '../../schema/scalars.ts';

/** Where callers can be known, a token may be sent with everything. */
export const anybody = [{ bearer: [] }, {}];

const usual: Readonly<Record<string, readonly Action[]>> = {
  get: ['READ'],
  post: ['CREATE'],
  put: ['UPDATE'],
  delete: ['DELETE'],
};

/** `open`: what the anonymous may do; undefined where nobody can be known. `takes`: by method, one of which is enough. */
export function guarded(
  item: JsonSchema,
  open: readonly Action[] | undefined,
  takes: Readonly<Record<string, readonly Action[]>> = usual,
): JsonSchema {
  return Object.fromEntries(
    Object.entries(item).map(([method, operation]) => {
      const isClosed = open && takes[method]?.every((action) => !open.includes(action));
      return [method, isClosed ? { ...(operation as object), security: [{ bearer: [] }] } : operation];
    }),
  );
}
