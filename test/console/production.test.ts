/** An install without the packages for development has the console all the same. */

import { expect, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Folder, Server } from '../process.ts';

const root = join(import.meta.dir, '../..');

/** Copies a package without those that may be inside of it; by links where they can be, because there are many files. */
function copyPackage(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  const names = readdirSync(from).filter((name) => name !== 'node_modules');
  const copied = ['-al', '-af'].some(
    (how) => Bun.spawnSync(['cp', how, ...names, to], { cwd: from }).exitCode === 0,
  );
  if (!copied) throw new Error(`cannot copy ${from}`);
}

test('npm install --omit=dev', async () => {
  const copy = mkdtempSync(join(tmpdir(), 'duet-production-'));
  try {
    const lock = await Bun.file(join(root, 'package-lock.json')).json();
    for (const [name, { dev, devOptional, link }] of Object.entries<any>(lock.packages))
      if (/^node_modules\//.test(name) && !dev && !devOptional && !link && existsSync(join(root, name)))
        copyPackage(join(root, name), join(copy, name));
    mkdirSync(join(copy, 'node_modules/.bin'));
    symlinkSync('../bun/bin/bun.exe', join(copy, 'node_modules/.bin/bun'));
    for (const name of ['src', 'bin', 'examples', 'package.json', 'tsconfig.json'])
      cpSync(join(root, name), join(copy, name), { recursive: true });
    const prepare = Bun.spawn(['npm', 'run', 'prepare'], { cwd: copy, stdout: 'ignore', stderr: 'pipe' });
    expect([await prepare.exited, await prepare.stderr.text()]).toEqual([0, expect.any(String)]);

    using folder = new Folder();
    await using server = await Server.start(folder, { PATH: process.env['PATH'] ?? '' }, [
      join(copy, 'bin/duet.cjs'),
    ]);
    for (const path of ['/', '/_console/graphiql', '/_console/reference'])
      expect([path, (await fetch(server.url + path)).status]).toEqual([path, 200]);
  } finally {
    rmSync(copy, { recursive: true });
  }
}, 180_000);
