#!/usr/bin/env bun
/** The `duet` command from its bundle, which loads in a third of the time; from its sources where they are newer. */

import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dir, '../..');
const bundle = join(root, 'dist/server/cli.js');

function changedAt(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs;
}

/** The examples that `duet init` writes. Those with a package of their own are programs beside it, and keep thousands of files. */
function initialFiles(): string[] {
  const folder = join(root, 'examples');
  const names = readdirSync(folder).filter((name) => !existsSync(join(folder, name, 'package.json')));
  return names.map((name) => join(folder, name));
}

/** `npm install` makes the bundle; whoever then changes a file, or fetches newer ones, means those. */
function isFresh(): boolean {
  const made = changedAt(bundle);
  if (made === undefined) return false;
  // Folders too: theirs is the time at which a file was last taken away.
  const isOlder = (file: string) => (changedAt(file) ?? 0) <= made;
  return (
    isOlder(join(root, 'package.json')) &&
    [join(root, 'src'), ...initialFiles()].every(
      (folder) =>
        isOlder(folder) &&
        readdirSync(folder, { recursive: true, encoding: 'utf8' }).every((file) =>
          isOlder(join(folder, file)),
        ),
    )
  );
}

await import(isFresh() ? bundle : './cli.ts');
