/** Workers that write to one file of SQLite: who finds it taken is told by the one that has written, through the parent of both. */

import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OtherWriters } from '../storage/sqlite/other-writers.ts';

/** What a worker and its parent say to each other about it. */
export type TurnMessage =
  /** To a worker: where the flags are, and which of them is its own. */
  | { readonly say: 'flags'; readonly file: string; readonly own: number }
  /** From a worker that has written: whose turn it is. */
  | { readonly say: 'next'; readonly who: number }
  /** To that one. */
  | { readonly say: 'go' };

/** What a worker waits with: what takes long gives way to what is short, whoever has it. */
const LONG = 1;
const SHORT = 2;
/** What it tells beside that: it is about what takes long, or would be now. */
const HOLDS = 4;
const DUE = 8;

export interface Flags {
  /** Where workers find them. */
  readonly file: string;
  /** Of a worker that is gone: all others would go on giving way to it. */
  readonly lower: (who: number) => void;
}

/**
 * A file of flags, those of each worker in a byte, which all of them map into memory: whether it waits, and with what. Behind them,
 * how often each has written all that was short and waited. To look costs nothing, so that nothing is sent where nobody waits. The file has no name, and is gone when the process is that
 * opened it. Undefined where there is no room for one, and where the system does not let workers look into it.
 */
export function flagsOf(workers: number): Flags | undefined {
  try {
    const folder = mkdtempSync(join(tmpdir(), 'duet-workers-'));
    const path = join(folder, 'waiting');
    writeFileSync(path, new Uint8Array(2 * workers));
    const opened = openSync(path, 'r+');
    rmSync(folder, { recursive: true });
    const file = `/proc/${process.pid}/fd/${opened}`;
    if (!existsSync(file)) {
      closeSync(opened);
      return undefined;
    }
    return { file, lower: (who) => void writeSync(opened, new Uint8Array(1), 0, 1, who) };
  } catch {
    return undefined;
  }
}

/** The side of a worker. What is lost on the way costs nothing but time: who waits looks by itself, too. */
export class Turn implements OtherWriters {
  readonly #send: (message: TurnMessage) => void;
  readonly #waiting = new Map<() => void, number>();
  /** A file that is read anew has a queue of its own, beside the one before it. */
  #holds = 0;
  #isDue = false;
  #flags = new Uint8Array();
  #rounds = new Uint8Array();
  #own = 0;

  constructor(send: (message: TurnMessage) => void) {
    this.#send = send;
  }

  wait(again: () => void, isShort: boolean): () => void {
    this.#waiting.set(again, isShort ? SHORT : LONG);
    this.#tell();
    return () => {
      this.#waiting.delete(again);
      this.#tell();
    };
  }

  holds(isHeld: boolean): void {
    this.#holds += isHeld ? 1 : -1;
    this.#tell();
  }

  due(isDue: boolean): void {
    if (isDue === this.#isDue) return;
    this.#isDue = isDue;
    this.#tell();
  }

  get areDue(): boolean {
    return this.#othersTell(DUE);
  }

  done(isRound: boolean): void {
    if (isRound) this.#rounds[this.#own] = (this.#rounds[this.#own] ?? 0) + 1;
    this.#tellNext();
  }

  /** The next behind this one, so that everybody has a turn; before those that take long, all that are short, but for whose turn it is. */
  #tellNext(): void {
    const { length } = this.#flags;
    for (const kind of [DUE, SHORT, LONG])
      for (let step = 1; step < length; step++) {
        const who = (this.#own + step) % length;
        if (((this.#flags[who] ?? 0) & kind) === 0) continue;
        // What is short is known to wait until it no longer does, so that nothing long begins before. In one step: it may tell
        // something else meanwhile, and would be held to what it told before.
        if (kind === LONG) Atomics.and(this.#flags, who, ~LONG);
        this.#send({ say: 'next', who });
        return;
      }
  }

  get areWaiting(): boolean {
    return this.#othersTell(SHORT | LONG);
  }

  ahead(): () => boolean {
    const areWaiting = [...this.#flags.entries()]
      .filter(([who, flag]) => who !== this.#own && (flag & SHORT) > 0)
      .map(([who]) => ({ who, rounds: this.#rounds[who] }));
    return () =>
      areWaiting.some(
        ({ who, rounds }) => ((this.#flags[who] ?? 0) & SHORT) > 0 && this.#rounds[who] === rounds,
      );
  }

  get areHolding(): boolean {
    return this.#othersTell(HOLDS);
  }

  #othersTell(anyOf: number): boolean {
    return this.#flags.some((flag, who) => (flag & anyOf) > 0 && who !== this.#own);
  }

  #tell(): void {
    let flag = (this.#holds > 0 ? HOLDS : 0) | (this.#isDue ? DUE : 0);
    for (const kind of this.#waiting.values()) flag |= kind;
    this.#flags[this.#own] = flag;
  }

  heard(message: Exclude<TurnMessage, { say: 'next' }>): void {
    if (message.say === 'flags') {
      this.#own = message.own;
      const all = mapped(message.file);
      this.#flags = all.subarray(0, all.length / 2);
      this.#rounds = all.subarray(all.length / 2);
    }
    // It was quicker by itself, or its flag was another's, who is gone: then it is somebody else's turn.
    else if (this.#waiting.size === 0) {
      this.#tell();
      this.#tellNext();
    } else for (const again of [...this.#waiting.keys()]) again();
  }
}

/** None where the system does not let one process look into the files of another, and where it is not Linux. */
function mapped(file: string): Uint8Array<ArrayBuffer> {
  try {
    return Bun.mmap(file);
  } catch {
    return new Uint8Array();
  }
}
