/** Errors of single fields, at most so many in an answer: what one may not read, and what a record lacks. */

import { type ExecutionResult, GraphQLError, type GraphQLResolveInfo, responsePathAsArray } from 'graphql';
import { DuetError } from '../base/errors.ts';

/** Of all of them, about 1,500: one takes far more time and room than the null that it explains. */
const MOST_CHARACTERS = 256 * 1024;
/** A code, one location, and names. */
const AROUND = 100;
const OTHERS = 'Further errors of this answer are left out; what they are about is null.';

/** Of fields that hold what a record refers to, or its key. */
export const REFERS = { refers: true };

/** Part of the context of an execution. */
export interface Telling {
  /** How many characters of such errors the answer has so far. */
  told: number;
}

/** Fields that can be hidden are nullable. */
export function denied(context: unknown, info: GraphQLResolveInfo, detail: string): null {
  const telling = context as Telling;
  if (isFull(telling)) return null;
  throw located(telling, info, detail, new DuetError('FORBIDDEN', detail));
}

/**
 * Where the file requires a value, and a node of another has stored none: in the words of graphql-js. What is written may refer to
 * what has left its caller's sight since, or with it: that is no reason to take the write for one that failed.
 */
export function lacking(context: unknown, info: GraphQLResolveInfo): never {
  const telling = context as Telling;
  if (isFull(telling)) throw UNTOLD;
  const { extensions } = info.parentType.getFields()[info.fieldName] ?? {};
  if (info.operation.operation === 'mutation' && extensions?.['refers']) {
    const detail = `This was written. You may not read its ${info.fieldName}.`;
    throw located(telling, info, detail, new DuetError('FORBIDDEN', detail));
  }
  const detail = `Cannot return null for non-nullable field ${info.parentType.name}.${info.fieldName}.`;
  throw located(telling, info, detail, new Error(detail));
}

/** Of what makes its parent null, one for all: the executor takes what is located as it is. */
const UNTOLD = new GraphQLError(OTHERS, { path: [] });

export function withoutUntold({ errors, ...result }: ExecutionResult): ExecutionResult {
  return errors ? { errors: errors.filter((error) => error !== UNTOLD), ...result } : result;
}

function isFull({ told }: Telling): boolean {
  return told > MOST_CHARACTERS;
}

/** In one place: the executor would locate it wherever the document asks for the same field, thousands of times. */
function located(
  telling: Telling,
  { path: at, fieldNodes }: GraphQLResolveInfo,
  detail: string,
  originalError: Error,
): GraphQLError {
  const path = responsePathAsArray(at);
  // An alias above may be as long as a body, and every path repeats it.
  telling.told += AROUND + detail.length + path.join().length;
  const message = isFull(telling) ? `${detail} ${OTHERS}` : detail;
  return new GraphQLError(message, { nodes: fieldNodes.slice(0, 1), path, originalError });
}
