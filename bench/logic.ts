/** What functions of `logic.ts` cost: hooks beside writes without, actions beside handlers by hand, and jobs. */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Effort } from './compare.ts';
import { fillPostgres, fillSqlite, records } from './data.ts';
import { duet } from './duet.ts';
import { type Ask, get, median, post, send } from './load.ts';
import type { Databases } from './postgres.ts';
import { Process } from './process.ts';

const text = 'title: String! @constraint(minLength: 1, maxLength: 500)  body: String! @default(value: "")';
const schema = `
  type Item @resource {
    id: ID!  sku: String! @unique  name: String! @constraint(minLength: 1, maxLength: 500)  stock: Int! @constraint(min: 0)
  }
  type Note @resource { id: ID!  ${text} }
  type Memo @resource { id: ID!  ${text} }
  type Delivery @resource { id: ID!  item: Item!  name: String! }
  type Receipt @resource { id: ID!  item: Item!  name: String! @readonly }
  type Task @resource { id: ID!  n: Int! }
  type Siege @resource { id: ID! }
  type Mutation { deliver(itemId: ID!): Delivery! @action }
`;

/** `Siege` takes up all that a process can run at a time. */
const logic = `
  import { appendFileSync } from 'node:fs';
  export default {
    Memo: { beforeCreate: ({ input }) => ({ ...input, title: input.title.trim() }) },
    Receipt: {
      *beforeCreate({ tx, input }) {
        const item = yield* tx.items.get(input.itemId);
        yield* tx.items.update(input.itemId, { _inc: { stock: 1 } });
        return { ...input, name: item.name };
      },
    },
    Mutation: {
      *deliver({ tx }, { itemId }) {
        const item = yield* tx.items.get(itemId);
        yield* tx.items.update(itemId, { _inc: { stock: 1 } });
        return yield* tx.deliveries.create({ itemId, name: item.name });
      },
    },
    Task: {
      async afterCreate({ record }) {
        if (record.n >= 0) appendFileSync('begun', record.n + ' ' + (performance.timeOrigin + performance.now()) + '\\n');
      },
    },
    Siege: { async afterCreate({ signal }) { await new Promise((end) => signal.addEventListener('abort', end)); } },
  };
`;

const RUNNING_AT_ONCE = 100;
const JOBS_TOGETHER = 1000;

/** Requests/s and processor time by request, of what is measured and of what it is held against. */
export interface Pair {
  readonly perSecond: number;
  readonly against: number;
  /** The medians of the ratios of each round. */
  readonly share: number;
  readonly processor: number;
}

export interface OnDatabase {
  readonly hook: Pair;
  readonly generator: Pair;
  readonly action: Pair;
  /** A second, and the milliseconds from the answer to a write until its job begins: here, and in another process. */
  readonly jobs: number;
  readonly here: number;
  readonly elsewhere: number;
}

export type LogicResults = Readonly<Record<'SQLite' | 'PostgreSQL', OnDatabase>>;

const note = { title: 'Note {id}', body: 'Written down.' };
const deliver = post('/actions/deliver', { itemId: '{number}' });
/** The generator's read, update and insert; an update reads its record too. */
const three = post('/transaction', {
  operations: [
    { method: 'PUT', path: '/items/{id}', body: { _inc: { stock: 1 } } },
    { method: 'POST', path: '/deliveries', body: { itemId: '{number}', name: 'Item' } },
  ],
});

export async function logicBench(
  effort: Effort,
  folder: string,
  databases: Databases,
): Promise<LogicResults> {
  const data = join(folder, 'logic.json');
  writeFileSync(data, JSON.stringify({ items: records().items }));
  const on = async (kind: 'SQLite' | 'PostgreSQL'): Promise<OnDatabase> => {
    const plain = kind === 'PostgreSQL' ? await databases.make() : undefined;
    const file = join(mkdtempSync(join(folder, 'sqlite-')), 'data.db');
    if (plain === undefined) fillSqlite(file);
    else await fillPostgres(plain);
    const cwd = mkdtempSync(join(folder, 'server-'));
    const url = plain === undefined ? undefined : await databases.make();
    const command = duet({ folder, data, schema, logic, url, ready: get('/items/1') });
    const running: Process[] = [];
    const start = async (...of: Parameters<typeof Process.start>) => {
      const started = await Process.start(...of);
      running.push(started);
      return started;
    };
    try {
      const own = await start(command, databases);
      const hand = await start(
        {
          run: [
            process.execPath,
            '--no-env-file',
            join(import.meta.dir, 'limit', plain === undefined ? 'sqlite.ts' : 'postgres.ts'),
          ],
          env: plain === undefined ? { DATABASE_FILE: file } : { DATABASE_URL: plain },
          cwd,
          ready: get('/books/1'),
        },
        databases,
      );
      await databases.analyze();
      const pair = (ask: Ask, other: Ask, by = own) => besides(own, ask, by, other, effort);
      const hook = await pair(post('/memos', note), post('/notes', note));
      const generator = await pair(post('/receipts', { itemId: '{number}' }), three);
      const action = await pair(deliver, deliver, hand);
      const jobs = await rate(own, effort);
      const here = await delay(own, command.cwd, effort);
      // All that it can run at a time it runs until the end of the bench: what is written there is begun by the other.
      await together(own, '/sieges', Array(RUNNING_AT_ONCE).fill({}));
      await Bun.sleep(500);
      const env = {
        ...command.env,
        ...(url === undefined && { DATABASE_URL: `sqlite:${command.cwd}/duet.db` }),
      };
      await start({ ...command, env }, databases);
      const elsewhere = await delay(own, command.cwd, effort);
      return { hook, generator, action, jobs, here, elsewhere };
    } finally {
      for (const each of running) await each.stop();
    }
  };
  return { SQLite: await on('SQLite'), PostgreSQL: await on('PostgreSQL') };
}

export async function besides(
  own: Process,
  ask: Ask,
  by: Process,
  other: Ask,
  effort: Effort,
): Promise<Pair> {
  const rounds: { mine: number; theirs: number; processor: number }[] = [];
  // Half of the rounds only warm up, for both alike: under load the compilers of the runtime take 10 to 15 s until they are done, on
  // the same cores.
  for (let round = 0; round < 2 * effort.rounds; round++) {
    const mine = await own.press(ask, effort);
    const theirs = await by.press(other, effort);
    if (round >= effort.rounds)
      rounds.push({
        mine: mine.perSecond,
        theirs: theirs.perSecond,
        processor: mine.processor / theirs.processor,
      });
  }
  return {
    perSecond: median(rounds.map(({ mine }) => mine)),
    against: median(rounds.map(({ theirs }) => theirs)),
    share: median(rounds.map(({ mine, theirs }) => mine / theirs)),
    processor: median(rounds.map(({ processor }) => processor)),
  };
}

async function together(to: Process, path: string, body: readonly object[]): Promise<void> {
  const answer = await send(to.url, post('/transaction', { operations: [{ method: 'POST', path, body }] }));
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${(await answer.text()).slice(0, 300)}`);
  await answer.arrayBuffer();
}

async function ended(of: Process): Promise<number> {
  const text = await (await send(of.url, get('/metrics'))).text();
  return Number(/^duet_jobs_ended_total\{outcome="done"\} (\d+)/m.exec(text)?.[1] ?? 0);
}

/** From the first write until the last job has ended; the writes are many records each. */
async function rate(own: Process, { quick }: Effort): Promise<number> {
  const wanted = (quick ? 5 : 30) * JOBS_TOGETHER;
  const before = await ended(own);
  const start = performance.now();
  for (let made = 0; made < wanted; made += JOBS_TOGETHER)
    await together(own, '/tasks', Array(JOBS_TOGETHER).fill({ n: -1 }));
  while ((await ended(own)) - before < wanted) await Bun.sleep(5);
  return wanted / ((performance.now() - start) / 1000);
}

/** One write after the other, with pauses in which everybody comes to rest. */
async function delay(own: Process, cwd: string, { quick }: Effort): Promise<number> {
  const first = await begunIn(cwd).then(({ size }) => size);
  const answered = new Map<number, number>();
  for (let n = first; n < first + (quick ? 10 : 50); n++) {
    const answer = await send(own.url, post('/tasks', { n }));
    answered.set(n, performance.timeOrigin + performance.now());
    await answer.arrayBuffer();
    await Bun.sleep(80 + 100 * Math.random());
  }
  await Bun.sleep(1000);
  const begun = await begunIn(cwd);
  // What was begun before its answer had arrived has not waited at all.
  return median([...answered].map(([n, at]) => Math.max(0, (begun.get(n) ?? Number.POSITIVE_INFINITY) - at)));
}

async function begunIn(cwd: string): Promise<Map<number, number>> {
  const file = Bun.file(join(cwd, 'begun'));
  const text = (await file.exists()) ? await file.text() : '';
  const lines = text.split('\n').filter((line) => line !== '');
  return new Map(lines.map((line) => line.split(' ').map(Number) as [number, number]));
}
