/** The journal: every way to write a record is a change, in the order of commits, and both doors tell the same. */

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const sdl = `
type Author @resource @journal(keep: "forever") { id: ID! name: String! @unique books: [Book!]! @inverse(of: "author") }
type Book @resource @journal {
  id: ID!
  title: String!
  pages: Int! @default(value: 1)
  price: Decimal @decimal(scale: 2)
  tags: [String!]
  more: JSON
  author: Author @onDelete(do: CASCADE)
  editor: Author @onDelete(do: SET_NULL)
  updated: DateTime! @updatedAt
}
type Word @resource(path: "words") @journal(keep: "12h") { lang: ID! @key text: String! }
type Plain @resource { id: ID! text: String! }
`;

/** What does not hang on the clock or on chance. */
function bare(change: any) {
  const { position, at, transaction, requestId, before, after, ...rest } = change;
  const record = (one: any) => one && { ...one, updated: undefined };
  return { ...rest, before: record(before), after: record(after) };
}

const fields = 'id title pages price tags more authorId editorId updated';
const told = 'position at kind resource key version caller requestId transaction';

for (const database of databases)
  describe(`on ${database}`, () => {
    let app: AppUnderTest;
    beforeEach(async () => {
      app = await openApp(database, { sdl });
    });
    afterEach(() => app.close());

    const changes = async (path = '/changes') => {
      const answer = await app.rest('GET', path);
      expect([path, answer.status]).toEqual([path, 200]);
      return answer.body as any[];
    };

    /** Kind, type, key and version of each. */
    const brief = async (path?: string) =>
      (await changes(path)).map(
        ({ kind, resource, key, version }) => `${kind} ${resource} ${key} ${version}`,
      );

    test('a record is created, changed and deleted', async () => {
      const book = { title: 'Dune', pages: 412, price: '9.90', tags: ['sand'], more: { a: [1, null] } };
      expect((await app.rest('POST', '/books', book)).status).toBe(201);
      const sent = { 'X-Request-Id': 'mine' };
      expect((await app.rest('PUT', '/books/1', { title: 'Dune 2' }, sent)).status).toBe(200);
      expect((await app.rest('DELETE', '/books/1')).status).toBe(204);
      const all = await changes();
      const first = { ...book, id: 1, authorId: null, editorId: null };
      const second = { ...first, title: 'Dune 2' };
      const of = { resource: 'Book', key: 1, caller: null };
      expect(all.map(bare)).toEqual([
        { kind: 'CREATED', ...of, version: 1, before: null, after: first },
        { kind: 'UPDATED', ...of, version: 2, before: first, after: second },
        { kind: 'DELETED', ...of, version: 2, before: second, after: null },
      ]);
      expect(all[1].requestId).toBe('mine');
      expect(new Set(all.map(({ transaction }) => transaction)).size).toBe(3);
      expect(all.map(({ position }) => position)).toEqual(all.map(({ position }) => position).sort());
    });

    test('every way to write is told, each transaction together', async () => {
      const steps: [string, string[]][] = [
        [
          'mutation { createAuthor(name: "Ann", books: [{ title: "a" }, { title: "b" }]) { id } }',
          ['CREATED Author 1 1', 'CREATED Book 1 1', 'CREATED Book 2 1'],
        ],
        [
          'mutation { createBooks(records: [{ title: "c", editorId: 1 }, { title: "d" }]) { id } }',
          ['CREATED Book 3 1', 'CREATED Book 4 1'],
        ],
        ['mutation { updateBook(id: 4, _inc: { pages: 2 }) { id } }', ['UPDATED Book 4 2']],
        [
          'mutation { updateBooks(where: { pages: { eq: 1 } }, set: { pages: 5 }, atMost: 9) { id } }',
          ['UPDATED Book 1 2', 'UPDATED Book 2 2', 'UPDATED Book 3 2'],
        ],
        ['mutation { upsertAuthor(by: name, name: "Bob") { id } }', ['CREATED Author 2 1']],
        ['mutation { upsertAuthor(by: name, name: "Bob") { id } }', ['UPDATED Author 2 2']],
        [
          'mutation { upsertWords(by: lang, records: [{ lang: "en", text: "hi" }, { lang: "en", text: "ho" }]) { lang } }',
          ['CREATED Word en 1', 'UPDATED Word en 2'],
        ],
        [
          'mutation @atomic { createPlain(text: "x") { id } deleteBook(id: 4) { id } createWord(lang: "de", text: "ja") { lang } }',
          ['DELETED Book 4 2', 'CREATED Word de 1'],
        ],
        [
          'mutation { deleteAuthor(id: 1) { id } }',
          ['UPDATED Book 3 3', 'DELETED Author 1 1', 'DELETED Book 1 2', 'DELETED Book 2 2'],
        ],
        ['mutation { deleteBooks(where: {}, atMost: 9) { id } }', ['DELETED Book 3 3']],
      ];
      let after = '';
      for (const [query, expected] of steps) {
        const { errors } = await app.graphql(query);
        expect([query, errors]).toEqual([query, undefined]);
        const found = await changes(`/changes${after}`);
        expect([
          query,
          found.map((each) => `${each.kind} ${each.resource} ${each.key} ${each.version}`),
        ]).toEqual([query, expected]);
        expect(new Set(found.map(({ transaction }) => transaction)).size).toBe(1);
        after = `?after=${found.at(-1).position}`;
      }
      // Nothing of what failed, nor of a type without a journal.
      const failed =
        'mutation @atomic { createWord(lang: "fr", text: "oui") { lang } deleteBook(id: 99) { id } }';
      expect((await app.graphql(failed)).data).toBeNull();
      expect((await app.rest('POST', '/plains', { text: 'y' })).status).toBe(201);
      expect(await changes(`/changes${after}`)).toEqual([]);
    });

    test('a natural key goes on with its versions', async () => {
      await app.rest('POST', '/words', { lang: 'a/b', text: '1' });
      await app.rest('DELETE', '/words/a%2Fb');
      await app.rest('POST', '/words', { lang: 'a/b', text: '2' });
      expect(await brief('/changes/words/a%2Fb')).toEqual([
        'CREATED Word a/b 1',
        'DELETED Word a/b 1',
        'CREATED Word a/b 2',
      ]);
    });

    test('pages follow each other, and an answer says where to go on', async () => {
      const records = Array.from({ length: 7 }, (_, index) => ({ title: `b${index}` }));
      await app.graphql('mutation ($records: [BookInput!]!) { createBooks(records: $records) { id } }', {
        records,
      });
      const seen: number[] = [];
      let path: string | undefined = '/changes/books?limit=3';
      let position = '';
      for (let pages = 0; path && pages < 9; pages++) {
        const { body, headers } = await app.rest('GET', path);
        seen.push(...body.map(({ key }: any) => key));
        path = /^<([^>]*)>; rel="next"$/.exec(headers.get('Link') ?? '')?.[1];
        position = headers.get('Changes-Position') ?? '';
      }
      expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7]);
      expect(await changes(`/changes?after=${position}`)).toEqual([]);
      await app.rest('POST', '/books', { title: 'last' });
      expect(await brief(`/changes?after=${position}`)).toEqual(['CREATED Book 8 1']);
      expect((await app.graphql('{ changesPosition }')).data.changesPosition > position).toBe(true);
    });

    test('a filter is asked of what the record was before, and of what it is after', async () => {
      for (const [title, pages] of [
        ['a', 1],
        ['b', 9],
      ] as const)
        await app.rest('POST', '/books', { title, pages });
      await app.rest('PUT', '/books/1', { pages: 9 });
      await app.rest('PUT', '/books/2', { pages: 1 });
      await app.rest('PUT', '/books/2', { pages: 2 });
      const where = { pages: { gte: 9 } };
      const expected = ['CREATED Book 2 1', 'UPDATED Book 1 2', 'UPDATED Book 2 2'];
      expect(await brief(`/changes/books?where=${encodeURIComponent(JSON.stringify(where))}`)).toEqual(
        expected,
      );
      const { data } = await app.graphql(
        'query ($where: BookWhere) { bookChanges(where: $where) { kind key version } }',
        {
          where,
        },
      );
      expect(data.bookChanges.map((each: any) => `${each.kind} Book ${each.key} ${each.version}`)).toEqual(
        expected,
      );
    });

    test('both doors tell the same', async () => {
      await app.rest('POST', '/authors', { name: 'Ann' });
      await app.rest('POST', '/books', { title: 'a', authorId: 1, price: '1.50', tags: ['x'], more: [1] });
      await app.rest('PUT', '/books/1', { tags: null });
      const { data, errors } = await app.graphql(`{
        changes { ${told} before after }
        bookChanges(id: 1) { ${told} before { ${fields} } after { ${fields} } }
        first: changes(first: 1) { position }
      }`);
      expect(errors).toBeUndefined();
      const ids = (record: any) =>
        record && { ...record, id: String(record.id), authorId: record.authorId && String(record.authorId) };
      const all = await changes();
      expect(data.changes).toEqual(all.map((each) => ({ ...each, key: String(each.key) })));
      expect(data.bookChanges).toEqual(
        (await changes('/changes/books/1')).map((each) => ({
          ...each,
          key: String(each.key),
          before: ids(each.before),
          after: ids(each.after),
        })),
      );
      expect(data.first).toEqual([{ position: all[0].position }]);
    });

    test('records tell what has happened to them, however many with one statement', async () => {
      await app.rest('POST', '/authors', { name: 'Ann' });
      for (const title of ['a', 'b', 'c']) await app.rest('POST', '/books', { title, authorId: 1 });
      for (const pages of [2, 3]) await app.rest('PUT', '/books/2', { pages });
      const own = '_changes(first: 2) { kind version before { pages } after { pages title } }';
      const query = `{ authors { _changes { key } books { title ${own} } } book(id: 2) { ${own} late: _changes(after: $after) { version } } }`;
      const [, , , , third] = await changes();
      const asked = query.replace('$after', JSON.stringify(third.position));
      const { data, errors } = await app.graphql(asked);
      expect(errors).toBeUndefined();
      const created = (title: string) => ({
        kind: 'CREATED',
        version: 1,
        before: null,
        after: { pages: 1, title },
      });
      const updated = { kind: 'UPDATED', version: 2, before: { pages: 1 }, after: { pages: 2, title: 'b' } };
      expect(data.authors).toEqual([
        {
          _changes: [{ key: '1' }],
          books: [
            { title: 'a', _changes: [created('a')] },
            { title: 'b', _changes: [created('b'), updated] },
            { title: 'c', _changes: [created('c')] },
          ],
        },
      ]);
      expect(data.book).toEqual({ _changes: [created('b'), updated], late: [{ version: 3 }] });
      const count = async () => {
        app.statements.length = 0;
        await app.graphql('{ books { _changes { key } } }');
        // Now and then it is looked for webhooks.
        return app.statements.filter((sql) => !sql.includes('_duet_webhooks')).length;
      };
      const few = await count();
      for (const title of ['d', 'e']) await app.rest('POST', '/books', { title });
      expect(await changes()).toHaveLength(8);
      expect(await count()).toBe(few);
    });

    test('a write answers with what had happened before it', async () => {
      const own = '{ _changes { kind version } }';
      const both = await app.graphql(
        `mutation { a: createBook(title: "a") ${own} b: updateBook(id: 1, pages: 2) ${own} }`,
      );
      expect(both.data).toEqual({ a: { _changes: [] }, b: { _changes: [{ kind: 'CREATED', version: 1 }] } });
      const atomic = await app.graphql(`mutation @atomic { updateBook(id: 1, pages: 3) ${own} }`);
      expect(atomic.data.updateBook._changes).toHaveLength(2);
      const gone = await app.graphql(`mutation { deleteBook(id: 1) ${own} }`);
      expect(gone.data.deleteBook._changes).toHaveLength(3);
    });

    test('what cannot be asked is told', async () => {
      await app.rest('POST', '/books', { title: 'a' });
      const faults = async (path: string) => {
        const { status, body } = await app.rest('GET', path);
        return [status, body.code, body.errors?.map(({ parameter, code }: any) => `${parameter} ${code}`)];
      };
      const made = '000000000000000112345678abcd';
      expect(await faults('/changes?after=1')).toEqual([400, 'VALIDATION_FAILED', ['after CURSOR']]);
      expect(await faults(`/changes?after=${made}`)).toEqual([400, 'VALIDATION_FAILED', ['after CURSOR']]);
      expect(await faults('/changes?limit=0')).toEqual([400, 'VALIDATION_FAILED', ['limit OUT_OF_RANGE']]);
      expect(await faults('/changes?where={}')).toEqual([400, 'VALIDATION_FAILED', ['where UNKNOWN']]);
      const related = encodeURIComponent('{"author":{"name":{"eq":"Ann"}}}');
      expect(await faults(`/changes/books?where=${related}`)).toEqual([
        400,
        'VALIDATION_FAILED',
        ['where UNKNOWN'],
      ]);
      expect((await faults('/changes/plains'))[0]).toBe(404);
      expect((await app.rest('POST', '/changes', {})).status).toBe(405);
      expect(await changes('/changes/books/abc')).toEqual([]);
      expect(await changes('/changes/books/2')).toEqual([]);
      const left = await app.graphql('query ($id: ID) { bookChanges(id: $id) { key } }');
      expect(left.errors?.[0].extensions.errors[0]).toMatchObject({ pointer: '#/id', code: 'REQUIRED' });
      const bad = await app.graphql('{ changes(after: "1") { key } }');
      expect(bad.errors?.[0].extensions.errors[0]).toMatchObject({ pointer: '#/after', code: 'CURSOR' });
      const none = await app.graphql('{ plainChanges { key } }');
      expect(none.errors?.[0].message).toContain('Cannot query field "plainChanges"');
    });
  });
