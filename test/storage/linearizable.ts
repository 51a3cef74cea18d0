/** Decides whether what clients saw of one record could have happened one operation at a time (Wing and Gong, 1993). */

export interface State {
  readonly version: number;
  readonly value: string;
}

interface Timed {
  /** When it was sent and when its answer was there, on one monotonic clock. */
  readonly invoked: number;
  readonly answered: number;
}

export interface Read extends Timed {
  readonly do: 'read';
  readonly saw: State;
}

export interface Write extends Timed {
  readonly do: 'write';
  readonly expected: number;
  readonly value: string;
  /** The new version; or it was refused; or nobody knows, and then it may happen at any later time, or never. */
  readonly became: number | 'conflict' | 'unknown';
}

export type Operation = Read | Write;

/** A point of the search: the first `done` operations have happened, those of `ahead`, and none of the others. */
interface Point {
  readonly state: State;
  readonly done: number;
  readonly ahead: ReadonlySet<number>;
}

/** Far more than any history of this suite needs; one that needs more is told apart from one that is wrong. */
const MOST_POINTS = 1_000_000;

/** What the operation makes of the state; undefined when it could not have had its outcome there. */
export function apply(state: State, operation: Operation): State | undefined {
  if (operation.do === 'read') {
    const { version, value } = operation.saw;
    return version === state.version && value === state.value ? state : undefined;
  }
  const { expected, value, became } = operation;
  if (became === 'conflict') return expected === state.version ? undefined : state;
  if (expected !== state.version) return undefined;
  const version = expected + 1;
  return became === 'unknown' || became === version ? { version, value } : undefined;
}

/** Undefined when the history of one record is linearizable; else how far an order of it could be found. */
export function violation(initial: State, history: readonly Operation[]): string | undefined {
  const isUnknown = (operation: Operation) => operation.do === 'write' && operation.became === 'unknown';
  const known = history.filter((each) => !isUnknown(each)).sort((a, b) => a.invoked - b.invoked);
  const unknown = history.filter(isUnknown);
  const visited = new Set<string>();
  const points: Point[] = [{ state: initial, done: 0, ahead: new Set() }];
  let furthest: Point | undefined;
  for (let point = points.pop(); point; point = points.pop()) {
    const { state, done, ahead, candidates, deadline } = settled(known, point);
    if (done === known.length) return undefined;
    if (!furthest || done >= furthest.done) furthest = { state, done, ahead };
    // Which unknown writes have happened is no part of it: each fits one version only, and a version never returns.
    const key = JSON.stringify([state, done, [...ahead].sort((a, b) => a - b)]);
    if (visited.has(key)) continue;
    visited.add(key);
    if (visited.size > MOST_POINTS) throw new Error('the history is too entangled to be judged');
    for (const index of candidates) {
      const next = apply(state, known[index] as Operation);
      if (next) points.push({ state: next, done, ahead: new Set(ahead).add(index) });
    }
    for (const operation of unknown) {
      const next = operation.invoked <= deadline ? apply(state, operation) : undefined;
      if (next) points.push({ state: next, done, ahead });
    }
  }
  if (!furthest) return undefined;
  const { candidates } = settled(known, furthest);
  const next = candidates.map((index) => JSON.stringify(known[index]));
  const { state, done } = furthest;
  return `after ${done} of ${known.length} operations, at ${JSON.stringify(state)}, none of these fits:\n${next.join('\n')}`;
}

/**
 * Lets everything happen that can happen now and changes nothing: in any order where it comes later, it may come now
 * as well, so there is nothing to choose. What is left of `candidates` are those that may come next.
 */
function settled(known: readonly Operation[], point: Point) {
  const ahead = new Set(point.ahead);
  let { done } = point;
  for (;;) {
    while (ahead.delete(done)) done++;
    // Nothing may come before an operation that was answered before it was sent.
    let deadline = Number.POSITIVE_INFINITY;
    const reachable: number[] = [];
    for (let index = done; index < known.length; index++) {
      const { invoked, answered } = known[index] as Operation;
      if (invoked > deadline) break;
      if (ahead.has(index)) continue;
      deadline = Math.min(deadline, answered);
      reachable.push(index);
    }
    const candidates = reachable.filter((index) => (known[index] as Operation).invoked <= deadline);
    const free = candidates.filter((index) => apply(point.state, known[index] as Operation) === point.state);
    if (free.length === 0) return { state: point.state, done, ahead, candidates, deadline };
    for (const index of free) ahead.add(index);
  }
}
