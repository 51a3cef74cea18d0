/** Parts of a list between two cursors, cursors that somebody made up, and sums of fractions. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const sdl = `
  enum Kind { A B }
  type Day @resource { id: ID!  at: DateTime!  name: String  part: Float! }
  type Room @resource { code: String! @key }
  type Craft @resource { id: UUID!  kind: Kind!  on: Date  at: DateTime!  big: BigInt!  text: String!  rate: Float!  done: Boolean! }
`;
const crafts = ['A', 'A', 'B', 'B'].map((kind, index) => ({
  kind,
  on: `2024-01-0${index + 1}`,
  at: `2024-01-0${index + 1}T00:00:00.000Z`,
  big: String(index),
  text: `t${index}`,
  rate: index,
  done: index > 1,
}));
/** What each database said to the same cursors. */
const seen: unknown[] = [];
const days = Array.from({ length: 7 }, (_, index) => ({
  at: `2024-01-0${index + 1}T00:00:00.000Z`,
  name: index % 2 === 0 ? null : 'odd',
  part: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7][index],
}));

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data: { days, crafts } });
  });
  afterAll(() => app.close());

  test.each([
    ['id', '{ id: ASC }'],
    ['-at', '{ at: DESC }'],
    ['name,-id', '{ name: ASC }, { id: DESC }'],
  ])('between two cursors, sorted by %s', async (sort, orderBy) => {
    const { data } = await app.graphql(
      `{ daysConnection(orderBy: [${orderBy}]) { edges { cursor node { id } } } }`,
    );
    const cursors: string[] = data.daysConnection.edges.map(({ cursor }: any) => cursor);
    const ids: number[] = data.daysConnection.edges.map(({ node }: any) => Number(node.id));
    const idsOf = (records: { id: number | string }[]) => records.map(({ id }) => Number(id));
    for (const [from, to] of [
      [0, 6],
      [1, 5],
      [2, 4],
      [3, 4],
    ] as const) {
      const between = ids.slice(from + 1, to);
      for (const limit of [1, 2, 3, 6]) {
        const query = `sort=${sort}&limit=${limit}&after=${cursors[from]}&before=${cursors[to]}`;
        const { body } = await app.rest('GET', `/days?${query}`);
        expect([query, idsOf(body)]).toEqual([query, between.slice(-limit)]);
        for (const [which, wanted] of [
          ['first', between.slice(0, limit)],
          ['last', between.slice(-limit)],
        ] as const) {
          const page = `orderBy: [${orderBy}], ${which}: ${limit}, after: "${cursors[from]}", before: "${cursors[to]}"`;
          const answer = await app.graphql(`{ daysConnection(${page}) { edges { node { id } } } }`);
          const found = idsOf(answer.data.daysConnection.edges.map(({ node }: any) => node));
          expect([page, found]).toEqual([page, [...wanted]]);
        }
      }
    }
  });

  test('a cursor holds values as they are stored, and in no other spelling', async () => {
    const { data } = await app.graphql('{ daysConnection(orderBy: [{ at: ASC }]) { edges { cursor } } }');
    const [, , third] = data.daysConnection.edges;
    const [query, at, id] = JSON.parse(Buffer.from(third.cursor, 'base64url').toString());
    const made = (...place: unknown[]) =>
      Buffer.from(JSON.stringify([query, ...place])).toString('base64url');
    const get = (cursor: string) => app.rest('GET', `/days?sort=at&limit=2&after=${cursor}`);
    expect((await get(made(at, id))).body.map(({ id }: any) => id)).toEqual([4, 5]);
    for (const spelling of [
      '2024-01-03T00:00:00Z',
      '2024-01-03T01:00:00.000+01:00',
      '2024-01-03t00:00:00.000z',
    ]) {
      const cursor = made(spelling, id);
      const { status, body } = await get(cursor);
      expect([spelling, status, body.errors?.[0].code]).toEqual([spelling, 400, 'CURSOR']);
      const { errors } = await app.graphql(
        `{ days(orderBy: [{ at: ASC }], first: 2, after: "${cursor}") { id } }`,
      );
      expect([spelling, errors?.[0].extensions.errors[0].code]).toEqual([spelling, 'CURSOR']);
    }
    for (const place of [[at], [at, id, id], [id, at], [null, id], [at, null], [at, String(id)], [at, 0.5]]) {
      const { status, body } = await get(made(...place));
      expect([place, status, body.errors?.[0].code]).toEqual([place, 400, 'CURSOR']);
    }
  });

  test('whatever a cursor is made up of, it is one or it is refused', async () => {
    const url = '/crafts?limit=2';
    const sorts = ['kind', 'on', 'at', 'big', 'text', 'rate', 'done', 'id', '-kind', 'kind,text'];
    const texts = [
      'A',
      'B',
      'C',
      '',
      'A\0',
      '\0',
      '\ud800',
      'x'.repeat(300),
      '2024-01-01',
      '2024-01-01T00:00:00.000Z',
    ];
    const values = [
      ...texts,
      '01a1e337-0b03-7154-89fd-df7d7b1f65b4',
      '1',
      1,
      0.5,
      1e300,
      true,
      null,
      [],
      {},
      ['A'],
    ];
    const told = new Map<string, number>();
    for (const sort of sorts) {
      const { headers } = await app.rest('GET', `${url}&sort=${sort}`);
      const next = new URLSearchParams(/\?(.*?)>/.exec(headers.get('Link') ?? '')?.[1]).get('after') ?? '';
      const [query, ...place] = JSON.parse(Buffer.from(next, 'base64url').toString());
      const key = place.at(-1);
      const crafted = values.flatMap((value) => [
        ...place.map((_: unknown, index: number) => place.with(index, value)),
        ...[true, false].flatMap((flag) => [
          [{ digest: 'x', key, begins: flag, lead: [value], cut: true }],
          [{ digest: 'x', key: value, begins: flag, lead: place.slice(0, -1), cut: flag }],
          [{ digest: 'x', key, begins: false, lead: [...place.slice(0, -1), value], cut: flag }],
        ]),
      ]);
      for (const each of crafted) {
        const cursor = Buffer.from(JSON.stringify([query, ...each])).toString('base64url');
        const { status, body } = await app.rest('GET', `${url}&sort=${sort}&after=${cursor}`);
        if (status !== 200)
          expect([sort, each, status, body.errors?.[0].code]).toEqual([sort, each, 400, 'CURSOR']);
        told.set(JSON.stringify([sort, each]).replaceAll(key, 'key'), status);
      }
      for (const value of ['C', 'A\0'])
        if (sort.endsWith('kind')) expect(told.get(JSON.stringify([sort, [value, 'key']]))).toBe(400);
    }
    seen.push([...told].sort(([a], [b]) => (a < b ? -1 : 1)));
    expect(seen.at(-1)).toEqual(seen[0]);
  });

  test('the beginning of a key is as long as one that had no room', async () => {
    const codes = ['a', 'b', 'c'].map((letter) => letter.repeat(500));
    for (const code of codes) await app.rest('POST', '/rooms', { code });
    const { headers } = await app.rest('GET', '/rooms?limit=1');
    const next = new URLSearchParams(/\?(.*?)>/.exec(headers.get('Link') ?? '')?.[1]).get('after') ?? '';
    const [query, place] = JSON.parse(Buffer.from(next, 'base64url').toString());
    const get = (given: object) => {
      const cursor = Buffer.from(JSON.stringify([query, { ...place, ...given }])).toString('base64url');
      return app.rest('GET', `/rooms?limit=1&after=${cursor}`);
    };
    expect([place.begins, (await get({})).body]).toEqual([true, [{ code: codes[1] }]]);
    // To look for it, all keys that begin so are read.
    for (const key of ['', 'a'])
      expect((await get({ key })).body.errors?.[0]).toMatchObject({ parameter: 'after', code: 'CURSOR' });
  });

  test('sums and averages of fractions are the same everywhere', async () => {
    for (const [most, sum, avg] of [
      [2, 0.3, 0.15],
      [3, 0.6, 0.2],
      [7, 2.8, 0.4],
    ]) {
      const { body } = await app.rest('GET', `/days?aggregate=sum(part),avg(part)&id[lte]=${most}`);
      expect(body).toEqual([{ sum: { part: sum }, avg: { part: avg } }]);
      const { data } = await app.graphql(
        `{ daysAggregate(where: { id: { lte: "${most}" } }) { sum { part } avg { part } } }`,
      );
      expect(data.daysAggregate).toEqual(body);
    }
  });
});
