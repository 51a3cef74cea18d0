/** A process that empties the log of a SQLite file, so that it begins from its start again: for that, nobody may be reading from it. */

import { unavailable } from '../faults.ts';
import { CHECKPOINT, control } from './asking.ts';
import { type Launch, StatementProcess } from './process.ts';

/** Nobody writes while it is waited for those who read: they are to have ended by then, but for the short ones. */
const BUSY_MS = 20;
const EMPTY = [
  // What nobody has to wait for comes first.
  CHECKPOINT,
  control(`PRAGMA busy_timeout = ${BUSY_MS}`),
  control('PRAGMA wal_checkpoint(TRUNCATE)'),
];

export class Emptying {
  readonly #process: StatementProcess;

  constructor(launch: Launch) {
    this.#process = new StatementProcess(launch, 'writer', () => {});
  }

  /** Most of what is in it, while others go on. */
  async carryOver(): Promise<void> {
    await this.#process.ask([CHECKPOINT]);
  }

  /** Whether it could. */
  async empty(): Promise<boolean> {
    const [, , [state] = []] = await this.#process.ask(EMPTY);
    return state?.['busy'] === 0;
  }

  end(): void {
    this.#process.end(unavailable('The log needs nobody any more.'));
  }
}
