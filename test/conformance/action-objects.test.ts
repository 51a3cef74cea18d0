/** What actions are given: as many objects as an answer may have, in one request, through both doors. */

import { describe, expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';

const sdl = `
  type Note @resource { id: ID!  text: String }
  input Line { text: String = "none"  part: Line  parts: [Line!] }
  type Mutation { take(lines: [Line!]!): Int! @action }
  type Query { peek(lines: [Line!]!): Int! @action }
`;
const logic = {
  Mutation: { take: (_: unknown, { lines }: any) => lines.length },
  Query: { peek: (_: unknown, { lines }: any) => lines.length },
};

const many = (count: number) => Array.from({ length: count }, () => ({}));
/** Each is 10 objects. */
const fits = [many(10), [{ parts: many(9) }], [{ part: { part: { parts: many(7) } } }]];
const beyond = [many(11), [{ parts: many(10) }], [{ part: { part: { parts: many(8) } } }], many(300)];

describe.each([...databases])('on %s', (database) => {
  test('no request gives actions more objects than that', async () => {
    const app = await openApp(database, { sdl, logic, env: { LIMIT_OBJECTS: '10' } });
    const asked = async (lines: object[]): Promise<unknown[]> => {
      const parameter = encodeURIComponent(JSON.stringify(lines));
      const half = { method: 'POST', path: '/actions/take', body: { lines: lines.slice(0, 5) } };
      const rest = { ...half, body: { lines: lines.slice(5) } };
      const alone = [
        await app.rest('POST', '/actions/take', { lines }),
        await app.rest('GET', `/actions/peek?lines=${parameter}`),
        await app.rest('POST', '/transaction', { operations: [half, rest] }),
      ];
      const documents = [
        'mutation ($lines: [Line!]!) { take(lines: $lines) }',
        'query ($lines: [Line!]!) { peek(lines: $lines) }',
      ];
      const codes = alone.map(({ status, body }) => (status === 200 ? 200 : (body as any).code));
      for (const query of documents) {
        const { data, errors } = (await app.rest('POST', '/graphql', { query, variables: { lines } }))
          .body as any;
        codes.push(errors ? errors[0].extensions.code : data ? 200 : undefined);
      }
      return codes;
    };
    for (const lines of fits) expect(await asked(lines)).toEqual(Array(5).fill(200));
    for (const lines of beyond) expect(await asked(lines)).toEqual(Array(5).fill('TOO_MANY_OBJECTS'));
    const query = 'mutation ($lines: [Line!]!) { take(lines: $lines) }';
    const refused = (await app.rest('POST', '/graphql', { query, variables: { lines: many(300) } }))
      .body as any;
    // Before anything is made of them.
    expect(refused.errors[0].message).toStartWith('The variables have more than 10 objects for actions.');
    await app.close();
  });
});
