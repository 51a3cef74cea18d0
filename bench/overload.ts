/** Ten times more than Duet can do, for a minute: what is still completed, and how soon it is itself again. */

import { join } from 'node:path';
import type { Socket } from 'bun';
import { fillFile } from './data.ts';
import { duet } from './duet.ts';
import { median, post } from './load.ts';
import type { Databases } from './postgres.ts';
import { Process } from './process.ts';

/**
 * Heavy enough that one core can offer ten times of what another can do, with a short answer: the posts of a thousand
 * users are searched in vain. What can be completed hangs on what it takes to refuse the nine others, some 50 us each.
 */
const SEARCH =
  '{ users(first: 1000) { posts(where: { title: { contains: "nowhere" } }) { id } again: posts(where: { title: { contains: "no" } }) { id } } }';
const TIMES = 10;
/** Whoever has no answer by then has gone: a later one is no completed work. */
const PATIENCE_MS = 1000;
/** How a refusal begins that GraphQL gives the status 200, and what it counts as. */
const REFUSAL = '{"errors"';
const REFUSED = 400;
const TICK_MS = 2;
const WINDOW_MS = 200;
/** Light load: what latency is measured under before and after. */
const LIGHT = 0.1;

export interface Overload {
  /** These are requests/s. */
  readonly peak: number;
  readonly offered: number;
  readonly completed: number;
  readonly refused: number;
  /** Milliseconds: the median under light load before, and the p99 of what was completed under overload. */
  readonly normalMs: number;
  readonly overloadedP99: number;
  /** From the end of the overload until latency was normal and stayed so; null when it never was. */
  readonly recoveryMs: number | null;
}

interface Answer {
  /** When it was asked for, since the stream began. */
  readonly at: number;
  readonly ms: number;
  readonly status: number;
}

/** Connections that each carry one request at a time. */
class Clients {
  readonly #idle: Socket<Pending>[] = [];
  readonly #open = new Set<Socket<Pending>>();
  readonly #url: URL;
  readonly #request: string;
  #closing = false;
  answers: Answer[] = [];
  #start = performance.now();

  private constructor(url: string) {
    this.#url = new URL(url);
    const body = JSON.stringify({ query: SEARCH });
    this.#request = `POST /graphql HTTP/1.1\r\nHost: ${this.#url.host}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  }

  static async connect(url: string, connections: number): Promise<Clients> {
    const clients = new Clients(url);
    for (let at = 0; at < connections; at++) await clients.#connect();
    return clients;
  }

  async #connect(): Promise<void> {
    const { hostname, port } = this.#url;
    const socket = await Bun.connect<Pending>({
      hostname,
      port: Number(port),
      data: { asked: 0, status: 0, missing: 0 },
      socket: {
        data: (which, chunk) => this.#receive(which, chunk),
        // A server may end the connection with its refusal: the client comes again.
        close: (which) => {
          if (this.#open.delete(which) && !this.#closing) void this.#connect();
        },
      },
    });
    this.#open.add(socket);
    this.#idle.push(socket);
  }

  #receive(socket: Socket<Pending>, chunk: Buffer): void {
    const pending = socket.data;
    if (pending.status === 0) {
      const head = chunk.indexOf('\r\n\r\n') + 4;
      const text = chunk.toString('latin1', 0, head);
      const isRefused = chunk.toString('latin1', head, head + REFUSAL.length) === REFUSAL;
      pending.status = isRefused ? REFUSED : Number(text.slice(9, 12));
      pending.missing = head + Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
    }
    pending.missing -= chunk.length;
    if (pending.missing > 0) return;
    const { asked, status } = pending;
    this.answers.push({ at: asked - this.#start, ms: performance.now() - asked, status });
    pending.status = 0;
    this.#idle.push(socket);
  }

  /** Requests that come when they come, whether or not those before them were answered; how many came. */
  async stream(perSecond: number, seconds: number): Promise<number> {
    this.answers = [];
    this.#start = performance.now();
    let arrived = 0;
    for (;;) {
      const elapsed = performance.now() - this.#start;
      if (elapsed >= seconds * 1000) return arrived;
      for (; arrived < (elapsed / 1000) * perSecond; arrived++) {
        // Who finds no free connection is not served.
        const socket = this.#free();
        if (!socket) continue;
        socket.data.asked = performance.now();
        socket.write(this.#request);
      }
      await Bun.sleep(TICK_MS);
    }
  }

  #free(): Socket<Pending> | undefined {
    let socket = this.#idle.pop();
    while (socket && !this.#open.has(socket)) socket = this.#idle.pop();
    return socket;
  }

  close(): void {
    this.#closing = true;
    for (const socket of this.#open) socket.terminate();
  }
}

interface Pending {
  asked: number;
  status: number;
  /** Bytes of the answer that are still to come. */
  missing: number;
}

export async function overload(folder: string, databases: Databases, quick: boolean): Promise<Overload> {
  const data = join(folder, 'overload.json');
  fillFile(data);
  const server = await Process.start(duet({ folder, data }), databases);
  try {
    return await measure(server, quick ? 5 : 60);
  } finally {
    await server.stop();
  }
}

async function measure(server: Process, seconds: number): Promise<Overload> {
  const ask = post('/graphql', { query: SEARCH });
  await server.press(ask, { seconds: 3 });
  const { perSecond: peak } = await server.press(ask, { seconds: 5 });
  const light = await Clients.connect(server.url, 50);
  await light.stream(peak * LIGHT, 5);
  const normalMs = median(light.answers.map(({ ms }) => ms));

  // Enough for all who come while one is patient: a server that lets them wait answers all of them too late.
  const flood = await Clients.connect(
    server.url,
    Math.min(10_000, Math.ceil((TIMES * peak * PATIENCE_MS) / 1000)),
  );
  const arrived = await flood.stream(peak * TIMES, seconds);
  const answers = flood.answers;
  const completed = answers.filter(({ status, ms }) => status === 200 && ms <= PATIENCE_MS);
  flood.close();
  await light.stream(peak * LIGHT, 5);
  light.close();
  return {
    peak,
    offered: arrived / seconds,
    completed: completed.length / seconds,
    refused: answers.filter(({ status }) => status !== 200).length / seconds,
    normalMs,
    overloadedP99: percentile(
      completed.map(({ ms }) => ms),
      0.99,
    ),
    recoveryMs: recovery(light.answers, normalMs),
  };
}

/** Normal is a window whose median is at most twice what it was before. */
function recovery(answers: readonly Answer[], normalMs: number): number | null {
  const windows = Map.groupBy(answers, ({ at }) => Math.floor(at / WINDOW_MS));
  const slow = [...windows].filter(([, list]) => median(list.map(({ ms }) => ms)) > 2 * normalMs);
  const last = Math.max(-1, ...slow.map(([window]) => window));
  return windows.has(last + 1) ? (last + 1) * WINDOW_MS : null;
}

function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
}
