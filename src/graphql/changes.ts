/** What `@journal` adds to GraphQL: the changes of all types, of one, and of a record. */

import {
  type FieldNode,
  GraphQLEnumType,
  type GraphQLFieldConfigArgumentMap,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLString,
  getNamedType,
} from 'graphql';
import { type FaultCode, pointer } from '../base/errors.ts';
import type { ChangesRead } from '../engine/journal/changes-operation.ts';
import { type ChangesPage, DEFAULT_LIMIT, MOST_CHANGES } from '../engine/journal/reading.ts';
import { filterOf } from '../query/arguments.ts';
import { everything } from '../query/filter.ts';
import { readLimit } from '../query/list.ts';
import { journaled } from '../schema/journal.ts';
import { readKey } from '../schema/keys.ts';
import type { Model, Resource } from '../schema/model.ts';
import { CHANGES, CHANGES_POSITION, journalNames } from '../schema/names.ts';
import { scalars } from '../schema/scalars.ts';
import { tellingOf } from './change-sizes.ts';
import { denied } from './field-errors.ts';
import type { Arguments } from './fields.ts';
import { ID } from './id.ts';
import { taken } from './passing.ts';
import { type Planning, readingOf } from './queries.ts';
import type { RootPlanner } from './selections.ts';
import { type Fields, guarded, type Resolve, type TypesOf } from './types.ts';

export interface ChangesBinding {
  readonly operation: 'CHANGES' | 'CHANGES_POSITION';
  readonly resources: readonly Resource[];
  /** The type that all of them are of. */
  readonly of: Resource | undefined;
}

const Kind = new GraphQLEnumType({
  name: 'ChangeKind',
  description: 'What has happened to a record, as far as the caller sees it.',
  values: { CREATED: {}, UPDATED: {}, DELETED: {} },
});

export function changesFields(types: TypesOf, model: Model): [string, ChangesBinding, Fields[string]][] {
  const resources = journaled(model, 'graphql');
  if (resources.length === 0) return [];
  const json = types.leaf({ type: scalar('JSON') });
  const any = changeType(types, 'Change', 'A change of a record.', json);
  const all = { operation: 'CHANGES', resources, of: undefined } as const;
  return [
    [
      CHANGES,
      all,
      { type: listOf(any), args: pageArguments, description: 'Changes of records, in the order of commits.' },
    ],
    [
      CHANGES_POSITION,
      { ...all, operation: 'CHANGES_POSITION' },
      {
        type: new GraphQLNonNull(GraphQLString),
        description:
          'Where to go on from: beside changes, where all of them have come to; else now, and what comes after it is new.',
      },
    ],
    ...resources.map((resource): [string, ChangesBinding, Fields[string]] => [
      journalNames.query(resource),
      { operation: 'CHANGES', resources: [resource], of: resource },
      {
        type: listOf(changeOf(types, resource)),
        description: `Changes of ${resource.plural}, in the order of commits.`,
        args: {
          [resource.key.name]: {
            type: types.column(resource.key),
            description: `Of one ${resource.singular} alone.`,
          },
          where: {
            type: types.inputs.where(resource),
            description: 'What the record is like before or after, by its own fields.',
          },
          ...pageArguments,
        },
      },
    ]),
  ];
}

const after = { type: GraphQLString, description: 'Only those after this position.' };

/** The same as subscriptions: one change after the other, from now on where nothing is said. */
export function changesSubscriptions(fields: ReturnType<typeof changesFields>): typeof fields {
  return fields.flatMap(([name, binding, field]) => {
    if (binding.operation === 'CHANGES_POSITION') return [];
    const { first: _, ...args } = field.args ?? {};
    const type = new GraphQLNonNull(getNamedType(field.type));
    return [[name, binding, { ...field, type, args }] as (typeof fields)[number]];
  });
}

const pageArguments: GraphQLFieldConfigArgumentMap = {
  after,
  first: {
    type: GraphQLInt,
    description: `How many at the most, up to ${MOST_CHANGES}; ${DEFAULT_LIMIT} by default.`,
  },
};

/** Of one record, beside its fields. */
export function ownChanges(types: TypesOf, resource: Resource): Fields[string] {
  const description =
    'What has happened to it, in the order of commits; of these, those that the caller may see.';
  return { type: listOf(changeOf(types, resource)), args: pageArguments, description };
}

function listOf(type: GraphQLObjectType) {
  return new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(type)));
}

function changeOf(types: TypesOf, resource: Resource): GraphQLObjectType {
  return types.once(journalNames.change(resource), (name) => {
    const image = new GraphQLObjectType({
      name: journalNames.image(resource),
      description: `The own fields of ${resource.plural}, as one was.`,
      fields: () =>
        Object.fromEntries(
          resource.columns.map((column) => {
            const { description } = column;
            const type = types.column(column);
            return [column.name, guarded(resource, column, { type, description, resolve: own(column.name) })];
          }),
        ),
    });
    return changeType(types, name, `A change of ${resource.plural}.`, image);
  });
}

function changeType(
  types: TypesOf,
  name: string,
  description: string,
  image: GraphQLOutputType,
): GraphQLObjectType {
  const time = types.leaf({ type: scalar('DateTime') });
  const past = (field: string, type: GraphQLOutputType, text: string) => ({
    type,
    description: `${text} It needs the right to HISTORY.`,
    resolve: (...[change, , context, info]: Parameters<Resolve>) => {
      const value = (change as Record<string, unknown>)[field];
      if (value !== undefined) return value;
      return denied(context, info, `You may not read the past of this record, and so not ${field}.`);
    },
  });
  return new GraphQLObjectType({
    name,
    description,
    fields: {
      position: {
        type: new GraphQLNonNull(GraphQLString),
        description: 'Where the change stands; texts that sort. Go on after it: after.',
      },
      at: { type: new GraphQLNonNull(time) },
      kind: { type: new GraphQLNonNull(Kind) },
      resource: { type: new GraphQLNonNull(GraphQLString), description: 'The type of the record.' },
      key: { type: new GraphQLNonNull(ID) },
      version: {
        type: new GraphQLNonNull(GraphQLInt),
        description: 'Of the record after the change; of a deleted one, its last.',
      },
      transaction: {
        type: new GraphQLNonNull(GraphQLString),
        description: 'Changes that happened together have the same.',
      },
      caller: past('caller', GraphQLString, 'Who did it; null for the anonymous.'),
      requestId: past('requestId', GraphQLString, 'The X-Request-Id of the request.'),
      before: past('before', image, 'The record as it was before.'),
      after: { type: image, description: 'The record as it was after.' },
    },
  });
}

/** The executor's own resolver takes whatever has no node for a root field. */
function own(name: string): Resolve {
  return (record, _, context, info) => taken((record as Record<string, unknown>)[name], context, info);
}

function scalar(name: string) {
  const found = scalars.get(name);
  if (!found) throw new Error(`no scalar ${name}`);
  return found;
}

export function changesPlanner(
  { operation, resources, of }: ChangesBinding,
  fields: readonly FieldNode[],
  given: Planning,
): RootPlanner {
  const telling = tellingOf(of, fields, given);
  const isPosition = operation === 'CHANGES_POSITION';
  return (args, within) => {
    const report = (name: string, code: FaultCode, detail: string) =>
      within.faults.push({ pointer: pointer(...within.at, name), code, detail });
    const limit = readLimit({ name: 'first', value: args['first'] }, MOST_CHANGES, report);
    const read: ChangesRead = {
      do: 'changes',
      resources,
      record: of && recordIn(of, fields, args, report),
      where: of ? filterOf(of, 'where', args, { ...readingOf(within), sees: () => false }) : everything,
      after: args['after'] == null ? undefined : String(args['after']),
      at: { pointer: pointer(...within.at, 'after') },
      limit: isPosition ? 0 : (limit ?? DEFAULT_LIMIT),
      telling,
    };
    const complete = (answer: unknown) =>
      isPosition ? (answer as ChangesPage).position : (answer as ChangesPage).changes;
    return { operation: read, complete };
  };
}

/** A variable that was not sent names some record, and nobody knows which: that does not mean all of them. */
function recordIn(
  { key }: Resource,
  [node]: readonly FieldNode[],
  args: Arguments,
  report: (name: string, code: FaultCode, detail: string) => void,
): ChangesRead['record'] {
  if (!node?.arguments?.some(({ name }) => name.value === key.name)) return undefined;
  const text = args[key.name];
  if (typeof text === 'string') return { key: readKey(key, text) };
  report(key.name, 'REQUIRED', `${key.name} has no value; send it, or leave ${key.name} out of the document`);
  return { key: undefined };
}
