/** Answers that the executor completes: what they tell of the schema is bounded as other answers are, and long lists leave others their turns. */

import {
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
} from 'graphql';
import type { DuetError } from '../base/errors.ts';
import { then } from '../base/soon.ts';
import { AROUND_OBJECT, bytesOfName, bytesOfWritten } from '../engine/sizes.ts';
import { answerTooLarge, deadlineExceeded } from '../storage/faults.ts';
import { LongLists } from './long-lists.ts';

/** So many are completed in turns even if nothing was before them: the root types have some fields of each type. */
const MANY = 100;

type Field = GraphQLField<unknown, unknown>;
type Resolver = NonNullable<Field['resolve']>;

/** One execution, which may ask for the schema, too: what it has of that so far, and what is still to be told. */
export class Completing {
  readonly #most: number;
  readonly #deadline: number;
  readonly #lists = new LongLists(() => this.#isRefused());
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

  /** Of what is refused, the executor need not come to the end. */
  get refused(): Promise<void> {
    return this.#lists.refused;
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

  #isRefused(): boolean {
    if (performance.now() > this.#deadline) this.refusal ??= deadlineExceeded();
    return this.refusal !== undefined;
  }
}

/** What an answer has of a value beside what is asked of it. */
function bytesIn(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, each) => sum + bytesIn(each), AROUND_OBJECT);
  return typeof value === 'object' && value !== null ? AROUND_OBJECT : bytesOfWritten(value);
}
