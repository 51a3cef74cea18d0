/** The command as operators meet it: starting, refusing, logging, crashing and stopping. */

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { SignJWT } from 'jose';
import { settings } from '../../src/config/settings.ts';
import { command, connect, ended, Folder, inShell, Server, source } from '../process.ts';

const JSON_HEADERS = { 'Content-Type': 'application/json' };

describe('a wrong use is one clear line and exit 2', () => {
  const rows: [string[], Record<string, string>, string][] = [
    [['serve'], { PORT: 'abc' }, 'duet: PORT must be a whole number from 0 to 65535, not "abc"\n'],
    [['serve', '--port', '70000'], {}, 'duet: --port must be a whole number from 0 to 65535, not "70000"\n'],
    [['serve', '--port'], {}, 'duet: --port needs a value\n'],
    [['serve', '--prot=1'], {}, 'duet: unknown option "--prot". `duet --help` lists them\n'],
    [
      ['serve', '--database-url=sqlite:x'],
      {},
      'duet: --database-url is read from the environment only: set DATABASE_URL\n',
    ],
    [
      ['serve'],
      { DATABASE_URL: 'mysql://user:secret@host' },
      'duet: DATABASE_URL must be sqlite:FILE, sqlite::memory: or postgres://USER:PASSWORD@HOST:PORT/NAME, with commas between several HOST:PORT, and target_session_attrs one of any, read-write, read-only, primary, standby, prefer-standby\n',
    ],
    [
      ['serve'],
      { LOG_LEVEL: 'loud' },
      'duet: LOG_LEVEL must be one of debug, info, warn, error, not "loud"\n',
    ],
    [['serve'], { INTROSPECTION: '1' }, 'duet: INTROSPECTION must be one of on, off, not "1"\n'],
    // What follows an option is its value, not what is imported.
    [
      ['import', 'x.ndjson', '--schema', 'schema.graphql'],
      {},
      "duet: cannot read x.ndjson (ENOENT: no such file or directory, open 'x.ndjson')\n",
    ],
    [['sevre'], {}, 'duet: unknown command "sevre". `duet --help` lists them\n'],
  ];
  test.each(rows)('%j %j', async (args, env, message) => {
    using folder = new Folder();
    const { stdout, stderr, exit } = await command(folder, args, env);
    expect([stdout, stderr, exit]).toEqual(['', message, 2]);
  });

  test('a missing schema file', async () => {
    using folder = new Folder();
    const { stderr, exit } = await command(folder, ['serve', '--schema', 'nope.graphql']);
    expect(exit).toBe(2);
    expect(stderr).toMatch(
      /^duet: cannot read nope\.graphql \(.+\)\. `duet init` writes one to begin with, and DUET_SCHEMA names another file\n$/,
    );
  });

  test.each(['schema.graphql', 'data.json'])('%s that is not UTF-8', async (name) => {
    const files = {
      'schema.graphql': '"Z\xfcrich" type Note @resource { id: ID!  text: String! }',
      'data.json': '{"notes":[{"text":"Z\xfcrich"}]}',
    };
    using folder = new Folder();
    for (const [file, text] of Object.entries(files))
      await Bun.write(folder.file(file), Buffer.from(text, file === name ? 'latin1' : 'utf8'));
    const { stderr, exit } = await command(folder, ['serve', '--port', '0']);
    expect([stderr, exit]).toEqual([`duet: ${name} is not UTF-8; save it as UTF-8\n`, 2]);
  });

  test('a schema file without a resource', async () => {
    using folder = new Folder({ 'schema.graphql': '# Later.' });
    const { stderr, exit } = await command(folder, ['serve']);
    expect([stderr, exit]).toEqual([expect.stringContaining('The file declares no resource. Add one'), 2]);
  });

  test('a schema with faults: all of them, with their places', async () => {
    using folder = new Folder({
      'schema.graphql':
        'type User @resource {\n  id: ID!\n  posts: [Pots!]!\n  x: Flot\n}\ntype Post @resource { id: ID! }',
    });
    const { stderr, exit } = await command(folder, ['serve']);
    expect(exit).toBe(2);
    expect(stderr.split('\n')).toEqual([
      'duet: schema.graphql:3:10 Unknown type "Pots" on User.posts. Did you mean "Post"?',
      'duet: schema.graphql:4:6 Unknown type "Flot" on User.x. Did you mean "Float"?',
      '',
    ]);
  });

  test('a data file with faults: all of them, and no database is left behind half made', async () => {
    const data = {
      books: [{ id: 1, title: '' }],
      posts: [{ title: 't', body: 'b', authorId: 3 }],
      bokos: [],
    };
    using folder = new Folder({ 'data.json': JSON.stringify(data) });
    const { stderr, exit } = await command(folder, ['serve']);
    expect(exit).toBe(2);
    expect(stderr.split('\n')).toEqual([
      'duet: data.json: "bokos" is no resource. Did you mean "books" or "todos"?',
      'duet: data.json: books[0]: title must have at least 1 character',
      'duet: data.json: books[0]: pages is required',
      '',
    ]);
    await Bun.write(folder.file('data.json'), JSON.stringify({ posts: data.posts }));
    expect((await command(folder, ['serve'])).stderr).toBe(
      'duet: data.json: posts[0]: authorId names user 3, which is not in the file\n',
    );
    await Bun.write(folder.file('data.json'), '{}');
    await using server = await Server.start(folder);
    expect(await (await fetch(`${server.url}/books`)).json()).toEqual([]);
  });

  // Workers share their port with each other, but not with those of another server.
  test.each([
    ['1', '1'],
    ['1', '2'],
    ['2', '1'],
    ['2', '2'],
  ])('a port that a server with %s workers has, and one with %s wants', async (first, second) => {
    using folder = new Folder();
    await using server = await Server.start(folder, { WORKERS: first });
    const { port } = new URL(server.url);
    const { stdout, stderr, exit } = await command(folder, ['serve'], { PORT: port, WORKERS: second });
    expect([stdout, stderr, exit]).toEqual([
      '',
      `duet: cannot listen on 127.0.0.1:${port} (another process listens there). PORT and HOST name another address\n`,
      2,
    ]);
    expect((await fetch(`${server.url}/books/1`)).status).toBe(200);
  });

  const files: [string, string][] = [
    ['PORT', 'duet.env:1 is not NAME=value'],
    ['\n# x\nPROT=1', 'duet.env:3 unknown setting "PROT". Did you mean "PORT"?'],
    ['PORT=1\nPORT=2', 'duet.env:2 PORT cannot be set twice'],
    ['DUET_SETTINGS=x', 'duet.env:1 DUET_SETTINGS cannot be set here'],
    ['PORT="many"', 'PORT in duet.env must be a whole number from 0 to 65535, not "many"'],
  ];
  test.each(files)('a file of settings: %j', async (text, message) => {
    using folder = new Folder({ 'duet.env': text });
    const { stderr, exit } = await command(folder, ['migrate', '--settings=duet.env'], { PORT: undefined });
    expect([stderr, exit]).toEqual([`duet: ${message}\n`, 2]);
  });

  test('a file of settings that is not there', async () => {
    using folder = new Folder();
    const { stderr, exit } = await command(folder, ['serve'], { DUET_SETTINGS: 'nope.env' });
    expect(exit).toBe(2);
    expect(stderr).toMatch(/^duet: cannot read nope\.env \(.+\)\. DUET_SETTINGS names another file\n$/);
  });

  test('a database that was made from another schema, which stays as it is', async () => {
    using folder = new Folder();
    {
      await using _ = await Server.start(folder);
    }
    await Bun.write(folder.file('schema.graphql'), 'type Book @resource { id: ID!  isbn: String! }');
    const { stderr, exit } = await command(folder, ['serve'], { DUET_DATA: 'data.json' });
    expect(exit).toBe(2);
    expect(stderr).toContain('duet: ');
  });
});

test('--help names every setting, and --version is a version', async () => {
  using folder = new Folder();
  const { stdout, exit } = await command(folder, ['--help']);
  expect(exit).toBe(0);
  for (const { doc, default: value } of Object.values(settings))
    expect(stdout).toContain(`${doc} [${value}]`);
  expect((await command(folder, ['serve', '--help'])).stdout).toBe(stdout);
  expect((await command(folder, ['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('what was written is there after a restart, and the data file is loaded only once', async () => {
  using folder = new Folder();
  {
    await using server = await Server.start(folder);
    const init = { method: 'POST', headers: JSON_HEADERS, body: '{"title":"kept","pages":1}' };
    expect((await fetch(`${server.url}/books`, init)).status).toBe(201);
    expect((await fetch(`${server.url}/books/1`, { method: 'DELETE' })).status).toBe(204);
    server.signal('SIGKILL');
    await server.exited();
  }
  await using server = await Server.start(folder);
  const books = (await (await fetch(`${server.url}/books`)).json()) as any[];
  expect(books.map(({ title }) => title)).toEqual(['The Left Hand of Darkness', 'Beowulf', 'kept']);
});

test('.env files are not read', async () => {
  using folder = new Folder({ '.env': 'LOG_LEVEL=loud\n' });
  await using server = await Server.start(folder);
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
});

describe('the log', () => {
  test('has one JSON line per request, and nothing of what was sent', async () => {
    using folder = new Folder();
    await using server = await Server.start(folder);
    const secret = 'canary-4711';
    const headers = { ...JSON_HEADERS, Authorization: `Bearer ${secret}`, 'X-Request-Id': 'mine' };
    await fetch(`${server.url}/books?q=${secret}`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ title: secret }),
    });
    const query = `mutation($t: String!) { addTodo(title: $t) { id } b: addTodo(title: "${secret}") { id } }`;
    await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ query, variables: { t: secret } }),
    });
    server.signal('SIGTERM');
    expect(await server.exited()).toBe(0);
    const requests = server.log.filter(({ event }) => event === 'request');
    expect(requests).toEqual([
      {
        time: expect.any(String),
        level: 'info',
        event: 'request',
        requestId: 'mine',
        method: 'POST',
        path: '/books',
        route: '/books',
        status: 400,
        ms: expect.any(Number),
        address: '127.0.0.1',
      },
      {
        time: expect.any(String),
        level: 'info',
        event: 'request',
        requestId: 'mine',
        method: 'POST',
        path: '/graphql',
        route: '/graphql',
        status: 200,
        ms: expect.any(Number),
      },
    ]);
    expect(JSON.stringify(server.log)).not.toContain(secret);
    expect(server.log.find(({ event }) => event === 'notice').message).toContain('no authentication');
  });
});

test('used up file descriptors are said once, and no connection is lost for good', async () => {
  using folder = new Folder();
  await using server = await Server.start(folder, {}, [
    'bash',
    '-c',
    'ulimit -n 40; exec "$@"',
    'bash',
    ...source,
  ]);
  const clients = await Promise.all(Array.from({ length: 60 }, () => connect(server.url)));
  const failure = await server.logged('failure');
  expect(failure.cause).toContain('all file descriptors are in use');
  // Longer than until the next look.
  await Bun.sleep(3000);
  for (const client of clients) client.destroy();
  expect((await fetch(`${server.url}/books/1`)).status).toBe(200);
  expect(server.log.filter(({ event }) => event === 'failure').length).toBe(1);
});

test('the log names the caller and the client, and never what they prove it with', async () => {
  using folder = new Folder();
  const secret = 'a secret of at least thirty-two bytes';
  const env = { AUTH_SECRET: secret, TRUSTED_PROXIES: '127.0.0.1', LOG_ADDRESS: 'all' };
  const { stdout } = await command(folder, ['key', 'create', '--name', 'nightly'], env);
  const key = stdout.trim();
  await using server = await Server.start(folder, env);
  const token = await new SignJWT({ sub: 'ann "b"' })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(secret));
  const asks: [credential: string | undefined, forwarded: string | undefined][] = [
    [token, '203.0.113.7'],
    [key, '2001:db8::1'],
    [key, '2001:db8::2, 127.0.0.1'],
    [undefined, undefined],
    ['wrong', '"x"'],
    [token, '198.51.100.9'],
  ];
  for (const [credential, forwarded] of asks)
    await fetch(`${server.url}/books/1`, {
      headers: {
        ...(credential && { Authorization: `Bearer ${credential}` }),
        ...(forwarded && { 'X-Forwarded-For': forwarded }),
      },
    });
  server.signal('SIGTERM');
  await server.exited();
  const requests = server.log.filter(({ event }) => event === 'request');
  expect(requests.map(({ caller, address }) => [caller, address])).toEqual([
    ['ann "b"', '203.0.113.7'],
    ['key:nightly', '2001:db8::1'],
    ['key:nightly', '2001:db8::2'],
    [undefined, '127.0.0.1'],
    [undefined, '127.0.0.1'],
    ['ann "b"', '198.51.100.9'],
  ]);
  for (const credential of [token, key]) expect(JSON.stringify(server.log)).not.toContain(credential);
});

describe('a failure that nobody foresaw', () => {
  test('is a 500 that tells nothing, is logged with its cause, and does not end the process', async () => {
    using folder = new Folder();
    await using server = await Server.start(folder);
    const other = new Database(folder.file('duet.db'));
    other.run('DROP TABLE "Book"');
    const overflow = 'abs(-9223372036854775807 - 1)';
    other.run(
      `CREATE VIEW "Book" AS SELECT ${overflow} AS "id", 't' AS "title", NULL AS "author", 1 AS "pages", 1 AS "_version"`,
    );
    other.close();
    const response = await fetch(`${server.url}/books`);
    expect(response.status).toBe(500);
    const body = (await response.json()) as any;
    expect(body).toEqual({
      type: 'about:blank',
      title: 'Internal Server Error',
      status: 500,
      code: 'INTERNAL',
      detail: 'Internal server error',
      requestId: response.headers.get('X-Request-Id'),
    });
    const failure = await server.logged('failure');
    expect(failure.requestId).toBe(body.requestId);
    expect(failure.cause).toContain('integer overflow');

    const query = '{ books { id } users { id } }';
    const graphql = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: JSON_HEADERS,
      body: JSON.stringify({ query }),
    });
    const answer = (await graphql.json()) as any;
    expect(graphql.status).toBe(200);
    expect(answer.data).toBeNull();
    expect(answer.errors[0].message).toBe('Internal server error');
    expect(answer.errors[0].extensions).toEqual({
      code: 'INTERNAL',
      requestId: graphql.headers.get('X-Request-Id'),
    });
    expect((await fetch(`${server.url}/users`)).status).toBe(200);
  });
});

describe('stopping', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s lets an accepted request finish and exits 0',
    async (signal) => {
      using folder = new Folder();
      await using server = await Server.start(folder);
      const body = '{"title":"slow","pages":1}';
      const slow = await connect(server.url);
      slow.send(
        `POST /books HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
      );
      await slow.taken();
      server.signal(signal);
      await server.logged('stopping');
      slow.send(body.slice(5));
      const answer = await slow.answer();
      expect(answer).toStartWith('HTTP/1.1 201 Created');
      expect(answer).toContain('"title":"slow"');
      expect(await server.exited()).toBe(0);
      expect(server.log.at(-1).event).toBe('stopped');
    },
  );

  test('a worker whose parent was killed lets an accepted request finish, too', async () => {
    using folder = new Folder();
    await using server = await Server.start(folder, { WORKERS: '2' });
    await server.logged('started', 2);
    const slow = await connect(server.url);
    slow.send(
      'POST /tasks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{',
    );
    await slow.taken();
    server.signal('SIGKILL');
    await Bun.sleep(500);
    slow.send('"title":"x"}');
    expect(await slow.answer()).toStartWith('HTTP/1.1 201 Created');
  });

  test('a wish to stop that comes twice is heard once', async () => {
    using folder = new Folder();
    await using server = await Server.start(folder);
    const slow = await connect(server.url);
    slow.send(
      'POST /tasks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{',
    );
    await slow.taken();
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGTERM'] as const) {
      server.signal(signal);
      await Bun.sleep(20);
    }
    slow.send('"title":"x"}');
    expect(await slow.answer()).toStartWith('HTTP/1.1 201 Created');
    expect(await server.exited()).toBe(0);
  });

  test.each(['1', '2'])(
    'DRAIN_DELAY goes on serving while /readyz is 503, with %s workers',
    async (workers) => {
      using folder = new Folder();
      const delay = 3000;
      await using server = await Server.start(folder, { WORKERS: workers, DRAIN_DELAY: String(delay) });
      const ask = async (path: string) => {
        const answer = await fetch(server.url + path, { headers: { Connection: 'close' } });
        return answer.status;
      };
      await server.logged('started', Number(workers));
      if (workers === '2') await server.logged('supervising');
      expect(await ask('/readyz')).toBe(200);
      server.signal('SIGTERM');
      await server.logged('stopping', workers === '1' ? 1 : 3);
      for (let count = 0; count < 5; count++)
        expect([await ask('/readyz'), await ask('/healthz'), await ask('/books/1')]).toEqual([503, 200, 200]);
      expect(await server.exited()).toBe(0);
      expect(server.log.filter(({ event }) => event === 'stopped').length).toBe(Number(workers));
    },
  );

  test('DRAIN_DELAY does not keep anybody waiting at a terminal', async () => {
    using folder = new Folder();
    await using server = await Server.start(folder, { DRAIN_DELAY: '600000' });
    server.signal('SIGINT');
    expect(await server.exited()).toBe(0);
  });

  test('does not wait for idle connections', async () => {
    using folder = new Folder();
    await using server = await Server.start(folder);
    const idle = await connect(server.url);
    idle.send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    await idle.begun();
    server.signal('SIGTERM');
    expect(await server.exited()).toBe(0);
    expect(await idle.answer()).toStartWith('HTTP/1.1 200 OK');
  });
});

describe('over a real socket', () => {
  test('unknown methods, odd paths and chunked bodies get their answers', async () => {
    using folder = new Folder();
    await using server = await Server.start(folder);
    const ask = async (text: string) => {
      const connection = await connect(server.url);
      connection.send(text);
      return connection.answer();
    };
    const close = 'Host: x\r\nConnection: close\r\n';
    expect(await ask(`PROPFIND /books HTTP/1.1\r\n${close}\r\n`)).toStartWith('HTTP/1.1 405 ');
    expect(await ask(`GET //books HTTP/1.1\r\n${close}\r\n`)).toStartWith('HTTP/1.1 404 ');
    expect(await ask(`GET /books/%00 HTTP/1.1\r\n${close}\r\n`)).toStartWith('HTTP/1.1 404 ');
    // Load balancers ask like this.
    expect(await ask('GET /healthz HTTP/1.0\r\n\r\n')).toStartWith('HTTP/1.1 200 ');
    for (const host of ['', 'x:99999'])
      expect(await ask(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).toStartWith(
        'HTTP/1.1 200 ',
      );
    const head = await ask(`HEAD /books/1 HTTP/1.1\r\n${close}\r\n`);
    expect(head).toStartWith('HTTP/1.1 200 OK');
    expect(head).toMatch(/content-length: 60\r\n/i);
    expect(head).toEndWith('\r\n\r\n');

    const chunk = `10000\r\n${'a'.repeat(65536)}\r\n`;
    const large = await ask(
      `POST /books HTTP/1.1\r\n${close}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(32)}0\r\n\r\n`,
    );
    expect(large).toStartWith('HTTP/1.1 413 ');
    expect(large).toContain('"code":"BODY_TOO_LARGE"');
    const announced = await connect(server.url);
    announced.send(
      `POST /books HTTP/1.1\r\n${close}Content-Type: application/json\r\nContent-Length: 200000000\r\n\r\n${'a'.repeat(9_000_000)}`,
    );
    expect(await announced.answer()).toContain('"code":"BODY_TOO_LARGE"');
  });
});

describe('a reader that leaves', () => {
  test.each(['diff', 'migrate', 'export', '--help'])('ends %s without a word', async (name) => {
    using folder = new Folder();
    const line = 'set -o pipefail; { sleep 0.1; exec "$@"; } | true';
    const { stderr, exit } = await ended(inShell(folder, line, [name]));
    expect([stderr.replace(/^exported \d+ records\n$/, ''), exit]).toEqual(['', 141]);
  });

  test('does not end a server', async () => {
    using folder = new Folder();
    const child = inShell(folder, 'exec "$@" > >(exec grep -m 1 started)', ['serve']);
    const { url, pid } = JSON.parse(await child.stdout.text());
    expect(pid).toBe(child.pid);
    for (let request = 0; request < 20; request++) {
      expect((await fetch(`${url}/books`)).status).toBe(200);
      await Bun.sleep(5);
    }
    child.kill('SIGTERM');
    expect(await child.exited).toBe(0);
    expect(await child.stderr.text()).toBe('');
  });

  test('is not taken for a disk that is full', async () => {
    using folder = new Folder();
    const { stderr, exit } = await ended(inShell(folder, '"$@" > /dev/full', ['diff']));
    expect([stderr, exit]).toEqual([expect.stringMatching(/^duet: cannot write \(.*ENOSPC.*\)\n$/), 1]);
  });
});
