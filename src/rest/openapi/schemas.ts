/** Records, bodies, filters and aggregates as JSON Schema: the components of the API description. */

import { aggregateFits, aggregateFunctions, isExact, scaleOfAverage } from '../../query/aggregates.ts';
import { MOST_VALUES, operators, operatorsOf } from '../../query/operators.ts';
import { groupable } from '../../query/parts.ts';
import { groupsOf } from '../../query/results.ts';
import { shapesOf } from '../../schema/actions.ts';
import type { Column, Field, Inverse, Model, Reference, Resource } from '../../schema/model.ts';
import { INCREMENTS, ownFilters, withArticle, withCapitalArticle } from '../../schema/names.ts';
import { type JsonSchema, patternOf } from '../../schema/scalars.ts';
import { ADD, linkNames, REMOVE, writtenThrough } from '../../schema/through.ts';
import {
  canBeHidden,
  creatable,
  incrementable,
  neededOnCreate,
  scaleOf,
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
  typeSchema,
} from './json-schema.ts';

type Part = 'Partial' | 'Create' | 'Update' | 'Where' | 'Having' | 'Aggregate';

export class Schemas {
  readonly #model: Model;
  readonly all: Readonly<Record<string, JsonSchema>>;

  constructor(model: Model) {
    this.#model = model;
    const served = model.resources.filter(({ rest }) => rest);
    this.all = {
      ...Object.fromEntries(served.flatMap((resource) => this.#ofResource(resource))),
      ...Object.fromEntries(model.enums.map((each) => [each.name, enumSchema(each)])),
      ...Object.fromEntries(served.flatMap(filtered).map((each) => this.#filter(each))),
    };
  }

  /** A type of the file keeps its name; what is derived makes way. */
  name(wanted: string): string {
    const { byType, enums } = this.#model;
    const shapes = shapesOf(this.#model.actions);
    const taken = byType.has(wanted) || [...enums, ...shapes].some(({ name }) => name === wanted);
    return taken ? this.name(`${wanted}_`) : wanted;
  }

  ref(wanted: string): JsonSchema {
    return reference(this.name(wanted));
  }

  part(resource: Resource, part: Part): JsonSchema {
    return this.ref(resource.name + part);
  }

  /** A record with all of its fields, or, when `fields` asks for it, with some. */
  shown(resource: Resource): JsonSchema[] {
    return [reference(resource.name), this.part(resource, 'Partial')];
  }

  #ofResource(resource: Resource): [string, JsonSchema][] {
    const part = (name: Part, schema: JsonSchema): [string, JsonSchema] => [
      this.name(resource.name + name),
      schema,
    ];
    return [
      [resource.name, this.#record(resource)],
      part('Partial', this.#partial(resource)),
      part('Create', this.#create(resource)),
      ...nestedIn(resource).map((reference): [string, JsonSchema] => [
        this.name(nestedName(reference)),
        this.#create(resource, reference.column),
      ]),
      part('Update', updateSchema(resource)),
      part('Where', this.#where(resource)),
      part('Having', this.#having(resource)),
      part('Aggregate', this.#aggregate(resource)),
    ];
  }

  /** `known`: the reference that is set by what the record is nested in. */
  #create(resource: Resource, known?: Column): JsonSchema {
    const columns = creatable(resource).filter((column) => column !== known);
    const properties = columns.map((column): [string, JsonSchema] => {
      const { origin } = column;
      const value = 'default' in origin && origin.default !== undefined ? { default: origin.default } : {};
      const key = column === resource.key ? keyBounds(column) : {};
      return [column.name, { ...columnSchema(column), ...key, ...documented(column), ...value }];
    });
    for (const { name, target, reference } of nestable(resource)) {
      const description = `New ${target.plural} that point to it.`;
      properties.push([
        name,
        { type: ['array', 'null'], items: this.ref(nestedName(reference)), description },
      ]);
    }
    properties.push(...linksOf(resource));
    const required = columns.filter(neededOnCreate).map(({ name }) => name);
    return { description: `A new ${resource.singular}.`, ...object(properties, { required }) };
  }

  #record(resource: Resource): JsonSchema {
    const made = resource.computed.map(({ column }) => column);
    const shown = [...resource.columns, ...made].filter((column) => !canBeHidden(column));
    const required = shown.map(({ name }) => name);
    return { ...documented(resource), ...object(this.#shown(resource), { required }) };
  }

  #partial(resource: Resource): JsonSchema {
    const description = `${withCapitalArticle(resource.singular)} of which only some fields were asked for.`;
    const { version } = resource;
    const tag: [string, JsonSchema] = [
      version.name,
      { ...columnSchema(version), ...documented(version), readOnly: true },
    ];
    return { description, ...object([...this.#shown(resource), tag]) };
  }

  #shown(resource: Resource): [string, JsonSchema][] {
    const computed = resource.computed.map(({ column }): [string, JsonSchema] => [
      column.name,
      { ...columnSchema(column), ...answered(column), readOnly: true },
    ]);
    const fields = shownFields(resource).map((field): [string, JsonSchema] => {
      if (field.kind === 'column')
        return [field.name, { ...columnSchema(field), ...answered(field), ...readOnly(field) }];
      const of = this.shown(field.target);
      const nothing = field.kind === 'reference' && !field.required ? [{ type: 'null' }] : [];
      const one = { anyOf: [...of, ...nothing] };
      const shown = field.kind === 'reference' ? one : list(one);
      const told = answered(field, 'Present when `include` names it.');
      return [field.name, { ...shown, ...told, readOnly: true }];
    });
    return [...fields, ...computed];
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

  #having(resource: Resource): JsonSchema {
    const self = { ...this.part(resource, 'Having'), ...NOT_EMPTY };
    const filter = (column: Column) => this.ref(filterName(column));
    const results = [...groupsOf(resource).fieldByName.values()].flatMap((field): [string, JsonSchema][] => {
      if (field.kind === 'column') return [[field.name, filter(field)]];
      const fields = [...field.fieldByName].map(([name, each]): [string, JsonSchema] => [name, filter(each)]);
      return fields.length > 0 ? [[field.name, object(fields, NOT_EMPTY)]] : [];
    });
    const description = `Which groups of ${resource.plural} are meant, by what is computed of them.`;
    return { description, ...object([...results, ...logic(self)]) };
  }

  #aggregate(resource: Resource): JsonSchema {
    const of = aggregateFunctions.flatMap((name): [string, JsonSchema][] => {
      if (name === 'count') return [[name, { type: 'integer', minimum: 0 }]];
      const columns = resource.columns.filter((column) => aggregateFits(name, column));
      if (name === 'countDistinct') {
        const counts = columns.map((column): [string, JsonSchema] => [
          column.name,
          { type: 'integer', minimum: 0 },
        ]);
        return [[name, object(counts)]];
      }
      const value = (column: Column) => {
        if (name === 'min' || name === 'max') return typeSchema(column);
        if (!isExact(column)) return { type: 'number' };
        return {
          type: 'string',
          pattern: patternOf(name === 'avg' ? scaleOfAverage(column) : scaleOf(column)),
        };
      };
      const properties = columns.map((column): [string, JsonSchema] => [column.name, orNull(value(column))]);
      return columns.length > 0 ? [[name, object(properties)]] : [];
    });
    const groups = groupable(resource).map((column): [string, JsonSchema] => [
      column.name,
      columnSchema(column),
    ]);
    const included = resource.references.filter(visible).map((field): [string, JsonSchema] => {
      const of = { anyOf: [...this.shown(field.target), { type: 'null' }] };
      return [field.name, { ...of, ...answered(field, 'Present when `include` names it.') }];
    });
    const description = `Numbers about all ${resource.plural}, or about those that are alike in what they are grouped by.`;
    return { description, ...object([['by', object([...groups, ...included])], ...of]) };
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

/** What can be compared. */
function filtered(resource: Resource): Column[] {
  const results = [...groupsOf(resource).fieldByName.values()].flatMap((field) =>
    field.kind === 'column' ? field : [...field.fieldByName.values()],
  );
  return [...resource.columns, ...results];
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
  return `${owner.name}CreateWithout${name[0]?.toUpperCase()}${name.slice(1)}`;
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

function updateSchema(resource: Resource): JsonSchema {
  const changeable = updatable(resource);
  const properties = resource.columns.map((column): [string, JsonSchema] => {
    const schema = { ...columnSchema(column), ...documented(column) };
    if (changeable.includes(column)) return [column.name, schema];
    const description = [
      column.description,
      'May be repeated as it is stored, so that what was read can be sent.',
    ];
    return [
      column.name,
      { ...schema, description: description.filter(Boolean).join('\n\n'), readOnly: true },
    ];
  });
  properties.push(...linksOf(resource));
  const countable = incrementable(resource);
  if (countable.length > 0) {
    const amounts = countable.map((column): [string, JsonSchema] => [column.name, typeSchema(column)]);
    const description = 'Added to the numbers that are stored, without reading them first.';
    properties.push([INCREMENTS, { description, ...object(amounts, { minProperties: 1 }) }]);
  }
  const description = `What to change of ${withArticle(resource.singular)}; what is left out keeps its value.`;
  return { description, ...object(properties, { minProperties: 1 }) };
}
