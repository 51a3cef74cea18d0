/** The arguments of lists: filters, orders and groups, as GraphQL input types that follow from the Model. */

import {
  GraphQLBoolean,
  GraphQLEnumType,
  type GraphQLFieldConfigArgumentMap,
  GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  type GraphQLScalarType,
  GraphQLString,
} from 'graphql';
import type { AggregateFunction } from '../query/aggregates.ts';
import { isSortable, operators, operatorsOf } from '../query/operators.ts';
import { groupable } from '../query/parts.ts';
import { groupsOf, type Results } from '../query/results.ts';
import { isSearchable, MOST_WORDS, RELEVANCE, SEARCH } from '../query/search.ts';
import type { Column, Reference, Resource } from '../schema/model.ts';
import { filterTypeName, INCREMENTS, linksTypeName, nestedTypeName } from '../schema/names.ts';
import { nestable } from '../schema/nested.ts';
import { ADD, linkFields, linkNames, REMOVE, writtenThrough } from '../schema/through.ts';
import { upsertKeys } from '../schema/upserts.ts';
import { creatable, graphqlTypeName, incrementable, neededOnCreate, updatable } from '../schema/values.ts';

export const SortOrder = new GraphQLEnumType({
  name: 'SortOrder',
  values: {
    ASC: { value: 'ASC', description: 'Lowest first; null is the lowest.' },
    DESC: { value: 'DESC', description: 'Highest first; null comes last.' },
  },
});

/** What the types are called that a function has its fields in. */
const ofFunction: Readonly<Record<AggregateFunction, string>> = {
  count: 'Counts',
  countDistinct: 'Counts',
  sum: 'Numbers',
  avg: 'Averages',
  min: 'Values',
  max: 'Values',
};

/** What lists of an input type have: records to write, conditions and orders, or objects that an action is given. */
export type Listed = 'records' | 'conditions' | 'arguments';

export function listedIn({ extensions }: GraphQLInputObjectType): Listed | undefined {
  return extensions['listed'] as Listed | undefined;
}

type InputFields = Record<string, { type: GraphQLInputType; description?: string | undefined }>;

function whyNotAll({ refused }: Results): string | undefined {
  return refused.size > 0 ? `${[...refused.values()].join('. ')}.` : undefined;
}

export class Inputs {
  readonly #leaf: (column: Column) => GraphQLScalarType | GraphQLEnumType;
  readonly #made = new Map<string, GraphQLInputObjectType | GraphQLEnumType>();

  constructor(leaf: (column: Column) => GraphQLScalarType | GraphQLEnumType) {
    this.#leaf = leaf;
  }

  /** What every list of a resource takes. */
  list(resource: Resource): GraphQLFieldConfigArgumentMap {
    return {
      where: { type: this.where(resource), description: 'Which records.' },
      ...this.search(resource),
      orderBy: {
        type: new GraphQLList(new GraphQLNonNull(this.#order(resource))),
        description: `In which order; ${resource.key.name} decides between equals.`,
      },
      first: { type: GraphQLInt, description: 'How many at the most.' },
      after: { type: GraphQLString, description: 'Only those after this cursor.' },
      offset: {
        type: GraphQLInt,
        description: 'How many to leave out at the beginning; each is counted off. Goes without cursors.',
      },
    };
  }

  /** Nothing where the resource is not searched. */
  search(resource: Resource): GraphQLFieldConfigArgumentMap {
    if (!isSearchable(resource)) return {};
    const fields = resource.searched.map(({ name }) => name).join(', ');
    const description = `Words to look for in ${fields}: all of them must be there, the last may be the beginning of one. Letter case and accents do not count. ${MOST_WORDS} words at most.`;
    return { [SEARCH]: { type: GraphQLString, description } };
  }

  where(resource: Resource): GraphQLInputObjectType {
    return this.#input(`${resource.name}Where`, () => {
      const self = this.where(resource);
      const many = { type: new GraphQLList(new GraphQLNonNull(self)) };
      const fields: InputFields = { and: many, or: many, not: { type: self } };
      for (const field of resource.fields) {
        if (field.kind === 'column') fields[field.name] = { type: this.#filter(field) };
        else if (field.target.graphql)
          fields[field.name] = {
            type: field.kind === 'reference' ? this.where(field.target) : this.#some(field.target),
          };
      }
      return fields;
    });
  }

  /** New records of a list, in the create of the record that they will point to. */
  nested(resource: Resource): InputFields {
    return Object.fromEntries(
      nestable(resource, 'graphql').map(({ name, target, reference }) => {
        const type = new GraphQLList(new GraphQLNonNull(this.record(target, reference)));
        return [name, { type, description: `New ${target.plural} that point to it.` }];
      }),
    );
  }

  /** What an update of many can set. */
  changes(resource: Resource): GraphQLInputObjectType | undefined {
    const columns = updatable(resource);
    if (columns.length === 0 && linkFields(resource).length === 0) return undefined;
    return this.#input(`${resource.name}Changes`, () => ({
      ...Object.fromEntries(
        columns.map((column) => [
          column.name,
          { type: this.#value(column), description: column.description },
        ]),
      ),
      ...this.links(resource),
      ...this.increments(resource),
    }));
  }

  /** Which records lists through join types lead to. */
  links(resource: Resource): InputFields {
    const fields: InputFields = {};
    for (const through of writtenThrough(resource)) {
      const { name, target } = through;
      const { ids, changes } = linkNames(through);
      const keys = { type: new GraphQLList(new GraphQLNonNull(this.#leaf(target.key))) };
      const type = this.#input(linksTypeName(graphqlTypeName(target.key)), () => ({
        [ADD]: { ...keys, description: 'What is to be in the list.' },
        [REMOVE]: { ...keys, description: 'What is not to be in it.' },
      }));
      fields[ids] = { ...keys, description: `The keys of all that \`${name}\` is to have.` };
      fields[changes] = { type, description: `What changes of \`${name}\`; the rest of it stays.` };
    }
    return fields;
  }

  /** What an update can add to numbers; nothing where there are none. */
  increments(resource: Resource): InputFields {
    const columns = incrementable(resource);
    if (columns.length === 0) return {};
    const type = this.#input(`${resource.name}Increments`, () =>
      Object.fromEntries(columns.map((column) => [column.name, { type: this.#leaf(column) }])),
    );
    const description = 'Added to the numbers that are stored, without reading them first.';
    return { [INCREMENTS]: { type, description } };
  }

  #value(column: Column) {
    const leaf = this.#leaf(column);
    return column.list ? new GraphQLList(new GraphQLNonNull(leaf)) : leaf;
  }

  /** A new record; `outer` is the reference that is set by what it is nested in. */
  record(resource: Resource, outer?: Reference): GraphQLInputObjectType {
    const plain = `${resource.name}Input`;
    const fields = () => {
      const columns = creatable(resource).filter((column) => column !== outer?.column);
      const fields = { ...this.#columns(columns), ...this.links(resource), ...this.nested(resource) };
      // GraphQL has no input without fields: then there is the one that is set already.
      if (!outer || Object.keys(fields).length > 0) return fields;
      const description = 'Set by the record that this one is nested in: leave it out.';
      return { [outer.column.name]: { type: this.#value(outer.column), description } };
    };
    return this.#input(outer ? nestedTypeName(plain, outer.name) : plain, fields, 'records');
  }

  #columns(columns: readonly Column[]): InputFields {
    return Object.fromEntries(
      columns.map((column) => {
        const type = this.#value(column);
        const required = neededOnCreate(column) ? new GraphQLNonNull(type) : type;
        return [column.name, { type: required, description: column.description }];
      }),
    );
  }

  /** By what a record can be looked up that is to be changed or created. */
  by(resource: Resource): GraphQLEnumType {
    return this.#once(`${resource.name}By`, (name) => {
      const values = [...upsertKeys(resource).keys()].map((each) => [each, { value: each }]);
      return new GraphQLEnumType({ name, values: Object.fromEntries(values) });
    });
  }

  /** What such a record is given. */
  upsert(resource: Resource): GraphQLInputObjectType {
    const fields = () => ({
      ...Object.fromEntries(
        creatable(resource).map((column) => [
          column.name,
          { type: this.#value(column), description: column.description },
        ]),
      ),
      ...this.links(resource),
    });
    return this.#input(`${resource.name}Upsert`, fields, 'records');
  }

  /** What an aggregate takes. */
  aggregate(resource: Resource): GraphQLFieldConfigArgumentMap {
    return {
      where: { type: this.where(resource), description: 'Which records.' },
      ...this.search(resource),
      groupBy: {
        type: new GraphQLList(new GraphQLNonNull(this.group(resource))),
        description: 'One object for all records that are alike in these; without it, one for all.',
      },
      having: { type: this.#having(resource), description: 'Which groups, by what is computed of them.' },
      orderBy: {
        type: new GraphQLList(new GraphQLNonNull(this.#groupOrder(resource))),
        description: 'In which order; what the groups have in common decides between equals.',
      },
      first: { type: GraphQLInt, description: 'How many groups at the most.' },
      offset: { type: GraphQLInt, description: 'How many groups to leave out at the beginning.' },
    };
  }

  #having(resource: Resource): GraphQLInputObjectType {
    return this.#input(`${resource.name}Having`, () => {
      const self = this.#having(resource);
      const many = { type: new GraphQLList(new GraphQLNonNull(self)) };
      const fields: InputFields = { and: many, or: many, not: { type: self } };
      for (const field of groupsOf(resource).fieldByName.values()) {
        if (field.kind === 'column') fields[field.name] = { type: this.#filter(field) };
        else if (field.fields.length > 0)
          fields[field.name] = {
            type: this.#input(`${resource.name}${ofFunction[field.name]}Having`, () =>
              Object.fromEntries(
                [...field.fieldByName].map(([name, each]) => [name, { type: this.#filter(each) }]),
              ),
            ),
            description: whyNotAll(field),
          };
      }
      return fields;
    });
  }

  #groupOrder(resource: Resource): GraphQLInputObjectType {
    const orders = (of: string, names: readonly string[]) =>
      this.#oneOf(`${resource.name}${of}Order`, () =>
        Object.fromEntries(names.map((name) => [name, { type: SortOrder }])),
      );
    return this.#oneOf(`${resource.name}AggregateOrder`, () => {
      const common = groupable(resource).map(({ name }) => name);
      const fields: InputFields = { by: { type: orders('Groups', common) } };
      for (const field of groupsOf(resource).fieldByName.values()) {
        if (field.kind === 'column') fields[field.name] = { type: SortOrder };
        else if (field.fields.length > 0)
          fields[field.name] = {
            type: orders(ofFunction[field.name], [...field.fieldByName.keys()]),
            description: whyNotAll(field),
          };
      }
      return fields;
    });
  }

  /** The fields that records can be grouped by. */
  group(resource: Resource): GraphQLEnumType {
    return this.#once(`${resource.name}Group`, (name) => {
      const groups = groupable(resource).map((column) => [column.name, { value: column.name }]);
      return new GraphQLEnumType({ name, values: Object.fromEntries(groups) });
    });
  }

  #some(target: Resource): GraphQLInputObjectType {
    return this.#input(`${target.name}ListWhere`, () => ({
      some: { type: this.where(target), description: 'At least one matches.' },
      none: { type: this.where(target), description: 'Not one matches.' },
    }));
  }

  #order(resource: Resource): GraphQLInputObjectType {
    return this.#oneOf(`${resource.name}Order`, () => {
      const all: InputFields = {};
      for (const field of resource.fields)
        if (field.kind === 'column' && isSortable(field)) all[field.name] = { type: SortOrder };
        else if (field.kind === 'reference' && field.target.graphql)
          all[field.name] = {
            type: this.#order(field.target),
            description: `By a field of its ${field.name}, or as if that field were null where there is none.`,
          };
      if (isSearchable(resource))
        all[RELEVANCE] = {
          type: SortOrder,
          description: `Goes with ${SEARCH}; DESC has the most relevant first.`,
        };
      return all;
    });
  }

  #filter(column: Column): GraphQLInputObjectType {
    const allowed = operatorsOf(column);
    return this.#input(filterTypeName(graphqlTypeName(column), allowed), () => {
      const leaf = this.#leaf(column);
      const fields: InputFields = {};
      for (const name of allowed) {
        const { operand, doc } = operators[name];
        const type =
          operand === 'flag'
            ? GraphQLBoolean
            : operand === 'list'
              ? new GraphQLList(new GraphQLNonNull(leaf))
              : leaf;
        fields[name] = { type, description: `${doc[0]?.toUpperCase()}${doc.slice(1)}.` };
      }
      return fields;
    });
  }

  /** One field at a time: an object with two would not say which comes first. */
  #oneOf(name: string, fields: () => InputFields): GraphQLInputObjectType {
    const extensions = { listed: 'conditions' satisfies Listed };
    return this.#once(name, () => new GraphQLInputObjectType({ name, isOneOf: true, fields, extensions }));
  }

  #input(name: string, fields: () => InputFields, listed: Listed = 'conditions'): GraphQLInputObjectType {
    return this.#once(name, () => new GraphQLInputObjectType({ name, fields, extensions: { listed } }));
  }

  #once<T extends GraphQLInputObjectType | GraphQLEnumType>(name: string, make: (name: string) => T): T {
    const known = this.#made.get(name);
    if (known) return known as T;
    const made = make(name);
    this.#made.set(name, made);
    return made;
  }
}
