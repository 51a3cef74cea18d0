/** What a restore writes and tells under rules: nothing that its caller may not write, and nothing of what it may not see. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
type Account @resource @journal
  @allow(to: [READ, CREATE, UPDATE, DELETE, HISTORY], where: { owner: { eq: { claim: "sub" } } })
  @allow(to: [READ, CREATE, UPDATE, DELETE, HISTORY], role: "admin")
{
  id: ID!
  owner: String!
  name: String!
  salary: Int @allow(to: [READ, CREATE, UPDATE], role: "admin")
  limit: Int @readonly @default(value: 1) @allow(to: [READ], role: "admin")
}
type Doc @resource @journal
  @allow(to: [READ, CREATE, UPDATE, DELETE], where: { owner: { eq: { claim: "sub" } } })
  @allow(to: [HISTORY], where: { owner: { eq: { claim: "sub" } }, secret: { eq: false } })
  @allow(to: [READ, CREATE, UPDATE, DELETE, HISTORY], role: "admin")
{ slug: ID! @key owner: String! name: String! secret: Boolean! @default(value: false) }
type Line @resource @journal
  @allow(to: [READ, CREATE, UPDATE, DELETE, HISTORY])
{
  id: ID!
  name: String!
  price: Int @allow(to: [READ, CREATE, UPDATE], role: "admin")
  band: String @computed(from: ["price"], stored: true) @allow(to: [READ])
}
type Ward @resource
  @allow(to: [READ], where: { open: { eq: true } })
  @allow(to: [READ, CREATE, DELETE], role: "admin")
{ id: ID!  open: Boolean! }
type Visit @resource @journal @allow(to: [READ, CREATE, UPDATE, DELETE, HISTORY]) { id: ID!  name: String!  ward: Ward  guard: Ward @allow(to: [READ], role: "admin") }
`;

const logic = { Line: { band: ({ price }: { price: number }) => (price > 9 ? 'high' : 'low') } };

type Headers = Record<string, string>;

/** The same restore through either door: `body` as it is sent, the record or the whole error as it is told. */
const doors = {
  rest: async (app: AppUnderTest, type: Type, key: unknown, body: Body, headers: Headers) => {
    const path = `/${type.toLowerCase()}s/${key}/restore`;
    const { status, body: told } = await app.rest('POST', path, body, headers);
    const { requestId: _, instance: __, ...rest } = told;
    return { status, told: rest };
  },
  graphql: async (app: AppUnderTest, type: Type, key: unknown, body: Body, headers: Headers) => {
    const at = Object.entries(body).map(([name, value]) => `, ${name}: ${JSON.stringify(value)}`);
    const query = `mutation { restore${type}(${KEYS[type]}: ${JSON.stringify(key)}${at.join('')}) { name } }`;
    const { status, data, errors } = await app.graphql(query, {}, headers);
    if (!errors) return { status, told: data[`restore${type}`] };
    const [{ message, extensions }] = errors as [any];
    const { requestId: _, ...rest } = extensions;
    return { status, told: { message, ...rest } };
  },
};

type Type = keyof typeof KEYS;
type Body = Readonly<Record<string, unknown>>;
const KEYS = { Account: 'id', Doc: 'slug', Line: 'id', Visit: 'id' };

const as = (sub: string, more: object = {}) => headersOf({ name: sub, claims: { sub, ...more } });
const [ann, bob, root] = [await as('ann'), await as('bob'), await as('root', { roles: ['admin'] })];

for (const database of databases)
  describe(`on ${database}`, () => {
    let app: AppUnderTest;
    beforeAll(async () => {
      app = await openApp(database, { sdl, logic, env: { AUTH_SECRET: SECRET } });
    });
    afterAll(() => app.close());

    const created = async (path: string, body: object) => (await app.rest('POST', path, body, root)).body;

    for (const [door, restore] of Object.entries(doors))
      test(`by ${door}, what one may not see of a deleted record comes back as it was last`, async () => {
        const { id } = await created('/accounts', { owner: 'ann', name: 'old', salary: 5000 });
        const path = `/accounts/${id}`;
        await app.rest('PUT', path, { name: 'new', salary: 9100 }, root);
        await app.rest('DELETE', path, undefined, ann);
        expect(await restore(app, 'Account', id, { version: 1 }, ann)).toMatchObject({
          status: 200,
          told: { name: 'old' },
        });
        const { body } = await app.rest('GET', path, undefined, root);
        expect(body).toEqual({ id, owner: 'ann', name: 'old', salary: 9100, limit: 1 });
        // Who may have all of it gets all of it.
        await app.rest('DELETE', path, undefined, root);
        await restore(app, 'Account', id, { version: 1 }, root);
        expect((await app.rest('GET', path, undefined, root)).body.salary).toBe(5000);
      });

    for (const [door, restore] of Object.entries(doors))
      test(`by ${door}, what one may not see is told like what never was`, async () => {
        const docs = [
          ['open', { owner: 'ann', name: 'one' }, { name: 'two' }],
          ['turned', { owner: 'ann', name: 'one' }, { name: 'two', secret: true }],
          ['given', { owner: 'ann', name: 'one' }, { owner: 'bob', name: 'two' }],
          ['began', { owner: 'ann', name: 'one', secret: true }, { name: 'two', secret: false }],
        ] as const;
        for (const [name, first, second] of docs) {
          const slug = `${name}-${door}`;
          await created('/docs', { slug, ...first });
          await app.rest('PUT', `/docs/${slug}`, second, root);
          await app.rest('DELETE', `/docs/${slug}`, undefined, root);
        }
        const told = (who: Headers, name: string, body: Body) =>
          restore(app, 'Doc', `${name}-${door}`, body, who);
        const bodies = [{}, { version: 1 }, { version: 2 }, { version: 9 }, { version: 0 }, { version: 'x' }];
        for (const body of bodies) {
          // Another's; one's own that was last a secret; one's own that was then another's.
          for (const [who, name] of [
            [bob, 'open'],
            [bob, 'turned'],
            [bob, 'began'],
            ...(body.version === 1 ? [] : [[ann, 'turned'] as const]),
            [ann, 'given'],
          ] as const)
            expect([name, body, await told(who, name, body)]).toEqual([
              name,
              body,
              await told(who, 'unknown', body),
            ]);
        }
        // Of a record that one may see, a version that one may not is told like one that is not kept.
        const hidden = JSON.stringify(await told(ann, 'began', { version: 1 }));
        const none = JSON.stringify(await told(ann, 'began', { version: 9 }));
        expect(hidden).toContain('NOT_FOUND');
        expect(hidden).toBe(none.replace('version 9', 'version 1'));
        expect(await told(ann, 'turned', { version: 1 })).toMatchObject({ told: { name: 'one' } });
        expect(await told(ann, 'open', {})).toMatchObject({ told: { name: 'two' } });
        expect(await told(bob, 'given', { version: 2 })).toMatchObject({ told: { name: 'two' } });
      });

    for (const [door, restore] of Object.entries(doors))
      test(`by ${door}, what functions make is made anew of what the record then has`, async () => {
        const { id } = await created('/lines', { name: 'old', price: 1 });
        const path = `/lines/${id}`;
        const line = async () => (await app.rest('GET', path, undefined, root)).body;
        await app.rest('PUT', path, { name: 'new', price: 10 }, root);
        expect(await restore(app, 'Line', id, { version: 1 }, ann)).toMatchObject({ told: { name: 'old' } });
        expect(await line()).toEqual({ id, name: 'old', price: 10, band: 'high' });
        await app.rest('DELETE', path, undefined, ann);
        await restore(app, 'Line', id, { version: 1 }, ann);
        expect(await line()).toEqual({ id, name: 'old', price: 10, band: 'high' });
        await restore(app, 'Line', id, { version: 1 }, root);
        expect(await line()).toEqual({ id, name: 'old', price: 1, band: 'low' });
      });

    for (const [door, restore] of Object.entries(doors))
      test(`by ${door}, a reference to what one may not see is told like none, and comes back where none is chosen`, async () => {
        const ward = async (open: boolean) => (await created('/wards', { open })).id as number;
        const [shown, hidden, other, gone] = [
          await ward(true),
          await ward(false),
          await ward(false),
          await ward(false),
        ];
        const stored = async (id: unknown) => (await app.rest('GET', `/visits/${id}`, undefined, root)).body;
        /** The first version has one ward, the second another. What the caller is told, and what is stored then. */
        const undone = async (first: Ward, second: Ward, isDeleted: boolean, version: number | undefined) => {
          const { id } = await created('/visits', { name: 'one', wardId: first, guardId: first });
          const path = `/visits/${id}`;
          await app.rest('PUT', path, { name: 'two', wardId: second, guardId: second }, root);
          if (isDeleted) await app.rest('DELETE', path, undefined, ann);
          const answer = await restore(app, 'Visit', id, version === undefined ? {} : { version }, ann);
          const { wardId, guardId } = await stored(id);
          const { wardId: seen } = (await app.rest('GET', path, undefined, ann)).body;
          return { answer: JSON.stringify(answer).replaceAll(`"id":${id}`, '"id":0'), seen, wardId, guardId };
        };
        type Ward = number | null;
        for (const isDeleted of [true, false])
          for (const version of isDeleted ? [undefined, 1, 2] : [1]) {
            const plain = await undone(null, null, isDeleted, version);
            expect(plain.answer).toContain('"status":200');
            const [toHidden, fromHidden, between] = [
              await undone(null, hidden, isDeleted, version),
              await undone(hidden, null, isDeleted, version),
              await undone(hidden, other, isDeleted, version),
            ];
            for (const each of [toHidden, fromHidden, between])
              expect([each.answer, each.seen]).toEqual([plain.answer, null]);
            // What nobody saw, nobody chose.
            expect([between.wardId, between.guardId]).toEqual([other, other]);
            const [leaving, never] = [
              await undone(hidden, shown, isDeleted, version),
              await undone(null, shown, isDeleted, version),
            ];
            expect([leaving.answer, leaving.seen, leaving.wardId]).toEqual([
              never.answer,
              never.seen,
              never.wardId,
            ]);
          }
        // What it led to is gone by now.
        const { id } = await created('/visits', { name: 'one', wardId: gone, guardId: gone });
        await app.rest('DELETE', `/visits/${id}`, undefined, ann);
        expect((await app.rest('DELETE', `/wards/${gone}`, undefined, root)).status).toBe(204);
        expect((await restore(app, 'Visit', id, {}, ann)).status).toBe(200);
        expect(await stored(id)).toMatchObject({ wardId: null, guardId: null });
      });
  });
