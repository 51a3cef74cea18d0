/** Compressed answers: who gets them, that they hold the same, and that their tags are good for whoever sends them back. */

import { afterAll, describe, expect, test } from 'bun:test';
import { gunzipSync } from 'node:zlib';
import { type AppUnderTest, openApp } from '../app.ts';

const sdl = 'type Row @resource { id: ID! text: String! }';
const LONG = 'so long a text '.repeat(200);
const data = { rows: [{ text: LONG }, { text: 'short' }, ...Array(300).fill({ text: LONG })] };

const plain = await openApp('sqlite', { sdl, data });
const zipped = await openApp('sqlite', { sdl, data, env: { COMPRESS: 'gzip' } });
const packed = await openApp('sqlite', { sdl, data, env: { COMPRESS: 'zstd' } });
afterAll(() => Promise.all([plain, zipped, packed].map((app) => app.close())));
const apps = { plain, zipped, packed };

const unpack = async (response: Response) => {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const coding = response.headers.get('Content-Encoding');
  const whole =
    coding === 'gzip' ? gunzipSync(bytes) : coding === 'zstd' ? Bun.zstdDecompressSync(bytes) : bytes;
  return new TextDecoder().decode(whole);
};

const EVERY = 'gzip, deflate, br, zstd';

describe('who gets what', () => {
  test.each([
    ['plain', '/rows/1', EVERY, null],
    ['zipped', '/rows/1', EVERY, 'gzip'],
    ['zipped', '/rows/1', 'GZIP;q=0.5', 'gzip'],
    ['zipped', '/rows/1', 'gzip;q=0, br', null],
    ['zipped', '/rows/1', 'gzip;q=0.000', null],
    ['zipped', '/rows/1', 'x-gzip', 'gzip'],
    ['zipped', '/rows/1', '*', 'gzip'],
    ['zipped', '/rows/1', 'br, *;q=0.1', 'gzip'],
    ['zipped', '/rows/1', 'gzip;q=0, *', null],
    ['zipped', '/rows/1', 'identity, gzip;q=0.5', null],
    ['zipped', '/rows/1', 'identity;q=0.5, gzip;q=0.5', 'gzip'],
    ['zipped', '/rows/1', 'gzip;q=2', null],
    ['zipped', '/rows/1', 'zstd', null],
    ['zipped', '/rows/1', '', null],
    ['zipped', '/rows/2', EVERY, null],
    ['zipped', '/rows/1000', EVERY, null],
    ['zipped', '/rows?limit=100', EVERY, 'gzip'],
    ['packed', '/rows/1', EVERY, 'zstd'],
    ['packed', '/rows/1', 'gzip', 'gzip'],
    ['packed', '/rows/1', 'gzip, zstd', 'zstd'],
    ['packed', '/rows/1', 'gzip, zstd;q=0.9', 'gzip'],
    ['packed', '/rows/1', 'zstd;q=0, *', 'gzip'],
    ['packed', '/rows?limit=100', EVERY, 'zstd'],
    ['packed', '/rows/2', EVERY, null],
  ] as const)('%s: %s to those that take %s', async (name, path, accepted, coding) => {
    const headers = { 'Accept-Encoding': accepted };
    const response = await apps[name].fetch(path, { headers });
    expect(response.headers.get('Content-Encoding')).toBe(coding);
    const varies = response.headers.get('Vary')?.includes('Accept-Encoding') ?? false;
    expect(varies).toBe(name !== 'plain');
    const other = await plain.fetch(path);
    expect(response.status).toBe(other.status);
    const withoutId = (text: string) => text.replace(/"requestId":"[^"]*"/, '');
    expect(withoutId(await unpack(response))).toBe(withoutId(await other.text()));
  });

  test.each([
    ['zipped', 'gzip'],
    ['packed', 'zstd'],
  ] as const)('%s: through GraphQL, and as a file that is written while it is sent', async (name, coding) => {
    const query = { query: '{ rows(first: 100) { id text } }' };
    const headers = { 'Accept-Encoding': EVERY, 'Content-Type': 'application/json' };
    const asked = { method: 'POST', body: JSON.stringify(query) };
    const answer = await apps[name].fetch('/graphql', { ...asked, headers });
    expect(answer.headers.get('Content-Encoding')).toBe(coding);
    expect(JSON.parse(await unpack(answer)).data.rows).toHaveLength(100);
    for (const type of ['text/csv', 'application/x-ndjson']) {
      const file = await apps[name].fetch('/rows', { headers: { 'Accept-Encoding': EVERY, Accept: type } });
      expect([file.headers.get('Content-Encoding'), file.headers.get('Vary')]).toEqual([
        coding,
        'Accept, Accept-Encoding',
      ]);
      expect(await unpack(file)).toBe(
        await (await plain.fetch('/rows', { headers: { Accept: type } })).text(),
      );
    }
  });

  test('HEAD tells the length that the compressed body has', async () => {
    const headers = { 'Accept-Encoding': 'gzip' };
    const body = await (await zipped.fetch('/rows/1', { headers })).arrayBuffer();
    const head = await zipped.fetch('/rows/1', { method: 'HEAD', headers });
    expect([head.headers.get('Content-Encoding'), head.headers.get('Content-Length')]).toEqual([
      'gzip',
      String(body.byteLength),
    ]);
  });
});

test('what a route of the deployment writes is sent while it is written', async () => {
  const { promise: read, resolve: go } = Promise.withResolvers<void>();
  const written = async function* () {
    yield Buffer.from(LONG);
    await read;
    yield Buffer.from(LONG);
  };
  const routes = { 'GET /hooks/slow': () => new Response(written()) };
  const app = await openApp('sqlite', { sdl, data, env: { COMPRESS: 'gzip' }, logic: { routes } });
  try {
    const answer = await app.fetch('/hooks/slow', { headers: { 'Accept-Encoding': EVERY } });
    expect(answer.headers.get('Content-Encoding')).toBeNull();
    const reader = answer.body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(LONG);
    go();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(LONG);
  } finally {
    go();
    await app.close();
  }
});

describe('tags', () => {
  test.each([
    ['zipped', 'gzip'],
    ['packed', 'zstd'],
  ] as const)('%s: one of its own, good for 304, If-Match and whoever asks without', async (name, coding) => {
    const app = apps[name];
    const asked = { 'Accept-Encoding': coding };
    const created = await app.rest('POST', '/rows', { text: LONG });
    const path = created.headers.get('Location') ?? '';
    const [whole, coded] = [await app.fetch(path), await app.fetch(path, { headers: asked })];
    const [tag, own] = [whole.headers.get('ETag') ?? '', coded.headers.get('ETag') ?? ''];
    expect(own).toBe(tag.replace(/"$/, `;${coding}"`));
    const again = await app.fetch(path, { headers: { ...asked, 'If-None-Match': own } });
    expect([again.status, again.headers.get('ETag')]).toEqual([304, own]);
    for (const sent of [own, `W/${own}`, `"7-x", ${own}`]) {
      const other = await app.fetch(path, { headers: { 'If-None-Match': sent } });
      expect([other.status, other.headers.get('ETag')]).toEqual([304, own]);
    }
    const wrong = own.replace('"1-', '"7-');
    expect((await app.rest('PUT', path, { text: 'a' }, { 'If-Match': wrong })).status).toBe(412);
    expect((await app.rest('PUT', path, { text: 'b' }, { 'If-Match': own })).status).toBe(200);
    expect((await app.rest('PUT', path, { text: 'c' }, { 'If-Match': own })).status).toBe(412);
  });
});

describe('what describes the service is compressed wherever it is asked for so', () => {
  test.each(['/openapi.json', '/openapi.json?profile=client', '/schema.graphql', '/client.ts'])(
    '%s',
    async (path) => {
      const text = await (await plain.fetch(path)).text();
      const asked = async (app: AppUnderTest, accepted: string) => {
        const answer = await app.fetch(path, { headers: { 'Accept-Encoding': accepted } });
        expect(await unpack(answer)).toBe(text);
        return [answer.headers.get('Content-Encoding'), answer.headers.get('Vary')];
      };
      expect(await asked(plain, EVERY)).toEqual(['gzip', 'Accept-Encoding']);
      expect(await asked(plain, 'zstd')).toEqual([null, 'Accept-Encoding']);
      expect(await asked(packed, 'zstd')).toEqual(['zstd', 'Accept-Encoding']);
    },
  );

  test('introspection', async () => {
    const query = '{ a: __schema { types { name fields { name description } } } }';
    const path = `/graphql?query=${encodeURIComponent(query)}`;
    const answer = await plain.fetch(path, { headers: { 'Accept-Encoding': EVERY } });
    expect(answer.headers.get('Content-Encoding')).toBe('gzip');
    expect(await unpack(answer)).toBe(await (await plain.fetch(path)).text());
  });
});
