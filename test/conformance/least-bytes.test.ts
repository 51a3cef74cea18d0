/** No more rows are read than could be answered: an answer is whole, or it is refused, and never cut where the limit is. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const MANY = 300;
/** Each value is as short as can be, so that what a row takes at least is what it takes. */
const shorts = Array.from({ length: 20 }, (_, at) => `n${at}`);
const sdl = `
  type Shelf @resource(plural: "shelves") { id: ID!  items: [Item!]! }
  type Item @resource { id: ID!  shelf: Shelf  text: String  ${shorts.map((name) => `${name}: Int`).join(' ')} }`;
const data = {
  shelves: [{}],
  items: Array.from({ length: MANY }, () => ({
    shelfId: 1,
    text: '',
    ...Object.fromEntries(shorts.map((name) => [name, 1])),
  })),
};

const fields = `id text ${shorts.join(' ')}`;
const rest = async (app: AppUnderTest, path: string) => (await app.rest('GET', path)).body;
const graphql = async (app: AppUnderTest, text: string) => {
  const { data, errors } = await app.graphql(text);
  return errors ? errors[0].extensions : data;
};
/** How many items an answer has, by either door and at any place. */
const ways: Record<string, (app: AppUnderTest) => Promise<{ code?: string; length?: number }>> = {
  'GET /items': (app) => rest(app, '/items'),
  'a page of all': (app) => rest(app, `/items?limit=${MANY}`),
  'some fields': (app) => rest(app, '/items?fields=id,n0'),
  include: async (app) => {
    const body = await rest(app, '/shelves?include=items');
    return body[0]?.items ?? body;
  },
  '{ items }': async (app) => {
    const data = await graphql(app, `{ items { ${fields} } }`);
    return data.items ?? data;
  },
  '{ shelves { items } }': async (app) => {
    const data = await graphql(app, `{ shelves { items { ${fields} } } }`);
    return data.shelves?.[0].items ?? data;
  },
  aliases: async (app) => {
    const data = await graphql(app, '{ items { id a: n0 b: n0 c: n1 } }');
    return data.items ?? data;
  },
  'a connection': async (app) => {
    const data = await graphql(
      app,
      `{ itemsConnection(first: ${MANY}) { edges { node { id n0 } } totalCount } }`,
    );
    return data.itemsConnection?.edges ?? data;
  },
};

describe.each([...databases])('on %s', (database) => {
  const limits = [2, 4, 8, 16, 24, 32, 40, 44, 48, 52, 56, 60, 64, 68, 72, 80].map((kilo) => kilo * 1000);
  const apps: AppUnderTest[] = [];
  beforeAll(async () => {
    for (const limit of limits)
      apps.push(await openApp(database, { sdl, data, env: { LIMIT_BYTES: String(limit) } }));
  });
  afterAll(async () => {
    for (const app of apps) await app.close();
  });

  test.each(Object.entries(ways))('%s', async (_, way) => {
    const answers = await Promise.all(apps.map(way));
    const told = answers.map(({ code, length }) => code ?? length);
    const whole = told.indexOf(MANY);
    expect(whole).toBeGreaterThan(0);
    expect(told.slice(0, whole)).toEqual(told.slice(0, whole).map(() => 'ANSWER_TOO_LARGE'));
    expect(told.slice(whole)).toEqual(told.slice(whole).map(() => MANY));
  });
});
