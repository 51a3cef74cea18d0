/** Parts of a list between two cursors, cursors that somebody made up, and sums of fractions. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const sdl = 'type Day @resource { id: ID!  at: DateTime!  name: String  part: Float! }';
const days = Array.from({ length: 7 }, (_, index) => ({
  at: `2024-01-0${index + 1}T00:00:00.000Z`,
  name: index % 2 === 0 ? null : 'odd',
  part: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7][index],
}));

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data: { days } });
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
