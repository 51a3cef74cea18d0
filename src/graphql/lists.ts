/** Connections and aggregates: the root fields that answer with more than records. */

import {
  GraphQLBoolean,
  type GraphQLFieldConfig,
  GraphQLFloat,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLString,
  getNullableType,
} from 'graphql';
import { relationKey } from '../engine/read/read.ts';
import { isExact } from '../query/aggregates.ts';
import { isSortable } from '../query/operators.ts';
import { groupable, timeParts } from '../query/parts.ts';
import type { Column, Inverse, Reference, Resource, Through } from '../schema/model.ts';
import { BY_ARGUMENT, besideList } from '../schema/names.ts';
import { creatable, isNumber, keptAs } from '../schema/values.ts';
import { type Fields, nonNull, type TypesOf, texts } from './types.ts';

type Field = GraphQLFieldConfig<unknown, unknown>;

const PageInfo = new GraphQLObjectType({
  name: 'PageInfo',
  fields: {
    hasNextPage: { type: new GraphQLNonNull(GraphQLBoolean) },
    hasPreviousPage: { type: new GraphQLNonNull(GraphQLBoolean) },
    startCursor: { type: GraphQLString },
    endCursor: { type: GraphQLString },
  },
});

/** Beside the list of a record: its pages with cursors, and numbers about it. */
export function beside(types: TypesOf, { name, target, required }: Inverse | Through): Fields {
  const paged = connection(types, target);
  const numbers = aggregate(types, target);
  return {
    [besideList.connection({ name })]: {
      ...paged,
      type: nonNull(getNullableType(paged.type), required),
      description: `Its ${name}, page by page, with cursors; of all records with one statement.`,
    },
    [besideList.aggregate({ name })]: {
      ...numbers,
      type: nonNull(getNullableType(numbers.type), required),
      description: `Counts, sums, averages, least and greatest values of its ${name}, for each group or for all.`,
    },
  };
}

export function connection(types: TypesOf, resource: Resource): Field {
  const type = types.once(`${resource.name}Connection`, (name) => {
    const edge = new GraphQLObjectType({
      name: `${resource.name}Edge`,
      fields: () => ({
        cursor: { type: new GraphQLNonNull(GraphQLString) },
        node: { type: new GraphQLNonNull(types.object(resource)) },
      }),
    });
    return new GraphQLObjectType({
      name,
      fields: {
        edges: { type: listOf(edge) },
        pageInfo: { type: new GraphQLNonNull(PageInfo) },
        totalCount: {
          type: new GraphQLNonNull(GraphQLInt),
          description: 'How many there are on all pages; counted only when it is asked for.',
        },
      },
    });
  });
  return {
    type: new GraphQLNonNull(type),
    description: `The ${resource.plural}, page by page, with cursors.`,
    args: {
      ...types.inputs.list(resource),
      last: { type: GraphQLInt, description: 'How many at the most, counted from the end.' },
      before: { type: GraphQLString, description: 'Only those before this cursor.' },
    },
  };
}

export function aggregate(types: TypesOf, resource: Resource): Field {
  return {
    type: listOf(types.once(`${resource.name}Aggregate`, (name) => aggregateType(types, resource, name))),
    description: `Counts, sums, averages, least and greatest values of ${resource.plural}, for each group or for all.`,
    args: types.inputs.aggregate(resource),
  };
}

function aggregateType(types: TypesOf, resource: Resource, name: string): GraphQLObjectType {
  const fieldsOf = (columns: readonly Column[], type: (column: Column) => GraphQLOutputType) =>
    Object.fromEntries(columns.map((column) => [column.name, { type: type(column) }]));
  const sortable = resource.columns.filter(isSortable);
  const numeric = resource.columns.filter(isNumber);
  const values = new GraphQLObjectType({
    name: `${resource.name}Values`,
    fields: () => fieldsOf(sortable, (column) => types.column(column)),
  });
  const references = resource.references.filter(({ target }) => target.graphql);
  const hasMore = timeParts(resource).length > 0 || references.length > 0;
  const groups = hasMore
    ? new GraphQLObjectType({
        name: `${resource.name}Groups`,
        fields: () => ({
          ...fieldsOf(groupable(resource), (column) => types.column(column)),
          ...Object.fromEntries(references.map((reference) => [reference.name, ofGroup(types, reference)])),
        }),
      })
    : values;
  // Sums and averages are of one type but where they are exact: the average of whole numbers is none.
  const numbers = (name: string, exact: (column: Column) => GraphQLOutputType) =>
    new GraphQLObjectType({
      name: `${resource.name}${name}`,
      fields: fieldsOf(numeric, (column) => (isExact(column) ? exact(column) : GraphQLFloat)),
    });
  const counts = new GraphQLObjectType({
    name: `${resource.name}Counts`,
    fields: fieldsOf(sortable, () => new GraphQLNonNull(GraphQLInt)),
  });
  const hasWhole = numeric.some((column) => keptAs(column) === 'bigint');
  const sums = numbers('Numbers', (column) => types.column(column));
  const averages = hasWhole ? numbers('Averages', () => types.decimal) : sums;
  return new GraphQLObjectType({
    name,
    fields: {
      by: { type: new GraphQLNonNull(groups), description: 'What the records of this group have in common.' },
      count: { type: new GraphQLNonNull(GraphQLInt) },
      countDistinct: {
        type: new GraphQLNonNull(counts),
        description: 'How many different values there are; null is none.',
      },
      ...(numeric.length > 0 && {
        sum: { type: new GraphQLNonNull(sums) },
        avg: { type: new GraphQLNonNull(averages) },
      }),
      min: { type: new GraphQLNonNull(values) },
      max: { type: new GraphQLNonNull(values) },
    },
  });
}

/** The record that all of a group refer to; null where that is not what they have in common. */
function ofGroup(types: TypesOf, reference: Reference): Field {
  return {
    ...texts(reference),
    type: types.object(reference.target),
    resolve: (group) => (group as Readonly<Record<string, unknown>>)[relationKey(reference.name)],
  };
}

/** The mutations on many records; each offered where its single one is. */
export function bulk(
  types: TypesOf,
  resource: Resource,
  operation: 'CREATE' | 'UPDATE' | 'DELETE',
): Field | undefined {
  const type = listOf(types.object(resource));
  const where = { type: new GraphQLNonNull(types.inputs.where(resource)), description: 'Which records.' };
  const atMost = {
    type: new GraphQLNonNull(GraphQLInt),
    description: 'The most records that are meant; when more match, it is an error and nothing happens.',
  };
  const atLeast = {
    type: GraphQLInt,
    description: 'The fewest records that are meant; when fewer match, it is an error and nothing happens.',
  };
  if (operation === 'CREATE') {
    if (creatable(resource).length === 0) return undefined;
    const records = new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(types.inputs.record(resource))));
    return {
      type,
      args: { records: { type: records } },
      description: `Creates ${resource.plural}, all of them or none.`,
    };
  }
  if (operation === 'DELETE')
    return {
      type,
      args: { where, atMost, atLeast },
      description: `Deletes ${resource.plural}, and returns them as they were.`,
    };
  const changes = types.inputs.changes(resource);
  if (!changes) return undefined;
  const set = { type: new GraphQLNonNull(changes), description: 'What each of them is given.' };
  return {
    type,
    args: { where, set, atMost, atLeast },
    description: `Changes the same fields of many ${resource.plural}.`,
  };
}

/** What changes records that are there and creates those that are not; the latter alone needs every required field. */
export function upserts(types: TypesOf, resource: Resource): { readonly one: Field; readonly many: Field } {
  const { singular, plural } = resource;
  const by = {
    [BY_ARGUMENT]: {
      type: new GraphQLNonNull(types.inputs.by(resource)),
      description: `By what the ${singular} is looked up.`,
    },
  };
  const record = types.inputs.upsert(resource);
  const { fields } = record.toConfig();
  const args = Object.fromEntries(
    Object.entries(fields).map(([name, { type, description }]) => [name, { type, description }]),
  );
  return {
    one: {
      type: new GraphQLNonNull(types.object(resource)),
      args: { ...by, ...args },
      description: `Changes the given fields of the ${singular} that has these values, or creates it.`,
    },
    many: {
      type: listOf(types.object(resource)),
      args: {
        ...by,
        records: { type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(record))) },
      },
      description: `The same for many ${plural}, all of them or none.`,
    },
  };
}

function listOf(type: GraphQLObjectType) {
  return new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(type)));
}
