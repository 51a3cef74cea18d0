/** Records and bodies as JSON Schema, beside what can be asked of them: the components of the API description. */

import { MOST_VALUES } from '../../query/operators.ts';
import { shapesOf } from '../../schema/actions.ts';
import type { Column, Field, Model, Reference, Resource } from '../../schema/model.ts';
import { INCREMENTS, nestedTypeName, withArticle } from '../../schema/names.ts';
import { nestable, nestedIn } from '../../schema/nested.ts';
import type { JsonSchema } from '../../schema/scalars.ts';
import { ADD, linkNames, REMOVE, writtenThrough } from '../../schema/through.ts';
import {
  canBeHidden,
  creatable,
  defaultOf,
  graphqlTypeName,
  incrementable,
  isScalar,
  neededOnCreate,
  updatable,
} from '../../schema/values.ts';
import { visible } from '../shape.ts';
import { aggregateSchema, comparison, filterSchema, havingSchema, whereSchema } from './filters.ts';
import {
  columnSchema,
  documented,
  enumSchema,
  filterName,
  keyBounds,
  list,
  NOT_EMPTY,
  object,
  orNull,
  readOnly,
  reference,
  scalarSchemas,
  typeSchema,
} from './json-schema.ts';

/** What can be there, or must not. */
type Property = [string, JsonSchema | false];
type Part = 'Fields' | 'Create' | 'Update' | 'Where';

export class Schemas {
  /** Whether records are described as they are without `fields` and `include`, for code that is generated. */
  readonly isPlain: boolean;
  readonly #model: Model;
  readonly #taken: ReadonlySet<string>;
  /** What columns of several types admit. */
  readonly #common = new Map<string, JsonSchema>();

  constructor(model: Model, isPlain: boolean) {
    this.#model = model;
    this.isPlain = isPlain;
    const { resources, enums, actions } = model;
    this.#taken = new Set([...resources, ...enums, ...shapesOf(actions)].map(({ name }) => name));
  }

  /** One at a time: there may be thousands. */
  *all(): Generator<[string, JsonSchema]> {
    const served = this.#model.resources.filter(({ rest }) => rest);
    for (const resource of served) yield* this.#ofResource(resource);
    for (const each of this.#model.enums) yield [each.name, enumSchema(each)];
    const filters = new Map(served.flatMap(({ columns }) => columns.map((each) => [filterName(each), each])));
    for (const [name, column] of filters) yield [this.name(name), filterSchema(column)];
    yield* scalarSchemas;
    yield [this.name('Aggregate'), aggregateSchema()];
    yield [this.name('Having'), havingSchema((wanted) => this.ref(wanted))];
    yield [this.name('Comparison'), comparison];
    const [version] = served.map((resource) => resource.version);
    if (version)
      yield [
        this.name('Version'),
        { ...columnSchema(version), ...documented(version), readOnly: true, examples: [1] },
      ];
    yield* this.#common;
  }

  /** What a column admits: without a constraint of its own, the same as all others of its type. */
  column(column: Column): JsonSchema {
    const schema = columnSchema(column);
    const { type, required, constraint } = column;
    if (column.list || constraint !== undefined || !('$ref' in typeSchema(column))) return schema;
    const scale = isScalar(type) && type.is === 'exact' && type.scale > 0 ? type.scale : '';
    const wanted = `${graphqlTypeName(column)}${scale}${required ? '' : 'OrNull'}`;
    if (wanted === graphqlTypeName(column)) return schema;
    this.#common.set(this.name(wanted), schema);
    return this.ref(wanted);
  }

  #columnsOf({ columns }: Resource): Property[] {
    return columns.map((column) => [
      column.name,
      { ...this.column(column), ...answered(column), ...readOnly(column) },
    ]);
  }

  #computedOf({ computed }: Resource): Property[] {
    return computed.map(({ column }) => [
      column.name,
      { ...this.column(column), ...answered(column), readOnly: true },
    ]);
  }

  /** A type of the file keeps its name; what is derived makes way. */
  name(wanted: string): string {
    return this.#taken.has(wanted) ? this.name(`${wanted}_`) : wanted;
  }

  ref(wanted: string): JsonSchema {
    return reference(this.name(wanted));
  }

  part(resource: Resource, part: Part): JsonSchema {
    return this.ref(resource.name + part);
  }

  #ofResource(resource: Resource): [string, JsonSchema][] {
    const part = (name: Part, schema: JsonSchema): [string, JsonSchema] => [
      this.name(resource.name + name),
      schema,
    ];
    const own = () =>
      part('Fields', { type: 'object', properties: Object.fromEntries(this.#columnsOf(resource)) });
    return [
      [resource.name, this.#record(resource)],
      ...(this.isPlain ? [] : [own()]),
      part('Create', this.#create(resource)),
      ...nestedIn(resource, 'rest').map((reference): [string, JsonSchema] => [
        this.name(nestedName(reference)),
        this.#create(resource, reference.column),
      ]),
      part('Update', this.#update(resource)),
      part(
        'Where',
        whereSchema(resource, (wanted) => this.ref(wanted)),
      ),
    ];
  }

  /** An object with the columns of a resource and more: what columns admit is described once for records and bodies. */
  #withColumns(resource: Resource, more: readonly Property[], bounds: JsonSchema = {}): JsonSchema {
    const properties = Object.fromEntries(more);
    const allOf = [this.part(resource, 'Fields')];
    return { allOf, ...(more.length > 0 && { properties }), ...bounds, unevaluatedProperties: false };
  }

  /** `known`: the reference that is set by what the record is nested in. */
  #create(resource: Resource, known?: Column): JsonSchema {
    const columns = creatable(resource).filter((column) => column !== known);
    const properties = this.isPlain
      ? columns.map((column): Property => {
          const key = column === resource.key ? keyBounds(column) : {};
          return [column.name, { ...this.column(column), ...key, ...withDefault(column) }];
        })
      : resource.columns.flatMap((column): Property[] => {
          if (!columns.includes(column)) return [[column.name, false]];
          if (column === resource.key) return [[column.name, keyBounds(column)]];
          const value = defaultOf(column);
          return value === undefined ? [] : [[column.name, { default: value }]];
        });
    for (const { name, reference } of nestable(resource, 'rest')) {
      properties.push([name, { type: ['array', 'null'], items: this.#nested(reference) }]);
    }
    properties.push(...linksOf(resource));
    const required = columns.filter(neededOnCreate).map(({ name }) => name);
    if (!this.isPlain) return this.#withColumns(resource, properties, { required });
    return { description: `A new ${resource.singular}.`, ...object(properties, { required }) };
  }

  /** A new record without the reference to what it is nested in; where that may be left out anyway, it must be. */
  #nested(reference: Reference): JsonSchema {
    const { owner, column } = reference;
    if (this.isPlain || neededOnCreate(column)) return this.ref(nestedName(reference));
    return { ...this.part(owner, 'Create'), properties: { [column.name]: false } };
  }

  #record(resource: Resource): JsonSchema {
    const computed = this.#computedOf(resource);
    if (!this.isPlain) {
      const tag: Property = [resource.version.name, this.ref('Version')];
      return {
        ...documented(resource),
        ...this.#withColumns(resource, [...this.#relatedTo(resource), ...computed, tag]),
      };
    }
    const made = resource.computed.map(({ column }) => column);
    const shown = [...resource.columns, ...made].filter((column) => !canBeHidden(column));
    const required = shown.map(({ name }) => name);
    return { ...documented(resource), ...object([...this.#columnsOf(resource), ...computed], { required }) };
  }

  #relatedTo({ fields }: Resource): Property[] {
    return fields.filter(visible).flatMap((field): Property[] => {
      if (field.kind === 'column') return [];
      const one = reference(field.target.name);
      const nullable = field.kind === 'reference' && !field.required;
      const related = field.kind === 'reference' ? (nullable ? orNull(one) : one) : list(one);
      return [[field.name, { ...related, ...answered(field) }]];
    });
  }

  #update(resource: Resource): JsonSchema {
    const properties: Property[] = [...linksOf(resource)];
    const countable = incrementable(resource);
    if (countable.length > 0) {
      const amounts = countable.map((column): Property => [column.name, typeSchema(column)]);
      const description = 'Added to what is stored.';
      properties.push([INCREMENTS, { description, ...object(amounts, NOT_EMPTY) }]);
    }
    const changeable = updatable(resource);
    if (!this.isPlain) {
      // What was read can be sent: what is `readOnly`, as it is stored; so too what only a create can choose.
      const chosen = resource.columns.filter(
        (column) => !changeable.includes(column) && !('readOnly' in readOnly(column)),
      );
      properties.push(...chosen.map(({ name }): Property => [name, { readOnly: true }]));
      return this.#withColumns(resource, properties, NOT_EMPTY);
    }
    const changed = changeable.map(
      (column): Property => [column.name, { ...this.column(column), ...documented(column) }],
    );
    const description = `Changes of ${withArticle(resource.singular)}; the rest of it stays.`;
    return { description, ...object([...changed, ...properties], NOT_EMPTY) };
  }
}

/** Generators take a field with a `default` for one that is always there, also in a body. */
function withDefault(column: Column): JsonSchema {
  const value = defaultOf(column);
  const { description, ...told } = documented(column);
  const text = [description, value === undefined ? undefined : `Default: \`${JSON.stringify(value)}\`.`]
    .filter((each) => each !== undefined)
    .join('\n\n');
  return { ...told, ...(text !== '' && { description: text }) };
}

/** What there is to say of a field in an answer. */
function answered(field: Field, ...more: readonly string[]): JsonSchema {
  const { description, ...rest } = documented(field);
  const hidden = canBeHidden(field) ? ['Absent for callers who may not read it.'] : [];
  const text = [description, ...more, ...hidden].filter((each) => each !== undefined).join('\n\n');
  return { ...rest, ...(text !== '' && { description: text }) };
}

/** `PostCreateWithoutAuthor`: the author is what it is nested in. */
function nestedName({ owner, name }: Reference): string {
  return nestedTypeName(`${owner.name}Create`, name);
}

/** Which records lists through join types lead to. */
function linksOf(resource: Resource): [string, JsonSchema][] {
  return writtenThrough(resource).flatMap((through): [string, JsonSchema][] => {
    const { name, target } = through;
    const { ids, changes } = linkNames(through);
    const keys = { ...list(typeSchema(target.key)), maxItems: MOST_VALUES };
    const parts = [ADD, REMOVE].map((part): [string, JsonSchema] => [part, keys]);
    const told = { writeOnly: true };
    return [
      [ids, { ...keys, ...told, description: `The keys of all that \`${name}\` is to have.` }],
      [
        changes,
        {
          ...object(parts, { minProperties: 1 }),
          ...told,
          description: `What changes of \`${name}\`; the rest of it stays. Does not go with \`${ids}\`.`,
        },
      ],
    ];
  });
}
