/** Whatever rules say of a record and its links: who may not make an update learns nothing of what is taken, by either door, on either database. */

import { afterAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const own = fc.constantFrom('{ state: { eq: "new" } }', '{ state: { eq: "old" } }');
const linked = fc.constantFrom(
  '{ tags: { some: { name: { eq: { claim: "team" } } } } }',
  '{ tags: { none: { name: { eq: "blue" } } } }',
  // Leads back to records of the type itself.
  '{ tags: { some: { docs: { some: { state: { eq: "new" } } } } } }',
);
const filter = fc.oneof(
  fc.constant('{}'),
  own,
  linked,
  fc.tuple(own, linked).map(([one, other]) => `{ and: [${one}, ${other}] }`),
);
const rules = fc.record({
  update: fc.option(filter, { nil: undefined }),
  release: fc.option(fc.record({ where: filter, check: filter }), { nil: undefined }),
});
type Rules = typeof rules extends fc.Arbitrary<infer T> ? T : never;

const sdlOf = ({ update, release }: Rules) => `
  type Tag @resource @allow(to: [READ]) { id: ID!  name: String!  docs: [Doc!]! @through(type: "DocTag") }
  type DocTag @resource @allow(to: [READ, CREATE, DELETE]) { id: ID!  doc: Doc! @onDelete(do: CASCADE)  tag: Tag! }
  type Doc @resource
    @allow(to: [READ])
    ${update ? `@allow(to: [UPDATE], where: ${update})` : ''}
    ${release ? `@allow(to: [UPDATE], where: ${release.where}, check: ${release.check})` : ''}
  { id: ID!  state: String!  slug: String @unique  tags: [Tag!]! @through(type: "DocTag") }`;
const data = {
  tags: [{ name: 'red' }, { name: 'blue' }],
  docs: [
    { state: 'new', slug: 'one' },
    { state: 'new', slug: 'taken' },
  ],
  docTags: [{ docId: 2, tagId: 2 }],
};

const state = fc.constantFrom('new', 'old');
const tagIds = fc.subarray([1, 2]);
const asked = fc.record({
  before: fc.record({ state, tagIds }),
  set: fc.record({ state, tagIds }, { requiredKeys: [] }),
  team: fc.constantFrom('red', 'grey'),
});

const codeOf = {
  rest: async (app: AppUnderTest, body: object, headers: Record<string, string>) => {
    const answer = await app.rest('PUT', '/docs/1', body, headers);
    return answer.status === 200 ? 'done' : String(answer.body.code);
  },
  graphql: async (app: AppUnderTest, body: object, headers: Record<string, string>) => {
    const query = `mutation ($state: String, $slug: String, $tagIds: [ID!]) {
      updateDoc(id: 1, state: $state, slug: $slug, tagIds: $tagIds) { id } }`;
    const { errors } = await app.graphql(query, { ...body }, headers);
    return errors?.length ? String(errors[0]?.extensions['code']) : 'done';
  },
};

const open: AppUnderTest[] = [];
afterAll(() => Promise.all(open.map((app) => app.close())));

test('what is taken is told to nobody who is refused what is free, with new links and without', async () => {
  type Code = keyof typeof told;
  const told = { FORBIDDEN: 0, done: 0, CONFLICT: 0 };
  const scenes = fc.record({ rules, asks: fc.array(asked, { minLength: 4, maxLength: 6 }) });
  await fc.assert(
    fc.asyncProperty(scenes, async ({ rules: own, asks }) => {
      const apps = await Promise.all(
        databases.map((kind) => openApp(kind, { sdl: sdlOf(own), data, env: { AUTH_SECRET: SECRET } })),
      );
      open.push(...apps);
      for (const { before, set, team } of asks) {
        const headers = await headersOf({ name: team, claims: { sub: 'ann', team } });
        const seen: string[] = [];
        for (const app of apps)
          for (const door of [codeOf.rest, codeOf.graphql]) {
            const tries: string[] = [];
            const { tagIds: _, ...alone } = set;
            // With the links that there are, without those that are asked for.
            for (const body of [
              { ...alone, slug: 'free' },
              { ...set, slug: 'free' },
              { ...set, slug: 'taken' },
            ]) {
              await app.unguarded().rest('PUT', '/docs/1', { slug: 'one', ...before });
              tries.push(await door(app, body, headers));
            }
            seen.push(tries.join(', '));
            const [asIs, free, taken] = tries as [Code, Code, Code];
            told[free]++;
            told[taken]++;
            if (free !== 'done' && asIs !== 'done') expect(taken).toBe(free);
          }
        expect(new Set(seen).size).toBe(1);
      }
      await Promise.all(apps.map((app) => app.close()));
      open.length = 0;
    }),
    { numRuns: 12 },
  );
  // All three have come up.
  for (const times of Object.values(told)) expect(times).toBeGreaterThan(0);
});
