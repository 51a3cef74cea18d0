/** Whatever a caller asks, it is answered as if the world held nothing but what the caller may see. */

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { alike, literal } from './access-doors.ts';
import { headersOf, SECRET } from './access-matrix.ts';
import {
  callers,
  Eyes,
  type Name,
  names,
  newWorld,
  type Row,
  sdl,
  shapes,
  type World,
} from './access-world.ts';

interface Question {
  readonly name: Name;
  readonly where: object;
  readonly order: readonly { readonly column: string; readonly descending: boolean }[];
}

/** The world as one caller sees it: without the rest, there is nothing to hide. */
function worldOf(eyes: Eyes): World {
  const seen = (name: Name) =>
    eyes.visible(name).map((row): Row => {
      const shown = eyes.show(name, row);
      return Object.fromEntries(shapes[name].columns.map((column) => [column, shown[column] ?? null]));
    });
  return Object.fromEntries(names.map((name) => [name, seen(name)])) as World;
}

/** What the caller may ask; also for values that it cannot see. */
function questions(eyes: Eyes): fc.Arbitrary<Question> {
  const open = names.filter((name) => eyes.couldEver(name, 'READ'));
  return fc.constantFrom(...open).chain((name) =>
    fc.record({
      name: fc.constant(name),
      where: wheres(eyes, name, 3),
      order: fc.array(
        fc.record({ column: fc.constantFrom(...comparable(eyes, name)), descending: fc.boolean() }),
        { maxLength: 2 },
      ),
    }),
  );
}

/** Groups by what the caller may compare, chosen and ordered by what it may compare too. */
interface Grouping {
  readonly name: Name;
  readonly where: object;
  readonly by: readonly string[];
  readonly having: object;
  readonly order: readonly { readonly of: string; readonly column: string; readonly descending: boolean }[];
  readonly limit: number;
  readonly offset: number;
}

const functions = ['count', 'countDistinct', 'min', 'max'];

function groupings(eyes: Eyes): fc.Arbitrary<Grouping> {
  const open = names.filter((name) => eyes.couldEver(name, 'READ') && comparable(eyes, name, 0).length > 0);
  return fc.constantFrom(...open).chain((name) => {
    const column = fc.constantFrom(...comparable(eyes, name, 0));
    const result = column.chain((each) =>
      fc.oneof(
        condition(eyes.world, name, each).chain((inner) =>
          fc.constantFrom('min', 'max').map((of) => ({ [of]: inner })),
        ),
        fc.integer({ min: 0, max: 3 }).map((gte) => ({ countDistinct: { [each]: { gte } } })),
      ),
    );
    const counted = fc.integer({ min: 0, max: 3 }).map((lte) => ({ count: { lte } }));
    const conditions = fc.array(fc.oneof(result, result, counted), { minLength: 1, maxLength: 2 });
    return fc.record({
      name: fc.constant(name),
      where: fc.oneof(fc.constant({}), wheres(eyes, name, 1)),
      by: fc.uniqueArray(column, { maxLength: 2 }),
      having: fc.oneof(
        fc.constant({}),
        result,
        conditions.map((and) => ({ and })),
        conditions.map((or) => ({ or })),
        result.map((not) => ({ not })),
      ),
      order: fc.array(fc.record({ of: fc.constantFrom(...functions), column, descending: fc.boolean() }), {
        maxLength: 2,
      }),
      limit: fc.integer({ min: 1, max: 4 }),
      offset: fc.integer({ min: 0, max: 2 }),
    });
  });
}

/** With the records that groups are of. */
async function groups(app: Pick<AppUnderTest, 'rest'>, grouping: Grouping, headers: Record<string, string>) {
  const { name, where, by, having, order, limit, offset } = grouping;
  const parameters = new URLSearchParams({
    where: JSON.stringify(where),
    aggregate: 'count',
    having: JSON.stringify(having),
    limit: String(limit),
    offset: String(offset),
  });
  const included = by.flatMap((column) => shapes[name].references[column]?.[0] ?? []);
  if (by.length > 0) parameters.set('groupBy', by.join());
  if (included.length > 0) parameters.set('include', included.join());
  const words = order.map(({ of, column, descending }) => {
    const word = of === 'count' ? of : `${of}(${column})`;
    return descending ? `-${word}` : word;
  });
  if (words.length > 0) parameters.set('sort', words.join());
  return (await app.rest('GET', `/${name}?${parameters}`, undefined, headers)).body;
}

async function graphqlGroups(app: AppUnderTest, grouping: Grouping, headers: Record<string, string>) {
  const { name, where, by, having, order, limit, offset } = grouping;
  const orders = order.map(({ of, column, descending }) => {
    const direction = descending ? 'DESC' : 'ASC';
    return of === 'count' ? `{ count: ${direction} }` : `{ ${of}: { ${column}: ${direction} } }`;
  });
  const args = [
    `where: ${literal('', where)}, having: $having, groupBy: [${by.join()}]`,
    `orderBy: [${orders.join()}], first: ${limit}, offset: ${offset}`,
  ];
  const common = by.length > 0 ? `by { ${by.join(' ')} }` : '';
  const document = `query ($having: ${shapes[name].type}Having) { it: ${name}Aggregate(${args.join(', ')}) { ${common} count } }`;
  const { data, errors } = await app.graphql(document, { having }, headers);
  return errors ?? data.it;
}

/** Columns, and paths to those of records that references lead to. */
function comparable(eyes: Eyes, name: Name, depth = 2): string[] {
  const { columns, references } = shapes[name];
  const own = columns.filter((column) => {
    const [, target] = references[column] ?? [];
    return eyes.usable(name, column) && (!target || eyes.seesAll(target));
  });
  const through = Object.entries(references).flatMap(([column, [field, target]]) =>
    depth > 0 && eyes.usable(name, column) && eyes.couldEver(target, 'READ')
      ? comparable(eyes, target, depth - 1).map((path) => `${field}.${path}`)
      : [],
  );
  return [...own, ...through];
}

function wheres(eyes: Eyes, name: Name, depth: number): fc.Arbitrary<object> {
  const { columns, references, lists, throughs = {} } = shapes[name];
  const conditions = columns
    .filter((column) => eyes.usable(name, column))
    .map((column) => condition(eyes.world, name, column));
  if (depth === 0) return fc.oneof(...conditions);
  const inner = (of: Name) => wheres(eyes, of, depth - 1);
  const quantified = (list: string, target: Name) =>
    fc
      .tuple(fc.constantFrom('some', 'none'), fc.oneof(fc.constant({}), inner(target)))
      .map(([quantifier, where]) => ({ [list]: { [quantifier]: where } }));
  const relations = [
    ...Object.entries(references)
      .filter(([column]) => eyes.usable(name, column))
      .map(([, [field, target]]) => inner(target).map((where) => ({ [field]: where }))),
    ...Object.entries(lists)
      .filter(([list]) => eyes.usable(name, list))
      .map(([list, [target]]) => quantified(list, target)),
    ...Object.entries(throughs)
      .filter(([, [, join, far]]) => eyes.usable(join, far))
      .map(([list, [target]]) => quantified(list, target)),
  ];
  const several = fc.array(wheres(eyes, name, depth - 1), { minLength: 1, maxLength: 3 });
  return fc.oneof(
    ...conditions,
    ...relations,
    ...relations,
    several.map((and) => ({ and })),
    several.map((or) => ({ or })),
    wheres(eyes, name, depth - 1).map((not) => ({ not })),
  );
}

function condition(world: World, name: Name, column: string): fc.Arbitrary<object> {
  const values = world[name].map((row) => row[column]).filter((value) => value !== null);
  const operators = typeof values[0] === 'boolean' ? ['eq', 'ne'] : ['eq', 'ne', 'gt', 'gte', 'lt', 'lte'];
  const value = fc.constantFrom(...values);
  return fc
    .oneof(
      fc.tuple(fc.constantFrom(...operators), value).map(([operator, each]) => ({ [operator]: each })),
      fc.array(value, { maxLength: 3 }).map((each) => ({ in: each })),
      fc.boolean().map((isNull) => ({ isNull })),
    )
    .map((each) => ({ [column]: each }));
}

/** Keys, how many there are, and the keys of everything that is related. */
async function answer(app: Pick<AppUnderTest, 'rest'>, question: Question, headers: Record<string, string>) {
  const { name, where, order } = question;
  const { key, references, lists, throughs } = shapes[name];
  const targets = [
    ...Object.values(references),
    ...Object.entries({ ...lists, ...throughs }).map(([list, [target]]) => [list, target] as const),
  ];
  const fields = [key, ...targets.map(([field, target]) => `${field}.${shapes[target].key}`)];
  const parameters = new URLSearchParams({
    where: JSON.stringify(where),
    count: 'true',
    fields: fields.join(),
  });
  if (order.length > 0)
    parameters.set(
      'sort',
      order.map(({ column, descending }) => (descending ? `-${column}` : column)).join(),
    );
  const { body, headers: answered } = await app.rest('GET', `/${name}?${parameters}`, undefined, headers);
  return { body, count: answered.get('X-Total-Count') };
}

async function graphqlKeys(
  app: AppUnderTest,
  { name, where, order }: Question,
  headers: Record<string, string>,
) {
  const by = order
    .map(({ column, descending }) =>
      column.split('.').reduceRight((inner, field) => `{ ${field}: ${inner} }`, descending ? 'DESC' : 'ASC'),
    )
    .join(' ');
  const { key } = shapes[name];
  const document = `{ ${name}(where: ${literal('', where)}, orderBy: [${by}]) { ${key} } }`;
  const { data, errors } = await app.graphql(document, {}, headers);
  return errors ?? data[name].map((row: Row) => String(row[key]));
}

/** Pages of the lists of each record, and numbers about them; cursors tell of places, so they are compared too. */
async function lists(
  app: AppUnderTest,
  { name, where, order }: Question,
  usable: readonly string[],
  headers: Record<string, string>,
) {
  const { key } = shapes[name];
  const fields = usable.map((list) => {
    const [target] = shapes[name].lists[list] ?? [];
    const inner = target ? shapes[target].key : key;
    const size = order.length === 2 ? 'last: 1' : 'first: 1';
    return `${list}Connection(${size}) { totalCount edges { cursor node { ${inner} } } pageInfo { hasNextPage hasPreviousPage } }
      ${list}Aggregate { count min { ${inner} } max { ${inner} } }`;
  });
  const document = `{ ${name}(where: ${literal('', where)}) { ${key} ${fields.join(' ')} } }`;
  const { data, errors } = await app.graphql(document, {}, headers);
  return errors ?? data;
}

/** What the caller may not read at all is absent from one answer and null in the other. */
function withoutNulls(value: any): any {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([, each]) => each !== null);
  return Object.fromEntries(kept.map(([name, each]) => [name, withoutNulls(each)]));
}

for (const database of databases)
  describe(`on ${database}`, () => {
    for (const who of callers)
      test(`${who.name}`, async () => {
        const eyes = new Eyes(who, newWorld());
        const guarded = await openApp(database, { sdl, data: newWorld(), env: { AUTH_SECRET: SECRET } });
        const seen = await openApp(database, { sdl, data: worldOf(eyes) });
        const headers = await headersOf(who);
        // A list that is forbidden is absent; nothing stands for that in the other world.
        const forbidden = Object.keys(shapes.people.lists).filter((list) => !eyes.usable('people', list));
        const plain = (body: any) =>
          withoutNulls(
            body.map?.((row: Row) => ({
              ...row,
              ...Object.fromEntries(forbidden.map((list) => [list, null])),
            })),
          );
        try {
          await fc.assert(
            fc.asyncProperty(questions(eyes), async (question) => {
              const [actual, expected] = [
                await answer(guarded, question, headers),
                await answer(seen, question, {}),
              ];
              expect({ ...actual, body: plain(actual.body) }).toEqual({
                ...expected,
                body: plain(expected.body),
              });
              const keys = expected.body.map((row: Row) => String(row[shapes[question.name].key]));
              expect(await graphqlKeys(guarded, question, headers)).toEqual(keys);
              const usable = Object.keys(shapes[question.name].lists).filter((list) =>
                eyes.usable(question.name, list),
              );
              expect(await lists(guarded, question, usable, headers)).toEqual(
                await lists(seen, question, usable, {}),
              );
            }),
            { numRuns: database === 'sqlite' ? 200 : 60, interruptAfterTimeLimit: 40_000 },
          );
          await fc.assert(
            fc.asyncProperty(groupings(eyes), async (grouping) => {
              const expected = await groups(seen, grouping, {});
              expect(withoutNulls(await groups(guarded, grouping, headers))).toEqual(withoutNulls(expected));
              const plainly = expected.map(({ by, count }: any) =>
                alike(
                  by
                    ? { by: Object.fromEntries(grouping.by.map((name) => [name, by[name]])), count }
                    : { count },
                ),
              );
              expect(alike(await graphqlGroups(guarded, grouping, headers))).toEqual(plainly);
            }),
            { numRuns: database === 'sqlite' ? 200 : 60, interruptAfterTimeLimit: 40_000 },
          );
        } finally {
          await guarded.close();
          await seen.close();
        }
      });
  });
