/** The single-file executable does what the sources do, away from them. */

import { expect, test } from 'bun:test';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JSON_HEADERS } from '../app.ts';
import { Folder, Server, throughBothDoors, written } from '../process.ts';

const project = join(import.meta.dir, '../..');

test('npm run build makes a file that serves, reads and writes by itself', async () => {
  // In a copy, because it builds the console anew, from which other tests are served.
  const copy = mkdtempSync(join(tmpdir(), 'duet-build-'));
  for (const name of ['src', 'package.json', 'tsconfig.json'])
    cpSync(join(project, name), join(copy, name), { recursive: true });
  symlinkSync(join(project, 'node_modules'), join(copy, 'node_modules'));
  const build = Bun.spawn([process.execPath, 'run', 'build'], {
    cwd: copy,
    stdout: 'ignore',
    stderr: 'pipe',
  });
  expect([await build.exited, await build.stderr.text()]).toEqual([0, expect.any(String)]);
  using folder = new Folder();
  const executable = folder.file('duet');
  cpSync(join(copy, 'dist/duet'), executable);
  rmSync(copy, { recursive: true });
  await using server = await Server.start(folder, {}, [executable]);
  // Long enough for whatever starts beside the first answers.
  for (let round = 0; round < 30; round++) {
    expect(await throughBothDoors(server)).toEqual(written);
    await Bun.sleep(10);
  }
  expect((await fetch(`${server.url}/`)).status).toBe(200);
  // More than is written in the process that serves.
  const tasks = Array.from({ length: 2500 }, (_, index) => ({ title: `task ${index}` }));
  const ask = async (query: string, variables = {}) => {
    const body = JSON.stringify({ query, variables });
    return (await fetch(`${server.url}/graphql`, { method: 'POST', headers: JSON_HEADERS, body })).json();
  };
  await ask('mutation($tasks: [TaskInput!]!) { createTasks(records: $tasks) { id } }', { tasks });
  const { data } = (await ask('mutation { deleteTasks(where: {}, atMost: 10000) { id } }')) as any;
  expect(data.deleteTasks.length).toBeGreaterThan(2500);
  server.signal('SIGTERM');
  expect(await server.exited()).toBe(0);
  expect(server.log.filter(({ level }) => level === 'error')).toEqual([]);
});
