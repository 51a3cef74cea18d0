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
`;

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
const KEYS = { Account: 'id' };

const as = (sub: string, more: object = {}) => headersOf({ name: sub, claims: { sub, ...more } });
const [ann, root] = [await as('ann'), await as('root', { roles: ['admin'] })];

for (const database of databases)
  describe(`on ${database}`, () => {
    let app: AppUnderTest;
    beforeAll(async () => {
      app = await openApp(database, { sdl, env: { AUTH_SECRET: SECRET } });
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
  });
