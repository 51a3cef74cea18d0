/** `duet dev`: what is written into the schema file is served, and what is wrong with it is told, while work goes on. */

import { expect, test } from 'bun:test';
import { databases, sharedPostgres } from '../app.ts';
import { browsing, visit } from '../console/browser.ts';
import { buildConsole } from '../console/build.ts';
import { COMPILER, Folder, Server, source } from '../process.ts';

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    if (await holds().catch(() => false)) return;
    await Bun.sleep(50);
  }
  throw new Error(`${what} did not happen`);
}

const BOOK = 'type Book @resource { id: ID!  title: String! }';
const NOTE = 'type Note @resource { id: ID! }';
const headers = { 'Content-Type': 'application/json' };

/** Counts in `said` what a page says in passing. */
const HEARING = `
  window.said = 0;
  new MutationObserver(() => {
    if (document.body.textContent.includes('The service is back.')) window.said++;
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
`;

/** The command, with what it says on standard error. */
async function developing(folder: Folder, env: Record<string, string> = {}) {
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  const { port } = probe;
  probe.stop();
  return developingAt(port, folder, env);
}

async function developingAt(port: number, folder: Folder, env: Record<string, string> = {}) {
  const child = Bun.spawn([...source, 'dev'], {
    cwd: folder.path,
    env: { PORT: String(port), ...COMPILER, ...env },
    stdout: 'ignore',
    stderr: 'pipe',
  });
  let told = '';
  const reading = (async () => {
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) told += chunk;
  })();
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    told: () => told,
    status: async (path: string, init?: RequestInit) => (await fetch(url + path, init)).status,
    write: (text: string) => Bun.write(folder.file('schema.graphql'), text),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await child.exited;
      await reading;
    },
  };
}

test.each(['sqlite:duet.db', 'sqlite::memory:'])(
  'the last good schema is served while the file has faults, on %s',
  async (database) => {
    using folder = new Folder({ 'schema.graphql': BOOK, 'data.json': '{}' });
    await using dev = await developing(folder, { DATABASE_URL: database });
    await until('the first start', async () => (await dev.status('/books')) === 200);
    const create = { method: 'POST', headers, body: '{"title":"x"}' };
    expect(await dev.status('/books', create)).toBe(201);
    await dev.write(`${BOOK} type Note @resoruce { id: ID! }`);
    await until('the fault', async () => dev.told().includes('Unknown directive "@resoruce"'));
    // Nothing was started again, and nothing was lost.
    expect(await dev.status('/books/1')).toBe(200);
    const state = await (await fetch(`${dev.url}/_console/file.json`)).json();
    expect(state).toMatchObject({
      loads: 1,
      faults: expect.arrayContaining([expect.stringContaining('resoruce')]),
    });
    await dev.write(`${BOOK} ${NOTE}`);
    await until('the new schema', async () => (await dev.status('/notes')) === 200);
    await until('the end of the faults', async () => {
      const now = (await (await fetch(`${dev.url}/_console/file.json`)).json()) as any;
      return now.loads === 2 && now.faults.length === 0;
    });
    expect(dev.told()).toStartWith('duet: schema.graphql:1:');
  },
  60_000,
);

test('a file that has faults from the beginning is served when it has none', async () => {
  using folder = new Folder({ 'schema.graphql': 'type Book', 'data.json': '{}' });
  await using dev = await developing(folder);
  await until('the fault', async () => dev.told().includes('duet: schema.graphql:1:'));
  await until('the console', async () => (await dev.status('/')) === 200);
  const text = await (await fetch(`${dev.url}/_console/file.json`)).json();
  expect(text).toMatchObject({ loads: 0, path: folder.file('schema.graphql'), text: 'type Book' });
  const paths = ['/healthz', '/readyz', '/books', '/graphql', '/_duet/keys', '/_console/nothing.js'];
  expect(await Promise.all(paths.map((path) => dev.status(path)))).toEqual([200, 503, 503, 503, 503, 404]);
  expect(await (await fetch(`${dev.url}/books`)).json()).toMatchObject({
    code: 'UNAVAILABLE',
    requestId: expect.any(String),
  });
  await dev.write(BOOK);
  await until('the first start', async () => (await dev.status('/books')) === 200);
}, 60_000);

test('nobody is told of the file of a server', async () => {
  using folder = new Folder();
  await using server = await Server.start(folder);
  expect(await (await fetch(`${server.url}/_console/file.json`)).json()).toEqual({});
});

browsing('on the console', () => {
  test.each([...databases])(
    'an empty folder: the file, where it is, what to do next, and what is wrong with it, until it is served (%s)',
    async (database) => {
      await buildConsole();
      using folder = Folder.empty();
      const url = database === 'sqlite' ? undefined : await (await sharedPostgres()).database();
      await using dev = await developing(folder, url === undefined ? {} : { DATABASE_URL: url });
      await until('the console', async () => (await dev.status('/')) === 200);
      await using visited = await visit(dev.url);
      const { page } = visited;
      await page.goto(dev.url);
      await page.getByRole('heading', { name: 'Nothing is served yet' }).waitFor();
      await page.evaluate(HEARING);
      // It says all that there is to say, however often the service is asked meanwhile.
      await Bun.sleep(1500);
      expect(await page.getByText('Trying again').count()).toBe(0);
      const part = (name: string) => page.getByRole('region', { name });
      await part('The schema file').getByText(folder.file('schema.graphql')).waitFor();
      await part('The schema file').getByText('There is no such file yet.').waitFor();
      expect(await part('Next commands').locator('dt').allTextContents()).toEqual([
        'npx duet init',
        'npx duet check',
        'npx duet serve',
      ]);
      // It has the whole width: the list of places would be empty.
      expect((await page.getByRole('main').boundingBox())?.x).toBe(0);
      await dev.write('\n');
      await part('The schema file').getByText('It is empty.').waitFor();
      expect(await part('The schema file').getByText('error').count()).toBe(0);
      // `init` writes it, as if it were not there.
      expect(await part('Next commands').locator('dt').first().textContent()).toBe('npx duet init');
      await part('Next commands').getByText('with --example shop').waitFor();
      await dev.write('# Nothing but a line of words.\n');
      await part('The schema file').getByText('Line 1: The file declares no resource.').waitFor();
      await dev.write('type Book @resource {\n  id: ID!\n  pages: Itn\n}\n');
      await part('The schema file').getByText('Line 3: Unknown type "Itn" on Book.pages.').waitFor();
      await part('The schema file').getByText('pages: Itn', { exact: true }).waitFor();
      await page.getByRole('heading', { name: 'The service cannot start yet' }).waitFor();
      // A start may take so long that nobody answers meanwhile; that something is served is told first.
      for (const path of ['**/healthz', '**/_console/file.json'])
        await page.route(path, (route) => route.abort());
      const away = page.getByRole('status').filter({ hasText: 'The service cannot be reached.' });
      await away.waitFor();
      await dev.write('type Book @resource {\n  id: ID!\n  pages: Int\n}\n');
      await until('the first start', async () => (await dev.status('/books')) === 200);
      await page.unroute('**/_console/file.json');
      await page.locator('nav a[href="#/data/Book"]').waitFor();
      // What is back is told before it is read anew.
      const read = page.waitForRequest('**/openapi.json');
      await page.unroute('**/healthz');
      await read;
      await away.waitFor({ state: 'hidden' });
      await page.getByRole('heading', { name: 'Resources' }).waitFor();
      // Who is asking may see all pages of operators, without a reload.
      await page.getByRole('link', { name: 'API keys' }).waitFor();
      // Nothing was there before that could be back.
      expect(await page.evaluate('window.said')).toBe(0);
      expect(visited.complaints).toEqual([]);
    },
    120_000,
  );

  test('one that comes back with a file that cannot be served is not said to be back until it can, and then has what was typed', async () => {
    await buildConsole();
    using folder = new Folder({ 'schema.graphql': BOOK, 'data.json': '{}' });
    const first = await developing(folder);
    await until('the first start', async () => (await first.status('/books')) === 200);
    await using visited = await visit(first.url);
    const { page } = visited;
    await visited.go('#/data/Book/new');
    const title = page.getByRole('textbox', { name: 'title' });
    await title.fill('Typed');
    await page.evaluate(HEARING);
    await first[Symbol.asyncDispose]();
    const away = page.getByRole('status').filter({ hasText: 'The service cannot be reached.' });
    await away.waitFor();
    await first.write(`${BOOK} type Note @resource { id: ID!  x: Flot }`);
    const port = Number(new URL(first.url).port);
    await using second = await developingAt(port, folder);
    await page.getByRole('heading', { name: 'The service cannot start yet' }).waitFor();
    await away.waitFor({ state: 'hidden' });
    expect(await title.isVisible()).toBe(false);
    expect(await page.evaluate('window.said')).toBe(0);
    await second.write(BOOK);
    await page.getByText('The schema file').waitFor({ state: 'hidden' });
    expect(await title.inputValue()).toBe('Typed');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Typed', exact: true }).waitFor();
    expect(visited.complaints).toEqual([]);
  }, 120_000);

  test('what is wrong with another file is told under its name', async () => {
    await buildConsole();
    using folder = new Folder({ 'schema.graphql': BOOK, 'data.json': '{ "books": [{}] }' });
    await using dev = await developing(folder);
    await until('the console', async () => (await dev.status('/')) === 200);
    await using visited = await visit(dev.url);
    const { page } = visited;
    await page.goto(dev.url);
    const part = (name: string) => page.getByRole('region', { name });
    await part('data.json').getByText('1 error in the last version that was saved:').waitFor();
    await part('data.json')
      .getByText(/^data.json: .*title/)
      .waitFor();
    await part('The schema file').getByText('No errors.').waitFor();
    expect(await part('The schema file').getByText('data.json').count()).toBe(0);
    // Where something is served already, the notice names the file.
    await Bun.write(folder.file('data.json'), '{}');
    await page.locator('nav a[href="#/data/Book"]').waitFor();
    await dev.write(`${BOOK} type Note @resource { id: ID!  x: Flot }`);
    await page.getByRole('alert').getByText('schema.graphql has errors').waitFor();
    expect(visited.complaints).toEqual([]);
  }, 120_000);

  test('the faults are shown, and what is new when there are none', async () => {
    await buildConsole();
    using folder = new Folder({ 'schema.graphql': BOOK, 'data.json': '{}' });
    await using dev = await developing(folder);
    await until('the first start', async () => (await dev.status('/books')) === 200);
    await using visited = await visit(dev.url);
    await visited.go('#/data/Book/new');
    const { page } = visited;
    const notice = page.getByRole('alert');
    await dev.write(`${BOOK} type Note @resource { id: ID!  x: Flot }`);
    await notice.getByText('Unknown type "Flot" on Note.x').waitFor();
    expect(await page.locator('nav a[href="#/data/Book"]').count()).toBe(1);
    await dev.write(`${BOOK.replace('}', 'isbn: String }')} ${NOTE}`);
    await page.locator('nav a[href="#/data/Note"]').waitFor();
    await notice.waitFor({ state: 'detached' });
    // In what the panel asks, too.
    await page.getByRole('article', { name: 'GraphQL' }).getByText('isbn').waitFor();
    expect(visited.complaints).toEqual([]);
  }, 120_000);
});
