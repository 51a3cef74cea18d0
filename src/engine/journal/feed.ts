/** Those who follow changes as they are committed: one look for all of them, and one read for all who may see the same. */

import { DuetError, isPassing, pointer, validationFailed } from '../../base/errors.ts';
import { Slots } from '../../base/slots.ts';
import { type Soon, then } from '../../base/soon.ts';
import { SharedTurns } from '../../base/turns.ts';
import { canonical } from '../../query/filter.ts';
import type { Program, Storage } from '../../storage/storage.ts';
import { type AnswerLimits, Budget, isTooMuch } from '../budget.ts';
import type { Permitted } from '../policy/permitted.ts';
import type { ChangesRead, Telling } from './changes-operation.ts';
import { Latest } from './latest.ts';
import type { Positions } from './positions.ts';
import { type ChangesPage, DEFAULT_LIMIT, readChanges } from './reading.ts';
import type { Change } from './showing.ts';
import { Waiting } from './waiting.ts';

/** How often it is looked for what other processes have committed, while somebody follows. */
const LOOK_MS = 50;
const PATIENCE_MS = 10_000;
/** What cannot be read for now is tried again so often, after as long. */
const MOST_TRIES = 30;
const PAUSE_MS = 1_000;
/**
 * How many bytes of changes are read at once for a stream, and up to twice as many: it keeps them until its client takes them, and
 * each may be elsewhere.
 */
const STREAMED_BYTES = 128 * 1024;

/** A change; `isLast` where it is the last that one sees of its transaction, and so a place to go on from. */
export interface Told {
  readonly change: Change;
  readonly isLast: boolean;
}

/** What is older than what is kept is lost: the stream goes on from here. */
export interface Reset {
  readonly reset: string;
}

/** Until it is told to stop. */
export type Follow = (stopped: AbortSignal) => AsyncGenerator<readonly Told[] | Reset>;

/** The characters of a filter that is kept for as long as somebody follows, and that each change is held against. */
const LONGEST_WHERE = 64 * 1024;

/** No URL has so many: they come in bodies alone. */
export function admitFollowed({ where }: ChangesRead): void {
  if (canonical(where).length <= LONGEST_WHERE) return;
  const detail = `where of a stream may have ${LONGEST_WHERE} characters at the most. Follow all changes of the type, or use several streams`;
  throw validationFailed([{ pointer: pointer('where'), code: 'OUT_OF_RANGE', detail }]);
}

interface Listening {
  readonly operation: Permitted<ChangesRead>;
  /** The same for all who are to be told the same. */
  readonly name: string;
  readonly bytes: number | undefined;
}

export class Feed {
  readonly #storage: Storage;
  readonly #positions: Positions;
  readonly #limits: AnswerLimits;
  readonly #latest: Latest;
  readonly #waiting = new Waiting();
  readonly #turns = new SharedTurns();
  /** As many may ask for others, of one change, as listen: the connections to a database are for requests, too. */
  readonly #slots: Slots;
  /** What is being read, or was made of the latest changes since they were looked for, by what is asked for. */
  readonly #pages = new Map<string, Promise<ChangesPage>>();
  #last = 0;
  #listeners = 0;
  #looking: Promise<void> | undefined;
  #isLate = false;
  #timer: Timer | undefined;

  /** `concurrency`: so many read at once. */
  constructor(storage: Storage, positions: Positions, limits: AnswerLimits, concurrency: number) {
    this.#slots = new Slots(concurrency);
    this.#storage = storage;
    this.#positions = positions;
    this.#limits = limits;
    this.#latest = new Latest(positions);
  }

  /** Something was committed here. */
  wake(): void {
    if (this.#listeners > 0) this.#look();
  }

  /** From the position that the operation names, until it is told to stop; together what is there together. */
  async *listen(
    operation: Permitted<ChangesRead>,
    stopped: AbortSignal,
  ): AsyncGenerator<readonly Told[] | Reset> {
    let held: Change | undefined;
    // Events are sent one by one: how many are read at once is the same for all, so that they share them.
    const shared = { ...operation, limit: DEFAULT_LIMIT };
    for await (const page of this.pages(shared, stopped, STREAMED_BYTES)) {
      if ('reset' in page) {
        held = undefined;
        yield page;
        continue;
      }
      const told: Told[] = [];
      for (const change of page.changes) {
        if (held) told.push({ change: held, isLast: held.transaction !== change.transaction });
        held = change;
      }
      // No transaction is committed in parts.
      if (held && !page.more) {
        told.push({ change: held, isLast: true });
        held = undefined;
      }
      if (told.length > 0) yield told;
    }
  }

  /** The same page by page, those that show nothing included: what is up to their positions has been told. */
  async *pages(
    operation: Permitted<ChangesRead>,
    stopped: AbortSignal,
    bytes?: number,
  ): AsyncGenerator<ChangesPage | Reset> {
    this.#begin();
    try {
      const listening = { operation, name: nameOf(operation), bytes };
      let after = operation.after ?? (await this.#fromNow());
      while (!stopped.aborted) {
        await this.#turns.next();
        const page = await this.#patient(listening, after, operation.limit, stopped);
        if (!page) return;
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
    return this.#read(() => this.#positions.now());
  }

  #read<T>(program: () => Program<T>): Soon<T> {
    return this.#storage.read(program, 'many', performance.now() + PATIENCE_MS);
  }

  async #fromNow(): Promise<string> {
    return this.#positions.textOf({ at: await this.now(), past: 0 });
  }

  /** Undefined where it is told to stop. */
  async #patient(
    listening: Listening,
    after: string,
    limit: number,
    stopped: AbortSignal,
  ): Promise<ChangesPage | Reset | undefined> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#shared(listening, after, limit);
      } catch (error) {
        if (!isPassing(error) || tries === MOST_TRIES) throw error;
      }
      await pause(stopped);
      if (stopped.aborted) return undefined;
    }
  }

  /** Once for all who ask for the same with the same rights. */
  async #shared(listening: Listening, after: string, limit: number): Promise<ChangesPage | Reset> {
    const { bytes } = listening;
    const name = `${after} ${limit} ${bytes} ${listening.name}`;
    let page = this.#pages.get(name);
    if (!page) {
      page = this.#page({ ...listening.operation, after, limit }, bytes);
      this.#pages.set(name, page);
    }
    try {
      return await page;
    } catch (error) {
      if (isPassing(error) && this.#pages.get(name) === page) this.#pages.delete(name);
      // Events are sent one by one: what is too much for one answer comes in several.
      if (isTooMuch(error) && limit > 1) return this.#shared(listening, after, limit >> 1);
      if (!(error instanceof DuetError) || error.code !== 'POSITION_EXPIRED') throw error;
      return { reset: await this.#fromNow() };
    }
  }

  async #page(operation: Permitted<ChangesRead>, bytes: number | undefined): Promise<ChangesPage> {
    const latest = this.#latest.page(operation);
    if (latest) {
      const program = () => latest(new Budget(this.#limits, bytes));
      const first = program().next();
      // What is known without the database is not asked of it.
      return first.done ? first.value : this.#slots.run(() => this.#read(program));
    }
    const program = () => readChanges(this.#positions, operation, new Budget(this.#limits, bytes));
    return then(this.#positions.ready(), () => this.#slots.run(() => this.#read(program)));
  }

  #begin(): void {
    if (this.#listeners++ > 0) return;
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
    this.#look();
  }

  #end(): void {
    if (--this.#listeners > 0) return;
    clearInterval(this.#timer);
    this.#latest.clear();
    this.#pages.clear();
  }

  /** Waits until something is committed after this position. */
  #beyond(position: number, stopped: AbortSignal): Promise<void> {
    return this.#waiting.until(() => this.#last > position, stopped);
  }

  async #lookNow(): Promise<void> {
    await this.#positions.ready();
    const look = await this.#read(() => this.#latest.look());
    if (this.#listeners === 0) return;
    this.#latest.add(look);
    this.#pages.clear();
    this.#last = look.now;
    this.#waiting.wake();
  }

  /** One look at a time; who asks while one is under way may have committed after it. */
  #look(): void {
    if (this.#looking) {
      this.#isLate = true;
      return;
    }
    this.#isLate = false;
    this.#looking = this.#lookNow()
      // A database that is away is looked at again.
      .catch(() => {})
      .finally(() => {
        this.#looking = undefined;
        if (this.#isLate && this.#listeners > 0) this.#look();
      });
  }
}

function pause(stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      stopped.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, PAUSE_MS);
    stopped.addEventListener('abort', done);
  });
}

/**
 * The same for all that would be told the same, and as much of it: what is too much for one is not for another. It is made once
 * for each, and kept as a digest: a filter can be long.
 */
function nameOf({ resources, record, where, rights, telling }: ChangesRead): string {
  const ruled = [...(rights?.values() ?? [])].map(({ seen, past, hidden, guards }) => [
    canonical(seen),
    canonical(past),
    hidden,
    guards.map((guard) => [canonical(guard.where), guard.properties, guard.instead === null]),
  ]);
  const { fields, names, before, after } = telling;
  const told = [...fields, names, sizeOf(before), sizeOf(after)];
  const tables = resources.map(({ table }) => table);
  const text = JSON.stringify([tables, record?.key, canonical(where), ruled, told]);
  return new Bun.CryptoHasher('sha256').update(text).digest('base64url');
}

function sizeOf(images: Telling['before']): unknown {
  if (typeof images === 'number' || !images.rendered) return images;
  const { records, columns, names } = images.rendered;
  return [records, names, columns.map(([{ name }, times]) => [name, times])];
}
