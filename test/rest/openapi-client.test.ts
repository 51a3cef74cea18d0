/** `/openapi.json?profile=client`: plain shapes, for code that is generated; and descriptions of many types. */

import { describe, expect, test } from 'bun:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { executeSync, getIntrospectionQuery, parse } from 'graphql';
import { Description } from '../../src/app/description.ts';
import { clientPieces } from '../../src/client/client.ts';
import { printedPieces } from '../../src/graphql/printed.ts';
import { graphqlDoor } from '../../src/graphql/schema.ts';
import type { Exchange } from '../../src/http/exchange.ts';
import { openapi } from '../../src/rest/openapi/openapi.ts';
import { readSchema } from '../../src/schema/read.ts';
import { openApp, shipped } from '../app.ts';
import { Description as Described } from './described.ts';
import { rich } from './rich.ts';

/** Every object within a value. */
function* objects(value: unknown): Generator<any> {
  if (typeof value !== 'object' || value === null) return;
  yield value;
  for (const inner of Object.values(value)) yield* objects(inner);
}

describe.each(Object.entries({ shipped, rich }))('the profile for clients, %s', (_, deployment) => {
  test('is OpenAPI 3.1 without anything that changes the shape of an answer', async () => {
    const app = await openApp('sqlite', deployment);
    const described = await Described.of(app, 'client');
    const { valid, errors } = await new Validator().validate(structuredClone(described.document));
    expect([errors ?? [], valid]).toEqual([[], true]);
    for (const { method, path, operation, parameters } of described.operations) {
      const names = parameters.map(({ name }) => name);
      for (const shaping of ['fields', 'include', 'aggregate', 'groupBy', 'having'])
        expect([path, names.includes(shaping)]).toEqual([path, false]);
      for (const { name, schema, style, explode } of operation.parameters ?? [])
        if (schema?.type === 'array') expect([name, style, explode]).toEqual([name, 'form', false]);
      if (method !== 'GET' || path.includes('{')) continue;
      const record = operation.responses[200].content;
      expect(record).toEqual({
        'application/json': { schema: { type: 'array', items: { $ref: expect.any(String) } } },
      });
    }
    // Generators take what has a default for what is always there.
    for (const each of objects(described.document.components.schemas))
      if (each.type === 'object')
        for (const [name, property] of Object.entries<any>(each.properties ?? {}))
          expect([name, 'default' in property]).toEqual([name, false]);
    await app.close();
  });
});

test('what it describes is what is answered', async () => {
  const app = await openApp('sqlite', { ...rich, env: { LIMIT_BODY: '20000' } });
  const described = await Described.of(app, 'client');
  const { Thing, ThingUpdate } = described.document.components.schemas;
  expect(Object.keys(Thing.properties)).not.toContain('owner');
  expect(Thing.required).toEqual(Object.keys(Thing.properties));
  expect(Object.keys(ThingUpdate.properties)).not.toContain('createdAt');
  expect(described.document.components.schemas.ThingCreate_.required).toEqual(['ownerId']);
  expect(described.document.components.schemas.ThingCreate_.properties.int).toEqual({
    $ref: '#/components/schemas/Int',
    minimum: -5,
    maximum: 500,
    description: 'Default: `7`.',
  });
  const to = (method: string, path: string) => described.operation(method, path);
  const body = { ownerId: 1, int: 9, price: '2.50', words: ['a'] };
  const made = await described.send(to('POST', '/things'), { body });
  const key = made.body.id;
  expect([made.status, (await described.send(to('GET', '/things/{id}'), { key })).status]).toEqual([
    201, 200,
  ]);
  expect((await described.send(to('PUT', '/things/{id}'), { key, body: { int: 10 } })).status).toBe(200);
  const where = encodeURIComponent(JSON.stringify({ owner: { name: { eq: 'Ann' } } }));
  for (const query of ['', 'int[gte]=10', 'int=10&sort=-int,id', 'words[hasSome]=a,b', `where=${where}`])
    expect([query, (await described.send(to('GET', '/things'), { query })).body.length]).toEqual([query, 1]);
  expect((await described.send(to('DELETE', '/things/{id}'), { key })).status).toBe(204);
  expect((await described.send(to('GET', '/things/{id}'), { key })).status).toBe(404);
  expect((await described.send(to('GET', '/things'), { query: 'fields=nothing' })).status).toBe(400);
  await app.close();
});

/** Ten columns each, one of which refers to the type before; and the list of those that refer to it. */
const many = Array.from(
  { length: 300 },
  (_, index) => `
    type Thing${index} @resource {
      id: ID!
      name: String! @constraint(minLength: 1, maxLength: 200)
      pages: Int! @default(value: 1) @constraint(min: 0)
      done: Boolean! @default(value: false)
      price: Decimal @decimal(scale: 2)
      kind: Kind
      createdAt: DateTime! @createdAt
      day: Date
      tags: [String!]! @default(value: [])
      ${index > 0 ? `whole: Thing${index - 1}` : ''}
      ${index < 299 ? `parts: [Thing${index + 1}!]!` : ''}
    }`,
).join('\n');

const manySdl = `${many}
  enum Kind { A B }
  type Query { oldThings: [Thing0!]! @operation(is: LIST) @deprecated(reason: "Use thing0s.") }`;

function doorOf(sdl: string) {
  const { model } = readSchema(sdl);
  const door = model && graphqlDoor(model);
  if (!door) throw new Error('the schema of the test is wrong');
  return { model, schema: door.schema };
}

test('what is told of 300 types is made of small pieces', () => {
  const { model, schema } = doorOf(manySdl);
  const served = { most: 1, operations: 1, graphql: true, trusted: 'no' } as const;
  const switches = { open: undefined, limited: false, replicas: false };
  const texts = {
    whole: openapi(model, { ...served, ...switches }, 'whole'),
    client: openapi(model, { ...served, ...switches }, 'client'),
    graphql: printedPieces(schema),
    typescript: clientPieces(model),
  };
  for (const [name, pieces] of Object.entries(texts)) {
    const lengths = [...pieces].map(({ length }) => length);
    // The largest are what all types share, and the root fields of GraphQL.
    const whole = lengths.reduce((sum, length) => sum + length, 0);
    expect([name, Math.max(...lengths) < whole / 5, lengths.length > 600]).toEqual([name, true, true]);
  }
});

/** All of it; what is not deprecated; and single types, of which the roots have a few fields of each type. */
const ofRoot =
  'name fields { name args { name description type { name ofType { name inputFields { name } } } } }';
const introspections = [
  getIntrospectionQuery(),
  '{ __schema { types { name fields { name } } } }',
  `{ __type(name: "Query") { ${ofRoot} } }`,
  `{ __schema { queryType { ${ofRoot} } } }`,
];

test('the descriptions of 300 types are short, and others are answered while they are made', async () => {
  const app = await openApp('sqlite', { sdl: manySdl });
  await app.rest('POST', '/thing0s', { name: 'kept' });
  const texts = new Map<string, string>();
  for (const asked of [
    '/openapi.json',
    '/openapi.json?profile=client',
    '/schema.graphql',
    '/client.ts',
    ...introspections,
  ]) {
    let isMade = false;
    const path = asked.startsWith('/') ? asked : `/graphql?query=${encodeURIComponent(asked)}`;
    const made = app.fetch(path).then((response) => {
      isMade = true;
      return response.text();
    });
    let reads = 0;
    for (; !isMade && reads < 100_000; reads++) {
      expect((await app.rest('GET', '/thing0s/1')).body.name).toBe('kept');
      await new Promise(setImmediate);
    }
    // Without turns the first read is answered when all is made; how many more there are hangs on the machine.
    expect([asked, reads > 1]).toEqual([asked, true]);
    texts.set(asked, await made);
  }
  for (const path of ['/openapi.json', '/openapi.json?profile=client'])
    expect([path, (texts.get(path)?.length ?? 0) < 2_000_000]).toEqual([path, true]);
  const schema = doorOf(manySdl).schema;
  for (const asked of introspections)
    expect(texts.get(asked) === JSON.stringify(executeSync({ schema, document: parse(asked) }))).toBeTrue();
  await app.close();
});

test('others have their turn while a description is made', async () => {
  let turns = 0;
  let ended = false;
  const others = (async () => {
    for (; !ended && turns < 100_000; turns++) await new Promise(setImmediate);
  })();
  let seen = 0;
  function* slowly() {
    for (let piece = 0; piece < 10; piece++) {
      Bun.sleepSync(10);
      seen = turns;
      yield String(piece);
    }
  }
  const exchange = { request: new Request('http://duet.test/openapi.json') } as Exchange;
  const description = new Description(slowly, 'text/plain');
  const [one, another] = await Promise.all([description.answer(exchange), description.answer(exchange)]);
  expect(await one.text()).toBe('0123456789');
  expect(await another.text()).toBe('0123456789');
  expect(seen).toBeGreaterThan(5);
  ended = true;
  await others;
});
