/** The first request after a start, beside the hundredth: what is made when somebody first asks is paid for by that one. */

import { join } from 'node:path';
import type { Effort } from './compare.ts';
import { fillFile } from './data.ts';
import { BOOK, NESTED } from './documents.ts';
import { duet } from './duet.ts';
import { type Ask, get, median, post, send } from './load.ts';
import type { Databases } from './postgres.ts';
import { Process } from './process.ts';
import { FIRST_USERS, PAGE } from './rows.ts';

const asks: Readonly<Record<string, Ask>> = {
  '`GET /books/{id}`': get('/books/1'),
  'list of 100 books': get(`/books?limit=${PAGE}`),
  'GraphQL `book(id)`': post('/graphql', { query: BOOK, variables: { id: '1' } }),
  'GraphQL 20 users → posts → comments': post('/graphql', {
    query: NESTED,
    variables: { first: FIRST_USERS },
  }),
  create: post('/notes', { title: 'The first', body: 'Written down.' }),
};

const REQUESTS = 100;
/** Of the last, so that what disturbs one of them does not count. */
const LAST = 10;

/** Milliseconds, as a client sees them. */
export interface First {
  readonly database: 'SQLite' | 'PostgreSQL';
  readonly title: string;
  readonly first: number;
  readonly hundredth: number;
}

export async function firstBench(effort: Effort, folder: string, databases: Databases): Promise<First[]> {
  const data = join(folder, 'first.json');
  fillFile(data);
  const all: First[] = [];
  for (const database of ['SQLite', 'PostgreSQL'] as const) {
    const url = database === 'SQLite' ? undefined : await databases.make();
    const command = duet({ folder, data, url, ready: get('/healthz') });
    await (await Process.start(command, databases)).stop();
    for (const [title, ask] of Object.entries(asks)) {
      console.error(`bench: ${database}, the first ${title}`);
      const starts: { first: number; hundredth: number }[] = [];
      for (let start = 0; start < (effort.quick ? 1 : 5); start++) {
        const server = await Process.start(command, databases);
        try {
          const taken: number[] = [];
          while (taken.length < REQUESTS) taken.push(await timed(server.url, ask));
          starts.push({ first: taken[0] ?? Number.NaN, hundredth: median(taken.slice(-LAST)) });
        } finally {
          await server.stop();
        }
      }
      const middle = (what: 'first' | 'hundredth') => median(starts.map((each) => each[what]));
      all.push({ database, title, first: middle('first'), hundredth: middle('hundredth') });
    }
  }
  return all;
}

async function timed(url: string, ask: Ask): Promise<number> {
  const begun = performance.now();
  const answer = await send(url, ask);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${ask.path}: ${answer.status} ${text.slice(0, 500)}`);
  return performance.now() - begun;
}
