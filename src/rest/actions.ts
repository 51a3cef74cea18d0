/** `/actions/place-order`: the actions of the schema file, with their arguments as a body or as parameters. */

import { DuetError, type Fault, validationFailed } from '../base/errors.ts';
import { caught, type Soon, then } from '../base/soon.ts';
import type { Engine } from '../engine/engine.ts';
import type { Act, Ask, Input, Wanted } from '../engine/operation.ts';
import type { Node } from '../engine/read/read.ts';
import { answer } from '../http/answer.ts';
import { type BodyLimits, nestsDeeperThan, parseJsonObject, readBody } from '../http/body.ts';
import { type Exchange, goneOf, type Handler, type Route } from '../http/exchange.ts';
import { idempotencyOf } from '../http/idempotency.ts';
import { problem } from '../http/problem.ts';
import type { ActionField, Model, Shape, Slot } from '../schema/model.ts';
import { ACTIONS_PATH } from '../schema/names.ts';
import { fromText } from '../schema/spelling.ts';
import { keptAs } from '../schema/values.ts';
import { refuseIfMatch } from './etag.ts';
import { paid, shown, wholeOf } from './respond.ts';

export function actionRoutes({ actions }: Model, engine: Engine, limits: BodyLimits): Route[] {
  return actions.map((action) => {
    const carry = action.root === 'Query' ? asking(engine, action, limits) : acting(engine, action, limits);
    const handler: Handler = (exchange) => {
      // Who may never do this is told before the body is read.
      engine.admitAction(exchange.caller, action);
      return carry(exchange);
    };
    const method = action.root === 'Query' ? 'GET' : 'POST';
    return { template: pathTo(action), failed: problem, methods: new Map([[method, handler]]) };
  });
}

export function pathTo({ path }: ActionField): string {
  return `/${ACTIONS_PATH}/${path}`;
}

function acting(engine: Engine, action: ActionField, limits: BodyLimits): Handler {
  return (exchange) =>
    readBody(exchange.request, limits, (bytes) => {
      refuseParameters(exchange, action);
      const isEmpty = bytes.length === 0 && action.arguments.length === 0;
      const args = isEmpty ? {} : parseJsonObject(exchange.request, bytes, limits);
      refuseIfMatch(exchange.request, 'Leave it out.');
      const idempotency = idempotencyOf(exchange, pathTo(action).slice(1), bytes);
      return engine
        .write(exchange.caller, actOf(action, args), idempotency, undefined, goneOf(exchange))
        .then((value) => answer(200, paid(answered(action, value), exchange.spend)));
    });
}

export function actOf(action: ActionField, args: Input): Act<'act'> {
  return { do: 'act', action, args, answer: wantedOf(action.answer) };
}

function asking(engine: Engine, action: ActionField, limits: BodyLimits): Handler {
  return (exchange) => {
    const args = argumentsIn(exchange, action, limits);
    return caught(() => ask(engine, exchange, action, args), inParameters);
  };
}

/** What an action that only reads answers, to arguments as JSON has them. */
export function ask(
  engine: Engine,
  { caller, spend }: Exchange,
  action: ActionField,
  args: Input,
): Soon<Response> {
  const operation: Ask = { do: 'ask', action, args, answer: wantedOf(action.answer) };
  return then(engine.ask(caller, operation), (value) => answer(200, paid(answered(action, value), spend)));
}

/** What is wrong with an argument is wrong with a parameter here. */
function inParameters(error: unknown): never {
  if (!(error instanceof DuetError) || error.code !== 'VALIDATION_FAILED' || !error.errors) throw error;
  const errors = error.errors.map(({ pointer, code, detail }): Fault => {
    const [, parameter] = /^#\/([^/]*)/.exec(pointer ?? '') ?? [];
    return parameter === undefined ? { code, detail } : { parameter, code, detail };
  });
  throw new DuetError(error.code, error.message, { errors });
}

function refuseParameters({ query }: Exchange, action: ActionField): void {
  if (query !== '')
    throw validationFailed([
      {
        parameter: query.slice(0, 100),
        code: 'UNKNOWN',
        detail: `${pathTo(action)} takes its arguments in the body`,
      },
    ]);
}

function argumentsIn({ query }: Exchange, { arguments: slots }: ActionField, limits: BodyLimits): Input {
  const faults: Fault[] = [];
  // Without a prototype: a parameter may be called __proto__.
  const args: Record<string, unknown> = Object.create(null);
  for (const [name, text] of new URLSearchParams(query)) {
    const slot = slots.find((each) => each.name === name);
    if (Object.hasOwn(args, name))
      faults.push({ parameter: name, code: 'UNKNOWN', detail: `"${name}" is given twice` });
    args[name] = slot ? valueIn(slot, text, limits, faults) : text;
  }
  if (faults.length > 0) throw validationFailed(faults);
  return args;
}

/** Lists and objects are JSON; everything else is written as in a filter. */
function valueIn(slot: Slot, text: string, { jsonDepth }: BodyLimits, faults: Fault[]): unknown {
  if (slot.is === 'value' && keptAs(slot.column) !== 'json') return fromText(slot.column, text);
  if (nestsDeeperThan(text, jsonDepth))
    throw new DuetError('JSON_TOO_DEEP', `${slot.name} nests deeper than ${jsonDepth} levels.`);
  try {
    return JSON.parse(text);
  } catch {
    faults.push({ parameter: slot.name, code: 'TYPE', detail: `${slot.name} must be JSON` });
    return undefined;
  }
}

const wanted = new WeakMap<Shape, Wanted>();

/** Whole records, without what is related to them. */
function wantedOf(slot: Slot): Wanted {
  if (slot.is === 'value') return { is: 'value', times: 1 };
  if (slot.is === 'record') return { is: 'record', selection: wholeOf(slot.resource) };
  const { shape } = slot;
  const known = wanted.get(shape);
  if (known) return known;
  // Kept before it is whole: a type may hold itself.
  const fields = new Map<string, Wanted>();
  const whole: Wanted = { is: 'object', times: 1, fields };
  wanted.set(shape, whole);
  for (const field of shape.fields) fields.set(field.name, wantedOf(field));
  return whole;
}

export function answered({ answer: slot }: ActionField, value: unknown): unknown {
  return rendered(slot, value);
}

function rendered(slot: Slot, value: unknown): unknown {
  if (value === null || slot.is === 'value') return value;
  if (slot.list) return (value as unknown[]).map((each) => rendered({ ...slot, list: false }, each));
  if (slot.is === 'record') return shown(wholeOf(slot.resource), value as Node);
  const fields = value as Record<string, unknown>;
  return Object.fromEntries(
    slot.shape.fields.map((field) => [field.name, rendered(field, fields[field.name])]),
  );
}
