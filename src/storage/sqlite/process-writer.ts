/** Long writes, whose statements another process carries out: what takes too long is ended there, and stops nobody here. */

import type { Resource } from '../../schema/model.ts';
import { unavailable } from '../faults.ts';
import { CHECKPOINT } from './asking.ts';
import { explained } from './errors.ts';
import { Merging } from './merging.ts';
import { type Launch, ProcessFault, StatementProcess } from './process.ts';
import { Transaction, type TransactionOptions } from './process-transaction.ts';
import type { Outcome, Waiting } from './write-queue.ts';

const IDLE_MS = 30_000;

export interface WriterOptions extends TransactionOptions {
  readonly launch: Launch;
  /** Whether there is so much in the log that it is to be carried over. */
  readonly isLogLong: () => boolean;
}

export class ProcessWriter {
  readonly #options: WriterOptions;
  /** Started when it is needed, ended when nobody has needed it for a while. */
  #process: StatementProcess | undefined;
  #idle: Timer | undefined;
  /** How much of it is under way: the log may be carried over while the next write begins. */
  #underWay = 0;
  #isWriting = false;
  readonly #merging: Merging;
  /** Writes that wait until these words are merged: only when they come to their changes it is known whose words they change. */
  readonly #heldBack = new WeakMap<Waiting, Resource>();

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#merging = new Merging({
      using: (work) => this.#using(work),
      isWriting: () => this.#isWriting,
      isLogLong: options.isLogLong,
    });
  }

  /** Undefined when another process is writing. It may take as long as its deadline and the hold allow. */
  async commit(write: Waiting, isWanted: () => boolean): Promise<readonly Outcome[] | undefined> {
    const behind = this.#heldBack.get(write);
    let isBehind = (resource: Resource) => this.#merging.isBehind(resource);
    if (behind && isBehind(behind)) {
      const isMerged = await this.#merging.little(behind).catch(() => undefined);
      if (isMerged !== undefined) return isMerged ? ['again'] : undefined;
      // What cannot be merged, as where the index is damaged, keeps nobody from writing.
      isBehind = () => false;
    }
    this.#isWriting = true;
    const outcomes = await this.#merging
      .settled()
      .then(() => this.#using((process) => this.#write(process, write, isWanted, isBehind)))
      .finally(() => {
        this.#isWriting = false;
      });
    // Within the commit it would take seconds after a long write, beyond its deadline, and nobody would be told meanwhile.
    if (this.#options.isLogLong()) this.checkpoint().catch(() => {});
    return outcomes;
  }

  async #write(
    process: StatementProcess,
    write: Waiting,
    isWanted: () => boolean,
    isBehind: (resource: Resource) => boolean,
  ): Promise<readonly Outcome[] | undefined> {
    const transaction = new Transaction(this.#options, process, write, isWanted, isBehind);
    try {
      return await transaction.commit();
    } finally {
      if (transaction.behind) this.#heldBack.set(write, transaction.behind);
      // However it has ended: nobody knows of a commit whose answer did not come.
      for (const [resource, segments] of transaction.unmerged) this.#merging.leave(resource, segments);
    }
  }

  /** What a server that is gone has left of these is merged, too. */
  mergeLeft(resources: readonly Resource[]): void {
    for (const resource of resources) this.#merging.leave(resource, 1);
  }

  /** Whether so many segments are left that short writes, each of which leaves another one, are to wait for a little. */
  get isFarBehind(): boolean {
    return this.#merging.isFarBehind;
  }

  async mergeLittle(): Promise<void> {
    await this.#merging.little().catch(() => {});
  }

  /** Carries the log over into the file. */
  async checkpoint(): Promise<void> {
    await this.#using((process) => process.ask([CHECKPOINT]));
  }

  close(): void {
    this.#merging.close();
    this.#endProcess();
  }

  #endProcess(): void {
    clearTimeout(this.#idle);
    this.#process?.end(unavailable('The database is closed.'));
  }

  async #using<T>(work: (process: StatementProcess) => Promise<T>): Promise<T> {
    clearTimeout(this.#idle);
    this.#underWay++;
    let process: StatementProcess | undefined;
    try {
      process = this.#started();
      return await work(process);
    } catch (error) {
      // Whatever its connection is left in, nobody has to find out.
      process?.end(unavailable('The writing process was ended after a failure.'));
      await process?.exited;
      throw error instanceof ProcessFault ? explained(error) : error;
    } finally {
      if (--this.#underWay === 0 && this.#process)
        this.#idle = setTimeout(() => this.#endProcess(), IDLE_MS).unref();
    }
  }

  #started(): StatementProcess {
    this.#process ??= new StatementProcess(this.#options.launch, 'writer', () => {
      this.#process = undefined;
    });
    return this.#process;
  }
}
