/** The rim: what every answer carries, which pages may call, and what slow clients and too many of them meet. */

import { describe, expect, test } from 'bun:test';
import { STATUS_CODES } from 'node:http';
import { catalogue } from '../../src/base/errors.ts';
import { phrases } from '../../src/http/problem.ts';
import { openApp, within } from '../app.ts';
import { headersOf, SECRET } from '../conformance/access-matrix.ts';
import { callers, newWorld, sdl } from '../conformance/access-world.ts';
import { command, connect, Folder, Server } from '../process.ts';

const CHUNK = 'POST /books HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
const BODY = '{"title":"slow","pages":1}';

test('problems are titled as the rest of the world titles their statuses', () => {
  const statuses = new Set(Object.values(catalogue).map(({ status }) => status));
  const wanted = [...statuses].map((status) => [String(status), STATUS_CODES[status]]);
  expect(phrases).toEqual(Object.fromEntries(wanted));
});

describe('every answer', () => {
  test('is neither guessed at nor kept for others', async () => {
    const app = await openApp('sqlite');
    const requests: [string, RequestInit?][] = [
      ['/books/1'],
      ['/books'],
      ['/books', { headers: { Accept: 'text/csv' } }],
      ['/nowhere'],
      ['/books/1', { method: 'PATCH' }],
      ['/books/1', { method: 'HEAD' }],
      ['/books/1', { method: 'OPTIONS' }],
      ['/graphql', { method: 'POST', body: 'x' }],
      ['/'],
      ['/healthz'],
      ['/metrics'],
      ['/openapi.json'],
    ];
    for (const [path, init] of requests) {
      const { headers } = await app.fetch(path, init);
      expect([path, headers.get('X-Content-Type-Options'), headers.get('Cache-Control')]).toEqual([
        path,
        'nosniff',
        'private, no-cache',
      ]);
      expect([path, headers.get('Access-Control-Allow-Origin')]).toEqual([path, null]);
    }
    const { headers } = await app.fetch('/');
    expect(headers.get('Content-Security-Policy')).toContain("default-src 'none'");
    expect(headers.get('Content-Security-Policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('Referrer-Policy')).toBe('no-referrer');
    await app.close();
  });

  test('is for its own caller alone, whatever the outcome and whoever asks', async () => {
    const env = { AUTH_SECRET: SECRET };
    const app = await openApp('sqlite', { sdl, data: newWorld(), env });
    const seen = new Set<number>();
    for (const who of callers) {
      const headers = await headersOf(who);
      const tag = (await app.fetch('/people/1', { headers })).headers.get('ETag') ?? '';
      for (const [path, init] of [
        ['/people'],
        ['/people/1'],
        ['/people/1', { headers: { 'If-None-Match': tag } }],
        ['/people', { headers: { Accept: 'text/csv' } }],
        ['/people/1', { method: 'HEAD' }],
        ['/people/999'],
        ['/people?no=1'],
        ['/vaults'],
        ['/graphql', { method: 'POST', body: '{"query":"{ people { id } }"}' }],
        ['/people/1', { headers: { Authorization: 'Bearer no' } }],
      ] as [string, RequestInit?][]) {
        const response = await app.fetch(path, { ...init, headers: { ...headers, ...init?.headers } });
        seen.add(response.status);
        expect([who.name, path, response.headers.get('Cache-Control')]).toEqual([
          who.name,
          path,
          'private, no-cache',
        ]);
      }
    }
    expect([...seen].sort()).toEqual([200, 304, 400, 401, 403, 404]);
    await app.close();
  });
});

describe('pages of other origins', () => {
  const Origin = 'https://app.example.com';
  const preflight = (origin = Origin) => ({
    method: 'OPTIONS',
    headers: { Origin: origin, 'Access-Control-Request-Method': 'PUT' },
  });

  test('may call when they are listed', async () => {
    const env = { CORS_ORIGINS: `${Origin}, http://localhost:3000` };
    const app = await openApp('sqlite', { env });
    const before = await app.fetch('/books/1', preflight());
    expect(before.status).toBe(204);
    expect(Object.fromEntries(before.headers)).toMatchObject({
      'access-control-allow-origin': Origin,
      'access-control-allow-methods': 'GET, HEAD, PUT, DELETE, OPTIONS',
      'access-control-allow-headers':
        'Authorization, Content-Type, Duet-Position, If-Match, If-None-Match, Idempotency-Key, X-Request-Id',
      'access-control-max-age': '600',
      vary: 'Origin',
    });
    const read = await app.fetch('/books', { headers: { Origin: 'http://localhost:3000' } });
    expect(read.headers.get('Access-Control-Allow-Origin')).toBe('http://localhost:3000');
    expect(read.headers.get('Access-Control-Expose-Headers')).toContain('ETag');
    expect(read.headers.get('Vary')).toBe('Accept, Origin');
    // Errors can be read too.
    for (const path of ['/books/99', '/nowhere'])
      expect(
        (await app.fetch(path, { headers: { Origin } })).headers.get('Access-Control-Allow-Origin'),
      ).toBe(Origin);
    const gone = await app.fetch('/nowhere', preflight());
    expect([gone.status, gone.headers.get('Access-Control-Allow-Methods')]).toEqual([404, null]);
  });

  test('may not when they are not, nor when nobody is', async () => {
    const app = await openApp('sqlite', { env: { CORS_ORIGINS: Origin } });
    for (const origin of [
      `${Origin}.evil.test`,
      'https://evil.test',
      'null',
      `${Origin}/`,
      'http://app.example.com',
    ])
      for (const init of [preflight(origin), { headers: { Origin: origin } }]) {
        const { headers } = await app.fetch('/books/1', init);
        expect([origin, [...headers.keys()].filter((name) => name.startsWith('access-control'))]).toEqual([
          origin,
          [],
        ]);
        expect(headers.get('Vary')).toBe('Origin');
      }
    const plain = await app.fetch('/books/1', { method: 'OPTIONS' });
    expect([plain.status, plain.headers.get('Allow')]).toEqual([204, 'GET, HEAD, PUT, DELETE, OPTIONS']);
    expect(plain.headers.has('Access-Control-Allow-Methods')).toBe(false);
    await app.close();
  });

  test('may all, when all are', async () => {
    const app = await openApp('sqlite', { env: { CORS_ORIGINS: '*' } });
    const { headers } = await app.fetch('/books/1', { headers: { Origin: 'https://any.test' } });
    expect(headers.get('Access-Control-Allow-Origin')).toBe('*');
    expect(headers.has('Vary')).toBe(false);
    expect(headers.has('Access-Control-Allow-Credentials')).toBe(false);
    await app.close();
  });

  test.each(['', 'app.example.com', 'https://app.example.com/', 'https://a.test, *', 'https://A.test'])(
    'are refused as a setting: %j',
    async (CORS_ORIGINS) => {
      using folder = new Folder();
      const { stderr, exit } = await command(folder, ['serve'], { CORS_ORIGINS });
      expect(exit).toBe(2);
      expect(stderr).toStartWith('duet: CORS_ORIGINS must be origins like https://app.example.com');
    },
  );
});

describe('slow clients', () => {
  test('whose body trickles in are told so, and then hung up on', async () => {
    using folder = new Folder();
    await using server = await Server.start(folder, { LIMIT_BODY_TIME: '1500' });
    for (const header of ['Content-Length: 1000', 'Transfer-Encoding: chunked']) {
      const slow = await connect(server.url);
      slow.send(`${CHUNK}${header}\r\n\r\n`);
      const trickle = setInterval(() => slow.send(header.startsWith('C') ? ' ' : '1\r\n \r\n'), 50);
      const answer = await within(20_000, slow.answer()).finally(() => clearInterval(trickle));
      expect(answer).toStartWith('HTTP/1.1 408 Request Timeout');
      expect(answer).toContain('"code":"BODY_TOO_SLOW"');
      expect(answer.match(/HTTP\/1\.1/g)?.length).toBe(1);
    }
    const steady = await connect(server.url);
    steady.send(`${CHUNK}Connection: close\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY.slice(0, 9)}`);
    await steady.taken();
    steady.send(BODY.slice(9));
    expect(await steady.answer()).toStartWith('HTTP/1.1 201');
  });

  test('whose headers trickle in are hung up on', async () => {
    using folder = new Folder();
    await using server = await Server.start(folder);
    const slow = await connect(server.url);
    slow.send('GET /books HTTP/1.1\r\nHost: x\r\nX-Slow: ');
    const trickle = setInterval(() => slow.send('a'), 500);
    const answer = await within(45_000, slow.answer()).finally(() => clearInterval(trickle));
    expect(answer).not.toContain('200 OK');
  });

  test('who go away in the middle are no failure of the server', async () => {
    using folder = new Folder();
    await using server = await Server.start(folder);
    const quitter = await connect(server.url);
    quitter.send(`${CHUNK}Content-Length: ${BODY.length}\r\n\r\n{`);
    await quitter.taken();
    quitter.end();
    await server.logged('request');
    expect(server.log.filter(({ event }) => event === 'failure')).toEqual([]);
  });
});

describe('too much at once', () => {
  // Many rows and many columns, so that an answer takes a while.
  const sdl = 'type Row @resource { id: ID!  a: String!  b: String!  c: String! }';
  const rows = Array.from({ length: 20_000 }, (_, id) => ({ id: id + 1, a: 'a', b: 'b', c: 'c' }));

  test('is turned away before any work, but for the health check', async () => {
    const app = await openApp('postgres', { env: { LIMIT_IN_FLIGHT: '2' } });
    const asked = app.statements.length;
    const answers = await Promise.all([
      ...Array.from({ length: 10 }, () => app.rest('GET', '/books')),
      app.rest('GET', '/healthz'),
    ]);
    const health = answers.pop();
    expect(health?.status).toBe(200);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, ...Array(8).fill(503)]);
    const turned = answers.at(-1);
    expect([turned?.body.code, turned?.headers.get('Retry-After')]).toEqual(['UNAVAILABLE', '1']);
    expect(app.statements.slice(asked).filter((sql) => sql.includes('"Book"')).length).toBe(2);
    expect((await app.rest('GET', '/books')).status).toBe(200);
    const metrics = (await app.rest('GET', '/metrics')).body;
    expect(metrics).toContain('duet_requests_shed_total 8\n');
    expect(metrics).toContain('duet_requests_in_flight 1\n');
    const refused = await Promise.all(Array.from({ length: 5 }, () => app.graphql('{ books { id } }')));
    expect(refused.at(-1)?.status).toBe(503);
    expect(refused.at(-1)?.errors?.[0].extensions.code).toBe('UNAVAILABLE');
    await app.close();
  });

  test('does not count those who only wait for the bodies of slow clients', async () => {
    using folder = new Folder();
    await using server = await Server.start(folder, { LIMIT_IN_FLIGHT: '1' });
    const slow = await Promise.all(Array.from({ length: 5 }, () => connect(server.url)));
    for (const each of slow)
      each.send(`${CHUNK}Connection: close\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY.slice(0, 9)}`);
    await Promise.all(slow.map((each) => each.taken()));
    expect((await fetch(`${server.url}/books/1`)).status).toBe(200);
    for (const each of slow) {
      each.send(BODY.slice(9));
      expect(await each.answer()).toStartWith('HTTP/1.1 201');
    }
  });

  /** Whether requests are served again, within five seconds at the most. */
  const isServed = async (url: string) => {
    for (let tries = 0; tries < 100; tries++) {
      if ((await fetch(`${url}/rows/1`)).status === 200) return true;
      await Bun.sleep(50);
    }
    return false;
  };

  test('is noticed by a late event loop', async () => {
    using folder = new Folder({ 'schema.graphql': sdl, 'data.json': JSON.stringify({ rows }) });
    await using server = await Server.start(folder, { LIMIT_LAG: '5' });
    const statuses = new Set<number>();
    for (let round = 0; round < 50 && !statuses.has(503); round++) {
      const answers = await Promise.all(
        Array.from({ length: 8 }, async () => {
          const answer = await fetch(`${server.url}/rows`);
          await answer.arrayBuffer();
          return answer;
        }),
      );
      for (const { status } of answers) statuses.add(status);
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    }
    expect([...statuses].sort()).toEqual([200, 503]);
    expect(await isServed(server.url)).toBe(true);
  });

  test('is noticed within a turn of the event loop that does not end', async () => {
    using folder = new Folder({ 'schema.graphql': sdl, 'data.json': JSON.stringify({ rows }) });
    await using server = await Server.start(folder, { LIMIT_LAG: '20' });
    const clients = await Promise.all(Array.from({ length: 50 }, () => connect(server.url)));
    // All that is there when it wakes up is read in one turn; the one before took no time.
    process.kill(server.pid, 'SIGSTOP');
    for (const each of clients) each.send('GET /rows HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await Bun.sleep(200);
    process.kill(server.pid, 'SIGCONT');
    const statuses = await Promise.all(clients.map(async (each) => (await each.answer()).slice(9, 12)));
    // On a busy machine it may stand still before the first as well, and that one has waited for too long, too.
    expect(statuses).toContain('503');
    expect(statuses.filter((status) => status !== '200' && status !== '503')).toEqual([]);
    expect(await isServed(server.url)).toBe(true);
  });
});
