/** Whose statements they are: those of requests that somebody looks at are counted, and known where they run. */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { SpanContext } from '../base/tracer.ts';
import { type Position, Prefetched, type Program, type Seen, type Storage } from './storage.ts';

/** What belongs to one request. */
export interface Scope extends Seen {
  readonly requestId: string;
  statements: number;
  /** Where the request is traced. */
  readonly span?: SpanContext | undefined;
  /** Known once the request was read. */
  position: Position | undefined;
}

/** Whose the statement is that is just being sent; statements are sent without a pause after the program that asks for them. */
let current: Scope | undefined;

export function currentScope(): Scope | undefined {
  return current;
}

/** A statement that a database takes besides those that a program has asked for. */
export function countOneMore(): void {
  if (current) current.statements++;
}

/** Work that does not wait, done for somebody. */
export function within<T>(scope: Scope | undefined, work: () => T): T {
  const before = current;
  current = scope;
  try {
    return work();
  } finally {
    current = before;
  }
}

/**
 * Whose program it is, is known when it is handed in: it may run later, in a batch with those of others. A program that is
 * run again counts again, because that is what it took.
 */
export function scoped<T>(
  program: () => Program<T>,
  scope: Scope | undefined,
  counts = false,
): () => Program<T> {
  return scope ? () => watched(program(), scope, counts) : program;
}

function* watched<T>(running: Program<T>, scope: Scope, counts: boolean): Program<T> {
  let step = running.next();
  while (!step.done) {
    if (counts) scope.statements += step.value.length;
    try {
      current = scope;
      // Whoever waits for an answer lets others send theirs.
      queueMicrotask(forget);
      const rows = yield step.value;
      current = undefined;
      if (counts && rows instanceof Prefetched) scope.statements -= step.value.length;
      step = running.next(rows);
    } catch (error) {
      current = undefined;
      step = running.throw(error);
    }
  }
  return step.value;
}

function forget(): void {
  current = undefined;
}

export class Scopes {
  readonly #scopes = new AsyncLocalStorage<Scope>();
  /** How many are looked at; mostly none, and then nobody need be looked for. */
  #open = 0;

  /** Does as the storage that it stands before, and knows for whom. `isPrimary`: no replica is asked. */
  around(storage: Storage, isPrimary = false): Storage {
    const seenBy = storage.replicas && !isPrimary ? (scope: Scope) => scope : () => undefined;
    return {
      prepare: (statement) => {
        const ask = storage.prepare(statement);
        return (value, deadline) => {
          const scope = this.scope;
          if (!scope) return ask(value, deadline);
          scope.statements++;
          return within(scope, () => ask(value, deadline, seenBy(scope)));
        };
      },
      read: (program, steps, deadline) => {
        const { scope } = this;
        if (!scope) return storage.read(program, steps, deadline);
        return within(scope, () =>
          storage.read(scoped(program, scope, true), steps, deadline, seenBy(scope)),
        );
      },
      write: (program, steps, deadline) => {
        const { scope } = this;
        if (!scope) return storage.write(program, steps, deadline);
        return within(scope, () =>
          storage.write(scoped(program, scope, true), steps, deadline, seenBy(scope)),
        );
      },
      delays: (select) => storage.delays(select),
      snapshot: () => storage.snapshot(),
      ping: (deadline) => storage.ping(deadline),
      close: () => storage.close(),
    };
  }

  async during<T>(scope: Scope, work: () => Promise<T>): Promise<T> {
    this.#open++;
    try {
      return await this.#scopes.run(scope, work);
    } finally {
      this.#open--;
    }
  }

  /** That of the request which is being worked on. */
  get scope(): Scope | undefined {
    return this.#open === 0 ? undefined : this.#scopes.getStore();
  }
}
