/** What a JSON schema of the OpenAPI document says of a value. */

import type { Bounds, Column, Kind } from './types.ts';

export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  /** False where there must be none. */
  readonly properties?: Readonly<Record<string, JsonSchema | false>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly readOnly?: boolean;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly examples?: readonly unknown[];
}

/** Those that the document has by name. */
export type Schemas = Readonly<Record<string, JsonSchema>>;

/** With all that it refers to; the last name on that way is the one that it keeps. */
export function resolved(schema: JsonSchema, schemas: Schemas): JsonSchema {
  const name = schema.$ref?.split('/').pop();
  if (name === undefined) return schema;
  const named = resolved(schemas[name] ?? {}, schemas);
  return { ...named, ...schema, ...(named.$ref !== undefined && { $ref: named.$ref }) };
}

export function columnOf(name: string, told: JsonSchema, schemas: Schemas): Column {
  // What many columns admit, such as an enum or null, has a name of its own.
  const schema = resolved(told, schemas);
  const of = schema.anyOf?.find(({ type }) => type !== 'null') ?? schema;
  // JSON may be an array among other things; a list is nothing else.
  const types = [of.type].flat().filter((type) => type !== 'null');
  const list = types.length === 1 && types[0] === 'array';
  const value = resolved(list ? (of.items ?? {}) : of, schemas);
  // A key of whichever type, where texts are taken for numbers.
  const isId = types.includes('string') && types.includes('integer');
  const kind = isId ? 'text' : kindOf(value);
  const nullable =
    [schema.type].flat().includes('null') || (schema.anyOf ?? []).some(({ type }) => type === 'null');
  return {
    name,
    kind,
    type: isId ? 'ID' : (value.$ref?.split('/').pop() ?? typeNames[kind]),
    list,
    required: !nullable,
    ...choicesIn(value.enum ?? [], outdatedIn(value.description)),
    // Those of a key that the service gives are of no use to anybody who chooses a record by its name.
    bounds: kind === 'id' ? {} : boundsOf(value),
    operators: [],
    sortable: false,
    ...wordsOf(told),
  };
}

/** What is deprecated comes last. */
export function choicesIn(
  values: readonly string[],
  outdated: Readonly<Record<string, string>>,
): Pick<Column, 'choices' | 'outdated'> {
  const choices = values.toSorted((one, other) => Number(one in outdated) - Number(other in outdated));
  return { choices, outdated };
}

/** `- `GONE`: Deprecated: why`: the document tells of values in the description of their enum, and there alone. */
function outdatedIn(description = ''): Record<string, string> {
  const told = description.matchAll(/^- `(\w+)`: (?:.* )?Deprecated: (.*)$/gm);
  return Object.fromEntries([...told].map(([, name, why]) => [name, why]));
}

export function wordsOf({ description, deprecated }: JsonSchema): {
  description?: string;
  deprecated?: boolean;
} {
  return { ...(description && { description }), ...(deprecated && { deprecated }) };
}

function kindOf({ type, format, enum: choices }: JsonSchema): Kind {
  const types = [type].flat().filter((each) => each !== 'null' && each !== undefined);
  if (choices) return 'enum';
  if (types.length !== 1) return 'json';
  if (types[0] === 'integer') return format === 'int64' ? 'id' : 'int';
  if (types[0] === 'number') return 'float';
  if (types[0] === 'boolean') return 'boolean';
  if (types[0] !== 'string') return 'json';
  return formats[format ?? ''] ?? 'text';
}

const formats: Readonly<Record<string, Kind>> = {
  'date-time': 'datetime',
  date: 'date',
  uuid: 'uuid',
  int64: 'bigint',
  decimal: 'decimal',
};

const typeNames: Readonly<Record<Kind, string>> = {
  id: 'ID',
  int: 'Int',
  float: 'Float',
  bigint: 'BigInt',
  decimal: 'Decimal',
  boolean: 'Boolean',
  text: 'String',
  datetime: 'DateTime',
  date: 'Date',
  uuid: 'UUID',
  enum: 'Enum',
  json: 'JSON',
};

function boundsOf(schema: JsonSchema): Bounds {
  const { minimum, maximum, minLength, maxLength, pattern, format, examples } = schema;
  const bounds = { minimum, maximum, minLength, maxLength, pattern, format, example: examples?.[0] };
  return Object.fromEntries(Object.entries(bounds).filter(([, bound]) => bound !== undefined));
}
