/** GraphQL over WebSocket and over SSE, as the published clients `graphql-ws` and `graphql-sse` speak them. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createClient as createSse } from 'graphql-sse';
import { createClient as createWs, type Client as WsClient } from 'graphql-ws';
import { SignJWT } from 'jose';
import { type AppUnderTest, databases, type Listening, openApp, sharedPostgres, within } from '../app.ts';
import { connect, Folder, Server } from '../process.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
type Book @resource @journal @allow(to: [READ]) @allow(to: [CREATE, UPDATE, DELETE, HISTORY], role: "admin")
{ id: ID! title: String! }
type Note @resource @journal @allow(to: [READ, CREATE], role: "admin") { id: ID! text: String! }
`;

const PROTOCOL = 'graphql-transport-ws';

/** Speaks the protocol by hand, for what no good client says. */
class Raw {
  readonly #socket: WebSocket;
  readonly #messages: unknown[] = [];
  #arrived = Promise.withResolvers<void>();
  readonly closed: Promise<CloseEvent>;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => {
      this.#messages.push(JSON.parse(data));
      this.#arrived.resolve();
    };
    this.closed = new Promise((resolve) => {
      socket.onclose = resolve;
    });
  }

  static async open(url: string, headers: Record<string, string> = {}): Promise<Raw> {
    const options = { protocols: [PROTOCOL], headers };
    const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, options as unknown as string[]);
    const raw = new Raw(socket);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = reject;
    });
    return raw;
  }

  static async acknowledged(url: string, payload?: object): Promise<Raw> {
    const raw = await Raw.open(url);
    raw.send({ type: 'connection_init', payload });
    expect(await raw.next()).toEqual({ type: 'connection_ack' });
    return raw;
  }

  send(message: unknown): void {
    this.#socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  async next(): Promise<any> {
    while (this.#messages.length === 0) {
      await within(20_000, this.#arrived.promise);
      this.#arrived = Promise.withResolvers();
    }
    return this.#messages.shift();
  }

  async code(): Promise<number> {
    return (await within(20_000, this.closed)).code;
  }

  close(): void {
    this.#socket.close();
  }
}

for (const database of databases)
  describe(`on ${database}`, () => {
    let app: AppUnderTest;
    let server: Listening;
    let folder: Folder;
    let deployment: { sdl: string; url: string; env: Record<string, string> };
    let admin: Record<string, string>;
    beforeAll(async () => {
      folder = new Folder();
      const url =
        database === 'sqlite' ? `sqlite:${folder.file('x.db')}` : await (await sharedPostgres()).database();
      const env = { AUTH_SECRET: SECRET, CORS_ORIGINS: 'https://friend.test' };
      deployment = { sdl, url, env };
      app = await openApp(database, deployment);
      server = app.listen();
      admin = await headersOf({ name: 'root', claims: { sub: 'root', roles: ['admin'] } });
    });
    afterAll(async () => {
      await server[Symbol.asyncDispose]();
      await app.close();
      folder[Symbol.dispose]();
    });

    const clients = (): Record<string, Pick<WsClient, 'iterate'> & { dispose(): void }> => {
      const url = `${server.url}/graphql`;
      const ws = createWs({ url: url.replace('http', 'ws'), connectionParams: admin, retryAttempts: 0 });
      const sse = createSse({ url, headers: admin, retryAttempts: 0 });
      return { ws: { iterate: ws.iterate, dispose: () => void ws.dispose() }, sse: sse as any };
    };

    for (const name of ['ws', 'sse'])
      test(`the published client of ${name} queries, writes, subscribes and looks on`, async () => {
        const client = clients()[name] as Pick<WsClient, 'iterate'> & { dispose(): void };
        const once = async (query: string, variables = {}) => {
          const results = [];
          for await (const each of client.iterate({ query, variables })) results.push(each);
          return results as any[];
        };
        const create = 'mutation ($title: String!) { createBook(title: $title) { id } }';
        const [made] = await once(create, { title: `${name} 1` });
        const { id } = made.data.createBook;
        expect(await once('query ($id: ID!) { book(id: $id) { title } }', { id })).toEqual([
          { data: { book: { title: `${name} 1` } } },
        ]);
        const live = client.iterate({
          query: 'query ($is: String!) @live { books(where: { title: { startsWith: $is } }) { title } }',
          variables: { is: name },
        });
        const books = async () => ((await within(20_000, live.next())).value as any).data.books;
        expect(await books()).toEqual([{ title: `${name} 1` }]);
        const changes = client.iterate({ query: 'subscription { bookChanges { kind after { title } } }' });
        const told = changes.next();
        // A subscription begins at some time: whoever is told of nothing has not begun yet.
        let tries = 0;
        const write = async () => {
          await once(create, { title: `${name} ${2 + tries++}` });
          return Promise.race([told, Bun.sleep(200)]);
        };
        while (tries < 20 && !(await write())) {}
        expect((await within(20_000, told)).value).toEqual({
          data: { bookChanges: { kind: 'CREATED', after: { title: expect.stringContaining(`${name} `) } } },
        } as any);
        let shown: unknown[] = [];
        while (shown.length < 1 + tries) shown = await books();
        expect(shown).toHaveLength(1 + tries);
        await live.return?.();
        await changes.return?.();
        client.dispose();
      });

    test('several operations share a socket, and what is wrong with one is wrong with that one', async () => {
      const raw = await Raw.acknowledged(server.url);
      const ask = (id: string, query: string) => raw.send({ id, type: 'subscribe', payload: { query } });
      ask('a', '{ books { nothing } }');
      const bad = await raw.next();
      expect([bad.id, bad.type, bad.payload[0].extensions.code]).toEqual([
        'a',
        'error',
        'GRAPHQL_VALIDATION_FAILED',
      ]);
      ask('a', 'subscription { noteChanges { key } }');
      const denied = await raw.next();
      expect([denied.type, denied.payload[0].extensions.code]).toEqual(['error', 'UNAUTHENTICATED']);
      ask('b', 'subscription { bookChanges { after { title } } }');
      ask('c', 'query @live { books(where: { title: { eq: "shared" } }) { title } }');
      const first = await raw.next();
      expect(first).toEqual({ id: 'c', type: 'next', payload: { data: { books: [] } } });
      raw.send({ type: 'ping' });
      expect(await raw.next()).toEqual({ type: 'pong' });
      await app.rest('POST', '/books', { title: 'shared' }, admin);
      const both = [await raw.next(), await raw.next()].sort((one, other) => (one.id < other.id ? -1 : 1));
      expect(both).toEqual([
        { id: 'b', type: 'next', payload: { data: { bookChanges: { after: { title: 'shared' } } } } },
        { id: 'c', type: 'next', payload: { data: { books: [{ title: 'shared' }] } } },
      ]);
      raw.send({ id: 'b', type: 'complete' });
      raw.send({ id: 'c', type: 'complete' });
      ask('d', '{ none: book(id: 999999) { id } }');
      expect([await raw.next(), await raw.next()]).toEqual([
        { id: 'd', type: 'next', payload: { data: { none: null } } },
        { id: 'd', type: 'complete' },
      ]);
      await app.rest('POST', '/books', { title: 'unheard' }, admin);
      ask('d', '{ again: book(id: 999999) { id } }');
      expect((await raw.next()).payload.data).toEqual({ again: null });
      raw.close();
    });

    test('whoever does not keep to the protocol is told by its codes', async () => {
      const ask = { id: 'a', type: 'subscribe', payload: { query: 'subscription { bookChanges { key } }' } };
      const cases: [number, unknown[]][] = [
        [4400, ['no json']],
        [4400, [{ type: 'nothing' }]],
        [4401, [ask]],
        ...[1, null, ['a'], { toString: 1, valueOf: 1 }].flatMap((id): [number, unknown[]][] => [
          [4400, [{ type: 'complete', id }]],
          [4400, [{ ...ask, id }]],
        ]),
        [4429, [{ type: 'connection_init' }, { type: 'connection_init' }]],
        ...['wrong', 'é漢', 'a\r\nX: y', '\0'].map((token): [number, unknown[]] => [
          4403,
          [{ type: 'connection_init', payload: { Authorization: `Bearer ${token}` } }],
        ]),
        ...['', 5, ['Bearer x'], { token: 'x' }].map((Authorization): [number, unknown[]] => [
          4403,
          [{ type: 'connection_init', payload: { Authorization } }],
        ]),
      ];
      const silent = await Raw.open(server.url);
      for (const [code, messages] of cases) {
        const raw = await Raw.open(server.url);
        for (const message of messages) raw.send(message);
        expect([messages, await raw.code()]).toEqual([messages, code]);
      }
      const twice = await Raw.acknowledged(server.url);
      twice.send(ask);
      twice.send(ask);
      expect(await twice.code()).toBe(4409);
      for (const id of ['', 1, null, { toString: 1, valueOf: 1 }]) {
        const nameless = await Raw.acknowledged(server.url);
        nameless.send({ ...ask, id });
        expect(await nameless.code()).toBe(4400);
      }
      const deep = await Raw.acknowledged(server.url);
      deep.send(
        `{"id":"a","type":"subscribe","payload":{"query":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`,
      );
      expect(await deep.code()).toBe(4400);
      expect(await silent.code()).toBe(4408);
    });

    test('a handshake without a key is the client’s fault, also where sockets are taken on', async () => {
      for (const key of ['Sec-WebSocket-Key:\r\n', '']) {
        const connection = await connect(server.url);
        connection.send(
          `GET /graphql HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\nSec-WebSocket-Version: 13\r\n${key}Sec-WebSocket-Protocol: ${PROTOCOL}\r\n\r\n`,
        );
        expect(await connection.answer()).toStartWith('HTTP/1.1 400 ');
      }
    });

    test.each([
      ['without the option of Connection', 'GET', 'Connection: close\r\n', '', 405],
      ['by HEAD', 'HEAD', 'Connection: Upgrade, close\r\n', '', 405],
      ['with a body', 'GET', 'Connection: Upgrade, close\r\nContent-Length: 5\r\n', 'hello', 400],
    ])('a handshake %s opens no socket', async (_, method, headers, body, status) => {
      const connection = await connect(server.url);
      connection.send(
        `${method} /graphql HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n${headers}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: ${PROTOCOL}\r\n\r\n${body}`,
      );
      expect(await connection.answer()).toStartWith(`HTTP/1.1 ${status} `);
    });

    test('pages of other origins open none, and there is one protocol', async () => {
      const knock = async (headers: Record<string, string>) => {
        const all = {
          Upgrade: 'websocket',
          Connection: 'Upgrade',
          'Sec-WebSocket-Version': '13',
          'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
          'Sec-WebSocket-Protocol': PROTOCOL,
          ...headers,
        };
        const answer = await app.fetch('/graphql', { headers: all });
        return [answer.status, ((await answer.json()) as any).errors[0].extensions.code];
      };
      expect(await knock({ Origin: 'https://evil.test', Host: 'duet.test' })).toEqual([403, 'FORBIDDEN']);
      expect(await knock({ Origin: 'null', Host: 'duet.test' })).toEqual([403, 'FORBIDDEN']);
      expect(await knock({ 'Sec-WebSocket-Protocol': 'graphql-ws' })).toEqual([400, 'VALIDATION_FAILED']);
      for (const key of ['', 'short', 'dGhlIHNhbXBsZSBub25jZQ'])
        expect(await knock({ 'Sec-WebSocket-Key': key })).toEqual([400, 'VALIDATION_FAILED']);
      // Nobody listens here who could take one on.
      for (const Origin of ['https://duet.test', 'https://friend.test'])
        expect(await knock({ Origin, Host: 'duet.test' })).toEqual([503, 'UNAVAILABLE']);
      const { host } = new URL(server.url);
      for (const Origin of [`http://${host}`, 'https://friend.test']) {
        const raw = await Raw.open(server.url, { Origin });
        raw.close();
      }
      await expect(Raw.open(server.url, { Origin: 'https://evil.test' })).rejects.toBeDefined();
      const plain = await openApp('sqlite', { sdl: 'type Plain @resource { id: ID! }' });
      const refused = await plain.fetch('/graphql', {
        headers: { Upgrade: 'websocket', Connection: 'Upgrade' },
      });
      expect(refused.status).toBe(405);
      await plain.close();
    });

    test('a socket ends with its token, when the server stops, and counts as a stream', async () => {
      const exp = Math.floor(Date.now() / 1000) + 4;
      const token = new SignJWT({ sub: 'root', roles: ['admin'] }).setProtectedHeader({ alg: 'HS256' });
      const signed = await token.setExpirationTime(exp).sign(new TextEncoder().encode(SECRET));
      const credentials = { Authorization: `Bearer ${signed}` };
      const idle = await Raw.acknowledged(server.url, credentials);
      const busy = await Raw.acknowledged(server.url, credentials);
      busy.send({ id: 'a', type: 'subscribe', payload: { query: 'subscription { noteChanges { key } }' } });
      expect([await idle.code(), await busy.code()]).toEqual([4403, 4403]);
      const env = { ...deployment.env, LIMIT_STREAMS: '2' };
      const small = await openApp(database, { ...deployment, env });
      const listening = small.listen();
      const one = await Raw.acknowledged(listening.url);
      const ask = (id: string) =>
        one.send({ id, type: 'subscribe', payload: { query: 'subscription { bookChanges { key } }' } });
      ask('a');
      ask('b');
      // Which of them comes first is for nobody to say: each is a request of its own.
      const full = await one.next();
      expect([full.type, full.payload[0].extensions.code]).toEqual(['error', 'UNAVAILABLE']);
      expect(['a', 'b']).toContain(full.id);
      await expect(Raw.open(listening.url)).rejects.toBeDefined();
      listening.drain();
      expect(await one.code()).toBe(1012);
      await listening[Symbol.asyncDispose]();
      await small.close();
    });

    test('sockets that ask for nothing make room for others, the longest idle first', async () => {
      const env = { ...deployment.env, LIMIT_STREAMS: '4' };
      const small = await openApp(database, { ...deployment, env });
      await using listening = small.listen();
      const follow = {
        id: 'a',
        type: 'subscribe',
        payload: { query: 'subscription { bookChanges { key } }' },
      };
      const busy = await Raw.acknowledged(listening.url);
      busy.send(follow);
      const served = await Raw.acknowledged(listening.url);
      const idle = await Raw.acknowledged(listening.url);
      // Has been idle for a shorter time than the other from now on.
      served.send({ id: 'a', type: 'subscribe', payload: { query: '{ __typename }' } });
      expect([(await served.next()).type, (await served.next()).type]).toEqual(['next', 'complete']);
      const silent = await Raw.open(listening.url);
      expect(await idle.code()).toBe(1012);
      served.send(follow);
      expect(await silent.code()).toBe(1012);
      // All that is left is followed.
      await expect(Raw.open(listening.url)).rejects.toBeDefined();
      await small.rest('POST', '/books', { title: 'told' }, admin);
      for (const raw of [busy, served]) {
        expect((await raw.next()).type).toBe('next');
        raw.close();
      }
      await small.close();
    });

    test('a live answer that nothing was read for is complete at once, and takes no place', async () => {
      const raw = await Raw.acknowledged(server.url);
      const denied = expect.objectContaining({
        extensions: expect.objectContaining({ code: 'UNAUTHENTICATED' }),
      });
      for (const [query, payload] of [
        ['query @live { __typename }', { data: { __typename: 'Query' } }],
        ['query @live { notes { id } }', { data: null, errors: [denied] }],
      ] as const) {
        raw.send({ id: 'a', type: 'subscribe', payload: { query } });
        expect((await raw.next()).payload).toEqual(payload);
        expect(await raw.next()).toEqual({ id: 'a', type: 'complete' });
      }
      // One that reads what may be read goes on.
      raw.send({
        id: 'a',
        type: 'subscribe',
        payload: { query: 'query @live { __typename books { title } }' },
      });
      expect((await raw.next()).type).toBe('next');
      await app.rest('POST', '/books', { title: 'another' }, admin);
      const { type, payload } = await raw.next();
      expect([type, payload.data.books.at(-1)]).toEqual(['next', { title: 'another' }]);
      raw.close();
    });

    test('the rate limit of an address holds on a socket, message by message', async () => {
      const env = { RATE_LIMIT_ADDRESS: '4/60' };
      const limited = await openApp(database, { ...deployment, env });
      await using listening = limited.listen();
      const raw = await Raw.acknowledged(listening.url);
      raw.send({ id: 'a', type: 'subscribe', payload: { query: '{ __typename }' } });
      expect([(await raw.next()).type, (await raw.next()).type]).toEqual(['next', 'complete']);
      raw.send({ id: 'b', type: 'subscribe', payload: { query: '{ __typename }' } });
      const refused = await raw.next();
      expect([refused.type, refused.payload[0].extensions.code]).toEqual(['error', 'RATE_LIMITED']);
      raw.close();
      await limited.close();
    });
  });

test.each([
  ['as long as a body, where few sockets can be open', 4, 1_048_576],
  ['its share of what all bodies on their way may have, where many can', 1000, 268_435],
  ['64 KiB at the least', 1_000_000, 65_536],
])('a message is %s', async (_, streams, longest) => {
  const app = await openApp('sqlite', { sdl, env: { LIMIT_STREAMS: String(streams) } });
  await using server = app.listen();
  const message = (bytes: number) => {
    const head = '{"id":"a","type":"subscribe","payload":{"query":"{ __typename }"}}';
    return head + ' '.repeat(bytes - head.length);
  };
  const raw = await Raw.acknowledged(server.url);
  raw.send(message(longest));
  expect([(await raw.next()).type, (await raw.next()).type]).toEqual(['next', 'complete']);
  raw.send(message(longest + 1));
  expect(await raw.code()).toBe(1009);
  await app.close();
});

test('another schema ends sockets, and so does a server that is told to stop', async () => {
  using folder = new Folder();
  const plain = 'type Book @resource @journal { id: ID! title: String! }';
  await Bun.write(folder.file('schema.graphql'), plain);
  await Bun.write(folder.file('data.json'), '{}');
  await using server = await Server.start(folder);
  const watching = async () => {
    const raw = await Raw.acknowledged(server.url);
    raw.send({ id: 'a', type: 'subscribe', payload: { query: 'query @live { books { title } }' } });
    expect((await raw.next()).payload).toEqual({ data: { books: [] } });
    return raw;
  };
  const before = await watching();
  await Bun.write(folder.file('schema.graphql'), plain.replace('title', 'pages: Int title'));
  server.signal('SIGHUP');
  await server.logged('reloaded', 1);
  expect(await before.code()).toBe(1012);
  const [after, idle] = [await watching(), await Raw.acknowledged(server.url)];
  server.signal('SIGTERM');
  expect([await after.code(), await idle.code()]).toEqual([1012, 1012]);
  expect(await server.exited()).toBe(0);
});
