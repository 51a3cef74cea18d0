/** Whoever asks over a WebSocket and does not read holds no more bodies in memory than one may have, and loses no answer. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { once } from 'node:events';
import net from 'node:net';
import { within } from '../app.ts';
import { Folder, Server } from '../process.ts';
import { frame } from './frame.ts';

const LIMIT = 100_000;

/** The texts of messages in what was received; what is no text is a close (section 5.5.1). */
function messagesIn(bytes: Buffer): string[] {
  const messages: string[] = [];
  for (let at = 0; at + 2 <= bytes.length; ) {
    const short = (bytes[at + 1] ?? 0) & 0x7f;
    const head = short === 127 ? 10 : short === 126 ? 4 : 2;
    const length =
      short === 127
        ? Number(bytes.readBigUInt64BE(at + 2))
        : short === 126
          ? bytes.readUInt16BE(at + 2)
          : short;
    const end = at + head + length;
    if (end > bytes.length) break;
    messages.push(((bytes[at] ?? 0) & 0xf) === 1 ? bytes.toString('latin1', at + head, end) : 'closed');
    at = end;
  }
  return messages;
}

let folder: Folder;
let server: Awaited<ReturnType<typeof Server.start>>;
beforeAll(async () => {
  folder = new Folder({
    'schema.graphql': 'type Note @resource @journal { id: ID! text: String! }',
    'data.json': JSON.stringify({
      notes: [
        { id: 1, text: 'x'.repeat(1_000_000) },
        { id: 2, text: 'y'.repeat(60_000) },
      ],
    }),
  });
  const env = {
    DATABASE_URL: 'sqlite:notes.db',
    LIMIT_BODY: String(LIMIT),
    LIMIT_BODY_TIME: '60000',
    LIMIT_LAG: '10000',
  };
  server = await Server.start(folder, env);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

/** Acknowledged. */
async function opened(): Promise<net.Socket> {
  const socket = net.connect(Number(new URL(server.url).port), '127.0.0.1');
  const heard = () => within(10_000, once(socket, 'data'));
  socket.write(
    `GET /graphql HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n`,
  );
  await heard();
  socket.write(frame({ type: 'connection_init' }));
  await heard();
  return socket;
}

test('what waits for a client that does not read counts, and beyond LIMIT_BODY its socket is closed', async () => {
  /** At most ten seconds. */
  const until = async (name: string, isSo: (value: number) => boolean) => {
    for (let tries = 0; tries < 200 && !isSo(await metric(name)); tries++) await Bun.sleep(50);
    return metric(name);
  };
  const socket = await opened();
  socket.pause();
  const subscribe = (id: string, query: string) =>
    socket.write(frame({ id, type: 'subscribe', payload: { query } }));
  // Until no more fits into what lies between the two.
  for (let at = 0; at < 100 && (await metric('duet_arriving_bytes')) === 0; at++)
    subscribe(`long ${at}`, '{ notes(first: 1) { text } }');
  const padding = ' '.repeat(LIMIT / 2);
  subscribe('within', `{ __typename ${padding} }`);
  const held = await until('duet_arriving_bytes', (bytes) => bytes > LIMIT / 2);
  expect([held > LIMIT / 2, held < LIMIT, await metric('duet_streams')]).toEqual([true, true, 1]);
  subscribe('beyond', `{ __typename ${padding} }`);
  expect(await until('duet_streams', (streams) => streams === 0)).toBe(0);
  expect(await until('duet_arriving_bytes', (bytes) => bytes === 0)).toBe(0);
  socket.destroy();
});

test('of long answers none is lost, however slowly they are read, and all count until then', async () => {
  const socket = await opened();
  const parts: Buffer[] = [];
  const over = Promise.withResolvers<void>();
  let ends = 0;
  let read = 0;
  let isStill = true;
  socket.on('close', over.resolve);
  socket.on('data', async (part: Buffer) => {
    parts.push(part);
    read += part.length;
    ends += part.toString('latin1').split('"complete"').length - 1;
    if (ends === 3) over.resolve();
    // Only so much at a time.
    socket.pause();
    await Bun.sleep(1);
    if (!isStill || read < 5_000_000) socket.resume();
  });
  socket.pause();
  const asked = { first: 29, next: 29, last: 1 };
  const frames = Object.entries(asked).map(([id, count]) => {
    const aliases = Array.from({ length: count }, (_, at) => `a${at}: notes(first: 1) { text }`);
    return frame({ id, type: 'subscribe', payload: { query: `{ ${aliases.join(' ')} }` } });
  });
  socket.write(Buffer.concat(frames));
  // Asked while little is read: for who has read much, the system itself may hold all of an answer.
  const unsent = () => metric('duet_unsent_bytes');
  let before = -1;
  for (let tries = 0; tries < 100 && (before < 29_000_000 || before !== (await unsent())); tries++) {
    before = await unsent();
    await Bun.sleep(100);
  }
  socket.resume();
  for (let tries = 0; tries < 100 && read < 5_000_000; tries++) await Bun.sleep(10);
  await Bun.sleep(100);
  expect(read).toBeLessThan(15_000_000);
  expect(await unsent()).toBeGreaterThanOrEqual(before);
  isStill = false;
  socket.resume();
  await within(20_000, over.promise);
  socket.destroy();
  const told = messagesIn(Buffer.concat(parts)).map((text) => {
    const { id, type, payload } = JSON.parse(text);
    const lengths = Object.values<any>(payload?.data ?? {}).map(([note]) => note.text.length);
    return [id, type, lengths.reduce((sum, length) => sum + length, 0)];
  });
  expect(told.sort()).toEqual([
    ['first', 'complete', 0],
    ['first', 'next', 29_000_000],
    ['last', 'complete', 0],
    ['last', 'next', 1_000_000],
    ['next', 'complete', 0],
    ['next', 'next', 29_000_000],
  ]);
});

test('of many that are asked for at once a few are answered at a time, and none while the client does not read', async () => {
  const socket = await opened();
  socket.pause();
  const carriedOut = () => metric('duet_graphql_operations_total.operation="short".*');
  const ids = Array.from({ length: 300 }, (_, at) => String(at));
  const query = 'query short { note(id: 2) { text } }';
  // In one piece: all of it is there before anything is answered.
  socket.write(
    Buffer.concat([
      ...ids.map((id) => frame({ id, type: 'subscribe', payload: { query } })),
      frame({ id: '299', type: 'complete' }),
      frame({ id: '299', type: 'subscribe', payload: { query } }),
    ]),
  );
  let count = -1;
  for (let tries = 0; tries < 200 && (count <= 0 || count !== (await carriedOut())); tries++) {
    count = await carriedOut();
    await Bun.sleep(100);
  }
  // What lies between the two has room for some of them.
  expect([count < 250, (await metric('duet_arriving_bytes')) > 50 * query.length]).toEqual([true, true]);
  const parts: Buffer[] = [];
  const over = Promise.withResolvers<void>();
  let ends = 0;
  socket.on('close', over.resolve);
  socket.on('data', (part: Buffer) => {
    parts.push(part);
    ends += part.toString('latin1').split('"complete"').length - 1;
    if (ends === ids.length) over.resolve();
  });
  socket.resume();
  await within(20_000, over.promise);
  socket.destroy();
  const told = messagesIn(Buffer.concat(parts)).map((text) => JSON.parse(text));
  expect(told.flatMap(({ id, type }) => (type === 'next' ? id : [])).toSorted()).toEqual(ids.toSorted());
});

test('others have their turn between the operations of a socket', async () => {
  const socket = await opened();
  const parts: Buffer[] = [];
  const answered = () =>
    messagesIn(Buffer.concat(parts)).filter((text) => text.includes('"complete"')).length;
  const first = Promise.withResolvers<void>();
  socket.on('data', (part: Buffer) => {
    parts.push(part);
    first.resolve();
  });
  const query = '{ notesAggregate(where: { id: { eq: 2 }, text: { contains: "yyyx" } }) { count } }';
  const ids = Array.from({ length: 900 }, (_, at) => String(at));
  socket.write(Buffer.concat(ids.map((id) => frame({ id, type: 'subscribe', payload: { query } }))));
  await within(20_000, first.promise);
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  expect(answered()).toBeLessThan(ids.length / 2);
  socket.destroy();
});
