/** Records, bodies, filters and aggregates as JSON Schema: the components of the API description. */

import { aggregateFunctions } from '../../query/aggregates.ts';
import { MOST_VALUES, operators, operatorsOf } from '../../query/operators.ts';
import { shapesOf } from '../../schema/actions.ts';
import type { Column, Field, Inverse, Model, Reference, Resource } from '../../schema/model.ts';
import {
  INCREMENTS,
  nestedTypeName,
  ownFilters,
  withArticle,
  withCapitalArticle,
} from '../../schema/names.ts';
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
import {
  columnSchema,
  documented,
  enumSchema,
  filterName,
  keyBounds,
  list,
  object,
  operandSchema,
  orNull,
  readOnly,
  reference,
  scalarSchemas,
  typeSchema,
} from './json-schema.ts';

/** What can be there, or must not. */
type Property = [string, JsonSchema | false];
type Part = 'Fields' | 'Partial' | 'Create' | 'Update' | 'Where';

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
    for (const column of filters.values()) yield this.#filter(column);
    yield* scalarSchemas;
    yield [this.name('Aggregate'), this.#aggregate()];
    yield [this.name('Having'), this.#having()];
    yield [this.name('Comparison'), comparison];
    const [version] = served.map((resource) => resource.version);
    if (version)
      yield [this.name('Version'), { ...columnSchema(version), ...documented(version), readOnly: true }];
    yield* this.#common;
  }

  /** What a column admits: without a constraint of its own, the same as all others of its type. */
  #column(column: Column): JsonSchema {
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
      { ...this.#column(column), ...answered(column), ...readOnly(column) },
    ]);
  }

  #computedOf({ computed }: Resource): Property[] {
    return computed.map(({ column }) => [
      column.name,
      { ...this.#column(column), ...answered(column), readOnly: true },
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

  /** A record with all of its fields, or, when `fields` asks for it, with some. */
  shown(resource: Resource): JsonSchema[] {
    const whole = reference(resource.name);
    return this.isPlain ? [whole] : [whole, this.part(resource, 'Partial')];
  }

  #ofResource(resource: Resource): [string, JsonSchema][] {
    const part = (name: Part, schema: JsonSchema): [string, JsonSchema] => [
      this.name(resource.name + name),
      schema,
    ];
    const fields = (): [string, JsonSchema][] => [
      part('Fields', { type: 'object', properties: Object.fromEntries(this.#columnsOf(resource)) }),
      part('Partial', this.#partial(resource)),
    ];
    return [
      [resource.name, this.#record(resource)],
      ...(this.isPlain ? [] : fields()),
      part('Create', this.#create(resource)),
      ...nestedIn(resource).map((reference): [string, JsonSchema] => [
        this.name(nestedName(reference)),
        this.#create(resource, reference.column),
      ]),
      part('Update', this.#update(resource)),
      part('Where', this.#where(resource)),
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
    if (known && !this.isPlain && !neededOnCreate(known)) {
      const allOf = [this.part(resource, 'Create')];
      return { description: `A new ${resource.singular}.`, allOf, properties: { [known.name]: false } };
    }
    const columns = creatable(resource).filter((column) => column !== known);
    const properties = this.isPlain
      ? columns.map((column): Property => {
          const key = column === resource.key ? keyBounds(column) : {};
          return [column.name, { ...this.#column(column), ...key, ...withDefault(column) }];
        })
      : resource.columns.flatMap((column): Property[] => {
          if (!columns.includes(column)) return [[column.name, false]];
          if (column === resource.key) return [[column.name, keyBounds(column)]];
          const value = defaultOf(column);
          return value === undefined ? [] : [[column.name, { default: value }]];
        });
    for (const { name, reference } of nestable(resource)) {
      properties.push([name, { type: ['array', 'null'], items: this.ref(nestedName(reference)) }]);
    }
    properties.push(...linksOf(resource));
    const required = columns.filter(neededOnCreate).map(({ name }) => name);
    const description = `A new ${resource.singular}.`;
    if (this.isPlain) return { description, ...object(properties, { required }) };
    return { description, ...this.#withColumns(resource, properties, { required }) };
  }

  #record(resource: Resource): JsonSchema {
    const made = resource.computed.map(({ column }) => column);
    const shown = [...resource.columns, ...made].filter((column) => !canBeHidden(column));
    const required = shown.map(({ name }) => name);
    const told = documented(resource);
    if (!this.isPlain) return { ...told, allOf: [this.part(resource, 'Partial')], required };
    return {
      ...told,
      ...object([...this.#columnsOf(resource), ...this.#computedOf(resource)], { required }),
    };
  }

  #partial(resource: Resource): JsonSchema {
    const article = withCapitalArticle(resource.singular);
    const description = `${article} as \`fields\` and \`include\` ask for it.`;
    const related = shownFields(resource).flatMap((field): Property[] => {
      if (field.kind === 'column') return [];
      const one = this.part(field.target, 'Partial');
      const nullable = field.kind === 'reference' && !field.required;
      const related = field.kind === 'reference' ? (nullable ? orNull(one) : one) : list(one);
      return [[field.name, { ...related, ...answered(field), readOnly: true }]];
    });
    const tag: Property = [resource.version.name, this.ref('Version')];
    return { description, ...this.#withColumns(resource, [...related, ...this.#computedOf(resource), tag]) };
  }

  #where(resource: Resource): JsonSchema {
    // Only what is empty as a whole, or behind `some` and `none`, means everything.
    const self = { ...this.part(resource, 'Where'), ...NOT_EMPTY };
    const fields = shownFields(resource).map((field): [string, JsonSchema] => {
      if (field.kind === 'column')
        return [field.name, { ...this.ref(filterName(field)), ...documented(field) }];
      const target = this.part(field.target, 'Where');
      const schema =
        field.kind === 'reference'
          ? { ...target, ...NOT_EMPTY }
          : object(
              [
                ['some', target],
                ['none', target],
              ],
              NOT_EMPTY,
            );
      return [field.name, { ...schema, ...documented(field) }];
    });
    return { description: `Which ${resource.plural} are meant.`, ...object([...fields, ...logic(self)]) };
  }

  #having(): JsonSchema {
    const self = { ...this.ref('Having'), ...NOT_EMPTY };
    const one = this.ref('Comparison');
    const results = aggregateFunctions.map((name): [string, JsonSchema] => [
      name,
      name === 'count' ? one : { type: 'object', additionalProperties: one, ...NOT_EMPTY },
    ]);
    const description =
      'Which groups are meant, by what is computed of them: `{"sum": {"total": {"gt": 9}}}`.';
    return { description, ...object([...results, ...logic(self)]) };
  }

  /** The same for all types: what the numbers are of is what `aggregate` and `groupBy` name. */
  #aggregate(): JsonSchema {
    const whole = { type: 'integer', minimum: 0 };
    const results = aggregateFunctions.map((name): [string, JsonSchema] => {
      if (name === 'count') return [name, whole];
      const value = name === 'countDistinct' ? whole : {};
      return [name, { type: 'object', additionalProperties: value }];
    });
    const description =
      'Numbers about all records, or about those that are alike in what they are grouped by.';
    return { description, ...object([['by', { type: 'object' }], ...results]) };
  }

  #update(resource: Resource): JsonSchema {
    const properties: Property[] = [...linksOf(resource)];
    const countable = incrementable(resource);
    if (countable.length > 0) {
      const amounts = countable.map((column): Property => [column.name, typeSchema(column)]);
      const description = 'Added to what is stored.';
      properties.push([INCREMENTS, { description, ...object(amounts, NOT_EMPTY) }]);
    }
    const description = `Changes of ${withArticle(resource.singular)}; the rest of it stays.`;
    const changeable = updatable(resource);
    if (!this.isPlain) {
      // What was read can be sent: what is `readOnly`, as it is stored; so too what only a create can choose.
      const chosen = resource.columns.filter(
        (column) => !changeable.includes(column) && !('readOnly' in readOnly(column)),
      );
      properties.push(...chosen.map(({ name }): Property => [name, { readOnly: true }]));
      return { description, ...this.#withColumns(resource, properties, NOT_EMPTY) };
    }
    const changed = changeable.map(
      (column): Property => [column.name, { ...this.#column(column), ...documented(column) }],
    );
    return { description, ...object([...changed, ...properties], NOT_EMPTY) };
  }

  #filter(column: Column): [string, JsonSchema] {
    const entries = operatorsOf(column).map((name): [string, JsonSchema] => [
      name,
      { description: operators[name].doc, ...operandSchema(column, name) },
    ]);
    return [this.name(filterName(column)), object(entries, NOT_EMPTY)];
  }
}

const NOT_EMPTY: JsonSchema = { minProperties: 1 };

/** What filters are combined by, where this is one. */
function logic(self: JsonSchema): [string, JsonSchema][] {
  return ownFilters.map((name) => [name, name === 'not' ? self : { ...list(self), minItems: 1 }]);
}

/** What is computed of a group is compared as the field is that it is computed of. */
const comparison: JsonSchema = object(
  (['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'isNull'] as const).map((name) => [
    name,
    {
      description: operators[name].doc,
      ...{ value: {}, list: { type: 'array' }, flag: { type: 'boolean' } }[operators[name].operand],
    },
  ]),
  { minProperties: 1 },
);

/** Generators take a field with a `default` for one that is always there, also in a body. */
function withDefault(column: Column): JsonSchema {
  const value = defaultOf(column);
  const { description, ...told } = documented(column);
  const text = [description, value === undefined ? undefined : `Default: \`${JSON.stringify(value)}\`.`]
    .filter((each) => each !== undefined)
    .join('\n\n');
  return { ...told, ...(text !== '' && { description: text }) };
}

/** The fields of a record as this door shows them. */
export function shownFields(resource: Resource): Field[] {
  return resource.fields.filter(visible);
}

/** What there is to say of a field in an answer. */
function answered(field: Field, ...more: readonly string[]): JsonSchema {
  const { description, ...rest } = documented(field);
  const hidden = canBeHidden(field) ? ['Absent for callers who may not read it.'] : [];
  const text = [description, ...more, ...hidden].filter((each) => each !== undefined).join('\n\n');
  return { ...rest, ...(text !== '' && { description: text }) };
}

/** The references that lists lead back along: a new record can be nested in what they point to. */
function nestedIn({ references, rest, operations }: Resource): readonly Reference[] {
  if (!rest || !operations.has('CREATE')) return [];
  return references.filter((reference) =>
    reference.target.inverses.some((inverse) => inverse.reference === reference),
  );
}

/** The lists that a new record can bring along. */
export function nestable({ inverses }: Resource): readonly Inverse[] {
  return inverses.filter(({ reference }) => nestedIn(reference.owner).includes(reference));
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
