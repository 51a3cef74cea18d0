/** One replica: whether it can be used, which is found out again and again while it cannot, and what it was used for. */

import { DuetError } from '../../base/errors.ts';
import type { Deadline, Position } from '../storage.ts';
import { isLost, stateOf } from './errors.ts';
import { nameOf } from './hosts.ts';
import { Unfit } from './pool.ts';
import { Behind } from './positions.ts';
import { type PostgresOptions, PostgresStorage } from './storage.ts';

/** How often one is looked for that cannot be used. */
const RETRY_MS = 1000;
/** How long one that was behind is taken to be no further than it said. */
const BEHIND_MS = 10;

export class Replica {
  readonly name: string;
  readonly storage: PostgresStorage;
  /** Reads that it has answered, and those that went to the primary because it had not replayed what they had to show. */
  reads = 0;
  behind = 0;
  isUsed = false;
  readonly #lookMs: number;
  #tell: (message: string) => void = () => {};
  /** Undefined before it was looked for. */
  #isKnown = false;
  #timer: Timer | undefined;
  #isClosed = false;
  #replayed: Position = '';
  #behindUntil = Number.NEGATIVE_INFINITY;

  constructor(options: PostgresOptions) {
    this.name = nameOf(options.hosts.urls[0]);
    this.storage = new PostgresStorage(options);
    this.#lookMs = options.connectMs + options.statementMs;
  }

  follow(tell: (message: string) => void): void {
    this.#tell = tell;
    void this.#look();
  }

  async #look(): Promise<void> {
    try {
      // Every position there is: only whether it answers matters.
      await this.storage.replayed('', performance.now() + this.#lookMs);
      if (this.#isClosed) return;
      this.isUsed = true;
      this.#tell(`the replica at ${this.name} is used for reads${this.#isKnown ? ' again' : ''}`);
    } catch (error) {
      if (!this.#isKnown) this.#tell(this.#away(error));
      this.#lookLater();
    }
    this.#isKnown = true;
  }

  #away(error: unknown): string {
    // Where all servers are named, one of them is the primary.
    if (causeOf(error) instanceof Unfit)
      return `the server at ${this.name} is not used as a replica: ${whyOf(error)}. It is looked at again every second`;
    return `the replica at ${this.name} cannot be used (${whyOf(error)}): its reads go to the primary, and it is tried again every second`;
  }

  #lookLater(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#look(), RETRY_MS);
  }

  /** Whether it may have replayed so far; whoever asks it finds out. */
  mayShow(position: Position): boolean {
    return this.isUsed && (position <= this.#replayed || performance.now() >= this.#behindUntil);
  }

  /** Takes note of a read that failed here, and tells whether the primary is to be asked instead. */
  failed(error: unknown, deadline: Deadline): boolean {
    if (error instanceof Behind) {
      this.behind++;
      this.#replayed = error.replayed;
      this.#behindUntil = performance.now() + BEHIND_MS;
      return true;
    }
    if (isLost(causeOf(error)) && this.isUsed) {
      this.isUsed = false;
      this.#tell(this.#away(error));
      this.#lookLater();
    }
    // What is refused there is refused here too; what a replica is too busy for, or has not yet been told of, is not.
    // What has no state is no error of a server, but of a function of the deployment.
    const isItsOwn =
      error instanceof DuetError ? error.status === 503 : stateOf(error) !== '' || isLost(error);
    return isItsOwn && performance.now() < deadline;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.isUsed = false;
    clearTimeout(this.#timer);
    await this.storage.close();
  }
}

function causeOf(error: unknown): unknown {
  return error instanceof DuetError && error.cause !== undefined ? error.cause : error;
}

function whyOf(error: unknown): string {
  const cause = causeOf(error);
  return cause instanceof Error ? cause.message : String(cause);
}
