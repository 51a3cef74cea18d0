/** Whatever a caller asks, it is answered as if the world held nothing but what the caller may see. */

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { literal } from './access-doors.ts';
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

function comparable(eyes: Eyes, name: Name): string[] {
  const { columns, references } = shapes[name];
  return columns.filter((column) => {
    const [, target] = references[column] ?? [];
    return eyes.usable(name, column) && (!target || eyes.seesAll(target));
  });
}

function wheres(eyes: Eyes, name: Name, depth: number): fc.Arbitrary<object> {
  const { columns, references, lists } = shapes[name];
  const conditions = columns
    .filter((column) => eyes.usable(name, column))
    .map((column) => condition(eyes.world, name, column));
  if (depth === 0) return fc.oneof(...conditions);
  const inner = (of: Name) => wheres(eyes, of, depth - 1);
  const atAll = fc.constant({});
  const relations = [
    ...Object.entries(references)
      .filter(([column]) => eyes.usable(name, column))
      .map(([, [field, target]]) => inner(target).map((where) => ({ [field]: where }))),
    ...Object.entries(lists)
      .filter(([list]) => eyes.usable(name, list))
      .map(([list, [target]]) =>
        fc
          .tuple(fc.constantFrom('some', 'none'), fc.oneof(atAll, inner(target)))
          .map(([quantifier, where]) => ({ [list]: { [quantifier]: where } })),
      ),
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
  const { key, references, lists } = shapes[name];
  const targets = [
    ...Object.values(references),
    ...Object.entries(lists).map(([list, [target]]) => [list, target] as const),
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
  const by = order.map(({ column, descending }) => `{ ${column}: ${descending ? 'DESC' : 'ASC'} }`).join(' ');
  const { key } = shapes[name];
  const document = `{ ${name}(where: ${literal('', where)}, orderBy: [${by}]) { ${key} } }`;
  const { data, errors } = await app.graphql(document, {}, headers);
  return errors ?? data[name].map((row: Row) => String(row[key]));
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
            }),
            { numRuns: database === 'sqlite' ? 200 : 60, interruptAfterTimeLimit: 40_000 },
          );
        } finally {
          await guarded.close();
          await seen.close();
        }
      });
  });
