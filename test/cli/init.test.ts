/** `duet init` writes a deployment that serves, and never over what is there. */

import { expect, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { command, Folder, Server } from '../process.ts';

const FILES = ['schema.graphql', 'data.json', '.gitignore', 'logic.ts', 'duet.gen.ts'];

test.each([[], ['--example', 'shop'], ['--example=tracker'], ['--example', 'blog']].map((args) => [args]))(
  'init %p writes files that serve, and the commands that it prints work',
  async (args) => {
    using folder = Folder.empty();
    const { stdout, stderr, exit } = await command(folder, ['init', ...args]);
    expect([stderr, exit]).toEqual(['', 0]);
    const example = args.join('=').replace(/^--example=/, '') || 'start';
    const code = example === 'shop' ? ['logic.ts', 'duet.gen.ts'] : [];
    const written = ['schema.graphql', 'data.json', '.gitignore', ...code];
    expect(stdout).toStartWith(`wrote ${written.join(', ')}. Next:`);
    expect(FILES.filter((file) => existsSync(folder.file(file)))).toEqual(written);
    const [serving, ...requests] = stdout
      .split('\n')
      .flatMap((line) => line.match(/^ {2}(\S.*)$/)?.[1] ?? []);
    expect([serving, requests.length]).toEqual(['npx duet dev', 2]);
    for (const file of ['schema.graphql', 'data.json', ...code])
      expect(readFileSync(folder.file(file), 'utf8')).toBe(
        readFileSync(new URL(`../../examples/${example}/${file}`, import.meta.url), 'utf8'),
      );
    expect(readFileSync(folder.file('.gitignore'), 'utf8')).toContain('*.db\n');

    await using server = await Server.start(folder);
    for (const request of requests) {
      const line = request.replace('localhost:4000', server.url);
      const { stdout } = Bun.spawnSync(['sh', '-c', `${line} --silent --fail`]);
      const answer = JSON.parse(stdout.toString());
      const [rows] = Array.isArray(answer) ? [answer] : Object.values<any>(answer.data);
      expect([request, rows.length > 1]).toEqual([request, true]);
    }
  },
);

test.each(FILES)('nothing is written where there is %s', async (file) => {
  using folder = Folder.empty();
  writeFileSync(folder.file(file), 'mine');
  const { stdout, stderr, exit } = await command(folder, ['init', '--example', 'shop']);
  expect([stdout, exit]).toEqual(['', 2]);
  expect(stderr).toStartWith(`duet: nothing was written, because there is ${file} already.`);
  expect(readFileSync(folder.file(file), 'utf8')).toBe('mine');
  expect(FILES.filter((each) => existsSync(folder.file(each)))).toEqual([file]);
});

test('a file that is empty is written', async () => {
  using folder = Folder.empty();
  writeFileSync(folder.file('schema.graphql'), '\n');
  const { exit } = await command(folder, ['init', '--example', 'shop']);
  expect(exit).toBe(0);
  expect(readFileSync(folder.file('schema.graphql'), 'utf8')).toContain('@resource');
  expect((await command(folder, ['check'])).exit).toBe(0);
});

test.each([['--example'], ['--example='], ['--example', 'toString']].map((args) => [args]))(
  '%p names no example',
  async (args) => {
    using folder = Folder.empty();
    const { stderr, exit } = await command(folder, ['init', ...args]);
    expect([stderr, exit]).toEqual([
      `duet: --example must be one of shop, tracker, blog, not "${args[1] ?? ''}"\n`,
      2,
    ]);
    expect(existsSync(folder.file('schema.graphql'))).toBe(false);
  },
);
