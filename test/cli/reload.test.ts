/** SIGHUP: what the files say now is served from then on, and nobody notices but those who ask for what is new. */

import { describe, expect, test } from 'bun:test';
import { databases, sharedPostgres, within } from '../app.ts';
import { COMPILER, childrenOf, connect, Folder, Server, source } from '../process.ts';

const BOOK = 'type Book @resource { id: ID!  title: String! @constraint(maxLength: 100000) }';
const NOTE = 'type Note @resource { id: ID!  text: String! }';
const headers = { 'Content-Type': 'application/json', Connection: 'close' };
const status = async (url: string) => (await fetch(url, { headers: { Connection: 'close' } })).status;

const urlOf = async (kind: string) =>
  kind === 'sqlite' ? 'sqlite:duet.db' : (await sharedPostgres()).database();

/** Asks for something all the time; tells what came of it, 0 where nobody answered. */
function asking(ask: () => Promise<number>) {
  const answers: number[] = [];
  let isOver = false;
  const done = (async () => {
    while (!isOver) answers.push(await ask().catch(() => 0));
  })();
  return async () => {
    isOver = true;
    await done;
    return answers;
  };
}

describe.each(databases)('on %s', (kind) => {
  test.each(['1', '2'])(
    'with %s workers',
    async (workers) => {
      using folder = new Folder({ 'schema.graphql': BOOK, 'data.json': '{}', 'duet.env': 'LIMIT_BODY=50\n' });
      await using server = await Server.start(folder, {
        DATABASE_URL: await urlOf(kind),
        WORKERS: workers,
        DUET_SETTINGS: 'duet.env',
      });
      const count = Number(workers);
      await server.logged('started', count);
      if (count > 1) await server.logged('supervising');
      const create = async (length: number) => {
        const body = JSON.stringify({ title: 'x'.repeat(length) });
        return (await fetch(`${server.url}/books`, { method: 'POST', headers, body })).status;
      };
      const reads = asking(() => status(`${server.url}/books?limit=1`));
      const writes = asking(() => create(1));

      // A file with faults: they are told once, whole, and what was served before still is.
      await Bun.write(
        folder.file('schema.graphql'),
        `${BOOK}\ntype Note @resource { id: ID!  b: Flot  c: Sting }`,
      );
      server.signal('SIGHUP');
      const refused = await server.logged('refused');
      expect([refused.level, refused.faults]).toEqual([
        'error',
        [
          'schema.graphql:2:35 Unknown type "Flot" on Note.b. Did you mean "Float"?',
          'schema.graphql:2:44 Unknown type "Sting" on Note.c. Did you mean "String"?',
        ],
      ]);
      expect(await status(`${server.url}/books`)).toBe(200);
      expect(await status(`${server.url}/notes`)).toBe(404);

      // What the database cannot follow is refused as at a start.
      await Bun.write(folder.file('schema.graphql'), `type Book @resource { id: ID!  title: Int! }`);
      server.signal('SIGHUP');
      expect((await server.logged('refused', 2)).faults.join()).toContain('Book.title');

      // A file without: from then on it is served, by all, and so are the settings.
      expect(await create(60)).toBe(413);
      await Bun.write(folder.file('schema.graphql'), `${BOOK} ${NOTE}`);
      await Bun.write(folder.file('duet.env'), '# more\nLIMIT_BODY="5000"\n');
      server.signal('SIGHUP');
      await server.logged('reloaded', count);
      for (let tries = 0; tries < 6; tries++) {
        expect(await status(`${server.url}/notes`)).toBe(200);
        expect(await create(60)).toBe(201);
      }
      expect(server.log.filter(({ event }) => event === 'migrated').length).toBeGreaterThan(0);

      // What a server cannot change while it listens, it says.
      await Bun.write(folder.file('duet.env'), 'HOST=0.0.0.0\n');
      server.signal('SIGHUP');
      expect((await server.logged('refused', 3)).faults).toEqual([
        'HOST cannot change while the server runs: restart it',
      ]);
      await Bun.write(folder.file('duet.env'), 'LIMT_BODY=5\n');
      server.signal('SIGHUP');
      expect((await server.logged('refused', 4)).faults).toEqual([
        'duet.env:1 unknown setting "LIMT_BODY". Did you mean "LIMIT_BODY"?',
      ]);

      const [read, written] = [await reads(), await writes()];
      expect(new Set(read)).toEqual(new Set([200]));
      expect(new Set(written)).toEqual(new Set([201]));
      const books = (await (await fetch(`${server.url}/books?limit=1`)).json()) as unknown[];
      expect(books.length).toBe(1);
      const asked = `${server.url}/books?limit=1&count=true`;
      const total = (await fetch(asked)).headers.get('X-Total-Count');
      expect(Number(total)).toBe(written.length + 6);
      // Numbers go on counting.
      const metrics = await (await fetch(`${server.url}/metrics`)).text();
      const counted = [
        ...metrics.matchAll(
          /^duet_requests_total\{route="\/books",method="POST",status="201"[^}]*\} (\d+)/gm,
        ),
      ];
      expect(counted.reduce((sum, [, each]) => sum + Number(each), 0)).toBe(written.length + 6);
      server.signal('SIGTERM');
      expect(await server.exited()).toBe(0);
      expect(server.log.filter(({ event }) => event === 'failure')).toEqual([]);
    },
    120_000,
  );

  test('a download that began before goes on to its end', async () => {
    const books = Array.from({ length: 25000 }, (_, index) => ({ title: `${index} ${'x'.repeat(1000)}` }));
    using folder = new Folder({ 'schema.graphql': BOOK, 'data.json': JSON.stringify({ books }) });
    await using server = await Server.start(folder, { DATABASE_URL: await urlOf(kind) });
    const client = await connect(server.url);
    client.pause();
    client.send(
      'GET /books?sort=title HTTP/1.1\r\nHost: x\r\nAccept: application/x-ndjson\r\nConnection: close\r\n\r\n',
    );
    await server.logged('request');
    await Bun.write(folder.file('schema.graphql'), `${BOOK} ${NOTE}`);
    // Whoever signals a whole group means the server.
    for (const pid of childrenOf(server.pid, 'reader')) process.kill(pid, 'SIGHUP');
    server.signal('SIGHUP');
    await server.logged('reloaded');
    // Longer than it takes to let go of what is not used.
    await Bun.sleep(500);
    client.resume();
    const answer = await client.answer();
    expect(answer.match(/"title"/g)?.length).toBe(25000);
  }, 120_000);
});

test('what is in memory is not thrown away', async () => {
  using folder = new Folder();
  await using server = await Server.start(folder, { DATABASE_URL: 'sqlite::memory:' });
  server.signal('SIGHUP');
  expect((await server.logged('refused')).faults).toEqual([
    'what is in sqlite::memory: would be lost: restart the server to begin anew',
  ]);
  expect(await status(`${server.url}/books`)).toBe(200);
});

test.each(['1', '2'])(
  'a server at a terminal reloads, and ends when the terminal is closed, with %s workers',
  async (workers) => {
    using folder = new Folder();
    let told = '';
    const until = async (what: string) => {
      for (let tries = 0; tries < 2000 && !told.includes(what); tries++) await Bun.sleep(10);
      expect(told).toContain(what);
    };
    const child = Bun.spawn([...source, 'serve'], {
      cwd: folder.path,
      env: { PORT: '0', WORKERS: workers, ...COMPILER },
      terminal: {
        data(_, bytes) {
          told += new TextDecoder().decode(bytes);
        },
      },
    });
    try {
      await until(workers === '1' ? '"event":"started"' : '"event":"supervising"');
      child.kill('SIGHUP');
      await until('"event":"reloaded"');
      child.terminal?.close();
      expect(await within(20_000, child.exited)).toBe(0);
    } finally {
      child.kill('SIGKILL');
    }
  },
  60_000,
);
