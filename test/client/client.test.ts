/** The typed client: what it sends has the effects of the other doors, once each; wrong code does not compile. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientText } from '../../src/client/client.ts';
import { readSchema } from '../../src/schema/read.ts';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const sdl = `
  type User @resource { id: ID! name: String! posts: [Post!]! }
  type Post @resource { id: ID! title: String! pages: Int! @default(value: 1) kind: Kind! @default(value: LONG) author: User! }
  type Task @resource @journal { id: ID! title: String! done: Boolean! @default(value: false) }
  type Log @resource(only: [LIST, CREATE]) { id: ID! text: String! }
  enum Kind { LONG SHORT }
  type Mutation { rename(id: ID!, name: String!): User! @action }
  type Query { counted(least: Int = 1): Int! @action }
`;
const logic = {
  Mutation: {
    *rename({ tx }: any, { id, name }: any): Generator<unknown, unknown> {
      return yield* tx.users.update(id, { name });
    },
  },
  Query: {
    *counted({ tx }: any, { least }: any): Generator<unknown, unknown, any> {
      const posts = yield* tx.posts.list({ where: { pages: { gte: least } } });
      return posts.length;
    },
  },
};

const folder = mkdtempSync(join(tmpdir(), 'duet-client-'));
const file = join(folder, 'duet.ts');
const { model } = readSchema(sdl);
if (!model) throw new Error('the schema of the test is wrong');
writeFileSync(file, clientText(model));
const { duet, DuetError, VersionConflict } = await import(file);
afterAll(() => rmSync(folder, { recursive: true }));

/** Whether such a pause is asked for meanwhile; it is not made. All others are: the server has timers of its own. */
async function pauses(isMeant: (ms: number) => boolean, run: () => Promise<unknown>): Promise<boolean> {
  const { setTimeout: real } = globalThis;
  let isAsked = false;
  const soon = (then: () => void, ms = 0) => {
    isAsked ||= isMeant(ms);
    return real(then, isMeant(ms) ? 0 : ms);
  };
  globalThis.setTimeout = soon as typeof real;
  try {
    await run();
  } finally {
    globalThis.setTimeout = real;
  }
  return isAsked;
}

for (const database of databases)
  describe(`on ${database}`, () => {
    let app: AppUnderTest;
    let sent: { method: string; path: string; headers: Headers }[] = [];
    /** What happens to a request on its way: the answer may be lost, or be another one. */
    let trouble: (() => Response | 'lost' | undefined) | undefined;
    const fetch = async (url: string, init: RequestInit) => {
      const path = url.slice('http://duet.test'.length);
      sent.push({ method: init.method ?? '', path, headers: new Headers(init.headers) });
      const met = trouble?.();
      if (met instanceof Response) return met;
      const answer = await app.fetch(path, init);
      if (met === 'lost') throw new TypeError('The socket connection was closed unexpectedly.');
      return answer;
    };
    const api = duet('http://duet.test/', { fetch });
    beforeAll(async () => {
      app = await openApp(database, { sdl, logic });
    });
    afterAll(() => app.close());

    test('records are created, read, listed, changed and deleted', async () => {
      const ann = await api.users.create({
        name: 'Ann',
        posts: [{ title: 'One' }, { title: 'Two', pages: 3 }],
      });
      expect(ann).toEqual({ id: expect.any(Number), name: 'Ann', _version: 1 });
      expect(await api.users.get(ann.id)).toEqual(ann);
      expect(await api.users.get(987654)).toBeNull();
      for (const key of ['', '.', '..'])
        for (const of of [
          () => api.users.get(key),
          () => api.users.update(key, {}),
          () => api.users.delete(key),
        ])
          expect(await Promise.try(of).catch(({ message }: Error) => message)).toMatch('cannot be in a path');
      expect(
        await api.users.get(ann.id, {
          select: { name: true, posts: { select: { title: true }, orderBy: { title: 'DESC' }, first: 1 } },
        }),
      ).toEqual({ name: 'Ann', posts: [{ title: 'Two' }] });
      const [post] = await api.posts.list({
        where: { author: { name: { eq: 'Ann' } } },
        orderBy: [{ author: { name: 'ASC' } }, { pages: 'DESC' }],
        include: { author: true },
        first: 1,
      });
      expect(post).toMatchObject({ title: 'Two', kind: 'LONG', author: ann });
      const longer = await api.posts.update(post, { pages: 4 });
      expect([longer.pages, longer._version]).toEqual([4, 2]);
      await api.posts.delete(longer);
      expect(await api.posts.list()).toHaveLength(1);
    });

    test('a change of what was changed since is a conflict, with the record as it is now', async () => {
      const { id } = await api.users.create({ name: 'Bob' });
      const [mine, theirs] = [await api.users.get(id), await api.users.get(id)];
      await api.users.update(theirs, { name: 'Bobby' });
      const error = await api.users.update(mine, { name: 'Robert' }).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(VersionConflict);
      expect([error.code, error.record]).toEqual(['VERSION_CONFLICT', { id, name: 'Bobby', _version: 2 }]);
      expect(await api.users.delete(mine).catch(({ code }: any) => code)).toBe('VERSION_CONFLICT');
      // By its key alone, it is not guarded.
      expect((await api.users.update(id, { name: 'Rob' })).name).toBe('Rob');
    });

    test.each<[string, object]>([
      ['a promise', Promise.resolve({ title: { eq: 'x' } })],
      ['a map', new Map([['title', { eq: 'x' }]])],
      ['a form', new FormData()],
      ['what becomes a map', { toJSON: () => new Map([['title', { eq: 'x' }]]) }],
      ['what is named by a symbol', { [Symbol('title')]: { eq: 'x' } }],
      ['an operand that is no number', { pages: { eq: Number.NaN } }],
      ['an operand that is no number in a box', { pages: { eq: new Number(Number.NaN) } }],
      ['an operand that is no time', { title: { eq: new Date('x') } }],
      ['a condition that is a function', { title: { eq: 'x' }, pages: () => 1 }],
      ['an operand that is a set', { pages: { in: new Set([1]) } }],
    ])('nor does what JSON has no fields of: %s', async (_, where) => {
      sent = [];
      for (const ask of [() => api.posts.list({ where }), () => api.posts.all({ where }).next()])
        expect(async () => ask()).toThrow('await it, or give its values as objects and lists');
      expect(sent).toEqual([]);
    });

    test.each<[string, object]>([
      ['a field', { title: undefined }],
      ['an operand', { pages: { gte: 100, lt: undefined } }],
      ['a not', { not: undefined }],
      ['a part of an or', { or: [{ pages: { eq: 1 } }, undefined] }],
      ['what is related', { author: { name: undefined } }],
    ])('a condition that is undefined does not mean all: %s', async (_, where) => {
      const asks = [
        () => api.posts.list({ where }),
        () => api.posts.all({ where }).next(),
        () => api.users.list({ include: { posts: { where } } }),
      ];
      sent = [];
      for (const ask of asks) expect(async () => ask()).toThrow('is undefined; give it a value');
      expect(sent).toEqual([]);
      expect(await api.posts.list({ where: undefined })).toBeArray();
    });

    test('errors have their code and their faults', async () => {
      const error = await api.posts.create({ pages: 'x' }).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(DuetError);
      expect([error.code, error.status, error.errors.map(({ pointer }: any) => pointer)]).toEqual([
        'VALIDATION_FAILED',
        400,
        ['#/title', '#/pages', '#/authorId'],
      ]);
    });

    test('all pages are followed to the end', async () => {
      for (let text = 0; text < 230; text += 115)
        await app.graphql('mutation($r: [LogInput!]!) { createLogs(records: $r) { id } }', {
          r: Array.from({ length: 115 }, (_, index) => ({ text: String(text + index) })),
        });
      const seen: string[] = [];
      for await (const { text } of api.logs.all({ orderBy: { id: 'ASC' } })) seen.push(text);
      expect(seen).toEqual(Array.from({ length: 230 }, (_, index) => String(index)));
      const few: string[] = [];
      for await (const { text } of api.logs.all({ first: 120, where: { id: { gt: 1 } } })) few.push(text);
      expect(few).toHaveLength(120);
    });

    test('a transaction happens as a whole, and uses what it has just made', async () => {
      const made = await api.transaction((t: any) => {
        const user = t.users.create({ name: 'Carl' });
        return { user, post: t.posts.create({ title: 'Of Carl', authorId: user.id }) };
      });
      expect([made.user.name, made.post.authorId, made.post._version]).toEqual(['Carl', made.user.id, 1]);
      const error = await api
        .transaction((t: any) => {
          t.users.update(made.user, { name: 'Karl' });
          t.posts.create({ title: 'Nobody', authorId: 987654 });
        })
        .catch((caught: unknown) => caught);
      expect([error.code, (await api.users.get(made.user.id)).name]).toEqual(['CONFLICT', 'Carl']);
    });

    test('a conflict within a transaction is one too, with the record that was changed since', async () => {
      const [ann, bob] = [await api.users.create({ name: 'Ann' }), await api.users.create({ name: 'Bob' })];
      await api.users.update(bob, { name: 'Bobby' });
      const error = await api
        .transaction((t: any) => {
          t.users.update(ann, { name: 'Anna' });
          t.users.delete(bob);
        })
        .catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(VersionConflict);
      expect([error.operation, error.record]).toEqual([1, { id: bob.id, name: 'Bobby', _version: 2 }]);
      expect((await api.users.get(ann.id)).name).toBe('Ann');
    });

    test('actions are run by their names', async () => {
      const { id } = await api.users.create({ name: 'Dora' });
      expect((await api.actions.rename({ id, name: 'Dorothy' })).name).toBe('Dorothy');
      expect(await api.actions.counted({ least: 1000 })).toBe(0);
    });

    test('live lists come again whenever they are others, all of them by one stream', async () => {
      const seen: Record<string, string[]> = { open: [], same: [], done: [] };
      const shows = (name: string) => (rows: any[]) =>
        seen[name]?.push(rows.map(({ title }) => title).join());
      const until = async (isSo: () => boolean) => {
        for (let tries = 0; tries < 500 && !isSo(); tries++) await Bun.sleep(10);
        expect([seen, isSo()]).toEqual([seen, true]);
      };
      const last = () => Object.values(seen).map((texts) => texts.at(-1));
      const query = (eq: boolean) => ({ where: { done: { eq } }, orderBy: { title: 'ASC' } });
      const streams = async () => /^duet_streams (\d+)$/m.exec((await app.rest('GET', '/metrics')).body)?.[1];
      sent = [];
      const stop = api.tasks.live(query(false), shows('open'));
      const stopDone = api.tasks.live(query(true), shows('done'));
      await until(() => seen['open']?.length === 1 && seen['done']?.length === 1);
      const stopSame = api.tasks.live(query(false), shows('same'));
      // What begins together, and what is asked for already, needs no other stream.
      expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST /live']);
      const task = await api.tasks.create({ title: 'b' });
      await api.tasks.create({ title: 'a' });
      await until(() => last().join(' ') === 'a,b a,b ');
      stopSame();
      const { length } = seen['same'] ?? [];
      await api.tasks.update(task, { done: true });
      await until(() => last().join(' ') === 'a a,b b');
      // Something else joins, and something goes: there is still one stream, for what is wanted now.
      stopDone();
      const stopAll = api.tasks.live({ orderBy: { title: 'DESC' } }, shows('same'));
      await until(() => last().join(' ') === 'a b,a b');
      expect([await streams(), seen['same']?.length]).toEqual(['1', length + 1]);
      stop();
      stopAll();
      for (let tries = 0; tries < 500 && (await streams()) !== '0'; tries++) await Bun.sleep(10);
      expect([await streams(), seen['open']?.[0]]).toEqual(['0', '']);
    });

    test('live lists beyond those that one stream takes have another', async () => {
      sent = [];
      const asked = Array.from({ length: 101 }, (_, at) => ({ where: { title: { eq: `none ${at}` } } }));
      const stops: (() => void)[] = [];
      const shown = asked.map(
        (each) => new Promise((resolve, reject) => stops.push(api.tasks.live(each, resolve, reject))),
      );
      expect((await Promise.all(shown)).flat()).toEqual([]);
      expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST /live', 'POST /live']);
      for (const stop of stops) stop();
    });

    test('a live list is asked for again when its stream breaks, and tells what is refused', async () => {
      const seen: number[] = [];
      const stops: (() => void)[] = [];
      const before = (await api.tasks.list()).length;
      let left = 2;
      trouble = () => (left-- > 0 ? new Response('event: 0\ndata: []\n\n') : undefined);
      const stop = api.tasks.live({}, (rows: unknown[]) => seen.push(rows.length));
      for (let tries = 0; tries < 500 && seen.at(-1) !== before; tries++) await Bun.sleep(10);
      stop();
      trouble = undefined;
      // The same answer twice is one.
      expect(seen).toEqual([0, before]);
      // What is refused takes nothing else with it.
      const shown = new Promise<unknown[]>((resolve) => stops.push(api.tasks.live({}, resolve)));
      const error: any = await new Promise((resolve) => api.users.live({}, () => {}, resolve));
      expect([error instanceof DuetError, error.code, error.status]).toEqual([true, 'NOT_LIVE', 400]);
      expect(await shown).toHaveLength(before);
      for (const end of stops) end();
    });

    const busy = (status: number) => () =>
      Response.json({ code: 'UNAVAILABLE', detail: 'busy' }, { status, headers: { 'Retry-After': '0' } });
    test.each([
      ['the answer is lost', () => 'lost' as const],
      ['429', busy(429)],
      ['503', busy(503)],
    ])('every write has one effect: %s', async (_, once) => {
      const { length } = await api.logs.list();
      let left = 2;
      trouble = () => (left-- > 0 ? once() : undefined);
      sent = [];
      await api.logs.create({ text: 'once' });
      trouble = undefined;
      expect(await api.logs.list()).toHaveLength(length + 1);
      const keys = new Set(
        sent.filter(({ method }) => method === 'POST').map(({ headers }) => headers.get('Idempotency-Key')),
      );
      expect([sent.length > 3, keys.size]).toEqual([true, 1]);
    });

    test('it gives up after three retries, and at once when it is told to', async () => {
      trouble = busy(503);
      sent = [];
      expect(await api.logs.list().catch(({ status }: any) => status)).toBe(503);
      expect(sent.length).toBe(4);
      sent = [];
      const call = { signal: AbortSignal.abort(new Error('enough')) };
      const calls: (() => Promise<unknown>)[] = [
        () => api.logs.list(call),
        () => api.logs.all(call).next(),
        () => api.users.get(1, call),
        () => api.logs.create({ text: 'x' }, call),
        () => api.users.update(1, { name: 'x' }, call),
        () => api.users.delete(1, call),
        () => api.transaction((t: any) => t.logs.create({ text: 'x' }), call),
        () => api.actions.rename({ id: 1, name: 'x' }, call),
        () => api.actions.counted({}, call),
      ];
      for (const each of calls) expect(await each().catch(({ message }: Error) => message)).toBe('enough');
      expect(sent.length).toBe(0);
      trouble = undefined;
    });

    test('it waits as long as it is asked to before it sends again', async () => {
      let left = 1;
      trouble = () =>
        left-- > 0 ? new Response('', { status: 503, headers: { 'Retry-After': '77' } }) : undefined;
      const isMeant = (ms: number) => ms >= 77_000 && ms < 78_000;
      expect(await pauses(isMeant, () => api.logs.create({ text: 'later' }))).toBe(true);
      trouble = undefined;
    });

    test('what cannot be live for now is asked for again, while the stream of the others goes on', async () => {
      const refused = 'event: 0.refused\ndata: {"status":503,"code":"UNAVAILABLE","detail":"busy"}\n\n';
      const endless = () =>
        new Response(new ReadableStream({ start: (to) => to.enqueue(new TextEncoder().encode(refused)) }));
      let left = 1;
      trouble = () => (left-- > 0 ? endless() : undefined);
      const { length } = await app.rest('GET', '/tasks').then(({ body }) => body);
      let stop = () => {};
      const isBusy = (ms: number) => ms === 5000;
      const hasPaused = await pauses(isBusy, async () => {
        const shown = new Promise<unknown[]>((resolve, reject) => {
          stop = api.tasks.live({}, resolve, reject);
        });
        expect(await shown).toHaveLength(length);
      });
      stop();
      trouble = undefined;
      expect(hasPaused).toBe(true);
    });
  });

test('positions of replicas are passed on, the latest one', async () => {
  const positions = ['00000000000000B0', '00000000000000A0', undefined];
  const seen: (string | null)[] = [];
  const api = duet('http://duet.test', {
    fetch: async (_: string, init: RequestInit) => {
      seen.push(new Headers(init.headers).get('Duet-Position'));
      const position = positions.shift();
      return Response.json([], position ? { headers: { 'Duet-Position': position } } : {});
    },
  });
  await api.logs.create({ text: 'a' });
  await api.logs.create({ text: 'b' });
  await api.logs.list();
  expect(seen).toEqual([null, null, '00000000000000B0']);
});

test('the runtime is at most 6 KB, and nothing that is printed is any', async () => {
  const built = await Bun.build({
    entrypoints: [new URL('../../src/client/runtime.ts', import.meta.url).pathname],
    minify: true,
  });
  const text = (await built.outputs[0]?.text()) ?? '';
  expect(text.length).toBeGreaterThan(1000);
  expect(Bun.gzipSync(text).length).toBeLessThanOrEqual(6 * 1024);
  expect(clientText(model)).not.toMatch(/\bany\b[^a-z ]/);
});

/** Code, and the error that it must give; none where it is right. */
const snippets: [string, string | undefined][] = [
  [
    'const post = await api.posts.get(1); const a: string | undefined = post?.title; const v: number | undefined = post?._version;',
    undefined,
  ],
  [
    'const u = await api.users.get(1, { select: { name: true, posts: { select: { title: true } } } }); const exact: Same<typeof u, { readonly name: string; readonly posts: { readonly title: string }[] } | null> = true;',
    undefined,
  ],
  [
    'const [p] = await api.posts.list({ include: { author: { select: { name: true } } } }); const exact: Same<typeof p, { readonly id: number; readonly title: string; readonly pages: number; readonly kind: "LONG" | "SHORT"; readonly authorId: number; readonly _version: number; readonly author: { readonly name: string } } | undefined> = true;',
    undefined,
  ],
  ['await api.users.get(1, { select: { nam: true } });', 'TS2561'],
  ['const u = await api.users.get(1, { select: { name: true } }); u?.id;', 'TS2339'],
  ["await api.posts.list({ where: { pages: { gte: 'x' } } });", 'TS2322'],
  [
    "await api.posts.list({ orderBy: [{ author: { name: 'DESC' } }], first: 3, signal: AbortSignal.timeout(1) });",
    undefined,
  ],
  ["await api.posts.create({ title: 'x' });", 'TS2741'],
  ["await api.posts.create({ title: 'x', authorId: 1, kind: 'SHORT' });", undefined],
  ["await api.posts.create({ title: 'x', authorId: 1, kind: 'TINY' });", 'TS2322'],
  [
    'const p = await api.posts.get(1, { select: { id: true } }); if (p) await api.posts.update(p, { pages: 2 });',
    'TS2345',
  ],
  ['const p = await api.posts.get(1); if (p) await api.posts.update(p, { pages: 2 });', undefined],
  ['await api.logs.delete(1);', 'TS2339'],
  [
    "const r = await api.transaction((t) => { const u = t.users.create({ name: 'x' }); return t.posts.create({ title: 'y', authorId: u.id }); }); const title: string = r.title;",
    undefined,
  ],
  ['await api.actions.rename({ id: 1 });', 'TS2741'],
  ["await api.users.delete(await api.actions.rename({ id: 1, name: 'x' }));", 'TS2345'],
  [
    "const n: number = await api.actions.counted({}); const m: string = (await api.actions.rename({ id: 1, name: 'x' })).name;",
    undefined,
  ],
  [
    "try { await api.logs.list(); } catch (e) { if (e instanceof DuetError && e.code === 'NO_SUCH_CODE') throw e; }",
    'TS2367',
  ],
  [
    'const stop = api.tasks.live({ where: { done: { eq: false } }, select: { title: true } }, (rows) => { const exact: Same<typeof rows, { readonly title: string }[]> = true; }, (error) => { const code: string = error.code; }); stop();',
    undefined,
  ],
  ['api.logs.live({}, () => {});', 'TS2339'],
  ['for await (const log of api.logs.all()) { const t: string = log.text; }', undefined],
];

test('wrong code does not compile, and right code has exactly the types', async () => {
  const head = `import { duet, DuetError } from './duet.ts';
type Plain<T> = T extends (infer E)[] ? Plain<E>[] : T extends object ? { readonly [K in keyof T]: Plain<T[K]> } : T;
export type Same<A, B> = (<T>() => T extends Plain<A> ? 1 : 2) extends <T>() => T extends Plain<B> ? 1 : 2 ? true : false;
const api = duet('http://localhost:4000');
void DuetError;
export async function run() {\n`;
  for (const [index, [code]] of snippets.entries())
    writeFileSync(join(folder, `snippet${index}.ts`), `${head}${code}\n}\n`);
  // Names that the runtime has for its own.
  const taken = ['Action', 'Call', 'Duet', 'DuetError', 'Step', 'Table', 'Asked', 'Connection', 'Problem'];
  const clashing = readSchema(
    taken.map((name) => `type ${name} @resource { id: ID! of: ${name} }`).join('\n'),
  );
  writeFileSync(join(folder, 'clashing.ts'), clashing.model ? clientText(clashing.model) : '');
  const options = {
    strict: true,
    noEmit: true,
    target: 'es2023',
    module: 'esnext',
    moduleResolution: 'bundler',
    lib: ['es2023', 'dom', 'dom.iterable'],
    types: [],
    allowImportingTsExtensions: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
  };
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: options, include: ['*.ts'] }),
  );
  const { stdout } = Bun.spawnSync(['tsc', '-p', folder, '--pretty', 'false']);
  const lines = stdout.toString().split('\n');
  expect(lines.filter((line) => /duet\.ts|clashing\.ts/.test(line))).toEqual([]);
  expect(clashing.faults).toBeUndefined();
  const errors = snippets.map(([code], index) => {
    const line = lines.find((each) => each.includes(`snippet${index}.ts`));
    return [code, line && /TS\d+/.exec(line)?.[0]];
  });
  expect(errors).toEqual(snippets.map(([code, error]) => [code, error]));
});
