/** The thread that writes: reads operations from its parent, carries them out, and answers when they are durable. */

import { type Portable, revived } from '../schema/portable.ts';
import { SqliteStorage } from '../storage/sqlite.ts';
import { Policy } from './policy/policy.ts';
import type { Written } from './transaction.ts';
import { Wire } from './wire.ts';
import { type Call, StorageWriter } from './writer.ts';

/** What the thread is told first; every later message is a list of calls, or empty when it is to end. */
export interface Opening {
  readonly path: string;
  readonly model: Portable;
  /** Whether the rules of the model hold. */
  readonly authentication: boolean;
  readonly most: number;
  readonly traced: boolean;
}

/** What became of calls, by their ids; those that are done hold plain JSON, which needs no decoding. */
export interface Answers {
  readonly done: string;
  readonly failed: string;
  /** How long they took, in milliseconds. */
  readonly commits: readonly number[];
  readonly traced: readonly string[];
  readonly closed: boolean;
}

declare const self: Worker;

class Thread {
  readonly #open: () => SqliteStorage;
  readonly #policy: Policy;
  readonly #most: number;
  readonly #wire: Wire;
  /** Opened for the first write: until then somebody else may be changing the tables. */
  #storage: SqliteStorage | undefined;
  #writer: StorageWriter | undefined;
  #done: [number, Written | Written[]][] = [];
  #failed: [number, unknown][] = [];
  #commits: number[] = [];
  #traced: string[] = [];
  #calls = 0;
  #answering = false;

  constructor({ path, model: sent, authentication, most, traced }: Opening) {
    const model = revived(sent);
    const trace = traced ? (sql: string) => this.#traced.push(sql) : undefined;
    this.#open = () => {
      const storage = new SqliteStorage({ path, model, trace });
      storage.onCommit((ms) => this.#commits.push(ms));
      return storage;
    };
    this.#policy = new Policy(model, authentication);
    this.#most = most;
    this.#wire = new Wire(model);
    // That there is somebody to ask.
    this.#answer(false);
  }

  take(calls: string): void {
    this.#storage ??= this.#open();
    this.#writer ??= new StorageWriter(this.#storage, this.#policy, this.#most);
    for (const call of this.#wire.read(calls) as Call[]) void this.#perform(this.#writer, call);
  }

  async close(): Promise<void> {
    // What was taken is committed before anything else can be asked of the storage.
    while (this.#calls > 0) await Bun.sleep(1);
    await this.#storage?.close();
    this.#answer(true);
  }

  async #perform(writer: StorageWriter, call: Call): Promise<void> {
    const { id, caller, idempotency } = call;
    const deadline = call.deadline - performance.timeOrigin;
    this.#calls++;
    try {
      const written =
        'operation' in call
          ? await writer.write(caller, call.operation, idempotency, deadline)
          : await writer.transact(caller, call.writes, idempotency, deadline);
      this.#done.push([id, written]);
    } catch (error) {
      this.#failed.push([id, error]);
    }
    this.#calls--;
    if (this.#answering) return;
    this.#answering = true;
    // All that were committed together settle in the same turn, and are answered together.
    setImmediate(() => this.#answer(false));
  }

  #answer(closed: boolean): void {
    const answers: Answers = {
      done: JSON.stringify(this.#done),
      failed: this.#wire.write(this.#failed),
      commits: this.#commits,
      traced: this.#traced,
      closed,
    };
    this.#done = [];
    this.#failed = [];
    this.#commits = [];
    this.#traced = [];
    this.#answering = false;
    self.postMessage(answers);
  }
}

let thread: Thread | undefined;

self.addEventListener('message', ({ data }: MessageEvent<Opening | string>) => {
  if (typeof data !== 'string') thread = new Thread(data);
  else if (data === '') void thread?.close();
  else thread?.take(data);
});
