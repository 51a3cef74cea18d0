/** The documentation holds what the code holds, in both directions. */

import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { catalogue, faultCodes } from '../../src/base/errors.ts';
import { flagOf } from '../../src/config/config.ts';
import type { Setting } from '../../src/config/setting-kinds.ts';
import { settings } from '../../src/config/settings.ts';
import { directiveNames } from '../../src/schema/directives.ts';

const root = join(import.meta.dir, '../..');
const read = (file: string) => Bun.file(join(root, file)).text();

/** The cells of every table row of a section. */
function rows(text: string, from: string): string[][] {
  const section = text.slice(text.indexOf(from) + from.length).split('\n## ')[0] ?? '';
  const lines = section.split('\n').filter((line) => line.startsWith('| `'));
  return lines.map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe('docs/errors.md', async () => {
  const text = await read('docs/errors.md');

  test('has every code with its status and meaning, and no other', () => {
    const wanted = Object.entries(catalogue).map(([code, { status, meaning }]) => [
      `\`${code}\``,
      String(status),
      meaning,
    ]);
    expect(rows(text, '\n## Codes')).toEqual(wanted);
  });

  test('has every fault with its meaning, and no other', () => {
    const wanted = Object.entries(faultCodes).map(([code, meaning]) => [`\`${code}\``, meaning]);
    expect(rows(text, '\n## Faults')).toEqual(wanted);
  });
});

test('every code of the catalogue is used somewhere in the source, and every fault too', async () => {
  const files = [...new Bun.Glob('src/**/*.ts').scanSync(root)].filter(
    (file) => file !== 'src/base/errors.ts',
  );
  const source =
    (await Promise.all(files.map(read))).join('\n') +
    (await read('src/base/errors.ts')).split('export type Code')[1];
  const unused = [...Object.keys(catalogue), ...Object.keys(faultCodes)].filter(
    (code) => !source.includes(`'${code}'`),
  );
  expect(unused).toEqual([]);
});

test('docs/settings.md has every setting, and no other', async () => {
  const wanted = Object.values(settings).map((setting) => [
    `\`${setting.env}\``,
    setting.flag ? `\`${flagOf(setting)}\`` : '–',
    `\`${setting.default}\``,
    setting.doc,
  ]);
  expect(rows(await read('docs/settings.md'), '# Settings')).toEqual(wanted);
});

test('docs/settings.md has every setting that a reload cannot change, and no other', async () => {
  const [, written = ''] =
    /All settings may change so, but\s+for ([^:]+):/.exec(await read('docs/settings.md')) ?? [];
  const names = [...written.matchAll(/`(\w+)`/g)].map(([, name]) => name);
  const fixed = Object.values<Setting<unknown>>(settings).filter((setting) => setting.fixed);
  expect(names).toEqual(fixed.map(({ env }) => env));
});

test('docs/schema.md has every directive, and no other', async () => {
  const cells = rows(await read('docs/schema.md'), '\n## Directives').map(([first = '']) => first);
  const named = new Set(cells.flatMap((cell) => [...cell.matchAll(/@(\w+)/g)].map((match) => match[1])));
  expect([...named].sort()).toEqual(directiveNames.toSorted());
});

test('CHANGELOG.md has the version of the package, and room for the next', async () => {
  const { version } = await Bun.file(join(root, 'package.json')).json();
  const sections = [...(await read('CHANGELOG.md')).matchAll(/^## (.+)$/gm)].map(([, title]) => title);
  expect(sections.slice(0, 2)).toEqual(['Unreleased', version]);
});

test('docs/install.md has every example, and no other', async () => {
  const written = rows(await read('docs/install.md'), '\n## The first files').map(([first]) => first);
  const folders = [...new Bun.Glob('examples/*/schema.graphql').scanSync(root)].map(
    (file) => file.split('/')[1],
  );
  const examples = folders
    .filter((name) => name !== 'start')
    .map((name) => `\`duet init --example ${name}\``);
  expect(written.toSorted()).toEqual(['`duet init`', ...examples].toSorted());
});

test('the pages name the package as it is', async () => {
  const { name, version } = await Bun.file(join(root, 'package.json')).json();
  for (const page of ['README.md', 'docs/install.md'])
    for (const [file] of (await read(page)).matchAll(/duet-server-[\w.]+\.tgz/g))
      expect([page, file]).toEqual([page, `${name}-${version}.tgz`]);
});

const documents = ['*.md', 'docs/**/*.md'].flatMap((glob) => [...new Bun.Glob(glob).scanSync(root)].sort());

/** The targets of the links of a page that stay inside of the project. */
async function linksOf(document: string): Promise<string[]> {
  const text = (await read(document)).replaceAll(/^```[\s\S]*?^```$/gm, '');
  return [...text.matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, target = '']) => target);
}

/** The anchors of a page, as GitHub makes them from its headings. */
async function anchorsOf(document: string): Promise<string[]> {
  const headings = [...(await read(document)).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test.each(documents)('the links of %s lead somewhere', async (document) => {
  const dead = [];
  for (const link of await linksOf(document)) {
    const [target = '', anchor] = link.split('#');
    const file = target === '' ? document : join(document, '..', target);
    const isThere = await Bun.file(join(root, file)).exists();
    if (!isThere || (anchor !== undefined && !(await anchorsOf(file)).includes(anchor))) dead.push(link);
  }
  expect(dead).toEqual([]);
});

test('docs/README.md links every page of docs/', async () => {
  const linked = (await linksOf('docs/README.md')).map((target) => join('docs', target));
  const pages = documents.filter((each) => each.startsWith('docs/') && each !== 'docs/README.md');
  expect(pages.length).toBeGreaterThan(10);
  expect(pages.filter((page) => !linked.includes(page))).toEqual([]);
});

/** Two lines of a table that is as wide as a page. */
const LONGEST_CELL = 140;

test.each(documents)('no cell of a table in %s takes more than two lines', async (document) => {
  const text = (await read(document)).replaceAll(/^```[\s\S]*?^```$/gm, '');
  const lines = text.split('\n').filter((line) => line.startsWith('|') && !/^[|\s:-]+$/.test(line));
  // What is read of a link is its text.
  const cells = lines
    .flatMap((line) => line.split(/(?<!\\)\|/))
    .map((cell) => cell.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').trim());
  expect(cells.filter((cell) => cell.length > LONGEST_CELL)).toEqual([]);
});

test('the data provider for react-admin has no more than 100 lines, so that it can be read before it is copied', async () => {
  const { length } = (await read('examples/react-admin/dataProvider.ts')).trimEnd().split('\n');
  expect(length).toBeLessThanOrEqual(100);
});
