/** Which records and groups are meant, and numbers about them, as JSON Schema. */

import { aggregateFunctions } from '../../query/aggregates.ts';
import { operators, operatorsOf } from '../../query/operators.ts';
import type { Column, Resource } from '../../schema/model.ts';
import type { JsonSchema } from '../../schema/scalars.ts';
import { visible } from '../shape.ts';
import { documented, filterName, list, NOT_EMPTY, object, operandSchema } from './json-schema.ts';

/** What a schema is referred to by. */
type Ref = (wanted: string) => JsonSchema;

export function whereSchema(resource: Resource, ref: Ref): JsonSchema {
  const of = ({ name }: Resource) => ref(`${name}Where`);
  const fields = resource.fields.filter(visible).map((field): [string, JsonSchema] => {
    if (field.kind === 'column') return [field.name, { ...ref(filterName(field)), ...documented(field) }];
    const target = of(field.target);
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
  return object([...fields, ...logic(of(resource))]);
}

export function havingSchema(ref: Ref): JsonSchema {
  const one = ref('Comparison');
  const results = aggregateFunctions.map((name): [string, JsonSchema] => [
    name,
    name === 'count' ? one : { type: 'object', additionalProperties: one, ...NOT_EMPTY },
  ]);
  const description = 'Which groups are meant, by what is computed of them: `{"count": {"gt": 9}}`.';
  return { description, ...object([...results, ...logic(ref('Having'))]) };
}

/** What filters are combined by. Only what is empty as a whole, or behind `some` and `none`, means everything. */
function logic(self: JsonSchema): [string, JsonSchema][] {
  const one = { ...self, ...NOT_EMPTY };
  return [
    ['and', { ...list(one), minItems: 1 }],
    ['or', { $ref: `${self['$ref']}/properties/and` }],
    ['not', one],
  ];
}

export function filterSchema(column: Column): JsonSchema {
  const entries = operatorsOf(column).map((name): [string, JsonSchema] => [
    name,
    { description: operators[name].doc, ...operandSchema(column, name) },
  ]);
  return object(entries, NOT_EMPTY);
}

/** What is computed of a group is compared as the field is that it is computed of. */
export const comparison: JsonSchema = object(
  (['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'isNull'] as const).map((name) => [
    name,
    {
      description: operators[name].doc,
      ...{ value: {}, list: { type: 'array' }, flag: { type: 'boolean' } }[operators[name].operand],
    },
  ]),
  NOT_EMPTY,
);

/** The same for all types: what the numbers are of is what `aggregate` and `groupBy` name. */
export function aggregateSchema(): JsonSchema {
  const whole = { type: 'integer', minimum: 0 };
  const results = aggregateFunctions.map((name): [string, JsonSchema] => {
    if (name === 'count') return [name, whole];
    const value = name === 'countDistinct' ? whole : {};
    return [name, { type: 'object', additionalProperties: value }];
  });
  const description = 'Numbers about all records, or about those that are alike in what they are grouped by.';
  return { description, ...object([['by', { type: 'object' }], ...results]) };
}
