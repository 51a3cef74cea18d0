/** How the console is served: its pages, its files, its manners towards the network, and what a trace tells. */

import { afterAll, expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';
import { buildConsole } from './build.ts';

await buildConsole();
const app = await openApp('sqlite');
const closed = await openApp('sqlite', { env: { INTROSPECTION: 'off' } });
afterAll(() => Promise.all([app.close(), closed.close()]));

const ZIPPED = { 'Accept-Encoding': 'gzip, br' };
const page = await app.fetch('/');
const html = await page.text();

/** The files that a page names. */
function files(text: string): string[] {
  return [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, url = '']) => url);
}

function policy(response: Response): Map<string, string> {
  const header = response.headers.get('Content-Security-Policy') ?? '';
  return new Map(header.split('; ').map((part) => [part.split(' ')[0] ?? '', part]));
}

test('the page at / lets in nothing from elsewhere and nothing that is written into it', () => {
  expect(page.headers.get('Content-Type')).toBe('text/html; charset=utf-8');
  expect(page.headers.get('Content-Security-Policy')).not.toContain('unsafe');
  expect(policy(page).get('default-src')).toBe("default-src 'none'");
  expect(policy(page).get('script-src')).toBe("script-src 'self'");
  expect(policy(page).get('connect-src')).toBe("connect-src 'self'");
  expect(policy(page).get('frame-ancestors')).toBe("frame-ancestors 'none'");
  expect(page.headers.get('X-Content-Type-Options')).toBe('nosniff');
  expect(html).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|https?:\/\//);
});

test.each(['/_console/graphiql', '/_console/reference'])(
  '%s runs no script but its own files',
  async (path) => {
    const response = await app.fetch(path);
    expect(response.status).toBe(200);
    expect(policy(response).get('script-src')).toBe("script-src 'self'");
    expect(policy(response).get('connect-src')).toBe("connect-src 'self'");
    expect(policy(response).get('frame-ancestors')).toBe("frame-ancestors 'self'");
  },
);

test('files are compressed, named after what is in them, and kept for ever', async () => {
  expect(files(html).length).toBeGreaterThan(2);
  for (const url of files(html)) {
    const zipped = await app.fetch(url, { headers: ZIPPED });
    expect([url, zipped.status]).toEqual([url, 200]);
    expect(url).toMatch(/^\/_console\/[\w.-]+-[0-9a-z]{8}\.(js|css|svg)$/);
    expect(zipped.headers.get('Content-Encoding')).toBe('gzip');
    expect(zipped.headers.get('Cache-Control')).toContain('immutable');
    const plain = await app.fetch(url);
    expect(plain.headers.get('Content-Encoding')).toBeNull();
    expect(await plain.text()).toBe(new TextDecoder().decode(Bun.gunzipSync(await zipped.arrayBuffer())));
  }
});

test('all that the console may ever fetch, but for GraphiQL and the reference, is under 90 kB', async () => {
  const fetched = new Map<string, number>();
  const open = files(html);
  for (let url = open.pop(); url !== undefined; url = open.pop()) {
    if (fetched.has(url)) continue;
    const zipped = await app.fetch(url, { headers: ZIPPED });
    const bytes = await zipped.arrayBuffer();
    fetched.set(url, bytes.byteLength);
    const text = new TextDecoder().decode(Bun.gunzipSync(bytes));
    // Scripts that are loaded later are named by those that load them.
    for (const [, name] of text.matchAll(/(?:\/_console|\.)\/([\w-]+-[0-9a-z]{8}\.js)/g))
      open.push(`/_console/${name}`);
  }
  expect([...fetched.keys()].some((url) => url.includes('diagram'))).toBe(true);
  expect([...fetched.values()].reduce((sum, size) => sum + size, 0)).toBeLessThan(90_000);
});

test('something is seen before any script has arrived', () => {
  expect(html.replace(/\s+/g, ' ')).toContain('<main><p class="empty">Loading…</p></main>');
});

test('the first screen is under 200 KB', async () => {
  const sizes = await Promise.all(
    ['/', ...files(html), '/openapi.json'].map(
      async (url) => (await (await app.fetch(url, { headers: ZIPPED })).bytes()).length,
    ),
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(200_000);
});

test('what is not there is 404, whatever its name', async () => {
  for (const path of [
    '/_console',
    '/_console/nothing.js',
    '/_console/index.html',
    '/_console/toString',
    '/_console/../x',
  ])
    expect([path, (await app.fetch(path)).status]).toEqual([path, 404]);
  expect((await app.rest('POST', '/_console/graphiql', {})).status).toBe(405);
});

test('it goes with the introspection switch', async () => {
  expect((await closed.fetch('/')).status).toBe(404);
  for (const url of [...files(html), '/_console/graphiql'])
    expect((await closed.fetch(url)).status).toBe(404);
});

const TRACE = { 'Duet-Trace': '1' };

function statements(headers: Headers): number | undefined {
  const count = /^total;dur=[\d.]+, db;desc="(\d+) statements"$/.exec(
    headers.get('Server-Timing') ?? '',
  )?.[1];
  return count === undefined ? undefined : Number(count);
}

test.each(databases)(
  'a trace tells the number of statements, each request its own (%s)',
  async (database) => {
    await using traced = await opened(database);
    const asks: [string, string, unknown][] = [
      ['GET', '/books', undefined],
      ['GET', '/users/1?include=posts.comments', undefined],
      ['GET', '/posts?include=author,comments&count=true', undefined],
      ['POST', '/graphql', { query: '{ users { posts { comments { id } } } books { id } }' }],
      ['POST', '/notes', { title: 'one' }],
      ['PUT', '/notes/1', { title: 'two' }],
      ['GET', '/books/none', undefined],
      ['POST', '/notes', { title: '' }],
    ];
    const alone: (number | undefined)[] = [];
    for (const [method, path, body] of asks) {
      traced.statements.length = 0;
      const { headers } = await traced.rest(method, path, body, TRACE);
      expect([path, statements(headers)]).toEqual([path, traced.statements.length]);
      alone.push(statements(headers));
    }
    expect(alone.slice(0, 4)).toEqual(database === 'sqlite' ? [1, 3, 4, 4] : [1, 1, 2, 2]);
    // Together, on SQLite in one batch: what one takes is not counted for another.
    const together = await Promise.all(
      asks.map(async ([method, path, body]) =>
        statements((await traced.rest(method, path, body, TRACE)).headers),
      ),
    );
    expect(together).toEqual(alone);
  },
);

test('without the wish, and without introspection, nothing is told', async () => {
  expect((await app.rest('GET', '/books')).headers.has('Server-Timing')).toBe(false);
  expect((await closed.rest('GET', '/books', undefined, TRACE)).headers.has('Server-Timing')).toBe(false);
});

async function opened(database: (typeof databases)[number]) {
  const under = await openApp(database);
  return Object.assign(under, { [Symbol.asyncDispose]: () => under.close() });
}
