/** What operations can be marked with, beyond what GraphQL itself defines. */

import { DirectiveLocation, GraphQLDirective, type OperationDefinitionNode } from 'graphql';

/** On a mutation: all of its fields happen, or none. */
export const Atomic = new GraphQLDirective({
  name: 'atomic',
  description:
    'All fields of the mutation happen in one transaction; when one fails, none has happened and `data` is null.',
  locations: [DirectiveLocation.MUTATION],
});

/** On a query: its answer is kept up to date. */
export const Live = new GraphQLDirective({
  name: 'live',
  description:
    'The answer comes again, whole, whenever a change has altered it; over a stream or a socket. Each type in it needs `@journal`.',
  locations: [DirectiveLocation.QUERY],
});

export function isMarked({ directives }: OperationDefinitionNode, { name }: GraphQLDirective): boolean {
  return directives?.some((each) => each.name.value === name) ?? false;
}
