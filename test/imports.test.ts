/** The import law: a folder imports only those before it, and the doors never import each other. */

import { expect, test } from 'bun:test';
import { dirname, join, relative } from 'node:path';

const source = join(import.meta.dir, '../src');
/** From the ground up; names in one list stand beside each other and do not see each other. */
const floors = [
  ['base'],
  ['schema'],
  ['query'],
  ['typescript'],
  ['client'],
  ['access'],
  ['storage'],
  ['engine'],
  ['http'],
  ['rest', 'graphql', 'mcp', 'admin', 'console'],
  ['config'],
  ['app'],
  ['cli'],
];

const floorOf = (part: string) => floors.findIndex((names) => names.includes(part));
const partOf = (file: string) => file.split('/')[0] ?? '';

const files = [...new Bun.Glob('**/*.{ts,tsx}').scanSync(source)]
  .filter((file) => !file.endsWith('.d.ts'))
  .sort();
const imports = await Promise.all(
  files.map(async (file) => {
    const text = await Bun.file(join(source, file)).text();
    const found = [...text.matchAll(/^(?:import|export)\b[^;]*?from '([^']+)'|import\('([^']+)'\)/gms)];
    return { file, text, targets: found.map((match) => match[1] ?? match[2] ?? '') };
  }),
);

/** What runs in the browser is bundled, and shares nothing with the server but the public API. */
function isBrowser(file: string): boolean {
  return file.startsWith('console/browser/');
}

test('the server and the browser import nothing of each other', () => {
  const crossing = imports.flatMap(({ file, targets }) =>
    targets
      .filter(isLocal)
      .map((target) => relative(source, join(source, dirname(file), target)))
      .filter((to) => isBrowser(to) !== isBrowser(file))
      .map((to) => `${file} imports ${to}`),
  );
  expect(crossing).toEqual([]);
});

function isLocal(target: string): boolean {
  return target.startsWith('.') && /\.tsx?$/.test(target);
}

test('every part has its floor', () => {
  expect(files.map(partOf).filter((part) => floorOf(part) === -1)).toEqual([]);
});

test('imports go down only', () => {
  const breaches = imports.flatMap(({ file, targets }) =>
    targets.filter(isLocal).flatMap((target) => {
      const to = relative(source, join(source, dirname(file), target));
      const [here, there] = [partOf(file), partOf(to)];
      return here === there || floorOf(there) < floorOf(here) ? [] : [`${file} imports ${to}`];
    }),
  );
  expect(breaches).toEqual([]);
});

test('no file imports itself around a corner, not even its types', () => {
  const graph = new Map(
    imports.map(({ file, targets }) => [
      file,
      targets.filter(isLocal).map((target) => relative(source, join(source, dirname(file), target))),
    ]),
  );
  const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
    (graph.get(from) ?? []).some(
      (next) => next === to || (!seen.has(next) && reaches(next, to, seen.add(next))),
    );
  expect(files.filter((file) => reaches(file, file))).toEqual([]);
});

test('there are no barrels, and packages are those that the architecture names', () => {
  expect(files.filter((file) => /(^|\/)index\.ts$/.test(file))).toEqual([]);
  const packagesOf = (isHere: (file: string) => boolean) =>
    new Set(
      imports
        .filter(({ file }) => isHere(file))
        .flatMap(({ targets }) => targets.filter((target) => !target.startsWith('.'))),
    );
  for (const name of packagesOf((file) => !isBrowser(file)))
    expect(name).toMatch(/^(graphql|jose|bun|bun:sqlite|bun:ffi|node:[a-z_]+|#console)$/);
  for (const name of packagesOf(isBrowser))
    expect(name).toMatch(
      /^(preact(\/hooks)?|@preact\/signals|(@)?graphiql(\/[a-z-]+)?|react|react-dom\/client|@scalar\/api-reference(\/style\.css)?)$/,
    );
});

test('only the command reads arguments and environment', () => {
  expect(
    // The build tells packages that they are not being worked on; it reads nothing.
    imports
      .filter(({ text }) => /process\.(env|argv)|Bun\.env/.test(text.replace("'process.env.NODE_ENV':", '')))
      .map(({ file }) => file),
  ).toEqual(['cli/cli.ts', 'cli/statements.ts']);
});

test('every file opens with what it is for', async () => {
  for (const { file, text } of imports)
    expect([file, /^(#!.*\n)?\/\*\* .+/.test(text)]).toEqual([file, true]);
});
