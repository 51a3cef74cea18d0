/** Introspection: made and written in turns, so that nobody waits for all of it, and bounded as other answers are. */

import {
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
} from 'graphql';
import type { DuetError } from '../base/errors.ts';
import { hasParts, memberOf } from '../base/parts.ts';
import { jsonOf } from '../base/passed.ts';
import { Turns } from '../base/turns.ts';
import { AROUND_OBJECT, bytesOfName, bytesOfWritten } from '../engine/sizes.ts';
import { costOfAnswer } from '../http/guard/rate-limits.ts';
import { answerTooLarge, deadlineExceeded } from '../storage/faults.ts';

/** A list of so many is told in turns even if it is the first: the root types have some fields of each type. */
const MANY = 100;

/** Whether a document asks for the schema, which is long and says the same in many places. */
export function describes(text: string): boolean {
  return /__(?:schema|type)\b/.test(text);
}

/** Whether it asks for nothing else: what it is answered with is the same for every caller. */
export function onlyDescribes({ operation, selectionSet }: OperationDefinitionNode): boolean {
  const isOfSchema = /^__(?:schema|type|typename)$/;
  return (
    operation === 'query' &&
    selectionSet.selections.every((each) => each.kind === Kind.FIELD && isOfSchema.test(each.name.value))
  );
}

type Field = GraphQLField<unknown, unknown>;

/** One execution that may ask for the schema: what it has of it so far, and what is still to be told. */
export class Describing {
  readonly #most: number;
  readonly #deadline: number;
  readonly #turns = new Turns();
  readonly #counted = new Map<Field, Field>();
  /** In the order in which they are asked for. */
  #waiting: (() => void)[] = [];
  #bytes = 0;
  /** Why there is no answer: it would be too long, or has taken too long. */
  refusal: DuetError | undefined;

  constructor(most: number, deadline: number) {
    this.#most = most;
    this.#deadline = deadline;
  }

  /** The same schema, as the executor is to describe it: whatever is asked of a type comes by here. */
  of(schema: GraphQLSchema): GraphQLSchema {
    const getField = (parent: GraphQLNamedType, name: string) => {
      const field = schema.getField(parent as Parameters<GraphQLSchema['getField']>[0], name);
      return field?.resolve && parent.name.startsWith('__') ? this.#counting(field) : field;
    };
    return Object.create(schema, { getField: { value: getField } });
  }

  #counting(field: Field): Field {
    const known = this.#counted.get(field);
    if (known) return known;
    const resolve: Field['resolve'] = (source, args, context, info) => {
      const value = field.resolve?.(source, args, context, info);
      this.#count(bytesOfName(String(info.path.key)) + bytesIn(value));
      return Array.isArray(value) ? this.#list(value) : value;
    };
    const counting: Field = Object.create(field, { resolve: { value: resolve } });
    this.#counted.set(field, counting);
    return counting;
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#most) this.refusal ??= answerTooLarge();
  }

  /** Promises where it would take too long at once. Of what is refused, nothing more is told. */
  #list(values: readonly unknown[]): readonly unknown[] {
    if (this.refusal) return [];
    if (values.length < MANY && !this.#turns.isOver) return values;
    return values.map((value) => {
      const { promise, resolve } = Promise.withResolvers();
      if (this.#waiting.push(() => resolve(value)) === 1) void this.#keep();
      return promise;
    });
  }

  async #keep(): Promise<void> {
    for (const next of this.#waiting) {
      const wait = this.#turns.next();
      if (wait) await wait;
      if (performance.now() > this.#deadline) this.refusal ??= deadlineExceeded();
      next();
      // The executor completes it before this goes on.
      await undefined;
    }
    this.#waiting = [];
  }
}

/** What an answer has of a value beside what is asked of it. */
function bytesIn(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, each) => sum + bytesIn(each), AROUND_OBJECT);
  return typeof value === 'object' && value !== null ? AROUND_OBJECT : bytesOfWritten(value);
}

/** The levels of an answer above single fields: `data`, `__schema`, `types`, one of them, `fields`. */
const LEVELS = 5;

/** The data of a long answer as JSON, and what it costs; undefined where that takes too long. */
export async function written(
  data: unknown,
  deadline: number,
): Promise<{ json: string; units: number } | undefined> {
  const turns = new Turns();
  const pieces: string[] = [];
  let units = 0;
  function* write(value: object, levels: number): Generator<string> {
    const isList = Array.isArray(value);
    if (!isList) units += costOfAnswer({});
    yield isList ? '[' : '{';
    let separator = '';
    for (const [name, inner] of isList ? value.entries() : Object.entries(value)) {
      if (levels > 1 && hasParts(inner)) {
        yield isList ? separator : `${separator}${JSON.stringify(name)}:`;
        yield* write(inner, levels - 1);
      } else {
        units += costOfAnswer(inner);
        const member = memberOf(isList, name, inner);
        if (member === '') continue;
        yield separator + member;
      }
      separator = ',';
    }
    yield isList ? ']' : '}';
  }
  for (const piece of hasParts(data) ? write(data, LEVELS) : [jsonOf(data)]) {
    pieces.push(piece);
    const wait = turns.next();
    if (wait) await wait;
    if (wait && performance.now() > deadline) return undefined;
  }
  const json = pieces.join('');
  await turns.next();
  return { json, units };
}
