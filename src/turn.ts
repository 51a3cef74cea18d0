/** What arrives in one turn of the event loop is worked on at its end, one after the other. */

/**
 * Between the system calls that each request takes, the processor forgets the code and the data that all of them need;
 * done in a row, the same work takes half the time. But nobody is kept waiting for longer than this at a stretch.
 */
const STRETCH_MS = 5;

let waiting: (() => void)[] = [];
let ends: (() => void)[] = [];
let pauses: (() => void)[] = [];
let isWorking = false;

/** At the end of the turn, behind what came before it; at once when that is just being done. `work` throws nothing. */
export function inTurn(work: () => void): void {
  if (isWorking) work();
  else if (waiting.push(work) === 1) begin();
}

/** When all work of this stretch is done, with everything that it did not have to wait for. */
export function afterStretch(work: () => void): void {
  if (isWorking) ends.push(work);
  else setImmediate(work);
}

/** When nothing is left to be worked on. */
export function afterTurn(work: () => void): void {
  if (isWorking || waiting.length > 0) pauses.push(work);
  else setImmediate(work);
}

/** Two, one after the other: between them all promises are told that the first has settled. */
function begin(): void {
  setImmediate(work);
  setImmediate(end);
}

function work(): void {
  isWorking = true;
  const until = performance.now() + STRETCH_MS;
  let done = 0;
  do waiting[done++]?.();
  while (done < waiting.length && performance.now() < until);
  waiting = waiting.slice(done);
}

function end(): void {
  isWorking = false;
  const ended = ends;
  ends = [];
  for (const each of ended) each();
  if (waiting.length > 0) begin();
  else {
    const paused = pauses;
    pauses = [];
    for (const each of paused) each();
  }
}
