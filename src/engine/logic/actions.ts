/** What an action is given and what it answers, held against the schema file. */

import { cited, type Fault, isFull, nested, pointer, validationFailed } from '../../base/errors.ts';
import type { ActionField, Column, Resource, Slot } from '../../schema/model.ts';
import { scalars } from '../../schema/scalars.ts';
import { didYouMean } from '../../schema/suggest.ts';
import { checkValue, defaultOf } from '../../schema/values.ts';
import type { Program } from '../../storage/storage.ts';
import type { Input, Listing, Selection, Wanted } from '../operation.ts';
import type { Node } from '../read/read.ts';

/** Every argument, with its default or null where it was left out; all that is wrong is told at once. */
export function validArguments({ name, arguments: slots }: ActionField, given: Input): Input {
  const faults: Fault[] = [];
  const args = validFields(name, slots, given, faults);
  if (faults.length > 0) throw validationFailed(faults);
  return args;
}

function validFields(of: string, slots: readonly Slot[], given: Input, faults: Fault[]): Input {
  const names = slots.map(({ name }) => name);
  for (const name of Object.keys(given)) {
    if (names.includes(name) || isFull(faults)) continue;
    const cure = didYouMean(name, names) || ` There are: ${names.join(', ') || 'none'}.`;
    const detail = `"${cited(name)}" is not known to ${of}.${cure}`;
    faults.push({ pointer: pointer(cited(name)), code: 'UNKNOWN', detail });
  }
  const found: Record<string, unknown> = {};
  for (const slot of slots) {
    const sent = Object.hasOwn(given, slot.name) ? given[slot.name] : undefined;
    const value = sent === undefined && slot.is === 'value' ? defaultOf(slot.column) : sent;
    if (value !== undefined && value !== null) found[slot.name] = validValue(slot, value, faults);
    else {
      found[slot.name] = null;
      if (slot.required)
        faults.push({ pointer: pointer(slot.name), code: 'REQUIRED', detail: `${slot.name} is required` });
    }
  }
  return found;
}

function validValue(slot: Slot, value: unknown, faults: Fault[]): unknown {
  if (slot.is === 'value') return checkValue(slot.column, spelt(slot.column, value), faults);
  if (slot.is === 'record') return value;
  const { name, list, shape } = slot;
  const one = (each: unknown, path: readonly (string | number)[]) => {
    const found: Fault[] = [];
    if (isObject(each)) {
      const fields = validFields(shape.name, shape.fields, each, found);
      faults.push(...found.map((fault) => nested(fault, ...path)));
      return fields;
    }
    faults.push({ pointer: pointer(...path), code: 'TYPE', detail: `${path.join('/')} must be an object` });
    return each;
  };
  if (!list) return one(value, [name]);
  if (Array.isArray(value)) return value.map((each, index) => one(each, [name, index]));
  faults.push({ pointer: pointer(name), code: 'TYPE', detail: `${name} must be a list` });
  return value;
}

const ID = scalars.get('ID');

/** Ids are numbers in REST and texts in GraphQL: a function sees texts. */
function spelt({ type, list }: Column, value: unknown): unknown {
  if (type !== ID) return value;
  const text = (each: unknown) => (Number.isSafeInteger(each) ? String(each) : each);
  return list && Array.isArray(value) ? value.map(text) : text(value);
}

type ReadRecords = (selection: Selection, resource: Resource, keys: readonly unknown[]) => Program<Listing>;

/** What the function gave back, as the schema file promises it; records are read as the caller asked for them. */
export function* answerOf(
  slot: Slot,
  wanted: Wanted,
  value: unknown,
  where: string,
  read: ReadRecords,
): Program<unknown> {
  if (value === undefined || value === null) {
    if (slot.required) throw new Error(`${where} answered nothing, and must answer with ${typeOf(slot)}`);
    return null;
  }
  if (slot.list && !Array.isArray(value)) throw mistake(where, slot, value);
  if (slot.is === 'value') {
    const faults: Fault[] = [];
    const checked = checkValue(slot.column, spelt(slot.column, value), faults);
    if (faults[0]) throw new Error(`${where} answered what does not fit: ${faults[0].detail}`);
    return checked;
  }
  const values: readonly unknown[] = slot.list ? (value as unknown[]) : [value];
  const answers =
    slot.is === 'record'
      ? yield* recordsOf(slot.resource, wanted, values, where, read)
      : yield* objectsOf(slot, wanted, values, where, read);
  if (slot.list) return answers.filter((each) => each !== null);
  if (answers[0] === null && slot.required)
    throw new Error(`${where} answered with a record that is not there, or not for the caller`);
  return answers[0];
}

/** By their keys: what a function holds may be older than what it has written since, and more than the caller may see. */
function* recordsOf(
  resource: Resource,
  wanted: Wanted,
  values: readonly unknown[],
  where: string,
  read: ReadRecords,
): Program<(Node | null)[]> {
  const { name } = resource.key;
  const keys = values.map((each) => (isObject(each) ? each[name] : each));
  if (keys.some((key) => typeof key !== 'string' && typeof key !== 'number'))
    throw new Error(`${where} must answer with records of ${resource.plural}, or with their keys`);
  if (wanted.is !== 'record') throw new Error(`nothing is wanted of ${where}`);
  const typed = keys.map((key) => keyAs(resource, key));
  const { selection } = wanted;
  const isKnown = selection.columns.includes(resource.key);
  const whole = isKnown ? selection : { ...selection, columns: [...selection.columns, resource.key] };
  const { nodes } = yield* read(whole, resource, [...new Set(typed)]);
  const byKey = new Map(nodes.map((node) => [node[name], node]));
  return typed.map((key) => byKey.get(key) ?? null);
}

function keyAs({ key }: Resource, given: unknown): unknown {
  return key.origin.by === 'serial' ? Number(given) : String(given);
}

function* objectsOf(
  slot: Slot & { readonly is: 'object' },
  wanted: Wanted,
  values: readonly unknown[],
  where: string,
  read: ReadRecords,
): Program<Record<string, unknown>[]> {
  const answers: Record<string, unknown>[] = [];
  for (const each of values) {
    if (!isObject(each)) throw mistake(where, slot, each);
    const answer: Record<string, unknown> = {};
    for (const field of slot.shape.fields) {
      const asked = wanted.is === 'object' ? wanted.fields.get(field.name) : undefined;
      if (asked)
        answer[field.name] = yield* answerOf(field, asked, each[field.name], `${where}.${field.name}`, read);
    }
    answers.push(answer);
  }
  return answers;
}

function mistake(where: string, slot: Slot, value: unknown): Error {
  return new Error(
    `${where} must answer with ${typeOf(slot)}, not ${Array.isArray(value) ? 'a list' : `a ${typeof value}`}`,
  );
}

function typeOf(slot: Slot): string {
  const name =
    slot.is === 'value' ? slot.column.type.name : slot.is === 'record' ? slot.resource.name : slot.shape.name;
  return slot.list ? `a list of ${name}` : name;
}

function isObject(value: unknown): value is Input {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
