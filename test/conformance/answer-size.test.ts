/** How long an answer may be: counted as it is written out, before too much is read or put together. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Row } from '../../src/storage/statements.ts';
import type { Program, Storage } from '../../src/storage/storage.ts';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  type Shelf @resource(plural: "shelves") { id: ID!  name: String!  notes: [Note!]! }
  type Note @resource { id: ID!  body: String!  data: JSON  tags: [String!]  short: String @constraint(maxLength: 20)  shelf: Shelf  comments: [Comment!]! }
  type Comment @resource { id: ID!  text: String!  note: Note! @onDelete(do: CASCADE) }`;

const LIMIT = 100_000;

/** Notes on the first shelf, each with a body of so many letters, and a comment of the same length. */
function notes(count: number, length: number, comments = false) {
  return {
    shelves: [{ name: 'a' }],
    notes: Array.from({ length: count }, (_, index) => ({ body: letters(index, length), shelfId: 1 })),
    comments: comments
      ? Array.from({ length: count }, (_, index) => ({ text: letters(index, length), noteId: index + 1 }))
      : [],
  };
}

function letters(index: number, length: number): string {
  return String(index).padEnd(length, 'abcdefgh');
}

/** The most text that one statement handed to a program. */
class Watched {
  most = 0;

  around = (storage: Storage): Storage =>
    new Proxy(storage, {
      get: (target, name) => {
        const value = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        if (name === 'ask') return async (...args: unknown[]) => this.#seen(await value.apply(target, args));
        if (name === 'read' || name === 'write')
          return (program: () => Program<unknown>, ...rest: unknown[]) =>
            value.call(target, () => this.#watching(program()), ...rest);
        return value.bind(target);
      },
    });

  #seen(rows: Row[]): Row[] {
    const lengths = rows.flatMap((row) =>
      Object.values(row).map((value) => (typeof value === 'string' ? value.length : 0)),
    );
    this.most = Math.max(
      this.most,
      lengths.reduce((sum, each) => sum + each, 0),
    );
    return rows;
  }

  *#watching(program: Program<unknown>): Program<unknown> {
    let step = program.next();
    while (!step.done) {
      let rows: readonly Row[][];
      try {
        rows = yield step.value;
      } catch (error) {
        step = program.throw(error);
        continue;
      }
      for (const each of rows) this.#seen([...each]);
      step = program.next(rows);
    }
    return step.value;
  }
}

const aliases = (count: number, field: string) =>
  Array.from({ length: count }, (_, index) => `a${index}: ${field}`).join(' ');

async function codes(app: AppUnderTest, path: string, query: string) {
  const rest = await app.rest('GET', path);
  const { data, errors } = await app.graphql(query);
  return [
    rest.status === 200 ? 'fine' : `${rest.status} ${rest.body.code}`,
    errors ? `${data === null} ${errors[0].extensions.code}` : 'fine',
  ];
}
const TOO_LARGE = ['400 ANSWER_TOO_LARGE', 'true ANSWER_TOO_LARGE'];
/** Where the field may be null. */
const REFUSED = ['400 ANSWER_TOO_LARGE', 'false ANSWER_TOO_LARGE'];
const FINE = ['fine', 'fine'];

describe.each([...databases])('on %s', (database) => {
  const open = (data: object, watched = new Watched(), env: Record<string, string> = {}) =>
    openApp(database, { sdl, data, env: { LIMIT_BYTES: String(LIMIT), ...env }, around: watched.around });

  describe('9 notes of a tenth of the limit each', () => {
    let app: AppUnderTest;
    beforeAll(async () => {
      app = await open(notes(9, LIMIT / 10, true));
    });
    afterAll(() => app.close());

    test.each<[string, string, string, string[]]>([
      ['a list', '/notes', '{ notes { id body } }', FINE],
      ['one record', '/notes/1', '{ note(id: 1) { body } }', FINE],
      ['a connection', '/notes?limit=9', '{ notesConnection(first: 9) { edges { node { body } } } }', FINE],
      ['without what is long', '/notes?fields=id', '{ notes { id } }', FINE],
      ['with what is below', '/notes?include=comments', '{ notes { body comments { text } } }', TOO_LARGE],
      [
        'and with less of it',
        '/notes?include=comments&fields=id,comments.text',
        '{ notes { id comments { text } } }',
        FINE,
      ],
      [
        'the same record for each',
        '/notes?include=shelf.notes&limit=2',
        '{ notes(first: 2) { shelf { notes { body } } } }',
        TOO_LARGE,
      ],
      [
        'groups',
        '/notes?aggregate=max(body)&groupBy=id',
        '{ notesAggregate(groupBy: [id]) { by { id } max { body } } }',
        FINE,
      ],
      [
        'groups of what is long',
        '/notes?aggregate=max(body),min(body)&groupBy=id',
        '{ notesAggregate(groupBy: [id]) { max { body } min { body } } }',
        TOO_LARGE,
      ],
    ])('%s', async (_, path, query, expected) => {
      // A document is compiled for the second time.
      for (let time = 0; time < 3; time++) expect(await codes(app, path, query)).toEqual(expected);
    });

    test.each<[string, string, string | undefined]>([
      ['a field once', '{ note(id: 1) { body } }', undefined],
      ['a field of one record 9 times', `{ note(id: 1) { ${aliases(9, 'body')} } }`, undefined],
      ['a field of one record 11 times', `{ note(id: 1) { ${aliases(11, 'body')} } }`, 'ANSWER_TOO_LARGE'],
      ['a field of a list twice', '{ notes { body again: body } }', 'ANSWER_TOO_LARGE'],
      ['a list twice', '{ notes { body } again: notes { body } }', 'ANSWER_TOO_LARGE'],
      ['a list twice, the second without what is long', '{ notes { body } again: notes { id } }', undefined],
      ['a nested list twice', '{ shelves { notes { body } again: notes { body } } }', 'ANSWER_TOO_LARGE'],
      [
        'a nested list twice, the second without',
        '{ shelves { notes { body } again: notes { id } } }',
        undefined,
      ],
      [
        'a node twice',
        '{ notesConnection { edges { node { body } again: node { body } } } }',
        'ANSWER_TOO_LARGE',
      ],
      [
        'edges twice',
        '{ notesConnection { edges { node { body } } again: edges { node { body } } } }',
        'ANSWER_TOO_LARGE',
      ],
      [
        'edges twice, the second without',
        '{ notesConnection { edges { node { body } } again: edges { cursor } } }',
        undefined,
      ],
      [
        'a greatest value twice',
        '{ notesAggregate(groupBy: [id]) { max { body again: body } } }',
        'ANSWER_TOO_LARGE',
      ],
      [
        'what was changed, twice',
        'mutation { updateNotes(where: {}, set: { short: "x" }, atMost: 9) { body again: body } }',
        'ANSWER_TOO_LARGE',
      ],
    ])('GraphQL: %s', async (_, query, code) => {
      for (let time = 0; time < 3; time++) {
        const { errors } = await app.graphql(query);
        expect(errors?.map(({ extensions }) => extensions.code)).toEqual(
          code === undefined ? undefined : [code],
        );
      }
      expect((await app.rest('GET', '/notes/1?fields=short')).body.short).toBeNull();
    });

    test('the objects of a list that is asked for twice count twice', async () => {
      const small = await openApp(database, { sdl, data: notes(9, 1), env: { LIMIT_OBJECTS: '15' } });
      const query = (fields: string) => small.graphql(`{ shelves { notes { id } ${fields} } }`);
      expect((await query('')).errors).toBeUndefined();
      expect((await query('again: notes { body }')).errors?.[0].extensions.code).toBe('TOO_MANY_OBJECTS');
      await small.close();
    });

    test('answers to writes', async () => {
      const body = letters(0, LIMIT / 4);
      const { body: made } = await app.rest('POST', '/notes', { body });
      const put = { method: 'PUT', path: `/notes/${made.id}`, body: { short: 'x' } };
      const send = async (...operations: unknown[]) =>
        (await app.rest('POST', '/transaction', { operations })).body.code ?? 'fine';
      expect(await send(put, put, put)).toBe('fine');
      expect(await send(put, put, put, put, put)).toBe('ANSWER_TOO_LARGE');
      const many = { method: 'POST', path: '/notes', body: Array.from({ length: 5 }, () => ({ body })) };
      expect(await send(many)).toBe('ANSWER_TOO_LARGE');
      const where = { id: { gte: 1 } };
      const list = app.graphql(
        'mutation { updateNotes(where: { id: { gte: 1 } }, set: { short: "y" }, atMost: 99) { body } }',
      );
      expect((await list).errors?.[0].extensions.code).toBe('ANSWER_TOO_LARGE');
      expect(await send({ method: 'DELETE', path: '/notes', where, atMost: 99 })).toBe('ANSWER_TOO_LARGE');
      expect((await app.rest('GET', '/notes?fields=id')).body.length).toBe(10);
      expect(await send({ method: 'DELETE', path: `/notes/${made.id}` })).toBe('fine');
    });
  });

  test('JSON and lists of text count too', async () => {
    const app = await open({});
    const long = Array.from({ length: 100 }, () => letters(0, LIMIT / 400));
    for (const data of [{ data: { long } }, { tags: long }]) {
      for (let count = 0; count < 5; count++) await app.rest('POST', '/notes', { body: '', ...data });
      expect(await codes(app, '/notes?limit=3', '{ notes(first: 3) { data tags } }')).toEqual(FINE);
      expect(await codes(app, '/notes', '{ notes { data tags } }')).toEqual(TOO_LARGE);
      await app.graphql('mutation { deleteNotes(where: {}, atMost: 9) { id } }');
    }
    await app.close();
  });

  describe('what takes more than a byte for a character counts as it is written', () => {
    const LENGTH = LIMIT / 10;
    const rows: [what: string, character: string, fit: number][] = [
      ['a letter', 'a', 9],
      ['a quotation mark', '"', 4],
      ['the end of a line', '\n', 4],
      ['a letter with an accent', 'é', 4],
      ['a sign of three bytes', '€', 3],
      ['half of what has four bytes', '😀', 4],
      ['what is escaped', '\u0001', 1],
    ];
    let app: AppUnderTest;
    beforeAll(async () => {
      app = await open({});
      await app.rest('POST', '/shelves', { name: 'a' });
    });
    afterAll(() => app.close());

    test.each(rows)('%s', async (_, character, fit) => {
      const text = character.repeat(LENGTH / character.length);
      const half = text.slice(0, LENGTH / 2);
      const note = { body: text, data: { of: half }, tags: [half], shelfId: 1 };
      for (let count = 0; count <= fit; count++) await app.rest('POST', '/notes', note);
      const asked: [string, string][] = [
        ['/notes?fields=body', '{ notes { body } }'],
        ['/notes?fields=data,tags', '{ notes { data tags } }'],
        ['/shelves?include=notes&fields=id,notes.body', '{ shelves { notes { body } } }'],
        ['/notes?aggregate=max(body)&groupBy=id', '{ notesAggregate(groupBy: [id]) { max { body } } }'],
      ];
      for (const [path, query] of asked) expect(await codes(app, path, query)).toEqual(TOO_LARGE);
      const { body } = await app.rest('GET', '/notes?fields=id&limit=1');
      await app.rest('DELETE', `/notes/${body[0].id}`);
      for (const [path, query] of asked) {
        expect(await codes(app, path, query)).toEqual(FINE);
        expect((await (await app.fetch(path)).bytes()).length).toBeLessThan(LIMIT);
      }
      await app.graphql('mutation { deleteNotes(where: {}, atMost: 99) { id } }');
    });

    test('a single record, and what was read before it was known to be much', async () => {
      const escaped = (length: number) => '\u0001'.repeat(length);
      const { body: alone } = await app.rest('POST', '/notes', { body: escaped(LIMIT / 5) });
      expect(await codes(app, `/notes/${alone.id}`, `{ note(id: ${alone.id}) { body } }`)).toEqual(REFUSED);
      const { body: shelf } = await app.rest('POST', '/shelves', { name: escaped(0.16 * LIMIT) });
      const both: [string, string] = [
        `/shelves/${shelf.id}?include=notes`,
        `{ shelf(id: ${shelf.id}) { name notes { body } } }`,
      ];
      expect(await codes(app, ...both)).toEqual(FINE);
      await app.rest('POST', '/notes', { body: letters(0, LIMIT / 20), shelfId: shelf.id });
      expect(await codes(app, ...both)).toEqual(REFUSED);
    });

    test('a write whose answer would be too long has not happened', async () => {
      const body = '"'.repeat(LIMIT / 4);
      const { body: made } = await app.rest('POST', '/notes', { body });
      const put = { method: 'PUT', path: `/notes/${made.id}`, body: { short: 'x' } };
      const refused = await app.rest('POST', '/transaction', { operations: [put, put, put] });
      expect(refused.body.code).toBe('ANSWER_TOO_LARGE');
      expect((await app.rest('GET', `/notes/${made.id}?fields=short`)).body.short).toBeNull();
    });
  });

  test('an export may be as long as it is', async () => {
    const app = await open(notes(40, LIMIT / 10));
    const csv = await app.fetch('/notes?fields=body', { headers: { Accept: 'text/csv' } });
    expect(csv.status).toBe(200);
    expect((await csv.text()).length).toBeGreaterThan(4 * LIMIT);
    await app.close();
  });

  test.each<[string, string, string]>([
    ['a list', '/notes', '{ notes { body } }'],
    [
      'a long page',
      '/notes?limit=500',
      '{ notesConnection(first: 500) { edges { node { body } } totalCount } }',
    ],
    ['what is below', '/shelves?include=notes', '{ shelves { notes { body } } }'],
    [
      'what is below, level by level',
      '/shelves?include=notes.shelf.notes',
      '{ shelves { notes { body } more: notes(first: 200) { body } } }',
    ],
    [
      'groups',
      '/notes?groupBy=body&aggregate=count',
      '{ notesAggregate(groupBy: [body]) { by { body } count } }',
    ],
    [
      'a write on many',
      '/notes',
      'mutation { updateNotes(where: {}, set: { short: "x" }, atMost: 900) { id } }',
    ],
  ])('no statement answers with much more than fits: %s', async (_, path, query) => {
    const watched = new Watched();
    const app = await open(notes(300, LIMIT / 20), watched);
    watched.most = 0;
    expect(await codes(app, path, query)).toEqual(TOO_LARGE);
    expect(watched.most).toBeLessThan(4 * LIMIT);
    await app.close();
  });

  test('nor does one that reads a field of the records that may show it', async () => {
    const watched = new Watched();
    const app = await openApp(database, {
      sdl: `type Doc @resource @allow(to: [READ]) {
        id: ID!  owner: String!  text: String @allow(to: [READ], where: { owner: { eq: { claim: "sub" } } })
      }`,
      data: { docs: Array.from({ length: 300 }, () => ({ owner: 'eve', text: letters(0, LIMIT / 20) })) },
      env: { LIMIT_BYTES: String(LIMIT), AUTH_SECRET: SECRET },
      around: watched.around,
    });
    const eve = await headersOf({ name: 'eve of the sizes', claims: { sub: 'eve' } });
    expect((await app.rest('GET', '/docs', undefined, eve)).body.code).toBe('ANSWER_TOO_LARGE');
    const { errors } = await app.graphql('{ docs { text } }', {}, eve);
    expect(errors?.[0].extensions.code).toBe('ANSWER_TOO_LARGE');
    expect(watched.most).toBeLessThan(4 * LIMIT);
    await app.close();
  });

  test('85 records of 0.9 MB under 30 aliases, and as a list', async () => {
    const app = await openApp(database, { sdl, data: notes(85, 900_000) });
    expect(await codes(app, '/notes', '{ notes { body } }')).toEqual(TOO_LARGE);
    const repeated = await app.graphql(`{ notes { ${aliases(30, 'body')} } }`);
    expect(repeated.errors?.[0].extensions.code).toBe('ANSWER_TOO_LARGE');
    const lists = await app.graphql(`{ ${aliases(30, 'notes { body }')} }`);
    expect(lists.errors?.[0].extensions.code).toBe('ANSWER_TOO_LARGE');
    expect(await codes(app, '/notes?limit=30', '{ notes(first: 30) { body } }')).toEqual(FINE);
    await app.close();
  });
});

test('a read that another process carries out is held to it there', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'duet-size-'));
  const watched = new Watched();
  const app = await openApp('sqlite', {
    sdl,
    data: notes(25_000, 100),
    url: `sqlite:${join(folder, 'duet.db')}`,
    env: { LIMIT_BYTES: String(LIMIT) },
    around: watched.around,
  });
  const found = (limit: number) => app.rest('GET', `/notes?body[contains]=abc&sort=body&limit=${limit}`);
  expect((await found(20_000)).body.code).toBe('ANSWER_TOO_LARGE');
  expect(watched.most).toBeLessThan(4 * LIMIT);
  expect((await found(20)).body.length).toBe(20);
  await app.close();
  rmSync(folder, { recursive: true });
});
