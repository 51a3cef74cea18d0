/** The programs of docs/library.md run as they stand. */

import { expect, test } from 'bun:test';
import { JSON_HEADERS } from '../app.ts';
import { freePort } from '../postgres.ts';
import { Folder } from '../process.ts';
import { stepsOf } from './steps.ts';

const library = new URL('../../src/app/library.ts', import.meta.url).pathname;
const files = Object.fromEntries((await stepsOf('docs/library.md')).map(({ word, text }) => [word, text]));

/** Runs one of them where the package is installed, until what is asked of it is answered. */
async function running(name: string, ask: (url: string) => Promise<void>): Promise<number> {
  using folder = new Folder({
    ...files,
    'node_modules/duet-server/package.json': '{ "name": "duet-server", "exports": "./index.ts" }',
    'node_modules/duet-server/index.ts': `export * from '${library}';`,
    'node_modules/hono/package.json': '{ "name": "hono", "exports": "./index.ts" }',
    'node_modules/hono/index.ts': `export * from '${Bun.resolveSync('hono', import.meta.dir)}';`,
  });
  const port = freePort();
  const child = Bun.spawn([process.execPath, '--no-env-file', name], {
    cwd: folder.path,
    env: { PORT: String(port) },
    stdout: 'ignore',
    stderr: 'ignore',
  });
  const url = `http://127.0.0.1:${port}`;
  try {
    for (let tries = 0; tries < 500; tries++) {
      if (await fetch(url).catch(() => undefined)) break;
      await Bun.sleep(20);
    }
    await ask(url);
  } finally {
    child.kill('SIGTERM');
  }
  return child.exited;
}

const note = { method: 'POST', headers: JSON_HEADERS, body: '{"title":"first"}' };

test('app.ts', async () => {
  const exit = await running('app.ts', async (url) => {
    expect(await (await fetch(`${url}/hello`)).text()).toBe('Hello!');
    expect((await fetch(`${url}/notes`, note)).status).toBe(201);
    const query = encodeURIComponent('{ notes { title } }');
    const answer = await (await fetch(`${url}/graphql?query=${query}`)).json();
    expect(answer).toEqual({ data: { notes: [{ title: 'first' }] } });
  });
  // It ends by itself when all is closed.
  expect(exit).toBe(0);
});

test('several.ts', async () => {
  await running('several.ts', async (url) => {
    const as = (name: string, init: RequestInit = {}) =>
      fetch(`${url}/notes`, { ...init, headers: { ...JSON_HEADERS, Host: `${name}.localhost` } });
    expect((await as('red', note)).status).toBe(201);
    expect(((await (await as('red')).json()) as unknown[]).length).toBe(1);
    expect(await (await as('blue')).json()).toEqual([]);
    expect((await as('green')).status).toBe(404);
  });
});

test('hono.ts', async () => {
  await running('hono.ts', async (url) => {
    expect(await (await fetch(`${url}/hello`)).text()).toBe('Hello!');
    const created = await fetch(`${url}/notes`, note);
    expect([created.status, created.headers.get('Location')]).toEqual([201, '/notes/1']);
    expect((await fetch(`${url}/notes/1`)).headers.get('ETag')).toBe(created.headers.get('ETag'));
    const query = '{ notes { title } }';
    const answer = await fetch(`${url}/graphql`, { ...note, body: JSON.stringify({ query }) });
    expect(await answer.json()).toEqual({ data: { notes: [{ title: 'first' }] } });
  });
});
