/** What browsers do with streams by themselves: EventSource and fetch, on changes and on answers that are kept up to date. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { databases, sharedPostgres } from '../app.ts';
import { browsing, shows, visit } from '../console/browser.ts';
import { Folder, Server } from '../process.ts';

const schema = 'type Book @resource @journal { id: ID! title: String! }';

browsing.each([...databases])('on %s', (database) => {
  let folder: Folder;
  let settings: Record<string, string>;
  let server: Server & { readonly url: string };
  beforeAll(async () => {
    folder = new Folder({ 'schema.graphql': schema, 'data.json': '{}' });
    const url = database === 'sqlite' ? 'sqlite:duet.db' : await (await sharedPostgres()).database();
    server = await Server.start(folder, { DATABASE_URL: url });
    // The same address again: browsers come back to where they were.
    settings = { DATABASE_URL: url, PORT: new URL(server.url).port };
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const send = async (method: string, path: string, body: object) => {
    const headers = { 'Content-Type': 'application/json' };
    const answer = await fetch(server.url + path, { method, headers, body: JSON.stringify(body) });
    expect(answer.ok).toBe(true);
  };

  test('fetch reads subscriptions and live queries, and ends them', async () => {
    await using here = await visit(server.url);
    await here.page.goto(`${server.url}/healthz`);
    await here.page.evaluate(() => {
      const told: string[] = [];
      const stop = new AbortController();
      Object.assign(globalThis, { told, stop });
      for (const query of ['subscription { bookChanges { kind } }', 'query @live { books { title } }'])
        fetch('/graphql', {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream' },
          body: JSON.stringify({ query }),
          signal: stop.signal,
        })
          .then(async ({ body }) => {
            told.push('open');
            const reader = (body as any).pipeThrough(new TextDecoderStream()).getReader();
            for (let text = ''; ; ) {
              text += (await reader.read()).value;
              const events = text.split('\n\n');
              text = events.pop() ?? '';
              for (const event of events)
                if (event.includes('data: ')) told.push(event.split('data: ')[1] ?? '');
            }
          })
          .catch(({ name }) => told.push(name));
    });
    const told = () => here.page.evaluate(() => (globalThis as any).told.toSorted());
    const empty = '{"data":{"books":[]}}';
    await shows(told, ['open', 'open', empty].toSorted());
    await send('POST', '/books', { title: 'Dune' });
    const after = ['{"data":{"bookChanges":{"kind":"CREATED"}}}', '{"data":{"books":[{"title":"Dune"}]}}'];
    await shows(told, ['open', 'open', empty, ...after].toSorted());
    await here.page.evaluate(() => (globalThis as any).stop.abort());
    await shows(told, ['open', 'open', empty, ...after, 'AbortError', 'AbortError'].toSorted());
    const open = async () =>
      /^duet_streams (\d+)$/m.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1];
    await shows(open, '0');
    expect(here.complaints).toEqual([]);
  });

  test('EventSource reads both, and comes back by itself to where it was', async () => {
    await using here = await visit(server.url);
    await here.page.goto(`${server.url}/healthz`);
    await here.page.evaluate(() => {
      const changes: string[] = [];
      const answers: string[] = [];
      Object.assign(globalThis, { changes, answers });
      const heard = new Map([
        ['/changes/books', (data: any) => changes.push(`${data.kind} ${data.version}`)],
        ['/books/1', (data: any) => answers.push(data.title)],
      ]);
      for (const [path, tell] of heard) {
        const source = new (globalThis as any).EventSource(path);
        source.onmessage = ({ data }: any) => tell(JSON.parse(data));
        source.onopen = () => changes.push('open');
      }
    });
    const changes = () => here.page.evaluate(() => (globalThis as any).changes.toSorted());
    const answers = () => here.page.evaluate(() => (globalThis as any).answers);
    await shows(changes, ['open', 'open']);
    await shows(answers, ['Dune']);
    await send('PUT', '/books/1', { title: 'Emma' });
    await shows(changes, ['UPDATED 2', 'open', 'open']);
    await shows(answers, ['Dune', 'Emma']);
    server.signal('SIGTERM');
    expect(await server.exited()).toBe(0);
    server = await Server.start(folder, settings);
    await send('PUT', '/books/1', { title: 'Ulysses' });
    await shows(changes, ['UPDATED 2', 'UPDATED 3', 'open', 'open', 'open', 'open']);
    await shows(answers, ['Dune', 'Emma', 'Ulysses']);
    expect(here.complaints.filter((each) => !each.includes('EventSource'))).toEqual([]);
  });
});
