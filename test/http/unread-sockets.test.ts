/** Whoever asks over a WebSocket and does not read holds no more bodies in memory than one may have. */

import { expect, test } from 'bun:test';
import { once } from 'node:events';
import net from 'node:net';
import { within } from '../app.ts';
import { Folder, Server } from '../process.ts';

const LIMIT = 100_000;

/** A text message as a client sends it (RFC 6455, section 5.2); a mask of zeros leaves it as it is. */
function frame(message: object): Buffer {
  const text = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(14);
  head.writeUInt16BE(0x81ff);
  head.writeBigUInt64BE(BigInt(text.length), 2);
  return Buffer.concat([head, text]);
}

test('what waits for a client that does not read counts, and beyond LIMIT_BODY its socket is closed', async () => {
  using folder = new Folder({
    'schema.graphql': 'type Note @resource @journal { id: ID! text: String! }',
    'data.json': JSON.stringify({ notes: [{ id: 1, text: 'x'.repeat(1_000_000) }] }),
  });
  const env = { DATABASE_URL: 'sqlite:notes.db', LIMIT_BODY: String(LIMIT), LIMIT_BODY_TIME: '60000' };
  await using server = await Server.start(folder, env);
  const metric = async (name: string) => {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
  };
  /** At most ten seconds. */
  const until = async (name: string, isSo: (value: number) => boolean) => {
    for (let tries = 0; tries < 200 && !isSo(await metric(name)); tries++) await Bun.sleep(50);
    return metric(name);
  };
  const socket = net.connect(Number(new URL(server.url).port), '127.0.0.1');
  const heard = () => within(10_000, once(socket, 'data'));
  socket.write(
    `GET /graphql HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n`,
  );
  await heard();
  socket.write(frame({ type: 'connection_init' }));
  await heard();
  socket.pause();
  const subscribe = (id: string, query: string) =>
    socket.write(frame({ id, type: 'subscribe', payload: { query } }));
  // Until no more fits into what lies between the two.
  for (let at = 0; at < 100 && (await metric('duet_arriving_bytes')) === 0; at++)
    subscribe(`long ${at}`, '{ notes { text } }');
  const padding = ' '.repeat(LIMIT / 2);
  subscribe('within', `{ __typename ${padding} }`);
  const held = await until('duet_arriving_bytes', (bytes) => bytes > LIMIT / 2);
  expect([held > LIMIT / 2, held < LIMIT, await metric('duet_streams')]).toEqual([true, true, 1]);
  subscribe('beyond', `{ __typename ${padding} }`);
  expect(await until('duet_streams', (streams) => streams === 0)).toBe(0);
  expect(await until('duet_arriving_bytes', (bytes) => bytes === 0)).toBe(0);
  socket.destroy();
});
