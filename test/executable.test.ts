/** The single-file executable does what the sources do, away from them. */

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { JSON_HEADERS } from './app.ts';
import { Folder, Server } from './process.ts';

const project = join(import.meta.dir, '..');

test('npm run build makes a file that serves, reads and writes by itself', async () => {
  const build = Bun.spawn([process.execPath, 'run', 'build'], {
    cwd: project,
    stdout: 'ignore',
    stderr: 'pipe',
  });
  expect([await build.exited, await build.stderr.text()]).toEqual([0, expect.any(String)]);
  using folder = new Folder();
  await using server = await Server.start(folder, {}, [join(project, 'dist/duet')]);
  // Long enough for whatever starts beside the first answers.
  for (let round = 0; round < 30; round++) {
    const rest = await fetch(`${server.url}/notes`, {
      method: 'POST',
      headers: JSON_HEADERS,
      body: JSON.stringify({ title: 'by REST' }),
    });
    expect(rest.status).toBe(201);
    const graphql = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: JSON_HEADERS,
      body: JSON.stringify({ query: 'mutation { createNote(title: "by GraphQL") { title } }' }),
    });
    expect(await graphql.json()).toEqual({ data: { createNote: { title: 'by GraphQL' } } });
    await Bun.sleep(10);
  }
  expect((await fetch(`${server.url}/`)).status).toBe(200);
  server.signal('SIGTERM');
  expect(await server.exited()).toBe(0);
  expect(server.log.filter(({ level }) => level === 'error')).toEqual([]);
});
