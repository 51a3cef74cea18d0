/** JSON that functions make, of whatever JSON.stringify takes, is answered as it writes that, and counted so, by whichever way. */

import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
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

  test('what takes too long to write beside what describes the schema is not told', async () => {
    let now = performance.now();
    const late = () => ({
      toJSON() {
        now += 60_000;
        return 'late';
      },
    });
    const slow = await openApp(database, {
      sdl: 'type Doc @resource { id: ID! } type Query { late: JSON @action }',
      logic: { Query: { late } },
    });
    using _clock = spyOn(performance, 'now').mockImplementation(() => now);
    const { data, errors } = await slow.graphql('{ late __schema { __typename } }');
    expect([data, errors?.map(({ extensions }) => extensions.code)]).toEqual([null, ['DEADLINE_EXCEEDED']]);
    await slow.close();
  });

  test('what is changed in place counts as it is then', async () => {
    const grow = (body: any) => body.push('x'.repeat(200_000));
    const get = function* ({ tx }: any): any {
      const doc = yield* tx.docs.get(1);
      grow(doc.body);
      return doc.body;
    };
    const list = function* ({ tx }: any): any {
      const [owner] = yield* tx.owners.list({ include: { docs: true } });
      grow(owner.docs[0].body);
      return owner.docs[0].body;
    };
    const update = function* ({ tx }: any): any {
      const { body } = yield* tx.docs.update(1, { n: 1 });
      grow(body);
      return body;
    };
    const own = await openApp(database, {
      sdl: `
        type Owner @resource { id: ID!  docs: [Doc!]! }
        type Doc @resource { id: ID!  n: Int  body: JSON  owner: Owner }
        type Made @resource { id: ID!  n: Int  body: JSON  made: Int @computed(from: ["body", "n"]) }
        type Hook @resource { id: ID!  n: Int  body: JSON }
        type Query { get: JSON @action  list: JSON @action }
        type Mutation { take: JSON @action  change: JSON @action }`,
      logic: {
        Made: { made: ({ body, n }: any) => (n === 9 ? grow(body) : null) },
        Hook: {
          beforeUpdate: ({ input, record }: any) =>
            grow(record.body) > 0 && input.n === 9 ? { ...input, body: record.body } : undefined,
        },
        Query: { get, list },
        Mutation: { take: get, change: update },
      },
      env: { LIMIT_BYTES: '100000' },
    });
    const body = ['y'.repeat(2_000)];
    await own.rest('POST', '/owners', { docs: [{ body }, { body }] });
    for (const [method, path] of [
      ['GET', 'get'],
      ['GET', 'list'],
      ['POST', 'take'],
      ['POST', 'change'],
    ] as const)
      expect([path, (await own.rest(method, `/actions/${path}`)).body.code]).toEqual([
        path,
        'ANSWER_TOO_LARGE',
      ]);
    for (const query of ['{ get }', '{ list }', 'mutation { take }', 'mutation { change }'])
      expect([query, (await own.graphql(query)).errors?.[0].extensions.code]).toEqual([
        query,
        'ANSWER_TOO_LARGE',
      ]);
    for (let times = 0; times < 2; times++) {
      await own.rest('POST', '/mades', { body });
      await own.rest('POST', '/hooks', { body });
    }
    const both = async (change: string, n: number) =>
      own.graphql(`mutation @atomic { a: ${change}(id: 1, n: ${n}) { ...Of } b: ${change}(id: 2, n: ${n}) { ...Of } }
        fragment Of on ${change.slice('update'.length)} { body ${change === 'updateMade' ? 'made' : ''} }`);
    expect((await both('updateHook', 9)).errors?.[0].extensions.code).toBe('ANSWER_TOO_LARGE');
    // What is given is a copy, which is nobody else's.
    expect((await both('updateHook', 1)).data).toEqual({ a: { body }, b: { body } });
    expect((await both('updateMade', 9)).data).toEqual({ a: { body, made: 2 }, b: { body, made: 2 } });
    await own.close();
  });
});
