/** The schema as text, in pieces: of hundreds of types it is long, and others can have their turn in between. */

import {
  type GraphQLSchema,
  isDirective,
  isIntrospectionType,
  isSpecifiedDirective,
  isSpecifiedScalarType,
  printDirective,
  printType,
} from 'graphql';

/** What `printSchema` prints, one type at a time. */
export function* printedPieces(schema: GraphQLSchema): Generator<string> {
  const directives = schema.getDirectives().filter((directive) => !isSpecifiedDirective(directive));
  const types = Object.values(schema.getTypeMap()).filter(
    (type) => !isSpecifiedScalarType(type) && !isIntrospectionType(type),
  );
  let separator = '';
  for (const each of [...directives, ...types]) {
    yield separator + (isDirective(each) ? printDirective(each) : printType(each));
    separator = '\n\n';
  }
  yield '\n';
}
