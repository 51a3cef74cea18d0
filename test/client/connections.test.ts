/** Connections that break around a write, and servers that are killed during it: what the client has sent is done once. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientText } from '../../src/client/client.ts';
import { readSchema } from '../../src/schema/read.ts';
import { databases, sharedPostgres } from '../app.ts';
import { Folder, Server } from '../process.ts';
import { type Cut, Wire } from '../wire.ts';

const sdl = `
  type Counter @resource { id: ID!  value: Int! @default(value: 0) }
  type Entry @resource { id: ID!  text: String! }
`;

const folder = mkdtempSync(join(tmpdir(), 'duet-client-'));
const { model } = readSchema(sdl);
writeFileSync(join(folder, 'duet.ts'), model ? clientText(model) : '');
const { duet, VersionConflict } = await import(join(folder, 'duet.ts'));
rmSync(folder, { recursive: true });

const ROUNDS = 2;
const WRITERS = 4;

describe.each([...databases])('on %s', (database) => {
  let files: Folder;
  let env: Record<string, string>;
  let server: Server & { readonly url: string };
  let wire: Wire;
  let api: any;
  /** Resolves while there is a server, so that what is sent again finds it. */
  let up: Promise<void> = Promise.resolve();
  const start = async () => {
    server = await Server.start(files, env);
    return Number(new URL(server.url).port);
  };
  beforeAll(async () => {
    files = new Folder({ 'schema.graphql': sdl, 'data.json': '{}' });
    env = database === 'postgres' ? { DATABASE_URL: await (await sharedPostgres()).database() } : {};
    wire = await Wire.start(await start());
    api = duet(`http://127.0.0.1:${wire.port}`, {
      fetch: async (url: string, init: RequestInit) => {
        await up;
        return fetch(url, init);
      },
    });
  });
  afterAll(async () => {
    wire[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
    files[Symbol.dispose]();
  });

  test.each<Cut>(['before', 'within', 'after'])('cut %s the answer: one effect each', async (cut) => {
    const lose = async (method: string, write: () => Promise<any>) => {
      wire.cut(cut, method);
      const made = await write();
      expect([method, wire.sprung]).toEqual([method, true]);
      return made;
    };
    const { length } = await api.entries.list();
    const entry = await lose('POST', () => api.entries.create({ text: cut }));
    expect(await api.entries.list()).toHaveLength(length + 1);
    const counter = await lose('POST', () =>
      api.transaction((t: any) => {
        t.entries.create({ text: cut });
        return t.counters.create({});
      }),
    );
    expect(await api.entries.list()).toHaveLength(length + 2);
    // Its own first attempt is no conflict.
    const guarded = await lose('PUT', () => api.counters.update(counter, { value: 5 }));
    expect([guarded.value, guarded._version]).toEqual([5, 2]);
    const added = await lose('PUT', () => api.counters.update(counter.id, { _inc: { value: 1 } }));
    expect([added.value, added._version]).toEqual([6, 3]);
    // Neither is what it has deleted already missing.
    await lose('DELETE', () => api.entries.delete(entry));
    await lose('GET', () => api.entries.get(entry.id));
    expect(await api.entries.list()).toHaveLength(length + 1);
  });

  test(`${ROUNDS} servers are killed during writes: no update is lost, and none happens twice`, async () => {
    const { id } = await api.counters.create({});
    const texts: string[] = [];
    let added = 0;
    let ended = false;
    const writer = async (name: number) => {
      for (let turn = 0; !ended; turn++) {
        const text = `${name}.${turn}`;
        await api.entries.create({ text });
        texts.push(text);
        try {
          // Read, change, write: what another has written in between is a conflict, and nothing is overwritten.
          const counter = await api.counters.get(id);
          await api.counters.update(counter, { value: counter.value + 1 });
          added++;
        } catch (error) {
          if (!(error instanceof VersionConflict)) throw error;
        }
      }
    };
    const writers = Promise.all(Array.from({ length: WRITERS }, (_, name) => writer(name)));
    for (let round = 0; round < ROUNDS; round++) {
      const before = added;
      while (added < before + 3) await Promise.race([Bun.sleep(5), writers]);
      // Of what most have written last nobody hears; one goes on to the end.
      wire.cut('after', 'Idempotency-Key', WRITERS - 1);
      for (let tries = 0; tries < 1000 && !wire.sprung; tries++) await Promise.race([Bun.sleep(5), writers]);
      await Bun.sleep(Math.random() * 20);
      const { promise, resolve } = Promise.withResolvers<void>();
      up = promise;
      server.signal('SIGKILL');
      await server.exited();
      wire.target = await start();
      resolve();
    }
    ended = true;
    await writers;
    expect((await api.counters.get(id)).value).toBe(added);
    const stored = (
      await api.entries.list({ where: { text: { contains: '.' } }, select: { text: true } })
    ).map(({ text }: { text: string }) => text);
    expect(stored.toSorted()).toEqual(texts.toSorted());
  });
});

test.each([
  ['429', { RATE_LIMIT_ADDRESS: '6/1' }],
  ['503', { LIMIT_IN_FLIGHT: '1' }],
])('%s of a real server is waited for: one effect each', async (status, env) => {
  using files = new Folder({ 'schema.graphql': sdl, 'data.json': '{}' });
  await using server = await Server.start(files, env);
  const seen: number[] = [];
  const api = duet(server.url, {
    fetch: async (url: string, init: RequestInit) => {
      const response = await fetch(url, init);
      seen.push(response.status);
      return response;
    },
  });
  const writes = Array.from({ length: 3 }, (_, at) => api.entries.create({ text: String(at) }));
  await Promise.all(writes);
  expect(seen).toContain(Number(status));
  expect(await api.entries.list()).toHaveLength(3);
});

const PROGRAM = `
  import { duet } from './duet.mjs';
  const api = duet(process.argv[2]);
  const made = await api.entries.create({ text: 'a' });
  const seen = [];
  await new Promise((resolve) => {
    const stop = api.entries.live({ select: { text: true } }, (rows) => {
      seen.push(rows.length);
      if (rows.length === 1) return api.entries.create({ text: 'b' });
      stop();
      resolve();
    });
  });
  await api.entries.update(made, { text: 'c' });
  const texts = [];
  for await (const { text } of api.entries.all()) texts.push(text);
  console.log(JSON.stringify([seen, texts, await api.entries.get(99)]));
`;

test('it runs in Node, and leaves nothing behind that keeps a program from ending', async () => {
  const kept = 'type Entry @resource @journal { id: ID! text: String! }';
  using files = new Folder({ 'schema.graphql': kept, 'data.json': '{}', 'main.mjs': PROGRAM });
  const { model: own } = readSchema(kept);
  writeFileSync(files.file('duet.ts'), own ? clientText(own) : '');
  const { outputs } = await Bun.build({ entrypoints: [files.file('duet.ts')], target: 'node' });
  writeFileSync(files.file('duet.mjs'), (await outputs[0]?.text()) ?? '');
  await using server = await Server.start(files, {});
  const node = Bun.spawn(['node', files.file('main.mjs'), server.url], { timeout: 30_000 });
  expect([await node.stdout.text(), await node.exited]).toEqual(['[[1,2],["c","b"],null]\n', 0]);
});
