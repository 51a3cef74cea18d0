/** JSON that functions make, of whatever JSON.stringify takes, is answered as it writes that, by whichever way. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, JSON_HEADERS, openApp } from '../app.ts';

const sdl = `
  type Doc @resource { id: ID!  text: String  made: JSON @computed(from: ["text"]) }
  type Query { make: JSON @action  nothing: JSON @action }
`;
const made = () => ({
  left: undefined,
  at: new Date(0),
  own: { toJSON: (name: string) => name },
  gone: { toJSON: () => undefined },
  list: [undefined, new Date(0), () => 1],
  holes: new Array(2),
  text: Object('text'),
  map: new Map([[1, 2]]),
});
const logic = { Doc: { made }, Query: { make: made, nothing: () => ({ toJSON: () => undefined }) } };
const JSON_OF_MADE = JSON.stringify(made());

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, logic });
    await app.rest('POST', '/docs', { text: 'x' });
  });
  afterAll(() => app.close());

  const told = async (path: string) => (await app.fetch(path)).text();
  const asked = async (query: string) => {
    const body = JSON.stringify({ query });
    return (await app.fetch('/graphql', { method: 'POST', headers: JSON_HEADERS, body })).text();
  };

  test('alone, and beside what describes the schema', async () => {
    expect(await told('/actions/make')).toBe(JSON_OF_MADE);
    expect(await told('/docs?fields=made')).toBe(`[{"made":${JSON_OF_MADE}}]`);
    const fields = '{ make docs { made } ';
    const data = `{"data":{"make":${JSON_OF_MADE},"docs":[{"made":${JSON_OF_MADE}}]`;
    expect(await asked(`${fields} }`)).toBe(`${data}}}`);
    const described = `${fields} __schema { __typename } }`;
    expect(await asked(described)).toBe(`${data},"__schema":{"__typename":"__Schema"}}}`);
    const absent = '{ nothing __schema { __typename } }';
    expect(await asked(absent)).toBe('{"data":{"__schema":{"__typename":"__Schema"}}}');
    expect(await asked('{ docs(where: { id: { eq: "99" } }) { made } __schema { __typename } }')).toBe(
      '{"data":{"docs":[],"__schema":{"__typename":"__Schema"}}}',
    );
  });
});
