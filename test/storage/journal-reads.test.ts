/** Reads of the journal on SQLite: those that are long stop nobody, and end when they must. */

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
  await app.close();
});
afterAll(() => folder[Symbol.dispose]());

const none = 'where: { text: { eq: "z" } }';

describe('which of them leave the process', () => {
  test.each([
    ['{ changes(first: 1000) { position } }', false],
    ['{ docChanges(first: 1000) { position key } }', false],
    ['{ docs { _changes(first: 1000) { position } } }', false],
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
