/** Operations and errors as text, for another thread: parts of the Model become their numbers in it. */

import { type Code, DuetError } from '../errors.ts';
import type { Model } from '../schema/model.ts';
import { ResultOf, WriteFailed } from './transaction.ts';

/**
 * The member that marks what plain JSON cannot say. A client's own object that has it is marked too, so that nobody
 * can pass off a value as a part of the Model.
 */
const MARK = '$';

type Marked =
  | { readonly $: 'part'; readonly number: number }
  | { readonly $: 'result'; readonly write: string; readonly field: string }
  | { readonly $: 'number'; readonly text: string }
  | { readonly $: 'plain'; readonly entries: readonly (readonly [string, unknown])[] }
  | { readonly $: 'failed'; readonly index: number; readonly reason: unknown }
  | {
      readonly $: 'error';
      readonly code: Code | undefined;
      readonly message: string;
      readonly stack: string | undefined;
      readonly cause: unknown;
      readonly extras: object;
    };

/** Both sides make one from the same schema file, and so number its parts alike. */
export class Wire {
  readonly #parts: readonly object[];
  readonly #numbers: ReadonlyMap<object, number>;

  constructor(model: Model) {
    this.#parts = model.resources.flatMap((resource) => [resource, resource.version, ...resource.fields]);
    this.#numbers = new Map(this.#parts.map((part, number) => [part, number]));
  }

  write(value: unknown): string {
    return JSON.stringify(this.#encode(value));
  }

  read(text: string): unknown {
    return this.#decode(JSON.parse(text));
  }

  #encode(value: unknown): unknown {
    // JSON would make null of it, and null is another fault, or none.
    if (typeof value === 'number' && !Number.isFinite(value)) return { $: 'number', text: String(value) };
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((each) => this.#encode(each));
    const number = this.#numbers.get(value);
    if (number !== undefined) return { $: 'part', number };
    if (value instanceof Error) return this.#encodeError(value);
    if (value instanceof ResultOf) return { $: 'result', write: value.write, field: value.field };
    if (Object.hasOwn(value, MARK))
      return { $: 'plain', entries: Object.entries(value).map(([name, each]) => [name, this.#encode(each)]) };
    // A client may call a member `__proto__`, which only an object without a prototype takes as any other.
    const copy = Object.create(null) as Record<string, unknown>;
    for (const name of Object.keys(value))
      copy[name] = this.#encode((value as Record<string, unknown>)[name]);
    return copy;
  }

  #encodeError(error: Error): unknown {
    if (error instanceof WriteFailed)
      return { $: 'failed', index: error.index, reason: this.#encode(error.reason) };
    const { message, stack } = error;
    const cause = this.#encode(error.cause);
    if (!(error instanceof DuetError))
      return { $: 'error', code: undefined, message, stack, cause, extras: {} };
    const { code, errors, operation, headers } = error;
    return { $: 'error', code, message, stack: undefined, cause, extras: { errors, operation, headers } };
  }

  #decode(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index++) value[index] = this.#decode(value[index]);
      return value;
    }
    if (Object.hasOwn(value, MARK)) return this.#decodeMarked(value as Marked);
    const record = value as Record<string, unknown>;
    for (const name of Object.keys(record)) record[name] = this.#decode(record[name]);
    return record;
  }

  #decodeMarked(marked: Marked): unknown {
    switch (marked.$) {
      case 'part':
        return this.#parts[marked.number];
      case 'result':
        return new ResultOf(marked.write, marked.field);
      case 'number':
        return Number(marked.text);
      case 'plain':
        return Object.fromEntries(marked.entries.map(([name, each]) => [name, this.#decode(each)]));
      case 'failed':
        return new WriteFailed(marked.index, this.#decode(marked.reason) as DuetError);
      case 'error': {
        const { code, message, stack, cause, extras } = marked;
        const error = code ? new DuetError(code, message, extras) : new Error(message);
        if (stack !== undefined) error.stack = stack;
        if (cause !== undefined) error.cause = this.#decode(cause);
        return error;
      }
    }
  }
}
