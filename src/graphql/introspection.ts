/** Introspection: made and written in turns, so that nobody waits for all of it, and bounded as other answers are; beside it, long lists have such turns. */

import {
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
} from 'graphql';
import type { DuetError } from '../base/errors.ts';
import { hasParts, memberOf } from '../base/parts.ts';
import { jsonOf } from '../base/passed.ts';
import { then } from '../base/soon.ts';
import { Turns } from '../base/turns.ts';
import { AROUND_OBJECT, bytesOfName, bytesOfWritten } from '../engine/sizes.ts';
import { costOfAnswer } from '../http/guard/rate-limits.ts';
import { answerTooLarge, deadlineExceeded } from '../storage/faults.ts';
import { LongLists } from './long-lists.ts';

/** So many are completed in turns even if nothing was before them: the root types have some fields of each type. */
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
type Resolver = NonNullable<Field['resolve']>;

/** One execution, which may ask for the schema: what it has of that so far, and what is still to be told. */
export class Describing {
  readonly #most: number;
  readonly #deadline: number;
  readonly #lists = new LongLists(() => this.#refused());
  /** As they are to be resolved. */
  readonly #fields = new Map<Field, Field>();
  #bytes = 0;
  /** In the lists of data so far. */
  #objects = 0;
  /** Why there is no answer: it would be too long, or has taken too long. */
  refusal: DuetError | undefined;

  constructor(most: number, deadline: number) {
    this.#most = most;
    this.#deadline = deadline;
  }

  /** The same schema, as the executor is to describe it, and to complete its lists: whatever is asked of a type comes by here. */
  of(schema: GraphQLSchema, otherwise: Resolver): GraphQLSchema {
    const getField = (parent: GraphQLNamedType, name: string) => {
      const field = schema.getField(parent as Parameters<GraphQLSchema['getField']>[0], name);
      if (!field) return field;
      const known = this.#fields.get(field);
      if (known) return known;
      const isOfSchema = parent.name.startsWith('__');
      const made = isOfSchema ? this.#counting(field) : this.#completing(field, otherwise);
      this.#fields.set(field, made);
      return made;
    };
    return Object.create(schema, { getField: { value: getField } });
  }

  #completing(field: Field, otherwise: Resolver): Field {
    const isListOfObjects = isListType(getNullableType(field.type)) && isObjectType(getNamedType(field.type));
    if (!isListOfObjects) return field;
    const own = field.resolve ?? otherwise;
    const resolve: Resolver = (...asked) => then(own(...asked), (value) => this.#completed(value));
    return Object.create(field, { resolve: { value: resolve } });
  }

  #counting(field: Field): Field {
    const own = field.resolve;
    if (!own) return field;
    const resolve: Resolver = (source, args, context, info) => {
      const value = own(source, args, context, info);
      this.#count(bytesOfName(String(info.path.key)) + bytesIn(value));
      return Array.isArray(value) ? this.#told(value) : value;
    };
    return Object.create(field, { resolve: { value: resolve } });
  }

  /** Of what is refused, nothing more is told. */
  #told(values: readonly unknown[]): readonly unknown[] {
    if (this.refusal) return [];
    return values.length < MANY && !this.#lists.isOver ? values : this.#lists.inTurns(values);
  }

  /** Which of several errors is told first hangs on what is completed at once: by how much there is, and never by how long it took. */
  #completed(value: unknown): unknown {
    if (!Array.isArray(value)) return value;
    this.#objects += value.length;
    return this.#objects < MANY ? value : this.#lists.inTurns(value);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#most) this.refusal ??= answerTooLarge();
  }

  #refused(): DuetError | undefined {
    if (performance.now() > this.#deadline) this.refusal ??= deadlineExceeded();
    return this.refusal;
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
