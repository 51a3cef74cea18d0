/** A table with records is given a stored computed field, while nodes of both files are running; `duet recompute` makes it anew. */

import { describe, expect, test } from 'bun:test';
import { readLogic } from '../../src/engine/logic/logic.ts';
import { type AppUnderTest, databases, openApp, sharedPostgres } from '../app.ts';
import { command, Folder, Server } from '../process.ts';
import { Deployment, modelOf } from '../storage/deployment.ts';
import { watched } from '../storage/watched.ts';

const A = (fields: string) => `type A @resource { id: ID! s: String n: Int! ${fields} }`;
const TWICE = 'twice: Int! @computed(from: ["n"], stored: true) @index';
/** More than are brought up to date at once. */
const many = Array.from({ length: 1203 }, (_, n) => ({ s: `s${n}`, n }));
const raise = 'refuse writes to A from older nodes';
const fill = 'compute A.twice in all records';
const twice = { A: { twice: ({ n }: any) => n * 2 } };

async function using<T>(
  { kind, url }: Deployment,
  sdl: string,
  logic: object | undefined,
  work: (app: AppUnderTest) => Promise<T>,
): Promise<T> {
  const app = await openApp(kind, { sdl, url, ...(logic && { logic }) });
  try {
    return await work(app);
  } finally {
    await app.close();
  }
}

const all = async (app: AppUnderTest) => (await app.rest('GET', '/as')).body;

describe.each([...databases])('on %s', (kind) => {
  test('records that were there before have it, and are none the newer; older nodes read, and write no longer', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(A(''), { as: many });
    const old = await openApp(kind, { sdl: A(''), url: deployment.url });
    await using(deployment, A(TWICE), twice, async (app) => {
      const records = await all(app);
      expect(records).toHaveLength(many.length);
      for (const { n, twice } of records) expect(twice).toBe(2 * n);
      expect((await app.rest('GET', '/as?twice=2402')).body).toMatchObject([{ n: 1201 }]);
      const { data } = await app.graphql('{ as(first: 2) { _version } }');
      expect(data.as).toEqual([{ _version: 1 }, { _version: 1 }]);
      expect((await old.rest('PUT', '/as/1', { n: 7 })).body.code).toBe('SCHEMA_OUTDATED');
      expect((await old.rest('POST', '/as', { n: 7 })).body.code).toBe('SCHEMA_OUTDATED');
      expect((await old.rest('GET', '/as/1')).body).toEqual({ id: 1, s: 's0', n: 0 });
      expect((await app.rest('PUT', '/as/1', { n: 7 })).body).toMatchObject({ twice: 14 });
    });
    await old.close();
    const steps = (await deployment.history()).flatMap((each) => each.steps);
    expect(steps).toEqual(['create table A', 'create index on A (twice)', raise, fill]);
  });

  test('what older nodes write until they may no longer has it too', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(A(''), { as: many });
    const old = await openApp(kind, { sdl: A(''), url: deployment.url });
    const model = modelOf(A(TWICE));
    expect(readLogic(twice, model).faults).toBeUndefined();
    let turns = 0;
    const write = async () => {
      turns++;
      expect((await old.rest('PUT', '/as/2', { n: 5000 + turns })).status).toBe(200);
      expect((await old.rest('POST', '/as', { n: 9000 + turns })).status).toBe(201);
    };
    await watched(deployment, A(TWICE), { turn: write, raising: write, model });
    expect(turns).toBeGreaterThanOrEqual(3);
    await old.close();
    await using(deployment, A(TWICE), twice, async (app) => {
      for (const { n, twice } of await all(app)) expect(twice).toBe(2 * n);
    });
  });

  test('made of other fields, of filled ones and of new ones, it is made anew', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(`type A @resource { id: ID! s: String n: Int }`, {
      as: [
        { n: 1, s: 'x' },
        { n: null, s: 'yy' },
      ],
    });
    const both = (fields: string) => `type A @resource { id: ID! s: String ${fields} }`;
    const made = (sdl: string, logic: object) => using(deployment, sdl, logic, all);
    const of = (fields: string) => `t: Int! @unique @computed(from: [${fields}], stored: true)`;
    expect(await made(both(`n: Int ${of('"n"')}`), { A: { t: ({ n }: any) => n ?? -1 } })).toMatchObject([
      { t: 1 },
      { t: -1 },
    ]);
    const length = { A: { t: ({ s, n }: any) => s.length + (n ?? 100) } };
    expect(await made(both(`n: Int ${of('"n", "s"')}`), length)).toMatchObject([{ t: 2 }, { t: 102 }]);
    // Null is filled in where it is no longer allowed.
    expect(await made(both(`n: Int! @default(value: 7) ${of('"n", "s"')}`), length)).toMatchObject([
      { t: 2 },
      { n: 7, t: 9 },
    ]);
    const fresh = both(`n: Int! @default(value: 7) m: Int! @default(value: 3) ${of('"n", "m"')}`);
    expect(await made(fresh, { A: { t: ({ n, m }: any) => n * m } })).toMatchObject([
      { m: 3, t: 3 },
      { m: 3, t: 21 },
    ]);
  });

  test('a new field that is unique is refused where records have the same; a function that fails stops the start', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(A(''), { as: [{ n: 1 }, { n: -1 }] });
    const sdl = A('t: Int! @unique @computed(from: ["n"], stored: true)');
    const opening = using(deployment, sdl, { A: { t: ({ n }: any) => n * n } }, all);
    expect(opening).rejects.toThrow('there are records with the same value: 1 and 2');
    await opening.catch(() => {});
    const failing = using(deployment, sdl, { A: { t: ({ n }: any) => (n < 0 ? null : n) } }, all);
    expect(failing).rejects.toThrow('A.t of a 2: the function of t gave nothing, and it must not be null');
    await failing.catch(() => {});
    // Whoever was there goes on.
    await using(deployment, A(''), undefined, async (app) => {
      expect((await app.rest('PUT', '/as/1', { n: 5 })).status).toBe(200);
    });
    const fine = await using(deployment, sdl, { A: { t: ({ n }: any) => n } }, all);
    expect(fine.map(({ t }: any) => t)).toEqual([5, -1]);
  });

  test('made anew, what is unique names the records that are in the way, and the cure', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(A(''), {
      as: [
        { n: 1, s: 'b' },
        { n: 2, s: 'b' },
      ],
    });
    const sdl = (from: string) => A(`t: String! @unique @computed(from: ["${from}"], stored: true)`);
    await using(deployment, sdl('n'), { A: { t: ({ n }: any) => `${n}` } }, all);
    const twins = using(deployment, sdl('s'), { A: { t: ({ s }: any) => s } }, all);
    expect(twins).rejects.toThrow(
      'A.t is unique, but its function gives records the same value: 1 and 2. Change what it is made of in such records, or the function; or drop the @unique.',
    );
    await twins.catch(() => {});
    const swapped = { A: { t: ({ n }: any) => `${3 - n}` } };
    const both = (unique: string) => A(`t: String! ${unique} @computed(from: ["n", "s"], stored: true)`);
    const swapping = using(deployment, both('@unique'), swapped, all);
    expect(swapping).rejects.toThrow(
      'Start once as before without the @unique, then so, and then with it again.',
    );
    await swapping.catch(() => {});
    await using(deployment, sdl('n').replace('@unique', ''), { A: { t: ({ n }: any) => `${n}` } }, all);
    await using(deployment, both(''), swapped, all);
    expect(await using(deployment, both('@unique'), swapped, all)).toMatchObject([{ t: '2' }, { t: '1' }]);
  });

  test('a field that is computed no longer is an ordinary one, and back', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(A(''), { as: [{ n: 1 }, { n: 2 }] });
    await using(deployment, A(TWICE), twice, all);
    await using(deployment, A('twice: Int!'), undefined, async (app) => {
      expect((await app.rest('PUT', '/as/1', { twice: 99 })).body).toMatchObject({ n: 1, twice: 99 });
    });
    const again = using(deployment, A(TWICE), twice, all);
    expect(again).rejects.toThrow('Run `duet migrate` with this schema, which brings all records up to date');
    await again.catch(() => {});
    const records = await using(deployment, A(`${TWICE} m: Int`), twice, all);
    expect(records).toMatchObject([{ twice: 2 }, { twice: 4 }]);
  });
});

describe.each([...databases])('the command, on %s', (kind) => {
  const logic = (factor: number) =>
    `export default { A: { twice: ({ n }: { n: number }) => (n < 0 ? 0 : n * ${factor}) } };`;
  const files = { 'schema.graphql': A(TWICE), 'logic.ts': logic(2) };
  const settings = async (): Promise<Record<string, string>> =>
    kind === 'postgres' ? { DATABASE_URL: await (await sharedPostgres()).database() } : {};

  test('`duet recompute` while a server runs: what has another value is another version', async () => {
    const journaled = { 'schema.graphql': A(TWICE).replace('@resource', '@resource @journal') };
    const data = JSON.stringify({ as: [...many, { n: -1 }] });
    using folder = new Folder({ ...files, ...journaled, 'data.json': data });
    const env = await settings();
    await using server = await Server.start(folder, env);
    const get = async (path: string): Promise<any> => (await fetch(`${server.url}${path}`)).json();
    const [first, last] = [
      await get('/as/2?fields=twice,_version'),
      await get('/as/1204?fields=twice,_version'),
    ];
    expect([first, last]).toEqual([
      { twice: 2, _version: 1 },
      { twice: 0, _version: 1 },
    ]);
    const tag = (await fetch(`${server.url}/as/2`)).headers.get('ETag') ?? '';
    await Bun.write(folder.file('logic.ts'), logic(3));
    const { stdout, stderr, exit } = await command(folder, ['recompute', 'A.twice'], env);
    // The first record has n = 0, and the last is below it.
    expect([stdout, exit, stderr]).toEqual([
      'A.twice: 1202 of 1204 records had another value\n',
      0,
      expect.any(String),
    ]);
    expect(await get('/as/2?fields=twice,_version')).toEqual({ twice: 3, _version: 2 });
    expect(await get('/as/1204?fields=twice,_version')).toEqual(last);
    expect((await fetch(`${server.url}/as/2`, { headers: { 'If-None-Match': tag } })).status).toBe(200);
    expect(await get('/changes/as/2')).toMatchObject([
      { kind: 'UPDATED', version: 2, caller: null, before: { n: 1, twice: 2 }, after: { n: 1, twice: 3 } },
    ]);
    expect((await get('/as?aggregate=sum(twice)'))[0].sum.twice).toBe((3 * 1202 * 1203) / 2);
    const again = await command(folder, ['recompute', 'A.twice'], env);
    expect(again.stdout).toBe('A.twice: 0 of 1204 records had another value\n');
  }, 120_000);

  test('`duet recompute` of what is unique names the records that are in the way', async () => {
    const schema = A(TWICE.replace('@index', '@unique'));
    const data = JSON.stringify({ as: [{ n: 4 }, { n: 5 }] });
    using folder = new Folder({ 'schema.graphql': schema, 'logic.ts': logic(2), 'data.json': data });
    const env = await settings();
    expect((await command(folder, ['migrate'], env)).exit).toBe(0);
    await Bun.write(folder.file('logic.ts'), 'export default { A: { twice: () => 7 } };');
    expect((await command(folder, ['recompute', 'A.twice'], env)).stderr.trimEnd().split('\n').at(-1)).toBe(
      'duet: A.twice is unique, but its function gives records the same value: 1 and 2. Change what it is made of in such records, or the function; or drop the @unique.',
    );
  }, 60_000);

  test('what cannot be recomputed is told; without its functions nothing is written', async () => {
    using folder = new Folder({ ...files, 'data.json': JSON.stringify({ as: [{ n: 4 }] }) });
    const env = await settings();
    const told = async (args: string[], more: Record<string, string> = {}) =>
      (await command(folder, args, { ...env, ...more })).stderr.trimEnd().split('\n').at(-1);
    expect(await told(['recompute', 'A.twic'])).toBe(
      'duet: "A.twic" is no field with @computed(…, stored: true). Did you mean "A.twice"?',
    );
    const missing = `duet: logic.ts: "A.twice" is @computed in the schema file, and has no function. Write: A: { twice: ({ n }) => … }`;
    for (const args of [['migrate'], ['serve'], ['import', '-'], ['recompute', 'A.twice'], ['check']])
      expect(await told(args, { DUET_LOGIC: 'none' })).toBe(missing);
    expect((await command(folder, ['migrate'], env)).exit).toBe(0);
    const exported = await command(folder, ['export'], env);
    expect(exported.stdout).toContain('"twice":8');
    // What another function made elsewhere is made anew.
    await Bun.write(folder.file('logic.ts'), logic(5));
    await Bun.write(folder.file('all.ndjson'), exported.stdout.replace('"id":1', '"id":2'));
    expect((await command(folder, ['import', 'all.ndjson'], env)).exit).toBe(0);
    expect((await command(folder, ['export'], env)).stdout).toContain('"twice":20');
  }, 120_000);
});
