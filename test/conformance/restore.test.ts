/** A record is written as it was, through either door, under all that holds for a write. */

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
enum State { NEW PAID SENT }
type Owner @resource { id: ID! name: String! }
type Order @resource @journal
  @check(where: { total: { gte: 0 } }, message: "a total is not negative")
{
  id: ID!
  code: String! @unique
  total: Int!
  state: State! @default(value: NEW) @transitions(allow: { NEW: [PAID], PAID: [SENT] })
  note: String
  owner: Owner @onDelete(do: CASCADE)
  sum: String @readonly @default(value: "fixed")
  created: DateTime! @createdAt
  updated: DateTime! @updatedAt
}
type Word @resource @journal { lang: ID! @key text: String! }
type Log @resource(only: [LIST, GET, DELETE]) @journal { id: ID! text: String }
type Fact @resource(only: [LIST, GET, CREATE, DELETE]) @journal { id: ID! text: String }
type Page @resource(only: [LIST, GET, UPDATE, DELETE]) @journal { id: ID! text: String }
`;

const ruled = `
type Note @resource @journal
  @allow(to: [READ, CREATE, UPDATE, DELETE], where: { owner: { eq: { claim: "sub" } } })
  @allow(to: [HISTORY], where: { owner: { eq: { claim: "sub" } }, secret: { eq: false } })
  @allow(to: [READ, CREATE, UPDATE, DELETE, HISTORY], role: "admin")
{ id: ID! owner: String! text: String! secret: Boolean! @default(value: false) grade: Int @allow(to: [READ, CREATE, UPDATE], role: "admin") }
`;

/** The same restore through either door: the record, or the code of the error. */
const doors = {
  rest: async (
    app: AppUnderTest,
    key: number | string,
    version?: number,
    headers?: Record<string, string>,
  ) => {
    const path = typeof key === 'number' ? `/orders/${key}/restore` : `/words/${key}/restore`;
    const { status, body } = await app.rest('POST', path, { version }, headers);
    return status === 200 ? body : body.code;
  },
  graphql: async (
    app: AppUnderTest,
    key: number | string,
    version?: number,
    headers?: Record<string, string>,
  ) => {
    const at = version === undefined ? '' : `, version: ${version}`;
    const query =
      typeof key === 'number'
        ? `mutation { restoreOrder(id: ${key}${at}) { id code total state note ownerId sum created updated } }`
        : `mutation { restoreWord(lang: "${key}"${at}) { lang text } }`;
    const { data, errors } = await app.graphql(query, {}, headers);
    if (errors) return errors[0].extensions.code;
    const [record] = Object.values<any>(data);
    return record.id ? { ...record, id: Number(record.id) } : record;
  },
};

for (const database of databases)
  for (const [door, restore] of Object.entries(doors))
    describe(`on ${database}, by ${door}`, () => {
      let app: AppUnderTest;
      beforeEach(async () => {
        app = await openApp(database, { sdl });
      });
      afterEach(() => app.close());

      const get = async (path: string) => (await app.rest('GET', path)).body;
      const last = async () => {
        const { body } = await app.rest('GET', '/changes?limit=1000');
        const { kind, key, version } = body.at(-1);
        return `${kind} ${key} ${version}`;
      };

      test('an earlier version comes back, as a change of its own', async () => {
        const first = (await app.rest('POST', '/orders', { code: 'a', total: 1, note: 'x' })).body;
        await app.rest('PUT', '/orders/1', { total: 2, state: 'PAID', note: null });
        await app.rest('PUT', '/orders/1', { state: 'SENT' });
        const restored = await restore(app, 1, 1);
        // No transition leads there.
        expect({ ...restored, updated: first.updated }).toEqual(first);
        expect(restored.updated >= first.updated).toBe(true);
        expect(await get('/orders/1')).toEqual(restored);
        expect(await last()).toBe('UPDATED 1 4');
        expect((await restore(app, 1, 3)).state).toBe('SENT');
        expect(await last()).toBe('UPDATED 1 5');
      });

      test('a deleted record comes back under its key, and goes on with its versions', async () => {
        const first = (await app.rest('POST', '/orders', { code: 'a', total: 1 })).body;
        await app.rest('PUT', '/orders/1', { state: 'PAID' });
        await app.rest('DELETE', '/orders/1');
        expect(await restore(app, 1)).toMatchObject({
          id: 1,
          state: 'PAID',
          created: first.created,
          sum: 'fixed',
        });
        expect(await last()).toBe('CREATED 1 3');
        await app.rest('DELETE', '/orders/1');
        expect(await restore(app, 1, 1)).toMatchObject({ state: 'NEW' });
        expect(await last()).toBe('CREATED 1 4');
        // New ones are not given its id.
        expect((await app.rest('POST', '/orders', { code: 'b', total: 1 })).body.id).toBe(2);
        await app.rest('POST', '/words', { lang: 'en', text: 'hi' });
        await app.rest('DELETE', '/words/en');
        expect(await restore(app, 'en')).toEqual({ lang: 'en', text: 'hi' });
        expect(await last()).toBe('CREATED en 2');
      });

      test('it is answered with what is asked for', async () => {
        await app.rest('POST', '/owners', { name: 'Ann' });
        await app.rest('POST', '/orders', { code: 'a', total: 1, ownerId: 1 });
        await app.rest('PUT', '/orders/1', { total: 2 });
        const wanted = { total: 1, _version: 3, owner: { name: 'Ann' } };
        const path = '/orders/1/restore?fields=total,_version,owner.name&include=owner';
        if (door === 'rest') {
          const { headers, body } = await app.rest('POST', path, { version: 1 });
          expect([body, headers.get('ETag')]).toEqual([wanted, null]);
          const operations = [{ method: 'POST', path, body: { version: 1 } }];
          const together = await app.rest('POST', '/transaction', { operations });
          expect(together.body.results).toEqual([
            { status: 200, headers: {}, body: { ...wanted, _version: 4 } },
          ]);
          expect((await app.rest('POST', `${path}&nope=1`, {})).status).toBe(400);
        } else {
          const query = 'mutation { restoreOrder(id: 1, version: 1) { total _version owner { name } } }';
          expect((await app.graphql(query)).data).toEqual({ restoreOrder: wanted });
        }
      });

      test('each of many versions is found, one change at a time', async () => {
        const word = (text: string) => app.rest('PUT', '/words/en', { text });
        await app.rest('POST', '/words', { lang: 'en', text: 'v1' });
        for (let version = 2; version <= 9; version++) {
          // Others change meanwhile.
          if (version % 3 === 0) await app.rest('POST', '/orders', { code: `${version}`, total: 1 });
          if (version === 6) {
            await app.rest('DELETE', '/words/en');
            await app.rest('POST', '/words', { lang: 'en', text: 'v6' });
          } else await word(`v${version}`);
        }
        app.statements.length = 0;
        for (let version = 9; version >= 1; version--)
          expect(await restore(app, 'en', version)).toEqual({ lang: 'en', text: `v${version}` });
        expect([await restore(app, 'en', 19), await restore(app, 'en', 99)]).toEqual([
          'NOT_FOUND',
          'NOT_FOUND',
        ]);
        const reads = app.statements.filter((sql) => /^SELECT.* FROM "_duet_changes"/s.test(sql));
        expect(reads.length).toBeGreaterThan(20);
        expect(reads.filter((sql) => !/LIMIT|"sequence" = /.test(sql))).toEqual([]);
      });

      test('it stands among the writes of a transaction, and sees what those before it have done', async () => {
        /** The totals that are answered with, or the code of the error and the index of what failed. */
        const together = async (writes: readonly (readonly [rest: object, graphql: string])[]) => {
          if (door === 'rest') {
            const { status, body } = await app.rest('POST', '/transaction', {
              operations: writes.map(([operation]) => operation),
            });
            return status === 200
              ? body.results.map((each: any) => each.body?.total)
              : [body.code, body.operation];
          }
          const fields = writes.map(([, field], at) => `_${at}: ${field} { total }`);
          const { data, errors } = await app.graphql(`mutation @atomic { ${fields.join(' ')} }`);
          if (errors) return [errors[0].extensions.code, Number(errors[0].path[0].slice(1))];
          return Object.values<any>(data).map(({ total }) => total);
        };
        const back = (version?: number) =>
          [
            { method: 'POST', path: '/orders/1/restore', ...(version && { body: { version } }) },
            `restoreOrder(id: 1${version ? `, version: ${version}` : ''})`,
          ] as const;
        const put = (total: number) =>
          [
            { method: 'PUT', path: '/orders/1', body: { total } },
            `updateOrder(id: 1, total: ${total})`,
          ] as const;
        const gone = [{ method: 'DELETE', path: '/orders/1' }, 'deleteOrder(id: 1)'] as const;
        await app.rest('POST', '/orders', { code: 'a', total: 1 });
        expect(await together([put(2), back(1), put(3)])).toEqual([2, 1, 3]);
        expect(await last()).toBe('UPDATED 1 4');
        expect(await together([put(4), back()])).toEqual(['VALIDATION_FAILED', 1]);
        expect(await together([put(4), back(9)])).toEqual(['NOT_FOUND', 1]);
        expect((await get('/orders/1')).total).toBe(3);
        const [, , restored] = await together([put(5), gone, back()]);
        expect([restored, await last()]).toEqual([5, 'CREATED 1 6']);
      });

      test('it is written only in the version that is stated', async () => {
        const guarded = async (key: number, version: number | undefined, ifVersion: string) => {
          if (door === 'rest') {
            const headers = { 'If-Match': ifVersion === '*' ? '*' : `"${ifVersion}"` };
            const { status, body } = await app.rest('POST', `/orders/${key}/restore`, { version }, headers);
            return status === 200 ? body.total : [status, body.code];
          }
          const args = `id: ${key}${version ? `, version: ${version}` : ''}, ifVersion: ${ifVersion}`;
          const { data, errors } = await app.graphql(`mutation { restoreOrder(${args}) { total } }`);
          return errors ? [412, errors[0].extensions.code] : data.restoreOrder.total;
        };
        await app.rest('POST', '/orders', { code: 'a', total: 1 });
        await app.rest('PUT', '/orders/1', { total: 2 });
        expect(await guarded(1, 1, '1')).toEqual([412, 'VERSION_CONFLICT']);
        expect(await guarded(1, undefined, '1')).toEqual([412, 'VERSION_CONFLICT']);
        expect(await last()).toBe('UPDATED 1 2');
        expect(await guarded(1, 1, '2')).toBe(1);
        // What was deleted has no version by now.
        await app.rest('DELETE', '/orders/1');
        expect(await guarded(1, 1, '3')).toEqual([412, 'VERSION_CONFLICT']);
        if (door === 'graphql') {
          const query = 'mutation ($v: Int) { restoreOrder(id: 1, version: 1, ifVersion: $v) { id } }';
          expect((await app.graphql(query)).errors?.[0].extensions.code).toBe('VALIDATION_FAILED');
          return;
        }
        expect(await guarded(1, 1, '*')).toEqual([412, 'VERSION_CONFLICT']);
        const unless = async (tag: string) => {
          const headers = { 'If-None-Match': tag };
          return (await app.rest('POST', '/orders/1/restore', { version: 1 }, headers)).status;
        };
        expect(await unless('*')).toBe(200);
        expect(await unless('*')).toBe(412);
        expect(await unless('"4"')).toBe(412);
        expect(await unless('"3"')).toBe(200);
        expect(await guarded(1, 1, '*')).toBe(1);
      });

      test('what holds for a write holds', async () => {
        await app.rest('POST', '/owners', { name: 'Ann' });
        await app.rest('POST', '/orders', { code: 'a', total: 1, ownerId: 1 });
        await app.rest('PUT', '/orders/1', { code: 'b', ownerId: null });
        await app.rest('POST', '/orders', { code: 'a', total: 1 });
        expect(await restore(app, 1, 1)).toBe('CONFLICT');
        await app.rest('DELETE', '/orders/2');
        await app.rest('DELETE', '/owners/1');
        expect(await restore(app, 1, 1)).toBe('CONFLICT');
        expect(await restore(app, 1)).toBe('VALIDATION_FAILED');
        expect(await restore(app, 1, 7)).toBe('NOT_FOUND');
        expect(await restore(app, 9)).toBe('NOT_FOUND');
        expect(await last()).toBe('DELETED 2 1');
      });

      test('a function takes part, and rules hold', async () => {
        const logic = {
          Order: { beforeUpdate: ({ input }: any) => ({ ...input, note: `again ${input.total}` }) },
        };
        const hooked = await openApp(database, { sdl, logic });
        await hooked.rest('POST', '/orders', { code: 'a', total: 1 });
        await hooked.rest('PUT', '/orders/1', { total: 5 });
        expect(await restore(hooked, 1, 1)).toMatchObject({ total: 1, note: 'again 1' });
        await hooked.close();
      });
    });

for (const database of databases)
  test(`on ${database}, rules say what may come back`, async () => {
    const as = (sub: string, more: object = {}) => headersOf({ name: sub, claims: { sub, ...more } });
    const [ann, bob, admin] = [await as('ann'), await as('bob'), await as('root', { roles: ['admin'] })];
    const app = await openApp(database, { sdl: ruled, env: { AUTH_SECRET: SECRET } });
    const restored = async (who: Record<string, string>, version?: number) => {
      const { status, body } = await app.rest('POST', '/notes/1/restore', { version }, who);
      return status === 200 ? body.text : status;
    };
    await app.rest('POST', '/notes', { owner: 'ann', text: 'one', grade: 1 }, admin);
    await app.rest('PUT', '/notes/1', { text: 'two', secret: true }, admin);
    await app.rest('PUT', '/notes/1', { text: 'three', secret: false, grade: 3 }, admin);
    expect(await restored(bob, 1)).toBe(404);
    expect(await restored({}, 1)).toBe(401);
    // What was a secret then stays one.
    expect(await restored(ann, 2)).toBe(404);
    expect(await restored(ann, 1)).toBe('one');
    // Who may not see a field leaves it as it is.
    expect((await app.rest('GET', '/notes/1', undefined, admin)).body).toMatchObject({
      text: 'one',
      grade: 3,
    });
    expect(await restored(admin, 2)).toBe('two');
    await app.rest('PUT', '/notes/1', { secret: false }, admin);
    await app.rest('DELETE', '/notes/1', undefined, ann);
    expect(await restored(bob)).toBe(404);
    expect(await restored(ann)).toBe('two');
    expect((await app.rest('GET', '/notes/1', undefined, admin)).body).toMatchObject({ grade: 1 });
    await app.close();
  });

test.each([...databases])('on %s, what a type does not offer is not done by a restore', async (database) => {
  const app = await openApp(database, { sdl, data: { pages: [{ text: 'a' }] } });
  const ask = async (name: 'fact' | 'page', version?: number) => {
    const { status, body } = await app.rest('POST', `/${name}s/1/restore`, { version });
    const at = version === undefined ? '' : `, version: ${version}`;
    const restored = name === 'fact' ? 'restoreFact' : 'restorePage';
    const { errors } = await app.graphql(`mutation { ${restored}(id: 1${at}) { id } }`);
    return [body.code ?? status, errors?.[0].extensions.code];
  };
  const denied = ['FORBIDDEN', 'FORBIDDEN'];
  await app.rest('POST', '/facts', { text: 'a' });
  expect(await ask('fact', 1)).toEqual(denied);
  await app.rest('DELETE', '/facts/1');
  // It is there again by the time that it is asked for by GraphQL.
  expect(await ask('fact', 1)).toEqual([200, 'FORBIDDEN']);
  await app.rest('PUT', '/pages/1', { text: 'b' });
  expect(await ask('page', 1)).toEqual([200, undefined]);
  await app.rest('DELETE', '/pages/1');
  expect(await ask('page')).toEqual(denied);
  await app.close();
});

test('what cannot be asked is told', async () => {
  const app = await openApp('sqlite', { sdl });
  await app.rest('POST', '/orders', { code: 'a', total: 1 });
  for (const body of [{ version: 0 }, { version: '1' }, { version: 1, more: 2 }]) {
    const answer = await app.rest('POST', '/orders/1/restore', body);
    expect([body, answer.status, answer.body.code]).toEqual([body, 400, 'VALIDATION_FAILED']);
  }
  expect((await app.rest('POST', '/logs/1/restore', {})).status).toBe(404);
  expect((await app.rest('POST', '/owners/1/restore', {})).status).toBe(404);
  expect((await app.rest('GET', '/orders/1/restore')).status).toBe(405);
  const { errors } = await app.graphql('mutation ($v: Int) { restoreOrder(id: 1, version: $v) { id } }');
  expect(errors?.[0].extensions.errors[0]).toMatchObject({ pointer: '#/version', code: 'TYPE' });
  await app.close();
});
