/** A file that was applied before comes back: a node that starts again in the middle of a rollout, or a rollback. */

import { describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases } from '../app.ts';
import { command, Folder, Server } from '../process.ts';
import { Deployment } from './deployment.ts';

const A = (fields: string) => `type A @resource { id: ID! ${fields} }`;
/** Whatever the later file leaves out or relaxes. */
const old = A(
  'n: Int @unique s: String! d: String! @default(value: "d") e: String @constraint(maxLength: 1)',
);
const later = A('n: Int e: String');
const relaxing = ['allow null in A.s', 'drop unique index on A (n)'];
const tightening = ['forbid null in A.s', 'create unique index on A (n)'];

const JSON_HEADERS = { 'Content-Type': 'application/json' };
const create = async (app: AppUnderTest, body: unknown) => (await app.rest('POST', '/as', body)).status;

describe.each([...databases])('on %s', (kind) => {
  test('an older file that comes back asks for nothing again, however often, and the later one stays the newest', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(old, { as: [{ n: 1, s: 'x', e: 'e' }] });
    expect(await deployment.evolve(later)).toMatchObject({ applied: relaxing, held: [] });
    for (let start = 0; start < 3; start++) {
      expect(await deployment.evolve(old)).toMatchObject({ applied: [], held: tightening, surplus: [] });
      await deployment.using(later, async (app) => expect(await create(app, { n: 1, e: 'long' })).toBe(201));
    }
    expect((await deployment.history()).map(({ schema }) => schema)).toEqual([old, later]);
    const told = await deployment.preview(old);
    expect([told.steps, told.held.length, told.before?.source]).toEqual([[], 2, later]);
    // Rows are held against the rules of the newest file, which wrote them, not of the one that started last.
    expect(await deployment.refusals(A('n: Int e: String @constraint(maxLength: 1) x: Int'))).toEqual([
      expect.stringMatching(/^A.e: it admits less than before/),
    ]);
  });

  test('records that the later file made are shown by the older one, and can be mended through it', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(old, { as: [{ n: 1, s: 'x' }] });
    await deployment.using(later, async (app) => expect(await create(app, { n: 1, e: 'long' })).toBe(201));
    const made = { id: 2, n: 1, s: null, d: 'd', e: 'long' };
    await deployment.using(old, async (app) => {
      expect((await app.rest('GET', '/as/2')).body).toEqual(made);
      const { data, errors } = await app.graphql('{ a(id: 2) { d s } as { id d } }');
      expect(data).toEqual({ a: null, as: ['1', '2'].map((id) => ({ id, d: 'd' })) });
      expect(errors).toMatchObject([
        { message: 'Cannot return null for non-nullable field A.s.', path: ['a', 's'] },
      ]);
      // Its own rules hold for whatever is written through it.
      expect(await create(app, { n: 3, e: 'e' })).toBe(400);
      expect(await create(app, { n: 3, s: 'y', e: 'long' })).toBe(400);
    });
    expect(await deployment.refusals(old, true)).toEqual([
      'A.s: it is now required, but there are records without a value for it. Give them one first, add @default(value: …), or drop the "!".',
      'A.e: it admits less than before, but e must have at most 1 character, but a 2 has another value. Change such records first, or widen the constraint.',
      'A(n): it is now unique, but there are records with the same value: 1 and 2. Change such records first, or drop the @unique.',
    ]);
    await deployment.using(old, async (app) =>
      expect((await app.rest('PUT', '/as/2', { n: 2, s: 'y', e: 'e' })).status).toBe(200),
    );
    expect(await deployment.migrate(old)).toMatchObject({ applied: tightening, held: [] });
    await deployment.using(old, async (app) => expect(await create(app, { n: 2, s: 'z' })).toBe(409));
  });

  test('of many records that lack what the older file requires, not every one is told', async () => {
    await using deployment = await Deployment.create(kind);
    const file = (mark: string) => `
      type A @resource { id: ID!  s: String${mark}  o: O${mark} }
      type B @resource { id: ID!  a: A }
      type O @resource { id: ID! }`;
    await deployment.evolve(file('!'));
    await deployment.evolve(file(''));
    await deployment.load(file(''), { as: [{}], bs: Array(2500).fill({ aId: 1 }) });
    await deployment.using(file('!'), async (app) => {
      for (const field of ['s', 'o { id }', 's '.repeat(1500)]) {
        const { data, errors = [] } = await app.graphql(`{ bs { id a { ${field} } } }`);
        expect([data.bs.length, new Set(data.bs.map(({ a }: any) => a))]).toEqual([2500, new Set([null])]);
        const messages = errors.map(({ message }) => message);
        expect([messages.length > 1000, messages.length < 2500]).toEqual([true, true]);
        expect(messages[0]).toMatch(/^Cannot return null for non-nullable field A\..\.$/);
        expect(messages.at(-1)).toEndWith('left out; what they are about is null.');
        expect(errors[0]).toMatchObject({ path: ['bs', 0, 'a', field[0]], locations: [{ line: 1 }] });
        expect(errors[0].extensions).toEqual({ code: 'INTERNAL' });
        expect(JSON.stringify(errors).length).toBeLessThan(600_000);
      }
    });
  });

  test('forward again after a rollback, with the very same files', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(old, { as: [{ n: 1, s: 'x' }] });
    await deployment.evolve(later);
    expect((await deployment.migrate(old)).applied).toEqual(tightening);
    expect(await deployment.evolve(old)).toMatchObject({ applied: [], held: [] });
    // It cannot write without, so it is given what it needs; then the other must not take it away.
    expect(await deployment.evolve(later)).toMatchObject({ applied: relaxing, held: [] });
    expect(await deployment.evolve(old)).toMatchObject({ applied: [], held: tightening });
    await deployment.using(later, async (app) => expect(await create(app, { n: 1 })).toBe(201));
  });

  test('a new file may ask for what an earlier one gave up', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(old);
    await deployment.evolve(later);
    expect((await deployment.evolve(`${old} type B @resource { id: ID! }`)).applied).toEqual(
      expect.arrayContaining(tightening),
    );
  });

  test('an older file without a deprecation does not take it back', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(A('n: Int'));
    const { deprecatedSince } = await deployment.evolve(A('n: Int @deprecated'));
    await Bun.sleep(5);
    await deployment.evolve(A('n: Int'));
    expect((await deployment.evolve(A('n: Int @deprecated'))).deprecatedSince).toEqual(deprecatedSince);
    await deployment.migrate(A('n: Int'));
    await Bun.sleep(5);
    const again = await deployment.migrate(A('n: Int @deprecated'));
    expect(again.deprecatedSince.get('A.n')).not.toEqual(deprecatedSince.get('A.n'));
  });

  test('a node of the old file that crashes and starts again during a rollout makes no create fail', async () => {
    await using deployment = await Deployment.create(kind);
    using before = new Folder({ 'schema.graphql': old, 'data.json': '{"as":[{"n":0,"s":"x"}]}' });
    using after = new Folder({ 'schema.graphql': later, 'data.json': '{}' });
    const env = { DATABASE_URL: deployment.url };
    const post = async ({ url }: { url: string }, body: unknown) => {
      const init = { method: 'POST', headers: JSON_HEADERS, body: JSON.stringify(body) };
      return (await fetch(`${url}/as`, init)).status;
    };
    let oldNode = await Server.start(before, env);
    await using newNode = await Server.start(after, env);
    let rolling = true;
    const statuses: number[] = [];
    const creating = (async () => {
      for (let n = 0; rolling && n < 10_000; n++) {
        statuses.push(await post(newNode, { n: n % 2 }));
        await Bun.sleep(5);
      }
    })();
    for (let crash = 0; crash < 3; crash++) {
      oldNode.signal('SIGKILL');
      await oldNode.exited();
      oldNode = await Server.start(before, env);
      const count = statuses.length;
      expect(await post(oldNode, { n: 100 + crash, s: 'y' })).toBe(201);
      for (let tries = 0; statuses.length < count + 5 && tries < 1000; tries++) await Bun.sleep(10);
    }
    rolling = false;
    await creating;
    expect(new Set(statuses)).toEqual(new Set([201]));
    expect(statuses.length).toBeGreaterThan(15);
    const list = (await (await fetch(`${oldNode.url}/as`)).json()) as any[];
    expect(list.filter(({ s }) => s !== null)).toHaveLength(4);
    expect(list.filter(({ d }) => d !== 'd')).toEqual([]);
    expect(list).toHaveLength(statuses.length + 4);
    const notices = oldNode.log.filter(({ event }) => event === 'notice').map(({ message }) => message);
    expect(notices).toContainEqual(
      'another schema gave this up, and its nodes may still be running; only `duet migrate` does it again: forbid null in A.s, create unique index on A (n)',
    );
    const { stdout } = await command(before, ['diff'], env);
    expect(stdout).toContain('only with `duet migrate`: forbid null in A.s, which another schema gave up');
    await oldNode[Symbol.asyncDispose]();
  }, 60_000);
});
