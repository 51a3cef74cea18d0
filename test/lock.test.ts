/** What is locked is what package.json asks for, so that an install changes nothing; `.ci/run` holds it to npm itself. */

import { expect, test } from 'bun:test';

/** What npm repeats of package.json in the lock. */
const REPEATED = ['name', 'version', 'license', 'bin', 'engines', 'dependencies', 'devDependencies'];

test.each(['..', '../bench', '../compat', '../examples/login', '../examples/react'])('%s', async (folder) => {
  const read = (name: string) => Bun.file(new URL(`${folder}/${name}`, import.meta.url)).json();
  const [manifest, lock] = await Promise.all([read('package.json'), read('package-lock.json')]);
  const repeated = (of: Record<string, unknown>) =>
    Object.fromEntries(REPEATED.flatMap((name) => (name in of ? [[name, of[name]]] : [])));
  expect(repeated(lock.packages[''])).toEqual(repeated(manifest));
  for (const part of manifest.workspaces ?? [])
    expect(repeated(lock.packages[part])).toEqual(repeated(await read(`${part}/package.json`)));
  const wanted: Record<string, string> = { ...manifest.dependencies, ...manifest.devDependencies };
  const locked = Object.keys(wanted).map((name) => [name, lock.packages[`node_modules/${name}`]?.version]);
  expect(Object.fromEntries(locked)).toEqual(wanted);
});
