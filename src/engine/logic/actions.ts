/** What an action is given and what it answers, held against the schema file. */

import { cited, type Fault, isFull, nested, pointer, validationFailed } from '../../base/errors.ts';
import { readKey } from '../../schema/keys.ts';
import type { ActionField, Column, Resource, Slot } from '../../schema/model.ts';
import { scalars } from '../../schema/scalars.ts';
import { didYouMean } from '../../schema/suggest.ts';
import { checkValue, defaultOf } from '../../schema/values.ts';
import type { Program } from '../../storage/storage.ts';
import type { Budget } from '../budget.ts';
import type { Input, Selection, Wanted } from '../operation.ts';
import type { Node } from '../read/read.ts';
import { AROUND_OBJECT, bytesOfJson, bytesOfName, bytesOfWritten, timesOf } from '../sizes.ts';

/** Every argument, with its default or null where it was left out; all that is wrong is told at once. */
export function validArguments({ name, arguments: slots }: ActionField, given: Input, budget: Budget): Input {
  const faults: Fault[] = [];
  const args = validFields(name, slots, given, faults, budget);
  if (faults.length > 0) throw validationFailed(faults);
  return args;
}

function validFields(
  of: string,
  slots: readonly Slot[],
  given: Input,
  faults: Fault[],
  budget: Budget,
): Input {
  for (const name of Object.keys(given)) {
    if (isFull(faults)) break;
    if (slots.some((slot) => slot.name === name)) continue;
    const names = slots.map((slot) => slot.name);
    const cure = didYouMean(name, names) || ` There are: ${names.join(', ') || 'none'}.`;
    const detail = `"${cited(name)}" is not known to ${of}.${cure}`;
    faults.push({ pointer: pointer(name), code: 'UNKNOWN', detail });
  }
  const found: Record<string, unknown> = {};
  for (const slot of slots) {
    const sent = Object.hasOwn(given, slot.name) ? given[slot.name] : undefined;
    const value = sent === undefined && slot.is === 'value' ? defaultOf(slot.column) : sent;
    if (value !== undefined && value !== null) found[slot.name] = validValue(slot, value, faults, budget);
    else {
      found[slot.name] = null;
      if (slot.required)
        faults.push({ pointer: pointer(slot.name), code: 'REQUIRED', detail: `${slot.name} is required` });
    }
  }
  return found;
}

function validValue(slot: Slot, value: unknown, faults: Fault[], budget: Budget): unknown {
  if (slot.is === 'value') return checkValue(slot.column, spelt(slot.column, value), faults);
  if (slot.is === 'record') return value;
  const { name, list, shape } = slot;
  const one = (each: unknown, path: readonly (string | number)[]) => {
    const found: Fault[] = [];
    if (isObject(each)) {
      const fields = validFields(shape.name, shape.fields, each, found, budget);
      faults.push(...found.map((fault) => nested(fault, ...path)));
      return fields;
    }
    faults.push({ pointer: pointer(...path), code: 'TYPE', detail: `${path.join('/')} must be an object` });
    return each;
  };
  budget.pass(list && Array.isArray(value) ? value.length : 1);
  if (!list) return one(value, [name]);
  if (Array.isArray(value))
    return value.map((each, index) => (isFull(faults) ? each : one(each, [name, index])));
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

/** Reads records by their keys, which the answer has so often each. */
export type ReadRecords = (
  selection: Selection,
  resource: Resource,
  keys: ReadonlyMap<unknown, number>,
) => Program<readonly Node[]>;

/** What the function gave back, as the schema file promises it; records are read as the caller asked for them. */
export function* answerOf(
  { name, root, answer: slot }: ActionField,
  wanted: Wanted,
  value: unknown,
  budget: Budget,
  read: ReadRecords,
  hidden: (resource: Resource) => Error,
): Program<unknown> {
  const answer = new Answer(hidden);
  const make = answer.take(slot, wanted, value, `${root}.${name}`);
  budget.take(answer.objects, (isExact) => answer.bytes(isExact));
  for (const { selection, resource, often, found } of answer.places.values()) {
    for (const node of yield* read(selection, resource, often)) found.set(node[resource.key.name], node);
  }
  return make();
}

/** The records of one place of an answer, however many objects have it: they are read together. */
interface Place {
  readonly resource: Resource;
  readonly selection: Selection;
  /** How often the answer has the record of each key; under undefined, what names none. */
  readonly often: Map<unknown, number>;
  readonly found: Map<unknown, Node>;
}

/** What is to be answered, once the records are read. */
type Make = () => unknown;

/** Holds what a function gave back against the file, and finds out which records it has, and how long it is. */
class Answer {
  readonly places = new Map<Wanted, Place>();
  /** Those of plain types; records are counted as they are read. */
  objects = 0;
  #around = 0;
  readonly #values: { readonly value: unknown; readonly times: number }[] = [];
  readonly #hidden: (resource: Resource) => Error;

  constructor(hidden: (resource: Resource) => Error) {
    this.#hidden = hidden;
  }

  bytes(isExact: boolean): number {
    const bytesOfValue = isExact ? bytesOfWritten : bytesOfJson;
    return this.#values.reduce((sum, { value, times }) => sum + times * bytesOfValue(value), this.#around);
  }

  take(slot: Slot, wanted: Wanted, value: unknown, where: string): Make {
    if (value === undefined || value === null) {
      if (slot.required) throw new Error(`${where} answered nothing, and must answer with ${typeOf(slot)}`);
      return this.#value(wanted, null);
    }
    if (slot.list && !Array.isArray(value)) throw mistake(where, slot, value);
    if (slot.is === 'value') {
      const faults: Fault[] = [];
      const checked = checkValue(slot.column, spelt(slot.column, value), faults);
      if (faults[0]) throw new Error(`${where} answered what does not fit: ${faults[0].detail}`);
      return this.#value(wanted, checked);
    }
    const take = (each: unknown): Make =>
      slot.is === 'record'
        ? this.#record(slot.resource, wanted, each, where)
        : this.#object(slot, wanted, each, where);
    if (slot.list) {
      const made = (value as unknown[]).map(take);
      return () => made.map((make) => make()).filter((each) => each !== null);
    }
    const make = take(value);
    if (slot.is !== 'record' || !slot.required) return make;
    return () => {
      const record = make();
      if (record === null) throw this.#hidden(slot.resource);
      return record;
    };
  }

  #value(wanted: Wanted, value: unknown): Make {
    this.#values.push({ value, times: timesIn(wanted) });
    return () => value;
  }

  /** By its key: what a function holds may be older than what it has written since, and more than the caller may see. */
  #record(resource: Resource, wanted: Wanted, value: unknown, where: string): Make {
    const { key } = resource;
    const given = isObject(value) ? value[key.name] : value;
    if (typeof given !== 'string' && typeof given !== 'number')
      throw new Error(`${where} must answer with records of ${resource.plural}, or with their keys`);
    // It may be as a client gave it: what names no record is looked for all the same, for who may see none to be told so.
    const known = readKey(key, String(given));
    const { often, found } = this.#place(resource, wanted, where);
    often.set(known, (often.get(known) ?? 0) + 1);
    return () => found.get(known) ?? null;
  }

  #place(resource: Resource, wanted: Wanted, where: string): Place {
    let place = this.places.get(wanted);
    if (place) return place;
    if (wanted.is !== 'record') throw new Error(`nothing is wanted of ${where}`);
    const { selection } = wanted;
    const isKnown = selection.columns.includes(resource.key);
    const whole = isKnown ? selection : { ...selection, columns: [...selection.columns, resource.key] };
    place = { resource, selection: whole, often: new Map(), found: new Map() };
    this.places.set(wanted, place);
    return place;
  }

  #object(slot: Slot & { readonly is: 'object' }, wanted: Wanted, value: unknown, where: string): Make {
    if (!isObject(value)) throw mistake(where, slot, value);
    this.objects += timesIn(wanted);
    this.#around += timesIn(wanted) * AROUND_OBJECT;
    const made: (readonly [string, Make])[] = [];
    for (const field of slot.shape.fields) {
      const asked = wanted.is === 'object' ? wanted.fields.get(field.name) : undefined;
      if (!asked) continue;
      this.#around += timesIn(asked) * bytesOfName(field.name);
      made.push([field.name, this.take(field, asked, value[field.name], `${where}.${field.name}`)]);
    }
    return () => Object.fromEntries(made.map(([name, make]) => [name, make()]));
  }
}

function timesIn(wanted: Wanted): number {
  return wanted.is === 'record' ? timesOf(wanted.selection) : wanted.times;
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
