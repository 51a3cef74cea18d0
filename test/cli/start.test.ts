/** The command starts from its bundle, but never from one that is older than the sources. */

import { afterAll, expect, test } from 'bun:test';
import { cpSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import packageFile from '../../package.json' with { type: 'json' };
import { Folder, Server, throughBothDoors, written } from '../process.ts';

const project = join(import.meta.dir, '../..');
const copy = mkdtempSync(join(tmpdir(), 'duet-start-'));
afterAll(() => rmSync(copy, { recursive: true }));
for (const name of ['src', 'examples', 'package.json', 'dist/console'])
  cpSync(join(project, name), join(copy, name), {
    recursive: true,
    preserveTimestamps: true,
    filter: (file) => basename(file) !== 'node_modules',
  });
symlinkSync(join(project, 'node_modules'), join(copy, 'node_modules'));

const start = [process.execPath, '--no-env-file', join(copy, 'src/cli/start.ts')];
const bundle = join(copy, 'dist/server/cli.js');

async function told(): Promise<string> {
  const child = Bun.spawn([...start, '--version'], { stderr: 'inherit' });
  return (await child.stdout.text()).trim();
}

async function make(): Promise<void> {
  const child = Bun.spawn([process.execPath, 'run', 'bundle'], {
    cwd: copy,
    stdout: 'ignore',
    stderr: 'pipe',
  });
  expect([await child.exited, await child.stderr.text()]).toEqual([0, expect.any(String)]);
}

test('a bundle that is older than a source, or missing, is not run', async () => {
  expect(await told()).toBe(packageFile.version);
  await make();
  writeFileSync(bundle, 'console.log("the bundle")');
  expect(await told()).toBe('the bundle');
  const later = new Date(Date.now() + 10_000);
  for (const file of [
    'src/schema/directives.graphql',
    'examples/shop/schema.graphql',
    'src/cli/cli.ts',
    'src/schema/rules',
    'package.json',
  ]) {
    utimesSync(join(copy, file), later, later);
    expect([file, await told()]).toEqual([file, packageFile.version]);
    utimesSync(join(copy, file), new Date(0), new Date(0));
    expect([file, await told()]).toEqual([file, 'the bundle']);
  }
  // An example with packages of its own is no part of it.
  utimesSync(join(copy, 'examples/login/start.ts'), later, later);
  expect(await told()).toBe('the bundle');
});

test('the bundle does what the sources do, wherever it is', async () => {
  await make();
  // What was known of the place where it was made must not be needed where it runs.
  expect((await Bun.file(bundle).text()).includes(copy)).toBe(false);
  using folder = new Folder();
  await using server = await Server.start(folder, {}, start);
  expect(await throughBothDoors(server)).toEqual(written);
  for (const path of ['/', '/openapi.json', '/schema.graphql'])
    expect([path, (await fetch(server.url + path)).status]).toEqual([path, 200]);
  server.signal('SIGTERM');
  expect(await server.exited()).toBe(0);
});
