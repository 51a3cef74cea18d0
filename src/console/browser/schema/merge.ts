/** One picture of the schema from what the two doors tell of themselves. */

import { readActions } from './actions.ts';
import { type Introspection, readIntrospection } from './introspection.ts';
import { type OpenApi, readOpenApi } from './openapi.ts';
import {
  type Allowed,
  type Column,
  type Input,
  type Inverse,
  labelOf,
  type Resource,
  type Schema,
} from './types.ts';

/** `allowed`: fields that the caller may never write are not offered. */
export function readSchema(
  document: OpenApi | undefined,
  introspection: Introspection | undefined,
  allowed: Allowed = {},
): Schema {
  const rest = document ? readOpenApi(document) : [];
  const graphql = introspection ? readIntrospection(introspection) : [];
  const others = new Map(graphql.map((resource) => [resource.name, resource]));
  const resources = [
    ...rest.map((resource) => merged(resource, others.get(resource.name))),
    ...graphql.filter(({ name }) => !rest.some((resource) => resource.name === name)),
  ].map((resource) => offered(resource, allowed));
  const byName = new Map(resources.map((resource) => [resource.name, resource]));
  return {
    resources,
    byName,
    actions: document ? readActions(document, introspection, byName) : [],
    fingerprint: document?.info.version ?? '',
    hasCallers: document?.components.securitySchemes !== undefined,
    hasRest: rest.length > 0,
    hasGraphql: graphql.length > 0,
  };
}

function offered(resource: Resource, allowed: Allowed): Resource {
  const may = (action: string) => (of: Input | Column) =>
    allowed[`${resource.name}.${of.name}`]?.includes(action) ?? true;
  const columns = resource.columns.map((column) =>
    may('READ')(column) ? column : { ...column, isClosed: true },
  );
  return {
    ...resource,
    columns,
    label: labelOf(columns.filter(may('READ')), resource.key),
    create: resource.create.filter(may('CREATE')),
    update: resource.update.filter(may('UPDATE')),
  };
}

/** The OpenAPI document tells more of values, introspection tells how an operation is written. */
function merged(resource: Resource, other: Resource | undefined): Resource {
  if (!other) return resource;
  const columns = resource.columns.map((column) => withOther(column, other.columns));
  const named = ({ name }: Column) => columns.find((column) => column.name === name);
  const key = named(resource.key) ?? resource.key;
  return {
    ...resource,
    plural: other.plural,
    columns,
    key,
    label: labelOf(columns, key),
    inverses: [
      ...resource.inverses.map((inverse) => bothDoors(inverse, other.inverses)),
      ...other.inverses.filter(({ name }) => !resource.inverses.some((inverse) => inverse.name === name)),
    ],
    graphql: other.graphql,
  };
}

function withOther(column: Column, others: readonly Column[]): Column {
  const other = others.find(({ name }) => name === column.name);
  if (!other) return column;
  // Introspection tells what was written of the field itself, and not what is true of every value of its type.
  const told = { ...column, type: other.type, description: other.description };
  const reference = column.reference ?? other.reference;
  if (!reference || !other.reference) return told;
  return { ...told, reference: column.reference ? { ...reference, doors: ['rest', 'graphql'] } : reference };
}

function bothDoors(inverse: Inverse, others: readonly Inverse[]): Inverse {
  const other = others.find(({ name }) => name === inverse.name);
  return other ? { ...inverse, via: inverse.via ?? other.via, doors: ['rest', 'graphql'] } : inverse;
}
