/** What the panel writes for other languages asks for the same as the command. */

import { afterAll, expect, test } from 'bun:test';
import type { Ask } from '../../src/console/browser/ask.ts';
import { restWire } from '../../src/console/browser/doors/rest.ts';
import type { Wire } from '../../src/console/browser/doors/wire.ts';
import { type Introspection, introspectionQuery } from '../../src/console/browser/schema/introspection.ts';
import { readSchema } from '../../src/console/browser/schema/merge.ts';
import type { Resource } from '../../src/console/browser/schema/types.ts';
import { type Language, snippetOf } from '../../src/console/browser/snippets.ts';
import { listAsk } from '../../src/console/browser/views/list-place.ts';
import { openApp } from '../app.ts';
import { museum } from './museum.ts';

const app = await openApp('sqlite', museum);
afterAll(() => app.close());
const schema = readSchema(
  (await app.rest('GET', '/openapi.json')).body,
  (await app.graphql(introspectionQuery)).data as Introspection,
);
const hall = schema.byName.get('Hall') as Resource;

const list = listAsk(hall, new URLSearchParams('name[eq]=Hall A&sort=-name&limit=2'), schema);
const update: Ask = {
  do: 'update',
  resource: hall,
  key: 1,
  changes: { name: 'It\'s \\ "it"\nö' },
  version: 1,
};

function written(language: Language, ask: Ask, token = false): string {
  return snippetOf(language, restWire(ask, schema) as Wire, 'http://x', token, ask, schema) ?? '';
}

test('JavaScript: run as it stands, it does what it says', async () => {
  const run = async (code: string) => {
    const told: { url?: string; init?: any } = {};
    const fetched = (url: string, init?: any) => {
      Object.assign(told, { url, init });
      return { json: () => ({}) };
    };
    await new Function('fetch', `return (async () => { ${code} })()`)(fetched);
    return told;
  };
  expect(await run(written('JavaScript', list))).toEqual({
    url: 'http://x/halls?name[eq]=Hall%20A&sort=-name&include=museum&limit=2',
    init: undefined,
  });
  const { url, init } = await run(written('JavaScript', update));
  expect([url, init.method, init.headers['If-Match']]).toEqual([
    'http://x/halls/1',
    'PUT',
    `"1-${schema.fingerprint}"`,
  ]);
  expect(JSON.parse(init.body)).toEqual({ name: 'It\'s \\ "it"\nö' });
});

test('Python has nothing to install, and the token stays in the environment', () => {
  expect(
    written('Python', { do: 'delete', resource: hall, key: 1 }, true),
  ).toBe(`import json, os, urllib.request

request = urllib.request.Request(
    "http://x/halls/1",
    method="DELETE",
    headers={"Authorization": "Bearer " + os.environ["TOKEN"]},
)
urllib.request.urlopen(request)`);
});

test('the typed client is asked in its own words', () => {
  expect(written('Typed client', list)).toBe(`import { duet } from './duet.ts'; // duet client > duet.ts

const api = duet('http://x');
const data = await api.halls.list({
  where: {
    name: {
      eq: 'Hall A'
    }
  },
  orderBy: [
    {
      name: 'DESC'
    }
  ],
  first: 2,
  include: {
    museum: true
  }
});`);
  expect(written('Typed client', { do: 'get', resource: hall, key: 1, related: true })).toContain(
    `api.halls.get(1, {
  include: {
    museum: true,
    exhibits: {
      first: 6,
      include: {
        maker: true,
        keeper: true
      }
    }
  }
});`,
  );
  // Any text is read back as it was.
  const text = written('Typed client', { do: 'create', resource: hall, values: { name: `It's "\\"\n` } });
  expect(new Function(`return ${/create\((.*)\)/s.exec(text)?.[1]}`)()).toEqual({ name: `It's "\\"\n` });
  expect(written('Typed client', update)).toContain('const data = await api.halls.update(record, {');
  expect(
    snippetOf('Typed client', restWire(list, schema) as Wire, '', false, { ...list, as: 'text/csv' }, schema),
  ).toBeUndefined();
});
