/** Long events that nobody reads: however many listen, and whatever each of them asks for, they take little memory. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { databases, JSON_HEADERS, sharedPostgres, within } from '../app.ts';
import { Folder, Server } from '../process.ts';
import { frame } from './frame.ts';

const MIB = 1024 * 1024;
const LISTENERS = 100;
const TEXT = 'x'.repeat(1_000_000);

/** Each its own document, with events of 28 MB. */
const queryOf = (place: number) => {
  const aliases = Array.from({ length: 28 }, (_, at) => `a${at}: after { id text }`);
  return `subscription { noteChanges(where: { id: { ne: ${1000 + place} } }) { ${aliases.join(' ')} } }`;
};

describe.each([...databases])('on %s', (database) => {
  let folder: Folder;
  let server: Awaited<ReturnType<typeof Server.start>>;
  beforeAll(async () => {
    folder = new Folder({
      'schema.graphql': 'type Note @resource @journal { id: ID! text: String! }',
      'data.json': '{}',
    });
    const url = database === 'sqlite' ? 'sqlite:notes.db' : await (await sharedPostgres()).database();
    server = await Server.start(folder, { DATABASE_URL: url, LIMIT_LAG: '10000' });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  /** The most that the server has ever had. */
  const peak = () =>
    Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) * 1024;
  const streams = async () =>
    Number(/^duet_streams (\d+)$/m.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1]);
  /** At most twenty seconds. */
  const until = async (isSo: (count: number) => boolean) => {
    for (let tries = 0; tries < 200 && !isSo(await streams()); tries++) await Bun.sleep(100);
  };
  const connected = async (head: string) => {
    const socket = net.connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.on('error', () => {});
    socket.write(head);
    await within(20_000, once(socket, 'data'));
    return socket;
  };
  /** What the server takes for it: somebody who reads is told all the while, however many do not. */
  const written = async (listening: readonly net.Socket[]) => {
    const before = peak();
    for (const socket of listening) socket.pause();
    const body = JSON.stringify({ query: queryOf(0) });
    const headers = { ...JSON_HEADERS, Accept: 'text/event-stream' };
    const reader = await fetch(`${server.url}/graphql`, { method: 'POST', headers, body });
    for (let count = 0; count < 2; count++) {
      const init = { method: 'POST', headers: JSON_HEADERS, body: JSON.stringify({ text: TEXT }) };
      expect((await fetch(`${server.url}/notes`, init)).status).toBe(201);
    }
    let read = 0;
    for await (const part of reader.body as unknown as AsyncIterable<Uint8Array>) {
      read += part.length;
      if (read > 2 * 28 * TEXT.length) break;
    }
    await Bun.sleep(1000);
    for (const socket of listening) socket.destroy();
    await until((count) => count === 0);
    return { isRead: read > 2 * 28 * TEXT.length, bytes: peak() - before };
  };

  test('over SSE', async () => {
    const listening = await Promise.all(
      Array.from({ length: LISTENERS }, (_, place) => {
        const body = JSON.stringify({ query: queryOf(1 + place) });
        return connected(
          `POST /graphql HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        );
      }),
    );
    const { isRead, bytes } = await written(listening);
    expect([isRead, bytes < 500 * MIB]).toEqual([true, true]);
  });

  test('over WebSockets', async () => {
    const listening: net.Socket[] = [];
    for (let place = 1; place <= LISTENERS; place++) {
      const socket = await connected(
        'GET /graphql HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n',
      );
      socket.write(frame({ type: 'connection_init' }));
      await within(10_000, once(socket, 'data'));
      socket.write(frame({ id: 'a', type: 'subscribe', payload: { query: queryOf(place) } }));
      listening.push(socket);
    }
    await until((count) => count === 2 * LISTENERS);
    const { isRead, bytes } = await written(listening);
    expect([isRead, bytes < 700 * MIB]).toEqual([true, true]);
  });
});
