/** A server under test as a process of its own: started, waited for, weighed, stopped. */

import { readFileSync } from 'node:fs';
import { freePort } from '../test/postgres.ts';
import { type Ask, type Outcome, type Pressure, press, send } from './load.ts';
import type { Databases } from './postgres.ts';

/** Far beyond what the slowest of them needs. */
const PATIENCE_MS = 60_000;
const POLL_MS = 1;
/** The unit in which Linux tells the processor time of a process. */
const TICK_US = 10_000;
/** A server that takes no more of them has nothing to do. */
const IDLE_TICKS = 1;
const IDLE_MS = 150;

export interface Command {
  readonly run: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** What it answers well once it serves. */
  readonly ready: Ask;
}

/** What a server did under load, and what it took. */
export interface Pressed extends Outcome {
  /** Processor time of the server for one request, in microseconds; that of a PostgreSQL behind it is not in it. */
  readonly processor: number;
}

/** A run that is interrupted leaves no servers behind: they would disturb the next one. */
const running = new Set<ReturnType<typeof Bun.spawn>>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export class Process {
  readonly url: string;
  /** From the start of the process to the last byte of its first answer. */
  readonly firstAnswerMs: number;
  readonly #child: ReturnType<typeof Bun.spawn>;
  readonly #databases: Databases;

  private constructor(
    url: string,
    firstAnswerMs: number,
    child: ReturnType<typeof Bun.spawn>,
    databases: Databases,
  ) {
    this.url = url;
    this.firstAnswerMs = firstAnswerMs;
    this.#child = child;
    this.#databases = databases;
  }

  /** `{port}` in the command stands for the port, which is also in the environment. */
  static async start(
    { run, env = {}, cwd, ready }: Command,
    databases: Databases,
    patienceMs = PATIENCE_MS,
  ): Promise<Process> {
    const port = String(freePort());
    const log = Bun.file(`${cwd}/log`);
    const url = `http://127.0.0.1:${port}`;
    const started = performance.now();
    const child = Bun.spawn(
      run.map((word) => word.replace('{port}', port)),
      {
        cwd,
        env: {
          PATH: process.env['PATH'] ?? '',
          NODE_ENV: 'production',
          GRAPHILE_ENV: 'production',
          PORT: port,
          ...env,
        },
        stdout: log,
        stderr: log,
      },
    );
    running.add(child);
    void child.exited.then(() => running.delete(child));
    while (performance.now() - started < patienceMs && child.exitCode === null) {
      try {
        const answer = await send(url, ready);
        await answer.text();
        if (answer.ok) return new Process(url, performance.now() - started, child, databases);
      } catch {
        // Nobody listens yet.
      }
      await Bun.sleep(POLL_MS);
    }
    child.kill('SIGKILL');
    await child.exited;
    const lines = (await log.text()).trim().split('\n');
    throw new Error(`it does not start (${lines.find((line) => /error/i.test(line)) ?? lines.at(-1)})`);
  }

  /** Resident memory now, and the most that it ever was, in MB. */
  memory(): { readonly now: number; readonly most: number } {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8');
    const field = (name: string) =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
    return { now: field('VmRSS'), most: field('VmHWM') };
  }

  /**
   * Presses it, and waits until it has done all that it was asked for: whoever comes next must not pay for what is
   * left behind.
   */
  async press(ask: Ask, pressure: Pressure): Promise<Pressed> {
    const start = this.#ticks();
    const outcome = await press(this.url, ask, pressure);
    const processor = ((this.#ticks() - start) * TICK_US) / outcome.requests;
    const deadline = performance.now() + PATIENCE_MS;
    for (let before = this.#ticks(); performance.now() < deadline; ) {
      await Bun.sleep(IDLE_MS);
      const now = this.#ticks();
      if (now - before <= IDLE_TICKS && !(await this.#databases.busy())) return { ...outcome, processor };
      before = now;
    }
    throw new Error(`${this.url} is still busy a minute after ${ask.path}`);
  }

  #ticks(): number {
    // Fields 14 and 15; the second is a name in brackets, which may hold anything.
    const stat = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(fields[11]) + Number(fields[12]);
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    const late = setTimeout(() => this.#child.kill('SIGKILL'), 3000);
    await this.#child.exited;
    clearTimeout(late);
  }
}
