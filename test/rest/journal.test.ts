/** What `/openapi.json` says of changes and restores is what is answered. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { type AppUnderTest, databases, JSON_HEADERS, openApp } from '../app.ts';
import { Description } from './described.ts';

const sdl = `
enum Color { RED GREEN }
type Maker @resource @journal { id: UUID! name: String! }
type Thing @resource @journal {
  id: ID!
  color: Color!
  price: Decimal @decimal(scale: 2)
  big: BigInt
  at: DateTime
  day: Date
  tags: [String!]
  more: JSON
  maker: Maker
}
type Word @resource @journal { lang: ID! @key text: String! @deprecated }
type Plain @resource { id: ID! }
`;

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  let described: Description;
  beforeAll(async () => {
    app = await openApp(database, { sdl });
    described = await Description.of(app);
  });
  afterAll(() => app.close());

  test('the document is valid OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(described.document));
    expect(errors ?? []).toEqual([]);
    expect(valid).toBe(true);
  });

  test('the records themselves are described as those of other types', async () => {
    const without = await openApp('sqlite', { sdl: sdl.replaceAll('@journal', '') });
    const parts = ['', 'Fields', 'Create', 'Update'].map((part) => `Thing${part}`);
    const own = ({ document }: Description) => parts.map((name) => document.components.schemas[name]);
    expect(own(described)).toEqual(own(await Description.of(without)));
    await without.close();
  });

  test('what can be live is described so, and answered so', async () => {
    const { paths, components } = described.document;
    const types = ({ $ref, content }: any) =>
      Object.keys(content ?? components.responses[$ref.split('/').at(-1)].content);
    const of = (path: string) => types(paths[path].get.responses[200]).includes('text/event-stream');
    expect(['/things', '/things/{id}', '/graphql', '/plains', '/plains/{id}'].map(of)).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
    const { body: word, headers } = await app.rest('POST', '/words', { lang: 'li', text: 'live' });
    expect(headers.get('Vary')).toBeNull();
    const plain = await app.rest('GET', `/words/${word.lang}`);
    const shaped = await app.rest('GET', `/words/${word.lang}?fields=lang`);
    expect([plain, shaped].map((each) => each.headers.get('Vary'))).toEqual(['Accept', 'Accept']);
    await app.rest('DELETE', `/words/${word.lang}`);
  });

  test('it has the paths of those that keep a journal, and no others', () => {
    const paths = Object.keys(described.document.paths).filter((path) => /^\/changes|restore$/.test(path));
    expect(paths.sort()).toEqual([
      '/changes',
      '/changes/makers',
      '/changes/makers/{id}',
      '/changes/things',
      '/changes/things/{id}',
      '/changes/words',
      '/changes/words/{lang}',
      '/makers/{id}/restore',
      '/things/{id}/restore',
      '/words/{lang}/restore',
    ]);
  });

  test('answers are as it says', async () => {
    const { body: maker } = await app.rest('POST', '/makers', { name: 'Ann' });
    const thing = {
      color: 'RED',
      price: '1.50',
      big: '9007199254740993',
      at: '2024-01-01T00:00:00.000Z',
      day: '2024-01-01',
      tags: ['a'],
      more: { a: [1] },
      makerId: maker.id,
    };
    await app.rest('POST', '/things', thing);
    await app.rest('PUT', '/things/1', { color: 'GREEN', price: null });
    await app.rest('POST', '/words', { lang: 'en', text: 'hi' });
    await app.rest('DELETE', '/words/en');
    const ask = async (method: string, template: string, path = template, body?: unknown) => {
      const init: RequestInit =
        body === undefined ? { method } : { method, headers: JSON_HEADERS, body: JSON.stringify(body) };
      const of = described.operation(method, template);
      return (await described.check(of, await app.fetch(path, init), `${method} ${path}`)).status;
    };
    expect(await ask('GET', '/changes')).toBe(200);
    expect(await ask('POST', '/live', '/live', { queries: [] })).toBe(400);
    expect(await ask('GET', '/changes', '/changes?limit=2')).toBe(200);
    expect(await ask('GET', '/changes', '/changes?limit=0')).toBe(400);
    for (const [list, key] of [
      ['/changes/things', '1'],
      ['/changes/makers', maker.id],
    ]) {
      expect(await ask('GET', list as string)).toBe(200);
      expect(await ask('GET', `${list}/{id}`, `${list}/${key}`)).toBe(200);
    }
    expect(await ask('GET', '/changes/words/{lang}', '/changes/words/en?after=x')).toBe(400);
    expect(await ask('POST', '/things/{id}/restore', '/things/1/restore', { version: 1 })).toBe(200);
    expect(await ask('POST', '/things/{id}/restore', '/things/1/restore', {})).toBe(400);
    expect(await ask('POST', '/things/{id}/restore', '/things/9/restore', {})).toBe(404);
    expect(await ask('POST', '/words/{lang}/restore', '/words/en/restore', {})).toBe(200);
  });
});
