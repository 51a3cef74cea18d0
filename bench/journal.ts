/** What the journal costs: creates with @journal beside those without, how soon listeners are told, and what a stream takes. */

import type { Effort } from './compare.ts';
import { duet } from './duet.ts';
import { get, median, post, send } from './load.ts';
import { besides, type Pair } from './logic.ts';
import type { Databases } from './postgres.ts';
import { Process } from './process.ts';

const text = 'title: String! @constraint(minLength: 1, maxLength: 500)  body: String! @default(value: "")';
const schema = `
  type Note @resource { id: ID!  ${text} }
  type Memo @resource @journal { id: ID!  ${text} }
`;
const note = { title: 'Note {id}', body: 'Written down.' };

/** Milliseconds from the answer to a write until a listener has its event. */
interface Delays {
  readonly p50: number;
  readonly p99: number;
}

export interface JournalOnDatabase {
  readonly creates: Pair;
  /** Of one listener: where the write was sent, and at another process. */
  readonly here: Delays;
  readonly elsewhere: Delays;
  /** Of one who has a list of the type kept up to date. */
  readonly live: Delays;
  /** Of many who follow one type, while it is written all the time. */
  readonly crowd: Delays & { readonly listeners: number; readonly writes: number };
  /** Of an idle stream. */
  readonly kilobytes: number;
}

export type JournalResults = Readonly<Record<'SQLite' | 'PostgreSQL', JournalOnDatabase>>;

export async function journalBench(
  effort: Effort,
  folder: string,
  databases: Databases,
): Promise<JournalResults> {
  const listeners = effort.quick ? 50 : 1000;
  const on = async (kind: 'SQLite' | 'PostgreSQL'): Promise<JournalOnDatabase> => {
    const url = kind === 'PostgreSQL' ? await databases.make() : undefined;
    const command = duet({ folder, schema, url, ready: get('/memos?limit=1') });
    const same = { ...command.env, ...(!url && { DATABASE_URL: `sqlite:${command.cwd}/duet.db` }) };
    const running: Process[] = [];
    const start = async (env = command.env) => {
      const started = await Process.start({ ...command, ...(env && { env }) }, databases);
      running.push(started);
      return started;
    };
    try {
      const own = await start();
      const creates = await besides(own, post('/memos', note), own, post('/notes', note), effort);
      const kilobytes = await weight(own, listeners, effort);
      const here = await alone(own, own, effort);
      const live = await alone(own, own, effort, LAST);
      const crowd = await crowded(own, listeners, effort);
      const elsewhere = await alone(own, await start(same), effort);
      return { creates, here, elsewhere, live, crowd, kilobytes };
    } finally {
      for (const each of running) await each.stop();
    }
  };
  return { SQLite: await on('SQLite'), PostgreSQL: await on('PostgreSQL') };
}

const CHANGES = '/changes/memos';
/** A list that each write alters. */
const LAST = '/memos?sort=-id&limit=1';

/** Events are found by the numbers that are the titles of records. */
const EVENT = /"title":"(\d+)"/g;
const LONGEST_TITLE = 24;
const PATIENCE_MS = 30_000;

/** Many who listen to one process, by plain sockets: on two cores they must not take the time of what they measure. */
class Crowd implements AsyncDisposable {
  /** The number of each event, and when it came. */
  readonly heard: (readonly [title: number, at: number])[] = [];
  readonly #sockets: { end(): void }[] = [];
  #begun = 0;

  static async open({ url }: Process, count: number, path = CHANGES): Promise<Crowd> {
    const crowd = new Crowd();
    const { hostname, port } = new URL(url);
    const head = `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAccept: text/event-stream\r\n\r\n`;
    for (let at = 0; at < count; at++) {
      let rest: string | undefined;
      const data = (_: unknown, chunk: Buffer) => {
        if (rest === undefined) crowd.#begun++;
        const told = (rest ?? '') + chunk.toString('latin1');
        let end = Math.max(0, told.length - LONGEST_TITLE);
        for (const found of told.matchAll(EVENT)) {
          crowd.heard.push([Number(found[1]), performance.now()]);
          end = Math.max(end, found.index + found[0].length);
        }
        rest = told.slice(end);
      };
      const open = (socket: { write(text: string): unknown }) => void socket.write(head);
      crowd.#sockets.push(await Bun.connect({ hostname, port: Number(port), socket: { open, data } }));
    }
    await until(() => crowd.#begun === count, 'streams do not begin');
    return crowd;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.end();
    await Bun.sleep(200);
  }
}

/** How long after the answer to its write each event came; one that came before it did not wait at all. */
function delaysOf({ heard }: Crowd, answered: ReadonlyMap<number, number>): Delays {
  const sorted = heard
    // What is kept up to date shows what was written before, too.
    .filter(([title]) => answered.has(title))
    .map(([title, at]) => Math.max(0, at - (answered.get(title) ?? Number.NEGATIVE_INFINITY)))
    .sort((one, other) => one - other);
  return { p50: median(sorted), p99: sorted[Math.ceil(0.99 * sorted.length) - 1] ?? Number.NaN };
}

/** No title is used twice, in all of a run. */
let title = 0;

async function write(to: Process, answered: Map<number, number>): Promise<void> {
  const own = ++title;
  const answer = await send(to.url, post('/memos', { title: String(own), body: 'Written down.' }));
  answered.set(own, performance.now());
  if (answer.status !== 201) throw new Error(`/memos: ${answer.status}`);
  await answer.arrayBuffer();
}

/** One write after the other, with pauses in which everybody comes to rest. */
async function alone(written: Process, heard: Process, { quick }: Effort, path?: string): Promise<Delays> {
  await using listener = await Crowd.open(heard, 1, path);
  // What was there before is the first event of an answer that is kept up to date.
  listener.heard.length = 0;
  const answered = new Map<number, number>();
  for (let count = quick ? 10 : 100; count > 0; count--) {
    await write(written, answered);
    await Bun.sleep(60 + 100 * Math.random());
  }
  // An answer shows what is there by then: of writes that follow each other closely, the last.
  const { heard: events } = listener;
  const isTold = path ? () => events.at(-1)?.[0] === title : () => events.length === answered.size;
  await until(isTold, 'events are missing');
  return delaysOf(listener, answered);
}

const WRITES_PER_SECOND = 100;

async function crowded(own: Process, listeners: number, effort: Effort): Promise<JournalOnDatabase['crowd']> {
  await using crowd = await Crowd.open(own, listeners);
  const answered = new Map<number, number>();
  const under: Promise<void>[] = [];
  const writes = effort.quick ? 20 : WRITES_PER_SECOND * effort.seconds * 3;
  const begun = performance.now();
  for (let count = 0; count < writes; count++) {
    under.push(write(own, answered));
    await Bun.sleep(Math.max(0, begun + ((count + 1) * 1000) / WRITES_PER_SECOND - performance.now()));
  }
  await Promise.all(under);
  await until(() => crowd.heard.length === listeners * writes, 'events are missing');
  return { ...delaysOf(crowd, answered), listeners, writes };
}

/**
 * What the first time makes room for is not of the streams. Of the others the median: while they are opened, the server may
 * collect garbage of many megabytes, or none at all of what opening them leaves behind.
 */
async function weight(own: Process, listeners: number, { quick }: Effort): Promise<number> {
  const differences: number[] = [];
  for (let round = 0; round <= (quick ? 1 : 7); round++) {
    await Bun.sleep(1000);
    const before = own.memory().now;
    await using _ = await Crowd.open(own, listeners);
    await Bun.sleep(1000);
    if (round > 0) differences.push(((own.memory().now - before) * 1024) / listeners);
  }
  return Math.max(0, median(differences));
}

async function until(isSo: () => boolean, otherwise: string): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!isSo()) {
    if (performance.now() > deadline) throw new Error(`${otherwise} after ${PATIENCE_MS / 1000} s`);
    await Bun.sleep(1);
  }
}
