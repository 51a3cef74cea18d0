/** Rate limits: who is counted, what things cost, what answers say of it, and Redis in all its states. */

import { describe, expect, test } from 'bun:test';
import { RedisClient } from 'bun';
import { SignJWT } from 'jose';
import { type AppUnderTest, openApp, within } from '../app.ts';
import { command, Folder, Server } from '../process.ts';
import { hasRedis, Redis } from '../redis.ts';
import { bearer, sound } from './issuer.ts';

const SECRET = 'a secret of at least thirty-two bytes';
const sdl = `
  type Note @resource @allow(to: [READ, CREATE, UPDATE, DELETE]) { id: ID!  title: String!  tags: [Tag!]! }
  type Tag @resource @allow(to: [READ, CREATE, UPDATE, DELETE]) { id: ID!  note: Note! }`;
const many = Array.from({ length: 200 }, (_, id) => ({ id: id + 1, title: 'x' }));
const tags = Array.from({ length: 300 }, (_, id) => ({ id: id + 1, noteId: (id % 200) + 1 }));

const open = (env: Record<string, string>) => openApp('sqlite', { sdl, data: { notes: many, tags }, env });
const tokenOf = (sub: string) =>
  new SignJWT(sound({ sub })).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(SECRET));

/** Units that are left to the address, as an answer tells. */
const left = (headers: Headers, name = 'address') =>
  Number(new RegExp(`"${name}";r=(\\d+);t=\\d+`).exec(headers.get('RateLimit') ?? '')?.[1] ?? Number.NaN);

async function statuses(app: AppUnderTest, count: number, from?: Parameters<AppUnderTest['from']>[0]) {
  const found: number[] = [];
  for (let each = 0; each < count; each++)
    found.push((await (from === undefined ? app : app.from(from)).fetch('/notes/1')).status);
  return found;
}

describe('without settings', () => {
  test('nothing is limited, and nothing is said', async () => {
    const app = await open({});
    expect(new Set(await statuses(app, 300))).toEqual(new Set([200]));
    expect((await app.fetch('/notes')).headers.has('RateLimit')).toBe(false);
    await app.close();
  });

  test.each([
    [{ RATE_LIMIT_ADDRESS: '600' }, 'RATE_LIMIT_ADDRESS must be UNITS/SECONDS, such as 600/60, not "600"'],
    [{ RATE_LIMIT_CALLER: '0/60' }, 'RATE_LIMIT_CALLER must be UNITS/SECONDS, such as 600/60, not "0/60"'],
    [{ TRUSTED_PROXIES: '10.0.0.0/33' }, 'TRUSTED_PROXIES must be addresses or networks'],
    [{ TRUSTED_PROXIES: 'proxy.local' }, 'TRUSTED_PROXIES must be addresses or networks'],
    [
      { REDIS_URL: 'http://:hush@localhost' },
      'REDIS_URL must be redis://USER:PASSWORD@HOST:PORT or rediss://…\n',
    ],
  ] as [Record<string, string>, string][])('a wrong one is refused: %j', async (env, message) => {
    using folder = new Folder();
    const { stderr, exit } = await command(folder, ['serve'], env);
    expect(exit).toBe(2);
    expect(stderr).toStartWith(`duet: ${message}`);
    expect(stderr).not.toContain('hush');
  });
});

describe('an address', () => {
  test('has its units at once, then waits; each answer says what is left', async () => {
    const app = await open({ RATE_LIMIT_ADDRESS: '10/3600' });
    const first = await app.fetch('/notes/1');
    expect(first.headers.get('RateLimit-Policy')).toBe('"address";q=10;w=3600');
    expect(first.headers.get('RateLimit')).toBe('"address";r=9;t=360');
    expect(await statuses(app, 11)).toEqual([...Array(9).fill(200), 429, 429]);
    const refused = await app.rest('GET', '/notes/1');
    expect(refused.body).toMatchObject({ status: 429, code: 'RATE_LIMITED', title: 'Too Many Requests' });
    expect(refused.headers.get('RateLimit')).toBe('"address";r=0;t=3600');
    const wait = Number(refused.headers.get('Retry-After'));
    expect(wait).toBeGreaterThan(350);
    expect(wait).toBeLessThanOrEqual(360);
    const graphql = await app.graphql('{ notes { id } }');
    expect([graphql.status, graphql.errors?.[0].extensions.code]).toEqual([429, 'RATE_LIMITED']);
    // Those who watch over the service are not counted.
    for (const path of ['/healthz', '/readyz']) {
      const { status, headers } = await app.fetch(path);
      expect([status, headers.has('RateLimit')]).toEqual([200, false]);
    }
    expect(await statuses(app, 1, { address: '192.0.2.9' })).toEqual([200]);
    await app.close();
  });

  test('gets units back steadily', async () => {
    const app = await open({ RATE_LIMIT_ADDRESS: '5/1' });
    /** How many are served until one is refused; on a busy machine units come back meanwhile. */
    const served = async () => {
      for (let count = 0; count < 1000; count++) if ((await statuses(app, 1))[0] === 429) return count;
      throw new Error('none is refused');
    };
    expect(await served()).toBeGreaterThanOrEqual(5);
    await Bun.sleep(450);
    expect(await served()).toBeGreaterThanOrEqual(2);
    await app.close();
  });

  test('is that of the connection, unless a trusted proxy tells another', async () => {
    const limit = { RATE_LIMIT_ADDRESS: '1/3600', TRUSTED_PROXIES: '10.0.0.0/8, ::1, 2001:db8:ffff::/48' };
    const rows: [string, string | undefined, string | undefined][] = [
      // The connection, what it forwards, and whom that counts for.
      ['192.0.2.1', undefined, '192.0.2.1'],
      ['192.0.2.2', '198.51.100.1', '192.0.2.2'],
      ['10.0.0.1', '198.51.100.2', '198.51.100.2'],
      ['::ffff:10.0.0.1', '198.51.100.3', '198.51.100.3'],
      ['10.0.0.1', '203.0.113.9, 198.51.100.4', '198.51.100.4'],
      ['10.0.0.1', '198.51.100.5, 10.1.1.1, 10.2.2.2', '198.51.100.5'],
      ['10.0.0.1', '10.9.9.9', '10.9.9.9'],
      ['10.0.0.2', 'unknown', '10.0.0.2'],
      ['10.0.0.3', '198.51.100.6, nonsense', '10.0.0.3'],
      ['10.0.0.1', '198.51.100.7:4711', '198.51.100.7'],
      ['::1', '[2001:db8::7]:4711', '2001:db8::1'],
      ['2001:db8:1:2:3:4:5:6', undefined, '2001:db8:1:2::9'],
      ['2001:db8:ffff::1', '198.51.100.8', '198.51.100.8'],
    ];
    for (const [address, forwarded, same] of rows) {
      const app = await open(limit);
      const first = await statuses(app, 1, { address, forwarded });
      const again = await statuses(app, 1, { address: same });
      const other = await statuses(app, 1, { address: '192.0.2.200' });
      expect([address, forwarded, first, again, other]).toEqual([address, forwarded, [200], [429], [200]]);
      await app.close();
    }
  });

  test('is limited in guessing at credentials', async () => {
    const app = await open({ AUTH_SECRET: SECRET, RATE_LIMIT_ADDRESS: '3/3600' });
    const guess = async () => (await app.fetch('/notes', { headers: bearer('guess') })).status;
    expect([await guess(), await guess(), await guess(), await guess()]).toEqual([401, 401, 401, 429]);
    expect(await statuses(app, 1)).toEqual([429]);
    await app.close();
  });
});

test('a caller is counted by itself, wherever it asks from, and beside its address', async () => {
  const app = await open({
    AUTH_SECRET: SECRET,
    RATE_LIMIT_CALLER: '3/3600',
    RATE_LIMIT_ADDRESS: '100/3600',
  });
  const [ann, bob] = [bearer(await tokenOf('ann')), bearer(await tokenOf('bob'))];
  const ask = (headers: Record<string, string>, address: string) =>
    app.from({ address }).fetch('/notes/1', { headers });
  const first = await ask(ann, '192.0.2.1');
  expect(first.headers.get('RateLimit-Policy')).toBe('"address";q=100;w=3600, "caller";q=3;w=3600');
  expect([left(first.headers), left(first.headers, 'caller')]).toEqual([99, 2]);
  expect((await ask(ann, '192.0.2.2')).status).toBe(200);
  expect((await ask(ann, '192.0.2.3')).status).toBe(200);
  const refused = await ask(ann, '192.0.2.4');
  expect([refused.status, left(refused.headers, 'caller')]).toEqual([429, 0]);
  expect((await ask(bob, '192.0.2.4')).status).toBe(200);
  const anonymous = await ask({}, '192.0.2.4');
  expect(anonymous.headers.get('RateLimit-Policy')).toBe('"address";q=100;w=3600');
  await app.close();
});

test('what is asked for costs what it costs, the same through both doors', async () => {
  const app = await open({ RATE_LIMIT_ADDRESS: '1000/99999' });
  let before = 1000;
  const cost = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    await app.rest(method, path, body, headers);
    const { headers: now } = await app.fetch('/notes/1');
    const spent = before - left(now) - 1;
    before = left(now);
    return spent;
  };
  const graphql = (query: string) => cost('POST', '/graphql', { query });
  const rows: [string, number, number][] = [
    ['one', await cost('GET', '/notes/1'), 1],
    ['one', await graphql('{ note(id: "1") { id } }'), 1],
    ['none', await cost('GET', '/nowhere'), 1],
    ['list of 200', await cost('GET', '/notes'), 3],
    ['list of 200', await graphql('{ notes { id } }'), 3],
    ['with 300 nested', await cost('GET', '/notes?include=tags'), 6],
    ['with 300 nested', await graphql('{ notes { id tags { id } } }'), 6],
    ['a file of 200', await cost('GET', '/notes', undefined, { Accept: 'text/csv' }), 3],
    ['two fields', await graphql('{ a: note(id: "1") { id } b: note(id: "2") { id } }'), 2],
    ['write', await cost('PUT', '/notes/1', { title: 'y' }), 5],
    ['write', await graphql('mutation { updateNote(id: "1", title: "z") { id } }'), 5],
    ['bad write', await cost('POST', '/notes', {}), 5],
    [
      'two writes',
      await cost('POST', '/transaction', {
        operations: [1, 2].map((id) => ({ method: 'PUT', path: `/notes/${id}`, body: { title: 'w' } })),
      }),
      10,
    ],
    [
      'two writes',
      await graphql(
        'mutation { a: updateNote(id: "1", title: "v") { id } b: updateNote(id: "2", title: "v") { id } }',
      ),
      10,
    ],
  ];
  // Parts of a unit add up, so that a row can be one above.
  for (const [what, spent, expected] of rows) {
    expect([what, spent >= expected, spent <= expected + 1, spent]).toEqual([what, true, true, spent]);
  }
  await app.close();
});

test('processes share a limit between them', async () => {
  using folder = new Folder();
  await using server = await Server.start(folder, { WORKERS: '2', RATE_LIMIT_ADDRESS: '20/3600' });
  await server.logged('supervising');
  const found: number[] = [];
  for (let count = 0; count < 60; count++) {
    const answer = await fetch(`${server.url}/books/1`, { headers: { Connection: 'close' } });
    found.push(answer.status);
    expect(answer.headers.get('RateLimit-Policy')).toBe('"address";q=10;w=3600');
  }
  const served = found.filter((status) => status === 200).length;
  expect(served).toBeGreaterThanOrEqual(10);
  expect(served).toBeLessThanOrEqual(20);
});

if (!hasRedis && process.env['CI'] === 'true') throw new Error('redis-server is needed: .ci/run installs it');
if (!hasRedis)
  console.warn('redis-server is not installed: limits that are shared through it are NOT tested');

describe.if(hasRedis)('shared through Redis', () => {
  const env = (redis: Redis, rate: string) => ({ RATE_LIMIT_ADDRESS: rate, REDIS_URL: redis.url });
  /** Addresses that nobody has used. */
  let fresh = 0;
  /** Waits until what one node takes is missing at the other. */
  const joined = async (one: AppUnderTest, other: AppUnderTest) => {
    for (let tries = 0; tries < 500; tries++) {
      const address = `198.18.${fresh >> 8}.${fresh++ & 255}`;
      const [here, there] = [one.from({ address }), other.from({ address })];
      const before = left((await here.fetch('/notes/1')).headers);
      if (left((await there.fetch('/notes/1')).headers) === before - 1) return;
      await Bun.sleep(20);
    }
    throw new Error('the nodes do not share their limits');
  };

  test('several nodes keep to one limit', async () => {
    await using redis = await Redis.start();
    const [one, other] = [await open(env(redis, '100/36000')), await open(env(redis, '100/36000'))];
    await joined(one, other);
    const lost = () =>
      [...one.observations, ...other.observations].filter(({ event }) => event === 'notice').length;
    /** On a busy machine even this Redis may be late now and then, which is another test's business. */
    const undisturbed = async (experiment: (address: string) => Promise<unknown>) => {
      for (let tries = 0; tries < 20; tries++) {
        await joined(one, other);
        const before = lost();
        const result = await experiment(`198.18.${fresh >> 8}.${fresh++ & 255}`);
        if (lost() === before) return result;
      }
      throw new Error('Redis is late again and again');
    };
    const both = async (address: string) => {
      const found: number[] = [];
      for (let round = 0; round < 80; round++)
        for (const app of [one, other]) found.push(...(await statuses(app, 1, { address })));
      return [
        found.filter((status) => status === 200).length,
        found.filter((status) => status === 429).length,
      ];
    };
    expect(await undisturbed(both)).toEqual([100, 60]);
    // Whoever is refused again and again waits no longer for it: one unit comes back in 360 seconds.
    const wait = async (address: string) => {
      await both(address);
      return Number((await one.from({ address }).fetch('/notes/1')).headers.get('Retry-After'));
    };
    expect(await undisturbed(wait)).toBeLessThanOrEqual(360);
    /** What the other sees gone after this was sent to the one, and it has itself asked for one. */
    const spent = (path: string) => async (address: string) => {
      await one.from({ address }).fetch(path);
      await Bun.sleep(100);
      return 100 - left((await other.from({ address }).fetch('/notes/1')).headers);
    };
    // What costs more than was known beforehand is charged everywhere, and so is what comes to nothing.
    expect(await undisturbed(spent('/notes/1'))).toBe(2);
    expect(await undisturbed(spent('/notes?include=tags'))).toBe(7);
    expect(await undisturbed(spent('/nowhere'))).toBe(2);
    // More than there is can be spent before it is known: then it is waited for everywhere.
    const overspent = async (address: string) => {
      for (let count = 0; count < 17; count++) await one.from({ address }).fetch('/notes?include=tags');
      await Bun.sleep(100);
      return statuses(other, 1, { address });
    };
    expect(await undisturbed(overspent)).toEqual([429]);
    // What was refused for the sake of others is not held against anybody when Redis is gone.
    const address = '198.19.0.1';
    await joined(one, other);
    await statuses(other, 100, { address });
    const tried = await statuses(one, 50, { address });
    await redis.stop();
    const then = await statuses(one, 110, { address });
    expect([...tried, ...then].filter((status) => status === 200).length).toBe(100);
    expect(then.at(-1)).toBe(429);
    for (const app of [one, other]) await app.close();
  });

  test('a Redis that is away or hangs harms nobody: requests are served at once, by local limits', async () => {
    await using redis = await Redis.start();
    const [one, other] = [await open(env(redis, '400/36000')), await open(env(redis, '400/36000'))];
    await joined(one, other);
    for (const [round, harm] of (['freeze', 'stop'] as const).entries()) {
      const before = await redis.asked();
      await redis[harm]();
      const address = `192.0.2.${10 + round}`;
      const asked = harm === 'freeze' ? before : 0;
      const served = await within(20_000, statuses(one, 401, { address }));
      expect(served).toEqual([...Array(400).fill(200), 429]);
      expect(await statuses(other, 1, { address })).toEqual([200]);
      const told = one.observations.filter(({ event }) => event === 'notice');
      expect(JSON.stringify(told.at(-1))).toContain('Redis does not answer in time');
      expect(JSON.stringify(told)).not.toContain('hush');
      // Longer than a few attempts to find it again.
      await Bun.sleep(3500);
      if (harm === 'freeze') redis.thaw();
      else await redis.start();
      // Nobody waited for an answer that did not come, but for the first who found out.
      expect((await redis.asked()) - asked).toBeLessThan(20);
      await joined(one, other);
    }
    for (const app of [one, other]) await app.close();
  });

  test('a Redis that was never there is no reason not to start', async () => {
    using folder = new Folder();
    const REDIS_URL = 'redis://:hush@127.0.0.1:1';
    await using server = await Server.start(folder, { RATE_LIMIT_ADDRESS: '3/3600', REDIS_URL });
    const found: number[] = [];
    for (let count = 0; count < 4; count++) found.push((await fetch(`${server.url}/books/1`)).status);
    expect(found).toEqual([200, 200, 200, 429]);
    // The first is of authentication.
    expect((await server.logged('notice', 2)).message).toContain('Redis does not answer (');
    server.signal('SIGTERM');
    expect(await server.exited()).toBe(0);
    expect(JSON.stringify(server.log)).not.toContain('hush');
  });

  test('one that takes nothing is told of once, however often it is tried', async () => {
    await using redis = await Redis.start();
    const app = await open(env(redis, '1000/36000'));
    const client = new RedisClient(redis.url);
    const notices = () => app.observations.filter(({ event }) => event === 'notice').length;
    /** Asks until Redis was asked so many times more. */
    const asked = async (more: number) => {
      const before = await redis.asked();
      for (let tries = 0; tries < 500 && (await redis.asked()) < before + more; tries++) {
        await statuses(app, 1, { address: '192.0.2.77' });
        await Bun.sleep(20);
      }
    };
    await asked(1);
    // What it is asked to keep, it has no room for.
    await client.send('CONFIG', ['SET', 'maxmemory', '1']);
    const before = notices();
    await asked(3);
    expect(notices() - before).toBeLessThanOrEqual(1);
    await client.send('CONFIG', ['SET', 'maxmemory', '0']);
    client.close();
    await app.close();
  });
});
