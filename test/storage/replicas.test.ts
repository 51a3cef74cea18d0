/** Replicas answer reads, and nobody is shown less than they have seen; servers go, come back and change their roles. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { SQL } from 'bun';
import { type AppUnderTest, openApp, within } from '../app.ts';
import { headersOf, SECRET } from '../conformance/access-matrix.ts';
import { freePort, Postgres } from '../postgres.ts';
import { command, Folder } from '../process.ts';
import { Description } from '../rest/described.ts';

setDefaultTimeout(60_000);

const sdl = `type Note @resource { id: ID!  title: String! @unique  pages: Int  parts: [Part!]! }
  type Text @resource @search(fields: ["words"]) { id: ID!  words: String! }
  type Part @resource { id: ID!  name: String!  note: Note! }`;

const position = expect.stringMatching(/^[0-9A-F]{16}$/);

async function administer(url: string, ...statements: string[]): Promise<any[]> {
  const sql = new SQL(url, { max: 1 });
  try {
    let rows: any[] = [];
    for (const each of statements) rows = await sql.unsafe(each).simple();
    return rows;
  } finally {
    await sql.close();
  }
}

const nameOf = (url: string) => new URL(url).pathname.slice(1);
const at = (server: Postgres) => `127.0.0.1:${server.port}`;

/** Waits for what must come to be, but not for ever. */
async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if (await isSo()) return;
    await Bun.sleep(20);
  }
  throw new Error('it never came to be');
}

/** The samples of a metric, by server. */
async function told(app: AppUnderTest, metric: string): Promise<Record<string, number>> {
  const { body } = await app.rest('GET', '/metrics');
  const lines = body.matchAll(new RegExp(`^${metric}\\{server="([^"]*)"\\} (\\d+)$`, 'gm'));
  return Object.fromEntries([...lines].map(([, server, value]) => [server, Number(value)]));
}

/** Which servers have answered the reads of some work. */
async function answering(app: AppUnderTest, work: () => Promise<unknown>): Promise<string[]> {
  const before = await told(app, 'duet_database_reads_total');
  await work();
  const after = await told(app, 'duet_database_reads_total');
  return Object.keys(after).filter((server) => (after[server] ?? 0) > (before[server] ?? 0));
}

const used = async (app: AppUnderTest, server: Postgres) =>
  (await told(app, 'duet_replica_used'))[at(server)] === 1;

const notices = ({ observations }: AppUnderTest) =>
  observations.flatMap((each) => (each.event === 'notice' ? [each.message] : []));

const seen = (given: string | null) => ({ 'Duet-Position': given ?? 'none' });

let primary: Postgres;
let standby: Postgres;

beforeAll(async () => {
  primary = await Postgres.start();
  standby = await primary.standby({ follows: true });
});

afterAll(async () => {
  await standby.end();
  await primary.end();
});

/** A new database, which the standby has too. */
async function both(): Promise<string> {
  const url = await primary.database();
  const look = `SELECT 1 FROM pg_database WHERE datname = '${nameOf(url)}'`;
  await until(async () => (await administer(standby.url(), look)).length > 0);
  return url;
}

const pause = () => administer(standby.url(), 'SELECT pg_wal_replay_pause()');
const resume = () => administer(standby.url(), 'SELECT pg_wal_replay_resume()');

async function replayed(app: AppUnderTest, headers: Record<string, string>): Promise<void> {
  await until(async () =>
    (await answering(app, () => app.rest('GET', '/notes?limit=1', undefined, headers))).includes(at(standby)),
  );
}

/** Every way to read, with what each must show. */
const reads = (id: number, title: string) =>
  [
    ['by key', (app: AppUnderTest, headers) => app.rest('GET', `/notes/${id}`, undefined, headers)],
    ['a list', (app, headers) => app.rest('GET', `/notes?title=${title}`, undefined, headers)],
    ['a tree', (app, headers) => app.rest('GET', `/notes/${id}?include=parts`, undefined, headers)],
    [
      'numbers',
      (app, headers) => app.rest('GET', `/notes?title=${title}&aggregate=count`, undefined, headers),
    ],
    ['GraphQL by key', (app, headers) => app.graphql(`{ note(id: ${id}) { title } }`, {}, headers)],
    [
      'GraphQL, several fields',
      (app, headers) =>
        app.graphql(
          `{ notes(where: { title: { eq: "${title}" } }) { title parts { name } } parts { id } }`,
          {},
          headers,
        ),
    ],
  ] satisfies [string, (app: AppUnderTest, headers: Record<string, string>) => Promise<{ body: any }>][];

describe('reads and writes', () => {
  let url: string;
  let app: AppUnderTest;
  let other: AppUnderTest;

  const open = (env: Record<string, string> = {}) =>
    openApp('postgres', { sdl, url, env: { DATABASE_READ_URL: standby.url(nameOf(url)), ...env } });

  beforeAll(async () => {
    url = await both();
    [app, other] = [await open(), await open()];
    await until(async () => (await used(app, standby)) && (await used(other, standby)));
  });

  afterAll(async () => {
    await resume();
    await app.close();
    await other.close();
  });

  test('every answer of a write has a position, which later ones exceed, refusals too', async () => {
    const answers = [
      await app.rest('POST', '/notes', { title: 'first' }),
      await app.rest('PUT', '/notes/1', { pages: 2 }),
      await app.rest('POST', '/transaction', {
        operations: [{ method: 'POST', path: '/notes', body: { title: 'second' } }],
      }),
      await app.graphql('mutation { createNote(title: "third") { id } }'),
      await app.graphql('mutation { a: createNote(title: "fourth") { id } b: deleteNote(id: 1) { id } }'),
      await app.rest('POST', '/notes', { title: 'keyed' }, { 'Idempotency-Key': 'k' }),
      await app.rest('POST', '/notes', { title: 'keyed' }, { 'Idempotency-Key': 'k' }),
      await app.rest('POST', '/notes', { title: 'keyed' }),
      await app.rest('PUT', '/notes/1', { pages: 2 }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 200, 200, 200, 201, 201, 409, 404]);
    const positions = answers.map(({ headers }) => headers.get('Duet-Position'));
    expect(positions).toEqual(answers.map(() => position));
    expect(positions).toEqual(positions.toSorted());
    expect(new Set(positions.slice(0, 6)).size).toBe(6);
  });

  test.each([
    ['one statement', () => app.rest('POST', '/notes', { title: crypto.randomUUID() })],
    ['an update that is one', () => app.rest('PUT', '/notes/2', { pages: 4 })],
    // Splitting them takes turns before there is a statement.
    ['one with many words', () => app.rest('POST', '/texts', { words: 'many words '.repeat(4000) })],
    [
      'several',
      () =>
        app.graphql(
          `mutation @atomic { a: updateNote(id: 2, pages: 1) { id } b: createPart(name: "x", noteId: 2) { id } }`,
        ),
    ],
    [
      'one with a key',
      () => app.rest('PUT', '/notes/2', { pages: 3 }, { 'Idempotency-Key': crypto.randomUUID() }),
    ],
  ])('the position of %s is behind the commit', async (_, write) => {
    // The server may write something of its own in between, but not every time.
    await until(async () => {
      const { headers, status } = await write();
      expect(status).toBeLessThan(300);
      const [{ end }] = await administer(url, 'SELECT pg_current_wal_flush_lsn()::text AS "end"');
      const padded = end.split('/').map((half: string) => half.padStart(8, '0'));
      return headers.get('Duet-Position') === padded.join('');
    });
  });

  test('what a function fails at is no fault of the replica', async () => {
    let calls = 0;
    const acting = await openApp('postgres', {
      sdl: `${sdl} type Query { fails(how: String!): Int @action }
        type Odd @resource { id: ID!  n: Int!  half: Int @computed(from: ["n"]) }`,
      logic: {
        Query: {
          *fails({ tx, refuse }: any, { how }: any): any {
            yield* tx.notes.list({ first: 1 });
            calls++;
            throw how === 'refuse' ? refuse('Not now.') : new TypeError('a mistake of mine');
          },
        },
        Odd: {
          half: () => {
            calls++;
            throw new TypeError('a mistake of mine');
          },
        },
      },
      url,
      env: { DATABASE_READ_URL: standby.url(nameOf(url)) },
    });
    await until(() => used(acting, standby));
    await acting.rest('POST', '/odds?fields=id', { n: 1 });
    const { headers } = await acting.rest('POST', '/notes', { title: 'asked' });
    const asking = seen(headers.get('Duet-Position'));
    await replayed(acting, asking);
    const ways = [
      () => acting.rest('GET', '/actions/fails?how=x', undefined, asking),
      () => acting.rest('GET', '/actions/fails?how=refuse', undefined, asking),
      () => acting.graphql('{ fails(how: "x") notes { id } }', {}, asking),
    ];
    for (const ask of ways) {
      calls = 0;
      expect([await answering(acting, ask), calls]).toEqual([[at(standby)], 1]);
    }
    calls = 0;
    expect(await answering(acting, () => acting.rest('GET', '/odds/1', undefined, asking))).toEqual([]);
    expect([calls, await used(acting, standby)]).toEqual([1, true]);
    await acting.close();
  });

  test('what was written is read by its position, through any node, whatever the replica has replayed', async () => {
    await pause();
    const created = await app.rest('POST', '/notes', { title: 'fresh' });
    const headers = seen(created.headers.get('Duet-Position'));
    const { id } = created.body;
    await app.rest('POST', '/parts', { name: 'one', noteId: id });
    for (const node of [app, other])
      for (const [name, read] of reads(id, 'fresh')) {
        let text = '';
        const servers = await answering(node, async () => {
          text = JSON.stringify((await read(node, headers)).body);
        });
        expect([name, servers, text]).toEqual([
          name,
          ['primary'],
          expect.stringMatching(name === 'numbers' ? '"count":1' : 'fresh'),
        ]);
      }
    expect((await told(app, 'duet_replica_behind_total'))[at(standby)]).toBeGreaterThan(0);
    await resume();
    for (const node of [app, other]) {
      await replayed(node, headers);
      for (const [name, read] of reads(id, 'fresh')) {
        let text = '';
        const servers = await answering(node, async () => {
          text = JSON.stringify((await read(node, headers)).body);
        });
        expect([name, servers, text]).toEqual([
          name,
          [at(standby)],
          expect.stringMatching(name === 'numbers' ? '"count":1' : 'fresh'),
        ]);
      }
    }
  });

  test('what a write was refused for is shown by the position of the refusal', async () => {
    await pause();
    const before = (await app.rest('GET', '/notes?title=taken')).headers.get('Duet-Position');
    expect(before).toBeNull();
    await other.rest('POST', '/notes', { title: 'taken' });
    const refused = await app.rest('POST', '/notes', { title: 'taken' });
    const byGraphql = await app.graphql('mutation { createNote(title: "taken") { id } }');
    expect([refused.status, byGraphql.errors?.length]).toEqual([409, 1]);
    for (const { headers } of [refused, byGraphql]) {
      const read = await app.rest('GET', '/notes?title=taken', undefined, seen(headers.get('Duet-Position')));
      expect(read.body.length).toBe(1);
    }
    await resume();
  });

  test('a read without a position goes to the primary', async () => {
    for (const [name, read] of reads(1, 'x'))
      expect([name, await answering(app, () => read(app, {}))]).toEqual([name, ['primary']]);
  });

  test.each(['', '0', '16/B374D848', '0000000000000000G', 'ffffffffffffffff', '-1'])(
    'the position "%s" is refused, and the answer says what to do',
    async (given) => {
      const headers = { 'Duet-Position': given };
      const detail =
        'Duet-Position must be sent as the answer to a write had it, 16 hexadecimal digits; leave it out to read from the primary';
      const fault = { parameter: 'Duet-Position', code: 'FORMAT', detail };
      const rest = await app.rest('GET', '/notes', undefined, headers);
      expect([rest.status, rest.body.code, rest.body.errors]).toEqual([400, 'VALIDATION_FAILED', [fault]]);
      const graphql = await app.graphql('{ notes { id } }', {}, headers);
      expect([graphql.status, graphql.errors?.[0].extensions]).toEqual([
        400,
        expect.objectContaining({ code: 'VALIDATION_FAILED', errors: [fault] }),
      ]);
      expect((await app.rest('POST', '/notes', { title: 'unread' }, headers)).status).toBe(400);
    },
  );

  test('the API description tells of it, where there are replicas', async () => {
    const description = await Description.of(app);
    const takes = description.operations.filter(({ parameters }) =>
      parameters.some(({ name }: any) => name === 'Duet-Position'),
    );
    expect(takes.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
      'GET /graphql',
      'GET /notes',
      'GET /notes/{id}',
      'GET /parts',
      'GET /parts/{id}',
      'GET /texts',
      'GET /texts/{id}',
      'POST /graphql',
    ]);
    const of = (method: string, path: string) => description.operation(method, path);
    const created = await description.send(of('POST', '/notes'), { body: { title: 'described' } });
    const headers = seen(created.headers.get('Duet-Position'));
    await description.send(of('PUT', '/notes/{id}'), { key: String(created.body.id), body: { pages: 1 } });
    await description.send(of('GET', '/notes'), { headers });
    await description.send(of('GET', '/notes'), { headers: seen(null) });
    await description.send(of('DELETE', '/notes/{id}'), { key: String(created.body.id) });
    await description.send(of('GET', '/readyz'), {});
    const plain = await openApp('sqlite', { sdl });
    expect(JSON.stringify((await Description.of(plain)).document)).not.toContain('Duet-Position');
    await plain.close();
  });

  test('pages of other origins may send and read it', async () => {
    await using page = await open({ CORS_ORIGINS: '*' }).then((opened) => ({
      ...opened,
      [Symbol.asyncDispose]: opened.close,
    }));
    const origin = { Origin: 'https://app.example.com' };
    const created = await page.rest('POST', '/notes', { title: 'by a page' }, origin);
    expect(created.headers.get('Duet-Position')).toEqual(position);
    expect(created.headers.get('Access-Control-Expose-Headers')).toContain('Duet-Position');
    const asking = { ...origin, 'Access-Control-Request-Method': 'GET' };
    const preflight = await page.rest('OPTIONS', '/notes', undefined, asking);
    expect(preflight.headers.get('Access-Control-Allow-Headers')).toContain('Duet-Position');
  });

  test('as behind a pooler, where nothing is known of a session', async () => {
    const pooled = await open({ DATABASE_POOLER: 'transaction' });
    await until(() => used(pooled, standby));
    for (const isBehind of [true, false]) {
      if (isBehind) await pause();
      const created = await pooled.rest('POST', '/notes', { title: `pooled ${isBehind}` });
      const refused = await pooled.rest('POST', '/notes', { title: `pooled ${isBehind}` });
      expect([created.status, refused.status]).toEqual([201, 409]);
      const headers = seen(created.headers.get('Duet-Position'));
      if (isBehind) expect(refused.headers.get('Duet-Position')).toEqual(position);
      else await replayed(pooled, headers);
      for (const [name, read] of reads(created.body.id, created.body.title)) {
        let text = '';
        const servers = await answering(pooled, async () => {
          text = JSON.stringify((await read(pooled, headers)).body);
        });
        expect([name, servers, text]).toEqual([
          name,
          [isBehind ? 'primary' : at(standby)],
          expect.stringMatching(name === 'numbers' ? '"count":1' : created.body.title),
        ]);
      }
      await resume();
    }
    await pooled.close();
  });

  test('with DATABASE_READ_STALE, a read without a position may be behind, but not for longer', async () => {
    const stale = await open({ DATABASE_READ_STALE: '2s' });
    await until(() => used(stale, standby));
    const read = () => stale.rest('GET', '/notes?title=later');
    await until(async () => (await answering(stale, read)).includes(at(standby)));
    await pause();
    await app.rest('POST', '/notes', { title: 'later' });
    // Whoever is shown nothing yet is answered by the replica; then it is too far behind.
    await until(async () => {
      const servers = await answering(stale, read);
      return servers.join() === 'primary';
    });
    expect((await read()).body.length).toBe(1);
    await resume();
    await until(async () => (await answering(stale, read)).includes(at(standby)));
    expect((await read()).body.length).toBe(1);
    await stale.close();
  });
});

/** Older than everything that was ever written. */
const oldest = seen('0'.repeat(16));

test('an old position keeps no right that was withdrawn: a replica that is too far behind is not asked', async () => {
  const url = await both();
  const guarded = await openApp('postgres', {
    sdl: `type Room @resource @allow(to: [CREATE, READ], role: "admin")
        @allow(to: [READ], where: { seats: { some: { who: { eq: { claim: "sub" } } } } })
        { id: ID!  name: String!  seats: [Seat!]! }
      type Seat @resource @allow(to: [CREATE, READ, DELETE], role: "admin") { id: ID!  room: Room!  who: String! }`,
    url,
    env: { AUTH_SECRET: SECRET, DATABASE_READ_STALE: '5s', DATABASE_READ_URL: standby.url(nameOf(url)) },
  });
  const free = { ...guarded, ...guarded.unguarded() };
  const bob = { ...(await headersOf({ name: 'bob of a room', claims: { sub: 'bob' } })), ...oldest };
  const rooms = async () => (await guarded.rest('GET', '/rooms?fields=name', undefined, bob)).body;
  await free.rest('POST', '/rooms', { name: 'blue', seats: [{ who: 'bob' }] });
  await until(() => used(free, standby));
  await until(async () => (await answering(free, rooms)).includes(at(standby)) && (await rooms()).length > 0);
  await pause();
  try {
    expect((await free.rest('DELETE', '/seats/1')).status).toBe(204);
    expect(await rooms()).toEqual([{ name: 'blue' }]);
    await until(async () => (await rooms()).length === 0);
  } finally {
    await resume();
    await guarded.close();
  }
});

test('without DATABASE_READ_URL no answer has a position, nothing is asked for one, and none is looked at', async () => {
  const app = await openApp('postgres', { sdl, url: await primary.database() });
  const created = await app.rest('POST', '/notes', { title: 'x' }, { 'Duet-Position': 'nonsense' });
  expect([created.status, created.headers.get('Duet-Position')]).toEqual([201, null]);
  expect((await app.rest('GET', '/notes', undefined, { 'Duet-Position': 'nonsense' })).status).toBe(200);
  expect(await told(app, 'duet_database_reads_total')).toEqual({});
  expect((await app.rest('GET', '/readyz')).body).toEqual({ status: 'ready' });
  await app.close();
});

test('a replica that is gone is done without, and used again when it is back', async () => {
  const url = await both();
  const app = await openApp('postgres', { sdl, url, env: { DATABASE_READ_URL: standby.url(nameOf(url)) } });
  await until(() => used(app, standby));
  expect((await app.rest('GET', '/readyz')).body).toEqual({
    status: 'ready',
    replicas: '1 of 1 can be used; what they cannot show is read from the primary',
  });
  const created = await app.rest('POST', '/notes', { title: 'kept' });
  const headers = seen(created.headers.get('Duet-Position'));
  const read = () => within(10_000, app.rest('GET', '/notes/1', undefined, headers));
  await replayed(app, headers);
  await standby.stop('immediate');
  for (let times = 0; times < 5; times++)
    expect((await Promise.all([read(), read()])).map(({ body }) => body.title)).toEqual(['kept', 'kept']);
  expect((await app.rest('GET', '/readyz')).body).toEqual({
    status: 'ready',
    replicas: '0 of 1 can be used; all reads go to the primary',
  });
  await standby.run();
  await until(() => used(app, standby));
  await replayed(app, headers);
  expect(notices(app)).toEqual([
    `the replica at ${at(standby)} is used for reads`,
    `the replica at ${at(standby)} cannot be used (Failed to connect): its reads go to the primary, and it is tried again every second`,
    `the replica at ${at(standby)} is used for reads again`,
  ]);

  // One that hangs keeps nobody waiting for longer than a statement may take.
  await standby.hang();
  try {
    expect((await Promise.all([read(), read(), read()])).map(({ body }) => body.title)).toEqual(
      Array(3).fill('kept'),
    );
  } finally {
    await standby.resume();
  }
  await until(() => used(app, standby));
  await app.close();
});

test('a replica that is not there at the start keeps nobody from starting', async () => {
  const url = await primary.database();
  const nobody = `postgres://duet@127.0.0.1:${freePort()}/${nameOf(url)}`;
  const app = await openApp('postgres', { sdl, url, env: { DATABASE_READ_URL: nobody } });
  await until(() => notices(app).length > 0);
  expect(notices(app)[0]).toStartWith(`the replica at ${new URL(nobody).host} cannot be used (`);
  expect((await app.rest('POST', '/notes', { title: 'x' })).status).toBe(201);
  await app.close();
});

test('of several hosts the primary is written to, and those that follow it are read from', async () => {
  const url = await both();
  const all = `postgres://duet@127.0.0.1:${freePort()},${at(standby)},${at(primary)}/${nameOf(url)}`;
  const app = await openApp('postgres', { sdl, url: all, env: { DATABASE_READ_URL: all } });
  const created = await app.rest('POST', '/notes', { title: 'x' });
  expect(created.status).toBe(201);
  await until(() => used(app, standby));
  await replayed(app, seen(created.headers.get('Duet-Position')));
  expect(notices(app).find((each) => each.includes(at(primary)))).toContain(
    'is not used as a replica: it is no standby',
  );
  await app.close();

  // The words of libpq choose among them.
  using folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{}' });
  const start = (attribute: string) =>
    command(folder, ['diff'], {
      DATABASE_URL: `${all}?target_session_attrs=${attribute}`,
      DATABASE_WAIT: '0',
    });
  for (const attribute of ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'])
    expect([attribute, (await start(attribute)).exit]).toEqual([attribute, 0]);
  expect(await start('leader')).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining('target_session_attrs'),
  });
  const alone = `${standby.url(nameOf(url))}?target_session_attrs=read-write`;
  const { exit, stderr } = await command(folder, ['serve'], { DATABASE_URL: alone, DATABASE_WAIT: '0' });
  expect([exit, stderr]).toEqual([
    2,
    expect.stringContaining(`${at(standby)}/${nameOf(url)} cannot be used: it is a standby`),
  ]);
});

test('while the primary is away, replicas answer for as long as they may be behind, and no longer', async () => {
  const url = await both();
  const env = { DATABASE_READ_URL: standby.url(nameOf(url)), DATABASE_READ_STALE: '4s' };
  const app = await openApp('postgres', { sdl, url, env });
  const created = await app.rest('POST', '/notes', { title: 'kept' });
  const headers = seen(created.headers.get('Duet-Position'));
  const read = (given = headers) => app.rest('GET', '/notes/1', undefined, given);
  await until(() => used(app, standby));
  await replayed(app, headers);
  await primary.stop('immediate');
  try {
    expect((await read()).status).toBe(200);
    await until(async () => (await read()).status === 503);
    expect((await read(oldest)).status).toBe(503);
  } finally {
    await primary.run();
  }
  await until(async () => (await read()).status === 200);
  await app.close();
});

test('a standby is promoted under load: nothing acknowledged is lost, and nobody misses their own writes', async () => {
  const first = await Postgres.start();
  const name = nameOf(await first.database());
  const next = await first.standby({ follows: true });
  // What is acknowledged is there, but it shows only a while later.
  const delay = ["ALTER SYSTEM SET recovery_min_apply_delay = '100ms'", 'SELECT pg_reload_conf()'];
  const wait = ["ALTER SYSTEM SET synchronous_standby_names = '*'", 'SELECT pg_reload_conf()'];
  const url = `postgres://duet@${at(first)},${at(next)}/${name}?target_session_attrs=read-write`;
  const env = { DATABASE_READ_URL: `postgres://duet@${at(next)},${at(first)}/${name}` };
  const open = () => openApp('postgres', { sdl, url, env });
  const nodes = [await open(), await open()] as const;
  for (const node of nodes) await until(() => used(node, next));
  await administer(next.url(), ...delay);
  await administer(first.url(), ...wait);

  const acknowledged = new Map<string, { id: number; position: string }>();
  const lies: unknown[] = [];
  let isOver = false;
  const client = async (who: number) => {
    for (let count = 0; !isOver && count < 100_000; count++) {
      const [one, other] = count % 2 === 0 ? nodes : [nodes[1], nodes[0]];
      const title = `${who}-${count}`;
      const { status, body, headers } = await within(20_000, one.rest('POST', '/notes', { title }));
      const position = headers.get('Duet-Position') ?? '';
      if (status === 201) acknowledged.set(title, { id: body.id, position });
      else if (status !== 503) lies.push({ title, status, body });
      // The last one, and one that the replica may have replayed by now.
      for (const known of [title, `${who}-${count - 20}`]) {
        const written = acknowledged.get(known);
        if (!written) continue;
        const mark = seen(written.position);
        const reads = [
          other.rest('GET', `/notes/${written.id}`, undefined, mark),
          one.graphql(`{ notes(where: { title: { eq: "${known}" } }) { title } }`, {}, mark),
        ];
        for (const read of await within(20_000, Promise.all(reads))) {
          const isAway = read.status === 503 || read.body?.errors?.[0]?.extensions?.code === 'UNAVAILABLE';
          if (!isAway && !JSON.stringify(read.body).includes(`"${known}"`)) lies.push({ known, read });
        }
      }
      if (status !== 201) await Bun.sleep(20);
    }
  };
  const clients = Array.from({ length: 8 }, (_, who) => client(who));
  const more = async (count: number) => {
    const enough = acknowledged.size + count;
    await until(() => acknowledged.size >= enough);
  };
  await more(150);
  await first.stop('immediate');
  await Bun.sleep(200);
  await administer(next.url(), 'SELECT pg_promote()');
  await more(150);
  isOver = true;
  await Promise.all(clients);

  expect(lies).toEqual([]);
  for (const node of nodes) {
    const counted = await told(node, 'duet_database_reads_total');
    expect([counted['primary'], counted[at(next)]]).toEqual([expect.any(Number), expect.any(Number)]);
    expect(Math.min(counted['primary'] ?? 0, counted[at(next)] ?? 0)).toBeGreaterThan(0);
    expect(notices(node).join('\n')).toContain(
      `the server at ${at(next)} is not used as a replica: it is no standby`,
    );
  }
  const stored = await administer(next.url(name), 'SELECT title FROM "Note"');
  const titles = new Set(stored.map(({ title }) => title));
  expect([...acknowledged.keys()].filter((title) => !titles.has(title))).toEqual([]);
  for (const node of nodes) await node.close();
  await next.end();
  await first.end();
});
