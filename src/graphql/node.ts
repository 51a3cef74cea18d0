/** `Node` and `node(id:)`: a record by its key alone, where keys are UUIDs and so no two types share one. */

import {
  type GraphQLFieldConfig,
  GraphQLInterfaceType,
  GraphQLNonNull,
  type GraphQLScalarType,
} from 'graphql';
import { DuetError } from '../base/errors.ts';
import { shapesOf } from '../schema/actions.ts';
import type { Model, Resource } from '../schema/model.ts';
import { reservedRootFields } from '../schema/names.ts';

export const NODE = 'Node';
export const NODE_FIELD = 'node';

/** The types whose records can be asked for so; none where the file itself needs one of the names. */
export function nodesIn({ resources, enums, actions, rootFields }: Model): Resource[] {
  const types = [...resources, ...enums, ...shapesOf(actions)].map(({ name }) => name.toLowerCase());
  const fields = [
    ...resources.flatMap((resource) => reservedRootFields(resource).query),
    ...[...rootFields, ...actions].map(({ name }) => name),
  ].map((name) => name.toLowerCase());
  if (types.includes(NODE.toLowerCase()) || fields.includes(NODE_FIELD)) return [];
  return resources.filter(
    ({ graphql, operations, key }) => graphql && operations.has('GET') && key.origin.by === 'uuid',
  );
}

/** Which type a record is of that was found by its key alone. */
const found = new WeakMap<object, string>();

export function nodeInterface(id: GraphQLScalarType): GraphQLInterfaceType {
  return new GraphQLInterfaceType({
    name: NODE,
    description: 'A record that can be asked for by its id alone.',
    fields: { id: { type: new GraphQLNonNull(id) } },
    resolveType: (record: object) => found.get(record),
  });
}

export function nodeField(
  type: GraphQLInterfaceType,
  id: GraphQLScalarType,
): GraphQLFieldConfig<unknown, unknown> {
  const args = { id: { type: new GraphQLNonNull(id) } };
  return { type, args, description: 'The record with this id, of whatever type, or null.' };
}

/**
 * The one of them that has the key: each is looked up by its primary key, all in one snapshot. Who may not read one of the
 * types finds nothing there; who may read none is told so, and so is, where nothing is found, whoever asks for what may not be read.
 */
export async function findNode(
  resources: readonly Resource[],
  mayRead: (resource: Resource) => boolean,
  get: (resource: Resource) => Promise<unknown>,
): Promise<unknown> {
  const closed: DuetError[] = [];
  const denials: DuetError[] = [];
  const records = await Promise.all(
    resources.map((resource) =>
      get(resource).catch((error) => {
        if (!(error instanceof DuetError) || (error.status !== 401 && error.status !== 403)) throw error;
        (mayRead(resource) ? denials : closed).push(error);
        return null;
      }),
    ),
  );
  if (closed.length === resources.length) throw closed[0];
  const index = records.findIndex((record) => record !== null && record !== undefined);
  const record = records[index];
  if (typeof record !== 'object' || record === null) {
    if (denials.length > 0) throw denials[0];
    return null;
  }
  found.set(record, resources[index]?.name ?? '');
  return record;
}
