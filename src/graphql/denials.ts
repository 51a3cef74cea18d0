/** Fields that the caller may not read: null in the answer, each with an error at its place while there is room for errors. */

import { GraphQLError, type GraphQLResolveInfo, responsePathAsArray } from 'graphql';
import { DuetError } from '../base/errors.ts';

/** Characters of all such errors of an answer, about 1,500 of them: one takes far more time and room than the null it explains. */
const MOST_CHARACTERS = 256 * 1024;
/** Its code, one location, and names. */
const AROUND = 100;

/** How many characters of errors an answer has so far. */
export interface Denials {
  denials: number;
}

/** `context`: that of the execution. Fields that can be hidden are nullable. */
export function denied(context: unknown, info: GraphQLResolveInfo, detail: string): null {
  const told = context as Denials;
  if (told.denials > MOST_CHARACTERS) return null;
  const path = responsePathAsArray(info.path);
  // An alias above may be as long as a body, and every path repeats it.
  told.denials += AROUND + detail.length + path.join().length;
  const isLast = told.denials > MOST_CHARACTERS;
  const message = isLast
    ? `${detail} Further fields of this answer that you may not read are null without an error.`
    : detail;
  // Located here, because the executor would locate it wherever the document asks for the same field, thousands of times.
  throw new GraphQLError(message, {
    nodes: info.fieldNodes.slice(0, 1),
    path,
    originalError: new DuetError('FORBIDDEN', message),
  });
}
