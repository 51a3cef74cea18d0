/** What a write costs hangs on what was sent and on the records that it changes, never on one times the other. */

import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import type { Row, Statement } from '../../src/storage/statements.ts';
import { type Storage, watched } from '../../src/storage/storage.ts';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { Folder } from '../process.ts';

const PATTERN = '^bulk[0-9]+$';
const sdl = `
  type Note @resource @check(where: { body: { ne: "none" } }, message: "there is a body") {
    id: ID!
    title: String!
    body: String
    words: [String!] @constraint(pattern: "${PATTERN}")
  }
  type Doc @resource @journal { id: ID!  title: String!  body: String! }`;
const LIMIT = 2_000_000;
const MEGABYTE = 1024 * 1024;
const DOC = 262_000;
const data = {
  notes: Array.from({ length: 20 }, (_, at) => ({ title: `n${at}` })),
  docs: Array.from({ length: 6 }, (_, at) => ({ title: `d${at}`, body: 'd'.repeat(DOC) })),
};

/** The characters of rows that are sent with a statement, or answered by it. */
function lengthOf(statement: Statement): number {
  const { rows, next } = statement as { rows?: readonly Row[]; next?: readonly Row[] };
  return JSON.stringify(rows ?? next ?? []).length;
}

describe.each([...databases])('on %s', (database) => {
  const folder = new Folder({});
  let app: AppUnderTest;
  /** What was asked of the database, in which turn of the process. */
  let asked: { readonly what: Statement['do']; readonly length: number; readonly turn: number }[] = [];
  let turn = 0;
  /** The characters of what the last write is answered with. */
  let held = 0;
  const around = (storage: Storage) => {
    const write = storage.write.bind(storage);
    const asks = (statements: readonly Statement[]) => {
      for (const each of statements) asked.push({ what: each.do, length: lengthOf(each), turn });
    };
    storage.write = async (program, ...rest) => {
      const result = await write(() => watched(program(), { asks }), ...rest);
      held = JSON.stringify(result ?? null).length;
      return result;
    };
    return storage;
  };
  const askedFor = (what: Statement['do']) => asked.filter((each) => each.what === what);

  beforeAll(async () => {
    // Memory has no other process that could write what takes long.
    const url = database === 'sqlite' ? { url: `sqlite:${folder.file('duet.db')}` } : {};
    app = await openApp(database, { sdl, data, env: { LIMIT_BYTES: String(LIMIT) }, around, ...url });
  });
  afterAll(async () => {
    await app.close();
    folder[Symbol.dispose]();
  });

  const bulk = (path: string, most: number, body: object | undefined) => ({
    method: body ? 'PUT' : 'DELETE',
    path: `/${path}?fields=id`,
    where: { id: { lte: most } },
    atMost: 20,
    ...(body && { body }),
  });
  const transact = async (...operations: object[]) => {
    asked = [];
    let isUnderWay = true;
    const count = () => {
      turn++;
      if (isUnderWay) setImmediate(count);
    };
    setImmediate(count);
    const { status, body } = await app.rest('POST', '/transaction', { operations });
    isUnderWay = false;
    return [status, body.code, body.errors?.[0].pointer];
  };
  const mutate = async (query: string, variables: Record<string, unknown>) => {
    asked = [];
    const { errors } = await app.graphql(query, variables);
    return errors?.[0].extensions.code;
  };
  const updateNotes =
    'mutation ($most: ID!, $set: NoteChanges!) { updateNotes(where: { id: { lte: $most } }, atMost: 20, set: $set) { id } }';

  test('what is sent is held against the schema once, not once for each record', async () => {
    const words = Array.from({ length: 50 }, (_, at) => `bulk${at}`);
    const looks = async (write: () => Promise<unknown>, code: unknown) => {
      using tested = spyOn(RegExp.prototype, 'test');
      expect(await write()).toEqual(code);
      return tested.mock.contexts.filter((each) => (each as RegExp).source === PATTERN).length;
    };
    const ok = [200, undefined, undefined];
    const set = { words };
    // A write may have to be run again, where the processors are busy; for each of twenty records it would be twenty times.
    const few = 4 * words.length;
    expect(await looks(() => transact(bulk('notes', 20, set)), ok)).toBeLessThanOrEqual(few);
    expect(await looks(() => mutate(updateNotes, { most: 20, set }), undefined)).toBeLessThanOrEqual(few);
  });

  test('a long value for many records is refused before it is anywhere more than once', async () => {
    const body = 'x'.repeat(150_000);
    const refused = 'WRITE_TOO_LARGE';
    expect(await transact(bulk('notes', 20, { body }))).toEqual([400, refused, undefined]);
    expect([askedFor('match').length, askedFor('update').length]).toEqual([0, 0]);
    expect(await mutate(updateNotes, { most: 20, set: { body } })).toBe(refused);
    // Nor by parts of one request.
    const part = bulk('notes', 10, { body });
    expect(await transact(part, part)).toEqual([400, refused, undefined]);
    const field = (as: string) =>
      `${as}: updateNotes(where: { id: { lte: 10 } }, atMost: 20, set: $set) { id }`;
    const both = `mutation ($set: NoteChanges!) { ${field('a')} ${field('b')} }`;
    expect(await mutate(both, { set: { body } })).toBe(refused);
  });

  test('long records are judged and changed by the megabyte', async () => {
    const body = 'x'.repeat(150_000);
    expect(await transact(bulk('notes', 12, { body }))).toEqual([200, undefined, undefined]);
    for (const what of ['match', 'update'] as const) {
      const lengths = askedFor(what).map(({ length }) => length);
      expect([lengths.length > 1, Math.max(...lengths) < 1.2 * MEGABYTE]).toEqual([true, true]);
    }
    const { body: notes } = await app.rest('GET', '/notes?fields=id,body&limit=13');
    expect(notes.map((note: any) => note.body?.length ?? 0)).toEqual([...Array(12).fill(body.length), 0]);
  });

  test('of records that are not answered, a transaction holds nothing', async () => {
    const put = { method: 'PUT', path: '/notes/1?fields=title', body: { title: 'new' } };
    expect(await transact(put, bulk('notes', 3, { title: 'new' }), put)).toEqual([200, undefined, undefined]);
    expect(held).toBeLessThan(1000);
    const field = (as: string) => `${as}: updateNote(id: 1, title: "newer") { title }`;
    expect(await mutate(`mutation @atomic { ${field('a')} ${field('b')} }`, {})).toBeUndefined();
    expect(held).toBeLessThan(1000);
  });

  test('a long value of an earlier result is given only so often', async () => {
    const body = 'y'.repeat(150_000);
    const first = { method: 'PUT', path: '/notes/1?fields=body', body: { body }, as: 'first' };
    const copy = { method: 'PUT', path: '/notes/2?fields=id', body: { body: { $ref: 'first.body' } } };
    expect(await transact(first, ...Array(14).fill(copy))).toEqual([400, 'WRITE_TOO_LARGE', undefined]);
    expect(await transact(first, copy)).toEqual([200, undefined, undefined]);
    expect((await app.rest('GET', '/notes/2?fields=body')).body).toEqual({ body });
  });

  test('long records that go with another are not all read where the journal could not keep them', async () => {
    const own = await openApp(database, {
      sdl: `type Shelf @resource(plural: "shelves") { id: ID!  books: [Book!]!  maps: [Map!]! }
        type Book @resource @journal { id: ID!  shelf: Shelf! @onDelete(do: CASCADE)  text: String! }
        type Map @resource @journal { id: ID!  shelf: Shelf @onDelete(do: SET_NULL)  text: String! }`,
      data: {
        shelves: [{}, {}, {}],
        books: Array.from({ length: 110 }, (_, at) => ({ shelfId: at < 10 ? 3 : 1, text: 'x'.repeat(1000) })),
        maps: Array.from({ length: 100 }, () => ({ shelfId: 2, text: 'x'.repeat(1000) })),
      },
      env: { LIMIT_BYTES: '10000' },
      around,
    });
    asked = [];
    for (const shelf of [1, 2]) {
      const { status, body } = await own.rest('DELETE', `/shelves/${shelf}`);
      expect([status, body.code]).toEqual([400, 'WRITE_TOO_LARGE']);
    }
    expect([askedFor('delete').length, askedFor('update').length]).toEqual([0, 0]);
    expect((await own.rest('DELETE', '/shelves/3')).status).toBe(204);
    await own.close();
  });

  test('what the journal keeps is stored by the megabyte, with turns in between', async () => {
    expect(await transact(bulk('docs', 6, { title: 'new' }))).toEqual([200, undefined, undefined]);
    const parts = askedFor('insert all');
    expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(MEGABYTE + 3 * DOC);
    expect(parts.at(-1)?.turn).toBeGreaterThan(parts.at(-2)?.turn ?? Number.POSITIVE_INFINITY);
    const { body: changes } = await app.rest('GET', '/changes/docs/6');
    expect(changes.map(({ before, after }: any) => [before.title, after.title, after.body.length])).toEqual([
      ['d5', 'new', DOC],
    ]);
  });

  test('how much that is tells nobody how long a value is which they do not see', async () => {
    const { body: shorter } = await app.rest('POST', '/docs', { title: 's', body: 'd'.repeat(140_000) });
    const kept = async (id: number, times: number) => {
      const put = { method: 'PUT', path: `/docs/${id}?fields=id`, body: { title: 'new' } };
      return (await transact(...Array(times).fill(put)))[0];
    };
    for (const id of [1, shorter.id]) expect([await kept(id, 7), await kept(id, 9)]).toEqual([200, 400]);
    await app.rest('DELETE', `/docs/${shorter.id}`);
    await app.rest('PUT', '/docs/1', { title: 'new' });
  });

  test('a transaction keeps only so much of what records were and became', async () => {
    const refused = 'WRITE_TOO_LARGE';
    const put = { method: 'PUT', path: '/docs/1?fields=id', body: { title: 'newer' } };
    expect(await transact(...Array(20).fill(put))).toEqual([400, refused, undefined]);
    // As soon as it is too much, which is at the eighth; where the processors are busy, it may have to be run again.
    expect(askedFor('update').length).toBeLessThan(20);
    const field = (_: unknown, at: number) => `f${at}: updateDoc(id: 1, title: "newer") { id }`;
    const fields = Array.from({ length: 8 }, field).join(' ');
    expect(await mutate(`mutation @atomic { ${fields} }`, {})).toBe(refused);
    const twice = [bulk('docs', 6, { title: 'newer' }), bulk('docs', 6, { title: 'newest' })];
    expect(await transact(...twice)).toEqual([400, refused, undefined]);
    const { body: docs } = await app.rest('GET', '/docs?fields=title');
    expect(docs).toEqual(Array(6).fill({ title: 'new' }));
    // One after the other they are transactions of their own.
    expect(await mutate(`mutation { ${fields} }`, {})).toBeUndefined();
    expect(await transact(bulk('docs', 6, undefined))).toEqual([200, undefined, undefined]);
  });
});
