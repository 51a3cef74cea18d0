/** The single-file executable carries the console. */

import { expect, test } from 'bun:test';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Folder } from '../process.ts';
import { buildConsole } from './build.ts';

const root = join(import.meta.dir, '../..');

test('it serves the page and its files with nothing beside it', async () => {
  await buildConsole();
  // Made from a copy that is gone when it runs, so that nothing can be found beside it by chance.
  const copy = mkdtempSync(join(tmpdir(), 'duet-executable-'));
  for (const part of ['src', 'examples', 'dist/console', 'package.json', 'tsconfig.json'])
    cpSync(join(root, part), join(copy, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  using folder = new Folder();
  const executable = folder.file('duet');
  const { stderr, exitCode } = Bun.spawnSync(
    [process.execPath, 'build', '--compile', '--outfile', executable, 'src/cli/cli.ts'],
    { cwd: copy },
  );
  rmSync(copy, { recursive: true });
  expect([exitCode, exitCode === 0 ? '' : stderr.toString()]).toEqual([0, '']);

  const child = Bun.spawn([executable, 'serve'], { cwd: folder.path, env: { PORT: '0' }, stdout: 'pipe' });
  try {
    const url = await started(child.stdout);
    const html = await (await fetch(`${url}/`)).text();
    const files = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, file = '']) => file);
    expect(files.length).toBeGreaterThan(2);
    for (const file of [...files, '/_console/graphiql', '/_console/reference'])
      expect([file, (await fetch(url + file)).status]).toEqual([file, 200]);
  } finally {
    child.kill('SIGKILL');
    await child.exited;
  }
});

async function started(stdout: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
  let text = '';
  for await (const chunk of stdout.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const url = /"event":"started","url":"([^"]+)"/.exec(text)?.[1];
    if (url) return url;
  }
  throw new Error(text);
}
