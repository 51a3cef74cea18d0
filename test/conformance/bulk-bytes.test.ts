/** What an update of many records costs hangs on what was sent and on the records, never on one times the other. */

import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const PATTERN = '^bulk[0-9]+$';
const sdl = `
  type Note @resource {
    id: ID!
    title: String!
    words: [String!] @constraint(pattern: "${PATTERN}")
  }`;
const data = { notes: Array.from({ length: 20 }, (_, at) => ({ title: `n${at}` })) };

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data });
  });
  afterAll(() => app.close());

  const words = Array.from({ length: 50 }, (_, at) => `bulk${at}`);
  /** How often a value is held against its pattern. */
  const looks = async (write: () => Promise<unknown>) => {
    using tested = spyOn(RegExp.prototype, 'test');
    await write();
    return tested.mock.contexts.filter((each) => (each as RegExp).source === PATTERN).length;
  };

  test('what is sent is held against the schema once, not once for each record', async () => {
    const rest = (most: number) =>
      looks(async () => {
        const where = { id: { lte: most } };
        const { status } = await app.rest('POST', '/transaction', {
          operations: [{ method: 'PUT', path: '/notes?fields=id', where, atMost: 20, body: { words } }],
        });
        expect(status).toBe(200);
      });
    expect([await rest(20), await rest(1)]).toEqual([words.length, words.length]);
    const graphql = (most: number) =>
      looks(async () => {
        const { errors } = await app.graphql(
          'mutation ($words: [String!]!, $most: ID!) { updateNotes(where: { id: { lte: $most } }, atMost: 20, set: { words: $words }) { id } }',
          { words, most },
        );
        expect(errors).toBeUndefined();
      });
    expect([await graphql(20), await graphql(1)]).toEqual([words.length, words.length]);
  });
});
