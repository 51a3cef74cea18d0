/** Run as a program: prints what the heap grows by when the same is asked again and again. */

import { heapStats } from 'bun:jsc';
import { JSON_HEADERS, openApp } from '../app.ts';
import { type Ask, askAll, nested, RECORDS, rows } from './asking.ts';

export interface Growth {
  readonly what: string;
  /** Of the heap, round by round. */
  readonly bytes: readonly number[];
  /** Promises and timers, round by round. */
  readonly waiting: readonly number[];
}

const ROUNDS = 3;

const app = await openApp('sqlite', { data: rows() });
const followed = await openApp('sqlite', { sdl: 'type Item @resource @journal { id: ID! }' });

/** Bytes and objects that are reachable, without what is recorded here. */
function reachable() {
  for (const { statements, observations } of [app, followed]) {
    statements.length = 0;
    observations.length = 0;
  }
  // What the first sweep finds unreachable may have held more.
  for (let sweep = 0; sweep < 2; sweep++) Bun.gc(true);
  const { heapSize, objectTypeCounts } = heapStats();
  const { Timeout = 0, Promise: promises = 0 } = objectTypeCounts;
  return { heapSize, waiting: Timeout + promises };
}

const random = (n: number) => ((n * 7919) % RECORDS) + 1;

/** Comes, is told that it is there, and goes: by both doors. */
const listen: Ask = async (_, n) => {
  const headers = { ...JSON_HEADERS, Accept: 'text/event-stream' };
  const body = JSON.stringify({ query: 'subscription { itemChanges { key } }' });
  const isRest = n % 2 === 0;
  const { status, body: events } = await (isRest
    ? followed.fetch('/changes/items', { headers })
    : followed.fetch('/graphql', { method: 'POST', headers, body }));
  if (status !== 200) throw new Error(`no stream, but ${status}`);
  const reader = events?.getReader();
  await reader?.read();
  const next = reader?.read();
  // By then it waits for changes.
  await Bun.sleep(20);
  await reader?.cancel();
  await next;
  return { body: {} };
};

const kinds: readonly [string, number, Ask][] = [
  ['keyed reads', 10_000, (app, n) => app.rest('GET', `/users/${random(n)}`)],
  ['GraphQL queries', 5_000, (app, n) => app.graphql(nested, { id: random(n), title: `t${n}` })],
  ['distinct documents', 1_500, (app, n) => app.graphql(`{ a${n}: user(id: ${random(n)}) { name } }`)],
  ['distinct lists', 3_000, (app, n) => app.rest('GET', `/users?limit=1&name[eq]=n${n}`)],
  ['what is not there', 5_000, (app, n) => app.rest('GET', `/nowhere/${n}`)],
  ['streams', 1_000, listen],
];

const growths: Growth[] = [];
for (const [what, requests, ask] of kinds) {
  // Caches are full by then, and what is hot is compiled.
  await askAll(app, ask, 1, 1_500);
  const bytes: number[] = [];
  const waiting: number[] = [];
  let before = reachable();
  for (let round = 0; round < ROUNDS; round++) {
    await askAll(app, ask, 1_501 + round * requests, 1_500 + (round + 1) * requests);
    const after = reachable();
    bytes.push(after.heapSize - before.heapSize);
    waiting.push(after.waiting - before.waiting);
    before = after;
  }
  growths.push({ what, bytes, waiting });
}
await Promise.all([app.close(), followed.close()]);
console.log(JSON.stringify(growths));
// Whatever still waits is among the numbers.
process.exit();
