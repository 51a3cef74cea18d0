/** What the rules of access mean in the places where it could be otherwise; the matrix has what is the same everywhere. */

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, JSON_HEADERS, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
type User @resource
  @allow(to: [READ], where: { public: { eq: true } })
  @allow(to: [READ, UPDATE], where: { handle: { eq: { claim: "sub" } } })
  @allow(to: [READ, CREATE, UPDATE, DELETE], role: "admin")
{
  id: ID!
  handle: String! @unique
  code: String @unique
  public: Boolean! @default(value: true)
  email: String @allow(to: [READ, UPDATE], where: { handle: { eq: { claim: "sub" } } })
  secret: String @readonly @default(value: "hush") @allow(to: [READ], role: "admin")
  level: Int! @default(value: 1) @allow(to: [UPDATE], role: "admin")
  notes: [Note!]! @inverse(of: "owner")
  seals: [Seal!]!
}
type Seal @resource @allow(to: [READ]) { id: ID! text: String! user: User }
type Note @resource
  @allow(to: [READ])
  @allow(to: [CREATE, UPDATE], role: "authenticated")
{
  id: ID!
  text: String!
  owner: User @onDelete(do: CASCADE) @allow(to: [CREATE], role: "registrar")
  reader: User
}
type Entry @resource @allow(to: [READ, CREATE], role: "authenticated") {
  id: ID!
  by: User @set(claim: "user")
  age: Int! @set(claim: "age")
  tags: [String!] @set(claim: "tags")
}
type Page @resource @allow(to: [READ], where: { number: { in: { claim: "pages" } } }) { id: ID! number: Int! }
type Board @resource
  @allow(to: [READ], role: "member", where: { teams: { has: { claim: "team" } } })
  @allow(to: [READ], role: "auditor", where: { teams: { hasEvery: { claim: "teams" } } })
{ id: ID! teams: [String!]! opened: Date @allow(to: [READ], role: "admin") }
type Drop @resource @allow(to: [CREATE, UPDATE, DELETE]) { id: ID! text: String }
type Vault @resource { id: ID! text: String }
`;
const data = {
  users: [
    { handle: 'ann', email: 'ann@x' },
    { handle: 'bob', code: 'b', email: 'bob@x', public: false },
    { handle: 'cid', email: 'cid@x' },
  ],
  notes: [
    { text: 'one', ownerId: 1, readerId: 2 },
    { text: 'two', ownerId: 2, readerId: 1 },
    { text: 'three', readerId: null },
  ],
  pages: [{ number: 1 }, { number: 2 }, { number: 3 }],
  boards: [{ teams: ['red'] }, { teams: ['blue', 'red'] }, { teams: [] }],
};

const as = (sub: string, more: object = {}) =>
  headersOf({ name: `${sub} ${JSON.stringify(more)}`, claims: { sub, ...more } });
const ann = await as('ann');
const bob = await as('bob');
const admin = await as('root', { roles: ['admin'] });

for (const database of databases)
  describe(`on ${database}`, () => {
    let app: AppUnderTest;
    beforeEach(async () => {
      app = await openApp(database, { sdl, data, env: { AUTH_SECRET: SECRET } });
    });
    afterEach(() => app.close());

    test('without authentication, everything is allowed to everybody', async () => {
      const open = app.unguarded();
      expect((await open.rest('GET', '/users')).body).toHaveLength(3);
      expect((await open.rest('POST', '/vaults', { text: 'x' })).status).toBe(201);
      expect((await open.rest('PUT', '/users/2', { level: 7 })).body).toMatchObject({
        level: 7,
        secret: 'hush',
        email: 'bob@x',
      });
    });

    test('who may never do something is told before anything else of the request is looked at', async () => {
      const large = { method: 'POST', body: 'x'.repeat(2_000_000), headers: JSON_HEADERS };
      expect((await app.fetch('/vaults', large)).status).toBe(401);
      expect((await app.fetch('/users', { ...large, headers: { ...JSON_HEADERS, ...ann } })).status).toBe(
        403,
      );
      expect((await app.rest('GET', '/vaults?no=such', undefined, ann)).status).toBe(403);
      expect((await app.rest('DELETE', '/users/999', undefined, ann)).status).toBe(403);
      expect((await app.rest('HEAD', '/vaults', undefined, { Accept: 'text/csv' })).status).toBe(401);
      const refused = await app.rest('GET', '/vaults');
      expect(refused.headers.get('WWW-Authenticate')).toBe('Bearer');
      expect(refused.body).toMatchObject({
        code: 'UNAUTHENTICATED',
        detail: 'You may not read vaults. Send a token of somebody who may.',
      });
    });

    test('what one writes, one is shown: who may read nothing can write nothing', async () => {
      const tried = [
        await app.rest('POST', '/drops', { text: 'x' }, ann),
        await app.rest('PUT', '/drops/1', { text: 'x' }, ann),
        await app.rest('DELETE', '/drops/1', undefined, ann),
      ];
      for (const { status, body } of tried)
        expect([status, body.detail]).toEqual([403, 'You may not read drops.']);
    });

    test('what is not seen is 404, what is seen and not allowed is 403, whatever the body', async () => {
      const put = async (path: string, headers: object) =>
        (await app.fetch(path, { method: 'PUT', body: '{', headers: { ...JSON_HEADERS, ...headers } }))
          .status;
      expect(await put('/users/2', ann)).toBe(404);
      expect(await put('/users/3', ann)).toBe(403);
      expect(await put('/users/1', ann)).toBe(400);
      expect(await put('/users/3', { ...ann, 'If-Match': '"9-none"' })).toBe(403);
    });

    test('a forbidden field is null in GraphQL, with an error at its place, and the rest is there', async () => {
      const { data, errors } = await app.graphql('{ users { handle email } }', {}, ann);
      expect(data).toEqual({
        users: [
          { handle: 'ann', email: 'ann@x' },
          { handle: 'cid', email: null },
        ],
      });
      expect(errors).toMatchObject([
        {
          message: 'You may not read User.email.',
          path: ['users', 1, 'email'],
          extensions: { code: 'FORBIDDEN' },
        },
      ]);
    });

    test('what is denied to one field of a query is not denied to its siblings', async () => {
      const { data, errors } = await app.graphql('{ user(id: 1) { handle } vault(id: 1) { text } }');
      expect(data).toEqual({ user: { handle: 'ann' }, vault: null });
      expect(errors).toMatchObject([{ path: ['vault'], extensions: { code: 'UNAUTHENTICATED' } }]);
    });

    test('a record that was read can be sent back: nothing changes that is not seen or not allowed', async () => {
      const stored = async () => (await app.unguarded().rest('GET', '/notes/1')).body;
      const { body } = await app.rest('GET', '/notes/1', undefined, ann);
      expect(body).toEqual({ id: 1, text: 'one', ownerId: 1, readerId: null });
      expect((await app.rest('PUT', '/notes/1', { ...body, text: 'new' }, ann)).status).toBe(200);
      expect(await stored()).toEqual({ id: 1, text: 'new', ownerId: 1, readerId: 2 });
      const self = await app.rest('GET', '/users/1', undefined, ann);
      expect(self.body).toEqual({
        id: 1,
        handle: 'ann',
        code: null,
        public: true,
        email: 'ann@x',
        level: 1,
      });
      expect((await app.rest('PUT', '/users/1', self.body, ann)).status).toBe(200);
      expect((await app.rest('PUT', '/users/1', { ...self.body, level: 2 }, ann)).body).toMatchObject({
        code: 'FORBIDDEN',
        errors: [{ pointer: '#/level', code: 'FORBIDDEN', detail: 'You may not set level of this user' }],
      });
    });

    test('the rule of a field holds for the record before the change and after it', async () => {
      const status = async (path: string, input: object) =>
        (await app.rest('PUT', path, input, admin)).status;
      expect(await status('/users/3', { handle: 'root' })).toBe(200);
      expect(await status('/users/3', { handle: 'cid', email: 'after' })).toBe(403);
      expect(await status('/users/3', { email: 'own' })).toBe(200);
      expect(await status('/users/3', { handle: 'cid' })).toBe(200);
      expect(await status('/users/3', { handle: 'root', email: 'before' })).toBe(403);
      const document =
        'mutation ($is: String!, $to: String!) { updateUsers(where: { handle: { eq: $is } }, set: { handle: $to, email: "x" }, atMost: 1) { id } }';
      const many = async (is: string, to: string) =>
        (await app.graphql(document, { is, to }, admin)).errors?.[0].extensions.code;
      expect(await many('cid', 'root')).toBe('FORBIDDEN');
      await status('/users/3', { handle: 'root' });
      expect(await many('root', 'cid')).toBe('FORBIDDEN');
      expect((await app.unguarded().rest('GET', '/users/3')).body).toMatchObject({
        handle: 'root',
        email: 'own',
      });
    });

    test('many records are changed likewise: references that are not seen stay', async () => {
      const many = 'mutation { updateNotes(where: {}, set: { readerId: null }, atMost: 9) { id readerId } }';
      const { data } = await app.graphql(many, {}, ann);
      expect(data.updateNotes.map((note: { readerId: unknown }) => note.readerId)).toEqual([
        null,
        null,
        null,
      ]);
      const { body } = await app.unguarded().rest('GET', '/notes?fields=readerId');
      expect(body).toEqual([{ readerId: 2 }, { readerId: null }, { readerId: null }]);
    });

    test('a hidden value that only the server sets cannot be guessed by repeating it', async () => {
      const right = await app.rest('PUT', '/users/1', { secret: 'hush' }, ann);
      const wrong = await app.rest('PUT', '/users/1', { secret: 'wrong' }, ann);
      const { requestId: _, ...told } = right.body;
      expect(wrong.body).toMatchObject(told);
      expect(told.errors).toMatchObject([{ pointer: '#/secret', code: 'READ_ONLY' }]);
    });

    test('one version looks different to different callers, and has different tags', async () => {
      const tag = async (headers: Record<string, string>) =>
        String((await app.rest('GET', '/users/1', undefined, headers)).headers.get('ETag'));
      const [own, others] = [await tag(ann), await tag(bob)];
      expect(own).not.toBe(others);
      const again = (headers: Record<string, string>, If: string) =>
        app.rest('GET', '/users/1', undefined, { ...headers, 'If-None-Match': If });
      expect((await again(bob, others)).status).toBe(304);
      expect((await again(bob, own)).status).toBe(200);
      // What is written is the version, whatever one sees of it.
      const put = await app.rest('PUT', '/users/1', { email: 'new@x' }, { ...ann, 'If-Match': others });
      expect(put.status).toBe(200);
      expect((await app.rest('PUT', '/users/1', { email: 'x' }, { ...ann, 'If-Match': own })).status).toBe(
        412,
      );
    });

    test('when a record comes out of hiding, those that refer to it have another tag', async () => {
      const first = await app.rest('GET', '/notes/1', undefined, ann);
      await app.unguarded().rest('PUT', '/users/2', { public: true });
      const tag = String(first.headers.get('ETag'));
      const then = await app.rest('GET', '/notes/1', undefined, { ...ann, 'If-None-Match': tag });
      expect([first.body.readerId, then.status, then.body.readerId]).toEqual([null, 200, 2]);
    });

    test('a replay shows no more than the first answer, and nobody replays for somebody else', async () => {
      const key = { 'Idempotency-Key': 'k' };
      const send = (who: Record<string, string>) =>
        app.rest('POST', '/notes', { text: 'x', readerId: 1 }, { ...who, ...key });
      const [first, again, other] = [await send(ann), await send(ann), await send(bob)];
      expect(again.body).toEqual(first.body);
      expect(other.body.id).not.toBe(first.body.id);
      const update = (who: Record<string, string>) => {
        const document = 'mutation { updateUser(id: 1, email: "k@x") { email secret } }';
        return app.graphql(document, {}, { ...who, 'Idempotency-Key': 'u' });
      };
      const [one, two] = [await update(ann), await update(ann)];
      expect(one.data).toEqual({ updateUser: { email: 'k@x', secret: null } });
      expect(two.body).toEqual(one.body);
      expect(two.errors).toMatchObject([
        { path: ['updateUser', 'secret'], extensions: { code: 'FORBIDDEN' } },
      ]);
    });

    test('of a transaction, the operation that is denied is named, and none has happened', async () => {
      const operations = [
        { method: 'POST', path: '/notes', body: { text: 'x' } },
        { method: 'POST', path: '/vaults', body: { text: 'x' } },
      ];
      const { status, body } = await app.rest('POST', '/transaction', { operations }, ann);
      expect([status, body.code, body.operation]).toEqual([403, 'FORBIDDEN', 1]);
      const later = [operations[0], { method: 'PUT', path: '/users/3', body: { public: false } }];
      expect((await app.rest('POST', '/transaction', { operations: later }, ann)).body).toMatchObject({
        code: 'FORBIDDEN',
        operation: 1,
      });
      const atomic =
        'mutation @atomic { createNote(text: "x") { id } updateUser(id: 3, public: false) { id } }';
      expect((await app.graphql(atomic, {}, ann)).body).toMatchObject({
        data: null,
        errors: [{ path: ['updateUser'], extensions: { code: 'FORBIDDEN' } }],
      });
      expect((await app.unguarded().rest('GET', '/notes')).body).toHaveLength(3);
    });

    test('of a transaction, a filter that is denied is not taken for the body', async () => {
      const operations = [
        { method: 'DELETE', path: '/users', where: { email: { isNull: true } }, atMost: 1 },
      ];
      const { status, body } = await app.rest('POST', '/transaction', { operations }, admin);
      expect([status, body.errors]).toEqual([
        403,
        [expect.objectContaining({ pointer: '#/operations/0', code: 'FORBIDDEN' })],
      ]);
    });

    test('a later operation cannot take a hidden value from the result of an earlier one', async () => {
      const operations = [{ method: 'PUT', path: '/users/1', body: { public: true }, as: 'me' }];
      const later = [
        ['POST', '/notes', { text: { $ref: 'me.secret' } }, '/text'],
        // Where null would do, it is not taken for what cannot be read.
        ['POST', '/notes', { text: 'x', readerId: { $ref: 'me.secret' } }, '/readerId'],
        ['PUT', '/users/1', { email: { $ref: 'me.secret' } }, '/email'],
        ['POST', '/notes', [{ text: 'x' }, { text: { $ref: 'me.secret' } }], '/1/text'],
      ] as const;
      for (const [method, path, body, at] of later) {
        const all = [...operations, { method, path, body }];
        expect((await app.rest('POST', '/transaction', { operations: all }, ann)).body).toMatchObject({
          code: 'FORBIDDEN',
          operation: 1,
          errors: [
            {
              pointer: `#/operations/1/body${at}`,
              code: 'FORBIDDEN',
              detail: 'You may not read "me.secret", so $ref has no value',
            },
          ],
        });
      }
      const unknown = [
        ...operations,
        { method: 'POST', path: '/notes', body: { text: { $ref: 'me.nothing' } } },
      ];
      expect(
        (await app.rest('POST', '/transaction', { operations: unknown }, ann)).body.errors,
      ).toMatchObject([{ pointer: '#/operations/1/body/text', code: 'UNKNOWN' }]);
      expect((await app.unguarded().rest('GET', '/notes')).body).toHaveLength(3);
    });

    test('to nest a record is to give it its reference', async () => {
      const nested = { handle: 'new', notes: [{ text: 'x' }] };
      const both = await as('root', { roles: ['admin', 'registrar'] });
      expect((await app.rest('POST', '/users', nested, both)).status).toBe(201);
      const refused = async (path: string, input: object) => {
        const { body } = await app.rest('POST', path, input, admin);
        return [body.code, body.detail, body.errors[0].pointer];
      };
      const why = 'You may not set ownerId of this note.';
      expect(await refused('/users', { ...nested, handle: 'newer' })).toEqual(['FORBIDDEN', why, '#/notes']);
      expect(await refused('/notes', { text: 'x', ownerId: 1 })).toEqual(['FORBIDDEN', why, '#/ownerId']);
      const never = await app.rest('POST', '/users', { handle: 'newest', seals: [{}] }, admin);
      expect(never.body).toMatchObject({ code: 'FORBIDDEN', detail: 'You may not create seals.' });
      expect((await app.unguarded().rest('GET', '/users')).body).toHaveLength(4);
    });

    test('@set takes a claim as a value of the field, and refuses one that is none', async () => {
      const sent = async (claims: object) =>
        (await app.rest('POST', '/entries', {}, await as('ann', claims))).body;
      expect(await sent({ age: '42', user: '3', tags: ['a', 'b'] })).toMatchObject({
        age: 42,
        byId: 3,
        tags: ['a', 'b'],
      });
      // The server may refer to whom the caller cannot see, but does not show it.
      expect(await sent({ age: 42, user: 2 })).toMatchObject({ age: 42, byId: null, tags: null });
      expect(await sent({ age: 'old' })).toMatchObject({ code: 'FORBIDDEN' });
      expect(await sent({})).toMatchObject({ code: 'FORBIDDEN' });
      expect((await app.unguarded().rest('POST', '/entries', {})).body.code).toBe('UNAUTHENTICATED');
      expect((await app.unguarded().rest('GET', '/entries?sort=id&fields=byId')).body).toEqual([
        { byId: 3 },
        { byId: 2 },
      ]);
    });

    test('a claim is taken as a value of the field that it is compared with; what does not fit matches nothing', async () => {
      const seen = async (pages: unknown) => {
        const { body } = await app.rest('GET', '/pages', undefined, await as('ann', { pages }));
        return body.map(({ number }: { number: number }) => number);
      };
      expect(await seen([1, 3])).toEqual([1, 3]);
      expect(await seen('2')).toEqual([2]);
      expect(await seen(['1', 2])).toEqual([1, 2]);
      expect(await seen([])).toEqual([]);
      expect(await seen([1, 'x'])).toEqual([]);
      expect(await seen({ gt: 0 })).toEqual([]);
      expect(await seen(null)).toEqual([]);
      // Somebody whom nobody knows has no claims at all.
      expect((await app.rest('GET', '/pages')).status).toBe(401);
    });

    test('a rule asks a list for what a claim has; one that says nothing matches nothing', async () => {
      const seen = async (claims: object) => {
        const { body } = await app.rest('GET', '/boards', undefined, await as('ann', claims));
        return body.map(({ id }: { id: number }) => id);
      };
      const member = (team?: unknown) => seen({ roles: ['member'], team });
      const auditor = (teams?: unknown) => seen({ roles: ['auditor'], teams });
      expect([await member('red'), await member('blue'), await member('Red')]).toEqual([[1, 2], [2], []]);
      expect([await member(), await member({}), await member([])]).toEqual([[], [], []]);
      expect([await auditor(['red', 'blue']), await auditor('red')]).toEqual([[2], [1, 2]]);
      expect([await auditor([]), await auditor(), await auditor(['red', {}])]).toEqual([[], [], []]);
    });

    test('nothing is grouped by a part of what one may not read, nor is it counted', async () => {
      const member = await as('ann', { roles: ['member'], team: 'red' });
      for (const query of ['groupBy=opened', 'groupBy=month(opened)', 'aggregate=countDistinct(opened)']) {
        const { status, body } = await app.rest('GET', `/boards?${query}`, undefined, member);
        expect([query, status, body.code]).toEqual([query, 403, 'FORBIDDEN']);
        expect(body.detail).toContain('Board.opened,');
      }
      const { body } = await app.rest('GET', '/boards?aggregate=count,countDistinct(id)', undefined, member);
      expect(body).toEqual([{ count: 2, countDistinct: { id: 2 } }]);
    });

    test('a collision with a record that is not seen is told, and nothing of that record is', async () => {
      const { status, body } = await app.rest('PUT', '/users/1', { code: 'b' }, ann);
      expect(status).toBe(409);
      expect(body.errors).toEqual([
        { pointer: '#/code', code: 'NOT_UNIQUE', detail: 'code is taken by another record' },
      ]);
    });

    test('what follows from a delete is done with the authority of the server', async () => {
      expect((await app.rest('DELETE', '/notes/2', undefined, admin)).status).toBe(403);
      // The other reference to this user restricts.
      expect((await app.rest('DELETE', '/users/2', undefined, admin)).status).toBe(409);
      await app.unguarded().rest('PUT', '/notes/1', { readerId: null });
      expect((await app.rest('DELETE', '/users/2', undefined, admin)).status).toBe(204);
      expect((await app.unguarded().rest('GET', '/notes/2')).status).toBe(404);
    });

    test('a cursor of one caller shows another no more than it may see', async () => {
      const first = await app.rest('GET', '/users?limit=1', undefined, admin);
      const after = /after=([^&>]+)/.exec(first.headers.get('Link') ?? '')?.[1];
      const { body } = await app.rest('GET', `/users?limit=1&after=${after}`, undefined, ann);
      expect(body).toMatchObject([{ handle: 'cid' }]);
    });

    test('what is read for the sake of the rules alone is not shown', async () => {
      const { body } = await app.rest('GET', '/users?fields=email', undefined, ann);
      expect(body).toEqual([{ email: 'ann@x' }, {}]);
    });

    test('a forbidden field is an empty cell of a file', async () => {
      const response = await app.fetch('/users?fields=handle,email', {
        headers: { ...ann, Accept: 'text/csv' },
      });
      expect(await response.text()).toBe('handle,email\r\nann,ann@x\r\ncid,\r\n');
    });

    test('whoever may see all records of a resource pays no statement for it', async () => {
      const counted = async (path: string, headers: Record<string, string>) => {
        app.statements.length = 0;
        await app.rest('GET', path, undefined, headers);
        return app.statements.length;
      };
      expect(await counted('/pages/1', await as('ann', { pages: [1] }))).toBe(1);
      expect(await counted('/notes?fields=text', ann)).toBe(1);
      expect(await counted('/notes?fields=text,readerId', admin)).toBe(1);
    });

    test('/openapi.json says which fields can be absent, and that credentials are asked for', async () => {
      const { body } = await app.rest('GET', '/openapi.json');
      const { UserFields } = body.components.schemas;
      const plain = (await app.rest('GET', '/openapi.json?profile=client')).body;
      expect(plain.components.schemas.User.required).toEqual(['id', 'handle', 'code', 'public', 'level']);
      expect(UserFields.properties.email.description).toBe('Absent for callers who may not read it.');
      const { schema } = body.components.responses.Failure.content['application/json'];
      expect(schema.allOf[1].properties.code.enum).toContain('FORBIDDEN');
    });
  });
