/** `npm run compat`: other people's clients, installed as they are published, do their ordinary work on Duet. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import manifest from './package.json' with { type: 'json' };

const folder = import.meta.dir;
const project = join(folder, '..');

async function run(cwd: string, ...command: string[]): Promise<void> {
  const child = Bun.spawn(command, { cwd, stdin: 'ignore', stdout: 'inherit', stderr: 'inherit' });
  const exit = await child.exited;
  if (exit !== 0) process.exit(exit);
}

async function isInstalled([name, version]: [string, string]): Promise<boolean> {
  const file = join(folder, 'node_modules', name, 'package.json');
  return existsSync(file) && (await Bun.file(file).json()).version === version;
}

const installed = await Promise.all(Object.entries(manifest.dependencies).map(isInstalled));
// Nothing that is used here has to be built.
if (installed.includes(false))
  await run(folder, 'npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error');

const bun = [process.execPath, '--no-env-file'];
await run(project, ...bun, 'compat/generate.ts');
await run(project, 'tsc', '-p', 'compat');
await run(project, ...bun, 'test', '--no-orphans', '--timeout', '60000', './compat');
