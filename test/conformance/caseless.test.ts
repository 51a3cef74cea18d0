/** `@caseless`: text that is compared without letter case, and shown as it was written. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  type User @resource {
    id: ID!
    email: String! @unique @caseless
    name: String @caseless @index
    n: Int
    notes: [Note!]!
  }
  type Note @resource
    @unique(fields: ["user", "title"])
    @check(where: { title: { ne: { field: "body" } } }, message: "The body says more than the title.")
    @check(where: { title: { ne: "draft" } }, message: "A title is needed.")
  {
    id: ID!
    title: String! @caseless
    body: String @caseless
    user: User
  }`;
const names = ['Straße', 'STRASSE', 'İstanbul', 'ΣΑΣ', 'σας', null, 'Ångström', 'A\u030aNGSTRO\u0308M', 'ﬁN'];
const data = { users: names.map((name, n) => ({ email: `U${n}@X.org`, name, n })) };

/** What a filter of names finds, by n. */
const filters: readonly (readonly [string, unknown, readonly number[]])[] = [
  ['eq', 'STRAẞE', [0, 1]],
  ['eq', 'istanbul', []],
  ['eq', 'i\u0307STANBUL', [2]],
  ['ne', 'strasse', [2, 3, 4, 5, 6, 7, 8]],
  ['in', ['i\u0307stanbul', 'Σας', 'none'], [2, 3, 4]],
  ['contains', 'NGSTR', [6, 7]],
  ['contains', 'SS', [0, 1]],
  ['contains', 'a\u030a', [6, 7]],
  ['startsWith', 'STRAß', [0, 1]],
  ['startsWith', 'F', [8]],
  ['startsWith', 'İ', [2]],
  ['endsWith', 'ς', [3, 4]],
  ['endsWith', 'INα', []],
  ['endsWith', 'IN', [8]],
  ['gt', 'STRASSE', [3, 4, 6, 7]],
  ['gte', 'strasse', [0, 1, 3, 4, 6, 7]],
  ['lt', 'STRASSE', [2, 8]],
  ['lte', 'straẞE', [0, 1, 2, 8]],
  ['isNull', true, [5]],
  ['isNull', false, [0, 1, 2, 3, 4, 6, 7, 8]],
];

const inOrder = [5, 8, 2, 0, 1, 6, 7, 3, 4];

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data });
  });
  afterAll(() => app.close());
  const ns = (rows: any[]) => rows.map(({ n }) => n);

  test.each([...filters])('%s %p', async (operator, operand, wanted) => {
    const where = { name: { [operator]: operand } };
    const rest = await app.rest('GET', `/users?where=${encodeURIComponent(JSON.stringify(where))}`);
    expect(ns(rest.body)).toEqual([...wanted]);
    const query =
      'query ($where: UserWhere) { users(where: $where) { n } usersAggregate(where: $where) { count } }';
    const { data } = await app.graphql(query, { where });
    expect(data).toEqual({ users: wanted.map((n) => ({ n })), usersAggregate: [{ count: wanted.length }] });
    const value = encodeURIComponent(String(operand));
    const brackets = await app.rest('GET', `/users?name[${operator}]=${value}`);
    expect(ns(brackets.body)).toEqual([...wanted]);
  });

  test('order, with cursors both ways', async () => {
    expect(ns((await app.rest('GET', '/users?sort=name')).body)).toEqual(inOrder);
    const { data } = await app.graphql('{ users(orderBy: [{ name: DESC }, { n: DESC }]) { n } }');
    expect(ns(data.users)).toEqual([4, 3, 7, 6, 1, 0, 2, 8, 5]);
    for (const [path, wanted] of [
      ['/users?sort=name&limit=2', inOrder],
      ['/users?sort=-name,-n&limit=2', inOrder.toReversed()],
    ] as const) {
      const seen: number[] = [];
      const back: number[] = [];
      let at: string | undefined = path;
      let last = path as string;
      for (let turn = 0; at && turn < 10; turn++) {
        const { body, headers }: any = await app.rest('GET', at);
        seen.push(...ns(body));
        last = at;
        at = /<([^>]+)>; rel="next"/.exec(headers.get('Link') ?? '')?.[1];
      }
      expect(seen).toEqual([...wanted]);
      for (let turn = 0; last && turn < 10; turn++) {
        const { body, headers }: any = await app.rest('GET', last);
        back.unshift(...ns(body));
        last = /<([^>]+)>; rel="prev"/.exec(headers.get('Link') ?? '')?.[1] ?? '';
      }
      expect(back).toEqual([...wanted]);
    }
  });

  test('groups, countDistinct, min and max', async () => {
    const groups = [
      [null, 1],
      ['ﬁN', 1],
      ['İstanbul', 1],
      ['STRASSE', 2],
      ['A\u030aNGSTRO\u0308M', 2],
      ['ΣΑΣ', 2],
    ].map(([name, count]) => ({ by: { name }, count }));
    const { data } = await app.graphql(`{
      usersAggregate(groupBy: [name]) { by { name } count }
      all: usersAggregate { min { name } max { name } countDistinct { name } }
      none: usersAggregate(where: { name: { isNull: true } }) { min { name } max { name } countDistinct { name } }
    }`);
    expect(data).toEqual({
      usersAggregate: groups,
      all: [{ min: { name: 'ﬁN' }, max: { name: 'σας' }, countDistinct: { name: 5 } }],
      none: [{ min: { name: null }, max: { name: null }, countDistinct: { name: 0 } }],
    });
    expect((await app.rest('GET', '/users?aggregate=count&groupBy=name')).body).toEqual(groups);
    const wanted = 'min(name),max(name),countDistinct(name)';
    expect((await app.rest('GET', `/users?aggregate=${wanted}`)).body).toEqual(data.all);
  });

  test('what is told of it', async () => {
    const told = 'Compared and sorted without letter case.';
    const { data } = await app.graphql('{ __type(name: "User") { fields { name description } } }');
    expect(data.__type.fields.find(({ name }: any) => name === 'name').description).toBe(told);
    const { body } = await app.rest('GET', '/openapi.json');
    expect(body.components.schemas.UserFields.properties.name.description).toBe(told);
    const { data: types } = await app.graphql(
      '{ __schema { types { name fields { name } inputFields { name } } } }',
    );
    expect(JSON.stringify(types)).not.toContain('_f_');
    expect(JSON.stringify(body)).not.toContain('_f_');
  });
});

describe.each([...databases])('writes on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data });
  });
  afterAll(() => app.close());
  const code = ({ status, body }: any) => [
    status,
    body.code,
    body.errors?.map((each: any) => `${each.pointer} ${each.code}`),
  ];
  const named = async (name: string) =>
    (await app.rest('GET', `/users?name=${encodeURIComponent(name)}`)).body;

  test('one of a kind', async () => {
    expect(code(await app.rest('POST', '/users', { email: 'u0@x.ORG' }))).toEqual([
      409,
      'CONFLICT',
      ['#/email NOT_UNIQUE'],
    ]);
    expect(code(await app.rest('PUT', '/users/2', { email: 'u0@x.ORG' }))).toEqual([
      409,
      'CONFLICT',
      ['#/email NOT_UNIQUE'],
    ]);
    const { errors } = await app.graphql('mutation { createUser(email: "u0@x.ORG") { id } }');
    expect(errors).toMatchObject([{ extensions: { code: 'CONFLICT', errors: [{ code: 'NOT_UNIQUE' }] } }]);
    const users = [{ email: 'Twin@x.org' }, { email: 'twin@X.org' }];
    const operations = [{ method: 'POST', path: '/users', body: users }];
    expect((await app.rest('POST', '/transaction', { operations })).body.code).toBe('CONFLICT');
    // Its own letter case can be changed.
    const changed = await app.rest('PUT', '/users/1', { email: 'u0@x.ORG' });
    expect([changed.status, changed.body.email]).toEqual([200, 'u0@x.ORG']);
    expect((await app.rest('GET', '/users?email=U0@X.org')).body).toMatchObject([
      { id: 1, email: 'u0@x.ORG' },
    ]);
  });

  test('upserts, of many too, and by several fields', async () => {
    const changed = await app.rest('POST', '/users?upsert=email', { email: 'U3@x.ORG', n: 30 });
    expect([changed.status, changed.body]).toMatchObject([
      200,
      { id: 4, email: 'U3@x.ORG', n: 30, name: 'ΣΑΣ' },
    ]);
    expect((await app.rest('GET', '/users/4')).body).toEqual(changed.body);
    const mutation =
      'mutation { upsertUsers(by: email, records: [{ email: "NEW@x.org", n: 1 }, { email: "new@X.ORG", n: 2 }]) { email n } }';
    const { data, errors } = await app.graphql(mutation);
    expect(errors).toBeUndefined();
    expect(data.upsertUsers).toEqual([
      { email: 'NEW@x.org', n: 1 },
      { email: 'new@X.ORG', n: 2 },
    ]);
    const first = await app.rest('POST', '/notes?upsert=user_title', { userId: 5, title: 'Groß', body: '1' });
    const second = await app.rest('POST', '/notes?upsert=user_title', {
      userId: 5,
      title: 'GROSS',
      body: '2',
    });
    expect([first.status, second.status, second.body.id]).toEqual([201, 200, first.body.id]);
    expect(code(await app.rest('POST', '/notes', { userId: 5, title: 'groß' }))).toEqual([
      409,
      'CONFLICT',
      ['#/userId NOT_UNIQUE', '#/title NOT_UNIQUE'],
    ]);
    expect((await app.rest('POST', '/notes', { userId: 6, title: 'groß' })).status).toBe(201);
  });

  test('updates are found by what they have become, one by one and many at once', async () => {
    expect((await app.rest('PUT', '/users/9', { name: 'Ærø' })).body.name).toBe('Ærø');
    expect((await named('ÆRØ')).length).toBe(1);
    const many =
      'mutation { updateUsers(where: { name: { eq: "ærø" } }, set: { name: "ǅ" }, atMost: 5) { id } }';
    const { data, errors } = await app.graphql(many);
    expect([errors, data?.updateUsers]).toEqual([undefined, [{ id: '9' }]]);
    expect((await named('Ǆ')).map(({ name }: any) => name)).toEqual(['ǅ']);
    expect((await app.rest('PUT', '/users/9', { name: null })).status).toBe(200);
    expect(await named('ǆ')).toEqual([]);
  });

  test('nested records, lists and filters through relations', async () => {
    const user = { email: 'nested@x.org', notes: [{ title: 'Ähre' }, { title: 'Öl' }] };
    const made = await app.rest('POST', '/users', user);
    expect(made.status).toBe(201);
    const list = await app.rest(
      'GET',
      `/users/${made.body.id}?include=notes&notes[sort]=-title&notes[where]={"title":{"eq":"%C3%84HRE"}}`,
    );
    expect(list.body.notes).toMatchObject([{ title: 'Ähre' }]);
    const some = await app.rest('GET', '/users?where={"notes":{"some":{"title":{"eq":"ÖL"}}}}');
    expect(some.body).toMatchObject([{ email: 'nested@x.org' }]);
    expect((await app.rest('GET', '/notes?user.email=NESTED@x.org')).body).toHaveLength(2);
    const twins = { email: 'twins@x.org', notes: [{ title: 'a' }, { title: 'A' }] };
    expect((await app.rest('POST', '/users', twins)).body.code).toBe('CONFLICT');
  });

  test('checks, between two fields too', async () => {
    const failed = [400, 'VALIDATION_FAILED', ['# CHECK_FAILED']];
    expect(code(await app.rest('POST', '/notes', { title: 'DRAFT' }))).toEqual(failed);
    expect(code(await app.rest('POST', '/notes', { title: 'Maß', body: 'MASS' }))).toEqual(failed);
    const fine = await app.rest('POST', '/notes', { title: 'Maß', body: 'Mass.' });
    expect(fine.status).toBe(201);
    expect(code(await app.rest('PUT', `/notes/${fine.body.id}`, { body: 'maSS' }))).toEqual(failed);
  });

  test('exports show what was written', async () => {
    const csv = await app.fetch('/users?fields=name&sort=name', { headers: { Accept: 'text/csv' } });
    const [head, , ...lines] = (await csv.text()).trim().split('\r\n');
    expect(head).toBe('name');
    expect(lines).toContain('İstanbul');
  });
});

test.each([...databases])('rules on %s compare claims without letter case', async (database) => {
  const app = await openApp(database, {
    sdl: `
      type Item @resource
        @allow(to: [READ, UPDATE], where: { owner: { eq: { claim: "sub" } } })
        @allow(to: [CREATE], where: { owner: { ne: "Nobody" } })
        @allow(to: [READ], where: { team: { in: { claim: "teams" } } })
      {
        id: ID!
        owner: String @caseless
        team: String @caseless
      }`,
    data: { items: [{ owner: 'Ann' }, { owner: 'BOB', team: 'Süd' }, { owner: 'Cid', team: 'Nord' }] },
    env: { AUTH_SECRET: SECRET },
  });
  const ann = await headersOf({ name: 'ann', claims: { sub: 'ANN', teams: ['SÜD'] } });
  const ids = async (path: string) =>
    (await app.rest('GET', path, undefined, ann)).body.map(({ id }: any) => id);
  expect(await ids('/items')).toEqual([1, 2]);
  expect((await app.rest('GET', '/items/3', undefined, ann)).status).toBe(404);
  expect((await app.rest('PUT', '/items/1', { owner: 'aNN' }, ann)).status).toBe(200);
  expect((await app.rest('PUT', '/items/2', { team: 'x' }, ann)).status).toBe(403);
  expect((await app.rest('PUT', '/items/1', { owner: 'Bob' }, ann)).status).toBe(403);
  expect((await app.rest('POST', '/items', { owner: 'nobody', team: 'süd' }, ann)).status).toBe(403);
  expect((await app.rest('POST', '/items', { owner: 'ann' }, ann)).status).toBe(201);
  await app.close();
});
