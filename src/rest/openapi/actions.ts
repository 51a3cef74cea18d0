/** The actions of the schema file, as the API description tells them. */

import { mayRun } from '../../access/rights.ts';
import { JSON_TYPE } from '../../http/answer.ts';
import { shapesOf } from '../../schema/actions.ts';
import type { ActionField, Slot } from '../../schema/model.ts';
import { type JsonSchema, scalars } from '../../schema/scalars.ts';
import { defaultOf, keptAs } from '../../schema/values.ts';
import { pathTo } from '../actions.ts';
import { columnSchema, documented, list, object, orNull, reference } from './json-schema.ts';
import { FAILURE, idempotencyKey, withHeaders } from './responses.ts';
import { guarded } from './security.ts';

export const ACTIONS = 'Actions';

export function actionPaths(actions: readonly ActionField[], isGuarded: boolean): Record<string, JsonSchema> {
  const closed = (action: ActionField) => isGuarded && !mayRun([], action);
  return Object.fromEntries(
    actions.map((action) => [pathTo(action), guarded(pathItem(action), closed(action) ? [] : undefined)]),
  );
}

/** The plain types that they take and answer with. */
export function actionSchemas(actions: readonly ActionField[]): Record<string, JsonSchema> {
  return Object.fromEntries(
    shapesOf(actions).map((shape) => [
      shape.name,
      { ...documented(shape), ...fields(shape.fields, shape.kind === 'input') },
    ]),
  );
}

function pathItem(action: ActionField): JsonSchema {
  const { name, answer, arguments: args, root } = action;
  const common = { operationId: name, summary: action.description ?? name, tags: [ACTIONS] };
  const deprecated = action.deprecated === undefined ? {} : { deprecated: true };
  const done = {
    200: {
      description: 'What it answers.',
      headers: withHeaders([], []),
      content: { [JSON_TYPE]: { schema: slotSchema(answer, false) } },
    },
  };
  if (root === 'Query') {
    const responses = { ...done, default: FAILURE };
    return { get: { ...common, ...deprecated, parameters: args.map(parameter), responses } };
  }
  const content = { [JSON_TYPE]: { schema: fields(args, true) } };
  const requestBody = { required: args.length > 0, content };
  const responses = { ...done, default: FAILURE };
  return { post: { ...common, ...deprecated, parameters: [idempotencyKey], requestBody, responses } };
}

/** Lists and objects are JSON in a parameter. */
function parameter(slot: Slot): JsonSchema {
  const schema = slotSchema(slot, true);
  const isPlain = slot.is === 'value' && keptAs(slot.column) !== 'json';
  const required = isNeeded(slot);
  const how = isPlain ? { schema } : { content: { [JSON_TYPE]: { schema } } };
  return { name: slot.name, in: 'query', required, ...documented(slot), ...how };
}

function isNeeded(slot: Slot): boolean {
  return slot.required && (slot.is !== 'value' || defaultOf(slot.column) === undefined);
}

function fields(slots: readonly Slot[], isGiven: boolean): JsonSchema {
  const required = slots.filter((slot) => !isGiven || isNeeded(slot)).map(({ name }) => name);
  return object(
    slots.map((slot) => [slot.name, { ...slotSchema(slot, isGiven), ...documented(slot) }]),
    required.length > 0 ? { required } : {},
  );
}

const ID = scalars.get('ID');

function slotSchema(slot: Slot, isGiven: boolean): JsonSchema {
  if (slot.is === 'value') {
    const { column } = slot;
    const value = defaultOf(column);
    const schema = columnSchema(column);
    // Ids of records are numbers here.
    const taken =
      isGiven && column.type === ID && !column.list
        ? { ...schema, type: [...[schema['type']].flat(), 'integer'] }
        : schema;
    return { ...taken, ...(isGiven && value !== undefined && { default: value }) };
  }
  const one = reference(slot.is === 'record' ? slot.resource.name : slot.shape.name);
  const schema = slot.list ? list(one) : one;
  return slot.required ? schema : orNull(schema);
}
