/** What the console knows of a schema that it has never seen, from the descriptions of the two doors. */

import { afterAll, expect, test } from 'bun:test';
import { type Introspection, introspectionQuery } from '../../src/console/browser/schema/introspection.ts';
import { readSchema } from '../../src/console/browser/schema/merge.ts';
import { shownType, typeOf } from '../../src/console/browser/schema/types.ts';
import { openApp } from '../app.ts';
import { museum } from './museum.ts';

const app = await openApp('sqlite', museum);
afterAll(() => app.close());
const document = (await app.rest('GET', '/openapi.json')).body;
const introspection = (await app.graphql(introspectionQuery)).data as Introspection;
const both = readSchema(document, introspection);

/** As the schema file has them; a list of the far side is not a column. */
const exhibit = {
  id: 'ID!',
  title: 'String!',
  label: 'String',
  stage: 'Stage!',
  tags: '[String!]!',
  weight: 'Float',
  onLoan: 'Boolean!',
  inspectedAt: 'DateTime',
  acquired: 'Date',
  extra: 'JSON',
  oldNumber: 'String',
  createdAt: 'DateTime!',
  hallId: 'Hall',
  makerId: 'Person',
  keeperId: 'Person',
};

test.each([
  ['both doors', both],
  ['REST alone', readSchema(document, undefined)],
  ['GraphQL alone', readSchema(undefined, introspection)],
])('types and relations, from %s', (_, schema) => {
  const { columns, key, label } = schema.byName.get('Exhibit') ?? {};
  expect(Object.fromEntries(columns?.map((column) => [column.name, shownType(column)]) ?? [])).toEqual(
    exhibit,
  );
  expect(columns).toContain(key as never);
  expect(columns).toContain(label as never);
  expect([key?.name, label?.name]).toEqual(['id', 'title']);
  expect(columns?.find(({ name }) => name === 'stage')?.choices).toEqual([
    'PLANNED',
    'ACTIVE',
    'DONE',
    'ABANDONED',
  ]);
  expect(
    columns?.filter(({ deprecated }) => deprecated).map(({ name, description }) => [name, description]),
  ).toEqual([['oldNumber', 'Deprecated: Nobody knows it.']]);
  const person = schema.byName.get('Person');
  expect(person?.inverses.map(({ name, target }) => [name, target])).toEqual([
    ['students', 'Person'],
    ['made', 'Exhibit'],
    ['keeps', 'Exhibit'],
  ]);
  expect(person?.plural).toBe('people');
});

test('which of several references a list is the far side of is known where the API tells it', () => {
  const via = (name: string) =>
    both.byName.get('Person')?.inverses.find((inverse) => inverse.name === name)?.via;
  expect(['students', 'made', 'keeps'].map(via)).toEqual(['mentorId', 'makerId', 'keeperId']);
});

test('of two references, one of which nobody may give, that one is known by the other', async () => {
  const sdl = `
    type User @resource { id: ID! letters: [Letter!]!  written: [Bill!]! @inverse(of: "author")  approved: [Bill!]! @inverse(of: "approver") }
    type Letter @resource { id: ID! author: User @set(claim: "sub") }
    type Bill @resource { id: ID! author: User @readonly  approver: User }`;
  const app = await openApp('sqlite', { sdl });
  const user = readSchema((await app.rest('GET', '/openapi.json')).body, undefined).byName.get('User');
  await app.close();
  expect(user?.inverses.map(({ name, via }) => [name, via])).toEqual([
    ['letters', 'authorId'],
    ['written', 'authorId'],
    ['approved', 'approverId'],
  ]);
});

test('what can be done, and through which door', () => {
  const shown = both.resources.map(({ name, operations, rest, graphql }) => [
    name,
    [...operations].sort().join(),
    [rest && 'rest', graphql && 'graphql'].filter(Boolean).join(),
  ]);
  expect(shown.slice(4)).toEqual([
    ['Country', 'CREATE,DELETE,GET,LIST,UPDATE', 'rest,graphql'],
    ['AuditEntry', 'GET,LIST', 'rest,graphql'],
    ['Ledger', 'CREATE,DELETE,GET,LIST,UPDATE', 'rest'],
    ['Feedback', 'CREATE', 'rest,graphql'],
    ['Nothing', 'CREATE,DELETE,GET,LIST,UPDATE', 'rest,graphql'],
    ['OrganisationForStandardisationDocumentReference', 'CREATE,DELETE,GET,LIST,UPDATE', 'rest,graphql'],
    ['Whisper', 'CREATE,DELETE,GET,LIST,UPDATE', 'graphql'],
  ]);
});

test('what a body may have: nothing that the server sets, and what it does without', () => {
  const { create, update } = both.byName.get('Exhibit') ?? {};
  expect(create?.map(({ name }) => name)).not.toContain('createdAt');
  expect(create?.filter(({ required }) => required).map(({ name }) => name)).toEqual(['title']);
  expect(create?.find(({ name }) => name === 'stage')?.default).toBe('PLANNED');
  expect(update?.map(({ name }) => name)).not.toContain('id');
});

test.each([
  ['both doors', true],
  ['REST alone', false],
])('actions and what they take, from %s', async (_, hasGraphql) => {
  const sdl = `
    enum Size { SMALL LARGE }
    input Wish { paper: String! ribbons: [Int!] }
    type Tally { count: Int! best: Item part: Tally parts: [Tally!] }
    type Item @resource { id: ID! name: String! }
    type Mutation {
      "Orders it."
      order(itemId: ID!, itemIds: [ID!], other: ID, on: Date, size: Size! = SMALL, wishes: [Wish!]): Item @action
    }
    type Query { tally(first: Int! = 10 @constraint(max: 99), wish: Wish): Tally! @action many: [Item!] @action }`;
  const logic = { Mutation: { order: () => null }, Query: { tally: () => ({ count: 1 }), many: () => null } };
  const acting = await openApp('sqlite', { sdl, logic });
  const told = (await acting.rest('GET', '/openapi.json')).body;
  const types = (await acting.graphql(introspectionQuery)).data as Introspection;
  await acting.close();
  const { actions, byName } = readSchema(told, hasGraphql ? types : undefined);
  const shown = actions.map(({ root, path, answer, arguments: taken }) => [
    `${root} ${path} ${typeOf(answer)}`,
    ...taken.map(({ input, column }) => `${input.name}: ${shownType(column)} ${column.kind}`),
  ]);
  expect(Object.fromEntries(actions.map(({ name }, at) => [name, shown[at]]))).toEqual({
    order: [
      'Mutation /actions/order Item',
      'itemId: ID! id',
      hasGraphql ? 'itemIds: [ID!] id' : 'itemIds: [String!] text',
      'other: ID text',
      'on: Date date',
      'size: Size! enum',
      'wishes: [Wish!] json',
    ],
    tally: ['Query /actions/tally Tally!', 'first: Int! int', 'wish: Wish json'],
    many: ['Query /actions/many [Item!]'],
  });
  const [order, tally] = ['order', 'tally'].map((name) => actions.find((action) => action.name === name));
  expect(order?.description).toBe('Orders it.');
  expect(order?.arguments.map(({ input }) => [input.required, input.default])).toEqual([
    [true, undefined],
    [false, undefined],
    [false, undefined],
    [false, undefined],
    [false, 'SMALL'],
    [false, undefined],
  ]);
  const fields = order?.arguments.at(-1)?.column.fields;
  expect(fields?.map(({ input, column }) => [input.name, input.required, typeOf(column)])).toEqual([
    ['paper', true, 'String!'],
    ['ribbons', false, '[Int!]'],
  ]);
  expect(tally?.arguments[0]?.column.bounds.maximum).toBe(99);
  // A type that holds itself is asked for once.
  expect(tally?.graphql?.wanted).toEqual(
    hasGraphql
      ? [
          { name: 'count', wanted: undefined },
          { name: 'best', wanted: byName.get('Item') },
        ]
      : undefined,
  );
});
