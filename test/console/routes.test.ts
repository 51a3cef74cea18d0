/** How the console is served: its pages, its files, its manners towards the network, and what a trace tells. */

import { afterAll, expect, test } from 'bun:test';
import { brotliDecompressSync } from 'node:zlib';
import { databases, openApp } from '../app.ts';
import { buildConsole } from './build.ts';

await buildConsole();
const app = await openApp('sqlite');
const closed = await openApp('sqlite', { env: { INTROSPECTION: 'off' } });
afterAll(() => Promise.all([app.close(), closed.close()]));

/** As browsers ask, but for plain HTTP from other machines. */
const ZIPPED = { 'Accept-Encoding': 'gzip, deflate, br, zstd' };
const page = await app.fetch('/');
const html = await page.text();

/** The files that a page names. */
function files(text: string): string[] {
  return [...text.matchAll(/(?:href|src)="(\/[^"]+)"/g)].map(([, url = '']) => url);
}

function policy(response: Response): Map<string, string> {
  const header = response.headers.get('Content-Security-Policy') ?? '';
  return new Map(header.split('; ').map((part) => [part.split(' ')[0] ?? '', part]));
}

test('the page at / lets in nothing from elsewhere, and one line of what is written into it, by its hash', () => {
  expect(page.headers.get('Content-Type')).toBe('text/html; charset=utf-8');
  expect(page.headers.get('Content-Security-Policy')).not.toContain('unsafe');
  expect(policy(page).get('default-src')).toBe("default-src 'none'");
  const written = [...html.matchAll(/<script>(.*?)<\/script>/g)].map(([, script = '']) => script);
  const hashes = written.map((each) => new Bun.CryptoHasher('sha256').update(each).digest('base64'));
  expect(written).toHaveLength(1);
  expect(policy(page).get('script-src')).toBe(`script-src 'self' 'sha256-${hashes}'`);
  expect(policy(page).get('connect-src')).toBe("connect-src 'self'");
  expect(policy(page).get('frame-ancestors')).toBe("frame-ancestors 'none'");
  expect(page.headers.get('X-Content-Type-Options')).toBe('nosniff');
  expect(html).not.toMatch(/<script(?!>|[^>]* src=)|<style|\son\w+=|https?:\/\//);
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
    expect(zipped.headers.get('Content-Encoding')).toBe('br');
    expect(zipped.headers.get('Cache-Control')).toContain('immutable');
    const plain = await app.fetch(url);
    expect(plain.headers.get('Content-Encoding')).toBeNull();
    const text = await plain.text();
    expect(unzipped(await zipped.bytes())).toBe(text);
    const gzipped = await app.fetch(url, { headers: { 'Accept-Encoding': 'gzip, br;q=0' } });
    expect(gzipped.headers.get('Content-Encoding')).toBe('gzip');
    expect(new TextDecoder().decode(Bun.gunzipSync(await gzipped.arrayBuffer()))).toBe(text);
  }
});

function unzipped(bytes: Uint8Array): string {
  return brotliDecompressSync(bytes).toString();
}

/** Browsers take Brotli over TLS and from their own machine, and gzip from others. */
const SIZES = [
  ['br', 90_500, unzipped],
  ['gzip', 98_000, (bytes: Uint8Array) => new TextDecoder().decode(Bun.gunzipSync(Buffer.from(bytes)))],
] as const;

test.each(SIZES)(
  'all that the console may ever fetch, but for GraphiQL and the reference, by %s: under %i bytes',
  async (coding, most, read) => {
    const fetched = new Map<string, number>();
    const open = files(html);
    for (let url = open.pop(); url !== undefined; url = open.pop()) {
      if (fetched.has(url)) continue;
      const bytes = await (await app.fetch(url, { headers: { 'Accept-Encoding': coding } })).bytes();
      fetched.set(url, bytes.byteLength);
      const text = read(bytes);
      // Scripts that are loaded later are named by those that load them.
      for (const [, name] of text.matchAll(/(?:\/_console|\.)\/([\w-]+-[0-9a-z]{8}\.js)/g))
        open.push(`/_console/${name}`);
    }
    expect([...fetched.keys()].some((url) => url.includes('diagram'))).toBe(true);
    expect([...fetched.values()].reduce((sum, size) => sum + size, 0)).toBeLessThan(most);
  },
);

test('what is served is told by the page and one style sheet, before any script: few bytes in two round trips', async () => {
  for (const [name, path] of [
    ['Book', '/books'],
    ['Greeting', '/greet'],
  ]) {
    expect(html).toContain(`<a href="#/data/${name}">${name}</a>`);
    expect(html).toContain(`>${path}</span>`);
  }
  const styles = files(html).filter((url) => url.endsWith('.css'));
  expect(styles).toHaveLength(1);
  const sizes = await Promise.all(
    ['/', ...styles].map(async (url) => (await (await app.fetch(url, { headers: ZIPPED })).bytes()).length),
  );
  // At 50 kB a second, a fifth of one.
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(10_000);
  // Nothing else is fetched before the first paint: scripts of modules wait for the page.
  expect(html.match(/<script(?!>| type="module")/g)).toBeNull();
});

test('what the schema file says of a type is text on the page', async () => {
  const sdl = '"Of <b>bold</b> & $& `code`"\ntype Book @resource { id: ID! }';
  await using open = await opened('sqlite', { sdl });
  expect(await (await open.fetch('/')).text()).toContain('Of &#60;b&#62;bold&#60;/b&#62; &#38; $&#38; code');
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

test.each(databases)('so is what it took to read changes (%s)', async (database) => {
  const sdl = 'type Memo @resource @journal(keep: "1d") { id: ID!  text: String }';
  const kept = await openApp(database, { sdl });
  await kept.rest('POST', '/memos', { text: 'one' });
  for (const { headers } of [
    await kept.rest('GET', '/changes/memos', undefined, TRACE),
    await kept.graphql('{ memoChanges(id: 1) { kind } }', {}, TRACE),
  ])
    expect(statements(headers)).toBeGreaterThan(0);
  await kept.close();
});

test('without the wish, and without introspection, nothing is told', async () => {
  expect((await app.rest('GET', '/books')).headers.has('Server-Timing')).toBe(false);
  expect((await closed.rest('GET', '/books', undefined, TRACE)).headers.has('Server-Timing')).toBe(false);
});

async function opened(database: (typeof databases)[number], deployment?: Parameters<typeof openApp>[1]) {
  const under = await openApp(database, deployment);
  return Object.assign(under, { [Symbol.asyncDispose]: () => under.close() });
}
