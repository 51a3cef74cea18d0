/** Long answers that nobody reads stay in memory: there is room for so many, and what is short is answered all the same. */

import { describe, expect, test } from 'bun:test';
import { databases, JSON_HEADERS, sharedPostgres } from '../app.ts';
import { connect, Folder, Server } from '../process.ts';

const sdl = 'type Note @resource { id: ID!  name: String!  body: String! }';
/** Beyond what the system itself takes off a server's hands. */
const LIMIT = 8 * 1024 * 1024;
const FIT = 8;
const LENGTH = 950_000;
const notes = Array.from({ length: 8 }, (_, index) => ({ name: 'x', body: `${index}`.padEnd(LENGTH, 'y') }));

type Served = Awaited<ReturnType<typeof Server.start>>;

async function unsentOf({ url }: Served): Promise<number> {
  return Number(/^duet_unsent_bytes (\d+)$/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1]);
}

/** At most ten seconds. */
async function untilUnsent(server: Served, isSo: (bytes: number) => boolean): Promise<boolean> {
  for (let tries = 0; tries < 200 && !isSo(await unsentOf(server)); tries++) await Bun.sleep(50);
  return isSo(await unsentOf(server));
}

/** Who asks and does not read. */
async function deaf({ url }: Served, path: string) {
  const client = await connect(url);
  client.pause();
  client.send(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  return client;
}

test('so are descriptions of the schema, which are made once for all who ask at once', async () => {
  const fields = Array.from({ length: 8 }, (_, at) => `"""${'d'.repeat(LENGTH)}""" f${at}: String`);
  const schema = `type Note @resource(rest: false) { id: ID! ${fields.join('\n')} }`;
  using folder = new Folder({ 'schema.graphql': schema, 'data.json': '{}' });
  const env = { DATABASE_URL: 'sqlite:notes.db', LIMIT_BYTES: String(LIMIT) };
  await using server = await Server.start(folder, env);
  const path = `/graphql?query=${encodeURIComponent('{ __type(name: "Note") { fields { description } } }')}`;
  const clients = await Promise.all(Array.from({ length: 2 * FIT }, () => deaf(server, path)));
  expect(await untilUnsent(server, (bytes) => bytes > (FIT - 1) * 8 * LENGTH)).toBe(true);
  const refused = await fetch(server.url + path);
  const { errors } = (await refused.json()) as any;
  expect([refused.status, errors[0].extensions.code]).toEqual([503, 'UNAVAILABLE']);
  expect(await unsentOf(server)).toBeLessThan(FIT * LIMIT);
  for (const client of clients) client.destroy();
  expect(await untilUnsent(server, (bytes) => bytes === 0)).toBe(true);
  expect((await fetch(server.url + path)).status).toBe(200);
});

describe.each([...databases])('on %s', (database) => {
  test('long answers are refused while others wait for their clients', async () => {
    using folder = new Folder({ 'schema.graphql': sdl, 'data.json': JSON.stringify({ notes }) });
    const url = database === 'sqlite' ? 'sqlite:notes.db' : await (await sharedPostgres()).database();
    await using server = await Server.start(folder, { DATABASE_URL: url, LIMIT_BYTES: String(LIMIT) });
    const ask = async (path: string) => {
      const answer = await fetch(server.url + path);
      const text = await answer.text();
      return { answer, status: answer.status, text };
    };
    const graphql = async (query: string) => {
      const init = { method: 'POST', headers: JSON_HEADERS, body: JSON.stringify({ query }) };
      const answer = await fetch(`${server.url}/graphql`, init);
      const { data, errors } = (await answer.json()) as any;
      return [answer.status, answer.headers.get('Retry-After'), data, errors?.[0].extensions.code];
    };
    const unsent = () => unsentOf(server);
    const until = (isSo: (bytes: number) => boolean) => untilUnsent(server, isSo);
    const clients: Awaited<ReturnType<typeof deaf>>[] = [];
    for (let count = 1; count <= FIT; count++) {
      clients.push(await deaf(server, '/notes'));
      expect(await until((bytes) => bytes > count * 8 * LENGTH)).toBe(true);
    }
    const refused = await ask('/notes');
    expect([refused.status, refused.answer.headers.get('Retry-After')]).toEqual([503, '1']);
    expect(JSON.parse(refused.text).code).toBe('UNAVAILABLE');
    expect(await graphql('{ notes { body } }')).toEqual([200, null, null, 'UNAVAILABLE']);
    const change = 'mutation { updateNotes(where: {}, set: { name: "y" }, atMost: 9) { name body } }';
    expect(await graphql(change)).toEqual([200, null, null, 'UNAVAILABLE']);
    expect(await unsent()).toBeLessThan(FIT * LIMIT);

    const short = await ask('/notes?fields=id,name');
    expect([short.status, JSON.parse(short.text)[0].name]).toEqual([200, 'x']);
    expect(await graphql('{ note(id: 1) { name } }')).toEqual([
      200,
      null,
      { note: { name: 'x' } },
      undefined,
    ]);

    const [reader, ...others] = clients;
    reader?.resume();
    expect((await reader?.answer())?.length).toBeGreaterThan(LENGTH);
    const long = await ask('/notes');
    expect([long.status, long.answer.headers.has('Content-Length')]).toEqual([200, true]);
    expect(JSON.parse(long.text).length).toBe(8);

    for (const client of others) client.destroy();
    expect(await until((bytes) => bytes === 0)).toBe(true);
    expect((await ask('/notes')).status).toBe(200);
  });
});
