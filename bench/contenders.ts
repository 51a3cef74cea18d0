/** Everybody in the comparison: how each is started and how it is asked for the same content. */

import { existsSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { fillFile, fillPostgres, fillSqlite } from './data.ts';
import { BOOK, NESTED } from './documents.ts';
import { duet } from './duet.ts';
import { type Ask, get, post, put } from './load.ts';
import type { Databases } from './postgres.ts';
import type { Command } from './process.ts';
import { FIRST_USERS, PAGE, type Row } from './rows.ts';

export const columns = {
  jsonServer: 'json-server',
  platformatic: 'Platformatic DB',
  postgraphile: 'PostGraphile 5',
  fastify: 'Fastify 5 + Mercurius JIT',
  limit: 'by hand on Bun (the limit)',
  duet: 'Duet',
} as const;

export type Column = keyof typeof columns;
export const columnNames = Object.keys(columns) as Column[];
export const peerNames = ['jsonServer', 'platformatic', 'postgraphile', 'fastify'] as const;

export interface Contender {
  readonly column: Column;
  /** What tells it from another in its column. */
  readonly database: 'its file' | 'SQLite' | 'PostgreSQL';
  readonly command: Command;
  readonly asks: Partial<Record<Row, Ask>>;
}

const bench = import.meta.dir;
const node = join(bench, 'node_modules/node/bin/node');
const manifest = ['node', 'json-server', '@platformatic/db', 'postgraphile', 'fastify', 'mercurius'];

/** The peers come from the registry, into this folder alone, and without running any script but the one that fetches Node. */
export async function installPeers(): Promise<void> {
  const missing = manifest.some((name) => !existsSync(join(bench, 'node_modules', name)));
  if (!missing && existsSync(node)) return;
  console.error('bench: installing the peers …');
  const npm = async (...words: string[]) => {
    const child = Bun.spawn(['npm', ...words], { cwd: bench, stdout: 'ignore', stderr: 'pipe' });
    const trouble = await child.stderr.text();
    if ((await child.exited) !== 0) console.error(trouble.trim());
  };
  // Native add-ons of drivers that are not used here would need a compiler.
  await npm('ci', '--ignore-scripts');
  await npm('rebuild', 'node');
}

const note = { title: 'Note {id}', body: 'Written down.' };
const bookVariables = { id: '{id}' };
const restOfBooks = { keyed: get('/books/{id}'), list: get(`/books?limit=${PAGE}`) };
const createByRest = { create: post('/notes', note) };
const changesByRest = {
  _inc: put('/items/1', { _inc: { stock: 1 } }),
  upsert: post('/items?upsert=sku', { sku: 'sku-{id}', name: 'Item of {id}', stock: 7 }),
};
const graphql = {
  book: post('/graphql', { query: BOOK, variables: bookVariables }),
  nested: post('/graphql', { query: NESTED, variables: { first: FIRST_USERS } }),
};
const onPostgres = {
  'pg-keyed': restOfBooks.keyed,
  'pg-list': restOfBooks.list,
  'pg-book': graphql.book,
  'pg-nested': graphql.nested,
};

interface Deployments {
  readonly folder: string;
  readonly file: string;
  readonly databases: Databases;
  /** What starts Duet, if not this code. */
  readonly program?: string;
}

/** Duet on both databases. */
export async function deployments({
  folder,
  file,
  databases,
  program,
}: Deployments): Promise<Record<'SQLite' | 'PostgreSQL', Contender>> {
  const of = (url?: string) => duet({ folder, data: file, url, ...(program !== undefined && { program }) });
  return {
    SQLite: {
      column: 'duet',
      database: 'SQLite',
      command: of(),
      asks: { ...restOfBooks, ...graphql, ...createByRest, ...changesByRest },
    },
    PostgreSQL: {
      column: 'duet',
      database: 'PostgreSQL',
      command: of(await databases.make()),
      asks: onPostgres,
    },
  };
}

/** Makes the databases of all. */
export async function contenders(folder: string, databases: Databases): Promise<Contender[]> {
  const file = join(folder, 'data.json');
  fillFile(file);
  const plain = await databases.make();
  await fillPostgres(plain);
  const place = () => mkdtempSync(join(folder, 'server-'));
  const sqlite = () => {
    const path = join(mkdtempSync(join(folder, 'sqlite-')), 'data.db');
    fillSqlite(path);
    return { DATABASE_FILE: path };
  };
  const byNode = (name: string, env: Record<string, string>, ready = get('/books/{id}')): Command => ({
    run: [node, join(bench, 'peers', `${name}.mjs`)],
    env,
    cwd: place(),
    ready,
  });
  const byBun = (name: string, env: Record<string, string>): Command => ({
    run: [process.execPath, '--no-env-file', join(bench, 'limit', `${name}.ts`)],
    env,
    cwd: place(),
    ready: get('/books/{id}'),
  });
  return [
    {
      column: 'jsonServer',
      database: 'its file',
      command: {
        run: [
          node,
          join(bench, 'node_modules/json-server/lib/cli/bin.js'),
          '--quiet',
          '--port',
          '{port}',
          file,
        ],
        cwd: place(),
        ready: get('/books/{id}'),
      },
      asks: {
        ...restOfBooks,
        list: get(`/books?_limit=${PAGE}`),
        create: post('/notes', note),
      },
    },
    {
      column: 'platformatic',
      database: 'PostgreSQL',
      command: byNode('platformatic', { DATABASE_URL: plain }),
      asks: onBoth({ ...restOfBooks, ...platformaticGraphql, ...createByRest }),
    },
    {
      column: 'postgraphile',
      database: 'PostgreSQL',
      command: byNode('postgraphile', { DATABASE_URL: plain }, post('/graphql', { query: '{ __typename }' })),
      asks: onBoth(postgraphileGraphql),
    },
    {
      column: 'fastify',
      database: 'SQLite',
      command: byNode('fastify', sqlite()),
      asks: { ...restOfBooks, ...graphql, ...createByRest },
    },
    {
      column: 'limit',
      database: 'SQLite',
      command: byBun('sqlite', sqlite()),
      asks: { ...restOfBooks, ...graphql, ...createByRest, ...changesByRest },
    },
    {
      column: 'limit',
      database: 'PostgreSQL',
      command: byBun('postgres', { DATABASE_URL: plain }),
      asks: onPostgres,
    },
    ...Object.values(await deployments({ folder, file, databases })),
  ];
}

/** Whoever knows PostgreSQL alone is in both halves of the table with the same requests. */
function onBoth(asks: Partial<Record<Row, Ask>>): Partial<Record<Row, Ask>> {
  const { keyed, list, book, nested } = asks;
  return {
    ...asks,
    ...(keyed && { 'pg-keyed': keyed }),
    ...(list && { 'pg-list': list }),
    ...(book && { 'pg-book': book }),
    ...(nested && { 'pg-nested': nested }),
  };
}

const platformaticGraphql = {
  book: post('/graphql', {
    query: 'query($id: ID!) { book: getBookById(id: $id) { id title author pages } }',
    variables: bookVariables,
  }),
  nested: post('/graphql', {
    // The comments of a post whose id is not selected are an empty list there.
    query:
      'query($first: LimitInt!) { users(limit: $first, orderBy: [{ field: id, direction: ASC }]) { id name posts { id title comments { body } } } }',
    variables: { first: FIRST_USERS },
  }),
};

const postgraphileGraphql = {
  book: post('/graphql', {
    query: 'query($id: BigInt!) { book: bookByRowId(rowId: $id) { id: rowId title author pages } }',
    variables: bookVariables,
  }),
  nested: post('/graphql', {
    query:
      'query($first: Int!) { users: allUsersList(first: $first) { name posts: postsByAuthorIdList { title comments: commentsByPostIdList { body } } } }',
    variables: { first: FIRST_USERS },
  }),
  create: post('/graphql', {
    query:
      'mutation($title: String!, $body: String!) { createNote(input: { note: { title: $title, body: $body } }) { note { id: rowId title body } } }',
    variables: note,
  }),
};
