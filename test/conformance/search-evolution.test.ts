/** A table with records is searched, or searched by other fields, or no longer, while nodes of both files are running. */

import { describe, expect, test } from 'bun:test';
import { describe as inWords } from '../../src/storage/evolve/steps.ts';
import { databases } from '../app.ts';
import { Deployment } from '../storage/deployment.ts';
import { leftOfLog, watched } from '../storage/watched.ts';

const A = (search = '', fields = 's: String t: String n: Int') =>
  `type A @resource ${search} { id: ID! ${fields} }`;
const plain = A();
const byBoth = A('@search(fields: ["s", "t"])');
/** More than are brought up to date at once. */
const many = Array.from({ length: 1203 }, (_, n) => ({
  s: n % 3 === 0 ? null : `Straße ${n}`,
  t: `No ${n}`,
  n,
}));
const raise = 'refuse writes to A from older nodes';
const find = 'find the words of A.s, A.t in all records';

const found = (deployment: Deployment, sdl: string, search: string) =>
  deployment.using(sdl, async (app) => {
    const { body } = await app.rest('GET', `/as?search=${encodeURIComponent(search)}`);
    return body.map(({ id }: any) => id);
  });

describe.each([...databases])('on %s', (kind) => {
  test('records that were there before are found, and are none the newer', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(plain, { as: many });
    const told = [
      'index the words of A (s, t) for searches',
      ...(kind === 'postgres' ? [expect.stringMatching(/^create index on A \(_search_[0-9a-f]{8}\)$/)] : []),
      raise,
      find,
    ];
    expect((await deployment.preview(byBoth)).steps.map(inWords)).toEqual(told);
    const old = await deployment.app(plain);
    const { applied, surplus } = await deployment.evolve(byBoth);
    expect([applied.toSorted(), surplus]).toEqual([expect.arrayContaining(told), []]);
    expect((await deployment.evolve(byBoth)).applied).toEqual([]);
    expect((await old.rest('POST', '/as', { s: 'x' })).body.code).toBe('SCHEMA_OUTDATED');
    expect((await old.rest('GET', '/as/2')).body.s).toBe('Straße 1');
    await old.close();
    await deployment.using(byBoth, async (app) => {
      for (const n of [1, 500, 1202])
        expect((await app.rest('GET', `/as?search=STRASSE%20no%20${n}&n=${n}`)).body).toMatchObject([
          { n, s: `Straße ${n}` },
        ]);
      const { headers } = await app.rest('GET', '/as?count=true&limit=1&search=strasse');
      expect(headers.get('X-Total-Count')).toBe('802');
      const { data } = await app.graphql('{ as(first: 2, search: "no") { _version } }');
      expect(data.as).toEqual([{ _version: 1 }, { _version: 1 }]);
      expect((await app.rest('PUT', '/as/2', { t: 'other' })).status).toBe(200);
      expect((await app.rest('GET', '/as?search=strasse%20other')).body).toHaveLength(1);
    });
  });

  test('long texts are brought up to date a few at a time', async () => {
    await using deployment = await Deployment.create(kind);
    const short = Array.from({ length: 100 }, (_, n) => ({ s: `short ${n}` }));
    const long = Array.from({ length: 12 }, (_, n) => ({ s: `long${n} ${'x '.repeat(250_000)}` }));
    await deployment.evolve(plain, { as: [...long, ...short] });
    let most = 0;
    await watched(deployment, byBoth, {
      program: (_, count) => {
        most = Math.max(most, count);
      },
    });
    // More than all of them would take if they were short.
    expect(most).toBeGreaterThanOrEqual(6);
    expect(await found(deployment, byBoth, 'long11')).toEqual([12]);
    expect(await found(deployment, byBoth, 'short 99')).toEqual([112]);
  });

  test('what older nodes write until they may no longer is found too', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(plain, { as: many });
    const old = await deployment.app(plain);
    const written: number[] = [];
    const write = async (turn: number) => {
      expect((await old.rest('PUT', '/as/2', { s: `Turn${turn}` })).status).toBe(200);
      expect((await old.rest('POST', '/as', { s: `Made${turn}` })).status).toBe(201);
      expect((await old.rest('DELETE', `/as/${turn + 10}`)).status).toBe(204);
      written.push(turn);
    };
    let held = 0;
    await watched(deployment, byBoth, {
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
    await deployment.using(byBoth, async (app) => {
      const ids = async (search: string) =>
        (await app.rest('GET', `/as?search=${search}`)).body.map(({ id }: any) => id);
      expect(await ids(`turn${written.length}%20no`)).toEqual([2]);
      for (const turn of written) {
        expect(await ids(`MADE${turn}`)).toHaveLength(1);
        expect(await ids(`${turn + 9}%20no`)).toEqual([]);
        if (turn < written.length) expect(await ids(`turn${turn}%20no`)).toEqual([]);
      }
    });
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
      await deployment.evolve(plain, { as: many });
      const old = await deployment.app(plain);
      const write = async () => void (await old.rest('PUT', '/as/9', { s: 'Turn' }));
      const dying = watched(deployment, byBoth, {
        // So that there is something to catch up with.
        turn: write,
        raising: write,
        [step]: (isHeld: boolean, count: number) => {
          if (isHeld === held && count === number) throw new Error('killed');
        },
      });
      expect(await dying.catch((error) => error.message)).toBe('killed');
      const isHeld = (await old.rest('PUT', '/as/3', { s: 'Later' })).status === 503;
      expect(isHeld).toBe(kind === 'postgres' && held);
      await old.close();
      expect((await deployment.evolve(byBoth)).applied).toContain(find);
      expect((await deployment.evolve(byBoth)).applied).toEqual([]);
      for (const n of [1, 700, 1202])
        expect(await found(deployment, byBoth, `strasse no ${n}`)).toContain(n + 1);
      if (!isHeld) expect(await found(deployment, byBoth, 'LATER')).toEqual([3]);
    },
  );

  test('it is searched by other fields, by none, and again; --prune alone drops what is left', async () => {
    await using deployment = await Deployment.create(kind);
    const byOne = A('@search(fields: ["t"])');
    await deployment.evolve(byOne, {
      as: [
        { s: 'alpha', t: 'beta' },
        { s: 'gamma', t: 'delta' },
      ],
    });
    const { applied, surplus } = await deployment.evolve(byBoth);
    expect(applied).toContain(find);
    expect(surplus).toEqual([expect.stringMatching(/^A\._search_[0-9a-f]{8}$/)]);
    expect(await found(deployment, byBoth, 'alpha beta')).toEqual([1]);
    const given = await deployment.evolve(plain);
    expect(given.surplus).toHaveLength(2);
    await deployment.using(plain, async (app) => {
      expect((await app.rest('PUT', '/as/1', { s: 'omega' })).status).toBe(200);
      expect((await app.rest('POST', '/as', { s: 'alpha' })).status).toBe(201);
      expect((await app.rest('DELETE', '/as/2')).status).toBe(204);
      expect((await app.rest('GET', '/as?search=omega')).status).toBe(400);
    });
    expect(await deployment.refusals(byBoth)).toEqual([
      'A.s, A.t: what is kept beside it is read by this schema, but another schema gave it up, and has written records without it. Run `duet migrate` with this schema, which brings all records up to date.',
    ]);
    await deployment.migrate(byBoth);
    expect(await found(deployment, byBoth, 'alpha')).toEqual([3]);
    expect(await found(deployment, byBoth, 'omega beta')).toEqual([1]);
    expect(await found(deployment, byBoth, 'gamma')).toEqual([]);
    const pruned = await deployment.prune(byBoth, [...surplus]);
    expect(pruned).toEqual([...surplus]);
    expect(await found(deployment, byBoth, 'omega beta')).toEqual([1]);
    await deployment.migrate(A('', 's: String'));
    const { prunable } = await deployment.preview(A('', 's: String'));
    expect(await deployment.prune(A('', 's: String'), prunable)).toHaveLength(3);
    await deployment.using(A('', 's: String'), async (app) => {
      expect((await app.rest('POST', '/as', { s: 'x' })).status).toBe(201);
      expect((await app.rest('GET', '/as')).body).toHaveLength(3);
    });
    expect((await deployment.evolve(A('', 's: String'))).surplus).toEqual([]);
  });

  test('records that have a new field, or its default, or wider numbers beside it, are found', async () => {
    await using deployment = await Deployment.create(kind);
    const from = A('@search(fields: ["s"])', 's: String n: Int');
    await deployment.evolve(from, { as: [{ s: 'one' }, { s: null, n: 2 }] });
    const to = A('@search(fields: ["s"])', 's: String! @default(value: "Füllung") n: Int');
    await deployment.evolve(to);
    expect(await found(deployment, to, 'fullung')).toEqual([2]);
    expect(await found(deployment, to, 'one')).toEqual([1]);
    const wider = A(
      '@search(fields: ["s", "t"])',
      's: String! @default(value: "Füllung") t: String! @default(value: "neu") n: Decimal @decimal(scale: 2)',
    );
    await deployment.migrate(wider);
    expect(await found(deployment, wider, 'one neu')).toEqual([1]);
    expect(await found(deployment, wider, 'neu')).toEqual([1, 2]);
    await deployment.using(wider, async (app) => {
      expect((await app.rest('PUT', '/as/2', { s: 'two', n: '2.5' })).body).toMatchObject({
        s: 'two',
        n: '2.50',
      });
      expect((await app.rest('GET', '/as?search=two+neu')).body).toHaveLength(1);
      expect((await app.rest('GET', '/as?search=fullung')).body).toEqual([]);
    });
  });

  test('so are records with other keys', async () => {
    await using deployment = await Deployment.create(kind);
    const B = (search: string) =>
      `type B @resource ${search} { code: ID! @key s: String } type C @resource ${search} { id: UUID! s: String }`;
    const search = '@search(fields: ["s"])';
    await deployment.evolve(B(''), {
      bs: [
        { code: 'x/1', s: 'Ähre' },
        { code: 'y', s: 'b' },
      ],
      cs: [{ s: 'Ähre' }],
    });
    await deployment.evolve(B(search));
    await deployment.using(B(search), async (app) => {
      const codes = async (text: string) =>
        (await app.rest('GET', `/bs?search=${text}`)).body.map(({ code }: any) => code);
      expect([await codes('ahre'), (await app.rest('GET', '/cs?search=ah')).body.length]).toEqual([
        ['x/1'],
        1,
      ]);
      await app.rest('PUT', '/bs/x%2F1', { s: 'z' });
      await app.rest('POST', '/bs', { code: 'a', s: 'ähre' });
      await app.rest('DELETE', '/bs/y');
      expect([await codes('ahre'), await codes('z'), await codes('b')]).toEqual([['a'], ['x/1'], []]);
    });
  });
});
