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
    const unsent = async () => Number(/^duet_unsent_bytes (\d+)$/m.exec((await ask('/metrics')).text)?.[1]);
    /** At most ten seconds. */
    const until = async (isSo: (bytes: number) => boolean) => {
      for (let tries = 0; tries < 200 && !isSo(await unsent()); tries++) await Bun.sleep(50);
      return isSo(await unsent());
    };
    const deaf = async () => {
      const client = await connect(server.url);
      client.pause();
      client.send('GET /notes HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
      return client;
    };

    const clients: Awaited<ReturnType<typeof deaf>>[] = [];
    for (let count = 1; count <= FIT; count++) {
      clients.push(await deaf());
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
