/** Reading ends when enough faults are gathered: what follows costs nobody the search for a similar name. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type OperationDefinitionNode, parse } from 'graphql';
import { Input } from '../../src/admin/input.ts';
import { DuetError, type Fault } from '../../src/base/errors.ts';
import { Budget, UNLIMITED } from '../../src/engine/budget.ts';
import { validArguments } from '../../src/engine/logic/actions.ts';
import { incrementsOf } from '../../src/engine/write/increments.ts';
import { declaredIn } from '../../src/graphql/variables.ts';
import type { Exchange } from '../../src/http/exchange.ts';
import { readListRequest } from '../../src/rest/query.ts';
import { readSchema } from '../../src/schema/read.ts';
import { didYouMean } from '../../src/schema/suggest.ts';
import { type AppUnderTest, openApp } from '../app.ts';
import { call } from '../mcp/client.ts';

const sdl = `
  type Room @resource { id: ID!  name: String!  books: [Book!]! }
  type Book @resource { id: ID!  title: String!  pages: Int  room: Room }
  input Line { quantity: Int!  more: [Line!] }
  type Mutation { order(lines: [Line!]!): Int @action }
`;

const listed = (names: readonly string[]) => names.join();
const queries: readonly (readonly [parameter: string, write: (names: readonly string[]) => string])[] = [
  ['unknown ones', (names) => names.join('&')],
  ['sort', (names) => `sort=${listed(names)}`],
  ['sort through references', (names) => `sort=${listed(names.map((name) => `${name}.name`))}`],
  ['fields of relations', (names) => `fields=${listed(names.map((name) => `${name}.id`))}`],
  ['include', (names) => `include=${listed(names)}`],
  ['aggregate', (names) => `aggregate=${listed(names.map((name) => `sum(${name})`))}`],
  ['having', (names) => `groupBy=title&${names.map((name) => `having[max(${name})][eq]=1`).join('&')}`],
];

/** Counts how often one of these is asked of something. */
function watched(of: any, names: readonly string[]) {
  const count = { of: 0 };
  const seen = new Proxy(of, {
    get: (target, name) => {
      if (names.includes(String(name))) count.of++;
      return target[name];
    },
  });
  return { seen, count };
}

const { model } = readSchema(sdl) as any;
const many = (count: number, letter = 'n') =>
  Array.from({ length: count }, (_, index) => `${letter}${index}`);
const members = (count: number, letter = 'n') =>
  Object.fromEntries(many(count, letter).map((name) => [name, 1]));

function refusal(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof DuetError) return error.message;
    throw error;
  }
  return 'it was taken';
}

const FULL = 'More than 100 fields are invalid.';

test.each([...queries])('parameters: %s', (_, write) => {
  const { seen, count } = watched(model.byType.get('Book'), ['columns', 'fields', 'references']);
  const looksFor = (names: number) => {
    count.of = 0;
    const query = write(many(names));
    const refused = refusal(() => readListRequest(seen, query, { most: 100, depth: 10 }));
    // Those of an order are counted before they are looked at.
    expect(refused).toBe(query.startsWith('sort=') ? 'sort may have 100 fields at most.' : FULL);
    return count.of;
  };
  // What is found out about a type once.
  looksFor(200);
  expect(looksFor(1000)).toBe(looksFor(200));
});

test('parameters: the same again and again', () => {
  const { seen, count } = watched(model.byType.get('Book'), ['columns']);
  const looksFor = (times: number) => {
    count.of = 0;
    readListRequest(seen, `aggregate=${Array(times).fill('max(title)')}`, { most: 100, depth: 10 });
    return count.of;
  };
  looksFor(1);
  expect(looksFor(1000)).toBe(looksFor(1));
});

test('objects in the arguments of an action', () => {
  const action = model.actions.find(({ name }: any) => name === 'order');
  const { seen, count } = watched({ quantity: 'x' }, ['quantity']);
  expect(
    refusal(() => validArguments(action, { lines: Array(1000).fill(seen) }, new Budget(UNLIMITED))),
  ).toBe(FULL);
  expect(count.of).toBeLessThanOrEqual(101);
  count.of = 0;
  const more = { quantity: 1, more: Array(1000).fill(seen) };
  expect(refusal(() => validArguments(action, { lines: [more, more, more] }, new Budget(UNLIMITED)))).toBe(
    FULL,
  );
  expect(count.of).toBeLessThanOrEqual(101);
});

test('names in _inc', () => {
  const { seen, count } = watched(model.byType.get('Book'), ['fieldByName']);
  const faults: Fault[] = [];
  incrementsOf(seen, { _inc: members(1000) }, faults);
  expect([faults.length, count.of]).toEqual([101, 101]);
});

test('parameters for operators, however many', () => {
  const query = many(100_000).join('&');
  expect(refusal(() => Input.ofQuery({ query } as Exchange).end())).toBe(FULL);
});

test('a text that is too long for a name is like none', () => {
  const options = {
    [Symbol.iterator]: () => {
      throw new Error('they were looked at');
    },
  };
  expect(didYouMean('n'.repeat(101), options)).toBe('');
});

test('variables that the operation does not declare', () => {
  const [operation] = parse('query($a: Int) { books(first: $a) { id } }').definitions;
  const { seen, count } = watched({ a: { of: 1 }, ...members(1000) }, many(1000));
  expect(declaredIn(operation as OperationDefinitionNode, seen)).toEqual({ a: { of: 1 } });
  expect(count.of).toBe(0);
});

describe('of a type with many fields', () => {
  const fields = many(300).map((name) => `${name}: Int`);
  const wide = `type Wide @resource { id: ID! ${fields.join(' ')} }`;
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp('sqlite', { sdl: wide, env: { MCP: 'read' } });
  });
  afterAll(() => app.close());

  test('what MCP is to describe again and again is told once', async () => {
    const { told } = await call(app, 'describe', { types: Array(100_000).fill('Wide') });
    expect(Object.keys(told.types)).toEqual(['Wide']);
  });

  test('a long variable of GraphQL is quoted by one error, a short one by ten', async () => {
    const query = 'query($where: WideWhere) { wides(where: $where) { id } }';
    const told = async (count: number) => {
      const { errors } = await app.graphql(query, { where: members(count, 'm') });
      expect(errors?.pop().message).toStartWith('Too many errors processing variables');
      return errors?.length;
    };
    expect([await told(100), await told(10_000)]).toEqual([10, 1]);
  });
});
