/** GraphQL's ID, which takes no integer that a JSON number cannot carry exactly. */

import { GraphQLError, GraphQLID, GraphQLScalarType } from 'graphql';

export const ID = new GraphQLScalarType({
  ...GraphQLID.toConfig(),
  // 9007199254740993 arrives as 9007199254740992: the record of a neighbour.
  coerceInputValue(value) {
    if (typeof value === 'number' && !Number.isSafeInteger(value))
      throw new GraphQLError(`ID cannot represent the number ${value} exactly; send it as a string`);
    return GraphQLID.coerceInputValue(value);
  },
});
