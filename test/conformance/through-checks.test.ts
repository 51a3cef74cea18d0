/** Checks of rules that look at a list which the same update writes: told by what is there afterwards, and before what is taken. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  type Tag @resource @allow(to: [READ]) { id: ID!  name: String!  docs: [Doc!]! @through(type: "DocTag") }
  type DocTag @resource @allow(to: [READ, CREATE, DELETE]) { id: ID!  doc: Doc! @onDelete(do: CASCADE)  tag: Tag! }
  type Doc @resource
    @allow(to: [READ])
    @allow(to: [UPDATE], where: { state: { eq: "new" } }, check: { tags: { some: { name: { eq: { claim: "team" } } } } })
  {
    id: ID!
    state: String!
    slug: String @unique @caseless
    secret: String @unique @allow(to: [READ], role: "keeper") @allow(to: [UPDATE])
    tags: [Tag!]! @through(type: "DocTag")
  }`;
const data = {
  tags: [{ name: 'red' }, { name: 'blue' }],
  docs: [
    { state: 'new', slug: 'one', secret: 'first' },
    { state: 'new', slug: 'taken', secret: 'taken' },
  ],
};
const member = (team: string) => headersOf({ name: team, claims: { sub: 'ann', team } });
const red = await member('red');
const nobody = await member('grey');

type Headers = Record<string, string>;
type Update = (app: AppUnderTest, body: object, headers: Headers) => Promise<unknown>;

const doors: Record<string, Update> = {
  REST: async (app, body, headers) => {
    const answer = await app.rest('PUT', '/docs/1', body, headers);
    return answer.status === 200 ? 'done' : answer.body.code;
  },
  'a transaction': async (app, body, headers) => {
    const where = { id: { eq: 1 } };
    const operations = [{ method: 'PUT', path: '/docs', where, atMost: 1, body }];
    const answer = await app.rest('POST', '/transaction', { operations }, headers);
    return answer.status === 200 ? 'done' : answer.body.code;
  },
  GraphQL: async (app, body, headers) => {
    const query = `mutation ($state: String, $slug: String, $secret: String, $tagIds: [ID!]) {
      updateDoc(id: 1, state: $state, slug: $slug, secret: $secret, tagIds: $tagIds) { id } }`;
    const { errors } = await app.graphql(query, { ...body }, headers);
    return errors?.[0]?.extensions['code'] ?? 'done';
  },
};

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data, env: { AUTH_SECRET: SECRET } });
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    await app.unguarded().rest('PUT', '/docs/1', { state: 'new', slug: 'one', secret: 'first', tagIds: [] });
  });

  describe.each(Object.entries(doors))('through %s', (_, update) => {
    test.each([
      { secret: 'taken' },
      { secret: 'taken', tagIds: [1] },
      { slug: 'TAKEN', tagIds: [1] },
      { slug: 'taken', tagIds: [] },
      { state: 'old', secret: 'taken', tagIds: [2] },
    ])('who may not write learns nothing of what is taken: %p', async (body) => {
      const free = Object.fromEntries(
        Object.entries(body).map(([name, value]) => [name, /taken/i.test(String(value)) ? 'free' : value]),
      );
      expect([await update(app, body, nobody), await update(app, free, nobody)]).toEqual([
        'FORBIDDEN',
        'FORBIDDEN',
      ]);
    });

    test('a link of the same update is what a check finds, whatever else changes with it', async () => {
      expect(await update(app, { state: 'old', tagIds: [2] }, red)).toBe('FORBIDDEN');
      expect(await update(app, { state: 'new', slug: 'two', tagIds: [1] }, red)).toBe('done');
      // By now it is allowed as things stand, so that what is taken can be told.
      expect(await update(app, { slug: 'TAKEN', tagIds: [1, 2] }, red)).toBe('CONFLICT');
      expect(await update(app, { state: 'old', tagIds: [] }, red)).toBe('FORBIDDEN');
      expect(await update(app, { state: 'old', tagIds: [1] }, red)).toBe('done');
    });
  });
});
