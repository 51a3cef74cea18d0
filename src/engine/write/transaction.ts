/** Several writes in one transaction: all of them, or none. */

import { DuetError, type Fault, nested, pointer } from '../../base/errors.ts';
import type { Program } from '../../storage/storage.ts';
import type { Budget } from '../budget.ts';
import type { Input, Write } from '../operation.ts';
import type { Access } from '../policy/access.ts';
import type { Permitted } from '../policy/permitted.ts';
import type { Node } from '../read/read.ts';
import { Collision } from './collision.ts';
import { performAmong, type Written } from './perform.ts';

/** Stands in an input for a value of an earlier result. */
export class ResultOf {
  /** The name of the earlier write. */
  readonly write: string;
  readonly field: string;

  constructor(write: string, field: string) {
    this.write = write;
    this.field = field;
  }
}

export interface NamedWrite<W extends Write = Write> {
  readonly operation: W;
  /** The name under which later writes can refer to its result. */
  readonly as: string | undefined;
}

/** The write at this index failed, and so none of them happened. */
export class WriteFailed extends Error {
  readonly index: number;
  readonly reason: DuetError | Collision;

  constructor(index: number, reason: DuetError | Collision) {
    super(`write ${index} of a transaction failed`);
    this.index = index;
    this.reason = reason;
  }
}

export function* transact(
  access: Access,
  writes: readonly NamedWrite<Permitted<Write>>[],
  budget: Budget,
): Program<Written[]> {
  const results = new Map<string, Node>();
  const nodes: Written[] = [];
  for (const [index, { operation, as }] of writes.entries()) {
    try {
      const node = yield* performAmong(access, withResults(access, operation, results, budget), budget);
      nodes.push(node);
      if (as !== undefined && !Array.isArray(node)) results.set(as, node);
    } catch (error) {
      // Anything else is the storage's to judge: it may run the whole transaction again.
      if (error instanceof Collision)
        throw new WriteFailed(index, index > 0 ? afterAll(error, results) : error);
      if (error instanceof DuetError) throw new WriteFailed(index, error);
      throw error;
    }
  }
  return nodes;
}

/** Writes before it can have brought what it refers to by a result of theirs, or by a natural key. */
function afterAll(collision: Collision, results: ReadonlyMap<string, Node>): Collision {
  const told = new Set(Array.from(results.values(), Object.values).flat());
  return collision.after(({ target }, key) => target.key.origin.by === 'client' || told.has(key));
}

function withResults(
  access: Access,
  operation: Permitted<Write>,
  results: ReadonlyMap<string, Node>,
  budget: Budget,
): Permitted<Write> {
  const resolver = new Resolver(results, budget);
  const filled = resolver.operation(operation);
  const [first] = resolver.faults;
  if (first) throw access.denied(`${first.detail}.`, resolver.faults);
  return filled;
}

/** Puts values of earlier results where they are wanted, inside of nested records too. */
class Resolver {
  readonly faults: Fault[] = [];
  readonly #results: ReadonlyMap<string, Node>;
  readonly #budget: Budget;

  constructor(results: ReadonlyMap<string, Node>, budget: Budget) {
    this.#results = results;
    this.#budget = budget;
  }

  operation(operation: Permitted<Write>): Permitted<Write> {
    switch (operation.do) {
      case 'create':
      case 'upsert':
      case 'update':
      case 'update many':
        return { ...operation, input: this.#value(operation.input, []) as Input };
      case 'create many':
      case 'upsert many':
        return { ...operation, inputs: this.#value(operation.inputs, []) as Input[] };
      case 'act':
        return { ...operation, args: this.#value(operation.args, []) as Input };
      default:
        return operation;
    }
  }

  #value(value: unknown, path: readonly (string | number)[]): unknown {
    if (value instanceof ResultOf) return this.#result(value, path);
    if (Array.isArray(value)) return value.map((each, index) => this.#value(each, [...path, index]));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, this.#value(each, [...path, name])]),
    );
  }

  /** What is hidden from the caller is not null: it would be stored as if the caller had said so. */
  #result({ write, field }: ResultOf, path: readonly (string | number)[]): unknown {
    const found = this.#results.get(write)?.[field];
    if (found === undefined)
      this.faults.push({
        pointer: pointer(...path),
        code: 'FORBIDDEN',
        detail: `You may not read "${write}.${field}", so $ref has no value`,
      });
    this.#budget.give(found, 1);
    return found;
  }
}

/** The same error, told of the write at this index. */
export function failedAt(index: number, error: DuetError): DuetError {
  // What has no place in the body is about the operation: its filter, its order, what it asks to be answered.
  const inside = ({ pointer }: Fault) => (pointer === undefined ? [] : ['body']);
  const errors = error.errors?.map((fault) => nested(fault, 'operations', index, ...inside(fault)));
  const { headers } = error;
  const told = new DuetError(error.code, `Operation ${index}: ${error.message}`, {
    operation: index,
    ...(errors && { errors }),
    ...(headers && { headers }),
  });
  if (error.cause !== undefined) told.cause = error.cause;
  return told;
}
