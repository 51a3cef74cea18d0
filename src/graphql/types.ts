/** Resources, enums and scalars of the Model → GraphQL types. */

import {
  GraphQLBoolean,
  GraphQLEnumType,
  type GraphQLFieldConfig,
  type GraphQLFieldConfigArgumentMap,
  GraphQLFloat,
  GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  type GraphQLNullableType,
  GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLScalarType,
  GraphQLString,
  isNonNullType,
} from 'graphql';
import { relationKey } from '../engine/read/read.ts';
import type {
  Column,
  Described,
  Field,
  Inverse,
  Model,
  Resource,
  Shape,
  Slot,
  Through,
} from '../schema/model.ts';
import { OWN_CHANGES } from '../schema/names.ts';
import { type Scalar, scalars } from '../schema/scalars.ts';
import { canBeHidden, defaultOf, isScalar } from '../schema/values.ts';
import { denied, lacking, REFERS } from './field-errors.ts';
import { relationAt } from './fields.ts';
import { ID } from './id.ts';
import { Inputs, type Listed } from './inputs.ts';
import { nodeField, nodeInterface, nodesIn } from './node.ts';
import { taken } from './passing.ts';

export type Fields = Record<string, GraphQLFieldConfig<unknown, unknown>>;
export type Resolve = NonNullable<Fields[string]['resolve']>;

/** The GraphQL types of a model, each made once. */
export class TypesOf {
  readonly inputs = new Inputs((column) => this.leaf(column));
  readonly #objects = new Map<Resource, GraphQLObjectType>();
  readonly #plains = new Map<string, GraphQLObjectType>();
  readonly #takenTypes = new Map<string, GraphQLInputObjectType>();
  readonly #leaves = new Map<string, GraphQLScalarType | GraphQLEnumType>(
    [ID, GraphQLString, GraphQLInt, GraphQLFloat, GraphQLBoolean].map((type) => [type.name, type]),
  );

  readonly #made = new Map<string, GraphQLObjectType>();
  /** `node(id:)`; undefined where no type can be asked for so. */
  readonly node: Fields[string] | undefined;
  readonly #beside: (types: TypesOf, list: Inverse | Through) => Fields;
  readonly #changes: (types: TypesOf, resource: Resource) => Fields[string];

  /** `beside` says what a type has beside each of its lists, and `changes` how it shows those of its records. */
  constructor(
    model: Model,
    beside: (types: TypesOf, list: Inverse | Through) => Fields,
    changes: (types: TypesOf, resource: Resource) => Fields[string],
  ) {
    this.#beside = beside;
    this.#changes = changes;
    for (const scalar of scalars.values())
      if (!this.#leaves.has(scalar.graphql)) this.#leaves.set(scalar.graphql, customScalar(scalar));
    for (const type of model.enums) {
      const values = type.values.map((value) => [value.name, { value: value.name, ...texts(value) }]);
      const config = { name: type.name, description: type.description, values: Object.fromEntries(values) };
      this.#leaves.set(type.name, new StoredEnum(config));
    }
    const nodes = nodesIn(model);
    const id = this.#leaves.get('UUID') as GraphQLScalarType;
    const node = nodes.length > 0 ? nodeInterface(id) : undefined;
    this.node = node && nodeField(node, id);
    for (const resource of model.resources)
      if (resource.graphql)
        this.#objects.set(
          resource,
          new GraphQLObjectType({
            name: resource.name,
            description: resource.description,
            interfaces: node && nodes.includes(resource) ? [node] : [],
            fields: () => this.#fields(resource),
          }),
        );
  }

  all(): GraphQLObjectType[] {
    return [...this.#objects.values()];
  }

  object(resource: Resource): GraphQLObjectType {
    const type = this.#objects.get(resource);
    if (!type) throw new Error(`${resource.name} is not served through GraphQL`);
    return type;
  }

  /** A type that several fields have. */
  once(name: string, make: (name: string) => GraphQLObjectType): GraphQLObjectType {
    const known = this.#made.get(name);
    if (known) return known;
    const made = make(name);
    this.#made.set(name, made);
    return made;
  }

  /** The type of a column's values, without its `!`. */
  column(column: Column) {
    const leaf = this.leaf(column);
    return column.list ? new GraphQLList(new GraphQLNonNull(leaf)) : leaf;
  }

  /** The type of one value, also of a list. */
  leaf({ type }: Pick<Column, 'type'>): GraphQLScalarType | GraphQLEnumType {
    const leaf = this.#leaves.get(isScalar(type) ? type.graphql : type.name);
    if (!leaf) throw new Error(`no GraphQL type for ${type.name}`);
    return leaf;
  }

  /** What an action answers with, or a field of it. */
  answer(slot: Slot): GraphQLOutputType {
    if (slot.is === 'value') return nonNull(this.column(slot.column), slot.required);
    const type = slot.is === 'record' ? this.object(slot.resource) : this.#plain(slot.shape);
    return nonNull(slot.list ? new GraphQLList(new GraphQLNonNull(type)) : type, slot.required);
  }

  /** What an action takes. */
  taken(slots: readonly Slot[]): GraphQLFieldConfigArgumentMap {
    return Object.fromEntries(
      slots.map((slot) => {
        const value = slot.is === 'value' ? defaultOf(slot.column) : undefined;
        const given = value === undefined ? {} : { default: { value } };
        // GraphQL forbids deprecating what must be given.
        const isNeeded = slot.required && value === undefined;
        const { description, deprecationReason } = texts(slot);
        const type = this.#given(slot);
        return [slot.name, { type, description, ...given, ...(!isNeeded && { deprecationReason }) }];
      }),
    );
  }

  #given(slot: Slot): GraphQLInputType {
    if (slot.is === 'value') return nonNull(this.column(slot.column), slot.required);
    if (slot.is === 'record') throw new Error(`${slot.name} cannot take a record`);
    const type = this.#input(slot.shape);
    return nonNull(slot.list ? new GraphQLList(new GraphQLNonNull(type)) : type, slot.required);
  }

  #plain({ name, description, fields }: Shape): GraphQLObjectType {
    const known = this.#plains.get(name);
    if (known) return known;
    const made = new GraphQLObjectType({
      name,
      description,
      fields: () =>
        Object.fromEntries(
          fields.map((slot) => [
            slot.name,
            // The executor's own resolver takes whatever has no node for a root field.
            { ...texts(slot), type: this.answer(slot), resolve: (of) => of[slot.name] },
          ]),
        ),
    });
    this.#plains.set(name, made);
    return made;
  }

  #input({ name, description, fields }: Shape): GraphQLInputObjectType {
    const known = this.#takenTypes.get(name);
    if (known) return known;
    const extensions = { listed: 'arguments' satisfies Listed };
    const made = new GraphQLInputObjectType({
      name,
      description,
      fields: () => this.taken(fields),
      extensions,
    });
    this.#takenTypes.set(name, made);
    return made;
  }

  /** Of an average of exact numbers. */
  get decimal(): GraphQLScalarType | GraphQLEnumType {
    return this.#leaves.get('Decimal') as GraphQLScalarType;
  }

  #fields(resource: Resource): Fields {
    const fields: Fields = {};
    for (const field of resource.fields) {
      if (field.kind !== 'column' && !field.target.graphql) continue;
      fields[field.name] = guarded(resource, field, this.#field(field));
      const isList = field.kind === 'inverse' || field.kind === 'through';
      const beside = isList ? this.#beside(this, field) : {};
      for (const [name, config] of Object.entries(beside))
        fields[name] = guarded(resource, field, { ...config, resolve: related(name) });
    }
    for (const { column } of resource.computed)
      fields[column.name] = guarded(resource, column, this.#field(column));
    fields[resource.version.name] = this.#field(resource.version);
    if (resource.journal)
      fields[OWN_CHANGES] = { ...this.#changes(this, resource), resolve: related(OWN_CHANGES) };
    return fields;
  }

  #field(field: Field): Fields[string] {
    if (field.kind === 'column')
      return {
        ...texts(field),
        type: nonNull(this.column(field), field.required),
        ...(field.reference && { extensions: REFERS }),
      };
    const target = this.object(field.target);
    const type =
      field.kind === 'reference'
        ? nonNull(target, field.required)
        : nonNull(new GraphQLList(new GraphQLNonNull(target)), field.required);
    return {
      ...texts(field),
      type,
      args: field.kind === 'reference' ? {} : this.inputs.list(field.target),
      ...(field.kind === 'reference' && { extensions: REFERS }),
      resolve: related(field.name),
    };
  }
}

/** What the engine has added to a record under the name of a field, with its arguments. */
function related(name: string): Resolve {
  return (node, _, context, info) => {
    const value = (node as Record<string, unknown>)[relationKey(relationAt(name, info))];
    return value === null && isNonNullType(info.returnType) ? lacking(context, info) : value;
  };
}

/** What the engine leaves out of a record is what the caller may not read. */
export function guarded(resource: Resource, field: Field, config: Fields[string]): Fields[string] {
  if (!canBeHidden(field)) return config;
  const {
    resolve = (node, _, context, info) => taken((node as Record<string, unknown>)[field.name], context, info),
  } = config;
  return {
    ...config,
    resolve: (...of) => {
      const value = resolve(...of);
      return value !== undefined
        ? value
        : denied(of[2], of[3], `You may not read ${resource.name}.${field.name}.`);
    },
  };
}

export function nonNull<T extends GraphQLNullableType>(type: T, required: boolean): T | GraphQLNonNull<T> {
  return required ? new GraphQLNonNull(type) : type;
}

export function texts({ description, deprecated }: Described) {
  return { description, deprecationReason: deprecated };
}

/** What nodes of another file have stored is answered as it is, as in REST: an error for each would keep whole lists from being read. */
class StoredEnum extends GraphQLEnumType {
  override coerceOutputValue(value: unknown): string {
    return value as string;
  }
}

/** Values pass unchecked: the engine holds them against the same rules as those of REST, with the same errors. */
function customScalar({ graphql: name, description, specifiedBy }: Scalar): GraphQLScalarType {
  return new GraphQLScalarType({ name, description, specifiedByURL: specifiedBy });
}
