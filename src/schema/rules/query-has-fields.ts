/** GraphQL has no schema without a query field: a deployment with that door open needs something to read. */

import type { Rule } from './rule.ts';

export const queryHasFields: Rule = (model, report) => {
  const open = model.resources.filter(({ graphql }) => graphql);
  const [first] = open;
  if (!first || open.some(({ operations }) => operations.has('LIST') || operations.has('GET'))) return;
  report(
    first.place,
    'GraphQL would have nothing to query. Allow LIST or GET on a resource, or write graphql: false on all.',
  );
};
