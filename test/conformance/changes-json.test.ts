/** What changes show of JSON and of lists is what the records showed, by every way, and nobody makes objects of it. */

import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import fc from 'fast-check';
import { type AppUnderTest, databases, openApp, runByOthers, sharedPostgres } from '../app.ts';
import { Listener } from '../events.ts';
import { Folder } from '../process.ts';

const sdl = `
  enum Mood { GOOD BAD }
  type Doc @resource @journal {
    id: ID!
    n: Int
    body: JSON
    other: JSON @column(name: "the \\"other\\" \\\\")
    tags: [String!]
    numbers: [Float!]
    moods: [Mood!]
    title: String
  }`;

/** Images that are longer than this take another way. */
const long = 'x'.repeat(2000);

/** What can be taken for something else by whoever looks for its end, or reads it and writes it anew. */
const values: unknown[] = [
  { b: 1, a: { z: [], y: {} } },
  [],
  {},
  'a "text" with \\ and \u2028, \ud83d\ude00, \u0001 and é\\',
  '"\\u0000"',
  ['\\u0000', '","', '{}', '}]', ',"tags":["forged"],', '\\"'],
  1e21,
  12345678901234567000,
  -1.5e-9,
  0,
  false,
  '',
  null,
  [[[[1]], null], { '': null }],
  'null',
  JSON.parse('{"__proto__":{"a":1},"constructor":null,"2":2,"1":1}'),
  { tags: ['forged'], id: 7, 'the "other" \\': 1 },
];

const WORD = 'neverreadagain';
const FIELDS = 'id n body other tags numbers moods title';

describe.each([...databases])('on %s', (database) => {
  const folder = new Folder();
  const isFile = database === 'sqlite';
  let url: string;
  let app: AppUnderTest;
  beforeAll(async () => {
    url = isFile ? `sqlite:${folder.file('x.db')}` : await (await sharedPostgres()).database();
    app = await openApp(database, { sdl, url });
  });
  afterAll(async () => {
    await app.close();
    folder[Symbol.dispose]();
  });

  const text = async (path: string) => (await app.fetch(path)).text();
  const ask = async (query: string, variables = {}) => {
    const body = JSON.stringify({ query, variables });
    const headers = { 'Content-Type': 'application/json' };
    return (await app.fetch('/graphql', { method: 'POST', headers, body })).text();
  };
  /** The change that came last, as a page of REST has it. */
  const lastOf = async (id: number) =>
    (await text(`/changes/docs/${id}`))
      .slice(1, -1)
      .split(/(?<=\}),(?=\{"position")/)
      .at(-1) ?? '';

  const created = async (record: object) => {
    const { status, body } = await app.rest('POST', '/docs', record);
    expect(status).toBe(201);
    return Number(body.id);
  };

  for (const title of ['short', long])
    test(`every value, by every way, in ${title.length > 10 ? 'long' : 'short'} records`, async () => {
      const begin = JSON.parse(await ask('{ changesPosition }')).data.changesPosition;
      const tags = ['a,b', '"', '\\', 'é', ']'];
      const ids: number[] = [];
      for (const body of values)
        ids.push(
          await created({
            n: 1,
            body,
            other: [body],
            tags,
            numbers: [1, -0.5, 1e300],
            moods: ['BAD'],
            title,
          }),
        );
      const records = await Promise.all(ids.map((id) => text(`/docs/${id}`)));
      const after = `after=${begin}&limit=1000`;
      const told = records.map((record) => `"before":null,"after":${record}`);
      for (const path of ['/changes', '/changes/docs', `/changes/docs?where={"n":{"eq":1}}`]) {
        const page = await text(`${path}${path.includes('?') ? '&' : '?'}${after}`);
        expect(page.match(/"before":null/g)?.length).toBe(values.length);
        for (const each of told) expect(page).toContain(each);
      }
      // These are held against the values by the database.
      const found = async (where: string) =>
        JSON.parse(await text(`/changes/docs?${after}&where=${encodeURIComponent(where)}`));
      expect(await found('{"body":{"isNull":true}}')).toHaveLength(1);
      expect(await found('{"tags":{"hasEvery":["é","]"]}}')).toHaveLength(values.length);
      expect(await found('{"numbers":{"hasSome":[2]}}')).toHaveLength(0);
      const asked = { after: begin };
      const fields = FIELDS.split(' ').slice(1).join(' ');
      const whole = JSON.parse(
        await text(`/docs?fields=${fields.replaceAll(' ', ',')}&id[in]=${ids.join()}`),
      );
      for (const query of [
        `query ($after: String) { docChanges(after: $after, first: 1000) { before { n } after { ${fields} } } }`,
        `query ($after: String, $x: Boolean = true) { docChanges(after: $after, first: 1000) { before { n } after { ${fields} @include(if: $x) } } }`,
      ])
        for (let times = 0; times < 3; times++)
          expect(await ask(query, asked)).toBe(
            JSON.stringify({
              data: { docChanges: whole.map((each: object) => ({ before: null, after: each })) },
            }),
          );
      const any = await ask(
        'query ($after: String) { changes(after: $after, first: 1000) { after } }',
        asked,
      );
      expect(any).toBe(`{"data":{"changes":[${records.map((each) => `{"after":${each}}`)}]}}`);
      const own = await ask(`{ docs(where: { id: { in: [${ids}] } }) { _changes { after { ${fields} } } } }`);
      expect(own).toBe(
        JSON.stringify({ data: { docs: whole.map((each: object) => ({ _changes: [{ after: each }] })) } }),
      );
      await using events = await Listener.open(app, `/changes/docs?after=${begin}`);
      await using next = await Listener.ask(
        app,
        `subscription ($after: String) { docChanges(after: $after) { after { ${fields} } } }`,
        asked,
      );
      for (const [at, each] of whole.entries()) {
        expect(JSON.stringify((await events.next())?.data.after)).toBe(records[at] ?? '');
        expect((await next.next())?.data).toEqual({ data: { docChanges: { after: each } } });
      }
    }, 60_000);

  test('what was changed and deleted is restored as it was', async () => {
    for (const body of values) {
      const id = await created({
        body,
        other: { is: [body] },
        tags: ['\\', '"'],
        moods: ['GOOD'],
        title: long,
      });
      const was = JSON.parse(await text(`/docs/${id}`));
      expect((await app.rest('PUT', `/docs/${id}`, { body: [1], other: null, tags: [], n: 2 })).status).toBe(
        200,
      );
      expect(await lastOf(id)).toContain(`"before":${JSON.stringify(was)}`);
      expect((await app.rest('POST', `/docs/${id}/restore`, { version: 1 })).body).toEqual(was);
      expect((await app.rest('DELETE', `/docs/${id}`)).status).toBe(204);
      expect(await lastOf(id)).toContain(`"before":${JSON.stringify(was)},"after":null`);
      expect((await app.rest('POST', `/docs/${id}/restore`, {})).body).toEqual(was);
    }
  }, 60_000);

  test('any values', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ body: fc.jsonValue(), tags: fc.array(fc.string()), isLong: fc.boolean() }), {
          minLength: 1,
          maxLength: 20,
        }),
        async (docs) => {
          const begin = JSON.parse(await ask('{ changesPosition }')).data.changesPosition;
          const shown: string[] = [];
          for (const { body, tags, isLong } of docs) {
            const record = JSON.stringify({ body, tags, title: isLong ? long : 'x' });
            const headers = { 'Content-Type': 'application/json' };
            const made = await app.fetch('/docs', { method: 'POST', headers, body: record });
            if (made.status === 201) shown.push(await made.text());
            // Text may have no NUL and no half of a character.
            else expect(made.status).toBe(400);
          }
          const page = JSON.parse(await text(`/changes/docs?after=${begin}&limit=1000`));
          expect(page.map(({ after }: any) => JSON.stringify(after))).toEqual(shown);
        },
      ),
      { numRuns: 20 },
    );
  }, 60_000);

  test('what others have stored is shown in one line, and as they wrote it', async () => {
    const id = await created({ body: 1, title: long });
    const sql = `UPDATE "Doc" SET "body" = '{\r\n  "a": [1,\n 2]\n}', "tags" = '[ "a" ]' WHERE "id" = ${id}`;
    await runByOthers(url, sql);
    expect((await app.rest('PUT', `/docs/${id}`, { n: 1 })).status).toBe(200);
    expect((await app.rest('DELETE', `/docs/${id}`)).status).toBe(204);
    const page = await text(`/changes/docs/${id}`);
    expect(page).not.toContain('\n');
    const [, changed, deleted] = JSON.parse(page);
    for (const { body, tags } of [changed.before, changed.after, deleted.before])
      expect([body, tags]).toEqual([{ a: [1, 2] }, ['a']]);
  });

  test('nobody reads what is in them', async () => {
    const body = [WORD, ...Array.from({ length: 20_000 }, () => ({}))];
    const begin = JSON.parse(await ask('{ changesPosition }')).data.changesPosition;
    for (let times = 0; times < 5; times++) await created({ n: 3, body, tags: [WORD, 'x'] });
    const parse = spyOn(JSON, 'parse');
    try {
      const expected = 5 * JSON.stringify(body).length;
      expect((await text(`/changes/docs?after=${begin}`)).length).toBeGreaterThan(expected);
      expect((await text(`/changes?after=${begin}&limit=9`)).length).toBeGreaterThan(expected);
      for (const x of [true, false]) {
        const query =
          'query ($after: String, $x: Boolean!) { docChanges(after: $after, where: { n: { eq: 3 } }) { kind @include(if: $x) after { body tags } } }';
        expect((await ask(query, { after: begin, x })).length).toBeGreaterThan(expected);
      }
      await using events = await app
        .fetch(`/changes/docs?after=${begin}`, {
          headers: { Accept: 'text/event-stream' },
        })
        .then(({ body: stream }) => {
          const reader = (stream as ReadableStream<Uint8Array>).getReader();
          return { reader, [Symbol.asyncDispose]: () => reader.cancel() };
        });
      for (let length = 0; length < expected; )
        length += (await events.reader.read()).value?.length ?? expected;
      expect(parse.mock.calls.filter(([given]) => String(given).includes(WORD)).length).toBe(0);
    } finally {
      parse.mockRestore();
    }
  }, 60_000);
});
