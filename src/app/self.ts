/** How to start this program again, and what it starts beside itself. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';

export function isExecutable(): boolean {
  // The second is where Windows has it.
  return /^(\/\$bunfs\/|B:[\\/]~BUN[\\/])/.test(Bun.main);
}

/** What people call it in a shell. */
export function ownName(): string {
  return isExecutable() ? 'duet' : 'npx duet';
}

/** The command that this process was started with. */
export function self(): string[] {
  return isExecutable() ? [process.execPath] : [process.execPath, ...process.execArgv, Bun.main];
}

/** Where it is among the sources, and beside the bundle. */
const STATEMENTS = ['../cli/statements.ts', 'statements.js'];

/**
 * What runs the reader or the writer of a SQLite file. It is a file of Duet's own, because a program that Duet is a part of
 * must not be started again; undefined where such a program was built with Duet in it, and there is no such file.
 */
export function statementProcess(isEmbedded: boolean): readonly string[] | undefined {
  if (isExecutable() && !isEmbedded) return [process.execPath];
  // A bundler that takes Duet in leaves the folder undefined.
  const file = STATEMENTS.map((name) => join(String(import.meta.dir), name)).find((path) => existsSync(path));
  return file === undefined ? undefined : [process.execPath, '--no-env-file', file];
}
