/** react-admin's core with the data provider of examples/: what its pages do, done by its own hooks in a document. */

import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test';
import { GlobalRegistrator } from '@happy-dom/global-registrator';
import type { ReactNode } from 'react';
import type { Root } from 'react-dom/client';
import { duetProvider } from '../examples/react-admin/dataProvider.ts';
import { type Served, served } from './world.ts';

// The server answers from this process too: of what it speaks with, the document gets nothing of its own.
const { fetch, Request, Response, Headers, URL, URLSearchParams, AbortController, AbortSignal } = globalThis;
const { ReadableStream, WritableStream, TransformStream, Blob, FormData } = globalThis;
GlobalRegistrator.register({ url: 'http://localhost/' });
Object.assign(globalThis, {
  fetch,
  Request,
  Response,
  Headers,
  URL,
  URLSearchParams,
  AbortController,
  AbortSignal,
});
Object.assign(globalThis, { ReadableStream, WritableStream, TransformStream, Blob, FormData });
const ra = await import('ra-core');
const { createRoot } = await import('react-dom/client');

/** The types of a document are not those of the server, with which it shares their names. */
const { document: page } = globalThis as unknown as { document: any };
let server: Served;
let root: Root;
beforeAll(async () => {
  server = await served();
  // It writes down what is refused, which is expected here.
  spyOn(console, 'error').mockImplementation(() => {});
  root = createRoot(page.body.appendChild(page.createElement('div')));
});
afterAll(async () => {
  root.unmount();
  // What is left to do for what was shown needs the document still.
  await Bun.sleep(50);
  await server[Symbol.asyncDispose]();
  await GlobalRegistrator.unregister();
});

/** Shows a page, whose part in the middle hands over what react-admin has given it, each time that it is drawn. */
function shown<T>(useGiven: () => T, page: (part: ReactNode) => ReactNode) {
  let given: T | undefined;
  const Part = () => {
    given = useGiven();
    return null;
  };
  const dataProvider = duetProvider(server.url);
  // A page of its own each time, with a cache of its own.
  root.render(
    <ra.CoreAdminContext key={crypto.randomUUID()} dataProvider={dataProvider}>
      {page(<Part />)}
    </ra.CoreAdminContext>,
  );
  return async (isSo: (given: T) => boolean): Promise<T> => {
    for (let tries = 0; tries < 500; tries++) {
      if (given !== undefined && isSo(given)) return given;
      await Bun.sleep(10);
    }
    throw new Error(`it is not so: ${Bun.inspect(given, { depth: 3 })}`);
  };
}

const titles = ({ data }: { data?: { title: string }[] | undefined }) =>
  data?.map(({ title }) => title).join();

test('a list is sorted, filtered and paged, and jumps', async () => {
  const until = shown(
    () => ra.useListContext(),
    (part) => (
      <ra.ListBase
        resource="books"
        perPage={3}
        sort={{ field: 'pages', order: 'DESC' }}
        disableSyncWithLocation
      >
        {part}
      </ra.ListBase>
    ),
  );
  const first = await until((list) => titles(list) === 'Book 30,Book 29,Book 28');
  expect(first.total).toBe(30);
  first.setPage(7);
  const seventh = await until((list) => titles(list) === 'Book 12,Book 11,Book 10');
  seventh.setFilters({ pages: { gte: 280 }, genre: 'NOVEL' });
  const filtered = await until((list) => titles(list) === 'Book 29');
  expect([filtered.total, filtered.page]).toEqual([1, 1]);
  filtered.setFilters({ id: filtered.data?.map(({ id }) => id) });
  filtered.setSort({ field: 'id', order: 'ASC' });
  expect((await until((list) => list.sort.field === 'id' && !list.isFetching)).total).toBe(1);
});

test('a record is edited; what was changed since is a conflict, and the list shows what is so now', async () => {
  const until = shown(
    () => ({ list: ra.useListContext(), edit: ra.useEditContext() }),
    (part) => (
      <ra.ListBase resource="notes" disableSyncWithLocation>
        <ra.EditBase resource="notes" id={2} mutationMode="pessimistic" redirect={false}>
          {part}
        </ra.EditBase>
      </ra.ListBase>
    ),
  );
  const { edit } = await until(
    ({ list, edit }) => titles(list) === 'one,two,three' && edit.record !== undefined,
  );
  expect(edit.record).toMatchObject({ id: 2, title: 'two', done: false, _version: 1 });
  await edit.save?.({ ...edit.record, title: 'zwei' });
  const changed = await until(
    ({ list, edit }) => titles(list) === 'one,zwei,three' && edit.record._version === 2,
  );
  await server.app.rest('PUT', '/notes/2', { title: 'deux' });
  // What the page has read is not what is stored any more.
  const failed = Promise.withResolvers<any>();
  await changed.edit.save?.({ ...changed.edit.record, title: 'two again' }, { onError: failed.resolve });
  expect(await failed.promise).toMatchObject({ status: 412, body: { code: 'VERSION_CONFLICT' } });
  changed.edit.refetch();
  await until(({ edit }) => edit.record.title === 'deux' && edit.record._version === 3);
  const wrong = Promise.withResolvers<any>();
  const { edit: again } = await until(({ edit }) => edit.record._version === 3);
  await again.save?.({ ...again.record, title: null }, { onError: wrong.resolve });
  expect((await wrong.promise).body.errors).toEqual({ title: expect.any(String) });
});

test('records are created, referred to, changed and deleted together', async () => {
  const until = shown(
    () => ({
      data: ra.useDataProvider(),
      create: ra.useCreate()[0],
      label: ra.useGetOne('labels', { id: 'new/one' }),
    }),
    (part) => part,
  );
  const { data: provider, create } = await until(() => true);
  const label = await create('labels', { data: { name: 'new/one', color: 'red' } }, { returnPromise: true });
  expect(label).toEqual({ id: 'new/one', name: 'new/one', color: 'red', _version: 1 });
  await until((given) => given.label.data?.color === 'red');
  const [author] = (await provider.getList('authors', {})).data;
  const made = await provider.create('books', { data: { title: 'Another', authorId: author.id } });
  const of = await provider.getManyReference('books', {
    target: 'authorId',
    id: author.id,
    pagination: { page: 2, perPage: 30 },
    sort: { field: 'id', order: 'ASC' },
    filter: {},
  });
  expect([of.total, of.data]).toEqual([31, [made.data]]);
  const ids = (await provider.getMany('notes', { ids: [1, 3] })).data.map(({ id }) => id);
  expect(ids).toEqual([1, 3]);
  await provider.updateMany('notes', { ids, data: { done: true } });
  expect((await provider.getOne('notes', { id: '3' })).data).toMatchObject({
    id: 3,
    done: true,
    _version: 2,
  });
  await provider.deleteMany('notes', { ids });
  await provider.delete('books', { id: made.data.id, previousData: made.data });
  expect((await provider.getList('notes', {})).total).toBe(1);
  const gone = provider.getOne('books', { id: made.data.id });
  expect(await gone.catch(({ status }) => status)).toBe(404);
});
