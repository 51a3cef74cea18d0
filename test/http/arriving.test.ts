/** Bodies that are held back stay in memory: there is room for so many, and those that are sent at once get through. */

import { expect, test } from 'bun:test';
import { JSON_HEADERS, openApp } from '../app.ts';
import { connect, Folder, Server } from '../process.ts';

const FIT = 256;
const LIMIT = 2048;
const MEBIBYTE = 1024 * 1024;
const sdl = 'type Note @resource { id: ID!  name: String }';

test('whoever holds a body back the longest makes room for others', async () => {
  using folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{}' });
  const env = { DATABASE_URL: 'sqlite:notes.db', LIMIT_BODY: String(LIMIT), LIMIT_BODY_TIME: '30000' };
  await using server = await Server.start(folder, env);
  const arriving = async () => {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    return Number(/^duet_arriving_bytes (\d+)$/m.exec(text)?.[1]);
  };
  /** At most ten seconds. */
  const until = async (bytes: number) => {
    for (let tries = 0; tries < 200 && (await arriving()) !== bytes; tries++) await Bun.sleep(50);
    return arriving();
  };
  const body = JSON.stringify({ name: 'x'.repeat(LIMIT - '{"name":""}'.length) });
  const slow = async (framing: string, start: string) => {
    const client = await connect(server.url);
    client.send(
      `POST /notes HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n${framing}\r\n\r\n${start}`,
    );
    return client;
  };

  // What says nothing of its length counts for as long as it may be.
  const first = await slow('Transfer-Encoding: chunked', '1\r\n{\r\n');
  expect(await until(LIMIT)).toBe(LIMIT);
  const second = await slow(`Content-Length: ${LIMIT}`, body.slice(0, -1));
  const others: (typeof first)[] = [];
  for (let count = 2; count < FIT; count++) others.push(await slow(`Content-Length: ${LIMIT}`, ''));
  expect(await until(FIT * LIMIT)).toBe(FIT * LIMIT);

  const late = await slow(`Content-Length: ${LIMIT}`, '');
  const refused = await first.answer();
  expect(refused).toStartWith('HTTP/1.1 503 ');
  expect(refused).toMatch(/\r\nretry-after: 1\r\n/i);
  expect(refused).toContain('"code":"UNAVAILABLE"');
  expect(await until(FIT * LIMIT)).toBe(FIT * LIMIT);

  const { status } = await fetch(`${server.url}/notes`, {
    method: 'POST',
    headers: JSON_HEADERS,
    body: '{}',
  });
  expect(status).toBe(201);
  second.send(body.slice(-1));
  expect(await second.answer()).toStartWith('HTTP/1.1 201 ');
  expect(await until((FIT - 1) * LIMIT)).toBe((FIT - 1) * LIMIT);

  for (const client of [late, ...others]) client.destroy();
  expect(await until(0)).toBe(0);
});

test('a chunked body may be as long as LIMIT_BODY says, beyond what is thrown away of others, too', async () => {
  const app = await openApp('sqlite', { sdl, env: { LIMIT_BODY: String(10 * MEBIBYTE) } });
  const send = async (characters: number) => {
    const chunk = Buffer.from('x'.repeat(MEBIBYTE));
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(Buffer.from('{"name":"'));
        for (let left = characters; left > 0; left -= MEBIBYTE) controller.enqueue(chunk);
        controller.enqueue(Buffer.from('"}'));
        controller.close();
      },
    });
    return (await app.fetch('/notes?fields=id', { method: 'POST', headers: JSON_HEADERS, body })).status;
  };
  expect([await send(9 * MEBIBYTE), await send(10 * MEBIBYTE), await send(12 * MEBIBYTE)]).toEqual([
    201, 413, 413,
  ]);
  await app.close();
});
