/** Those who follow changes as they are committed: one look for all of them, and one read for all who may see the same. */

import { DuetError } from '../../base/errors.ts';
import { canonical } from '../../query/filter.ts';
import type { Storage } from '../../storage/storage.ts';
import { isTooMuch } from '../budget.ts';
import type { Permitted } from '../policy/permitted.ts';
import type { ChangesRead, Telling } from './asked.ts';
import type { Positions } from './positions.ts';
import type { Change, ChangesPage } from './reading.ts';
import { Waiting } from './waiting.ts';

/** How often it is looked for what other processes have committed, while somebody follows. */
const LOOK_MS = 50;
const PATIENCE_MS = 10_000;

/** A change; `isLast` where it is the last that one sees of its transaction, and so a place to go on from. */
export interface Told {
  readonly change: Change;
  readonly isLast: boolean;
}

/** What is older than what is kept is lost: the stream goes on from here. */
export interface Reset {
  readonly reset: string;
}

type Read = (operation: Permitted<ChangesRead>) => Promise<ChangesPage>;

export class Feed {
  readonly #storage: Storage;
  readonly #positions: Positions;
  readonly #read: Read;
  readonly #waiting = new Waiting();
  /** Reads that are under way, by what they ask for. */
  readonly #reads = new Map<string, Promise<ChangesPage>>();
  #last = 0;
  #listeners = 0;
  #looking: Promise<void> | undefined;
  #isLate = false;
  #timer: Timer | undefined;

  constructor(storage: Storage, positions: Positions, read: Read) {
    this.#storage = storage;
    this.#positions = positions;
    this.#read = read;
  }

  /** Something was committed here. */
  wake(): void {
    if (this.#listeners > 0) this.#look();
  }

  /** From the position that the operation names, until it is told to stop. */
  async *listen(operation: Permitted<ChangesRead>, stopped: AbortSignal): AsyncGenerator<Told | Reset> {
    let held: Change | undefined;
    for await (const page of this.pages(operation, stopped)) {
      if ('reset' in page) {
        held = undefined;
        yield page;
        continue;
      }
      for (const change of page.changes) {
        if (held) yield { change: held, isLast: held.transaction !== change.transaction };
        held = change;
      }
      if (page.more) continue;
      // No transaction is committed in parts.
      if (held) yield { change: held, isLast: true };
      held = undefined;
    }
  }

  /** The same page by page, those that show nothing included: what is up to their positions has been told. */
  async *pages(operation: Permitted<ChangesRead>, stopped: AbortSignal): AsyncGenerator<ChangesPage | Reset> {
    this.#begin();
    try {
      let after = operation.after ?? (await this.#fromNow());
      while (!stopped.aborted) {
        const page = await this.#shared(operation, after);
        yield page;
        if ('reset' in page) {
          after = page.reset;
          continue;
        }
        after = page.position;
        // A database in this process answers at once: others would not have their turn until all was read.
        if (page.more) await new Promise(setImmediate);
        else await this.#beyond(this.#positions.placeOf(after)?.at ?? 0, stopped);
      }
    } finally {
      this.#end();
    }
  }

  /** The last position that was given to what is committed by now. */
  async now(): Promise<number> {
    await this.#positions.ready();
    const deadline = performance.now() + PATIENCE_MS;
    return this.#storage.read(() => this.#positions.now(), 'many', deadline);
  }

  async #fromNow(): Promise<string> {
    return this.#positions.textOf({ at: await this.now(), past: 0 });
  }

  /** Once for all who ask for the same with the same rights. */
  async #shared(operation: Permitted<ChangesRead>, after: string): Promise<ChangesPage | Reset> {
    const name = `${after} ${nameOf(operation)}`;
    let reading = this.#reads.get(name);
    if (!reading) {
      reading = this.#read({ ...operation, after }).finally(() => this.#reads.delete(name));
      this.#reads.set(name, reading);
    }
    try {
      return await reading;
    } catch (error) {
      // Events are sent one by one: what is too much for one answer comes in several.
      if (isTooMuch(error) && operation.limit > 1)
        return this.#shared({ ...operation, limit: operation.limit >> 1 }, after);
      if (!(error instanceof DuetError) || error.code !== 'POSITION_EXPIRED') throw error;
      return { reset: await this.#fromNow() };
    }
  }

  #begin(): void {
    if (this.#listeners++ === 0) this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  #end(): void {
    if (--this.#listeners === 0) clearInterval(this.#timer);
  }

  /** Waits until something is committed after this position. */
  #beyond(position: number, stopped: AbortSignal): Promise<void> {
    return this.#waiting.until(() => this.#last > position, stopped);
  }

  /** One look at a time; who asks while one is under way may have committed after it. */
  #look(): void {
    if (this.#looking) {
      this.#isLate = true;
      return;
    }
    this.#isLate = false;
    this.#looking = this.now()
      .then((now) => {
        this.#last = now;
        this.#waiting.wake();
      })
      // A database that is away is looked at again.
      .catch(() => {})
      .finally(() => {
        this.#looking = undefined;
        if (this.#isLate && this.#listeners > 0) this.#look();
      });
  }
}

/** The same for all that would be told the same, and as much of it: what is too much for one is not for another. */
function nameOf({ resources, record, where, rights, limit, telling }: ChangesRead): string {
  const ruled = [...(rights?.values() ?? [])].map(({ seen, past, hidden, guards }) => [
    canonical(seen),
    canonical(past),
    hidden,
    guards.map((guard) => [canonical(guard.where), guard.properties, guard.instead === null]),
  ]);
  const { fields, names, before, after } = telling;
  const told = [...fields, names, sizeOf(before), sizeOf(after)];
  return JSON.stringify([
    resources.map(({ table }) => table),
    record?.key,
    canonical(where),
    limit,
    ruled,
    told,
  ]);
}

function sizeOf(images: Telling['before']): unknown {
  if (typeof images === 'number' || !images.rendered) return images;
  const { records, columns, names } = images.rendered;
  return [records, names, columns.map(([{ name }, times]) => [name, times])];
}
