/** Writes on many records, through both doors: all or nothing, and never more than was meant. */

import { beforeEach, describe, expect, test } from 'bun:test';
import { type AppUnderTest, type DatabaseKind, databases, openEmptied } from '../app.ts';

const sdl = `
  type Book @resource { id: ID!  title: String! @constraint(minLength: 1)  pages: Int  isbn: String @unique  shelf: Shelf  reviews: [Review!]! }
  type Shelf @resource(plural: "shelves") { id: ID!  books: [Book!]! }
  type Review @resource { id: ID!  book: Book! @onDelete(do: CASCADE) }`;

const opened = new Map<DatabaseKind, Awaited<ReturnType<typeof openEmptied>>>();

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeEach(async () => {
    const emptied = opened.get(database) ?? (await openEmptied(database, { sdl }));
    opened.set(database, emptied);
    app = await emptied.next();
  });
  const send = (...operations: unknown[]) => app.rest('POST', '/transaction', { operations });
  const titles = async () =>
    (await app.rest('GET', '/books?fields=title')).body.map(({ title }: any) => title);

  /** The same write by either door: the records, or the code with its faults. */
  const doors = {
    rest: async (operation: Record<string, unknown>) => {
      const { status, body } = await send(operation);
      return status === 200
        ? body.results[0].body
        : failure(body.code, body.errors, /^#\/operations\/0(\/body)?/);
    },
    graphql: async ({ method, where, atMost, atLeast, body }: Record<string, any>) => {
      const fields = '{ id title pages isbn shelfId }';
      const least = atLeast === undefined ? '' : ', atLeast: $atLeast';
      const declared = atLeast === undefined ? '' : ', $atLeast: Int';
      const documents: Record<string, string> = {
        POST: `mutation($records: [BookInput!]!) { it: createBooks(records: $records) ${fields} }`,
        PUT: `mutation($where: BookWhere!, $set: BookChanges!, $atMost: Int!${declared}) { it: updateBooks(where: $where, set: $set, atMost: $atMost${least}) ${fields} }`,
        DELETE: `mutation($where: BookWhere!, $atMost: Int!${declared}) { it: deleteBooks(where: $where, atMost: $atMost${least}) ${fields} }`,
      };
      const { data, errors } = await app.graphql(documents[method] ?? '', {
        records: body,
        where,
        set: body,
        atMost,
        ...(atLeast !== undefined && { atLeast }),
      });
      if (errors) return failure(errors[0].extensions.code, errors[0].extensions.errors, /^#/);
      return data.it.map((record: any) => ({ ...record, id: Number(record.id) }));
    },
  };
  const failure = (code: string, errors: any[] | undefined, prefix: RegExp) => ({
    code,
    faults: (errors ?? []).map((error) => `${error.pointer.replace(prefix, '#')} ${error.code}`),
  });

  test('too few matches undo what came before them in the same transaction', async () => {
    const { status, body } = await send(
      { method: 'POST', path: '/books', body: { title: 'made' } },
      { method: 'DELETE', path: '/books', where: { title: { eq: 'none' } }, atMost: 5, atLeast: 1 },
    );
    expect([status, body.code, body.operation]).toEqual([409, 'TOO_FEW_MATCHES', 1]);
    expect(await titles()).toEqual([]);
    const { data, errors } = await app.graphql(
      'mutation($n: Int) { updateBooks(where: {}, set: { title: "x" }, atMost: 5, atLeast: $n) { id } }',
    );
    expect([data, errors?.[0].extensions.errors]).toMatchObject([null, [{ pointer: '#/atLeast' }]]);
  });

  describe.each(Object.entries(doors))('through %s', (_, write) => {
    const make = (...names: string[]) =>
      write({
        method: 'POST',
        path: '/books',
        body: names.map((title, index) => ({ title, pages: index + 1 })),
      });

    test('create many', async () => {
      expect((await make('a', 'b', 'c')).map(({ title, pages }: any) => [title, pages])).toEqual([
        ['a', 1],
        ['b', 2],
        ['c', 3],
      ]);
      expect(await titles()).toEqual(['a', 'b', 'c']);
    });

    test('create many tells every fault of all, and creates none', async () => {
      const body = [{ title: 'fine' }, { title: '' }, { title: 'x', pages: 2147483647 }, { title: '' }];
      expect(await write({ method: 'POST', path: '/books', body })).toEqual({
        code: 'VALIDATION_FAILED',
        faults: ['#/1/title LENGTH', '#/3/title LENGTH'],
      });
      const twins = [
        { title: 'a', isbn: 'x' },
        { title: 'b', isbn: 'x' },
      ];
      expect(await write({ method: 'POST', path: '/books', body: twins })).toEqual({
        code: 'CONFLICT',
        faults: ['#/1/isbn NOT_UNIQUE'],
      });
      expect(await titles()).toEqual([]);
    });

    test('update by filter, up to the most that is meant', async () => {
      await make('a', 'b', 'c', 'd');
      const where = { pages: { gte: 2 } };
      expect(await write({ method: 'PUT', path: '/books', where, atMost: 2, body: { title: 'x' } })).toEqual({
        code: 'TOO_MANY_MATCHES',
        faults: [],
      });
      expect(await titles()).toEqual(['a', 'b', 'c', 'd']);
      const changed = await write({ method: 'PUT', path: '/books', where, atMost: 3, body: { title: 'x' } });
      expect(changed.map(({ title, pages }: any) => [title, pages])).toEqual([
        ['x', 2],
        ['x', 3],
        ['x', 4],
      ]);
      expect(await titles()).toEqual(['a', 'x', 'x', 'x']);
      expect((await app.rest('GET', `/books/${changed[0].id}`)).headers.get('ETag')).toStartWith('"2-');
      expect(
        await write({
          method: 'PUT',
          path: '/books',
          where: { pages: { eq: 99 } },
          atMost: 1,
          body: { title: 'y' },
        }),
      ).toEqual([]);
    });

    test('fewer than are meant are an error, and nothing has happened', async () => {
      await make('a', 'b', 'c');
      const where = { pages: { gte: 2 } };
      const few = { code: 'TOO_FEW_MATCHES', faults: [] };
      const change = { method: 'PUT', path: '/books', where, atMost: 5, body: { title: 'x' } };
      expect(await write({ ...change, atLeast: 3 })).toEqual(few);
      expect(await write({ method: 'DELETE', path: '/books', where, atMost: 5, atLeast: 3 })).toEqual(few);
      expect(await titles()).toEqual(['a', 'b', 'c']);
      const wrong = { code: 'VALIDATION_FAILED', faults: ['#/atLeast OUT_OF_RANGE'] };
      for (const atLeast of [0, -1, 6]) expect(await write({ ...change, atLeast })).toEqual(wrong);
      expect(await write({ ...change, atLeast: 2 })).toHaveLength(2);
      expect(await titles()).toEqual(['a', 'x', 'x']);
    });

    test('update by filter is held against the same rules as one', async () => {
      await make('a', 'b');
      const all = { method: 'PUT', path: '/books', where: {}, atMost: 10 };
      expect(await write({ ...all, body: { title: '' } })).toEqual({
        code: 'VALIDATION_FAILED',
        faults: ['#/title LENGTH'],
      });
      expect(await write({ ...all, body: {} })).toEqual({ code: 'VALIDATION_FAILED', faults: ['# EMPTY'] });
      expect(await write({ ...all, body: { isbn: 'same' } })).toMatchObject({
        code: 'CONFLICT',
        faults: ['#/isbn NOT_UNIQUE'],
      });
      expect(await titles()).toEqual(['a', 'b']);
    });

    test('delete by filter, with what cascades from it', async () => {
      const [first, second] = await make('a', 'b', 'c');
      await app.rest('POST', '/reviews', { bookId: first.id });
      const where = { title: { in: ['a', 'b'] } };
      expect(await write({ method: 'DELETE', path: '/books', where, atMost: 1 })).toEqual({
        code: 'TOO_MANY_MATCHES',
        faults: [],
      });
      const gone = await write({ method: 'DELETE', path: '/books', where, atMost: 2 });
      expect(gone.map(({ id }: any) => id)).toEqual([first.id, second.id]);
      expect([await titles(), (await app.rest('GET', '/reviews')).body]).toEqual([['c'], []]);
    });

    test('the guard is there', async () => {
      const where = {};
      for (const atMost of [0, -1, 50_001])
        expect(await write({ method: 'DELETE', path: '/books', where, atMost })).toEqual({
          code: 'VALIDATION_FAILED',
          faults: ['#/atMost OUT_OF_RANGE'],
        });
    });
  });

  test('REST keeps its routes: a collection takes no PUT and no DELETE, and needs filter and guard', async () => {
    expect((await app.rest('DELETE', '/books')).status).toBe(405);
    const { body } = await send(
      { method: 'DELETE', path: '/books' },
      { method: 'PUT', path: '/books', where: { nope: 1 }, atMost: 1, body: { title: 'x' } },
    );
    expect(body.errors.map((error: any) => `${error.pointer} ${error.code}`)).toEqual([
      '#/operations/0/where REQUIRED',
      '#/operations/0/atMost OUT_OF_RANGE',
      '#/operations/1/where/nope UNKNOWN',
    ]);
  });
});
