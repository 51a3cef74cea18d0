/** What was not said never means "all": a filter that lacks an operand is refused, wherever it stands and whoever sends it. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  buildSchema,
  type GraphQLInputObjectType,
  type GraphQLSchema,
  getNullableType,
  isInputObjectType,
  isListType,
} from 'graphql';
import { pointer } from '../../src/base/errors.ts';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const RUNS = Number(process.env['RUNS'] ?? 40);

const sdl = `
  type Tag @resource { id: ID!  name: String!  rank: Int  shelf: Shelf  labels: [Label!]! }
  type Shelf @resource(plural: "shelves") { id: ID!  name: String!  tags: [Tag!]! }
  type Label @resource { id: ID!  text: String!  tag: Tag! @onDelete(do: CASCADE) }`;

const data = {
  shelves: [{ name: 'low' }, { name: 'high' }],
  tags: [
    { name: 'a', rank: 1, shelfId: 1 },
    { name: 'b', rank: 2, shelfId: 2 },
    { name: 'c', rank: null },
  ],
  labels: [
    { text: 'x', tagId: 1 },
    { text: 'y', tagId: 2 },
  ],
};

type Where = Record<string, unknown>;
type Path = (string | number)[];

const operand = fc.oneof(
  fc.record({ eq: fc.constantFrom('a', 'b', 'q') }),
  fc.record({ ne: fc.constant('a'), contains: fc.constant('b') }),
  fc.record({ in: fc.constantFrom(['a', 'b'], ['c']), startsWith: fc.constant('') }),
);

/** Valid filters, each with at least one condition; keys are strings, as both doors take them for text alone. */
const { tag } = fc.letrec<{ tag: Where; shelf: Where; label: Where }>((tie) => {
  const logic = (of: 'tag' | 'shelf' | 'label') => [
    fc.record({ and: fc.array(tie(of), { minLength: 1, maxLength: 2 }) }),
    fc.record({ or: fc.array(tie(of), { minLength: 1, maxLength: 2 }) }),
    fc.record({ not: tie(of) }),
  ];
  const deep = { maxDepth: 3, withCrossShrink: true };
  const numbers = fc.record({ rank: fc.record({ gte: fc.nat({ max: 2 }), isNull: fc.boolean() }) });
  const list = (of: 'tag' | 'label') =>
    fc.oneof(fc.record({ some: tie(of) }), fc.record({ none: tie(of) }), fc.constant({ none: {} }));
  return {
    tag: fc.oneof(
      deep,
      fc.record({ name: operand }),
      numbers,
      fc.record({ name: operand, rank: fc.record({ lt: fc.constant(9) }) }),
      fc.record({ shelf: tie('shelf') }),
      fc.record({ labels: list('label'), name: operand }),
      ...logic('tag'),
    ) as fc.Arbitrary<Where>,
    shelf: fc.oneof(
      deep,
      fc.record({ name: operand }),
      fc.record({ tags: list('tag') }),
      ...logic('shelf'),
    ) as fc.Arbitrary<Where>,
    label: fc.oneof(
      deep,
      fc.record({ text: operand }),
      fc.record({ tag: tie('tag') }),
      ...logic('label'),
    ) as fc.Arbitrary<Where>,
  };
});

/** Every place inside of a filter at which something is said. */
function places(value: unknown, at: Path = []): Path[] {
  if (Array.isArray(value)) return value.flatMap((each, index) => places(each, [...at, index]));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [[...at, name], ...places(inner, [...at, name])]);
}

function at(value: any, path: Path): any {
  return path.reduce((inner, part) => inner[part], value);
}

/** The same with another value at a place. */
function changed(value: any, [first, ...rest]: Path, to: unknown): any {
  if (first === undefined) return to;
  const copy = Array.isArray(value) ? [...value] : { ...value };
  copy[first] = changed(copy[first], rest, to);
  return copy;
}

class Variable {
  readonly name = 'left';
}

/** As a document writes it. */
function written(value: unknown): string {
  if (value instanceof Variable) return `$${value.name}`;
  if (Array.isArray(value)) return `[${value.map(written).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([name, inner]) => `${name}: ${written(inner)}`)
    .join(', ')} }`;
}

/** The type of what stands at a place of a filter. */
function typeAt(schema: GraphQLSchema, path: Path): string {
  let type = schema.getType('TagWhere') as GraphQLInputObjectType;
  let found = '';
  for (const part of path) {
    if (typeof part === 'number') continue;
    const field = type.getFields()[part];
    if (!field) throw new Error(`no ${part}`);
    found = String(getNullableType(field.type));
    let inner = getNullableType(field.type);
    if (isListType(inner)) inner = getNullableType(inner.ofType);
    if (isInputObjectType(inner)) type = inner;
  }
  return found;
}

/** Each way to send a filter for tags through GraphQL: `where` stands in place of it. */
const documents: Readonly<Record<string, (where: string) => string>> = {
  list: (where) => `{ tags(where: ${where}) { id } }`,
  'list in a fragment': (where) => `{ ...F } fragment F on Query { tags(where: ${where}) { id } }`,
  'list under a condition': (where) => `{ tags(where: ${where}) @include(if: true) { id } __typename }`,
  connection: (where) => `{ tagsConnection(where: ${where}) { totalCount } }`,
  aggregate: (where) => `{ tagsAggregate(where: ${where}) { count } }`,
  'nested list': (where) => `{ shelves { tags(where: ${where}, first: 5) { id } } }`,
  some: (where) => `{ shelves(where: { tags: { some: ${where} } }) { id } }`,
};

const mutations: Readonly<Record<string, (where: string) => string>> = {
  delete: (where) => `{ deleteTags(where: ${where}, atMost: 100) { id } }`,
  update: (where) => `{ updateTags(where: ${where}, set: { rank: 9 }, atMost: 100) { id } }`,
  atomic: (where) => `@atomic { deleteTags(where: ${where}, atMost: 100) { id } }`,
  'in what is answered': (where) =>
    `{ updateShelf(id: "1", name: "changed") { tags(where: ${where}) { id } } }`,
};

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  let schema: GraphQLSchema;
  let before: unknown[];
  const stored = async () =>
    Promise.all(['/tags', '/shelves', '/labels'].map(async (path) => (await app.rest('GET', path)).body));
  beforeAll(async () => {
    app = await openApp(database, { sdl, data });
    schema = buildSchema(await (await app.fetch('/schema.graphql')).text(), { assumeValidSDL: true });
    before = await stored();
  });
  afterAll(() => app.close());

  const rest = async (where: unknown) => {
    const json = encodeURIComponent(JSON.stringify(where));
    const operations = [
      { method: 'DELETE', path: '/tags', where, atMost: 100 },
      { method: 'PUT', path: '/tags', where, body: { rank: 9 }, atMost: 100 },
    ];
    const reads = [
      `/tags?where=${json}`,
      `/tags?limit=1&count=true&where=${json}`,
      `/tags?aggregate=count&where=${json}`,
      `/shelves?include=tags&tags[where]=${json}`,
      `/shelves?where=${encodeURIComponent(JSON.stringify({ tags: { some: where } }))}`,
    ];
    return [
      ...(await Promise.all(reads.map((path) => app.rest('GET', path)))),
      await app.fetch(`/tags?where=${json}`, { headers: { Accept: 'text/csv' } }).then(async (response) => ({
        status: response.status,
        body: response.ok ? undefined : await response.json(),
      })),
      ...(await Promise.all(
        operations.map((operation) => app.rest('POST', '/transaction', { operations: [operation] })),
      )),
    ];
  };

  const expectPlace = (errors: any[] | undefined, path: Path, prefixes: string[][], what: string) => {
    expect(errors?.[0]?.extensions?.code, what).toBe('VALIDATION_FAILED');
    const told = errors?.[0]?.extensions.errors.map((fault: any) => `${fault.code} ${fault.pointer}`);
    const wanted = prefixes.map((prefix) => `REQUIRED ${pointer(...prefix, ...path)}`);
    expect(
      wanted.some((place) => told.includes(place)),
      `${what}: ${told}`,
    ).toBe(true);
  };
  const prefixes = [['where'], ['where', 'tags', 'some'], ['tags', 'where']];

  test('a variable that stands in a filter and is not sent', async () => {
    let sent = 0;
    await fc.assert(
      fc.asyncProperty(tag, fc.nat(), async (where, choice) => {
        const all = places(where);
        const path = all[choice % all.length] ?? [];
        const type = typeAt(schema, path);
        const text = written(changed(where, path, new Variable()));
        for (const [name, document] of Object.entries(documents)) {
          const query = `query($left: ${type}) ${document(text)}`;
          const whole = await app.graphql(query, { left: at(where, path) });
          expect(whole.errors, `${query} with its variable`).toBeUndefined();
          const { errors } = await app.graphql(query, {});
          expectPlace(errors, path, prefixes, `${name}: ${query}`);
          sent++;
        }
        for (const [name, document] of Object.entries(mutations)) {
          const query = `mutation($left: ${type}) ${document(text)}`;
          const headers = choice % 2 === 0 ? { 'Idempotency-Key': `${database}-${sent++}` } : {};
          const { errors } = await app.graphql(query, {}, headers);
          expectPlace(errors, path, prefixes, `${name}: ${query}`);
        }
      }),
      { numRuns: RUNS },
    );
    expect(await stored()).toEqual(before);
  });

  test('an object or a list in a filter that is empty', async () => {
    await fc.assert(
      fc.asyncProperty(tag, fc.nat(), async (where, choice) => {
        const all = [
          ...places(where),
          ...places(where)
            .filter((path) => Array.isArray(at(where, path)))
            .map((path) => [...path, 0]),
        ].filter((path) => {
          const value = at(where, path);
          const asked = ['some', 'none'].includes(String(path.at(-1)));
          return (
            typeof value === 'object' &&
            value !== null &&
            path.at(-1) !== 'in' &&
            path.at(-2) !== 'in' &&
            !asked
          );
        });
        const path = all[choice % all.length] ?? [];
        const emptied = changed(where, path, Array.isArray(at(where, path)) ? [] : {});
        for (const [index, { status, body }] of (await rest(emptied)).entries()) {
          const what = `${index}: ${JSON.stringify(emptied)}`;
          expect([status, body?.code], what).toEqual([400, 'VALIDATION_FAILED']);
          expect(
            body.errors.every((fault: any) => fault.code === 'REQUIRED'),
            what,
          ).toBe(true);
        }
        for (const [name, document] of Object.entries({ ...documents, ...mutations })) {
          const kind = name in mutations ? 'mutation' : 'query';
          const literal = await app.graphql(`${kind} ${document(written(emptied))}`);
          expectPlace(literal.errors, path, prefixes, `${name}: ${written(emptied)}`);
          const query = `${kind}($where: TagWhere!) ${document('$where')}`;
          const { errors } = await app.graphql(query, { where: emptied });
          expectPlace(errors, path, prefixes, `${name}: ${JSON.stringify(emptied)}`);
        }
      }),
      { numRuns: RUNS },
    );
    expect(await stored()).toEqual(before);
  });

  /** As a document with its variables, and as JSON; undefined where a door has no such form. */
  const refused: [string, string, Record<string, unknown>, string][] = [
    [
      'eq without its variable',
      'mutation($id: ID) { deleteTags(where: { id: { eq: $id } }, atMost: 100) { id } }',
      {},
      '#/where/id/eq',
    ],
    [
      'in without its variable',
      'mutation($ids: [ID!]) { deleteTags(where: { id: { in: $ids } }, atMost: 100) { id } }',
      {},
      '#/where/id/in',
    ],
    [
      'an empty operator object',
      'mutation { deleteTags(where: { id: {} }, atMost: 100) { id } }',
      {},
      '#/where/id',
    ],
    [
      'one in a variable',
      'mutation($w: TagWhere!) { deleteTags(where: $w, atMost: 100) { id } }',
      { w: { id: {} } },
      '#/where/id',
    ],
    [
      'a null operand',
      'mutation($id: ID) { deleteTags(where: { id: { eq: $id } }, atMost: 100) { id } }',
      { id: null },
      '#/where/id/eq',
    ],
    [
      'one of two operators',
      'query($n: Int) { tags(where: { rank: { gt: 0, lt: $n } }) { id } }',
      {},
      '#/where/rank/lt',
    ],
    ...['tags', 'tagsConnection', 'tagsAggregate'].map(
      (list): [string, string, Record<string, unknown>, string] => {
        const of = (where: string) =>
          `${list}(where: { rank: ${where} }) { ${{ tags: 'id', tagsConnection: 'totalCount' }[list] ?? 'count'} }`;
        return [
          `one of two operators, beside the same ${list} without it`,
          `query($n: Int) { shelves { a: ${of('{ gt: 0 }')} b: ${of('{ gt: 0, lt: $n }')} } }`,
          {},
          `#/${list}/where/rank/lt`,
        ];
      },
    ),
    [
      'one object for a list',
      'query($n: Int) { tags(where: { and: { rank: { lt: $n } } }) { id } }',
      {},
      '#/where/and/0/rank/lt',
    ],
    [
      'a default that is empty',
      'query($w: TagWhere = { name: {} }) { tags(where: $w) { id } }',
      {},
      '#/where/name',
    ],
    [
      'a version that is not sent',
      'mutation($v: Int) { updateTag(id: "1", rank: 9, ifVersion: $v) { id } }',
      {},
      '#/ifVersion',
    ],
    ['a version that is null', 'mutation { deleteTag(id: "1", ifVersion: null) { id } }', {}, '#/ifVersion'],
    [
      'a version, all or nothing',
      'mutation($v: Int) @atomic { deleteTag(id: "1", ifVersion: $v) { id } }',
      {},
      '#/ifVersion',
    ],
  ];
  test.each(refused)('%s', async (_, query, variables, place) => {
    // Compiled for the second time it is sent.
    for (let time = 0; time < 3; time++) {
      const { errors } = await app.graphql(query, variables);
      expect(errors?.map((error) => error.extensions.code)).toEqual(['VALIDATION_FAILED']);
      expect(errors?.[0].extensions.errors).toMatchObject([{ pointer: place, code: 'REQUIRED' }]);
    }
    expect(await stored()).toEqual(before);
  });

  const everything: [string, string, Record<string, unknown>][] = [
    ['an empty filter', 'query { tags(where: {}) { id } }', {}],
    ['no filter', 'query { tags { id } }', {}],
    ['a filter that is left out', 'query($w: TagWhere) { tags(where: $w) { id } }', {}],
    [
      'a filter that is null, as some clients leave out',
      'query($w: TagWhere) { tags(where: $w) { id } }',
      { w: null },
    ],
    ['a page that is left out', 'query($n: Int, $a: String) { tags(first: $n, after: $a) { id } }', {}],
  ];
  test.each(everything)('asks for everything: %s', async (_, query, variables) => {
    for (let time = 0; time < 3; time++)
      expect((await app.graphql(query, variables)).data?.tags).toEqual([
        { id: '1' },
        { id: '2' },
        { id: '3' },
      ]);
  });

  test('a record of a list at all can be asked for', async () => {
    const { data } = await app.graphql(
      '{ some: tags(where: { labels: { some: {} } }) { id } none: tags(where: { labels: { none: {} } }) { id } }',
    );
    expect(data).toEqual({ some: [{ id: '1' }, { id: '2' }], none: [{ id: '3' }] });
  });
});
