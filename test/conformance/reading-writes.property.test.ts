/** Paging while others write: no row comes twice, and none that was there all the time is skipped. */

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type AppUnderTest, databases, openEmptied } from '../app.ts';

const RUNS = Number(process.env['RUNS'] ?? 50);

const sdl = 'type Item @resource { id: ID!  rank: Int  name: String! }';

/** Few ranks and names, so that many are equal. */
const item = fc.record({
  rank: fc.option(fc.nat({ max: 2 }), { nil: null }),
  name: fc.constantFrom('a', 'b', '😀', '\uffff'),
});
type Item = typeof item extends fc.Arbitrary<infer T> ? T : never;

/** Between two pages: new rows, and the positions of old rows that go. */
const between = fc.record({
  inserted: fc.array(item, { maxLength: 3 }),
  deleted: fc.array(fc.nat({ max: 20 }), { maxLength: 3 }),
});

const sorts = ['id', '-id', 'rank', '-rank', 'rank,-name', '-rank,name', 'name,-rank,-id', '-name,-rank'];

const paging = fc.record({
  items: fc.array(item, { maxLength: 15, size: 'max' }),
  sort: fc.constantFrom(...sorts),
  limit: fc.integer({ min: 1, max: 4 }),
  writes: fc.array(between, { minLength: 4, maxLength: 8, size: 'max' }),
  backwards: fc.boolean(),
  door: fc.constantFrom('rest', 'graphql'),
});
type Paging = typeof paging extends fc.Arbitrary<infer T> ? T : never;

interface Page {
  readonly ids: readonly number[];
  readonly cursor: string | undefined;
}

async function readPage(app: AppUnderTest, paging: Paging, cursor: string | undefined): Promise<Page> {
  const { sort, limit, backwards, door } = paging;
  if (door === 'rest') {
    const rel = backwards ? 'prev' : 'next';
    const from = cursor === undefined ? '' : `&${backwards ? 'before' : 'after'}=${cursor}`;
    const { body, headers } = await app.rest('GET', `/items?sort=${sort}&limit=${limit}${from}`);
    const url = new RegExp(`<([^>]*)>; rel="${rel}"`).exec(headers.get('Link') ?? '')?.[1];
    const next = url && new URL(url, 'http://duet.test').searchParams.get(backwards ? 'before' : 'after');
    return { ids: body.map(({ id }: { id: number }) => id), cursor: next ?? undefined };
  }
  const orderBy = sort
    .split(',')
    .map((word) => ({ [word.replace('-', '')]: word[0] === '-' ? 'DESC' : 'ASC' }));
  const page = backwards ? 'last: $limit, before: $cursor' : 'first: $limit, after: $cursor';
  const { data } = await app.graphql(
    `query ($orderBy: [ItemOrder!], $limit: Int, $cursor: String) {
      it: itemsConnection(orderBy: $orderBy, ${page}) {
        edges { node { id } }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      }
    }`,
    { orderBy, limit, cursor },
  );
  const { edges, pageInfo } = data.it;
  const more = backwards ? pageInfo.hasPreviousPage : pageInfo.hasNextPage;
  const ids: number[] = edges.map(({ node }: { node: { id: string } }) => Number(node.id));
  const end = backwards ? pageInfo.startCursor : pageInfo.endCursor;
  return { ids: backwards ? ids.toReversed() : ids, cursor: more ? end : undefined };
}

async function create(app: AppUnderTest, items: readonly Item[]): Promise<number[]> {
  const created: number[] = [];
  for (const each of items) created.push((await app.rest('POST', '/items', each)).body.id);
  return created;
}

/** REST has no page that ends a list: one walks there first. */
async function lastCursor(app: AppUnderTest, paging: Paging): Promise<Page> {
  const { sort, door } = paging;
  const { body } = await app.rest('GET', `/items?sort=${sort}`);
  if (door === 'graphql' || body.length < 2) return { ids: [], cursor: undefined };
  const whole = await app.rest('GET', `/items?sort=${sort}&limit=${body.length - 1}`);
  const [, url = ''] = /<([^>]*)>; rel="next"/.exec(whole.headers.get('Link') ?? '') ?? [];
  const { body: last, headers } = await app.rest('GET', url);
  const [, back = ''] = /<([^>]*)>; rel="prev"/.exec(headers.get('Link') ?? '') ?? [];
  const cursor = new URL(back, 'http://duet.test').searchParams.get('before') ?? undefined;
  return { ids: last.map(({ id }: { id: number }) => id), cursor };
}

describe.each([...databases])('on %s', (database) => {
  test('no row twice, no stable row skipped', async () => {
    await using emptied = await openEmptied(database, { sdl });
    await fc.assert(
      fc.asyncProperty(paging, async (choices) => {
        const app = await emptied.next();
        const first = await create(app, choices.items);
        const gone = new Set<number>();
        const start = choices.backwards ? await lastCursor(app, choices) : undefined;
        const seen: number[] = [...(start?.ids ?? [])];
        let cursor = start?.cursor;
        for (let turn = 0; ; turn++) {
          const page = await readPage(app, choices, cursor);
          seen.push(...(choices.backwards && choices.door === 'rest' ? page.ids.toReversed() : page.ids));
          cursor = page.cursor;
          if (cursor === undefined) break;
          const write = choices.writes[turn];
          await create(app, write?.inserted ?? []);
          for (const position of write?.deleted ?? []) {
            const id = first[position];
            if (id === undefined) continue;
            await app.rest('DELETE', `/items/${id}`);
            gone.add(id);
          }
        }
        expect(seen).toHaveLength(new Set(seen).size);
        expect(seen).toEqual(expect.arrayContaining(first.filter((id) => !gone.has(id))));
      }),
      { numRuns: RUNS },
    );
  }, 300_000);
});
