/** One picture of the schema from what the two doors tell of themselves. */

import { type Introspection, readIntrospection } from './introspection.ts';
import { type OpenApi, readOpenApi } from './openapi.ts';
import type { Column, Inverse, Resource, Schema } from './types.ts';

export function readSchema(document: OpenApi | undefined, introspection: Introspection | undefined): Schema {
  const rest = document ? readOpenApi(document) : [];
  const graphql = introspection ? readIntrospection(introspection) : [];
  const others = new Map(graphql.map((resource) => [resource.name, resource]));
  const resources = [
    ...rest.map((resource) => merged(resource, others.get(resource.name))),
    ...graphql.filter(({ name }) => !rest.some((resource) => resource.name === name)),
  ];
  return {
    resources,
    byName: new Map(resources.map((resource) => [resource.name, resource])),
    fingerprint: document?.info.version ?? '',
    hasRest: rest.length > 0,
    hasGraphql: graphql.length > 0,
  };
}

/** The OpenAPI document tells more of values, introspection tells how an operation is written. */
function merged(resource: Resource, other: Resource | undefined): Resource {
  if (!other) return resource;
  return {
    ...resource,
    plural: other.plural,
    columns: resource.columns.map((column) => withReference(column, other.columns)),
    inverses: [
      ...resource.inverses.map((inverse) => bothDoors(inverse, other.inverses)),
      ...other.inverses.filter(({ name }) => !resource.inverses.some((inverse) => inverse.name === name)),
    ],
    graphql: other.graphql,
  };
}

function withReference(column: Column, others: readonly Column[]): Column {
  const other = others.find(({ name }) => name === column.name);
  const reference = column.reference ?? other?.reference;
  if (!reference || !other?.reference) return column;
  return {
    ...column,
    reference: column.reference ? { ...reference, doors: ['rest', 'graphql'] } : reference,
  };
}

function bothDoors(inverse: Inverse, others: readonly Inverse[]): Inverse {
  const other = others.find(({ name }) => name === inverse.name);
  return other ? { ...inverse, via: inverse.via ?? other.via, doors: ['rest', 'graphql'] } : inverse;
}
