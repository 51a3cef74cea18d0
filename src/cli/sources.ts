/** The files that `logic.ts` is made of: itself, and what it imports by a path. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import { type FileSettings, logicFile } from '../app/deployment.ts';

/** Where the file is, or would be. */
export function logicPlace(config: FileSettings): string {
  return config.logic ?? join(dirname(config.schema), 'logic.ts');
}

/** Packages are not looked into: who installs another one starts again. */
export function sourcesOf(file: string, found = new Set<string>()): ReadonlySet<string> {
  const path = resolve(file);
  if (found.has(path) || !existsSync(path)) return found;
  found.add(path);
  const loader = extname(path).slice(1);
  if (!['ts', 'tsx', 'js', 'jsx', 'mjs', 'mts'].includes(loader)) return found;
  for (const imported of importsOf(path)) sourcesOf(imported, found);
  return found;
}

function importsOf(path: string): string[] {
  try {
    const imports = new Bun.Transpiler({ loader: 'tsx' }).scanImports(readFileSync(path, 'utf8'));
    return imports.flatMap(({ path: to }) =>
      /^\.{0,2}\//.test(to) ? [Bun.resolveSync(to, dirname(path))] : [],
    );
  } catch {
    // What does not parse, or is not there, is told by whoever loads it.
    return [];
  }
}

/** Changes when one of them does. */
export function digestOf(config: FileSettings): string {
  const file = logicFile(config);
  const hash = new Bun.CryptoHasher('sha256');
  for (const path of file === undefined ? [] : sourcesOf(file)) hash.update(path).update(readFileSync(path));
  return hash.digest('hex');
}
