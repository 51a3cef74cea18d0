/** What the objects in answers cost: the same by REST, GraphQL and MCP, whatever was asked for. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, type Doors, databases, JSON_HEADERS, openApp } from '../app.ts';
import { call } from '../mcp/client.ts';

const sdl = `
  type Box @resource @journal @allow(to: [READ, CREATE, UPDATE]) { id: ID!  name: String! @unique  plan: JSON  items: [Item!]! }
  type Item @resource @journal @allow(to: [READ, CREATE, UPDATE, DELETE]) { id: ID!  name: String!  box: Box }
  type Found { first: Item  all: [Item!]! }
  type Query { listed: [Item!]! @action @allow  found: Found! @action @allow }
  type Mutation { named: [Item!]! @action @allow }`;

/** No multiple of a hundred: whatever an envelope adds is less than what is left of a unit. */
const MANY = 220;

function* listed({ tx }: any) {
  return yield* tx.items.list({ where: { boxId: { eq: 1 } }, first: MANY });
}
const logic = {
  Query: {
    listed,
    *found(context: any) {
      const all = yield* listed(context);
      return { first: all[0], all };
    },
  },
  Mutation: { named: listed },
};

const items = Array.from({ length: MANY }, (_, id) => ({ id: id + 1, name: 'x', boxId: 1 }));
const boxes = [
  { id: 1, name: 'a' },
  { id: 2, name: 'planned' },
];
const plan = Array.from({ length: MANY }, () => ({}));
const UNITS = 1000;

type Asked = (at: Pick<Doors, 'fetch'>) => Promise<{ readonly status: number; readonly headers: Headers }>;

const rest =
  (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Asked =>
  (at) =>
    at.fetch(path, {
      method,
      headers: { ...JSON_HEADERS, ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
const graphql = (query: string, variables = {}, headers = {}) =>
  rest('POST', '/graphql', { query, variables }, headers);
const transaction = (...operations: unknown[]) => rest('POST', '/transaction', { operations });
const tool =
  (name: string, args = {}): Asked =>
  (at) =>
    call(at, name, args);
let keys = 0;
const transact = (...operations: unknown[]) => tool('transact', { key: `k${keys++}`, operations });

const events = { Accept: 'text/event-stream' };
const keyed = (key: string) => ({ 'Idempotency-Key': key });
const where = { boxId: { eq: 1 } };
const groups = '{ itemsAggregate(where: { boxId: { eq: 1 } }, groupBy: [id]) { by { id } count } }';
const update = { method: 'PUT', path: '/boxes/1?include=items', body: { name: 'a' } };
const updateBox = 'updateBox(id: 1, name: "a") { id items { id } }';
const updateMany = { method: 'PUT', path: '/items', where, body: { name: 'y' }, atMost: MANY };
const updateItems = `updateItems(where: { boxId: { eq: 1 } }, set: { name: "y" }, atMost: ${MANY}) { id }`;
const records = items.map(() => ({ name: 'new' }));
const contents = items.map(() => ({ name: 'inside' }));
const createMany = { method: 'POST', path: '/items', body: records };
const deleteMany = { method: 'DELETE', path: '/items', where: { name: { eq: 'new' } }, atMost: MANY };
const act = { method: 'POST', path: '/actions/named' };

/** Ways to the same, one after the other, and the units that each of them takes, of which the last may be in part. */
const rows: Record<string, [units: number, ways: Asked[]]> = {
  'groups, each with what it is by': [
    1 + 5,
    [
      rest('GET', '/items?groupBy=id&aggregate=count&boxId=1'),
      graphql(groups),
      tool('query', { query: groups }),
    ],
  ],
  'groups with records': [
    1 + 7,
    [
      rest('GET', '/items?groupBy=id,boxId&aggregate=count&include=box&boxId=1'),
      graphql(
        '{ itemsAggregate(where: { boxId: { eq: 1 } }, groupBy: [id, boxId]) { by { id box { id } } count } }',
      ),
    ],
  ],
  'groups that are kept up to date': [
    1 + 5,
    [
      rest('GET', '/items?groupBy=id&aggregate=count&boxId=1', undefined, events),
      graphql(`query @live ${groups}`, {}, events),
    ],
  ],
  'a change with what is included': [
    5 + 3,
    [
      rest('PUT', '/boxes/1?include=items', { name: 'a' }),
      transaction(update),
      transact(update),
      graphql(`mutation { ${updateBox} }`),
    ],
  ],
  'a change and its repetition by the same key': [
    5 + 3,
    [1, 2].flatMap(() => [
      rest('PUT', '/boxes/1?include=items', { name: 'a' }, keyed('rest')),
      graphql(`mutation { ${updateBox} }`, {}, keyed('graphql')),
    ]),
  ],
  'an upsert with what is included': [
    5 + 3,
    [
      rest('POST', '/boxes?upsert=name&include=items', { name: 'a' }),
      graphql('mutation { upsertBox(by: name, name: "a") { id items { id } } }'),
    ],
  ],
  'a new record with what is nested in it': [
    5 + 3,
    [
      rest('POST', '/boxes?include=items', { name: 'b', items: contents }),
      graphql(
        'mutation($items: [ItemInputWithoutBox!]) { createBox(name: "c", items: $items) { id items { id } } }',
        { items: contents },
      ),
    ],
  ],
  'a change with objects in JSON': [
    5 + 3,
    [
      rest('PUT', '/boxes/2', { plan }),
      transaction({ method: 'PUT', path: '/boxes/2', body: { plan } }),
      graphql('mutation($plan: JSON) { updateBox(id: 2, plan: $plan) { id name plan } }', { plan }),
    ],
  ],
  'JSON that is not asked for': [
    5 + 1,
    [
      rest('PUT', '/boxes/2?fields=id', { plan }),
      transaction({ method: 'PUT', path: '/boxes/2?fields=id', body: { plan } }),
      graphql('mutation($plan: JSON) { updateBox(id: 2, plan: $plan) { id } }', { plan }),
    ],
  ],
  'a change of many': [
    5 + 3,
    [transaction(updateMany), transact(updateMany), graphql(`mutation { ${updateItems} }`)],
  ],
  'many new ones, and their end': [
    5 + 3,
    [
      transaction(createMany),
      transaction(deleteMany),
      transact(createMany),
      transact(deleteMany),
      graphql('mutation($records: [ItemInput!]!) { createItems(records: $records) { id } }', { records }),
      graphql(`mutation { deleteItems(where: { name: { eq: "new" } }, atMost: ${MANY}) { id } }`),
    ],
  ],
  'two writes': [
    10 + 5,
    [
      transaction(update, updateMany),
      transact(update, updateMany),
      graphql(`mutation { ${updateBox} ${updateItems} }`),
    ],
  ],
  'an action that reads': [
    1 + 3,
    [rest('GET', '/actions/listed'), tool('listed'), graphql('{ listed { id } }')],
  ],
  'an action with records inside of what it answers': [
    1 + 3,
    [rest('GET', '/actions/found'), tool('found'), graphql('{ found { first { id } all { id } } }')],
  ],
  'an action that writes': [
    5 + 3,
    [
      rest('POST', '/actions/named', {}),
      transaction(act),
      tool('named'),
      transact(act),
      graphql('mutation { named { id } }'),
    ],
  ],
};

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    const env = { MCP: 'write', RATE_LIMIT_ADDRESS: `${UNITS}/99999` };
    app = await openApp(database, { sdl, logic, data: { boxes, items }, env });
  });
  afterAll(() => app.close());

  let clients = 0;
  test.each(Object.entries(rows))('%s', async (_, [units, ways]) => {
    const spent: unknown[] = [];
    for (const ask of ways) {
      const answer = await ask(app.from({ address: `192.0.2.${++clients}` }));
      const [, left] = /"address";r=(\d+)/.exec(answer.headers.get('RateLimit') ?? '') ?? [];
      if (answer instanceof Response) await answer.body?.cancel();
      spent.push([answer.status < 300, UNITS - Number(left)]);
    }
    expect(spent).toEqual(ways.map(() => [true, units]));
  });
});
