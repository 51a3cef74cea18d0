/** `logic.ts` beside the schema file: loaded with what it imports, checked before anything begins, taken up while one develops. */

import { expect, test } from 'bun:test';
import { createDuet } from '../../src/app/library.ts';
import { JSON_HEADERS } from '../app.ts';
import { COMPILER, command, Folder, Server, source } from '../process.ts';

const SCHEMA = 'type Book @resource { id: ID!  title: String!  slug: String! @readonly }';
const LOGIC = `
import { slugOf } from './lib/slugs.ts';
export default { Book: { beforeCreate: ({ input }: { input: { title: string } }) => ({ ...input, slug: slugOf(input.title) }) } };
`;
const files = {
  'schema.graphql': SCHEMA,
  'data.json': '{}',
  'logic.ts': LOGIC,
  'lib/slugs.ts': 'export const slugOf = (text: string): string => text.toLowerCase();',
};

async function slug(url: string): Promise<string> {
  const init = { method: 'POST', headers: JSON_HEADERS, body: '{"title":"A B"}' };
  return ((await (await fetch(`${url}/books`, init)).json()) as any).slug;
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    if (await holds().catch(() => false)) return;
    await Bun.sleep(50);
  }
  throw new Error(`${what} did not happen`);
}

test('a server loads it, and takes up no other while it runs', async () => {
  using folder = new Folder(files);
  await using server = await Server.start(folder);
  expect(await slug(server.url)).toBe('a b');
  await Bun.write(folder.file('lib/slugs.ts'), files['lib/slugs.ts'].replace('Lower', 'Upper'));
  server.signal('SIGHUP');
  const { faults } = await server.logged('refused');
  expect(faults).toEqual(['logic.ts, or what it imports, has changed: restart the server to take it up']);
  expect(await slug(server.url)).toBe('a b');
});

test('DUET_LOGIC names another', async () => {
  using folder = new Folder({
    ...files,
    'mine/other.ts': LOGIC.replace('./lib', '../lib').replace('slugOf(', '"x" + slugOf('),
  });
  await using server = await Server.start(folder, { DUET_LOGIC: 'mine/other.ts' });
  expect(await slug(server.url)).toBe('xa b');
  const none = await command(folder, ['check'], { DUET_LOGIC: 'none' });
  expect(none.stderr).toContain('"Book.slug" is required, but @readonly keeps clients from giving it.');
  const { stderr, exit } = await command(folder, ['serve'], { DUET_LOGIC: 'nowhere.ts' });
  expect([stderr, exit]).toEqual(['duet: cannot read nowhere.ts. DUET_LOGIC names another file\n', 2]);
});

test('a program gives the file, or its functions', async () => {
  using folder = new Folder(files);
  const logic = { Book: { beforeCreate: ({ input }: any) => ({ ...input, slug: 'given' }) } };
  const [schema, database] = [folder.file('schema.graphql'), 'sqlite::memory:'];
  const slugs = [];
  for (const options of [{ schema }, { schema: SCHEMA, logic }, { schema, logic: folder.file('logic.ts') }]) {
    const duet = await createDuet({ database, log: () => {}, ...options });
    const body = '{"title":"A B"}';
    const answer = await duet.fetch(
      new Request('http://host.test/books', { method: 'POST', headers: JSON_HEADERS, body }),
    );
    slugs.push(((await answer.json()) as any).slug);
    await duet.close();
  }
  expect(slugs).toEqual(['a b', 'given', 'a b']);
});

test('all that is wrong with both files is told at once, by `check` and at the start', async () => {
  using folder = new Folder({
    ...files,
    'logic.ts': `export default {
      Bok: { beforeCreate() {} },
      Book: { async beforeCreate() {}, beforeUpdat() {}, beforeDelete: 7, *beforeUpdate() {} },
    };`,
  });
  const faults = [
    'logic.ts: "Bok" is no type of the schema file. Did you mean "Book"?',
    'logic.ts: "Book.beforeCreate" is async, but runs inside of the transaction, where nothing can be waited for. Write: *beforeCreate({ tx }) { … }, and yield* tx.… instead of await',
    'logic.ts: "Book.beforeUpdat" is not known. Did you mean "beforeUpdate" or "beforeCreate"?',
    'logic.ts: "Book.beforeDelete" must be a function, not a number. Write: *beforeDelete({ tx }) { … }',
  ];
  // No database is made, or asked.
  const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' };
  for (const [name, given] of [
    ['check', env],
    ['serve', {}],
  ] as const) {
    const { stderr, exit } = await command(folder, [name], given);
    expect([stderr.trimEnd().split('\n'), exit]).toEqual([faults.map((fault) => `duet: ${fault}`), 2]);
  }
  await Bun.write(folder.file('schema.graphql'), `${SCHEMA} type Note @resource { id: ID!  b: Flot }`);
  const { stderr } = await command(folder, ['check'], env);
  expect(stderr.trimEnd().split('\n')).toEqual([
    'duet: schema.graphql:1:108 Unknown type "Flot" on Note.b. Did you mean "Float"?',
    ...faults.slice(1).map((fault) => `duet: ${fault}`),
  ]);
});

test.each([
  ['export default 7;', 'logic.ts: It exports nothing to go by. Write: export default { Book: { … } }'],
  [
    'export default { Book: 7 };',
    'logic.ts: "Book" must be an object of functions. Write: Book: { *beforeCreate({ input }) { … } }',
  ],
  ['export default {', 'logic.ts cannot be loaded: 1:16 '],
  ['import "./nowhere.ts"; export default {};', 'logic.ts cannot be loaded: '],
  ['throw new Error("my own fault");', 'logic.ts cannot be loaded: my own fault'],
])('a file that is none: %s', async (text, fault) => {
  using folder = new Folder({ 'schema.graphql': 'type Book @resource { id: ID! }', 'logic.ts': text });
  const { stderr, exit } = await command(folder, ['check']);
  expect(stderr).toStartWith(`duet: ${fault}`);
  expect([stderr.trimEnd().split('\n').length, exit]).toEqual([1, 2]);
});

test('`check` says when nothing is wrong, and a required field that nothing fills is', async () => {
  using folder = new Folder(files);
  const { stdout, exit } = await command(folder, ['check']);
  expect([stdout, exit]).toEqual(['schema.graphql: 1 resource; functions of Book. Nothing is wrong.\n', 0]);
  await Bun.write(folder.file('logic.ts'), 'export default { Book: { beforeUpdate() {} } };');
  const { stderr } = await command(folder, ['check']);
  expect(stderr).toContain('"Book.slug" is required, but @readonly keeps clients from giving it.');
  expect(stderr).toContain('or give Book a beforeCreate in logic.ts.');
});

test('`duet dev` keeps the types of what the schema file says now, where they are imported', async () => {
  const logic = LOGIC.replace(
    "from './lib/slugs.ts'",
    "from './lib/slugs.ts';\nimport { decimal } from './duet.gen.ts'",
  ).replace('slugOf(input.title)', 'slugOf(input.title) + decimal.add("0.1", "0.2")');
  using folder = new Folder({ ...files, 'logic.ts': logic });
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  const { port } = probe;
  probe.stop();
  const child = Bun.spawn([...source, 'dev'], {
    cwd: folder.path,
    env: { PORT: String(port), ...COMPILER },
    stdout: 'ignore',
    stderr: 'pipe',
  });
  let told = '';
  const reading = (async () => {
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) told += chunk;
  })();
  const written = () => Bun.file(folder.file('duet.gen.ts')).text();
  try {
    await until('the first start', async () => (await slug(`http://127.0.0.1:${port}`)) === 'a b0.3');
    expect(await written()).not.toContain('pages');
    await Bun.write(folder.file('schema.graphql'), SCHEMA.replace('slug:', 'pages: Int  slug:'));
    await until('the new types', async () => (await written()).includes('pages: number | null;'));
    await until('the new schema', async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/books`);
      return 'pages' in ((await answer.json()) as any)[0];
    });
    // What the records that there are cannot become is told, and what was served still is.
    await Bun.write(folder.file('schema.graphql'), SCHEMA.replace('slug:', 'isbn: String!  slug:'));
    await until('the refusal', async () => told.includes('isbn'));
    expect((await fetch(`http://127.0.0.1:${port}/books`)).status).toBe(200);
  } finally {
    child.kill('SIGTERM');
    await child.exited;
    await reading;
  }
}, 120_000);

test('`duet dev` starts again when the file or what it imports changes, and goes on while it has faults', async () => {
  using folder = new Folder(files);
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  const { port } = probe;
  probe.stop();
  const child = Bun.spawn([...source, 'dev'], {
    cwd: folder.path,
    env: { PORT: String(port), ...COMPILER },
    stdout: 'ignore',
    stderr: 'pipe',
  });
  let told = '';
  const reading = (async () => {
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) told += chunk;
  })();
  const url = `http://127.0.0.1:${port}`;
  try {
    await until('the first start', async () => (await slug(url)) === 'a b');
    await Bun.write(folder.file('lib/slugs.ts'), files['lib/slugs.ts'].replace('Lower', 'Upper'));
    await until('what it imports', async () => (await slug(url)) === 'A B');
    await Bun.write(folder.file('logic.ts'), LOGIC.replace('beforeCreate', 'beforeCrate'));
    await until('the fault', async () =>
      told.includes('"Book.beforeCrate" is not known. Did you mean "beforeCreate"'),
    );
    expect(await slug(url)).toBe('A B');
    await Bun.write(folder.file('logic.ts'), LOGIC.replace('slugOf(', '"y" + slugOf('));
    await until('the file itself', async () => (await slug(url)) === 'yA B');
  } finally {
    child.kill('SIGTERM');
    await child.exited;
    await reading;
  }
}, 120_000);
