/** A writer in a thread of its own: while a commit waits for the disk, this thread goes on serving reads. */

import { DuetError } from '../errors.ts';
import type { Model } from '../schema/model.ts';
import { portable } from '../schema/portable.ts';
import type { Deadline } from '../storage/storage.ts';
import { MOST_WAITING, tooManyWaiting } from '../storage/write-queue.ts';
import type { Caller } from './caller.ts';
import type { Idempotency } from './idempotency.ts';
import type { Write } from './operation.ts';
import type { NamedWrite, Written } from './transaction.ts';
import { Wire } from './wire.ts';
import type { Asked, Call, Writer } from './writer.ts';
import type { Answers, Opening } from './writer-thread.ts';

export interface ThreadWriterOptions {
  /** Where the code of the thread is, without the extension, which a build changes. */
  readonly code: string;
  /** The file of the SQLite database. */
  readonly path: string;
  readonly model: Model;
  /** Whether the rules of the model hold. */
  readonly authentication: boolean;
  /** Objects in one answer. */
  readonly most: number;
  /** What writes as long as the thread cannot. */
  readonly here: Writer;
  /** Told how long commits in the thread take. */
  readonly committed?: ((ms: number) => void) | undefined;
  /** Told when the thread is lost. */
  readonly lost: (cause: Error) => void;
  readonly trace?: ((sql: string) => void) | undefined;
}

interface Waiting {
  readonly resolve: (written: Written | Written[]) => void;
  readonly reject: (error: unknown) => void;
}

export class ThreadWriter implements Writer {
  readonly #wire: Wire;
  readonly #here: Writer;
  readonly #committed: ((ms: number) => void) | undefined;
  readonly #told: (cause: Error) => void;
  readonly #trace: ((sql: string) => void) | undefined;
  readonly #waiting = new Map<number, Waiting>();
  readonly #worker: Worker;
  /** Until the thread has started, which takes a while, and should it ever be lost, writes happen here. */
  #ready = false;
  #calls: Call[] = [];
  #lastId = 0;
  #closed: (() => void) | undefined;

  constructor(options: ThreadWriterOptions) {
    const { code, path, model, authentication, most, here, committed, lost, trace } = options;
    this.#wire = new Wire(model);
    this.#here = here;
    this.#committed = committed;
    this.#told = lost;
    this.#trace = trace;
    this.#worker = new Worker(code);
    this.#worker.addEventListener('message', ({ data }) => this.#heard(data as Answers));
    this.#worker.addEventListener('error', ({ message }) => this.#lost(message));
    const traced = trace !== undefined;
    const opening: Opening = { path, model: portable(model), authentication, most, traced };
    this.#worker.postMessage(opening);
  }

  write(
    caller: Caller,
    operation: Write,
    idempotency: Idempotency | undefined,
    deadline: Deadline,
  ): Promise<Written> {
    if (!this.#ready) return this.#here.write(caller, operation, idempotency, deadline);
    return this.#ask({ caller, operation, idempotency, deadline }) as Promise<Written>;
  }

  transact(
    caller: Caller,
    writes: readonly NamedWrite[],
    idempotency: Idempotency | undefined,
    deadline: Deadline,
  ): Promise<Written[]> {
    if (!this.#ready) return this.#here.transact(caller, writes, idempotency, deadline);
    return this.#ask({ caller, writes, idempotency, deadline }) as Promise<Written[]>;
  }

  /** Whatever was asked before is answered first: messages are read in their order. */
  async close(): Promise<void> {
    if (this.#ready)
      await new Promise<void>((resolve) => {
        this.#send();
        this.#closed = resolve;
        this.#worker.postMessage('');
      });
    this.#worker.terminate();
  }

  #ask(call: Asked): Promise<Written | Written[]> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.size >= MOST_WAITING) return reject(tooManyWaiting());
      const id = ++this.#lastId;
      this.#waiting.set(id, { resolve, reject });
      // After all requests that have arrived by now: one message for all of them.
      const deadline = performance.timeOrigin + call.deadline;
      if (this.#calls.push({ ...call, id, deadline }) === 1) setImmediate(() => this.#send());
    });
  }

  #send(): void {
    const calls = this.#calls;
    if (calls.length === 0) return;
    this.#calls = [];
    this.#worker.postMessage(this.#wire.write(calls));
  }

  #heard({ done, failed, commits, traced, closed }: Answers): void {
    this.#ready = true;
    for (const ms of commits) this.#committed?.(ms);
    for (const sql of traced) this.#trace?.(sql);
    for (const [id, written] of JSON.parse(done) as [number, Written | Written[]][])
      this.#settled(id)?.resolve(written);
    for (const [id, error] of this.#wire.read(failed) as [number, unknown][])
      this.#settled(id)?.reject(error);
    if (closed) this.#closed?.();
  }

  #settled(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  /** Nothing in the thread is known to throw past its answers; should it, nobody may wait for ever. */
  #lost(message: string): void {
    this.#ready = false;
    this.#told(new Error(`the writing thread failed, writes go on without it: ${message}`));
    for (const { reject } of this.#waiting.values()) {
      const detail = 'The write may or may not have happened. Read before writing again.';
      reject(new DuetError('OUTCOME_UNKNOWN', detail));
    }
    this.#waiting.clear();
    this.#calls = [];
    this.#closed?.();
  }
}
