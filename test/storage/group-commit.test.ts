/** Writes that arrive together share a commit, but not a fate. */

import { afterAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { Folder } from '../process.ts';

const sdl = `
  type Author @resource { id: ID!  nick: String @unique  books: [Book!]! }
  type Book @resource { id: ID!  title: String!  author: Author! @onDelete(do: CASCADE) }`;

describe.each([...databases, 'a file of sqlite'] as const)('on %s', (kind) => {
  const database = kind === 'postgres' ? kind : 'sqlite';
  const folder = new Folder();
  afterAll(() => folder[Symbol.dispose]());
  const url = (name: string) =>
    kind === 'a file of sqlite' ? { url: `sqlite:${folder.file(name)}` } : undefined;

  test('one that fails does so alone, and leaves nothing behind', async () => {
    const app = await openApp(database, {
      ...url('alone.db'),
      sdl,
      data: {
        authors: [{ nick: 'taken' }, { nick: 'doomed' }, { nick: 'third' }],
        books: [{ title: 'b', authorId: 2 }],
      },
    });
    const answers = await Promise.all([
      ...Array.from({ length: 60 }, (_, index) => app.rest('POST', '/authors', { nick: `n${index}` })),
      ...Array.from({ length: 30 }, () => app.rest('POST', '/authors', { nick: 'taken' })),
      ...Array.from({ length: 30 }, () => app.rest('POST', '/authors', { nick: 7 })),
      ...Array.from({ length: 30 }, () => app.rest('POST', '/books', { title: 7 })),
      ...Array.from({ length: 30 }, () => app.rest('POST', '/books', { title: 't', authorId: 4711 })),
      ...Array.from({ length: 30 }, () => app.rest('PUT', '/authors/3', { nick: 'doomed' })),
      app.rest('DELETE', '/authors/2'),
      ...Array.from({ length: 30 }, () => app.rest('POST', '/books', { title: 't', authorId: 1 })),
    ]);
    const statuses = Map.groupBy(answers, ({ status }) => status);
    expect(statuses.get(204)?.length).toBe(1);
    expect(statuses.get(201)?.length).toBe(90);
    expect(statuses.get(400)?.length).toBe(60);
    // Whether an update still collides depends on whether the delete came before it.
    expect((statuses.get(409)?.length ?? 0) + (statuses.get(200)?.length ?? 0)).toBe(90);
    const ids = answers.filter(({ status }) => status === 201).map(({ body }) => body.id);
    expect(ids.length).toBe(90);
    const authors = (await app.rest('GET', '/authors')).body;
    expect(authors.filter(({ nick }: any) => /^n\d+$/.test(nick)).length).toBe(60);
    expect((await app.rest('GET', '/books')).body.every(({ authorId }: any) => authorId === 1)).toBe(true);
    expect((await app.rest('GET', '/books')).body.length).toBe(30);
    await app.close();
  });

  test('of many writers with one version exactly one wins, through any mix of doors', async () => {
    const app = await openApp(database, { ...url('one.db'), sdl, data: { authors: [{}] } });
    for (let round = 0; round < 10; round++) {
      const { headers } = await app.rest('GET', '/authors/1');
      const tag = headers.get('ETag') ?? '';
      const version = Number(/\d+/.exec(tag)?.[0]);
      const query =
        'mutation($nick: String, $v: Int) { updateAuthor(id: 1, nick: $nick, ifVersion: $v) { nick } }';
      const outcomes = await Promise.all(
        Array.from({ length: 24 }, async (_, index) => {
          const nick = `r${round}w${index}`;
          if (index % 2 === 0) {
            const { status } = await app.rest('PUT', '/authors/1', { nick }, { 'If-Match': tag });
            return status === 200 ? nick : status;
          }
          const { errors } = await app.graphql(query, { nick, v: version });
          return errors ? errors[0].extensions.code : nick;
        }),
      );
      const winners = outcomes.filter((outcome) => /^r\d+w/.test(String(outcome)));
      expect(winners.length).toBe(1);
      expect(new Set(outcomes.filter((outcome) => outcome !== winners[0]))).toEqual(
        new Set([412, 'VERSION_CONFLICT']),
      );
      expect((await app.rest('GET', '/authors/1')).body.nick).toBe(winners[0]);
    }
    await app.close();
  });
});

/** Each writes something before it fails: of a record, of a list, of a transaction, or the key it was sent under. */
const failing: Record<string, (app: AppUnderTest, name: string) => Promise<unknown>> = {
  'a record nested in it': (app, name) =>
    app.rest('POST', '/authors', { nick: name, pens: [{ name: `${name} pen` }, { name: 'taken' }] }),
  'a later record of a list': (app, name) =>
    app.graphql('mutation($records: [AuthorInput!]!) { createAuthors(records: $records) { id } }', {
      records: [{ nick: name }, { nick: `${name} too` }, { nick: 'taken' }],
    }),
  'a later operation': (app, name) =>
    app.rest('POST', '/transaction', {
      operations: [
        { method: 'PUT', path: '/authors/1', body: { nick: name } },
        { method: 'DELETE', path: '/authors/2' },
        { method: 'POST', path: '/authors', body: { nick: name }, as: 'author' },
        { method: 'POST', path: '/pens', body: { name: 'taken', authorId: { $ref: 'author.id' } } },
      ],
    }),
  'a later field of @atomic': (app, name) =>
    app.graphql(
      'mutation($nick: String!) @atomic { a: createAuthor(nick: $nick) { id } b: createAuthor(nick: "taken") { id } }',
      { nick: name },
    ),
  'a write with a key': (app, name) =>
    app.rest('POST', '/authors', { nick: 'taken' }, { 'Idempotency-Key': name }),
  'a cascade that something refers to': (app) => app.rest('DELETE', '/authors/3'),
};

const succeeding: Record<string, (app: AppUnderTest, name: string) => Promise<unknown>> = {
  'one record': (app, name) => app.rest('POST', '/authors', { nick: name }),
  'nested records': (app, name) => app.rest('POST', '/authors', { nick: name, pens: [{ name }] }),
  'a transaction': (app, name) =>
    app.rest('POST', '/transaction', {
      operations: [
        { method: 'POST', path: '/authors', body: { nick: name }, as: 'author' },
        { method: 'POST', path: '/pens', body: { name, authorId: { $ref: 'author.id' } } },
      ],
    }),
  'a write with a key': (app, name) =>
    app.rest('POST', '/authors', { nick: name }, { 'Idempotency-Key': `${name} key`.replace(/\W/g, '') }),
};

const penned = `
  type Author @resource { id: ID!  nick: String @unique  pens: [Pen!]! }
  type Pen @resource { id: ID!  name: String! @unique  author: Author @onDelete(do: CASCADE)  letters: [Letter!]! }
  type Letter @resource { id: ID!  pen: Pen! }`;
const before = {
  authors: [{ nick: 'first' }, { nick: 'second' }, { nick: 'third' }, { nick: 'taken' }],
  pens: [{ name: 'taken' }, { name: 'free', authorId: 3 }, { name: 'in use', authorId: 3 }],
  letters: [{ penId: 3 }],
};

describe.each([
  ['sqlite', 'memory'],
  ['sqlite', 'a file'],
  ['postgres', 'a server'],
] as const)('on %s, %s', (database, where) => {
  test.each(Object.keys(failing))(
    'what fails by %s leaves nothing, and takes nobody with it',
    async (how) => {
      using folder = new Folder();
      const url = where === 'a file' && { url: `sqlite:${folder.file('x.db')}` };
      const app = await openApp(database, { sdl: penned, data: before, ...url });
      const nicks = ['first', 'second', 'third', 'taken'];
      const pens = ['taken', 'free', 'in use'];
      // Sent in one turn, they arrive together; a file is written to by another way once it is known to be slow.
      for (let round = 0; round < 3; round++) {
        const sent: Promise<any>[] = [];
        for (const [good, succeed] of Object.entries(succeeding)) {
          const name = `${good} ${round}`;
          sent.push(succeed(app, name), failing[how]?.(app, `bad${sent.length}${round}`) ?? Promise.reject());
          nicks.push(name);
          if (/nested|transaction/.test(good)) pens.push(name);
        }
        const answers = await Promise.all(sent);
        const failed = ({ status, body }: any) => status >= 400 || body.errors !== undefined;
        expect(answers.map(failed)).toEqual(answers.map((_, index) => index % 2 === 1));
        const { body: authors } = await app.rest('GET', '/authors?sort=id');
        expect(authors.map(({ nick }: any) => nick).toSorted()).toEqual(nicks.toSorted());
        const { body: stored } = await app.rest('GET', '/pens?sort=id');
        expect(stored.map(({ name }: any) => name).toSorted()).toEqual(pens.toSorted());
      }
      // A key whose write failed was never used.
      const headers = { 'Idempotency-Key': 'bad00' };
      expect((await app.rest('POST', '/authors', { nick: 'with that key' }, headers)).status).toBe(201);
      await app.close();
    },
  );
});
