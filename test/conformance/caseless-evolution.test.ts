/** A table with records is given a field that ignores letter case, or loses it, while nodes of both files are running. */

import { describe, expect, test } from 'bun:test';
import { describe as inWords } from '../../src/storage/evolve/steps.ts';
import { type AppUnderTest, databases } from '../app.ts';
import { Deployment } from '../storage/deployment.ts';
import { leftOfLog, watched } from '../storage/watched.ts';

const A = (directives: string, more = '') =>
  `type A @resource ${more} { id: ID! s: String ${directives} n: Int }`;
/** More than are brought up to date at once. */
const many = Array.from({ length: 1203 }, (_, n) => ({ s: n % 3 === 0 ? null : `Straße ${n}`, n }));
const raise = 'refuse writes to A from older nodes';
const fold = 'fold the letters of A.s in all records';

const found = (deployment: Deployment, sdl: string, text: string) =>
  deployment.using(sdl, async (app) => {
    const { body } = await app.rest('GET', `/as?s=${encodeURIComponent(text)}`);
    return body.map(({ id }: any) => id);
  });

describe.each([...databases])('on %s', (kind) => {
  test('records that were there before are found without letter case, and are none the newer', async () => {
    await using deployment = await Deployment.create(kind);
    const sdl = A('@caseless @index');
    await deployment.evolve(A(''), { as: many });
    const { steps } = await deployment.preview(sdl);
    const told = ['add column A._f_s', 'create index on A (_f_s)', raise, fold];
    expect(steps.map(inWords)).toEqual(told);
    const old = await deployment.app(A(''));
    expect((await deployment.evolve(sdl)).applied).toEqual(told);
    expect((await deployment.evolve(sdl)).applied).toEqual([]);
    expect((await old.rest('POST', '/as', { s: 'x' })).body.code).toBe('SCHEMA_OUTDATED');
    expect((await old.rest('GET', '/as?s=Stra%C3%9Fe%201')).body).toHaveLength(1);
    await old.close();
    await deployment.using(sdl, async (app) => {
      for (const n of [1, 500, 1202])
        expect((await app.rest('GET', `/as?s=STRASSE%20${n}`)).body).toMatchObject([{ n, s: `Straße ${n}` }]);
      const { data } = await app.graphql('{ aConnection: as(first: 3) { _version } }');
      expect(data.aConnection).toEqual([{ _version: 1 }, { _version: 1 }, { _version: 1 }]);
      expect(
        (await app.rest('GET', '/as?count=true&limit=1&where={"s":{"isNull":true}}')).headers.get(
          'X-Total-Count',
        ),
      ).toBe('401');
    });
  });

  test('what older nodes write until they may no longer is found too', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(A(''), { as: many });
    const old = await deployment.app(A(''));
    const written: number[] = [];
    const write = async (turn: number) => {
      const { status } = await old.rest('PUT', '/as/2', { s: `Turn ${turn}` });
      expect([turn, status]).toEqual([turn, 200]);
      const made = await old.rest('POST', '/as', { s: `Made in ${turn}` });
      expect([turn, made.status]).toEqual([turn, 201]);
      written.push(turn);
    };
    let held = 0;
    await watched(deployment, A('@caseless'), {
      turn: write,
      raising: () => write(written.length + 1),
      program: (isHeld) => {
        if (isHeld) held++;
      },
    });
    // While nobody may write, only what was written last is looked at; on SQLite nobody could since it was.
    expect(held).toBe(kind === 'postgres' ? 1 : 0);
    expect(await leftOfLog(deployment)).toEqual([]);
    // One that makes room, at least one that fills it, and one that raises.
    expect(written.length).toBeGreaterThanOrEqual(3);
    await old.close();
    expect(await found(deployment, A('@caseless'), `TURN ${written.length}`)).toEqual([2]);
    for (const turn of written)
      expect(await found(deployment, A('@caseless'), `made IN ${turn}`)).toHaveLength(1);
  });

  test.each([
    ['program', false, 2],
    ['statement', false, 12],
    ['statement', true, 1],
    ['statement', true, 3],
  ] as const)(
    'a node that dies at a %s (writers held: %p, number %p) is followed by one that goes on',
    async (step, held, number) => {
      await using deployment = await Deployment.create(kind);
      await deployment.evolve(A(''), { as: many });
      const sdl = A('@caseless');
      const old = await deployment.app(A(''));
      const write = async () => void (await old.rest('PUT', '/as/9', { s: 'Turn' }));
      const dying = watched(deployment, sdl, {
        // So that there is something to catch up with.
        turn: write,
        raising: write,
        [step]: (isHeld: boolean, count: number) => {
          if (isHeld === held && count === number) throw new Error('killed');
        },
      });
      expect(await dying.catch((error) => error.message)).toBe('killed');
      const isHeld = (await old.rest('PUT', '/as/3', { s: 'Later' })).status === 503;
      // A transaction of SQLite's that nobody commits has not been.
      expect(isHeld).toBe(kind === 'postgres' && held);
      await old.close();
      expect((await deployment.evolve(sdl)).applied).toContain(fold);
      expect((await deployment.evolve(sdl)).applied).toEqual([]);
      for (const n of [1, 700, 1202]) expect(await found(deployment, sdl, `STRASSE ${n}`)).toEqual([n + 1]);
      if (!isHeld) expect(await found(deployment, sdl, 'LATER')).toEqual([3]);
    },
  );

  test('twins are refused with their keys, and older nodes go on', async () => {
    await using deployment = await Deployment.create(kind);
    const data = { as: [{ s: 'ΣΑΣ' }, { s: 'b' }, { s: 'σας' }, { s: null }, { s: null }] };
    await deployment.evolve(A('@unique'), data);
    const old = await deployment.app(A('@unique'));
    const refusal =
      'A(s): it is now unique, but there are records with the same value, letter case aside: 1 and 3. Change such records first, or drop the @unique.';
    const { refusals } = await deployment.preview(A('@unique @caseless'));
    expect(refusals.map(({ what, why, how }) => `${what}, but ${why}. ${how}.`)).toEqual([refusal]);
    expect(await deployment.refusals(A('@unique @caseless'))).toEqual([refusal]);
    expect((await old.rest('PUT', '/as/3', { s: 'B' })).status).toBe(200);
    expect(await deployment.refusals(A('@unique @caseless'))).toEqual([
      refusal.replace('1 and 3', '2 and 3'),
    ]);
    expect((await old.rest('PUT', '/as/3', { s: 'c' })).status).toBe(200);
    await old.close();
    // Nobody else made the column that is left of it.
    const { prunable } = await deployment.preview(A('@unique'));
    expect(prunable).toEqual(['A._f_s']);
    expect(await deployment.refusals(A('@unique @caseless'))).toEqual([]);
    await deployment.using(A('@unique @caseless'), async (app) =>
      expect((await app.rest('POST', '/as', { s: 'Σας' })).body.errors).toMatchObject([
        { code: 'NOT_UNIQUE' },
      ]),
    );
  });

  test('what is unique without letter case stays so while older nodes write, until they may no longer', async () => {
    const sdl = A('@unique @caseless');
    const evolved = async (write: (old: AppUnderTest) => Promise<number[]>) => {
      await using deployment = await Deployment.create(kind);
      await deployment.evolve(A('@unique'), { as: [{ s: 'Ann' }, { s: 'Bob' }, { s: 'Cid' }] });
      const old = await deployment.app(A('@unique'));
      const whileHeld: string[] = [];
      let statuses: number[] | undefined;
      const writes = async () => {
        statuses ??= await write(old);
      };
      const why = await watched(deployment, sdl, {
        turn: async (turn) => void (kind === 'sqlite' && turn === 2 && (await writes())),
        raising: writes,
        statement: (isHeld, _, sql) => void (isHeld && whileHeld.push(sql)),
      }).catch(({ message }) => message);
      expect(await leftOfLog(deployment)).toEqual([]);
      const isOpen = (await old.rest('PUT', '/as/3', { s: 'cid' })).status === 200;
      await old.close();
      const names = why
        ? []
        : await deployment.using(sdl, async (app) => {
            expect((await app.rest('POST', '/as', { s: 'CID' })).body.errors).toMatchObject([
              { code: 'NOT_UNIQUE' },
            ]);
            const found = ['ANN', 'BOB', 'CID'].map((s) => app.rest('GET', `/as?s=${s}`));
            return (await Promise.all(found)).map(({ body }) => body.map(({ id }: any) => id));
          });
      return { statuses, why, isOpen, names, whileHeld };
    };
    const twin = await evolved(async (old) => [(await old.rest('POST', '/as', { s: 'BOB' })).status]);
    expect(twin).toMatchObject({ statuses: [201], isOpen: true });
    expect(twin.why).toContain('records with the same value, letter case aside: 2 and 4.');
    // It has what another had.
    const moved = await evolved(async (old) => [
      (await old.rest('PUT', '/as/2', { s: 'Dan' })).status,
      (await old.rest('PUT', '/as/1', { s: 'BOB' })).status,
    ]);
    expect(moved).toMatchObject({
      statuses: [200, 200],
      why: undefined,
      isOpen: false,
      names: [[], [1], [3]],
    });
    const plain = await evolved(async (old) => [(await old.rest('PUT', '/as/1', { n: 1 })).status]);
    expect(plain).toMatchObject({ statuses: [200], why: undefined, isOpen: false, names: [[1], [2], [3]] });
    // On PostgreSQL it was built before.
    const built = plain.whileHeld.filter((sql) => sql.startsWith('CREATE UNIQUE INDEX'));
    expect(built).toHaveLength(kind === 'sqlite' ? 1 : 0);
  });

  test("an index that a node left behind that died is in nobody's way", async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(A('@unique'), { as: [{ s: 'Ann' }, { s: 'Bob' }] });
    const dying = watched(deployment, A('@unique @caseless'), {
      raising: () => Promise.reject(new Error('killed')),
      // On SQLite there is nothing to leave.
      statement: (isHeld) => {
        if (isHeld) throw new Error('killed');
      },
    });
    expect(await dying.catch(({ message }) => message)).toBe('killed');
    await deployment.using(A('@unique'), async (app) => {
      expect((await app.rest('PUT', '/as/2', { s: 'Cid' })).status).toBe(200);
      expect((await app.rest('POST', '/as', { s: 'Bob' })).status).toBe(201);
    });
    await deployment.using(A('@caseless'), async (app) => {
      expect((await app.rest('POST', '/as', { s: 'BOB' })).status).toBe(201);
      expect((await app.rest('GET', '/as?s=bob')).body).toHaveLength(2);
      expect((await app.rest('GET', '/as?s=CID')).body).toMatchObject([{ id: 2 }]);
    });
  });

  test('twins of several fields, one of which ignores letter case', async () => {
    await using deployment = await Deployment.create(kind);
    const set = '@unique(fields: ["s", "n"])';
    await deployment.evolve(A(''), {
      as: [
        { s: 'x', n: 1 },
        { s: 'X', n: 2 },
        { s: 'X', n: 1 },
      ],
    });
    expect(await deployment.refusals(A('@caseless', set))).toEqual([
      'A(s, n): it is now unique, but there are records with the same value, letter case aside: 1 and 3. Change such records first, or drop the @unique.',
    ]);
  });

  test('several nodes start at once, and one of them has the work', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(A(''), { as: many });
    const started = await Promise.all([1, 2, 3].map(() => deployment.evolve(A('@caseless @index'))));
    const steps = started.flatMap(({ applied }) => applied);
    for (const step of ['add column A._f_s', 'create index on A (_f_s)', raise, fold])
      expect(steps.filter((each) => each === step)).toEqual([step]);
    expect(await found(deployment, A('@caseless @index'), 'STRASSE 1202')).toEqual([1203]);
  });

  test('it is given up, dropped by --prune alone, and taken up again by `duet migrate`', async () => {
    await using deployment = await Deployment.create(kind);
    const sdl = A('@unique @caseless');
    await deployment.evolve(sdl, { as: [{ s: 'Ann' }, { s: 'Bob' }] });
    const { applied, surplus } = await deployment.evolve(A('@unique'));
    expect(applied).toEqual(['drop unique index on A (_f_s)', 'create unique index on A (s)']);
    expect(surplus).toEqual(['A._f_s']);
    await deployment.using(A('@unique'), async (app) => {
      expect((await app.rest('POST', '/as', { s: 'ann' })).status).toBe(201);
      expect((await app.rest('PUT', '/as/2', { s: 'Carol' })).status).toBe(200);
    });
    expect(await deployment.refusals(sdl)).toEqual([
      'A.s: what is kept beside it is read by this schema, but another schema gave it up, and has written records without it. Run `duet migrate` with this schema, which brings all records up to date.',
    ]);
    expect(await deployment.refusals(sdl, true)).toEqual([
      'A(s): it is now unique, but there are records with the same value, letter case aside: 1 and 3. Change such records first, or drop the @unique.',
    ]);
    await deployment.using(A('@unique'), async (app) =>
      expect((await app.rest('DELETE', '/as/3')).status).toBe(204),
    );
    await deployment.migrate(sdl);
    expect(await found(deployment, sdl, 'CAROL')).toEqual([2]);
    expect(await found(deployment, sdl, 'BOB')).toEqual([]);
    await deployment.migrate(A(''));
    expect(await deployment.prune(A(''), ['A._f_s'])).toEqual(['A._f_s']);
    expect(await found(deployment, A(''), 'Ann')).toEqual([1]);
    await deployment.migrate(sdl);
    expect(await found(deployment, sdl, 'ANN')).toEqual([1]);
  });

  test('new fields have it from their default', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(A(''), { as: [{ s: 'x' }, { s: null }] });
    const sdl = (directives: string) =>
      `type A @resource { id: ID! s: String! @default(value: "Groß") @caseless t: String! @default(value: "ẞ") @caseless ${directives} n: Int }`;
    expect(await deployment.refusals(sdl('@unique'))).toEqual([
      'A(t): it is now unique, but there are records with the same value, letter case aside: 1 and 2. Change such records first, or drop the @unique.',
    ]);
    await deployment.evolve(sdl(''));
    await deployment.using(sdl(''), async (app) => {
      expect((await app.rest('GET', '/as?t=ss')).body).toHaveLength(2);
      expect((await app.rest('GET', '/as?s=GROSS')).body).toMatchObject([{ id: 2, s: 'Groß' }]);
    });
  });

  test('text that was folded by another table of Unicode is folded anew', async () => {
    await using deployment = await Deployment.create(kind);
    const sdl = A('@caseless');
    await deployment.evolve(sdl, { as: [{ s: 'Ann' }] });
    await deployment.sql(`UPDATE "A" SET "_f_s" = 'older'`);
    await deployment.sql(`UPDATE "_duet_duties" SET "duty" = 'caseless s 1'`);
    expect((await deployment.evolve(sdl)).applied).toEqual([raise, fold]);
    expect(await found(deployment, sdl, 'ANN')).toEqual([1]);
    const held = `SELECT "table" FROM "_duet_duties" WHERE "table" <> '_always there'`;
    expect(await deployment.sql(held)).toEqual([{ table: 'A' }]);
  });

  test('a check that letter case counted for is asked of all records again', async () => {
    await using deployment = await Deployment.create(kind);
    const check = '@check(where: { s: { ne: "none" } }, message: "Somebody.")';
    await deployment.evolve(A('', check), { as: [{ s: 'Ann' }, { s: 'None' }] });
    expect(await deployment.refusals(A('@caseless', check))).toEqual([
      'A: a new @check, "Somebody.", but there are records that break it: 2. Change such records first, or drop the @check.',
    ]);
  });
});
