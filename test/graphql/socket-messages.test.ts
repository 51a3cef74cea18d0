/** Messages of WebSockets that are read in one turn of the event loop: the first at once, the others in turns, all in their order. */

import { expect, spyOn, test } from 'bun:test';
import { Metrics } from '../../src/base/metrics.ts';
import { openSocket } from '../../src/graphql/socket.ts';
import { BodyWaits } from '../../src/http/body.ts';
import type { Exchange } from '../../src/http/exchange.ts';
import { Load, watchLag } from '../../src/http/guard/load.ts';
import type { Attendant } from '../../src/http/sockets.ts';
import { Streams } from '../../src/http/streams.ts';

const PING = '{"type":"ping"}';
const PONG = '{"type":"pong"}';
const turned = () => new Promise(setImmediate);

test('whoever sends many does not keep others from being read', async () => {
  const load = new Load(1000, 1000, 1_000_000, 1_000_000);
  const limits = { body: 1_000_000, bodyTime: 10_000, jsonDepth: 64, load, waits: new BodyWaits() };
  const streams = new Streams(10, new Metrics(), undefined);
  const opened = Promise.withResolvers<Attendant>();
  const headers = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Protocol': 'graphql-transport-ws',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  };
  const connections = {
    requestIP: () => null,
    upgrade: (_: Request, { data }: { readonly data: unknown }) => {
      opened.resolve(data as Attendant);
      return true;
    },
  };
  const fetch = () => new Response('{}', { status: 200 });
  const request = new Request('http://duet.test/graphql', { headers });
  const options = { fetch, authenticate: undefined, streams, origins: null };
  openSocket(options, limits, { request, connections } as unknown as Exchange);
  const attendant = await opened.promise;
  const sent: string[] = [];
  const close = (code: number) => sent.push(`closed ${code}`);
  const send = (text: string) => sent.push(text);
  attendant.opened({ send, close, getBufferedAmount: () => 0, terminate: () => sent.push('terminated') });

  const unwatch = watchLag();
  await turned();
  let now = performance.now();
  const clock = spyOn(performance, 'now').mockImplementation(() => now);
  for (const text of [PING, PING, PING, PING, 'no message', PING]) {
    attendant.message(text);
    now += 30;
  }
  expect(sent).toEqual([PONG, PONG]);
  expect(load.arriving).toBe(3 * PING.length + 'no message'.length);
  clock.mockRestore();
  await turned();
  await turned();
  expect(sent).toEqual([PONG, PONG, PONG, PONG, 'closed 4400']);
  expect(load.arriving).toBe(0);
  unwatch();
  attendant.closed();
});
