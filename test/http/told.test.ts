/** What a client is told of its request is what has become of it: on the wire, byte by byte. */

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import net from 'node:net';
import { databases, sharedPostgres, within } from '../app.ts';
import { Folder, Server } from '../process.ts';

const sdl = 'type Note @resource { id: ID!  title: String! }';
const logic = `export default {
  routes: {
    'POST /hooks/note': async (request, { api }) => {
      await api.notes.create(await request.json());
      return new Response(null, { status: 204 });
    },
  },
};`;
const data = JSON.stringify({ notes: [{ id: 1, title: 'first' }] });

/** Milliseconds: so long somebody waits who does not wait for the answer. */
const GOES = 100;

/** Sends each part on its own, and reads until the server hangs up or nothing comes any more, or for so long. */
async function exchange(url: string, parts: readonly string[], patience?: number) {
  const { hostname, port } = new URL(url);
  const socket = net.connect({ port: Number(port), host: hostname, noDelay: true });
  let [received, broke] = ['', ''];
  const closed = new Promise<void>((resolve) => {
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
    });
    socket.on('error', ({ message }) => {
      broke = message;
    });
    socket.on('close', () => resolve());
  });
  for (const [at, part] of parts.entries()) {
    if (at > 0) await Bun.sleep(30);
    socket.write(Buffer.from(part, 'latin1'));
  }
  // A connection that is kept is ours to end, once the answer is there.
  const end = received.indexOf('\r\n\r\n');
  const answered = new Promise((resolve) => socket.once('data', resolve));
  if (end === -1)
    await Promise.race([closed, answered, ...(patience === undefined ? [] : [Bun.sleep(patience)])]);
  await Promise.race([closed, Bun.sleep(50)]);
  socket.destroy();
  await within(10_000, closed);
  return { received, broke, status: Number(/^HTTP\/1\.1 (\d{3})/.exec(received)?.[1] ?? 0) };
}

const head = (line: string, ...headers: string[]) =>
  `${[`${line} HTTP/1.1`, 'Host: duet.test', 'Content-Type: application/json', ...headers].join('\r\n')}\r\n\r\n`;

const chunked = (body: string, trailers = '') =>
  `${body.length.toString(16)}\r\n${body}\r\n0\r\n${trailers}\r\n`;

type Framing = (line: string, body: string, headers: string[]) => string[];

const announced = (body: string) => `Content-Length: ${body.length}`;
const CHUNKED = 'Transfer-Encoding: chunked';

/** Whether the client ends its request as it should. */
const framings: Record<string, [Framing, boolean]> = {
  'a body and nothing else': [
    (line, body, headers) => [head(line, announced(body), ...headers) + body],
    true,
  ],
  'a body of its own packet': [
    (line, body, headers) => [head(line, announced(body), ...headers), body],
    true,
  ],
  chunks: [(line, body, headers) => [head(line, CHUNKED, ...headers) + chunked(body)], true],
  'a body and CRLF': [
    (line, body, headers) => [`${head(line, announced(body), ...headers)}${body}\r\n`],
    false,
  ],
  'headers, then a body and CRLF': [
    (line, body, headers) => [head(line, announced(body), ...headers), `${body}\r\n`],
    false,
  ],
  'a body and what is no request': [
    (line, body, headers) => [`${head(line, announced(body), ...headers)}${body}hello\r\n\r\n`],
    false,
  ],
  'chunks and CRLF': [
    (line, body, headers) => [`${head(line, CHUNKED, ...headers)}${chunked(body)}\r\n`],
    false,
  ],
  'chunks and a trailer': [
    (line, body, headers) => [head(line, CHUNKED, ...headers) + chunked(body, 'X-Sum: 1\r\n')],
    false,
  ],
  'headers, then chunks and a trailer': [
    (line, body, headers) => [head(line, CHUNKED, ...headers), chunked(body, 'X-Sum: 1\r\n')],
    false,
  ],
  'a trailer that is announced': [
    (line, body, headers) => [
      head(line, CHUNKED, 'Trailer: X-Sum', ...headers) + chunked(body, 'X-Sum: 1\r\n'),
    ],
    false,
  ],
  'a trailer that is announced, and comes late': [
    (line, body, headers) => [
      head(line, CHUNKED, 'Trailer: X-Sum', ...headers),
      chunked(body).slice(0, -2),
      'X-Sum: 1\r\n\r\n',
    ],
    false,
  ],
};

/** Each renames the note that is there, or makes one, or deletes it. */
const writes: Record<string, (title: string) => [line: string, body: unknown, headers: string[]]> = {
  POST: (title) => ['POST /notes', { title }, []],
  'POST with a key': (title) => ['POST /notes', { title }, [`Idempotency-Key: ${title}`]],
  'POST to a function': (title) => ['POST /hooks/note', { title }, []],
  PUT: (title) => ['PUT /notes/1', { title }, []],
  DELETE: () => ['DELETE /notes/1', {}, []],
  'a transaction': (title) => [
    'POST /transaction',
    {
      operations: [
        { method: 'POST', path: '/notes', body: { title } },
        { method: 'PUT', path: '/notes/1', body: { title } },
      ],
    },
    [],
  ],
  'a mutation': (title) => [
    'POST /graphql',
    { query: `mutation { createNote(title: "${title}") { id } }` },
    [],
  ],
  'an atomic mutation': (title) => [
    'POST /graphql',
    {
      query: `mutation @atomic { createNote(title: "${title}") { id } updateNote(id: 1, title: "${title}") { id } }`,
    },
    [],
  ],
  'a mutation on many': (title) => [
    'POST /graphql',
    { query: `mutation { updateNotes(where: {}, set: { title: "${title}" }, atMost: 10000) { id } }` },
    [],
  ],
};

describe.each([...databases])('on %s', (database) => {
  let folder: Folder;
  let server: Server & { readonly url: string };
  let last = 0;

  beforeAll(async () => {
    folder = new Folder({ 'schema.graphql': sdl, 'data.json': data, 'logic.ts': logic });
    const DATABASE_URL =
      database === 'sqlite' ? `sqlite:${folder.file('duet.db')}` : await (await sharedPostgres()).database();
    server = await Server.start(folder, { DATABASE_URL });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const notes = async (): Promise<string> => (await fetch(`${server.url}/notes`)).text();
  /** A note to rename or to delete, under the number that the writes name. */
  const prepared = async (line: string) => {
    if (!line.startsWith('DELETE')) return line;
    const headers = { 'Content-Type': 'application/json' };
    const made = await fetch(`${server.url}/notes`, { method: 'POST', headers, body: '{"title":"to go"}' });
    return `DELETE ${made.headers.get('Location')}`;
  };

  describe.each(Object.keys(writes))('%s', (write) => {
    test.each(Object.keys(framings))('as %s', async (framing) => {
      const [frame, isSound] = framings[framing] ?? [() => [], false];
      for (let round = 0; round < 3; round++) {
        const [line, body, headers] = writes[write]?.(`t${++last}`) ?? ['', {}, []];
        const parts = frame(await prepared(line), JSON.stringify(body), headers);
        const before = await notes();
        const { status } = await exchange(server.url, parts);
        const isWritten = (await notes()) !== before;
        expect([status >= 200 && status < 300, isWritten]).toEqual([isSound, isSound]);
        if (!isSound) expect(status).toBe(400);
      }
    });
  });

  test('a write whose client does not wait for the answer before the next request is not begun', async () => {
    const before = await notes();
    const body = '{"title":"hasty"}';
    const { received } = await exchange(server.url, [
      `${head('POST /notes', announced(body))}${body}${head('GET /notes')}`,
    ]);
    expect([received === '', (await notes()) === before]).toEqual([true, true]);
  });
});

describe.each(Object.keys(writes).filter((write) => write !== 'POST to a function'))('%s', (write) => {
  test('that waits for another, and whose client goes meanwhile, is not begun', async () => {
    using folder = new Folder({ 'schema.graphql': sdl, 'data.json': data, 'logic.ts': logic });
    const file = folder.file('duet.db');
    await using server = await Server.start(folder, { DATABASE_URL: `sqlite:${file}` });
    const notes = async () => (await (await fetch(`${server.url}/notes`)).json()) as { title: string }[];
    const [line, body, headers] = writes[write]?.('gone') ?? ['', {}, []];
    const text = JSON.stringify(body);
    using other = new Database(file);
    other.run('BEGIN IMMEDIATE');
    await exchange(server.url, [head(line, announced(text), ...headers) + text], GOES);
    // What came before them was seen by then.
    for (let round = 0; round < 3; round++) await notes();
    other.run('COMMIT');
    const next = await fetch(`${server.url}/notes`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{"title":"next"}',
    });
    expect(next.status).toBe(201);
    expect((await notes()).map(({ title }) => title)).toEqual(['first', 'next']);
  });
});

describe('a request for the last time on its connection', () => {
  let folder: Folder;
  let server: Server & { readonly url: string };

  beforeAll(async () => {
    folder = new Folder();
    server = await Server.start(folder, { LIMIT_BODY: '1000' });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const closing = /^Connection: close\r$/im;
  const requests: [name: string, line: string, status: number, headers?: string[], body?: string][] = [
    ['a record', 'GET /books/1', 200],
    ['a list', 'GET /books', 200],
    ['a page', 'GET /books?limit=1', 200],
    ['HEAD', 'HEAD /books/1', 200],
    ['OPTIONS', 'OPTIONS /books', 204],
    ['an unchanged record', 'GET /books/1', 304, ['If-None-Match: *']],
    ['CSV', 'GET /books', 200, ['Accept: text/csv']],
    ['NDJSON', 'GET /books', 200, ['Accept: application/x-ndjson']],
    ['nothing', 'GET /nowhere', 404],
    ['another method', 'PATCH /books', 405],
    ['a wrong body', 'POST /books', 400, [], '{'],
    ['a long body', 'POST /books', 413, [], ' '.repeat(5000)],
    ['a create', 'POST /todos', 201, [], '{"title":"x"}'],
    ['an update', 'PUT /todos/1', 200, [], '{"title":"x"}'],
    ['a delete', 'DELETE /todos/2', 204],
    [
      'a transaction',
      'POST /transaction',
      200,
      [],
      '{"operations":[{"method":"PUT","path":"/todos/1","body":{"title":"x"}}]}',
    ],
    ['a query', 'POST /graphql', 200, [], '{"query":"{ books { id } }"}'],
    ['a query that is none', 'POST /graphql', 200, [], '{"query":"{"}'],
    ['the console', 'GET /', 200],
    ['health', 'GET /healthz', 200],
    ['readiness', 'GET /readyz', 200],
    ['metrics', 'GET /metrics', 200],
    ['the description', 'GET /openapi.json', 200],
  ];
  test.each(requests)('%s: the answer says so too', async (_name, line, status, headers = [], body = '') => {
    const send = (...more: string[]) =>
      exchange(server.url, [head(line, announced(body), ...headers, ...more) + body]);
    // A record can be deleted only once.
    const options = line.startsWith('DELETE') ? ['close'] : ['keep-alive', 'close', 'Close', 'TE, close'];
    for (const option of options) {
      const answer = await send(`Connection: ${option}`);
      const says = closing.test(answer.received);
      expect([option, answer.status, says]).toEqual([option, status, option !== 'keep-alive']);
    }
  });

  test('HTTP/1.0 without a Host', async () => {
    const { received } = await exchange(server.url, ['GET /books/1 HTTP/1.0\r\n\r\n']);
    expect(received).toStartWith('HTTP/1.1 200');
    expect(received).toMatch(closing);
  });

  test('with a body that nobody looks at: the answer can be read before the connection ends', async () => {
    const body = ' '.repeat(4_000_000);
    for (const line of ['POST /nowhere', 'PATCH /books', 'DELETE /books', 'POST /healthz'])
      for (let round = 0; round < 5; round++) {
        const { status, broke } = await exchange(server.url, [
          head(line, 'Connection: close', announced(body)) + body,
        ]);
        expect([line, status >= 404, broke]).toEqual([line, true, '']);
      }
  });

  test('a GET with a body is refused, because the runtime would cut its answer off', async () => {
    for (const framing of ['Content-Length: 4', CHUNKED]) {
      const body = framing === CHUNKED ? chunked('body') : 'body';
      const { received } = await exchange(server.url, [
        head('GET /books', 'Connection: close', framing),
        body,
      ]);
      expect(received).toStartWith('HTTP/1.1 400');
      expect(received).toContain('"parameter":"Connection"');
      const kept = await exchange(server.url, [head('GET /books', framing), body]);
      expect(kept.status).toBe(200);
    }
    for (const none of ['Content-Length: 0', 'Accept: */*'])
      expect((await exchange(server.url, [head('GET /books', 'Connection: close', none)])).status).toBe(200);
  });
});
