/** The parts that schemas are made of: types, columns and what they admit as JSON Schema. */

import { LONGEST_PART, MOST_VALUES, operators, operatorsOf } from '../../query/operators.ts';
import { exampleOf } from '../../schema/examples.ts';
import type { Column, Described, Enum } from '../../schema/model.ts';
import { filterTypeName } from '../../schema/names.ts';
import { type JsonSchema, patternOf, Serial, scalars } from '../../schema/scalars.ts';
import { graphqlTypeName, isScalar, LONGEST_KEY, unaddressable } from '../../schema/values.ts';

export function reference(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

export function list(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}

export function object(
  properties: readonly (readonly [string, JsonSchema | false])[],
  more: JsonSchema = {},
): JsonSchema {
  return { type: 'object', properties: Object.fromEntries(properties), ...more, additionalProperties: false };
}

export const NOT_EMPTY: JsonSchema = { minProperties: 1 };

/** What the file says of it, and that it is deprecated. */
export function documented({ description, deprecated }: Described): JsonSchema {
  const text = [description, deprecated === undefined ? undefined : `Deprecated: ${deprecated}`];
  const joined = text.filter((each) => each !== undefined).join('\n\n');
  return {
    ...(joined !== '' && { description: joined }),
    ...(deprecated !== undefined && { deprecated: true }),
  };
}

/** The scalars that are described once: of the others there is less to say than a reference takes. */
export const scalarSchemas: ReadonlyMap<string, JsonSchema> = new Map(
  [Serial, ...scalars.values()].flatMap((scalar): [string, JsonSchema][] => {
    const { description, graphql, jsonSchema } = scalar;
    const isBrief = description === undefined && Object.keys(jsonSchema).length <= 2;
    const told = { ...(description !== undefined && { description }), ...jsonSchema };
    // Otherwise readers show the least of them.
    const examples = jsonSchema['type'] === 'integer' ? { examples: [1] } : {};
    return isBrief ? [] : [[graphql, { ...told, ...examples }]];
  }),
);

/** A value of the column's type, whatever its constraint: what it is compared with. */
export function typeSchema({ type }: Column): JsonSchema {
  if (!isScalar(type)) return reference(type.name);
  // A natural key is of the type ID too, but is any text.
  const isShared = type.stored !== 'text' && scalarSchemas.has(type.graphql);
  return isShared ? reference(type.graphql) : type.jsonSchema;
}

export function operandSchema(column: Column, operator: keyof typeof operators): JsonSchema {
  const value = typeSchema(column);
  const part = operator === 'contains' ? { ...value, maxLength: LONGEST_PART } : value;
  const values = { ...list(value), maxItems: MOST_VALUES };
  return { value: part, list: values, flag: { type: 'boolean' } }[operators[operator].operand];
}

export function filterName(column: Column): string {
  return filterTypeName(graphqlTypeName(column), operatorsOf(column));
}

export function columnSchema(column: Column): JsonSchema {
  const value = { ...typeSchema(column), ...bounds(column) };
  const schema = column.list ? list(value) : value;
  const text = exactBounds(column).join(' ');
  return { ...(column.required ? schema : orNull(schema)), ...(text !== '' && { description: text }) };
}

/** JSON Schema has no bounds for numbers that are strings. */
function exactBounds({ constraint, type }: Column): string[] {
  if (!isScalar(type) || type.is !== 'exact') return [];
  const { min, max } = constraint ?? {};
  return [
    ...(min === undefined ? [] : [`At least ${min}.`]),
    ...(max === undefined ? [] : [`At most ${max}.`]),
  ];
}

export function orNull(schema: JsonSchema): JsonSchema {
  const { type } = schema;
  return type === undefined
    ? { anyOf: [schema, { type: 'null' }] }
    : { ...schema, type: [type, 'null'].flat() };
}

function bounds(column: Column): JsonSchema {
  const { constraint, type } = column;
  if (isScalar(type) && type.is === 'exact') return { pattern: patternOf(type.scale) };
  if (!constraint) return {};
  const { minLength, maxLength, pattern, format, min, max } = constraint;
  const { minimum, maximum } = isScalar(type) ? type.jsonSchema : {};
  const limits = {
    minLength,
    maxLength,
    pattern: pattern?.source,
    format,
    // The type has bounds of its own.
    minimum: min === undefined ? undefined : Math.max(Number(min), Number(minimum ?? min)),
    maximum: max === undefined ? undefined : Math.min(Number(max), Number(maximum ?? max)),
    // A pattern is hard to read, and forms show what it looks like.
    examples: pattern && examplesOf(column),
  };
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined));
}

function examplesOf(column: Column): unknown[] | undefined {
  const example = exampleOf({ ...column, list: false });
  return example === undefined ? undefined : [example];
}

/** A key that a client gives must be addressable. */
export function keyBounds({ constraint }: Column): JsonSchema {
  return {
    minLength: Math.max(1, constraint?.minLength ?? 1),
    maxLength: Math.min(LONGEST_KEY, constraint?.maxLength ?? LONGEST_KEY),
    not: { enum: unaddressable },
  };
}

export function readOnly({ origin }: Column): JsonSchema {
  return origin.by === 'client' ? {} : { readOnly: true };
}

export function enumSchema(each: Enum): JsonSchema {
  const told = each.values.flatMap(({ name, ...rest }) => {
    const { description } = documented({ name, ...rest });
    return description === undefined ? [] : [`- \`${name}\`: ${String(description).replaceAll('\n\n', ' ')}`];
  });
  const description = [each.description, told.join('\n')].filter(Boolean).join('\n\n');
  const values = each.values.map(({ name }) => name);
  return { ...(description !== '' && { description }), type: 'string', enum: values };
}
