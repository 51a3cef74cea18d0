/** Every recipe of docs/recipes.md, each in a folder of its own, on every database; the React page in a browser. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { databases, sharedPostgres } from '../app.ts';
import { browsing, visit } from '../console/browser.ts';
import { carryOut, Reader, stepsOf } from './steps.ts';

const [preparation, ...steps] = await stepsOf('docs/recipes.md');
const recipes = Map.groupBy(steps, ({ heading }) => heading);

/** Carries a recipe out; where it does not say how to start the server, that is done as the page says. */
async function follow(reader: Reader, recipe: string): Promise<void> {
  if (preparation) await carryOut(reader, preparation);
  const todo = recipes.get(recipe) ?? [];
  let isServed = todo.some(({ word }) => word === 'serve');
  for (const step of todo) {
    if (!isServed && step.language === 'sh') {
      await reader.serve('duet serve');
      isServed = true;
    }
    await carryOut(reader, step);
  }
}

test('there are recipes', () => expect(recipes.size).toBe(12));

describe.each([...databases])('on %s', (database) => {
  test.each([...recipes.keys()])('%s', async (recipe) => {
    const url = database === 'postgres' ? { DATABASE_URL: await (await sharedPostgres()).database() } : {};
    await using reader = new Reader(url);
    await follow(reader, recipe);
  });
});

test('the client that tries again gets through a bad line, and writes once', async () => {
  let requests = 0;
  const line = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const { pathname } = new URL(request.url);
      if (++requests === 1) return Response.json({}, { status: 503, headers: { 'Retry-After': '0' } });
      const { method, headers } = request;
      const answer = await fetch(reader.url + pathname, { method, headers, body: await request.text() });
      // The second is carried out, and its answer is lost.
      return requests === 2 ? new Response('Bad gateway', { status: 502 }) : answer;
    },
  });
  await using reader = new Reader({}, { 'http://localhost:4000/payments': `${line.url}payments` });
  for (const step of recipes.get('Retries that do nothing twice') ?? [])
    if (step.language !== 'sh') await carryOut(reader, step);
  await reader.serve('duet serve');
  const printed = await reader.run('node retry.mjs');
  expect([requests, JSON.parse(printed)]).toEqual([3, { status: 201, answer: { id: 1, amount: 250 } }]);
  expect(await (await fetch(`${reader.url}/payments`)).json()).toEqual([{ id: 1, amount: 250 }]);
  await line.stop(true);
});

browsing('A React page', () => {
  let page: ReturnType<typeof Bun.serve>;
  let reader: Reader;

  beforeAll(async () => {
    let script = '';
    page = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: ({ url }) =>
        url.endsWith('.js')
          ? new Response(script, { headers: { 'Content-Type': 'text/javascript' } })
          : new Response(
              '<!doctype html><div id="root"></div><script type="module" src="/main.js"></script>',
              {
                headers: { 'Content-Type': 'text/html' },
              },
            ),
    });
    reader = new Reader({}, { 'http://localhost:5173': `http://127.0.0.1:${page.port}` });
    await follow(reader, 'A React page');
    symlinkSync(join(import.meta.dir, '../../node_modules'), join(reader.folder, 'node_modules'));
    await reader.write(
      'main.tsx',
      `import { StrictMode } from 'react';
      import { createRoot } from 'react-dom/client';
      import { BothDoors } from './Books.tsx';
      const root = document.getElementById('root');
      if (root) createRoot(root).render(<StrictMode><BothDoors /></StrictMode>);`,
    );
    const { outputs } = await Bun.build({
      entrypoints: [join(reader.folder, 'main.tsx')],
      target: 'browser',
    });
    script = (await outputs[0]?.text()) ?? '';
  });
  afterAll(async () => {
    await page.stop(true);
    await reader[Symbol.asyncDispose]();
  });

  test('the component passes the type check', async () => {
    const options =
      '--noEmit --ignoreConfig --strict --skipLibCheck --jsx react-jsx --module preserve --target esnext --lib esnext,dom';
    const allowed = '--allowImportingTsExtensions --types react,react-dom';
    expect(await reader.run(`node_modules/.bin/tsc ${options} ${allowed} main.tsx`)).toBe('');
  });

  test('it shows the same pages through both doors', async () => {
    await using visitor = await visit(`http://127.0.0.1:${page.port}`);
    await visitor.page.goto(`http://127.0.0.1:${page.port}/`);
    const lists = visitor.page.locator('section ul');
    for (const door of [0, 1]) {
      const list = lists.nth(door).locator('li');
      await list.nth(2).waitFor();
      expect(await list.allTextContents()).toEqual(['Beloved', 'Dune', 'Emma']);
    }
    for (const door of [0, 1]) {
      await visitor.page.locator('section').nth(door).getByRole('button').click();
      await lists.nth(door).getByText('Ulysses').waitFor();
      expect(await lists.nth(door).locator('li').allTextContents()).toEqual(['Ulysses']);
    }
    expect(await visitor.page.getByRole('button').count()).toBe(0);
  });
});
