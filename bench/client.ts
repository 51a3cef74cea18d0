/** What the typed client costs beside a plain `fetch` of the same: both in this process, which is then the slower end. */

import { join } from 'node:path';
import type { Effort } from './compare.ts';
import { BOOKS, fillFile } from './data.ts';
import { duet } from './duet.ts';
import { CONNECTIONS, get, median, send } from './load.ts';
import type { Databases } from './postgres.ts';
import { Process } from './process.ts';
import { PAGE } from './rows.ts';

interface Books {
  get(id: number): Promise<unknown>;
  list(asked: { readonly first: number }): Promise<unknown>;
}

export interface ClientResult {
  readonly title: string;
  /** A second. */
  readonly typed: number;
  readonly plain: number;
  /** The median of the ratios of each round. */
  readonly share: number;
}

export async function clientBench(
  effort: Effort,
  folder: string,
  databases: Databases,
): Promise<ClientResult[]> {
  const data = join(folder, 'client.json');
  fillFile(data);
  const server = await Process.start(duet({ folder, data }), databases);
  try {
    const file = join(folder, 'duet.ts');
    await Bun.write(file, await (await send(server.url, get('/client.ts'))).text());
    const { duet: connect } = (await import(file)) as { duet: (url: string) => { books: Books } };
    const { books } = connect(server.url);
    const json = async (path: string) => (await fetch(server.url + path)).json();
    const pairs = {
      'one record': [(id: number) => books.get(id), (id: number) => json(`/books/${id}`)],
      'list of 100': [() => books.list({ first: PAGE }), () => json(`/books?limit=${PAGE}`)],
    } as const;
    const all: ClientResult[] = [];
    for (const [title, [typed, plain]] of Object.entries(pairs)) {
      console.error(`bench: the typed client, ${title}`);
      const rounds: { typed: number; plain: number }[] = [];
      // The first round only warms up.
      for (let round = 0; round <= effort.rounds; round++) {
        const both = { typed: await rate(typed, effort), plain: await rate(plain, effort) };
        if (round > 0) rounds.push(both);
      }
      all.push({
        title,
        typed: median(rounds.map((each) => each.typed)),
        plain: median(rounds.map((each) => each.plain)),
        share: median(rounds.map((each) => each.typed / each.plain)),
      });
    }
    return all;
  } finally {
    await server.stop();
  }
}

/** Calls a second, with as many under way as the load of the comparison has connections. */
async function rate(ask: (id: number) => Promise<unknown>, { seconds }: Effort): Promise<number> {
  let count = 0;
  const begun = performance.now();
  const until = begun + seconds * 1000;
  const one = async () => {
    while (performance.now() < until)
      if ((await ask(1 + (count++ % BOOKS))) === null) throw new Error('null');
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
  return count / ((performance.now() - begun) / 1000);
}
