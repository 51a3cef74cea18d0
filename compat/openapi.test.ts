/** openapi-typescript and openapi-fetch: a list is a list of records, and what is generated is what one would write by hand. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import createClient, { type Client } from 'openapi-fetch';
import type { components, paths } from './generated/openapi.ts';
import { sameType } from './same.ts';
import { type Served, served, data as stored } from './world.ts';

type Schemas = components['schemas'];
interface Book {
  readonly id: string;
  title: string;
  pages: number;
  genre: 'NOVEL' | 'ESSAY' | null;
  tags: string[];
  authorId: string;
}
sameType<Schemas['Book'], Book>(true);
sameType<
  Schemas['BookCreate'],
  { title: string; pages?: number; genre?: 'NOVEL' | 'ESSAY' | null; tags?: string[]; authorId: string }
>(true);

let server: Served;
let client: Client<paths>;
beforeAll(async () => {
  server = await served();
  client = createClient<paths>({ baseUrl: server.url });
});
afterAll(() => server[Symbol.asyncDispose]());

test('it lists, filters, sorts, pages and jumps', async () => {
  const { data, error, response } = await client.GET('/books', {
    params: { query: { pages: { gte: 100 }, sort: ['-pages'], limit: 2, count: true } },
  });
  if (error) throw error;
  sameType<typeof data, Book[]>(true);
  expect(data.map(({ title }) => title)).toEqual(['Book 30', 'Book 29']);
  expect(response.headers.get('X-Total-Count')).toBe('21');
  const next = new URL(
    /<([^>]*)>; rel="next"/.exec(response.headers.get('Link') ?? '')?.[1] ?? '',
    server.url,
  );
  const after = next.searchParams.get('after') ?? '';
  const more = await client.GET('/books', {
    params: { query: { pages: { gte: 100 }, sort: ['-pages'], limit: 2, after } },
  });
  expect(more.data?.map(({ title }) => title)).toEqual(['Book 28', 'Book 27']);
  const jumped = await client.GET('/books', { params: { query: { offset: 20, limit: 1 } } });
  expect(jumped.data?.map(({ title }) => title)).toEqual(['Book 21']);
  const where = JSON.stringify({ author: { name: { eq: 'Ann' } }, pages: { in: [10, 20, 35] } });
  expect((await client.GET('/books', { params: { query: { where } } })).data).toHaveLength(2);
});

test('lists of values are written as the description says, once it is told how', async () => {
  const array = { style: 'form', explode: false } as const;
  const listing = createClient<paths>({ baseUrl: server.url, querySerializer: { array } });
  const query = { 'pages[in]': [10, 20, 35], sort: ['-genre' as const, 'title' as const] };
  const { data } = await listing.GET('/books', { params: { query } });
  expect(data?.map(({ title }) => title)).toEqual(['Book 1', 'Book 2']);
});

test('it creates, reads, updates and deletes; a stale write is a conflict', async () => {
  const authorId = stored.authors[0]?.id ?? '';
  const made = await client.POST('/books', { body: { title: 'New', authorId } });
  if (!made.data) throw made.error;
  const { id } = made.data;
  const tag = made.response.headers.get('ETag') ?? '';
  const path = { id };
  const changed = await client.PUT('/books/{id}', {
    params: { path, header: { 'If-Match': tag } },
    body: { pages: 7 },
  });
  expect(changed.data).toEqual({ ...made.data, pages: 7 });
  const stale = await client.PUT('/books/{id}', {
    params: { path, header: { 'If-Match': tag } },
    body: { pages: 8 },
  });
  expect([stale.response.status, stale.error?.code]).toEqual([412, 'VERSION_CONFLICT']);
  const wrong = await client.POST('/books', { body: { title: '', authorId } });
  expect(wrong.error?.errors?.map(({ pointer }) => pointer)).toEqual(['#/title']);
  expect((await client.DELETE('/books/{id}', { params: { path } })).response.status).toBe(204);
  expect((await client.GET('/books/{id}', { params: { path } })).error?.code).toBe('NOT_FOUND');
  // @ts-expect-error A book needs its author.
  const lonely = await client.POST('/books', { body: { title: 'x' } });
  expect(lonely.error?.errors?.map(({ code }) => code)).toEqual(['REQUIRED']);
});
