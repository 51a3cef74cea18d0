/** JSON and lists that are only passed on are answered as they were sent, by whichever way, and nobody makes objects of them. */

import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { type AppUnderTest, databases, JSON_HEADERS, openApp, runByOthers, sharedPostgres } from '../app.ts';
import { Folder } from '../process.ts';

const sdl = `
  type Owner @resource { id: ID!  name: String  docs: [Doc!]! @inverse(of: "owner") }
  type Doc @resource @journal {
    id: ID!
    n: Int
    body: JSON
    tags: [String!]
    numbers: [Float!]
    size: Int @computed(from: ["body", "tags"])
    owner: Owner!
  }
  type Plain @resource { id: ID!  n: Int  body: JSON }`;

const logic = {
  Doc: {
    size: ({ body, tags }: { body: any; tags: string[] | null }) =>
      Array.isArray(body) ? body.length + (tags?.length ?? 0) : 0,
  },
};

/** What can be told apart from itself by whoever reads it and writes it anew, or takes its text for something else. */
const values: unknown[] = [
  { b: 1, a: { z: [], y: {} } },
  [],
  {},
  'a "text" with \\ and \u2028, \ud83d\ude00, \u0001 and é',
  '"\\u0000"',
  ['\\u0000', '","', '{}'],
  1e21,
  -1.5e-9,
  0,
  false,
  '',
  [[[[1]], null], { '': null }],
  'null',
];

const WORD = 'neverreadagain';

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, logic, data: { owners: [{}] } });
  });
  afterAll(() => app.close());

  const ask = async (query: string, variables = {}) => {
    const body = JSON.stringify({ query, variables });
    const headers = { 'Content-Type': 'application/json' };
    return (await app.fetch('/graphql', { method: 'POST', headers, body })).text();
  };
  const text = async (path: string, accept = 'application/json') =>
    (await app.fetch(path, { headers: { Accept: accept } })).text();

  test('every value, by every way', async () => {
    const tags = ['a,b', '"', '\\u0000', 'é'];
    const numbers = [1, -0.5, 1e300];
    for (const body of values)
      expect((await app.rest('POST', '/docs', { body, tags, numbers, ownerId: 1 })).status).toBe(201);
    const all = values.map((body) => ({ body, tags, numbers }));
    const whole = JSON.stringify(all);
    expect(await text('/docs?fields=body,tags,numbers')).toBe(whole);
    const first = await text('/docs/1');
    expect(first).toContain(`"body":${JSON.stringify(values[0])},"tags":${JSON.stringify(tags)}`);
    expect(await text('/docs/1?fields=body,tags,numbers')).toBe(JSON.stringify(all[0]));
    const included = JSON.parse(await text('/owners/1?include=docs'));
    expect(included.docs.map(({ body }: any) => body)).toEqual(values);
    expect(await text('/owners/1?fields=docs.body,docs.tags,docs.numbers&include=docs')).toContain(
      `"docs":${whole}`,
    );
    expect(await text('/docs?fields=body,tags,numbers', 'application/x-ndjson')).toBe(
      all.map((each) => `${JSON.stringify(each)}\n`).join(''),
    );
    const csv = await text('/docs?fields=body', 'text/csv');
    const quoted = JSON.stringify(values[0]).replaceAll('"', '""');
    expect(csv).toStartWith(`body\r\n"${quoted}"\r\n`);
    const query = '{ docs { body tags numbers } }';
    expect(await ask(query)).toBe(`{"data":{"docs":${whole}}}`);
    // Again by code of its own, which a query is given that comes often; then by the executor.
    expect(await ask(query)).toBe(`{"data":{"docs":${whole}}}`);
    expect(await ask(query)).toBe(`{"data":{"docs":${whole}}}`);
    const conditional = 'query ($x: Boolean!) { docs { body tags @include(if: $x) numbers } }';
    expect(await ask(conditional, { x: true })).toBe(`{"data":{"docs":${whole}}}`);
    const described = '{ docs { body tags numbers } __schema { __typename } }';
    expect(await ask(described)).toBe(`{"data":{"docs":${whole},"__schema":{"__typename":"__Schema"}}}`);
    const nested = '{ owner(id: 1) { docs { body tags numbers } } }';
    expect(await ask(nested)).toBe(`{"data":{"owner":{"docs":${whole}}}}`);
  });

  test('functions are given values', async () => {
    const { body } = await app.rest('POST', '/docs', { body: [1, 2, 3], tags: ['x'], ownerId: 1 });
    expect(body.size).toBe(4);
    expect(JSON.parse(await text(`/docs/${body.id}`))).toMatchObject({ size: 4, body: [1, 2, 3] });
    expect(await ask(`{ doc(id: ${body.id}) { size body tags } }`)).toBe(
      '{"data":{"doc":{"size":4,"body":[1,2,3],"tags":["x"]}}}',
    );
    const again = await app.rest('PUT', `/docs/${body.id}`, { n: 1 });
    expect(again.body).toMatchObject({ size: 4, body: [1, 2, 3], n: 1 });
  });

  test('an answer has as many bytes as any other, and nobody reads what is in it', async () => {
    const one = [WORD, ...Array.from({ length: 200_000 }, () => ({}))];
    for (let times = 0; times < 7; times++)
      expect((await app.rest('POST', '/plains', { n: 1, body: one })).status).toBe(201);
    const parse = spyOn(JSON, 'parse');
    const read = () => parse.mock.calls.filter(([given]) => String(given).includes(WORD)).length;
    try {
      const list = await app.fetch('/plains?n=1&limit=7');
      expect(list.status).toBe(200);
      expect((await list.bytes()).length).toBeGreaterThan(4_000_000);
      for (const query of [
        '{ plains(where: { n: { eq: 1 } }) { body } }',
        'query ($x: Boolean = true) { plains(where: { n: { eq: 1 } }) { body @include(if: $x) } }',
      ])
        expect((await ask(query)).length).toBeGreaterThan(4_000_000);
      expect((await text('/plains?n=1', 'application/x-ndjson')).length).toBeGreaterThan(4_000_000);
      expect(read()).toBe(0);
    } finally {
      parse.mockRestore();
    }
  }, 60_000);

  test('what a write answers of others is not read, and what functions make something of is read once', async () => {
    const { body: owner } = await app.rest('POST', '/owners', {});
    const body = [WORD, ...Array.from({ length: 1_000 }, (_, at) => at + 0.5)];
    const two = [1, 2].map((n) => ({ method: 'POST', path: '/docs', body: { n, body, ownerId: owner.id } }));
    expect((await app.rest('POST', '/transaction', { operations: two })).status).toBe(200);
    const path = `/docs?ownerId=${owner.id}`;
    const ids = (await app.rest('GET', `${path}&fields=id`)).body.map(({ id }: { id: number }) => id);
    const parse = spyOn(JSON, 'parse');
    const stringify = spyOn(JSON, 'stringify');
    const read = () => parse.mock.calls.filter(([given]) => String(given).startsWith(`["${WORD}`)).length;
    const readAgain = () =>
      parse.mock.calls.filter(([given]) => /^\{.*neverreadagain/s.test(String(given))).length;
    const written = () =>
      stringify.mock.calls.filter(([given]) => Array.isArray(given) && given[0] === WORD).length;
    const shown = (records: readonly { body: unknown }[]) => JSON.stringify(records.map((each) => each.body));
    const docs = JSON.stringify([body, body]);
    try {
      const put = await app.fetch(`/owners/${owner.id}?include=docs&fields=docs.body`, {
        method: 'PUT',
        headers: { 'Content-Type': 'application/json' },
        body: '{"name":"x"}',
      });
      const told = await put.text();
      const mutated = await ask(`mutation { updateOwner(id: ${owner.id}, name: "y") { docs { body } } }`);
      expect(read()).toBe(0);
      const sizes = await ask(`{ owner(id: ${owner.id}) { docs { body size } } }`);
      expect(read()).toBe(2);
      const operations = ids.map((id: number) => ({ method: 'PUT', path: `/docs/${id}`, body: { n: 3 } }));
      const together = await app.fetch('/transaction', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ operations }),
      });
      const results = await together.text();
      expect(readAgain()).toBe(0);
      stringify.mockClear();
      const where = `where: { owner: { id: { eq: ${owner.id} } } }`;
      await ask(`mutation { updateDocs(${where}, set: { n: 4 }, atMost: 2) { id } }`);
      expect(written()).toBe(0);
      parse.mockRestore();
      stringify.mockRestore();
      expect(shown(JSON.parse(told).docs)).toBe(docs);
      expect(shown(JSON.parse(mutated).data.updateOwner.docs)).toBe(docs);
      expect(JSON.parse(sizes).data.owner.docs.map((each: { size: number }) => each.size)).toEqual([
        1_001, 1_001,
      ]);
      expect(shown(JSON.parse(results).results.map((each: any) => each.body))).toBe(docs);
    } finally {
      parse.mockRestore();
      stringify.mockRestore();
    }
  });

  test('what others have written in several lines is one line', async () => {
    using folder = new Folder();
    const isFile = database === 'sqlite';
    const url = isFile ? `sqlite:${folder.file('x.db')}` : await (await sharedPostgres()).database();
    const other = await openApp(database, { sdl, logic, url });
    await other.rest('POST', '/plains', { body: 1 });
    const sql = `UPDATE "Plain" SET "body" = '{\r\n  "a": [1,\n 2]\n}'`;
    await runByOthers(url, sql);
    const lines = await other.fetch('/plains?fields=body', { headers: { Accept: 'application/x-ndjson' } });
    expect(await lines.text()).toBe('{"body":{"a":[1,2]}}\n');
    await other.close();
  });

  test('what would take too much once it is read is refused before', async () => {
    const update = (n: number) =>
      ask(`mutation { updatePlains(where: { n: { eq: 1 } }, set: { n: ${n} }, atMost: 7) { id } }`);
    expect(await update(1)).toContain('"ANSWER_TOO_LARGE"');
    const step = { method: 'PUT', path: '/plains', where: { n: { eq: 1 } }, body: { n: 1 }, atMost: 7 };
    const transaction = await app.rest('POST', '/transaction', { operations: [step] });
    expect([transaction.status, transaction.body.code]).toEqual([400, 'ANSWER_TOO_LARGE']);
    // One value for many counts as often as it is stored.
    for (let times = 0; times < 20; times++) await app.rest('POST', '/plains', { n: 9 });
    const set = (b: unknown, n: number) =>
      ask(
        'mutation ($b: JSON, $n: Int!) { updatePlains(where: { n: { eq: 9 } }, set: { body: $b, n: $n }, atMost: 20) { n } }',
        { b, n },
      );
    expect(
      await set(
        Array.from({ length: 200_000 }, () => ({})),
        9,
      ),
    ).toContain('"WRITE_TOO_LARGE"');
    expect(
      await set(
        Array.from({ length: 70_000 }, (_, at) => ({ [`a${at}`]: 0 })),
        9,
      ),
    ).toContain('"WRITE_TOO_LARGE"');
    const [own] = JSON.parse(await text('/plains?n=9&limit=1'));
    expect(own.body).toBeNull();
    expect(await set('x'.repeat(800_000), 8)).toBe(
      JSON.stringify({ data: { updatePlains: Array.from({ length: 20 }, () => ({ n: 8 })) } }),
    );
    expect((await app.rest('PUT', '/plains/1', { n: 2 })).status).toBe(200);
    const two =
      'mutation { updatePlains(where: { id: { in: ["2", "3"] } }, set: { n: 3 }, atMost: 2) { id } }';
    expect(await ask(two)).toBe('{"data":{"updatePlains":[{"id":"2"},{"id":"3"}]}}');
  }, 60_000);

  test('what computed fields are made of is refused before it is read, where all of it would take too much', async () => {
    const { body: owner } = await app.rest('POST', '/owners', {});
    const body = Array.from({ length: 250_000 }, () => ({}));
    for (let times = 0; times < 6; times++)
      await app.rest('POST', '/docs?fields=id', { body, ownerId: owner.id });
    const listed = async (fields: string) =>
      (await app.rest('GET', `/docs?ownerId=${owner.id}&fields=${fields}`)).body.code;
    expect([await listed('size'), await listed('body')]).toEqual(['ANSWER_TOO_LARGE', undefined]);
    const { data, errors } = await app.graphql(`{ owner(id: ${owner.id}) { docs { size } } }`);
    expect([data, errors?.[0].extensions.code]).toEqual([{ owner: null }, 'ANSWER_TOO_LARGE']);
  }, 60_000);

  test('what writes answer with is passed on, also where it is kept for a retry', async () => {
    const { body: owner } = await app.rest('POST', '/owners', {});
    const body = Array.from({ length: 250_000 }, () => ({}));
    for (let times = 0; times < 3; times++)
      expect((await app.rest('POST', '/docs?fields=id', { body, ownerId: owner.id })).status).toBe(201);
    const { body: last } = await app.rest('GET', `/docs?ownerId=${owner.id}&sort=-id&limit=1&fields=id`);
    const fields = (many: number) =>
      Array.from(
        { length: many },
        (_, at) => `f${at}: updateDoc(id: ${last[0].id}, n: ${at}) { owner { docs { body } } }`,
      ).join(' ');
    const n = async () => (await app.rest('GET', `/docs/${last[0].id}?fields=n`)).body.n;
    const told = async (query: string, key?: string) => {
      const headers = { ...JSON_HEADERS, ...(key && { 'Idempotency-Key': key }) };
      return (
        await app.fetch('/graphql', { method: 'POST', headers, body: JSON.stringify({ query }) })
      ).text();
    };
    const many = `mutation @atomic { ${fields(5)} }`;
    const whole = await told(many);
    expect(whole.length).toBeGreaterThan(10_000_000);
    expect(await n()).toBe(4);
    expect((await told(many, 'weighed')) === whole).toBe(true);
    await told(`mutation { ${fields(1)} }`);
    expect((await told(many, 'weighed')) === whole).toBe(true);
    expect(await n()).toBe(0);
  }, 60_000);

  test('what others have written is answered alike with a key and without, and given again so', async () => {
    using folder = new Folder();
    const isFile = database === 'sqlite';
    const url = isFile ? `sqlite:${folder.file('x.db')}` : await (await sharedPostgres()).database();
    const other = await openApp(database, { sdl, logic, url });
    await other.rest('POST', '/owners', {
      name: 'o',
      docs: [{ body: 1, tags: ['a'] }, { body: 'x'.repeat(90_000) }],
    });
    const foreign = '{"b":  1.0, "a": 12345678901234567890, "n": [1e3, -0, 1e999], "b": "\\u00e9"}';
    const sql = `UPDATE "Doc" SET "body" = '${foreign}', "tags" = '[ "a" ]' WHERE "id" = 1`;
    await runByOthers(url, sql);
    const send = async (path: string, method: string, body: unknown, key?: string) => {
      const headers = { ...JSON_HEADERS, ...(key && { 'Idempotency-Key': key }) };
      return (await other.fetch(path, { method, headers, body: JSON.stringify(body) })).text();
    };
    const update = (ids: string) =>
      `mutation @atomic { updateOwner(id: 1, name: "y") { name docs(where: { id: { in: ${ids} } }) { body tags } } }`;
    const step = {
      method: 'PUT',
      path: '/owners/1?include=docs&fields=docs.body,docs.tags',
      body: { name: 'z' },
    };
    const writes = [
      ['/owners/1?include=docs&fields=name,docs.body,docs.tags', 'PUT', { name: 'x' }],
      ['/transaction', 'POST', { operations: [step, step] }],
      ['/graphql', 'POST', { query: update('[1]') }],
      ['/graphql', 'POST', { query: update('[1, 2]') }],
      ['/graphql', 'POST', { query: update('[2]') }],
    ] as const;
    for (const [at, [path, method, body]] of writes.entries()) {
      const key = `write${at}`;
      const plain = await send(path, method, body);
      expect(plain.includes(foreign)).toBe(!JSON.stringify(body).includes('[2]'));
      expect((await send(path, method, body, key)) === plain).toBe(true);
      expect((await send(path, method, body, key)) === plain).toBe(true);
    }
    await other.close();
  });
});
