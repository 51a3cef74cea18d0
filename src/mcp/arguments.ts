/** What an action takes, as the JSON Schema of a tool: complete in itself, as clients want it. */

import type { ActionField, Described, Enum, Shape, Slot } from '../schema/model.ts';
import { type JsonSchema, scalars } from '../schema/scalars.ts';
import { defaultOf, isScalar } from '../schema/values.ts';

/** What types are called in it: of a shape or an enum, which may be met again inside of itself. */
type Definitions = Map<Shape | Enum, JsonSchema>;

export function argumentsSchema({ arguments: slots }: ActionField): JsonSchema {
  const definitions: Definitions = new Map();
  const schema = objectSchema(slots, definitions);
  const named = [...definitions].map(([{ name }, definition]) => [name, definition]);
  return { ...schema, ...(named.length > 0 && { $defs: Object.fromEntries(named) }) };
}

function objectSchema(slots: readonly Slot[], definitions: Definitions): JsonSchema {
  const properties = slots.map((slot) => [slot.name, { ...slotSchema(slot, definitions), ...told(slot) }]);
  const required = slots.filter(isNeeded).map(({ name }) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

function isNeeded(slot: Slot): boolean {
  return slot.required && (slot.is !== 'value' || defaultOf(slot.column) === undefined);
}

function told({ description }: Described): JsonSchema {
  return description === undefined ? {} : { description };
}

const ID = scalars.get('ID');

function slotSchema(slot: Slot, definitions: Definitions): JsonSchema {
  const one = valueSchema(slot, definitions);
  const schema = slot.list ? { type: 'array', items: one } : one;
  const value = slot.is === 'value' ? defaultOf(slot.column) : undefined;
  const whole = slot.required ? schema : { anyOf: [schema, { type: 'null' }] };
  return value === undefined ? whole : { ...whole, default: value };
}

function valueSchema(slot: Slot, definitions: Definitions): JsonSchema {
  if (slot.is === 'object')
    return defined(slot.shape, definitions, () => objectSchema(slot.shape.fields, definitions));
  if (slot.is === 'record') throw new Error('an argument is no record');
  const { type } = slot.column;
  if (!isScalar(type))
    return defined(type, definitions, () => ({ type: 'string', enum: type.values.map(({ name }) => name) }));
  // Ids of records are numbers in JSON, and texts in GraphQL.
  return type === ID ? { type: ['string', 'integer'] } : type.jsonSchema;
}

function defined(of: Shape | Enum, definitions: Definitions, make: () => JsonSchema): JsonSchema {
  if (!definitions.has(of)) {
    // Kept before it is whole: a shape may hold itself.
    definitions.set(of, {});
    definitions.set(of, { ...make(), ...told(of) });
  }
  return { $ref: `#/$defs/${of.name}` };
}
