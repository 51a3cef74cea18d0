/** Reads actions: what they take from the OpenAPI document, and how they are written from introspection. */

import { type Introspection, named, type Type, written } from './introspection.ts';
import type { Content, Described, OpenApi } from './openapi.ts';
import type { Action, Column, FormField, Resource, Wanted } from './types.ts';
import { columnOf, type JsonSchema, resolved, type Schemas } from './values.ts';

type ByName = ReadonlyMap<string, Resource>;

/** Introspection alone does not tell them from other root fields. */
export function readActions(
  { paths, components: { schemas } }: OpenApi,
  introspection: Introspection | undefined,
  byName: ByName,
): Action[] {
  const types = new Map(introspection?.__schema.types.map((type) => [type.name, type]));
  return Object.entries(paths).flatMap(([path, item]): Action[] => {
    const operation = (item.post ?? item.get) as DescribedAction | undefined;
    const name = operation?.operationId;
    if (!operation || name === undefined || operation.tags?.[0] !== 'Actions') return [];
    const root = item.post ? 'Mutation' : 'Query';
    const field = types.get(root)?.fields?.find((each) => each.name === name);
    const typeNames = Object.fromEntries(field?.args.map((each) => [each.name, written(each.type)]) ?? []);
    const given = root === 'Mutation' ? bodyOf(operation, schemas) : parametersOf(operation);
    const answer = schemaIn(operation.responses[200]?.content);
    return [
      {
        name,
        ...(operation.summary !== name && { description: operation.summary }),
        ...(operation.deprecated && { deprecated: true }),
        root,
        path,
        arguments: given.map((each) => argumentOf(each, root, typeNames[each.name], schemas, byName, [])),
        answer: columnOf(name, answer, schemas),
        graphql: field && { types: typeNames, wanted: wantedOf(named(field.type), types, byName, []) },
      },
    ];
  });
}

interface DescribedAction extends Described {
  readonly summary: string;
  readonly deprecated?: boolean;
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

interface Given {
  readonly name: string;
  readonly required: boolean;
  readonly schema: JsonSchema;
}

function schemaIn(content: Content | undefined): JsonSchema {
  return Object.values(content ?? {})[0]?.schema ?? {};
}

function bodyOf({ requestBody }: DescribedAction, schemas: Schemas): Given[] {
  const { properties = {}, required = [] } = resolved(schemaIn(requestBody?.content), schemas);
  return Object.entries(properties).flatMap(([name, schema]) =>
    schema === false ? [] : [{ name, schema, required: required.includes(name) }],
  );
}

/** Lists and inputs are JSON in a parameter. */
function parametersOf({ parameters = [] }: DescribedAction): Given[] {
  return parameters.map(({ name, required = false, description, schema, content }) => ({
    name,
    required,
    schema: { ...(description && { description }), ...(schema ?? schemaIn(content)) },
  }));
}

function argumentOf(
  { name, required, schema }: Given,
  root: Action['root'],
  typeName: string | undefined,
  schemas: Schemas,
  byName: ByName,
  within: readonly string[],
): FormField {
  const told = columnOf(name, schema, schemas);
  const fallback = 'default' in schema ? { default: schema.default } : {};
  const column: Column = {
    ...told,
    // In lists, OpenAPI tells them from no other text.
    ...(/^\[ID\b/.test(typeName ?? '') && { type: 'ID' }),
    // What a parameter does not say is its default, and never null.
    required: (typeName?.endsWith('!') ?? told.required) || (root === 'Query' && 'default' in fallback),
    fields: fieldsIn(told.type, schemas, byName, within),
  };
  return { input: { name, required, ...fallback }, column: { ...column, ...referenceOf(column, byName) } };
}

/** `itemId` is the key of an Item, as it is in a record. */
function referenceOf({ name, type, required }: Column, byName: ByName): Partial<Column> {
  const target = byName.get(name.replace(/Ids?$/, '').replace(/^./, (first) => first.toUpperCase()));
  if (target?.key.type !== type) return {};
  return { kind: target.key.kind, reference: { name, target: target.name, required, doors: [] } };
}

/** Undefined for what is no input, and for an input inside of itself. */
function fieldsIn(
  type: string,
  schemas: Schemas,
  byName: ByName,
  within: readonly string[],
): FormField[] | undefined {
  const { properties, required = [] } = schemas[type] ?? {};
  if (!properties || within.includes(type)) return undefined;
  return Object.entries(properties).flatMap(([name, schema]) =>
    schema === false
      ? []
      : argumentOf(
          { name, schema, required: required.includes(name) },
          'Mutation',
          undefined,
          schemas,
          byName,
          [...within, type],
        ),
  );
}

/** A type that holds itself is asked for once: REST answers with all of it, GraphQL as deep as one asks. */
function wantedOf(
  name: string,
  types: ReadonlyMap<string, Type>,
  byName: ByName,
  within: readonly string[],
): Wanted {
  const type = types.get(name);
  if (type?.kind !== 'OBJECT') return undefined;
  return (
    byName.get(name) ??
    type.fields
      ?.map((field) => ({ field, of: named(field.type) }))
      .filter(({ of }) => of !== name && !within.includes(of))
      .map(({ field, of }) => ({ name: field.name, wanted: wantedOf(of, types, byName, [...within, name]) }))
  );
}
