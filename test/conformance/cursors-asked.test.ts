/** A connection makes cursors where they are asked for, and reads what they are made of only then. */

import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const sdl = `
  type Note @resource { id: ID!  text: String!  lines: [Line!]! }
  type Line @resource { id: ID!  note: Note!  text: String! }`;
const data = {
  notes: ['c', 'a', 'b'].map((text) => ({ text: text.repeat(600) })),
  lines: Array.from({ length: 9 }, (_, at) => ({ noteId: (at % 3) + 1, text: 'x' })),
};

const asked: [fields: string, reads: boolean][] = [
  ['edges { node { id } }', false],
  ['edges { node { id } } pageInfo { hasNextPage hasPreviousPage }', false],
  ['edges { node { id } } totalCount', false],
  ['edges { node { id text } }', true],
  ['edges { cursor }', true],
  ['edges { place: cursor node { id } }', true],
  ['edges { node { id } } again: edges { cursor }', true],
  ['pageInfo { endCursor }', true],
  ['edges { node { id } } pageInfo { last: endCursor }', true],
  ['pageInfo { ... on PageInfo { startCursor } }', true],
  ['edges { node { id } ... @include(if: true) { on: cursor } }', true],
];

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data });
  });
  afterAll(() => app.close());

  const ask = (fields: string, more = '') =>
    app.graphql(`{ notesConnection(first: 2${more}, orderBy: [{ text: ASC }]) { ${fields} } }`);

  test.each(asked)('%s', async (fields, reads) => {
    for (let time = 0; time < 3; time++) {
      app.statements.length = 0;
      const { errors } = await ask(fields);
      expect(errors).toBeUndefined();
      const read = app.statements.map((sql) => sql.slice(0, sql.indexOf(' FROM '))).join('\n');
      expect(read.includes('"text"')).toBe(reads);
    }
  });

  test('all of them lead to the same places', async () => {
    const { edges, pageInfo } = (
      await ask('edges { cursor node { id } } pageInfo { startCursor endCursor hasNextPage }')
    ).data.notesConnection;
    expect(edges.map(({ node }: { node: { id: string } }) => node.id)).toEqual(['2', '3']);
    const [start, end] = edges.map(({ cursor }: { cursor: string }) => cursor);
    expect(pageInfo).toEqual({ startCursor: start, endCursor: end, hasNextPage: true });
    const ends = (await ask('pageInfo { startCursor endCursor }')).data.notesConnection.pageInfo;
    expect(ends).toEqual({ startCursor: start, endCursor: end });
    const next = (await ask('edges { node { id } } pageInfo { endCursor }', `, after: "${start}"`)).data;
    expect(next.notesConnection.edges.map(({ node }: { node: { id: string } }) => node.id)).toEqual([
      '3',
      '1',
    ]);
    const none = await ask(
      'edges { cursor } pageInfo { startCursor endCursor }',
      ', where: { id: { gt: "9" } }',
    );
    expect(none.data.notesConnection).toEqual({
      edges: [],
      pageInfo: { startCursor: null, endCursor: null },
    });
  });

  test('a long filter is looked at once for all records, and its cursors lead on through both doors', async () => {
    const hashed = spyOn(Bun.hash, 'crc32');
    const text = 'x'.repeat(100_000);
    const page = async (after: string | null) => {
      const { data, errors } = await app.graphql(
        `query($text: String, $after: String) { notes { id
          linesConnection(first: 1, after: $after, where: { text: { ne: $text } }) { edges { cursor node { id } } } } }`,
        { text, after },
      );
      expect(errors).toBeUndefined();
      return data.notes.map((each: any) => each.linesConnection.edges[0]);
    };
    const first = await page(null);
    const bytes = hashed.mock.calls.reduce((sum, [given]) => sum + (given as string).length, 0);
    hashed.mockRestore();
    expect(bytes).toBeLessThan(text.length);
    expect(first.map(({ node }: any) => node.id)).toEqual(['1', '2', '3']);
    const { data } = await app.graphql(
      `query($text: String, $after: String) {
        linesConnection(after: $after, where: { noteId: { eq: "2" }, text: { ne: $text } }) { edges { node { id } } } }`,
      { text, after: first[1].cursor },
    );
    expect(data.linesConnection.edges.map(({ node }: any) => node.id)).toEqual(['5', '8']);
    expect((await page(first[0].cursor)).map(({ node }: any) => node.id)).toEqual(['4', '2', '3']);
  });
});
