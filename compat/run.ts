/** `npm run compat`: other people's clients, installed as they are published, do their ordinary work on Duet; so do the examples that need packages. With `--install`, they are only installed. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';

const project = join(import.meta.dir, '..');
const examples = ['examples/login', 'examples/react'];

async function run(cwd: string, ...command: string[]): Promise<void> {
  const child = Bun.spawn(command, { cwd, stdin: 'ignore', stdout: 'inherit', stderr: 'inherit' });
  const exit = await child.exited;
  if (exit !== 0) process.exit(exit);
}

async function install(folder: string): Promise<void> {
  const { dependencies }: { dependencies: Record<string, string> } = await Bun.file(
    join(folder, 'package.json'),
  ).json();
  const isInstalled = async ([name, version]: [string, string]) => {
    const file = join(folder, 'node_modules', name, 'package.json');
    return existsSync(file) && (await Bun.file(file).json()).version === version;
  };
  const installed = await Promise.all(Object.entries(dependencies).map(isInstalled));
  // Nothing that is used here has to be built.
  if (installed.includes(false))
    await run(folder, 'npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error');
}

const folders = ['compat', ...examples];
await Promise.all(folders.map((name) => install(join(project, name))));
if (process.argv.includes('--install')) process.exit();

const bun = [process.execPath, '--no-env-file'];
await run(project, ...bun, 'compat/generate.ts');
await Promise.all(folders.map((name) => run(project, 'tsc', '-p', name)));
await run(project, ...bun, 'test', '--no-orphans', '--timeout', '60000', './compat');
