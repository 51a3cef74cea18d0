/** `/_duet/`: who may operate a service over HTTP, and what they are told and can do, on every database. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { SignJWT } from 'jose';
import { NEVER } from '../../src/engine/jobs/queue.ts';
import { everything } from '../../src/query/filter.ts';
import { jobs } from '../../src/storage/own.ts';
import { run, type Storage } from '../../src/storage/storage.ts';
import { type AppUnderTest, type Client, databases, JSON_HEADERS, openApp } from '../app.ts';
import { bearer } from '../http/issuer.ts';
import { connect } from '../process.ts';

const SECRET = 'a secret of at least thirty-two bytes';
const sdl = `
  type Item @resource @journal(keep: "1d")
    @allow(to: [READ, CREATE])
    @allow(to: [UPDATE], role: "editor", where: { owner: { eq: { claim: "sub" } } }) {
    id: ID!  name: String!  owner: String @set(claim: "sub")
  }`;

/** Whether the function that runs after the commit goes well. */
let works = true;
let runs = 0;
const logic = {
  Item: {
    async afterCreate() {
      runs++;
      if (!works) throw new Error('no mail today');
    },
    async afterUpdate() {
      if (!works) throw new Error('no mail today');
    },
  },
};

const signed = (claims: object) =>
  new SignJWT({ iss: 'shop', ...claims })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('5m')
    .sign(new TextEncoder().encode(SECRET));
const admin = bearer(await signed({ sub: 'root', roles: ['admin'] }));
const user = bearer(await signed({ sub: 'ann', roles: ['editor'] }));

const HERE = { address: '127.0.0.1', host: 'localhost:4000' };

const asked: [string, string, unknown?][] = [
  ['GET', '/_duet/keys'],
  ['POST', '/_duet/keys', { name: 'ci' }],
  ['DELETE', '/_duet/keys/ci'],
  ['GET', '/_duet/jobs'],
  ['POST', '/_duet/jobs/retry', { failed: true }],
  ['POST', '/_duet/jobs/drop', { failed: true }],
  ['GET', '/_duet/migrations'],
  ['GET', '/_duet/requests'],
  ['GET', '/_duet/statements'],
  ['GET', '/_duet/access'],
  ['GET', '/_duet/webhooks'],
];

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 500 && !(await holds()); tries++) await Bun.sleep(20);
}

describe.each(databases)('%s', (database) => {
  let storage: Storage;
  let open: AppUnderTest;
  let guarded: AppUnderTest;
  const around = (given: Storage) => {
    storage = given;
    return given;
  };

  beforeAll(async () => {
    guarded = await openApp(database, {
      sdl,
      env: { AUTH_SECRET: SECRET, AUTH_ISSUER: 'shop', CORS_ORIGINS: 'https://app.test' },
    });
    open = await openApp(database, { sdl, logic, around, env: { LOG_SLOW: '0', CORS_ORIGINS: '*' } });
  });
  afterAll(async () => {
    await open.close();
    await guarded.close();
  });

  const from = async (client: Client, method: string, path: string, body?: unknown, headers: object = {}) => {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const all = { ...(body === undefined ? {} : JSON_HEADERS), ...headers };
    const response = await open.from(client).fetch(path, { method, headers: all, ...init });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  };
  const here = (method: string, path: string, body?: unknown) => from(HERE, method, path, body);

  describe('without authentication', () => {
    const own = { Origin: 'http://localhost:4000', 'Sec-Fetch-Site': 'same-origin' };
    test.each<[string, Client, Record<string, string>, number]>([
      ['a command on this machine', HERE, {}, 200],
      ['by IPv6', { address: '::1', host: '[::1]:4000' }, {}, 200],
      ['as a dual stack socket tells it', { address: '::ffff:127.0.0.1', host: '127.0.0.1' }, {}, 200],
      ['its own page', HERE, own, 200],
      ['somebody else', { address: '10.0.0.7', host: 'localhost:4000' }, {}, 403],
      ['somebody who forwards himself', { ...HERE, address: '10.0.0.7', forwarded: '127.0.0.1' }, {}, 403],
      ['nobody knows who', { address: undefined, host: 'localhost:4000' }, {}, 403],
      ['a name that was made to lead here', { address: '127.0.0.1', host: 'evil.test:4000' }, {}, 403],
      ['one that only begins like it', { address: '127.0.0.1', host: '127.0.0.1.evil.test' }, {}, 403],
      ['a page of elsewhere', HERE, { Origin: 'https://evil.test' }, 403],
      ['a page beside it', HERE, { Origin: 'http://localhost:3000' }, 403],
      ['a page without an origin', HERE, { Origin: 'null' }, 403],
      ['an image in a page of elsewhere', HERE, { 'Sec-Fetch-Site': 'cross-site' }, 403],
      ['a proxy on this machine', { ...HERE, forwarded: '127.0.0.1' }, {}, 403],
    ])('%s', async (_, client, headers, status) => {
      for (const [method, path, body] of asked.filter(([method]) => method !== 'DELETE')) {
        // The name of a key is free once.
        const given = path === '/_duet/keys' && body ? { name: `key-${crypto.randomUUID()}` } : body;
        const answer = await from(client, method, path, given, headers);
        expect([path, answer.status === 201 ? 200 : answer.status]).toEqual([path, status]);
        if (status === 403) expect(answer.body.detail).toContain('on this machine alone');
      }
      const { body } = await from(client, 'GET', '/_duet/me', undefined, headers);
      const me = { subject: null, roles: [], until: null, authentication: false };
      expect(body).toEqual({ ...me, operates: status === 200, webhooks: status === 200, signsTokens: false });
    });

    test.each([
      ...['Forwarded', 'Via', 'CDN-Loop', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto'],
      ...[
        'X-Forwarded-Server',
        'X-Original-Forwarded-For',
        'X-Real-IP',
        'X-Client-IP',
        'X-Cluster-Client-IP',
      ],
      ...['True-Client-IP', 'CF-Connecting-IP', 'X-Azure-ClientIP', 'X-Envoy-External-Address'],
    ])('a proxy on this machine that sends %s', async (name) => {
      const { status } = await from(HERE, 'GET', '/_duet/keys', undefined, { [name]: 'localhost' });
      expect(status).toBe(403);
    });

    test('a page of elsewhere whose browser takes this machine for a proxy', async () => {
      await using server = open.listen();
      const { port } = new URL(server.url);
      const status = async (target: string, host: string) => {
        const connection = await connect(server.url);
        connection.send(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
        return (await connection.answer()).slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
      };
      expect(await status('/_duet/keys', `localhost:${port}`)).toBe('200');
      expect(await status('http://evil.test/_duet/keys', 'evil.test')).toBe('403');
      expect(await status('/_duet/keys', 'evil.test')).toBe('403');
      expect(await status(`http://localhost:${port}/_duet/keys`, 'evil.test')).toBe('403');
    });

    test('a form of another page cannot write: it has no JSON, and tokens are signed for nobody', async () => {
      const form = { 'Content-Type': 'text/plain' };
      expect(await from(HERE, 'POST', '/_duet/keys', { name: 'form' }, form)).toMatchObject({
        status: 400,
        body: { code: 'UNSUPPORTED_CONTENT_TYPE' },
      });
      expect((await here('POST', '/_duet/tokens', { subject: 'ann' })).status).toBe(404);
      const { body } = await here('GET', '/_duet/keys');
      expect(body.map(({ name }: { name: string }) => name)).not.toContain('form');
    });
  });

  describe('with authentication', () => {
    const send = ([method, path, body]: (typeof asked)[number], headers: Record<string, string>) =>
      guarded.rest(method, path, body, headers);

    test('the role admin may, wherever it asks from, and nobody else', async () => {
      const all: typeof asked = [...asked, ['POST', '/_duet/tokens', { subject: 'ann' }]];
      for (const each of all) {
        expect([each, (await send(each, {})).status]).toEqual([each, 401]);
        expect([each, (await send(each, user)).status]).toEqual([each, 403]);
        const near = await guarded.from(HERE).fetch(each[1], { method: each[0] });
        expect([each, near.status]).toEqual([each, 401]);
        expect([each, Math.floor((await send(each, admin)).status / 100)]).toEqual([each, 2]);
      }
      expect((await guarded.rest('GET', '/_duet/nothing', undefined, {})).status).toBe(404);
      expect((await guarded.rest('GET', '/_duet/keys/ci/more', undefined, admin)).status).toBe(404);
      const wrong = await guarded.rest('PUT', '/_duet/keys', {}, {});
      expect([wrong.status, wrong.headers.get('Allow')]).toEqual([405, 'GET, HEAD, POST, OPTIONS']);
      const preflight = await guarded.fetch('/_duet/jobs/retry', {
        method: 'OPTIONS',
        headers: { Origin: 'https://app.test', 'Access-Control-Request-Method': 'POST' },
      });
      expect(preflight.headers.get('Access-Control-Allow-Methods')).toBe('POST, OPTIONS');
    });

    test('everybody learns who they are', async () => {
      const me = async (headers: Record<string, string>) =>
        (await guarded.rest('GET', '/_duet/me', undefined, headers)).body;
      const may = { authentication: true, operates: false, signsTokens: false, webhooks: false };
      expect(await me({})).toEqual({ subject: null, roles: [], until: null, ...may });
      const until = expect.stringMatching(/^20.*Z$/);
      expect(await me(user)).toEqual({ subject: 'ann', roles: ['editor'], until, ...may });
      const all = { authentication: true, operates: true, signsTokens: true, webhooks: true };
      expect(await me(admin)).toEqual({ subject: 'root', roles: ['admin'], until, ...all });
    });

    test('a key is shown once, works with its roles, and no longer once it is revoked', async () => {
      const made = await guarded.rest('POST', '/_duet/keys', { name: 'ops', roles: ['admin'] }, admin);
      expect(made).toMatchObject({ status: 201, body: { name: 'ops', roles: ['admin'] } });
      const { key } = made.body;
      const list = await guarded.rest('GET', '/_duet/keys', undefined, bearer(key));
      expect(list.body.find(({ name }: { name: string }) => name === 'ops')).toEqual({
        name: 'ops',
        roles: ['admin'],
        at: expect.any(String),
        revoked: null,
      });
      expect(JSON.stringify(list.body)).not.toContain(key);
      const again = await guarded.rest('POST', '/_duet/keys', { name: 'ops' }, admin);
      expect(again).toMatchObject({
        status: 409,
        body: { code: 'CONFLICT', errors: [{ pointer: '#/name', code: 'NOT_UNIQUE' }] },
      });
      const bad = await guarded.rest('POST', '/_duet/keys', { name: '-', roles: 'x', colour: 1 }, admin);
      expect([bad.status, bad.body.errors.map(({ pointer, code }: any) => [pointer, code])]).toEqual([
        400,
        [
          ['#/roles', 'TYPE'],
          ['#/name', 'FORMAT'],
          ['#/colour', 'UNKNOWN'],
        ],
      ]);
      expect((await guarded.rest('DELETE', '/_duet/keys/o%70s', undefined, admin)).status).toBe(204);
      expect((await guarded.rest('DELETE', '/_duet/keys/ops', undefined, admin)).status).toBe(404);
      expect((await guarded.rest('DELETE', '/_duet/keys/%ff', undefined, admin)).status).toBe(404);
      const { body } = await guarded.rest('GET', '/_duet/keys', undefined, admin);
      const revoked = body.find(({ name }: { name: string }) => name === 'ops').revoked;
      expect(revoked).toEqual(expect.stringMatching(/^20.*Z$/));
    });

    test('one can look with the eyes of others, by what the rules say and by a token', async () => {
      const access = async (query: string) =>
        (await guarded.rest('GET', `/_duet/access${query}`, undefined, admin)).body;
      expect(await access('')).toEqual({
        actions: ['READ', 'CREATE', 'UPDATE', 'DELETE', 'HISTORY'],
        rows: [{ of: 'Item', cells: ['all', 'all', 'no', 'no', 'no'] }],
        conditions: [],
        runs: [],
        roles: ['editor'],
      });
      const editor = { rows: [{ cells: ['all', 'all', 'where (1)', 'no', 'no'] }] };
      expect(await access('?role=editor&role=ghost')).toMatchObject({
        ...editor,
        conditions: ['owner eq claim sub'],
      });
      const claims = encodeURIComponent('{"sub":"ann"}');
      expect(await access(`?role=editor&claims=${claims}`)).toMatchObject({
        ...editor,
        conditions: ['owner eq "ann"'],
      });
      expect(await access('?claims=[]&roles=x')).toMatchObject({
        status: 400,
        errors: [
          { parameter: 'claims', code: 'TYPE' },
          { parameter: 'roles', code: 'UNKNOWN' },
        ],
      });

      const made = await guarded.rest(
        'POST',
        '/_duet/tokens',
        { subject: 'eve', roles: ['editor'], claims: { team: 3 } },
        admin,
      );
      expect([made.status, Object.keys(made.body)]).toEqual([201, ['token', 'until']]);
      const left = Date.parse(made.body.until) - Date.now();
      expect(left > 0 && left <= 600_000).toBe(true);
      const [, payload = ''] = made.body.token.split('.');
      expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toMatchObject({
        sub: 'eve',
        team: 3,
        act: { sub: 'root' },
      });
      const item = await guarded.rest('POST', '/items', { name: 'x' }, bearer(made.body.token));
      expect(item).toMatchObject({ status: 201, body: { owner: 'eve' } });
      expect((await guarded.rest('GET', '/_duet/keys', undefined, bearer(made.body.token))).status).toBe(403);
      // Nobody makes one token of another, over and over.
      const eyes = { subject: 'ghost', roles: ['admin'] };
      const ghost = await guarded.rest('POST', '/_duet/tokens', eyes, admin);
      const next = await guarded.rest('POST', '/_duet/tokens', eyes, bearer(ghost.body.token));
      const me = await guarded.rest('GET', '/_duet/me', undefined, bearer(ghost.body.token));
      expect(me.body).toMatchObject({
        roles: ['admin'],
        operates: false,
        signsTokens: false,
        webhooks: false,
      });
      expect([ghost.status, next.status, next.body.code]).toEqual([201, 403, 'FORBIDDEN']);
      const key = await guarded.rest(
        'POST',
        '/_duet/keys',
        { name: 'g', roles: [] },
        bearer(ghost.body.token),
      );
      expect([key.status, key.body.code]).toEqual([403, 'FORBIDDEN']);
      expect(guarded.observations).toContainEqual({
        event: 'notice',
        message: expect.stringContaining('"root" was given a token of "eve" with the roles ["editor"] until'),
      });
      const bad = { subject: 'key:ops', roles: ['admin'], claims: { exp: 9e9 } };
      expect(await guarded.rest('POST', '/_duet/tokens', bad, admin)).toMatchObject({
        status: 400,
        body: {
          errors: [
            { pointer: '#/subject', code: 'FORMAT' },
            { pointer: '#/claims', code: 'UNKNOWN' },
          ],
        },
      });
    });
  });

  test('jobs are listed, tried again and dropped', async () => {
    works = false;
    for (const name of ['a', 'b']) await open.rest('POST', '/items', { name });
    const list = async (query = '') => (await here('GET', `/_duet/jobs${query}`)).body;
    await until(async () => (await list()).jobs.filter((job: any) => job.error).length === 2);
    const update = { do: 'update', resource: jobs, where: everything, counts: false } as const;
    const given = { set: { due: NEVER, attempt: 25 } };
    await storage.write(() => run({ ...update, ...given }), 'one', performance.now() + 5000);
    const told = (name: string) => ({
      id: expect.any(String),
      of: `Item.afterCreate ${name}`,
      state: 'failed',
      attempt: 25,
      at: expect.any(String),
      error: 'no mail today',
    });
    const failed = await list('?state=failed');
    expect(failed).toEqual({ waiting: 0, failed: 2, jobs: [told('1'), told('2')], more: false });
    const [{ id: first }, { id: second }] = failed.jobs;

    expect(await here('POST', '/_duet/jobs/drop', { ids: [first, 'none'] })).toMatchObject({
      body: { count: 1, more: false },
    });
    works = true;
    const before = runs;
    for (const verb of ['retry', 'drop'])
      expect((await here('POST', `/_duet/jobs/${verb}`, { ids: ['\0', '\ud800'] })).body).toEqual({
        count: 0,
        more: false,
      });
    expect((await here('POST', '/_duet/jobs/retry', { ids: [second] })).body).toEqual({
      count: 1,
      more: false,
    });
    await until(async () => (await list()).jobs.length === 0);
    expect([await list(), runs]).toEqual([{ waiting: 0, failed: 0, jobs: [], more: false }, before + 1]);
    for (const body of [{}, { ids: [first], failed: true }, { failed: 'yes' }, { ids: 7 }])
      expect([body, (await here('POST', '/_duet/jobs/retry', body)).status]).toEqual([body, 400]);
    expect((await here('GET', '/_duet/jobs?state=odd')).body.errors[0].parameter).toBe('state');
  });

  test('a job tells which it waits for', async () => {
    const { id } = (await open.rest('POST', '/items', { name: 'one' })).body;
    const list = async () => (await here('GET', '/_duet/jobs')).body.jobs;
    await until(async () => (await list()).length === 0);
    works = false;
    for (const name of ['two', 'three']) await open.rest('PUT', `/items/${id}`, { name });
    await until(async () => (await list()).some((job: any) => job.error));
    const [first, second, ...others] = await list();
    expect([first.behind, others]).toEqual([undefined, []]);
    // When it is looked at again is not when it begins.
    expect(second).toEqual({
      id: expect.any(String),
      of: `Item.afterUpdate ${id}`,
      state: 'waiting',
      attempt: 0,
      at: expect.any(String),
      behind: first.id,
    });
    await here('POST', '/_duet/jobs/drop', { ids: [first.id] });
    const [left] = await list();
    expect([left.id, left.behind]).toEqual([second.id, undefined]);
    await here('POST', '/_duet/jobs/drop', { ids: [second.id] });
    works = true;
  });

  test('webhooks are added, tested, given another secret, and removed', async () => {
    const got: any[] = [];
    await using receiver = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        got.push(await request.json());
        return new Response(null, { status: got.length === 1 ? 503 : 204 });
      },
    });
    const url = `http://127.0.0.1:${receiver.port}/told?key=of-theirs`;
    const paths = '/_duet/webhooks';
    const wrong = await here('POST', paths, { url: 'http://127.0.0.1/', on: ['Itme.created'], more: 1 });
    expect(wrong.body.errors.map(({ pointer }: any) => pointer)).toEqual(['#/more']);
    const bad = await here('POST', paths, { url: 'http://127.0.0.1/', on: ['Itme.created'] });
    expect([bad.status, bad.body.errors.map(({ pointer }: any) => pointer)]).toEqual([
      400,
      ['#/on', '#/url'],
    ]);
    const made = await here('POST', paths, { url, on: ['Item.created'], allowPrivate: true });
    expect(made).toEqual({ status: 201, body: { id: expect.any(String), secret: expect.any(String) } });
    const { id, secret } = made.body;
    const ofIt = `${paths}/${id}`;
    for (const none of ['%00', '%zz', 'wh_%00'])
      for (const [method, verb] of [
        ['DELETE', ''],
        ['POST', '/test'],
        ['POST', '/rotate'],
      ] as const)
        expect([none, (await here(method, `${paths}/${none}${verb}`, verb ? {} : undefined)).status]).toEqual(
          [none, 404],
        );
    expect((await here('POST', `${ofIt}/test`, {})).body).toMatchObject({ status: 503 });
    expect((await here('POST', `${ofIt}/test`, {})).body).toEqual({ status: 204, error: null });
    expect(got.map(({ type }) => type)).toEqual(['duet.test', 'duet.test']);
    const { body: listed } = await here('GET', paths);
    expect(listed).toMatchObject([{ id, on: ['Item.created'], disabled: null, waiting: 0, deliveries: [] }]);
    expect(JSON.stringify(listed)).not.toContain('of-theirs');
    const rotated = (await here('POST', `${ofIt}/rotate`, {})).body.secret;
    expect([typeof rotated, rotated === secret]).toEqual(['string', false]);
    expect((await here('POST', `${ofIt}/replay`, { after: listed[0].position })).status).toBe(204);
    const lost = await here('POST', `${ofIt}/replay`, { after: 'nowhere' });
    expect(lost).toMatchObject({ status: 400, body: { errors: [{ pointer: '#/after', code: 'CURSOR' }] } });
    expect((await here('DELETE', ofIt)).status).toBe(204);
    for (const [method, path] of [
      ['DELETE', ofIt],
      ['POST', `${ofIt}/test`],
    ] as const)
      expect((await here(method, path, method === 'POST' ? {} : undefined)).status).toBe(404);
    // Who is not at the machine must not have the service look around in its network.
    const inside = { url, on: ['*'], allowPrivate: true };
    expect(await guarded.rest('POST', paths, inside, admin)).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '#/allowPrivate', code: 'FORBIDDEN' }] },
    });
  });

  test('what was applied to the database is told, the newest first', async () => {
    const { body } = await here('GET', '/_duet/migrations');
    expect(body).toEqual([
      {
        at: expect.stringMatching(/^20.*Z$/),
        fingerprint: expect.any(String),
        steps: expect.arrayContaining(['create table Item']),
      },
    ]);
  });

  test('the last requests are told without what was sent in them, and statements by their fingerprints', async () => {
    await open.rest('GET', '/items?name=secret-of-a-query');
    await open.rest('POST', '/items', { name: 'secret-of-a-body', odd: 1 }, { 'X-Request-Id': 'mine' });
    await open.rest('GET', '/healthz');
    const { body: last } = await here('GET', '/_duet/requests');
    const [post, get] = last;
    expect(post).toEqual({
      at: expect.stringMatching(/^20.*Z$/),
      requestId: 'mine',
      method: 'POST',
      path: '/items',
      route: '/items',
      status: 400,
      ms: expect.any(Number),
      address: '',
    });
    expect([get.method, get.path, get.status]).toEqual(['GET', '/items', 200]);
    expect(JSON.stringify(last)).not.toContain('secret-of');
    const { body: failed } = await here('GET', '/_duet/requests?only=failed');
    expect(failed[0]).toEqual(post);
    expect(failed.every(({ status }: { status: number }) => status >= 400)).toBe(true);
    // All of GraphQL has one path, and one status for answers with and without errors.
    const ask = (query: string) => open.rest('POST', '/graphql', { query });
    await ask('query Good { items(first: 1) { name } }');
    await ask('{ items(first: 1) { name } }');
    await ask('mutation Bad { deleteItem(id: 999999) { id } }');
    const operations = async (path: string) =>
      (await here('GET', path)).body
        .slice(0, 3)
        .map(({ path, operation, outcome }: Record<string, unknown>) => [path, operation, outcome]);
    expect(await operations('/_duet/requests')).toEqual([
      ['/graphql', 'mutation Bad', 'error'],
      ['/graphql', 'query', 'ok'],
      ['/graphql', 'query Good', 'ok'],
    ]);
    expect((await operations('/_duet/requests?only=failed'))[0]).toEqual([
      '/graphql',
      'mutation Bad',
      'error',
    ]);
    expect((await here('GET', '/_duet/requests?only=slow')).status).toBe(200);
    expect((await here('GET', '/_duet/requests?only=odd')).status).toBe(400);

    const { body: slow } = await here('GET', '/_duet/statements');
    expect(slow.from).toBe(0);
    const read = slow.statements.find(({ sql }: { sql: string }) => /^SELECT.*"Item".*"name"/s.test(sql));
    expect(read).toMatchObject({
      fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
      at: expect.any(String),
    });
    expect(read.count >= 1 && read.ms >= read.longest).toBe(true);
    const unmeasured = await guarded.rest('GET', '/_duet/statements', undefined, admin);
    expect(unmeasured.body).toEqual({ from: null, statements: [] });
  });

  test('however many requests there are, only the last ones are kept', async () => {
    for (let n = 0; n < 230; n++) await open.rest('GET', `/nowhere/${n}`);
    const { body } = await here('GET', '/_duet/requests');
    expect([body.length, body[0].path, body.at(-1).path]).toEqual([200, '/nowhere/229', '/nowhere/30']);
  });
});

test('webhooks are there where something is journaled', async () => {
  const app = await openApp('sqlite', { sdl: 'type Item @resource { id: ID! }' });
  const path = '/_duet/webhooks';
  expect((await app.from(HERE).fetch(path)).status).toBe(404);
  await app.close();
});
