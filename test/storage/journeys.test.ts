/** Schemas that follow each other: what was left out comes back, what others made stays, and what is remembered. */

import { describe, expect, test } from 'bun:test';
import { describe as inWords } from '../../src/storage/evolve/steps.ts';
import { indexesOf } from '../../src/storage/evolve/tables.ts';
import { databases } from '../app.ts';
import { Deployment, modelOf } from './deployment.ts';

const A = (fields: string) => `type A @resource { id: ID! ${fields} }`;
const User = 'type User @resource { id: ID! name: String }';

describe.each([...databases])('on %s', (kind) => {
  test('a field that is left out keeps its values, and comes back with them', async () => {
    await using deployment = await Deployment.create(kind);
    const full = A('n: Int s: String!');
    await deployment.evolve(full, { as: [{ n: 1, s: 'x' }] });
    expect(await deployment.evolve(A('n: Int'))).toMatchObject({
      applied: ['allow null in A.s'],
      surplus: ['A.s'],
    });
    await deployment.using(A('n: Int'), async (app) => {
      expect((await app.rest('POST', '/as', { n: 2 })).body).toEqual({ id: 2, n: 2 });
    });
    expect(await deployment.refusals(A('n: Int t: Int s: String!'))).toEqual([
      'A.s: it is now required, but there are records without a value for it. Give them one first, add @default(value: …), or drop the "!".',
    ]);
    expect(await deployment.records(A('n: Int s: String'))).toEqual({
      as: [
        { id: 1, n: 1, s: 'x' },
        { id: 2, n: 2, s: null },
      ],
    });
    expect(await deployment.records(A('n: Int s: String! @default(value: "d")'))).toEqual({
      as: [
        { id: 1, n: 1, s: 'x' },
        { id: 2, n: 2, s: 'd' },
      ],
    });
  });

  test('a field that was left out is still held to its type and its new rule', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(A('n: Int s: String b: Boolean'), { as: [{ n: 1, s: 'xx', b: true }] });
    await deployment.evolve(A('n: Int'));
    expect(await deployment.refusals(A('n: Int s: String @constraint(maxLength: 1) b: Int'))).toMatchObject(
      [/^A.s: it admits less/, /^A.b: its type changed to Int/].map(expect.stringMatching),
    );
  });

  test('a resource that is left out keeps its records, its references and its counter', async () => {
    await using deployment = await Deployment.create(kind);
    const full = `${A('user: User!')} ${User}`;
    await deployment.evolve(full, { users: [{ name: 'Ann' }, {}], as: [{ userId: 1 }] });
    expect(await deployment.evolve(User)).toMatchObject({ applied: [], surplus: ['A'] });
    await deployment.using(User, async (app) => {
      expect((await app.rest('DELETE', '/users/2')).status).toBe(204);
      // What is unseen still points to it, and would come back broken.
      expect((await app.rest('DELETE', '/users/1')).body).toMatchObject({ status: 409 });
    });
    await deployment.using(full, async (app) => {
      expect((await app.rest('GET', '/as')).body).toEqual([{ id: 1, userId: 1 }]);
      expect((await app.rest('POST', '/as', { userId: 1 })).body).toEqual({ id: 2, userId: 1 });
    });
  });

  test('a reference that is left out', async () => {
    await using deployment = await Deployment.create(kind);
    const full = `${A('user: User!')} ${User}`;
    await deployment.evolve(full, { users: [{}], as: [{ userId: 1 }] });
    const less = `${A('')} ${User}`;
    expect(await deployment.evolve(less)).toMatchObject({
      applied: ['allow null in A.userId'],
      surplus: ['A.userId'],
    });
    await deployment.using(less, async (app) => {
      expect((await app.rest('POST', '/as', {})).status).toBe(201);
      expect((await app.rest('DELETE', '/users/1')).status).toBe(409);
      expect((await app.rest('DELETE', '/as/2')).status).toBe(204);
    });
    expect(await deployment.records(full)).toMatchObject({ as: [{ id: 1, userId: 1 }] });
  });

  test('a unique that is gone no longer refuses rows, even when its resource was away meanwhile', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(`${A('s: String @unique t: String @unique')} ${User}`, { as: [{ s: 'x' }] });
    await deployment.evolve(User);
    const without = `${A('s: String')} ${User}`;
    expect((await deployment.evolve(without)).applied).toEqual([
      'drop unique index on A (s)',
      'drop unique index on A (t)',
    ]);
    await deployment.using(without, async (app) => {
      expect((await app.rest('POST', '/as', { s: 'x' })).status).toBe(201);
    });
  });

  test('rows are read only where the new rule could exclude them, and page by page', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(`enum E { a b } ${A('s: String @constraint(maxLength: 2) e: E z: Int')}`);
    const rows = Array.from({ length: 2500 }, (_, n) => `('${n === 2400 ? 'xx' : 'x'}', 'a', 1)`);
    await deployment.sql(`INSERT INTO "A" ("s", "e", "_version") VALUES ${rows.join(', ')}`);
    deployment.statements.length = 0;
    await deployment.evolve(`enum E { c b a } ${A('s: String @constraint(maxLength: 3) e: E z: Int')}`);
    await deployment.evolve(A('s: String e: String z: Int @constraint(max: 5)'));
    expect(deployment.statements.filter((sql) => /"s"|"e"/.test(sql))).toEqual([]);
    deployment.statements.length = 0;
    expect(await deployment.refusals(A('s: String @constraint(maxLength: 1) e: String z: Int'))).toEqual([
      'A.s: it admits less than before, but s must have at most 1 character, but a 2401 has another value. Change such records first, or widen the constraint.',
    ]);
    expect(deployment.statements).toHaveLength(3);
    for (const sql of deployment.statements) expect(sql).toEndWith(' LIMIT 1000');
  });

  test('what is filled counts as a change of the record', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(A('s: String'), { as: [{ s: 'x' }, {}] });
    await deployment.evolve(A('s: String! @default(value: "d")'));
    await deployment.using(A('s: String'), async (app) => {
      const { data } = await app.graphql('{ as { id _version } }');
      expect(data.as).toEqual([
        { id: '1', _version: 1 },
        { id: '2', _version: 2 },
      ]);
    });
  });

  test('the history has the time, the file and the steps of each change', async () => {
    await using deployment = await Deployment.create(kind);
    const start = new Date().toISOString();
    for (const sdl of [A('n: Int'), A('n: Int @index'), A('n: Int @index'), A('n: Int')])
      await deployment.evolve(sdl);
    await deployment.migrate(A('n: Int'));
    const history = await deployment.history();
    expect(history).toMatchObject([
      { schema: A('n: Int'), steps: ['create table A'] },
      { schema: A('n: Int @index'), steps: ['create index on A (n)'] },
      { schema: A('n: Int'), steps: [] },
    ]);
    const times = [start, ...history.map(({ at }) => at), new Date().toISOString()];
    expect(times).toEqual(times.toSorted());
  });

  test('a deprecation counts from when it was first applied, until it is taken back', async () => {
    await using deployment = await Deployment.create(kind);
    const start = Date.now();
    const first = await deployment.evolve(A('n: Int @deprecated s: String'));
    const since = first.deprecatedSince.get('A.n');
    expect(since?.getTime()).toBeWithin(start, Date.now() + 1);
    await Bun.sleep(5);
    const second = await deployment.evolve(A('n: Int @deprecated(reason: "x") s: String @deprecated'));
    expect(second.deprecatedSince.get('A.n')).toEqual(since as Date);
    expect(second.deprecatedSince.get('A.s')?.getTime()).toBeGreaterThan(Number(since));
    expect((await deployment.evolve(A('n: Int s: String'))).deprecatedSince).toEqual(new Map());
    await Bun.sleep(5);
    const again = await deployment.evolve(A('n: Int @deprecated s: String'));
    expect(Number(again.deprecatedSince.get('A.n'))).toBeGreaterThan(Number(since));
  });

  test('a failure half-way leaves everything as it was', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(A('n: Int'), { as: [{ n: 1 }] });
    const next = `${A('n: Int s: String! @default(value: "x")')} type B @resource { id: ID! } type C @resource { id: ID! n: Int @index }`;
    // Nobody looks whether the name of an index is free.
    const [index] = modelOf(next).resources.flatMap(indexesOf);
    await deployment.sql(`CREATE VIEW "${index?.name}" AS SELECT 1 AS "x"`);
    const history = await deployment.history();
    expect(await deployment.refusals(next)).toEqual([expect.stringMatching(/already/)]);
    expect(await deployment.history()).toEqual(history);
    expect(await deployment.evolve(A('n: Int'))).toMatchObject({ applied: [], surplus: [] });
    expect(await deployment.records(A('n: Int'))).toEqual({ as: [{ id: 1, n: 1 }] });
    await deployment.sql(`DROP VIEW "${index?.name}"`);
    expect((await deployment.evolve(next)).applied).toEqual([
      'add column A.s',
      'create table B',
      'create table C',
      'create index on C (n)',
    ]);
  });

  test('an index that is not what the file asks for is made anew, whatever its name says', async () => {
    await using deployment = await Deployment.create(kind);
    const sdl = A('n: Int @index s: String! @unique');
    await deployment.evolve(sdl, { as: [{ n: 1, s: 'x' }] });
    const [unique, ordinary] = modelOf(sdl).resources.flatMap(indexesOf);
    const replace = async (name: string | undefined, create: string, on: string) => {
      await deployment.sql(`DROP INDEX "${name}"`);
      await deployment.sql(`${create} "${name}" ON "A" ${on}`);
    };
    const others = [
      ['CREATE INDEX', '("n")'],
      ['CREATE INDEX', '("id", "n")'],
      ['CREATE UNIQUE INDEX', '("n", "id")'],
      ['CREATE INDEX', '(abs("n"), "id")'],
      ['CREATE INDEX', '("n", "id") WHERE "n" > 0'],
      ...(kind === 'postgres' ? [['CREATE INDEX', 'USING hash ("n")']] : []),
    ] as const;
    for (const [create, on] of others) {
      await replace(ordinary?.name, create ?? '', on ?? '');
      expect((await deployment.preview(sdl)).steps.map(inWords)).toEqual(['create index on A (n)']);
      expect((await deployment.evolve(sdl)).applied).toEqual(['create index on A (n)']);
      expect((await deployment.evolve(sdl)).applied).toEqual([]);
    }
    await replace(unique?.name, 'CREATE INDEX', '("s")');
    await deployment.sql(`INSERT INTO "A" ("s", "_version") VALUES ('x', 1)`);
    expect(await deployment.refusals(sdl)).toEqual([
      'A(s): it is now unique, but there are records with the same value: 1 and 2. Change such records first, or drop the @unique.',
    ]);
    await deployment.sql(`DELETE FROM "A" WHERE "id" = 2`);
    expect((await deployment.evolve(sdl)).applied).toEqual(['create unique index on A (s)']);
    // How it is stored is the operator's, and so is where the nulls of a column stand that has had some.
    if (kind === 'postgres')
      await replace(ordinary?.name, 'CREATE INDEX', '("n", "id") INCLUDE ("s") WITH (fillfactor = 70)');
    expect((await deployment.evolve(A('n: Int! @index s: String! @unique'))).applied).toEqual([
      'forbid null in A.n',
    ]);
  });

  test('what is no table, but has the name of one, is refused with the cure', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(A('s: String'));
    const made: [string, string][] =
      kind === 'sqlite'
        ? [
            ['view', 'CREATE VIEW "Taken" AS SELECT 1 AS x'],
            ['index', 'CREATE INDEX "Taken" ON "A" ("s")'],
          ]
        : [
            ['view', 'CREATE VIEW "Taken" AS SELECT 1 AS x'],
            ['materialized view', 'CREATE MATERIALIZED VIEW "Taken" AS SELECT 1 AS x'],
            ['sequence', 'CREATE SEQUENCE "Taken"'],
            ['index', 'CREATE INDEX "Taken" ON "A" ("s")'],
            ['type', 'CREATE TYPE "Taken" AS ENUM ()'],
          ];
    for (const [what, sql] of made) {
      await deployment.sql(sql);
      const sdl = `${A('s: String')} type Taken @resource { id: ID! }`;
      const refusal = `Taken: it would be stored in a new table "Taken", but there is ${what === 'index' ? 'an' : 'a'} ${what} "Taken". Name another with @table(name: "…"), or rename the ${what}.`;
      expect(await deployment.refusals(sdl)).toEqual([refusal]);
      const { steps, refusals } = await deployment.preview(sdl);
      expect([steps, refusals.length]).toEqual([[], 1]);
      const other = sdl.replace('@resource { id: ID! }', '@resource @table(name: "Free") { id: ID! }');
      expect((await deployment.preview(other)).refusals).toEqual([]);
      await deployment.sql(`DROP ${what.toUpperCase()} "Taken"`);
    }
  });

  test('a table of another program is neither used nor dropped', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.sql('CREATE TABLE "Theirs" ("id" INTEGER NOT NULL PRIMARY KEY, "x" TEXT NOT NULL)');
    await deployment.sql(`INSERT INTO "Theirs" VALUES (1, 'x')`);
    expect((await deployment.evolve(A('n: Int'))).surplus).toEqual(['Theirs']);
    await deployment.sql('ALTER TABLE "A" ADD COLUMN "theirs" TEXT');
    expect((await deployment.evolve(A('n: Int'))).surplus).toEqual(['Theirs', 'A.theirs']);
    expect(await deployment.refusals('type Theirs @resource { id: ID! x: String! }')).toEqual([
      'Theirs: it would be stored in the table "Theirs", but another program made a table of that name. Name another with @table(name: "…").',
    ]);
    expect(await deployment.prune(A('n: Int'), ['Theirs', 'A.theirs'])).toEqual([]);
    expect(await deployment.sql('SELECT * FROM "Theirs"')).toEqual([{ id: 1, x: 'x' }]);
    expect(await deployment.sql('SELECT "theirs" FROM "A"')).toEqual([]);
  });

  test('a preview tells everything and changes nothing', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.sql('CREATE TABLE "Theirs" ("x" INTEGER)');
    await deployment.evolve(A('n: Int s: String'), { as: [{ n: 1 }] });
    const told = await deployment.preview(A('n: Int @index t: String!'));
    expect(told.steps.map(inWords)).toEqual(['create index on A (n)']);
    expect(told.refusals.map(({ what }) => what)).toEqual(['A.t: it is new and required']);
    expect(told.surplus).toEqual(['Theirs', 'A.s']);
    expect(told.prunable).toEqual(['A.s']);
    expect(told.before?.source).toBe(A('n: Int s: String'));
    expect(await deployment.evolve(A('n: Int s: String'))).toMatchObject({ applied: [] });
    expect(await deployment.history()).toHaveLength(1);
  });

  test('prune drops what was shown and nothing else', async () => {
    await using deployment = await Deployment.create(kind);
    const rest = `${A('n: Int @index')}`;
    const full = `type A @resource @unique(fields: ["n", "s"]) {
        id: ID!  n: Int @index  s: String @index  t: String @unique  b: B
      }
      type B @resource { id: ID! c: C  bs: [B!]!  b: B  as: [A!]! }
      type C @resource @table(name: "A.n") { k: ID! @key b: B }`;
    await deployment.evolve(full, {
      as: [{ n: 1, s: 'x', t: 'y', bId: 1 }],
      bs: [{ cId: 'c', bId: 1 }],
      cs: [{ k: 'c', bId: 1 }],
    });
    const { surplus } = await deployment.evolve(rest);
    expect(surplus).toEqual(['"A.n"', 'B', 'A.s', 'A.t', 'A.bId'].sort(inOrderOf(surplus)));
    expect(await deployment.prune(rest, ['A.t'])).toEqual(['A.t']);
    // What the file names by now is no longer surplus.
    const named = A('n: Int @index s: String');
    expect(await deployment.prune(named, [...surplus, 'A', 'A.n', 'A.id', 'A._version'])).toEqual(
      surplus.filter((name) => name !== 'A.s' && name !== 'A.t'),
    );
    expect(await deployment.evolve(named)).toMatchObject({ surplus: [] });
    expect(await deployment.records(named)).toEqual({ as: [{ id: 1, n: 1, s: 'x' }] });
    expect((await deployment.history()).flatMap(({ steps }) => steps)).toContain('drop A.t');
    expect((await deployment.evolve(full)).applied).toContain('create table B');
  });

  test('prune leaves the key, whatever the file says', async () => {
    await using deployment = await Deployment.create(kind);
    const keyed = 'type A @resource { s: ID! @key t: String! }';
    await deployment.evolve(keyed, { as: [{ s: 'x', t: 'y' }] });
    expect(await deployment.prune('type A @resource { t: String! @key }', ['A.s'])).toEqual([]);
    expect(await deployment.records(keyed)).toEqual({ as: [{ s: 'x', t: 'y' }] });
  });

  test('prune leaves what rows of others still refer to', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(`${A('n: Int')} ${User}`, { users: [{}] });
    await deployment.evolve(A('n: Int'));
    const key = kind === 'sqlite' ? 'INTEGER' : 'bigint';
    await deployment.sql(`CREATE TABLE "Theirs" ("user" ${key} REFERENCES "User" ("id"))`);
    await deployment.sql('INSERT INTO "Theirs" VALUES (1)');
    await expect(deployment.prune(A('n: Int'), ['User'])).rejects.toThrow();
    expect(await deployment.sql('SELECT "id" FROM "User"')).toHaveLength(1);
  });
});

/** Databases list tables in the order of their own collation. */
function inOrderOf(list: readonly string[]) {
  return (a: string, b: string) => list.indexOf(a) - list.indexOf(b);
}
