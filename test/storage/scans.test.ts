/** Reads of a million rows on SQLite that no index bounds: they stop nobody, and end when they must. */

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, spyOn, test } from 'bun:test';
import { type Answer, openApp, within } from '../app.ts';
import { alive, Folder, Server } from '../process.ts';

setDefaultTimeout(120_000);

const ROWS = 1_000_000;
const GROUPS = 1_000;
const SLOTS = 30_000;

const sdl = `
  type Group @resource { id: ID!  label: String!  code: String @unique  items: [Item!]! }
  type Item @resource {
    id: ID!
    name: String!
    n: Int! @index
    price: Float
    good: Boolean!
    extra: JSON
    group: Group
  }
  type Tag @resource { code: ID! @key  label: String! }
  type Slot @resource @unique(fields: ["room", "hour"]) @unique(fields: ["floor", "side", "seat"]) {
    id: ID!
    room: String!
    hour: Int!
    floor: Int!
    side: Int!
    seat: Int!
    mark: String @unique
    note: String
  }`;

const folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{}' });
const file = folder.file('duet.db');

beforeAll(async () => {
  const app = await openApp('sqlite', { sdl, data: {}, url: `sqlite:${file}` });
  await app.close();
  const db = new Database(file);
  db.run('PRAGMA synchronous = OFF');
  db.run('PRAGMA cache_size = -200000');
  const numbers = (count: number) =>
    `WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ${count})`;
  db.run(`${numbers(GROUPS)} INSERT INTO "Group" (id, label, _version) SELECT i, 'group ' || i, 1 FROM s`);
  db.run(`${numbers(ROWS)} INSERT INTO "Item" (id, name, n, price, good, extra, "groupId", _version)
    SELECT i, 'item ' || i, i / 500, CASE WHEN i < 3 THEN 1.7e308 ELSE i / 4.0 END, i % 2, '{"i":[' || i || ']}',
      1 + i / 1001, 1 FROM s`);
  // All of them are in one room, and half of them on each side: only a whole unique key finds one.
  db.run(`${numbers(SLOTS)} INSERT INTO "Slot" (id, room, hour, floor, side, seat, note, _version)
    SELECT i, 'hall', i, 1, i % 2, i, 'slot ' || i, 1 FROM s`);
  db.close();
});

afterAll(() => folder[Symbol.dispose]());

const times = <T>(count: number, each: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => each(index));
const where = (filter: unknown) => `where=${encodeURIComponent(JSON.stringify(filter))}`;

const having = (count: number) =>
  `having=${encodeURIComponent(JSON.stringify({ or: times(count, (eq) => ({ max: { label: { eq: `z${eq}` } } })) }))}`;

/** Visits every row, and finds none. */
const scan = '/items?name[contains]=zzz&limit=10';
/** Visits every item of a group for every item of a group, a million times. */
const endless = `/items?limit=10&${where({ group: { items: { some: { group: { items: { some: { name: { contains: 'zzz' } } } } } } } })}`;

describe('which reads leave the process', () => {
  // What they are taken for counts: on a machine that stands still for a moment, whatever is under way would leave.
  const clock = spyOn(performance, 'now').mockReturnValue(performance.now());
  afterAll(() => clock.mockRestore());
  /** A reader that cannot be: whatever needs one fails, and nothing else. */
  const open = () =>
    openApp('sqlite', {
      sdl,
      data: {},
      url: `sqlite:${file}`,
      env: { LIMIT_URL: '65536' },
      apart: ['false'],
    });

  const here = [
    '/items/7',
    '/items/7?include=group',
    '/items?limit=100',
    '/items?limit=100&id[gt]=500000',
    '/items?limit=100&offset=5000',
    '/items?id[in]=1,2,3',
    '/items?n=77',
    '/items?n=77&limit=5',
    '/items?sort=n&limit=5',
    '/items?n[gte]=5&sort=n&limit=5',
    '/items?groupId=5',
    '/groups?label[contains]=9',
    '/groups?limit=3&include=items',
    '/groups?limit=3&include=items&items[limit]=2',
    '/groups?limit=3&include=items&items[limit]=2&items[sort]=name',
    '/groups?limit=3&include=items&items[limit]=2&items[offset]=900',
    '/groups?limit=3&include=items&items[sort]=-group.label',
    '/groups?limit=3&include=items&items[limit]=2&items[sort]=group.label',
    '/groups?sort=label&limit=5&count=true',
    '/groups?aggregate=count',
    '/groups?groupBy=label&aggregate=count&having[max(id)][gt]=7&sort=-max(id)&limit=5',
    `/groups?groupBy=id&${having(50)}`,
    `/groups?${where({ or: times(50, (index) => ({ label: { contains: `z${index}` } })) })}`,
    '/tags?label[contains]=x',
    '/tags/x',
    '/slots?room=hall&hour=77',
    '/slots?room=hall&hour=77&note[contains]=zzz',
    '/slots?floor=1&side=1&seat=77',
    '/slots?mark=x&note[contains]=zzz',
    // Which group it is, is looked up once.
    `/items?limit=5&${where({ group: { code: { eq: 'x' } } })}`,
    `/groups?${where({ code: { eq: 'x' }, items: { some: { n: { eq: 5 } } } })}`,
  ];
  const elsewhere = [
    scan,
    '/items?name=x',
    '/items?name[startsWith]=x&limit=1',
    '/items?n[gte]=5&limit=5',
    '/items?n=77&name[contains]=zzz',
    '/items?n[ne]=77&sort=n&limit=5',
    '/items?sort=name&limit=5',
    '/items?sort=-n&limit=5',
    '/items?sort=group.label&limit=5',
    '/items?sort=-group.label,id&limit=1',
    '/groups?include=items&items[sort]=group.label&items[limit]=1&fields=id',
    '/items?limit=5&count=true',
    '/items?limit=5&offset=900000',
    '/groups?fields=id&include=items&items[limit]=1&items[offset]=900',
    '/items?aggregate=count',
    '/items?aggregate=max(n)',
    '/items?groupBy=good&aggregate=count',
    '/items?groupBy=groupId&sort=-count&limit=1',
    '/items?groupBy=groupId&limit=1&include=group',
    `/groups?groupBy=id&${having(150)}`,
    '/groups?include=items&items[sort]=name&fields=id',
    `/groups?${where({ or: times(150, (index) => ({ label: { contains: `z${index}` } })) })}`,
    `/items?limit=5&${where({ or: [{ n: { eq: 5 } }, { name: { eq: 'x' } }] })}`,
    `/items?limit=5&${where({ not: { n: { eq: 5 } } })}`,
    `/items?limit=5&${where({ group: { label: { eq: 'x' } } })}`,
    `/items?limit=5&sort=n&${where({ group: { code: { eq: 'x' } } })}`,
    `/items?limit=5&${where({ group: { code: { eq: 'x' } }, name: { contains: 'zzz' } })}`,
    `/groups?limit=5&${where({ items: { some: { name: { eq: 'x' } } } })}`,
    '/slots?room=hall',
    '/slots?room=hall&note[contains]=zzz',
    // However unique a value is, any number of records may have none.
    '/slots?mark[isNull]=true&note[contains]=zzz&limit=1',
    '/slots?room=hall&note[contains]=zzz&limit=1',
    '/slots?room=hall&note[contains]=zzz&aggregate=count',
    '/slots?floor=1&side=1&note[contains]=zzz&limit=1',
    '/slots?floor=1&note[contains]=zzz&limit=1',
    `/slots?limit=1&${where({ room: { eq: 'hall' }, hour: { gt: 5 }, note: { contains: 'zzz' } })}`,
  ];

  test.each(here)('%s stays', async (path) => {
    const app = await open();
    expect((await app.rest('GET', path)).status).toBeOneOf([200, 404]);
    await app.close();
  });

  test.each(elsewhere)('%s goes', async (path) => {
    const app = await open();
    const { status, body } = await app.rest('GET', path);
    expect([status, body.code]).toEqual([503, 'UNAVAILABLE']);
    await app.close();
  });

  test('in GraphQL too, all of a query together', async () => {
    const app = await open();
    expect((await app.graphql('{ item(id: 7) { name } items(first: 3) { id } }')).errors).toBeUndefined();
    const { errors } = await app.graphql(
      '{ item(id: 7) { name } items(first: 3, where: { name: { contains: "zzz" } }) { id } }',
    );
    expect(errors?.[0].extensions.code).toBe('UNAVAILABLE');
    // Each of them is quick; all of them together are not.
    const scans = (count: number) =>
      times(count, (index) => `a${index}: groups(where: { label: { contains: "z" } }) { id }`);
    expect((await app.graphql(`{ ${scans(10).join(' ')} }`)).errors).toBeUndefined();
    const many = await app.graphql(`{ ${scans(30).join(' ')} }`);
    expect(many.errors?.[0].extensions.code).toBe('UNAVAILABLE');
    await app.close();
  });

  test.each([
    [
      'groups(first: 3) { itemsConnection(first: 2) { totalCount edges { cursor } pageInfo { hasNextPage } } }',
      true,
    ],
    ['groups(first: 3) { itemsAggregate(groupBy: [good]) { count sum { n } } }', true],
    ['groups { itemsConnection(first: 1) { totalCount } }', false],
    ['groups { itemsAggregate { count } }', false],
  ])('{ %s } stays: %p', async (field, stays) => {
    const app = await open();
    const { errors } = await app.graphql(`{ ${field} }`);
    expect(errors?.[0].extensions.code).toBe(stays ? undefined : 'UNAVAILABLE');
    await app.close();
  });

  test('writes on many look for their records there, and only there', async () => {
    const app = await open();
    const update = (filter: string) =>
      app.graphql(`mutation { updateItems(where: ${filter}, atMost: 5, set: { good: true }) { id } }`);
    expect((await update('{ id: { in: ["7", "8"] } }')).data.updateItems).toEqual([{ id: '7' }, { id: '8' }]);
    const { errors } = await update('{ name: { contains: "123456" } }');
    expect(errors?.[0].extensions.code).toBe('UNAVAILABLE');
    await app.close();
  });

  test('exports too', async () => {
    const app = await open();
    const taken = (path: string) => app.rest('GET', path, undefined, { Accept: 'text/csv' });
    expect((await taken('/groups?label[contains]=9')).status).toBe(200);
    expect((await taken('/items?limit=2000')).status).toBe(200);
    expect((await taken('/items?name[contains]=zzz')).status).toBe(503);
    await app.close();
  });
});

test('what another process has read is what this one would have read', async () => {
  const app = await openApp('sqlite', { sdl, data: {}, url: `sqlite:${file}` });
  const { body } = await app.rest('GET', '/items?name[contains]=99999&limit=2&include=group');
  expect(body).toEqual([
    {
      id: 99999,
      name: 'item 99999',
      n: 199,
      price: 24999.75,
      good: true,
      extra: { i: [99999] },
      groupId: 100,
      group: { id: 100, label: 'group 100', code: null },
    },
    {
      id: 199999,
      name: 'item 199999',
      n: 399,
      price: 49999.75,
      good: true,
      extra: { i: [199999] },
      groupId: 200,
      group: { id: 200, label: 'group 200', code: null },
    },
  ]);
  const { data } = await app.graphql(
    '{ itemsConnection(first: 1, where: { name: { contains: "77777" } }) { totalCount edges { node { id } } } }',
  );
  expect(data.itemsConnection).toEqual({ totalCount: 19, edges: [{ node: { id: '77777' } }] });
  // The sum of the first two is infinite, which JSON cannot say.
  const sum = await app.rest('GET', '/items?aggregate=sum(price)&name[startsWith]=item');
  expect(sum.body.code).toBe('VALIDATION_FAILED');
  const csv = await app.rest('GET', '/items?name[contains]=99999&fields=id', undefined, {
    Accept: 'text/csv',
  });
  expect(csv.body.trim().split('\r\n')).toHaveLength(20);
  expect((await app.rest('GET', '/items?name[contains]=9')).body.code).toBe('TOO_MANY_OBJECTS');
  expect((await app.rest('GET', scan)).body).toEqual([]);
  await app.close();
});

test('what it has read of many comes whole and in its order, however many parts it is sent in', async () => {
  const app = await openApp('sqlite', { sdl, data: {}, url: `sqlite:${file}` });
  for (const limit of [1999, 2000, 4001]) {
    const { body } = await app.rest('GET', `/slots?sort=-note&fields=id&limit=${limit}`);
    const expected = times(SLOTS, (index) => index + 1).toSorted((one, other) =>
      `slot ${one}` < `slot ${other}` ? 1 : -1,
    );
    expect(body.map(({ id }: { id: number }) => id)).toEqual(expected.slice(0, limit));
  }
  await app.close();
});

test('one answer shows one moment there too, while others write', async () => {
  const app = await openApp('sqlite', { sdl, data: {}, url: `sqlite:${file}` });
  const query = `{
    before: item(id: 1) { n }
    none: items(where: { name: { contains: "zzz" } }) { id }
    after: item(id: 1) { n }
  }`;
  for (let round = 0; round < 3; round++) {
    const read = { done: false };
    const asked = app.graphql(query).finally(() => {
      read.done = true;
    });
    let written = 0;
    while (!read.done) expect((await app.rest('PUT', '/items/1', { n: 1_000 + ++written })).status).toBe(200);
    const { data } = await asked;
    expect(written).toBeGreaterThan(1);
    expect(data.before).toEqual(data.after);
  }
  await app.close();
});

test('writes on many touch what was found elsewhere', async () => {
  const app = await openApp('sqlite', { sdl, data: {}, url: `sqlite:${file}` });
  const update = (most: number) =>
    app.graphql(
      `mutation { updateItems(where: { name: { contains: "23456" } }, atMost: ${most}, set: { price: 1 }) { id } }`,
    );
  const all = (await app.rest('GET', '/items?name[contains]=23456&fields=id')).body.map(({ id }: any) => id);
  expect(all).toHaveLength(20);
  expect((await update(all.length - 1)).errors?.[0].extensions.code).toBe('TOO_MANY_MATCHES');
  expect((await update(all.length)).data.updateItems.map(({ id }: any) => Number(id))).toEqual(all);
  expect((await app.rest('GET', '/items/23456')).body.price).toBe(1);
  await app.close();
});

describe('a server', () => {
  const start = (env: Record<string, string> = {}) => Server.start(folder, env);

  async function get(server: { url: string }, path: string): Promise<Pick<Answer, 'status' | 'body'>> {
    const response = await fetch(server.url + path);
    return { status: response.status, body: await response.json() };
  }

  /** The processes that read for a server. */
  function readers(pid: number): number[] {
    const { stdout } = Bun.spawnSync(['ps', '-A', '-o', 'pid=,ppid=,args=']);
    const lines = stdout
      .toString()
      .split('\n')
      .map((line) => line.trim().split(/\s+/));
    return lines.flatMap(([own, parent, ...args]) =>
      Number(parent) === pid && args.includes('reader') ? [Number(own)] : [],
    );
  }

  async function until(what: string, holds: () => boolean): Promise<void> {
    for (let tries = 0; tries < 1000; tries++) {
      if (holds()) return;
      await Bun.sleep(10);
    }
    throw new Error(`not within ten seconds: ${what}`);
  }

  test('answers others while it scans', async () => {
    await using server = await start();
    await get(server, scan);
    let scanning = true;
    const scans = Promise.all(Array.from({ length: 8 }, () => get(server, scan))).then((answers) => {
      scanning = false;
      return answers;
    });
    let served = 0;
    while (scanning) {
      const [one, health] = await Promise.all([get(server, `/items/${1 + served}`), get(server, '/healthz')]);
      expect([one.status, one.body.id, health.status]).toEqual([200, 1 + served, 200]);
      served++;
    }
    // One that stood still would have answered between one scan and the next.
    expect(served).toBeGreaterThan(2 * 8);
    for (const { status, body } of await scans) expect([status, body]).toEqual([200, []]);
    expect(readers(server.pid).length).toBeLessThanOrEqual(2);
  });

  test('ends a scan at its deadline, and goes on', async () => {
    await using server = await start({ LIMIT_DEADLINE: '6000' });
    expect((await get(server, scan)).status).toBe(200);
    const [first = 0] = readers(server.pid);
    expect(first).toBeGreaterThan(0);
    const { status, body } = await within(20_000, get(server, endless));
    expect([status, body.code]).toEqual([503, 'DEADLINE_EXCEEDED']);
    await until('the reader is gone', () => !alive(first));
    expect((await get(server, '/items/1')).status).toBe(200);
    expect((await get(server, '/items?name[contains]=77777&limit=1')).status).toBe(200);
    const [second = 0] = readers(server.pid);
    expect(second).not.toBe(first);
  });

  test('lets only so many wait, each until its deadline', async () => {
    await using server = await start({ LIMIT_DEADLINE: '4000' });
    const answers = await within(30_000, Promise.all(Array.from({ length: 76 }, () => get(server, endless))));
    const codes = Map.groupBy(answers, ({ body }) => body.code);
    expect(codes.get('UNAVAILABLE')).toHaveLength(10);
    expect(codes.get('DEADLINE_EXCEEDED')).toHaveLength(66);
    expect(readers(server.pid).length).toBeLessThanOrEqual(2);
    expect((await get(server, '/items/1')).status).toBe(200);
  });

  test('is outlived by no reader, however it ends', async () => {
    const ends = [
      ['SIGKILL', 0],
      ['SIGKILL', 1000],
      ['SIGTERM', 0],
    ] as const;
    for (const [signal, after] of ends) {
      await using server = await start({ LIMIT_DEADLINE: '5000' });
      const asked = get(server, endless).catch(() => undefined);
      await until('a reader is started', () => readers(server.pid).length > 0);
      const [pid = 0] = readers(server.pid);
      await Bun.sleep(after);
      server.signal(signal);
      await within(20_000, server.exited());
      await until('the reader is gone', () => !alive(pid));
      await asked;
    }
  });
});
