/** The commands around serving: comparing, migrating, moving records, and several processes. */

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { readConfig } from '../../src/config/config.ts';
import { databases, sharedPostgres, shipped } from '../app.ts';
import { alive, command, Folder, Server } from '../process.ts';

const JSON_HEADERS = { 'Content-Type': 'application/json' };

const forms =
  '{"resource": …, "version": …, "record": {…}}, {"resource": …, "lastId": …}, {"resource": …, "buried": {"key": …, "version": …}}, {"apiKey": {"name": …, "hash": …, "roles": […], "at": …, "revoked": …}}';

async function newDatabase(kind: (typeof databases)[number], name = 'duet.db'): Promise<string> {
  return kind === 'sqlite' ? `sqlite:${name}` : (await sharedPostgres()).database();
}

describe.each([...databases])('on %s', (kind) => {
  test('diff and migrate tell what changes, refuse what would fail, and drop only when told to', async () => {
    const before = `
      type Book @resource { id: ID!  title: String!  isbn: String! @unique  pages: Int }
      type Shelf @resource(plural: "shelves") { id: ID! }`;
    using folder = new Folder({
      'schema.graphql': before,
      'data.json': '{"books":[{"title":"a","isbn":"1"},{"title":"b","isbn":"2","pages":3}],"shelves":[{}]}',
    });
    const env = { DATABASE_URL: await newDatabase(kind) };
    const made = await command(folder, ['migrate'], env);
    expect([made.exit, made.stderr]).toEqual([0, '']);
    expect(made.stdout.split('\n')).toContain('create table Book');
    expect((await command(folder, ['migrate'], env)).stdout).toBe(
      'nothing to do: the database is what the schema asks for\n',
    );

    await Bun.write(
      folder.file('schema.graphql'),
      `type Book @resource {
        id: ID!  name: String! @column(name: "title")  pages: Int! @constraint(min: 5)  lang: String! @default(value: "en")
      }`,
    );
    const compared = await command(folder, ['diff'], env);
    expect([compared.exit, compared.stderr]).toEqual([0, '']);
    const lines = compared.stdout.split('\n');
    const between = (from: string, to?: string) =>
      lines.slice(lines.indexOf(from) + 1, to ? lines.indexOf(to) : -1);
    expect(between('Tables', 'REST')).toEqual([
      '  safe        add column Book.lang',
      '  safe        allow null in Book.isbn',
      '  safe        drop unique index on Book (isbn)',
      '  breaking    refused: Book.pages: it admits less than before, but pages must be 5 or more, but book 2 has another value. Change such records first, or widen the constraint.',
      '  breaking    refused: Book.pages: it is now required, but there are records without a value for it. Give them one first, add @default(value: …), or drop the "!".',
      '  destructive only with --prune: drop Shelf, which is kept until then',
      '  destructive only with --prune: drop Book.isbn, which is kept until then',
    ]);
    expect(between('REST', 'GraphQL')).toEqual([
      '  breaking    gone: GET /shelves',
      '  breaking    gone: GET /shelves/{id}',
      '  breaking    gone: POST /shelves',
      '  breaking    gone: PUT /shelves/{id}',
      '  breaking    gone: DELETE /shelves/{id}',
      '  breaking    /books title: is gone',
      '  breaking    /books isbn: is gone',
      '  breaking    /books name: is new and must be given on create',
      '  breaking    /books pages: must now be given on create',
      '  breaking    /books pages: admits other values',
      '  safe        /books lang: is new',
    ]);
    const graphql = between('GraphQL');
    expect(graphql).toContain('  breaking    Field Book.title was removed');
    expect(graphql.filter((line) => line.startsWith('  safe'))).not.toEqual([]);

    const refused = await command(folder, ['migrate'], env);
    expect(refused.exit).toBe(2);
    expect(refused.stderr).toContain(
      'duet: Book.pages: it is now required, but there are records without a value',
    );
    expect((await command(folder, ['serve'], env)).exit).toBe(2);

    await Bun.write(
      folder.file('schema.graphql'),
      'type Book @resource { id: ID!  name: String! @column(name: "title")  pages: Int  lang: String! @default(value: "en") }',
    );
    {
      await using server = await Server.start(folder, env);
      expect(server.log.filter(({ event }) => event === 'migrated').map(({ step }) => step)).toContain(
        'add column Book.lang',
      );
      expect(
        server.log.find(({ event, message }) => event === 'notice' && message.includes('Book.isbn')),
      ).toBeDefined();
      const init = { method: 'POST', headers: JSON_HEADERS, body: '{"name":"c"}' };
      expect((await fetch(`${server.url}/books`, init)).status).toBe(201);
      expect(await (await fetch(`${server.url}/books`)).json()).toEqual([
        { id: 1, name: 'a', pages: null, lang: 'en' },
        { id: 2, name: 'b', pages: 3, lang: 'en' },
        { id: 3, name: 'c', pages: null, lang: 'en' },
      ]);
    }
    const kept = await command(folder, ['migrate', '--prune'], env);
    expect(kept.stdout).toContain('drop Shelf\n');
    expect(kept.stdout).toContain('nothing was dropped\n');
    const pruned = await command(folder, ['migrate', '--prune', '--yes'], env);
    expect([pruned.exit, pruned.stdout.split('\n').at(-2)]).toEqual([0, 'dropped 2']);
    expect((await command(folder, ['migrate', '--prune', '--yes'], env)).stdout).toContain('nothing to drop');
  });

  test('diff only reads: it makes neither a database nor a table, and waits for nobody', async () => {
    using folder = new Folder();
    const url = await newDatabase(kind);
    const diff = async () => {
      const { stdout, stderr, exit } = await command(folder, ['diff'], { DATABASE_URL: url });
      expect([stderr, exit]).toEqual(['', 0]);
      return stdout;
    };
    const everything = async () => {
      if (kind === 'sqlite') {
        const names = readdirSync(folder.path).sort();
        return names.map((name) => [name, Bun.hash(readFileSync(folder.file(name)))]);
      }
      const sql = new Bun.SQL(url, { max: 1 });
      const rows = [...(await sql.unsafe('SELECT oid, relname, relfilenode FROM pg_class ORDER BY oid'))];
      await sql.close();
      return rows;
    };
    const untouched = await everything();
    expect(await diff()).toContain('  safe        create table Book\n');
    expect(await everything()).toEqual(untouched);
    // A file that another program has made, in a mode of its own.
    if (kind === 'sqlite') {
      const theirs = new Database(folder.file('duet.db'), { create: true });
      theirs.run('CREATE TABLE "Theirs" ("x" INTEGER)');
      theirs.close();
      const own = await everything();
      await diff();
      expect(await everything()).toEqual(own);
    }

    await command(folder, ['migrate'], { DATABASE_URL: url });
    const made = await everything();
    expect(made.length).toBeGreaterThan(untouched.length);
    await Bun.write(
      folder.file('schema.graphql'),
      shipped.sdl.replace('title: String!', 'title: String! lang: String'),
    );
    const before = await everything();
    expect(await diff()).toContain('  safe        add column ');
    expect(await everything()).toEqual(before);

    const other = new Bun.SQL(kind === 'sqlite' ? `sqlite:${folder.file('duet.db')}` : url, { max: 1 });
    const session = kind === 'sqlite' ? other : await other.reserve();
    // What a node that changes tables holds.
    await session.unsafe(kind === 'sqlite' ? 'BEGIN IMMEDIATE' : 'BEGIN');
    await session.unsafe('UPDATE "_duet_lock" SET "id" = "id"');
    expect(await diff()).toContain('  safe        add column ');
    await session.unsafe('ROLLBACK');
    await other.close({ timeout: 0 });
  });

  test('a deprecated field keeps working on both doors, and REST says since when', async () => {
    const plain = 'type Note @resource { id: ID!  title: String!  body: String }';
    using folder = new Folder({ 'schema.graphql': plain, 'data.json': '{"notes":[{"title":"a"}]}' });
    const env = { DATABASE_URL: await newDatabase(kind) };
    {
      await using server = await Server.start(folder, env);
      expect((await fetch(`${server.url}/notes/1`)).headers.get('Deprecation')).toBeNull();
    }
    await Bun.write(
      folder.file('schema.graphql'),
      plain.replace('body: String', 'body: String @deprecated(reason: "unused")'),
    );
    const earliest = Math.floor(Date.now() / 1000);
    let since: string | null = null;
    for (let start = 0; start < 2; start++) {
      await using server = await Server.start(folder, env);
      const one = await fetch(`${server.url}/notes/1`);
      since ??= one.headers.get('Deprecation');
      expect(since).toMatch(/^@\d+$/);
      // It counts from the first time, not from every start.
      expect(one.headers.get('Deprecation')).toBe(since);
      for (const query of ['', '?fields=body', '?aggregate=max(body)'])
        expect((await fetch(`${server.url}/notes${query}`)).headers.get('Deprecation')).toBe(since);
      expect((await fetch(`${server.url}/notes?fields=title`)).headers.get('Deprecation')).toBeNull();
      const init = { method: 'PUT', headers: JSON_HEADERS, body: '{"body":"still"}' };
      const put = await fetch(`${server.url}/notes/1`, init);
      expect([put.status, put.headers.get('Deprecation')]).toEqual([200, since]);
      const query =
        '{ note(id: 1) { body } __type(name: "Note") { fields(includeDeprecated: true) { name deprecationReason } } }';
      const response = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: JSON_HEADERS,
        body: JSON.stringify({ query }),
      });
      const { data } = (await response.json()) as any;
      expect(data.note.body).toBe('still');
      expect(data.__type.fields).toContainEqual({ name: 'body', deprecationReason: 'unused' });
      await Bun.sleep(1100);
    }
    expect(Number(since?.slice(1))).toBeGreaterThanOrEqual(earliest);
  });

  test('export and import move everything, keys, references and versions included', async () => {
    const sdl = `
      type Person @resource(plural: "people") { id: ID!  name: String!  boss: Person  pet: Pet  seen: DateTime  tags: [String!] }
      type Pet @resource { code: ID! @key  owner: Person  extra: JSON }
      type Visit @resource { id: UUID!  pet: Pet!  cost: Float  paid: Boolean! @default(value: false)  day: Date }`;
    const data = {
      people: [
        { id: 3, name: 'boss of all', bossId: 7, petId: 'x', seen: '2024-01-01T00:00:00.120Z', tags: ['a'] },
        { id: 7, name: 'é"\n', bossId: 3 },
      ],
      pets: [{ code: 'x', ownerId: 7, extra: { a: [1, null] } }],
      visits: [{ petId: 'x', cost: 0.1, paid: true, day: '2024-02-29' }],
    };
    using folder = new Folder({ 'schema.graphql': sdl, 'data.json': JSON.stringify(data) });
    const from = { DATABASE_URL: await newDatabase(kind) };
    {
      await using server = await Server.start(folder, from);
      const init = { method: 'PUT', headers: JSON_HEADERS, body: '{"name":"changed"}' };
      expect((await fetch(`${server.url}/people/3`, init)).status).toBe(200);
    }
    const exported = await command(folder, ['export'], from);
    expect([exported.exit, exported.stderr]).toEqual([0, 'exported 4 records\n']);
    await Bun.write(folder.file('all.ndjson'), exported.stdout);

    for (const target of databases) {
      const to = { DATABASE_URL: await newDatabase(target, `${target}-copy.db`) };
      const imported = await command(folder, ['import', 'all.ndjson'], to);
      expect([imported.stderr, imported.exit]).toEqual(['imported 4 records\n', 0]);
      expect((await command(folder, ['export'], to)).stdout).toBe(exported.stdout);
      await using server = await Server.start(folder, to);
      const init = { method: 'POST', headers: JSON_HEADERS, body: '{"name":"new"}' };
      expect((await (await fetch(`${server.url}/people`, init)).json()) as any).toMatchObject({ id: 8 });
    }
    const twice = await command(folder, ['import', 'all.ndjson'], from);
    expect([twice.exit, twice.stderr]).toEqual([
      2,
      'duet: all.ndjson: line 1: id is taken by another record\n',
    ]);
  });

  test('a bad line is named, and nothing of the file is applied', async () => {
    using folder = new Folder({ 'data.json': '{}' });
    const env = { DATABASE_URL: await newDatabase(kind) };
    const line = (resource: string, record: unknown) => JSON.stringify({ resource, record });
    const rows: [string[], string][] = [
      [[line('books', { title: 'ok', pages: 1 }), '{"resource":'], `line 2 is none of ${forms}`],
      [
        [
          line('books', { title: 'ok', pages: 1 }),
          '{"resource":"books","version":1,"record":{"title":"x","pages":1},"resource":"todos"}',
        ],
        `line 2 is none of ${forms}`,
      ],
      [
        [line('books', { title: 'ok', pages: 1 }), '', line('books', { title: '' })],
        'line 3: title must have at least 1 character',
      ],
      [[line('bokos', {})], '"bokos" is no resource. Did you mean "books" or "todos"?'],
      [
        [line('books', { title: 'ok', pages: 1 }), line('posts', { title: 'p', body: 'b', authorId: 9 })],
        'line 2: it refers to a record that does not exist',
      ],
      ...[
        '{"resource":"books","lastId":0}',
        '{"resource":"books","lastId":"3"}',
        '{"resource":"books","lastId":9007199254740992}',
        '{"resource":"books","lastId":3,"record":{"title":"t","pages":1}}',
        '{"resource":"books"}',
        '{"lastId":3}',
        '{"resource":"greetings","buried":null}',
        '{"resource":"greetings","buried":{"key":"x","version":0}}',
        '{"resource":"greetings","buried":{"key":"x","version":2147483648}}',
        '{"resource":"greetings","buried":{"key":1,"version":1}}',
        '{"apiKey":{"name":"ci","hash":"short","roles":[],"at":"2024-01-01T00:00:00.000Z","revoked":null}}',
        '{"apiKey":null}',
      ].map((bad): [string[], string] => [
        [line('books', { title: 'ok', pages: 1 }), bad],
        `line 2 is none of ${forms}`,
      ]),
      [
        [line('books', { title: 'ok', pages: 1 }), '{"resource":"greetings","lastId":3}'],
        'line 2: greetings have no ids that are counted, so there is no last one',
      ],
      [
        ['{"resource":"books","lastId":30}', '{"resource":"books","buried":{"key":"x","version":1}}'],
        'line 2: books have no key that clients give, so none of them is buried',
      ],
      [
        [
          '{"resource":"books","lastId":30}',
          '{"resource":"greetings","buried":{"key":"\\u0000","version":1}}',
        ],
        'line 2: the buried key is no text that can be stored',
      ],
      // What was sound before the bad line is not applied either.
      [
        [
          '{"resource":"books","lastId":30}',
          '{"resource":"greetings","buried":{"key":"x","version":7}}',
          line('posts', { title: 'p', body: 'b', authorId: 9 }),
        ],
        'line 3: it refers to a record that does not exist',
      ],
    ];
    for (const [lines, fault] of rows) {
      await Bun.write(folder.file('bad.ndjson'), lines.join('\n'));
      const { stderr, exit } = await command(folder, ['import', 'bad.ndjson'], env);
      expect([stderr.split('\n')[0], exit]).toEqual([`duet: bad.ndjson: ${fault}`, 2]);
    }
    await using server = await Server.start(folder, env);
    expect(await (await fetch(`${server.url}/books`)).json()).toEqual([]);
    expect((await command(folder, ['export'], env)).stdout).toBe('');
  });

  test("several workers serve one port, see each other's writes, are replaced and stop together", async () => {
    using folder = new Folder();
    await using server = await Server.start(folder, { DATABASE_URL: await newDatabase(kind), WORKERS: '3' });
    await server.logged('supervising');
    for (let round = 0; round < 20; round++) {
      const init = {
        method: 'POST',
        headers: { ...JSON_HEADERS, Connection: 'close' },
        body: `{"title":"t${round}"}`,
      };
      const created = (await (await fetch(`${server.url}/notes`, init)).json()) as any;
      // Each request may reach another process; what was acknowledged is there for all of them.
      for (let look = 0; look < 3; look++) {
        const seen = await fetch(`${server.url}/notes/${created.id}`, { headers: { Connection: 'close' } });
        expect(await seen.json()).toEqual(created);
      }
    }
    const notes = (await (await fetch(`${server.url}/notes`)).json()) as any[];
    expect(notes.length).toBe(shipped.data.notes.length + 20);

    process.kill((await server.logged('started', 3)).pid, 'SIGKILL');
    await server.logged('started', 4);
    expect((await fetch(`${server.url}/notes/1`, { headers: { Connection: 'close' } })).status).toBe(200);
    server.signal('SIGTERM');
    expect(await server.exited()).toBe(0);
    expect(server.log.filter(({ event }) => event === 'stopped').length).toBe(3);
  });
});

test('workers end with a parent that was killed', async () => {
  using folder = new Folder();
  await using server = await Server.start(folder, { WORKERS: '2' });
  await server.logged('started', 2);
  const pids = server.log.flatMap(({ event, pid }) => (event === 'started' ? [pid] : []));
  server.signal('SIGKILL');
  for (let tries = 0; tries < 1000 && pids.some(alive); tries++) await Bun.sleep(10);
  expect([pids.length, pids.filter(alive)]).toEqual([2, []]);
});

test('nor do they outlive one that was killed while they start', async () => {
  using folder = new Folder();
  const { server, started } = Server.begin(folder, { WORKERS: '2' });
  started.catch(() => {});
  const children = () => readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').split(' ');
  let pids: number[] = [];
  for (let tries = 0; tries < 5000 && pids.length < 2; tries++) {
    await Bun.sleep(1);
    pids = children().filter(Boolean).map(Number);
  }
  server.signal('SIGKILL');
  for (let tries = 0; tries < 1000 && pids.some(alive); tries++) await Bun.sleep(10);
  expect([pids.length, pids.filter(alive)]).toEqual([2, []]);
});

test('WORKERS=auto is one for each core that the process may use, and one where memory cannot be shared', async () => {
  expect(readConfig([], { WORKERS: 'auto' }).config?.workers).toBe(availableParallelism());
  expect(readConfig([], { WORKERS: 'many' }).fault).toBe(
    'WORKERS must be auto, or a whole number from 1 to 1024, not "many"',
  );
  using folder = new Folder();
  await using server = await Server.start(folder, { WORKERS: 'auto', DATABASE_URL: 'sqlite::memory:' });
  expect((await fetch(`${server.url}/notes/1`)).status).toBe(200);
});

test('memory cannot be shared between workers', async () => {
  using folder = new Folder();
  const { stderr, exit } = await command(folder, ['serve'], {
    WORKERS: '2',
    DATABASE_URL: 'sqlite::memory:',
  });
  expect([stderr, exit]).toEqual([
    'duet: WORKERS must be 1 with sqlite::memory:, which one process alone can see\n',
    2,
  ]);
});

test('workers that cannot start say why once more than nothing, and exit 2', async () => {
  using folder = new Folder({ 'schema.graphql': 'type Book' });
  const { stderr, exit } = await command(folder, ['serve'], { WORKERS: '2' });
  expect(exit).toBe(2);
  expect(stderr).toContain('duet: schema.graphql:1:');
  expect(stderr).toContain('duet: a worker could not start; it has said why\n');
});
