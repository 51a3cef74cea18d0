/** Model → GraphQLSchema, and what each of its root fields does. */

import {
  assertValidSchema,
  type GraphQLFieldConfigArgumentMap,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLSchema,
  specifiedDirectives,
} from 'graphql';
import { isSearchable, notSearchable } from '../query/search.ts';
import { isRestorable } from '../schema/journal.ts';
import type { ActionField, Column, Model, OperationKind, Resource, RootField } from '../schema/model.ts';
import {
  aggregateName,
  bulkFieldName,
  connectionName,
  journalNames,
  rootFieldName,
  upsertFieldName,
  VERSION_ARGUMENT,
  withArticle,
} from '../schema/names.ts';
import { upsertKeys } from '../schema/upserts.ts';
import { creatable, neededOnCreate, updatable } from '../schema/values.ts';
import { type ChangesBinding, changesFields, changesSubscriptions, ownChanges } from './changes.ts';
import { Atomic, Live } from './directives.ts';
import { aggregate, beside, bulk, connection, upserts } from './lists.ts';
import { NODE_FIELD, nodesIn } from './node.ts';
import { type Fields, nonNull, TypesOf, texts } from './types.ts';

export type BulkKind = 'CREATE_MANY' | 'UPDATE_MANY' | 'DELETE_MANY';
export type UpsertKind = 'UPSERT' | 'UPSERT_MANY';

export type Binding = PlannedBinding | NodeBinding;

/** What is carried out as one operation. */
export type PlannedBinding = RecordsBinding | ActionBinding | ChangesBinding;

export interface RecordsBinding {
  readonly operation: OperationKind | 'CONNECTION' | 'AGGREGATE' | 'RESTORE' | BulkKind | UpsertKind;
  readonly resource: Resource;
}

interface ActionBinding {
  readonly operation: 'ACTION';
  readonly action: ActionField;
}

interface NodeBinding {
  readonly operation: 'NODE';
  readonly resources: readonly Resource[];
}

type Root = 'Query' | 'Mutation' | 'Subscription';

export interface Door {
  readonly schema: GraphQLSchema;
  /** By `Query.user`, `Mutation.addTodo` and the like. */
  readonly bindings: ReadonlyMap<string, Binding>;
  /** What to do instead of a search, by the filters of the types that have no words. */
  readonly unsearched: ReadonlyMap<string, string>;
}

/** Undefined when every resource keeps this door closed. */
export function graphqlDoor(model: Model): Door | undefined {
  const open = model.resources.filter(({ graphql }) => graphql);
  if (open.length === 0) return undefined;
  const types = new TypesOf(model, beside, ownChanges);
  const bindings = new Map<string, Binding>();
  const roots: Record<Root, Fields> = { Query: {}, Mutation: {}, Subscription: {} };
  const add = (root: Root, name: string, binding: Binding, field: Fields[string]) => {
    roots[root][name] = field;
    bindings.set(`${root}.${name}`, binding);
  };
  for (const resource of open) {
    for (const operation of resource.operations)
      add(
        rootOf(operation),
        rootFieldName[operation](resource),
        { operation, resource },
        derived(types, operation, resource),
      );
    for (const operation of ['CREATE', 'UPDATE', 'DELETE'] as const) {
      const field = resource.operations.has(operation) && bulk(types, resource, operation);
      if (field)
        add(
          'Mutation',
          bulkFieldName[operation](resource),
          { operation: `${operation}_MANY`, resource },
          field,
        );
    }
    if (upsertKeys(resource).size > 0) {
      const { one, many } = upserts(types, resource);
      add('Mutation', upsertFieldName.ONE(resource), { operation: 'UPSERT', resource }, one);
      add('Mutation', upsertFieldName.MANY(resource), { operation: 'UPSERT_MANY', resource }, many);
    }
    if (isRestorable(resource))
      add(
        'Mutation',
        journalNames.restore(resource),
        { operation: 'RESTORE', resource },
        restored(types, resource),
      );
    if (!resource.operations.has('LIST')) continue;
    add(
      'Query',
      connectionName(resource),
      { operation: 'CONNECTION', resource },
      connection(types, resource),
    );
    add('Query', aggregateName(resource), { operation: 'AGGREGATE', resource }, aggregate(types, resource));
  }
  const changes = changesFields(types, model);
  for (const [name, binding, field] of changes) add('Query', name, binding, field);
  for (const [name, binding, field] of changesSubscriptions(changes))
    add('Subscription', name, binding, field);
  for (const field of model.rootFields) add(field.root, field.name, field, declared(types, field));
  for (const action of model.actions) {
    const { root, name, answer, arguments: args } = action;
    const field = { ...texts(action), type: types.answer(answer), args: types.taken(args) };
    add(root, name, { operation: 'ACTION', action }, field);
  }

  const { node } = types;
  if (node) add('Query', NODE_FIELD, { operation: 'NODE', resources: nodesIn(model) }, node);

  const query = new GraphQLObjectType({ name: 'Query', fields: roots.Query });
  const mutates = Object.keys(roots.Mutation).length > 0;
  const mutation = mutates ? new GraphQLObjectType({ name: 'Mutation', fields: roots.Mutation }) : null;
  const subscribes = Object.keys(roots.Subscription).length > 0;
  const subscription = subscribes
    ? new GraphQLObjectType({ name: 'Subscription', fields: roots.Subscription })
    : null;
  const schema = new GraphQLSchema({
    query,
    mutation,
    subscription,
    types: types.all(),
    directives: [...specifiedDirectives, Atomic, ...(changes.length > 0 ? [Live] : [])],
  });
  // Execution would check this too, but only when the first client asks.
  assertValidSchema(schema);
  const plain = open.filter((resource) => !isSearchable(resource));
  const cures = plain.map((each) => [types.inputs.where(each).name, notSearchable(each)] as const);
  return { schema, bindings, unsearched: new Map(cures) };
}

function rootOf(operation: OperationKind): 'Query' | 'Mutation' {
  return operation === 'LIST' || operation === 'GET' ? 'Query' : 'Mutation';
}

function derived(types: TypesOf, operation: OperationKind, resource: Resource): Fields[string] {
  const { singular, plural, key } = resource;
  const object = types.object(resource);
  const required = {
    [key.name]: { type: new GraphQLNonNull(types.column(key)), description: key.description },
  };
  const version = versionArgument(resource);
  switch (operation) {
    case 'GET':
      return { type: object, args: required, description: `The ${singular} with this ${key.name}, or null.` };
    case 'LIST': {
      const type = new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(object)));
      return {
        type,
        args: types.inputs.list(resource),
        description: `The ${plural}, by default in the order of their ${key.name}.`,
      };
    }
    case 'CREATE':
      return {
        type: new GraphQLNonNull(object),
        args: {
          ...columnArguments(types, creatable(resource), neededOnCreate),
          ...types.inputs.links(resource),
          ...types.inputs.nested(resource),
        },
        description: `Creates ${withArticle(singular)}.`,
      };
    case 'UPDATE':
      return {
        type: object,
        args: {
          ...required,
          ...columnArguments(types, updatable(resource), () => false),
          ...types.inputs.links(resource),
          ...types.inputs.increments(resource),
          ...version,
        },
        description: `Changes the given fields of ${withArticle(singular)}; null with NOT_FOUND when there is none.`,
      };
    case 'DELETE':
      return {
        type: object,
        args: { ...required, ...version },
        description: `Deletes ${withArticle(singular)} and returns it as it was; null with NOT_FOUND when there is none.`,
      };
  }
}

function versionArgument({ singular }: Resource): GraphQLFieldConfigArgumentMap {
  const description = `Fails with VERSION_CONFLICT when the ${singular} has another version.`;
  return { [VERSION_ARGUMENT]: { type: GraphQLInt, description } };
}

function restored(types: TypesOf, resource: Resource): Fields[string] {
  const { key, singular } = resource;
  return {
    type: types.object(resource),
    args: {
      [key.name]: { type: new GraphQLNonNull(types.column(key)), description: key.description },
      version: { type: GraphQLInt, description: 'Left out for a deleted one that is to be as it was last.' },
      ...versionArgument(resource),
    },
    description: `Writes ${withArticle(singular)} as it was at a version; null with NOT_FOUND when nothing is known of it.`,
  };
}

function declared(types: TypesOf, field: RootField): Fields[string] {
  const object = types.object(field.resource);
  const type = field.operation === 'LIST' ? new GraphQLList(new GraphQLNonNull(object)) : object;
  const args: GraphQLFieldConfigArgumentMap =
    field.operation === 'LIST' ? types.inputs.list(field.resource) : {};
  for (const argument of field.arguments) {
    const plain = types.column(argument.column);
    args[argument.name] = { ...texts(argument), type: nonNull(plain, argument.required) };
  }
  return { ...texts(field), type: nonNull(type, field.required), args };
}

function columnArguments(
  types: TypesOf,
  columns: readonly Column[],
  isRequired: (column: Column) => boolean,
): GraphQLFieldConfigArgumentMap {
  const args: GraphQLFieldConfigArgumentMap = {};
  for (const column of columns) {
    const type = types.column(column);
    const required = isRequired(column);
    args[column.name] = {
      type: nonNull(type, required),
      description: column.description,
      // GraphQL forbids deprecating what must be given.
      deprecationReason: required ? undefined : column.deprecated,
    };
  }
  return args;
}
