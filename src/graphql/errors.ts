/** Errors as GraphQL answers them: the message, where it happened, and a code of the catalogue. */

import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import { type Code, DuetError } from '../base/errors.ts';

/** The code of an error that graphql-js raised itself is known only to whoever called it. */
export function formatted(error: GraphQLError, own: Code, requestId: string): GraphQLFormattedError {
  const { originalError, nodes } = error;
  const { extensions, ...written } = error.toJSON();
  const locations = nodes?.flatMap(({ loc }) =>
    loc ? [{ line: loc.startToken.line, column: loc.startToken.column }] : [],
  );
  const told = { ...written, message: bounded(written.message) };
  const rest = locations ? { ...told, locations } : told;
  if (originalError instanceof DuetError)
    return { ...rest, extensions: extensionsOf(originalError, requestId) };
  // A plain error is graphql-js's own about a null that cannot be; our resolvers throw nothing but DuetError.
  const code = originalError && !(originalError instanceof GraphQLError) ? 'INTERNAL' : own;
  return { ...rest, extensions: { ...extensions, code } };
}

/** graphql-js quotes values of variables whole. */
const LONGEST_MESSAGE = 2_000;

function bounded(message: string): string {
  return message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE)}…` : message;
}

export function formattedAlone(error: DuetError, requestId: string): GraphQLFormattedError {
  return { message: error.message, extensions: extensionsOf(error, requestId) };
}

function extensionsOf(
  { code, errors }: DuetError,
  requestId: string,
): NonNullable<GraphQLFormattedError['extensions']> {
  return { code, ...(errors && { errors }), ...(code === 'INTERNAL' && { requestId }) };
}
