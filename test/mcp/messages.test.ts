/** Messages of the Model Context Protocol as they are, and as attackers send them. */

import { afterAll, describe, expect, test } from 'bun:test';
import { refuseStrangers } from '../../src/mcp/origin.ts';
import { type AppUnderTest, openApp, within } from '../app.ts';
import { connect, Folder, Server } from '../process.ts';
import { call, LEGACY, MODERN, meta, rpc, send } from './client.ts';

const sdl = `type Book @resource { id: ID!  title: String! }`;
const app: AppUnderTest = await openApp('sqlite', { sdl, env: { MCP: 'write' } });
afterAll(() => app.close());

const modern = { 'MCP-Protocol-Version': MODERN, 'Mcp-Method': 'tools/list' };
const legacy = { 'MCP-Protocol-Version': LEGACY };
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } };

test('without the setting there is nothing', async () => {
  const off = await openApp('sqlite', { sdl });
  expect((await off.rest('POST', '/mcp', list, modern)).status).toBe(404);
  expect((await off.rest('GET', '/.well-known/oauth-protected-resource')).status).toBe(404);
  await off.close();
});

describe('both revisions', () => {
  test('2026-07-28 needs no handshake', async () => {
    const { body, status } = await rpc(app, 'server/discover');
    expect([status, body]).toEqual([
      200,
      {
        jsonrpc: '2.0',
        id: 1,
        result: {
          resultType: 'complete',
          supportedVersions: [MODERN, LEGACY],
          capabilities: { tools: {} },
          instructions: expect.any(String),
          ttlMs: 0,
          cacheScope: 'private',
          _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'duet', version: expect.any(String) } },
        },
      },
    ]);
    const { result } = (await rpc(app, 'tools/list')).body;
    expect(result).toMatchObject({ resultType: 'complete', ttlMs: 0, cacheScope: 'private' });
  });

  test.each([LEGACY, '2025-06-18', '1900-01-01'])('2025-11-25 begins with initialize (%s)', async (asked) => {
    const params = { protocolVersion: asked, capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const { body, headers } = await send(app, { jsonrpc: '2.0', id: 'a', method: 'initialize', params });
    expect(body).toEqual({
      jsonrpc: '2.0',
      id: 'a',
      result: {
        protocolVersion: LEGACY,
        capabilities: { tools: {} },
        serverInfo: { name: 'duet', version: expect.any(String) },
        instructions: expect.any(String),
      },
    });
    expect(headers.get('Mcp-Session-Id')).toBeNull();
  });

  test('the rest of 2025-11-25', async () => {
    const told = await send(app, { jsonrpc: '2.0', method: 'notifications/initialized' }, legacy);
    expect([told.status, told.body]).toEqual([202, undefined]);
    expect((await rpc(app, 'ping', {}, {}, LEGACY)).body).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    const { content, isError, ...others } = (await call(app, 'describe', {}, {}, LEGACY)).body.result;
    expect([content.length, isError, others]).toEqual([1, false, {}]);
  });

  test('a name that does not fit into a header is decoded', async () => {
    const encoded = `=?base64?${Buffer.from('describe').toString('base64')}?=`;
    expect((await call(app, 'describe', {}, { 'Mcp-Name': encoded })).isError).toBe(false);
  });

  test('GET and DELETE are not answered', async () => {
    for (const method of ['GET', 'DELETE']) {
      const { status, headers } = await app.fetch('/mcp', { method });
      expect([status, headers.get('Allow')]).toEqual([405, 'POST, OPTIONS']);
    }
  });
});

const huge = 'x'.repeat(300);
const without = (name: string) => {
  const { [`io.modelcontextprotocol/${name}`]: _, ...others } = meta as Record<string, unknown>;
  return { ...list, params: { _meta: others } };
};
const called = { 'MCP-Protocol-Version': LEGACY };
const toolCall = (params: unknown) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });

/** What is sent, with which headers, and what comes back: status, code, whether the id does. */
const table: [string, unknown, Record<string, string>, number, number, unknown][] = [
  ['no JSON', '{"jsonrpc"', modern, 400, -32700, undefined],
  ['a text', '"tools/list"', modern, 400, -32700, undefined],
  ['an empty body', '', modern, 400, -32700, undefined],
  ['a batch', [list, list], modern, 400, -32600, undefined],
  ['a batch behind spaces', ` \n${JSON.stringify([list])}`, modern, 400, -32600, undefined],
  ['an empty batch', [], modern, 400, -32600, undefined],
  [
    'deep JSON',
    `{"jsonrpc":"2.0","id":1,"method":"x","params":${'['.repeat(99)}${']'.repeat(99)}}`,
    modern,
    400,
    -32600,
    undefined,
  ],
  ['another type', list, { ...modern, 'Content-Type': 'text/plain' }, 400, -32600, undefined],
  [
    'a client that takes events alone',
    list,
    { ...modern, Accept: 'text/event-stream' },
    406,
    -32600,
    undefined,
  ],
  ['no jsonrpc', { ...list, jsonrpc: undefined }, modern, 400, -32600, 1],
  ['jsonrpc 1.0', { ...list, jsonrpc: '1.0' }, modern, 400, -32600, 1],
  ['id null', { ...list, id: null }, modern, 400, -32600, undefined],
  ['a fraction as id', { ...list, id: 1.5 }, modern, 400, -32600, undefined],
  [
    'an id that JSON does not keep',
    JSON.stringify(list).replace('"id":1', '"id":9007199254740993'),
    modern,
    400,
    -32600,
    undefined,
  ],
  ['an infinite id', JSON.stringify(list).replace('"id":1', '"id":1e999'), modern, 400, -32600, undefined],
  ['an id that is an object', { ...list, id: { a: 1 } }, modern, 400, -32600, undefined],
  ['a huge id', { ...list, id: huge }, modern, 400, -32600, undefined],
  ['a method that is a number', { ...list, method: 5 }, modern, 400, -32600, 1],
  ['a response', { jsonrpc: '2.0', id: 1, result: {} }, modern, 400, -32600, 1],
  ['params that are a list', { ...list, params: [] }, modern, 400, -32602, 1],
  ['params that are null', { ...list, params: null }, modern, 400, -32602, 1],
  ['_meta that is a text', { ...list, params: { _meta: 'x' } }, modern, 400, -32602, 1],
  ['no version in _meta', without('protocolVersion'), modern, 400, -32602, 1],
  ['no capabilities in _meta', without('clientCapabilities'), modern, 400, -32602, 1],
  ['no version at all', { ...list, params: {} }, {}, 400, -32020, 1],
  ['no header', list, {}, 400, -32020, 1],
  ['a header that differs', list, { ...modern, 'MCP-Protocol-Version': LEGACY }, 400, -32020, 1],
  ['no Mcp-Method', list, { 'MCP-Protocol-Version': MODERN }, 400, -32020, 1],
  ['another Mcp-Method', list, { ...modern, 'Mcp-Method': 'tools/call' }, 400, -32020, 1],
  [
    'another Mcp-Name',
    toolCall({ name: 'describe', _meta: meta }),
    { ...modern, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'query' },
    400,
    -32020,
    1,
  ],
  [
    'an unknown version',
    { ...list, params: {} },
    { ...modern, 'MCP-Protocol-Version': '2024-11-05' },
    400,
    -32022,
    1,
  ],
  [
    'an unknown method',
    { ...list, method: 'resources/list' },
    { ...modern, 'Mcp-Method': 'resources/list' },
    404,
    -32601,
    1,
  ],
  ['ping, which is gone', { ...list, method: 'ping' }, { ...modern, 'Mcp-Method': 'ping' }, 404, -32601, 1],
  ['an unknown method of before', { ...list, method: '__proto__', params: {} }, legacy, 200, -32601, 1],
  ['discover of before', { ...list, method: 'server/discover', params: {} }, legacy, 200, -32601, 1],
  ['a cursor', { ...list, params: { cursor: 'x' } }, legacy, 200, -32602, 1],
  ['an unknown tool', toolCall({ name: 'steal' }), called, 200, -32602, 1],
  ['a tool that all objects have', toolCall({ name: 'constructor' }), called, 200, -32602, 1],
  ['no tool', toolCall({}), called, 200, -32602, 1],
  ['a tool that is an object', toolCall({ name: { toString: 1 } }), called, 200, -32602, 1],
  ['arguments that are a list', toolCall({ name: 'describe', arguments: [] }), called, 200, -32602, 1],
  ['arguments that are null', toolCall({ name: 'describe', arguments: null }), called, 200, -32602, 1],
];

test.each(table)('%s is refused', async (_, body, headers, status, code, id) => {
  const answer = await send(app, body, headers);
  expect([answer.status, answer.body.error.code, answer.body.id]).toEqual([status, code, id]);
  expect(answer.body.error.message).toBeString();
});

test('an unsupported version is told which there are', async () => {
  const { body } = await send(
    app,
    { ...list, params: {} },
    { ...modern, 'MCP-Protocol-Version': '1900-01-01' },
  );
  expect(body.error.data).toEqual({ supported: [MODERN, LEGACY], requested: '1900-01-01' });
});

/** Arguments of the wrong kind are the model's to mend: an answer of the tool. */
test.each<[string, object, string]>([
  ['describe', { types: 'Book' }, 'VALIDATION_FAILED'],
  ['describe', { types: [5] }, 'VALIDATION_FAILED'],
  ['describe', { types: ['__proto__'] }, 'VALIDATION_FAILED'],
  ['describe', { other: 1 }, 'VALIDATION_FAILED'],
  ['query', {}, 'MALFORMED_BODY'],
  ['query', { query: 5 }, 'MALFORMED_BODY'],
  ['query', { query: '{ books { id } }', variables: [] }, 'MALFORMED_BODY'],
  ['query', { query: '{ books { id } }', documentId: 'x' }, 'VALIDATION_FAILED'],
  ['query', { query: 'subscription { x }' }, 'GRAPHQL_VALIDATION_FAILED'],
  ['query', { query: '{ nothing }' }, 'GRAPHQL_VALIDATION_FAILED'],
  ['query', { query: '{' }, 'GRAPHQL_PARSE_FAILED'],
  ['transact', { key: 5, operations: [] }, 'VALIDATION_FAILED'],
  ['transact', { key: 'a b', operations: [] }, 'VALIDATION_FAILED'],
  ['transact', { key: 'a\r\nX-Evil: 1', operations: [] }, 'VALIDATION_FAILED'],
  ['transact', { key: 'k'.repeat(256), operations: [] }, 'VALIDATION_FAILED'],
  ['transact', { key: 'k' }, 'VALIDATION_FAILED'],
  ['transact', { key: 'k', operations: 'all' }, 'VALIDATION_FAILED'],
  ['transact', { key: 'k', operations: [{ method: 'POST', path: '/mcp', body: {} }] }, 'VALIDATION_FAILED'],
  [
    'transact',
    { key: 'k', operations: [{ method: 'POST', path: '/books', body: { title: 5 } }] },
    'VALIDATION_FAILED',
  ],
  ['transact', { key: 'k', operations: [], more: 1 }, 'VALIDATION_FAILED'],
])('%s with %j is an error of the tool', async (tool, args, code) => {
  const { status, isError, told } = await call(app, tool, args);
  expect([status, isError, told.code ?? told.errors[0].extensions.code]).toEqual([200, true, code]);
});

describe('pages of other origins', () => {
  const from = (origin: string, of = app, url = 'http://duet.test/mcp') =>
    of.from({ address: undefined }).fetch(new URL(url).pathname, {
      method: 'POST',
      headers: { ...modern, 'Content-Type': 'application/json', Origin: origin },
      body: JSON.stringify(list),
    });

  test('are refused, also when their name leads here', async () => {
    for (const origin of [
      'https://evil.example',
      'http://duet.test',
      'null',
      'http://localhost',
      'http://localhost.evil.example',
    ])
      expect([origin, (await from(origin)).status]).toEqual([origin, 403]);
  });

  test('may call when they are listed, with the headers that they need', async () => {
    const origin = 'https://app.example.com';
    const listed = await openApp('sqlite', { sdl, env: { MCP: 'read', CORS_ORIGINS: origin } });
    expect((await from(origin, listed)).status).toBe(200);
    expect((await from('https://evil.example', listed)).status).toBe(403);
    const preflight = await listed.fetch('/mcp', {
      method: 'OPTIONS',
      headers: { Origin: origin, 'Access-Control-Request-Method': 'POST' },
    });
    expect(preflight.headers.get('Access-Control-Allow-Headers')).toContain(
      'MCP-Protocol-Version, Mcp-Method, Mcp-Name',
    );
    await listed.close();
  });
});

test('a call costs what it costs at the other doors', async () => {
  const limited = await openApp('sqlite', { sdl, env: { MCP: 'write', RATE_LIMIT_ADDRESS: '100/60' } });
  const left = (headers: Headers) => Number(/r=(\d+)/.exec(headers.get('RateLimit') ?? '')?.[1]);
  const at = (address: string) => limited.from({ address });
  const operations = [1, 2].map(() => ({ method: 'POST', path: '/books', body: { title: 'x' } }));
  const { headers } = await at('10.0.0.1').fetch('/transaction', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ operations }),
  });
  const called = await call(at('10.0.0.2'), 'transact', { key: 'k', operations });
  expect([called.isError, left(called.headers)]).toEqual([false, left(headers)]);
  const read = await call(at('10.0.0.3'), 'query', { query: '{ books { id } }' });
  expect(left(read.headers)).toBeGreaterThan(95);
  let status = 200;
  for (let calls = 0; calls < 30 && status === 200; calls++)
    ({ status } = await call(at('10.0.0.2'), 'transact', { key: `k${calls}`, operations }));
  expect(status).toBe(429);
  await limited.close();
});

test('the own page of a server that only this machine reaches may call', () => {
  const asked = (url: string, origin: string) => () =>
    refuseStrangers(new Request(url, { headers: { Origin: origin } }), null);
  for (const own of ['http://localhost:4000', 'http://127.0.0.1:4000', 'http://[::1]:4000'])
    expect(asked(`${own}/mcp`, own)).not.toThrow();
  expect(asked('http://localhost:4000/mcp', 'http://localhost:5000')).toThrow();
  // A name that an attacker has made lead here.
  expect(asked('http://evil.example:4000/mcp', 'http://evil.example:4000')).toThrow();
});

test('a client of HTTP/1.0, which names no host, is told where tokens come from all the same', async () => {
  const closed = 'type Book @resource @allow(to: [READ], role: "reader") { id: ID!  title: String! }';
  using folder = new Folder({ 'schema.graphql': closed, 'data.json': '{}' });
  await using server = await Server.start(folder, { MCP: 'read', AUTH_KEYS: 'on' });
  for (const asked of ['POST /mcp', 'GET /.well-known/oauth-protected-resource']) {
    const client = await connect(server.url);
    client.send(`${asked} HTTP/1.0\r\n\r\n`);
    const [, status] = /^HTTP\/1.1 (\d+)/.exec(await within(10_000, client.answer())) ?? [];
    expect([asked, status]).toEqual([asked, asked.startsWith('POST') ? '401' : '200']);
  }
});
