/** Work that arrives in one turn of the event loop is done at its end, one after the other. */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Soon } from './soon.ts';

/**
 * Between the system calls that each request takes, the processor forgets the code and the data that all of them need, and
 * that costs more than the work. It is not for what has a long answer: outside of the turn that received the request, Bun
 * sends what is longer than its buffer of 16 KB with a system call for each header. Nobody waits longer than this for it:
 */
const BATCH_MS = 5;
/** One answer may lead to the next request, as over a socket, and so on, without any turn of the event loop in between. */
const MOST_MS = 2 * BATCH_MS;

interface Waiting {
  readonly settle: () => void;
  /** Whether it most likely takes long by itself, as far as is known by then. */
  readonly isLong: (() => boolean) | undefined;
}

let waiting: Waiting[] = [];
let long: Waiting[] = [];
let wasLong = false;
let ends: (() => void)[] = [];
let isWorking = false;
let began = 0;

/**
 * Behind what came before it in this turn; at once when that is just being done, as long as there is time left. What is long takes turns
 * with all that is short: that would wait for whatever came before it, and be turned away in the end. Of many that arrive together it may
 * be known only when the first is done, so it is asked once more when it is their turn.
 */
export function inBatch<T>(work: () => Soon<T>, isLong?: () => boolean): Soon<T> {
  if (isWorking && performance.now() < began + MOST_MS) return work();
  return queued(work, isLong);
}

/** For what is long and asked for by several who are told at once: in one piece, all of it would be done behind the first. */
export function longInBatch<T>(work: () => Soon<T>): Soon<T> {
  const inItsName = AsyncLocalStorage.snapshot();
  return inBatch(() => inItsName(work), always);
}

/** What turns out to be long while it is done: the rest of it waits for the turn of such. */
export function inTurnOfLong<T>(work: () => Soon<T>): Promise<T> {
  const inItsName = AsyncLocalStorage.snapshot();
  return queued(() => inItsName(work), always);
}

function always(): boolean {
  return true;
}

function queued<T>(work: () => Soon<T>, isLong: (() => boolean) | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      try {
        resolve(work());
      } catch (error) {
        reject(error);
      }
    };
    (isLong?.() ? long : waiting).push({ settle, isLong });
    if (waiting.length + long.length === 1 && !isWorking) begin();
  });
}

/** When everything has been read that arrived in this turn; undefined where that is so already. */
export function afterArrivals(): Promise<void> | undefined {
  return isWorking ? undefined : (inBatch(nothing) as Promise<void>);
}

function nothing(): void {}

/** When all of that is done, with everything that it did not have to wait for. */
export function afterBatch(work: () => void): void {
  if (isWorking) ends.push(work);
  else setImmediate(work);
}

/** Whoever is first in a batch must not have the others work in its name. */
const inNobodysName = AsyncLocalStorage.snapshot();

/** Two, one after the other: between them all promises are told what the first has settled. */
function begin(): void {
  inNobodysName(() => {
    setImmediate(work);
    setImmediate(end);
  });
}

function work(): void {
  isWorking = true;
  began = performance.now();
  wasLong = long.length > 0 && (waiting.length === 0 || !wasLong);
  if (wasLong) long = left(long);
  else waiting = left(waiting);
}

/** Does as many as there is time for. */
function left(works: readonly Waiting[]): Waiting[] {
  const until = began + BATCH_MS;
  let done = 0;
  do {
    const next = works[done++];
    if (next && !wasLong && next.isLong?.()) long.push(next);
    else next?.settle();
  } while (done < works.length && performance.now() < until);
  return works.slice(done);
}

function end(): void {
  isWorking = false;
  const ended = ends;
  ends = [];
  for (const each of ended) each();
  if (waiting.length + long.length > 0) begin();
}
