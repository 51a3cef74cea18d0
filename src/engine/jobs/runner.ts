/** Runs the jobs of a deployment in this process, beside all others that do: each job is one process's at a time. */

import type { Metrics } from '../../base/metrics.ts';
import type { Observe } from '../../base/observe.ts';
import type { Program, Storage } from '../../storage/storage.ts';
import { counted } from './counted.ts';
import { countJobs } from './operator.ts';
import { databaseTime, type Ended, firstDue, type Job, LEASE_MS, type Room, renew, turn } from './queue.ts';

/** How many jobs one process runs at a time. */
const MOST_RUNNING = 100;
/** How many characters what they are given has at a time: records can be long, and a function may keep what it is given for minutes. */
const MOST_GIVEN = 16 * 1024 * 1024;
const RENEW_MS = LEASE_MS / 4;
/**
 * How often it is looked for jobs of others, who run their own at once unless they have as many as they can: often while
 * there are any that run, wait or soon will, seldom otherwise. A look is one statement that reads one entry of an index, or none.
 */
const OFTEN_MS = 40;
const SELDOM_MS = 250;
/** For how long it is known what time the database has. Only looks go by it. */
const CLOCK_MS = 10_000;
/** How long a database that has failed is left alone. */
const FAILED_MS = 1_000;
/** How long a turn may take, which holds up nobody but jobs. */
const PATIENCE_MS = 30_000;
/** How long jobs have to come to an end when the service stops. */
const STOP_MS = 5_000;

const NO_ROOM: Room = { each: new Map(), jobs: 0, given: 0 };

/** What a job's function is given beside what was written. */
export interface JobContext {
  readonly id: string;
  readonly attempt: number;
  readonly signal: AbortSignal;
}

/** How often a job is tried, and after which pauses. */
export interface Retries {
  readonly most: number;
  /** In milliseconds; undefined where it is not tried again. */
  readonly pauseAfter: (attempt: number, why: unknown) => number | undefined;
}

/** What runs the jobs of a hook, and how many milliseconds it may take. */
interface Hook {
  readonly timeout: number;
}

interface Running {
  readonly job: Job;
  readonly controller: AbortController;
  readonly timer: Timer;
}

export interface JobsOptions<H extends Hook> {
  readonly storage: Storage;
  /** By their names; they may become more or fewer. */
  readonly hooks: ReadonlyMap<string, H>;
  /** How many jobs of one hook this process runs at a time, or its share of all that it can; all of them, where nothing is said. */
  readonly each?: number;
  readonly retries: Retries;
  readonly run: (of: H, job: Job, context: JobContext) => Promise<unknown>;
  /** What else is durable together with the ends of jobs. */
  readonly note?: (ended: readonly Ended[]) => Program<void>;
  readonly observe: Observe;
}

export class JobRunner<H extends Hook> {
  readonly #options: JobsOptions<H>;
  /** Who this is, for the database. */
  readonly #holder = crypto.randomUUID();
  readonly #running = new Map<string, Running>();
  readonly outcomes = { done: 0, again: 0, failed: 0 };
  /** What the clock of the database is ahead of this process's own. */
  #ahead = 0;
  #askAgain = 0;
  #lookMs = OFTEN_MS;
  #ended: Ended[] = [];
  #isWoken = true;
  #isStopped = false;
  #wake: () => void = () => {};
  #loop: Promise<void> | undefined;
  #renewing: Timer | undefined;

  constructor(options: JobsOptions<H>) {
    this.#options = options;
  }

  start(): void {
    this.#loop ??= this.#work();
    this.#renewing ??= setInterval(() => void this.#renew(), RENEW_MS);
    this.#renewing.unref();
  }

  /** There may be something to do. */
  readonly wake = (): void => {
    this.#isWoken = true;
    this.#wake();
  };

  tell(metrics: Metrics): void {
    const stored = counted<Record<string, number>>(this.#options.storage, countJobs, {});
    metrics.addEach(
      'gauge',
      'duet_jobs_stored',
      'Jobs of all nodes, by what they wait for.',
      'state',
      stored,
    );
    metrics.add('gauge', 'duet_jobs_running', 'Jobs that run in this process.', () => this.#running.size);
    metrics.addEach(
      'counter',
      'duet_jobs_ended_total',
      'Attempts at jobs: done, to be tried again, or failed for good.',
      'outcome',
      () => this.outcomes,
    );
  }

  /** Takes no more, lets those that run come to an end, and leaves the rest to others. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#wake();
    await this.#loop;
    const end = performance.now() + STOP_MS;
    while (this.#running.size > 0 && performance.now() < end) await this.#pause(50);
    for (const { job, controller } of this.#running.values()) {
      controller.abort(new Error('the service stops'));
      this.#end(job, { job, error: 'the service stopped while it ran', pause: 0, isReturned: true });
    }
    clearInterval(this.#renewing);
    // Whoever cannot be told waits for the lease to end.
    if (this.#ended.length > 0) await this.#turn(this.#ended, NO_ROOM).catch(() => {});
  }

  async #work(): Promise<void> {
    while (!this.#isStopped) {
      const ended = this.#ended;
      this.#ended = [];
      try {
        await this.#once(ended);
      } catch (error) {
        this.#ended.unshift(...ended);
        if (!this.#isStopped) this.#options.observe({ event: 'failure', cause: error });
        await Bun.sleep(FAILED_MS);
      }
      if (!this.#isStopped && this.#ended.length === 0 && !this.#isWoken) await this.#pause(this.#lookMs);
    }
  }

  async #once(ended: readonly Ended[]): Promise<void> {
    const isCalled = this.#isWoken || ended.length > 0;
    this.#isWoken = false;
    const room = this.#room();
    const hooks = [...room.each.keys()];
    if (ended.length === 0 && (room.jobs === 0 || hooks.length === 0)) return;
    if (!isCalled && !(await this.#isAnyDue(hooks))) return;
    const taken = await this.#turn(ended, room);
    for (const job of taken) this.#begin(job);
    // There may be more where these came from.
    if (taken.length === room.jobs && room.jobs > 0) this.#isWoken = true;
  }

  async #isAnyDue(hooks: readonly string[]): Promise<boolean> {
    const { storage } = this.#options;
    if (performance.now() >= this.#askAgain) {
      this.#ahead = (await storage.read(databaseTime, 'one', patience())) - performance.now();
      this.#askAgain = performance.now() + CLOCK_MS;
    }
    const now = performance.now() + this.#ahead;
    const soon = Math.round(now + LEASE_MS);
    const first = await storage.read(() => firstDue(hooks, soon), 'one', patience());
    this.#lookMs = first === undefined ? SELDOM_MS : OFTEN_MS;
    return first !== undefined && first <= now;
  }

  #turn(ended: readonly Ended[], room: Room): Promise<Job[]> {
    const { storage, note } = this.#options;
    const by = this.#holder;
    const program = function* (): Program<Job[]> {
      if (note && ended.length > 0) yield* note(ended);
      return yield* turn(by, ended, room);
    };
    return storage.write(program, 'many', patience());
  }

  #room(): Room {
    const { hooks, each } = this.#options;
    // However many others never come to an end, there is room for one that does.
    const share = Math.max(1, Math.floor(MOST_RUNNING / hooks.size));
    const most = each === undefined ? MOST_RUNNING : Math.min(each, share);
    const mostGiven = Math.ceil(MOST_GIVEN / hooks.size);
    const left = new Map([...hooks.keys()].map((name) => [name, { jobs: most, given: mostGiven }]));
    for (const { job } of this.#running.values()) {
      const of = left.get(job.hook);
      if (!of) continue;
      of.jobs--;
      of.given -= job.given.text.length;
    }
    const open = [...left].filter(([, of]) => of.jobs > 0 && of.given > 0);
    return {
      each: new Map(open.map(([name, of]) => [name, of.jobs])),
      jobs: MOST_RUNNING - this.#running.size,
      given: Math.max(0, ...open.map(([, of]) => of.given)),
    };
  }

  #begin(job: Job): void {
    const of = this.#options.hooks.get(job.hook);
    // Its lease had ended, and it is this process that has taken it again: it goes on.
    if (!of || this.#running.has(job.id)) return;
    const controller = new AbortController();
    const { signal } = controller;
    // Who does not listen to the signal goes on beside whoever takes the job next: nothing can end a function from outside.
    const late = () => {
      const why = new Error(`it took longer than ${of.timeout} ms`);
      controller.abort(why);
      this.#fail(job, why);
    };
    this.#running.set(job.id, { job, controller, timer: setTimeout(late, of.timeout) });
    const { id, attempt } = job;
    // Every attempt was made, and the last left no word: it may be what ends its process.
    if (attempt > this.#options.retries.most)
      return void this.#fail(job, new Error('the process ended while it ran'));
    void this.#options.run(of, job, { id, attempt, signal }).then(
      (outcome) => this.#end(job, { job, outcome }),
      (error) => this.#fail(job, error),
    );
  }

  #fail(job: Job, why: unknown): void {
    const { most, pauseAfter: pauses } = this.#options.retries;
    const pause = job.attempt >= most ? undefined : pauses(job.attempt, why);
    const error = why instanceof Error ? why.message : String(why);
    if (!this.#end(job, { job, error, pause, outcome: why })) return;
    const next =
      pause === undefined ? 'it has failed for good' : `the next attempt is in ${Math.round(pause / 1000)} s`;
    const message = `${job.lane} failed, attempt ${job.attempt} of ${most} (job ${job.id}); ${next}`;
    this.#options.observe({ event: 'failure', cause: new Error(message, { cause: why }) });
  }

  /** Only once: what comes after its timeout, or after somebody else has taken it, counts no more. */
  #end(job: Job, ended: Ended): boolean {
    const running = this.#running.get(job.id);
    if (running?.job !== job) return false;
    clearTimeout(running.timer);
    this.#running.delete(job.id);
    this.#ended.push(ended);
    this.outcomes[ended.error === undefined ? 'done' : ended.pause === undefined ? 'failed' : 'again']++;
    this.#wake();
    return true;
  }

  async #renew(): Promise<void> {
    const ids = [...this.#running.keys()];
    if (ids.length === 0) return;
    try {
      const own = await this.#options.storage.write(() => renew(this.#holder, ids), 'many', patience());
      for (const id of ids) if (!own.has(id)) this.#lose(id);
    } catch (error) {
      this.#options.observe({ event: 'failure', cause: error });
    }
  }

  /** This process was away for so long that somebody else has taken it; or it was dropped. */
  #lose(id: string): void {
    const running = this.#running.get(id);
    if (!running) return;
    clearTimeout(running.timer);
    this.#running.delete(id);
    running.controller.abort(new Error('the job is no longer held by this process'));
  }

  /** Until somebody wakes it, at the latest after so long. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      timer.unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** 25 attempts within three days or so; not all at the same moment that failed together. */
export function pauseAfter(attempt: number): number {
  return (1_000 + 145 * attempt ** 4) * (0.9 + 0.2 * Math.random());
}

function patience(): number {
  return performance.now() + PATIENCE_MS;
}
