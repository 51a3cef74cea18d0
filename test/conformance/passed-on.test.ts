/** What one door passes on to another as text: it arrives as if it had been sent there. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, JSON_HEADERS, type Listening, openApp, within } from '../app.ts';
import { LEGACY, send } from '../mcp/client.ts';

const sdl = `
  type Item @resource @journal @allow(to: [READ, CREATE, UPDATE]) { id: ID!  f: Float  i: Int  j: JSON }
  input Part { f: Float  j: JSON  fs: [Float!] }
  type Query { look(f: Float, i: Int, j: JSON, part: Part): String @action @allow }
  type Mutation { act(f: Float, i: Int, j: JSON, part: Part): String @action @allow }
`;
/** What a function was given, to the sign of a zero. */
const told = (_: any, args: any) => Bun.inspect(args, { depth: 20 });
const logic = { Query: { look: told }, Mutation: { act: told } };

const infinite = ['1e999', '-1e999'].flatMap((number) => [
  `{"f":${number}}`,
  `{"i":${number}}`,
  `{"j":${number}}`,
  `{"j":[1,{"a":[${number}]}]}`,
]);
const others = [
  '{"f":-0}',
  '{"i":-0}',
  '{"j":{"a":[-0,0,-0.0,-1e-999]}}',
  '{"f":1e-999}',
  '{"f":1.7976931348623157e308}',
  '{"j":[12345678901234567890,1e20,1E+5,0.1]}',
  '{"j":"\\ud800"}',
  '{"j":{"\\udc00":1}}',
  '{"j":"\\u0000"}',
  '{"j":"\\u0000+"}',
  '{"j":"\\u2028\\/\\ud83d\\ude00\u007f"}',
  '{"j":{"__proto__":{"a":1e999}}}',
  '{"j":{"__proto__":{"a":1},"constructor":2,"toJSON":3,"rawJSON":"4"}}',
  '{"j":{"b":1,"10":1,"2":2,"b":3}}',
  '{"f":1,"f":null}',
  '{"__proto__":{"f":1}}',
];
const inParts = ['{"part":{"f":1e999}}', '{"part":{"j":{"a":-1e999}}}', '{"part":{"fs":[1,1e999]}}'];
const alsoParts = ['{"part":{"f":-0}}', '{"part":{"fs":[-0]}}', '{"part":{"__proto__":1}}'];

/** A request of its own has a number of its own, and a new record too. */
const plain = (text: string) =>
  text.replaceAll(/"requestId":"[^"]*",?/g, '').replaceAll(/"Location":"\/items\/\d+"/g, '"Location":""');

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  let server: Listening;
  beforeAll(async () => {
    const data = { items: [{ id: 1, f: 2.5, i: 7, j: { a: 1 } }] };
    app = await openApp(database, { sdl, logic, data, env: { MCP: 'write' } });
    server = app.listen();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await app.close();
  });

  const post = async (path: string, body: string) =>
    plain(await (await app.fetch(path, { method: 'POST', headers: JSON_HEADERS, body })).text());
  const tool = async (name: string, args: string) => {
    const params = `{"name":"${name}","arguments":${args}}`;
    const message = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
    const { body } = await send(app, message, { 'MCP-Protocol-Version': LEGACY });
    return plain(body.result.content[0].text);
  };
  /** What a socket answers to one operation. */
  const socket = async (payload: string) => {
    const open = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
    const answer = Promise.withResolvers<any>();
    open.onopen = () => open.send('{"type":"connection_init"}');
    open.onerror = answer.reject;
    open.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      if (message.type === 'connection_ack') open.send(`{"id":"1","type":"subscribe","payload":${payload}}`);
      else answer.resolve(message);
    };
    const { type, payload: found } = await within(20_000, answer.promise);
    open.close();
    return JSON.parse(plain(JSON.stringify(type === 'error' ? { errors: found } : found)));
  };

  const stored = async () => (await app.rest('GET', '/items/1')).body;
  const count = async () => (await app.graphql('{ itemsAggregate { count } }')).data.itemsAggregate[0].count;

  test.each([...infinite, ...others])('transact: %s', async (body) => {
    const before = [await count(), await stored()];
    for (const [method, path] of [
      ['PUT', '/items/1'],
      ['POST', '/items'],
    ]) {
      const operations = `[{"method":"${method}","path":"${path}?fields=f,i,j","body":${body}}]`;
      const byTool = await tool('transact', `{"key":"${crypto.randomUUID()}","operations":${operations}}`);
      if (infinite.includes(body)) {
        expect([byTool, await count(), await stored()]).toEqual([
          expect.stringMatching(/OUT_OF_RANGE|TYPE/),
          ...before,
        ]);
      }
      const byRest = await post('/transaction', `{"operations":${operations}}`);
      expect(byTool).toBe(byRest);
    }
  });

  test.each([...infinite, ...others, ...inParts, ...alsoParts])('the tool of an action: %s', async (args) => {
    const byTool = await tool('act', args);
    if (infinite.includes(args) || inParts.includes(args)) expect(byTool).toMatch(/OUT_OF_RANGE|TYPE/);
    expect(byTool).toBe(await post('/actions/act', args));
    // This one is not passed on.
    expect((await tool('look', args)).replaceAll(' look.', ' act.')).toBe(byTool);
  });

  const variables = '$f: Float, $i: Int, $j: JSON, $part: Part';
  const given = 'f: $f, i: $i, j: $j, part: $part';
  test.each([...infinite, ...others, ...inParts, ...alsoParts])('variables: %s', async (values) => {
    const body = (operation: string) =>
      JSON.stringify({ query: operation, variables: 0 }).replace(/0}$/, `${values}}`);
    const asks = body(`query(${variables}) { look(${given}) }`);
    const answer = await post('/graphql', asks);
    if (infinite.includes(values) || inParts.includes(values)) expect(answer).toContain('"errors"');
    expect(await tool('query', asks)).toBe(answer);
    expect(await socket(asks)).toEqual(JSON.parse(answer));
    const writes = body(`mutation(${variables}) { act(${given}) }`);
    expect(await socket(writes)).toEqual(JSON.parse(await post('/graphql', writes)));
  });
});
