/** `@caseless`: text that is compared without letter case, and shown as it was written. */

import { describe, expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';

const sdl = `type User @resource { id: ID! email: String! @unique @caseless name: String @caseless n: Int }`;
const names = ['Straße', 'STRASSE', 'İstanbul', 'ΣΑΣ', 'σας', null, 'Ångström', 'ÅNGSTRÖM'];
const data = { users: names.map((name, n) => ({ email: `U${n}@X.org`, name, n })) };

describe.each([...databases])('on %s', (database) => {
  test('comparisons, order, uniqueness and upserts', async () => {
    const app = await openApp(database, { sdl, data });
    const found = async (query: string) => {
      const { status, body } = await app.rest('GET', `/users?${query}`);
      return status === 200 ? body.map(({ n }: any) => n) : body;
    };
    const where = async (text: string) => {
      const { data: answer, errors } = await app.graphql(`{ users(where: { name: { ${text} } }) { n } }`);
      return errors ?? answer.users.map(({ n }: any) => n);
    };
    expect(await found('name=straSSe')).toEqual([0, 1]);
    expect(await found('email=u3@x.ORG')).toEqual([3]);
    expect(await where('eq: "STRAẞE"')).toEqual([0, 1]);
    expect(await where('in: ["i\u0307STANBUL", "Σας"]')).toEqual([2, 3, 4]);
    expect(await where('startsWith: "STRAß"')).toEqual([0, 1]);
    expect(await where('endsWith: "σ"')).toEqual([3, 4]);
    expect(await where('contains: "NGSTR"')).toEqual([6, 7]);
    expect(await where('ne: "strasse"')).toEqual([2, 3, 4, 5, 6, 7]);
    expect(await where('isNull: true')).toEqual([5]);
    expect(await found('sort=name')).toEqual([5, 2, 0, 1, 6, 7, 3, 4]);
    const page = await app.rest('GET', '/users?sort=name&limit=3');
    const next = new URL(/<([^>]+)>; rel="next"/.exec(page.headers.get('Link') ?? '')?.[1] ?? '', 'http://x');
    expect((await app.rest('GET', next.pathname + next.search)).body.map(({ n }: any) => n)).toEqual([
      1, 6, 7,
    ]);
    const { data: grouped } = await app.graphql('{ usersAggregate(groupBy: [name]) { by { name } count } }');
    expect(grouped.usersAggregate).toEqual(
      [
        [null, 1],
        ['İstanbul', 1],
        ['STRASSE', 2],
        ['ÅNGSTRÖM', 2],
        ['ΣΑΣ', 2],
      ].map(([name, count]) => ({
        by: { name },
        count,
      })),
    );
    const least = await app.graphql(
      '{ usersAggregate { min { name } max { name } countDistinct { name } count } }',
    );
    expect(least.data.usersAggregate).toEqual([
      { min: { name: 'İstanbul' }, max: { name: 'σας' }, countDistinct: { name: 4 }, count: 8 },
    ]);
    const taken = await app.rest('POST', '/users', { email: 'u0@x.ORG' });
    expect([taken.status, taken.body.errors]).toMatchObject([
      409,
      [{ pointer: '#/email', code: 'NOT_UNIQUE' }],
    ]);
    const changed = await app.rest('POST', '/users?upsert=email', { email: 'u0@x.ORG', n: 10 });
    expect([changed.status, changed.body.email]).toEqual([200, 'u0@x.ORG']);
    expect((await app.rest('PUT', '/users/1', { name: 'Other' })).body.name).toBe('Other');
    expect(await found('name=OTHER')).toEqual([10]);
    await app.close();
  });
});
