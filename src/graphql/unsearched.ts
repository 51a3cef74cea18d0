/** What is to be done where a type is searched that has no words: graphql-js knows only that there is no such argument. */

import { type DocumentNode, GraphQLError, Kind, TypeInfo, visit, visitWithTypeInfo } from 'graphql';
import { SEARCH } from '../query/search.ts';
import type { Door } from './schema.ts';

/** The same errors, with the cure at the end of those about `search`. */
export function withCures(
  { schema, unsearched }: Door,
  document: DocumentNode,
  errors: readonly GraphQLError[],
): readonly GraphQLError[] {
  const isAsked = ({ nodes: [node] = [] }: GraphQLError) =>
    node?.kind === Kind.ARGUMENT && node.name.value === SEARCH;
  if (!errors.some(isAsked)) return errors;
  const cures = new Map<unknown, string>();
  const types = new TypeInfo(schema);
  const look = visitWithTypeInfo(types, {
    Argument: (node) => {
      // Writes on many records have filters too, and are never searched.
      if (node.name.value !== SEARCH || types.getParentType() === schema.getMutationType()) return;
      const where = types.getFieldDef()?.args.find(({ name }) => name === 'where');
      const cure = where && unsearched.get(String(where.type));
      if (cure !== undefined) cures.set(node, cure);
    },
  });
  visit(document, look);
  return errors.map((error) => {
    const cure = isAsked(error) && cures.get(error.nodes?.[0]);
    return cure ? new GraphQLError(`${error.message} ${cure}`, { nodes: error.nodes }) : error;
  });
}
