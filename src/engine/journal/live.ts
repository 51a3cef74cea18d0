/** Answers that are kept up to date: each is made once for all who look at it, and again when a change can have altered it. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { DuetError } from '../../base/errors.ts';
import type { Metrics } from '../../base/metrics.ts';
import { Turns } from '../../base/turns.ts';
import { everything } from '../../query/filter.ts';
import type { Resource } from '../../schema/model.ts';
import { deadlineExceeded } from '../../storage/faults.ts';
import type { Deadline } from '../../storage/storage.ts';
import type { Permitted } from '../policy/permitted.ts';
import type { ChangesRead } from './changes-operation.ts';
import type { Feed } from './feed.ts';
import type { Positions } from './positions.ts';
import { Queue } from './queue.ts';
import { MOST_CHANGES } from './reading.ts';
import type { Change } from './showing.ts';
import { whole } from './sizes.ts';
import { namesOf, notLive } from './sources.ts';
import { BESIDE_ANSWER, type Refuse, View, type Watched } from './view.ts';
import { Waiting } from './waiting.ts';

/** No answer is made again sooner than that. */
const LEAST_MS = 100;
/** Nor later, however much there is to do; and when one that failed is tried again. */
const MOST_MS = 5000;
/** To keep an answer up to date takes no more than this part of the time, its waiting for others included. */
const SHARE = 0.1;
/** So many answers of the greatest length are kept, each counted once for itself and once for each who looks at it. */
const KEPT_ANSWERS = 8;

/** What one caller may take of them, so that there is something left for others. */
const SHARE_OF_ONE = 0.5;

/** Who wants to look at an answer. */
export interface Viewer {
  /** Undefined where nobody can be told from others. */
  readonly who: string | undefined;
  readonly mayRead: (resource: Resource) => boolean;
  /** When it hangs up. */
  readonly gone: AbortSignal;
  /** Until when it waits for the answer. */
  readonly deadline: Deadline;
}

/** A place before an answer, until it is left. */
export interface Seat {
  /** What the answer has cost beyond the request for it. */
  readonly units: number;
  /** The answer, where it will never be another. */
  readonly fixed: Uint8Array | undefined;
  readonly leave: () => void;
  /** The answer as it is, and whenever it is another; its bytes are those of all who look at it. */
  readonly follow: (stopped: AbortSignal) => AsyncGenerator<Uint8Array>;
}

interface LiveOptions {
  readonly feed: Feed;
  readonly positions: Positions;
  readonly resources: readonly Resource[];
  /** How many answers are made at once. */
  readonly concurrency: number;
  /** The bytes of the longest answer. */
  readonly longest: number;
  /** Tells the operator. */
  readonly notice: (message: string) => void;
}

export class Live {
  readonly #options: LiveOptions;
  /** By what is asked for, and with which rights. */
  readonly #views = new Map<string, View>();
  /** Those whose turn it is: for their first answers, and for later ones. */
  readonly #first = new Queue<View>();
  readonly #again = new Queue<View>();
  #wasFirst = false;
  readonly #told = new Waiting();
  /** Types of which the operator knows that they keep no changes. */
  readonly #noticed = new Set<Resource>();
  /** Out of whatever request is being worked on: an answer is made for many, and no replica is asked that may be behind. */
  readonly #outside = AsyncLocalStorage.snapshot();
  /** Up to where changes have been told. */
  #at = 0;
  readonly #turns = new Turns();
  #following: { readonly stop: AbortController; readonly ready: Promise<void> } | undefined;
  /** What answers take, kept up as they and their seats change: to sum them up for each of thousands would take long. */
  #bytes = 0;
  /** By those who have taken a seat, as long as it was then. */
  readonly #taken = new Map<string, number>();
  #running = 0;
  #runs = 0;

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  tell(metrics: Metrics): void {
    const seats = () => this.#views.values().reduce((sum, view) => sum + view.seats, 0);
    metrics.add('gauge', 'duet_live_answers', 'Answers that are kept up to date.', () => this.#views.size);
    metrics.add('gauge', 'duet_live_listeners', 'Streams that show such an answer.', seats);
    metrics.add(
      'counter',
      'duet_live_executions_total',
      'How often such answers were made.',
      () => this.#runs,
    );
  }

  /**
   * Takes a seat before the answer of this name, when it shows all that is committed by now. Fails as a plain request would,
   * where there is no answer yet. Whoever has gone has left: nothing is made for nobody.
   */
  async join(name: string, watched: Watched, { who, mayRead, gone, deadline }: Viewer): Promise<Seat> {
    const known = this.#views.get(name);
    const refuse: Refuse = (unkept, named) => {
      this.#notice(unkept);
      return notLive(named.filter((each) => unkept.includes(each) && mayRead(each)));
    };
    // Where nobody is known, each stream counts for itself.
    const view = known ?? new View(name, who ?? gone, watched, this.#options.resources, refuse);
    this.#views.set(name, view);
    view.seats++;
    this.#count(view);
    let isHere = true;
    let taken = 0;
    const leave = () => {
      if (!isHere) return;
      isHere = false;
      this.#take(who, -taken);
      this.#leave(view);
    };
    /** The first pays for the answer itself, too. */
    const pay = () => {
      const bytes = view.share * (known ? 1 : 2);
      this.#take(who, bytes - taken);
      taken = bytes;
      if (!this.#hasRoom(who)) throw crowded();
    };
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), deadline - performance.now());
    const stopped = AbortSignal.any([gone, late.signal]);
    try {
      pay();
      const { ready } = this.#follow();
      gone.addEventListener('abort', leave, { once: true });
      if (gone.aborted) leave();
      await ready;
      if (view.state === 'resting' && view.runs === 0 && !view.hasEnded) this.#enqueue(view, this.#first);
      const runs = known ? await this.#runsNeeded(view, stopped) : 1;
      const isThere = () => view.runs >= runs || view.failure !== undefined || view.hasEnded;
      await view.waiting.until(isThere, stopped);
      const failure = view.failure ?? view.problem;
      if (failure) throw failure.error;
      // It waits for its turn as long as a plain request does for its answer: the connection would be cut without a word.
      if (!isThere() && !gone.aborted) throw deadlineExceeded();
      if (!gone.aborted) {
        if (view.hasEnded) throw crowded();
        pay();
      }
      const fixed = view.isFixed ? view.sent : undefined;
      return { units: view.units, fixed, leave, follow: (stopped) => view.follow(stopped) };
    } catch (error) {
      leave();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Once for each type: whoever asks again and again must not fill the log. */
  #notice(unkept: readonly Resource[]): void {
    const unheard = unkept.filter((each) => !this.#noticed.has(each));
    if (unheard.length === 0) return;
    for (const each of unheard) this.#noticed.add(each);
    this.#options.notice(`a live answer was refused; it needs @journal on ${namesOf(unheard)}`);
  }

  #leave(view: View): void {
    view.seats--;
    this.#count(view);
    if (view.seats > 0) return;
    this.#end(view);
    if (this.#views.size > 0) return;
    this.#following?.stop.abort();
    this.#following = undefined;
  }

  /** How often it must have been made to show what is committed by now. */
  async #runsNeeded(view: View, stopped: AbortSignal): Promise<number> {
    const now = await this.#options.feed.now();
    await this.#told.until(() => this.#at >= now || view.hasEnded, stopped);
    const { state, isStale, runs } = view;
    // What is being made was begun before it became stale.
    const more = state === 'resting' ? 0 : state === 'running' && isStale ? 2 : 1;
    return Math.max(1, runs + more);
  }

  /** Follows the changes of all types, while somebody looks at an answer. */
  #follow() {
    this.#following ??= this.#outside(() => {
      const stop = new AbortController();
      const ready = this.#options.feed.now().then((at) => {
        this.#at = at;
        this.#listen(at, stop.signal).catch((error) => {
          if (!stop.signal.aborted) this.#fail(error);
        });
      });
      return { stop, ready };
    });
    return this.#following;
  }

  async #listen(at: number, stopped: AbortSignal): Promise<void> {
    const { feed, positions, resources } = this.#options;
    const operation: ChangesRead = {
      do: 'changes',
      resources: resources.filter(({ journal }) => journal),
      record: undefined,
      where: everything,
      after: positions.textOf({ at, past: 0 }),
      at: {},
      limit: MOST_CHANGES,
      telling: whole,
    };
    // Nobody is shown them: they say only which answers are to be made again, by the rules of those who asked.
    for await (const page of feed.pages(operation as Permitted<ChangesRead>, stopped)) {
      if (stopped.aborted) return;
      const reset = 'reset' in page ? page.reset : undefined;
      const changes = 'reset' in page ? [] : page.changes;
      for (const view of this.#views.values()) {
        if (reset !== undefined || (await this.#mayBeAltered(view, changes, stopped))) this.#changed(view);
        if (stopped.aborted) return;
      }
      this.#at = positions.placeOf('reset' in page ? page.reset : page.position)?.at ?? this.#at;
      this.#told.wake();
    }
  }

  /** A page of changes times all answers is much: others have their turns meanwhile. */
  async #mayBeAltered(view: View, changes: readonly Change[], stopped: AbortSignal): Promise<boolean> {
    for (const change of changes) {
      await this.#turns.next();
      if (stopped.aborted || view.hasEnded) return false;
      if (view.mayBeAlteredBy(change)) return true;
    }
    return false;
  }

  /** A database that is away ends all of them; whoever comes back begins anew. */
  #fail(error: unknown): void {
    for (const view of [...this.#views.values()]) {
      view.failure = { error };
      this.#end(view);
    }
    this.#told.wake();
    this.#following?.stop.abort();
    this.#following = undefined;
  }

  #end(view: View): void {
    view.hasEnded = true;
    clearTimeout(view.timer);
    this.#first.delete(view);
    this.#again.delete(view);
    this.#count(view);
    if (this.#views.get(view.name) === view) this.#views.delete(view.name);
    view.waiting.wake();
  }

  #changed(view: View): void {
    if (view.state === 'running') view.isStale = true;
    else if (view.state === 'resting') this.#schedule(view);
  }

  #schedule(view: View): void {
    view.state = 'waiting';
    const ms = view.due + view.pause - performance.now();
    if (ms <= 0) this.#enqueue(view, this.#again);
    else view.timer = setTimeout(() => this.#enqueue(view, this.#again), ms);
  }

  #enqueue(view: View, queue: Queue<View>): void {
    view.state = 'waiting';
    view.due = performance.now();
    queue.add(view);
    this.#runNext();
  }

  #runNext(): void {
    while (this.#running < this.#options.concurrency) {
      const next = this.#next();
      if (!next) return;
      this.#outside(() => this.#run(next));
    }
  }

  /** A first answer and a later one in turn: neither do those who begin hold up those who look, nor the other way round. */
  #next(): View | undefined {
    this.#wasFirst = this.#again.isEmpty || !(this.#first.isEmpty || this.#wasFirst);
    return (this.#wasFirst ? this.#first : this.#again).next();
  }

  async #run(view: View): Promise<void> {
    this.#running++;
    this.#runs++;
    view.state = 'running';
    view.isStale = false;
    const isAgain = await view.make();
    view.runs++;
    this.#running--;
    this.#count(view);
    view.state = 'resting';
    const took = performance.now() - view.due;
    view.pause = isAgain ? MOST_MS : Math.min(MOST_MS, Math.max(LEAST_MS, took / SHARE));
    if (view.failure || !this.#hasRoom()) this.#end(view);
    else view.waiting.wake();
    if ((view.isStale || isAgain) && !view.hasEnded) this.#schedule(view);
    // A database in this process answers at once: others would not have their turn until all were made.
    setImmediate(() => this.#runNext());
  }

  #count(view: View): void {
    const bytes = view.hasEnded ? 0 : view.bytes;
    this.#bytes += bytes - view.counted;
    view.counted = bytes;
  }

  #take(who: string | undefined, bytes: number): void {
    if (who === undefined) return;
    const taken = (this.#taken.get(who) ?? 0) + bytes;
    if (taken > 0) this.#taken.set(who, taken);
    else this.#taken.delete(who);
  }

  #hasRoom(who?: string): boolean {
    const room = KEPT_ANSWERS * (BESIDE_ANSWER + this.#options.longest);
    const taken = who === undefined ? 0 : (this.#taken.get(who) ?? 0);
    return this.#bytes <= room && taken <= SHARE_OF_ONE * room;
  }
}

function crowded(): DuetError {
  return new DuetError(
    'UNAVAILABLE',
    'Live answers take all the memory that they may, of all callers or of this one. Ask for less, or try again later.',
    { headers: { 'Retry-After': '5' } },
  );
}
