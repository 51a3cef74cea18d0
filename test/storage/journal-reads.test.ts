/** Reads of the journal on SQLite: those that are long stop nobody, and end when they must. */

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openApp } from '../app.ts';
import { Folder } from '../process.ts';

const sdl = `
  type Doc @resource @journal { id: ID!  text: String! }
  type Note @resource @journal { id: ID!  text: String! }`;
const folder = new Folder({});
const url = `sqlite:${folder.file('duet.db')}`;

beforeAll(async () => {
  const app = await openApp('sqlite', { sdl, data: {}, url });
  for (let at = 0; at < 6; at++) await app.rest('POST', '/docs', { text: `${at} `.padEnd(900_000, 'x') });
  for (let at = 0; at < 4; at++) await app.rest('PUT', '/docs/1', { text: `${at} `.padEnd(900_000, 'y') });
  const records = Array.from({ length: 300 }, () => ({ text: 'x' }));
  await app.graphql('mutation ($records: [NoteInput!]!) { createNotes(records: $records) { id } }', {
    records,
  });
  await app.close();
  // As many changes as a table has that is large.
  const database = new Database(folder.file('duet.db'));
  database.run(`WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 21000)
    INSERT INTO "_duet_changes" ("at", "kind", "table", "key", "version", "transaction")
    SELECT '2026-01-01T00:00:00.000Z', 'UPDATED', 'Note', 1 + i % 300, i, 't' FROM s`);
  database.close();
});
afterAll(() => folder[Symbol.dispose]());

const none = 'where: { text: { eq: "z" } }';

describe('which of them leave the process', () => {
  test.each([
    ['{ changes(first: 1000) { position } }', false],
    ['{ docChanges(first: 1000) { position key } }', false],
    ['{ docs { _changes(first: 1000) { position } } }', false],
    ['{ notes(first: 100) { _changes(first: 50) { position } } }', false],
    ['{ notes(first: 300) { _changes(first: 1000) { position } } }', true],
    ['{ noteChanges(first: 1000) { after { text } } }', false],
    ['{ changes(first: 1000) { after } }', true],
    [`{ docChanges(first: 1, ${none}) { position } changesPosition }`, true],
    ['{ docs { _changes(first: 1000) { after { id } } } }', true],
    ['{ doc(id: 1) { _changes(first: 1000) { before { id } } } }', true],
  ])('%s %p', async (query, leaves) => {
    // A reader that cannot be: whatever needs one fails, and nothing else.
    const app = await openApp('sqlite', { sdl, data: {}, url, apart: ['false'] });
    const { errors } = await app.graphql(query);
    expect(errors?.[0].extensions.code).toBe(leaves ? 'UNAVAILABLE' : undefined);
    await app.close();
  });
});

test('what is done in the background when the database is closed ends nothing else', async () => {
  const own = new Folder({});
  const app = await openApp('sqlite', { sdl, data: {}, url: `sqlite:${own.file('duet.db')}` });
  const query = 'mutation ($records: [NoteInput!]!) { createNotes(records: $records) { id } }';
  // So many that old changes are looked for, after the answer.
  const records = Array.from({ length: 300 }, () => ({ text: 'x' }));
  expect((await app.graphql(query, { records })).errors).toBeUndefined();
  await app.close();
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  own[Symbol.dispose]();
});
