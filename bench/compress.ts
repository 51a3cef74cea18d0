/** What `COMPRESS` costs and gives: the same answers with and without, to clients that take them compressed. */

import { join } from 'node:path';
import type { Effort } from './compare.ts';
import { fillFile } from './data.ts';
import { NESTED } from './documents.ts';
import { duet } from './duet.ts';
import { type Ask, get, median, post, send } from './load.ts';
import type { Databases } from './postgres.ts';
import { Process } from './process.ts';
import { FIRST_USERS, PAGE } from './rows.ts';

export const codings = ['off', 'gzip', 'zstd'] as const;
export type Coding = (typeof codings)[number];

const asks: Readonly<Record<string, Ask>> = {
  'list of 100 books': get(`/books?limit=${PAGE}`),
  'GraphQL 20 users → posts → comments': post('/graphql', {
    query: NESTED,
    variables: { first: FIRST_USERS },
  }),
};

export interface Compressed {
  readonly title: string;
  readonly found: Readonly<Record<Coding, Costs>>;
}

export interface Costs {
  readonly perSecond: number;
  /** Microseconds of the server for one request. */
  readonly processor: number;
  /** The length of the body as it is sent. */
  readonly bytes: number;
}

/** What browsers send. */
const encoding = 'gzip, deflate, br, zstd';

export async function compressBench(
  effort: Effort,
  folder: string,
  databases: Databases,
): Promise<Compressed[]> {
  const data = join(folder, 'compress.json');
  fillFile(data);
  const servers: { coding: Coding; process: Process }[] = [];
  try {
    for (const coding of codings) {
      const command = duet({ folder, data, env: { COMPRESS: coding } });
      servers.push({ coding, process: await Process.start(command, databases) });
    }
    const all: Compressed[] = [];
    for (const [title, ask] of Object.entries(asks)) {
      console.error(`bench: ${title}, compressed`);
      const rounds = { off: [], gzip: [], zstd: [] } as Record<Coding, Costs[]>;
      // The first round only warms up.
      for (let round = 0; round <= effort.rounds; round++)
        for (const { coding, process } of servers) {
          const { perSecond, processor } = await process.press({ ...ask, encoding }, effort);
          const { length: bytes } = await (await send(process.url, { ...ask, encoding })).bytes();
          if (round > 0) rounds[coding].push({ perSecond, processor, bytes });
        }
      const middle = (costs: readonly Costs[], what: keyof Costs) => median(costs.map((each) => each[what]));
      const costsOf = (coding: Coding): Costs => ({
        perSecond: middle(rounds[coding], 'perSecond'),
        processor: middle(rounds[coding], 'processor'),
        bytes: middle(rounds[coding], 'bytes'),
      });
      all.push({ title, found: { off: costsOf('off'), gzip: costsOf('gzip'), zstd: costsOf('zstd') } });
    }
    return all;
  } finally {
    for (const { process } of servers) await process.stop();
  }
}
