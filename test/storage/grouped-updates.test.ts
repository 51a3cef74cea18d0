/** Updates that arrive together share a statement on PostgreSQL, but neither a record nor a fate. */

import { describe, expect, spyOn, test } from 'bun:test';
import { databases, openApp, preparedPostgres } from '../app.ts';
import { fields, inputOf as valuesOf } from './every-kind.ts';

const sdl = `
  enum Mode { ON OFF }
  type Note @resource { ${fields}  name: String @caseless  changedAt: DateTime! @updatedAt }
  type Word @resource { code: ID! @key  text: String  n: Int }`;

const MANY = 60;
const each = <T>(make: (at: number) => T): T[] => Array.from({ length: MANY }, (_, at) => make(at));

const inputOf = (at: number) => ({ ...valuesOf(at), name: at % 2 === 1 ? `Größe ${at}` : null });

const seed = {
  notes: each((at) => ({ id: at + 1, text: 'before' })),
  words: each((at) => ({ code: `w${at}`, text: 'before', n: 0 })),
};

describe.each([...databases])('on %s', (database) => {
  test('each of many is answered and stored as it was sent', async () => {
    const app = await openApp(database, { sdl, data: seed });
    app.statements.length = 0;
    const answers = await Promise.all(each((at) => app.rest('PUT', `/notes/${at + 1}`, inputOf(at))));
    if (database === 'postgres') expect(app.statements.length).toBeLessThan(MANY / 3);
    expect(answers.map(({ status }) => status)).toEqual(each(() => 200));
    const bodies = answers.map(({ body }) => body);
    expect(bodies.map(({ id, changedAt: _, ...rest }) => [id, rest])).toEqual(
      each((at) => [at + 1, inputOf(at)]),
    );
    expect(new Set(answers.map(({ headers }) => headers.get('ETag')?.slice(0, 3)))).toEqual(new Set(['"2-']));
    expect((await app.rest('GET', '/notes?limit=100')).body).toEqual(bodies);
    expect((await app.rest('GET', '/notes?name=GR%C3%96SSE%203')).body).toMatchObject([{ id: 4 }]);
    await app.close();
  });

  test('of one record, whatever others set, each counts', async () => {
    const app = await openApp(database, { sdl, data: seed });
    const answers = await Promise.all(
      each((at) =>
        at % 2 === 0
          ? app.rest('PUT', `/words/w${at % 4}`, { text: `t${at}` })
          : app.graphql('mutation ($n: Int) { updateWord(code: "w0", n: $n) { n _version } }', { n: at }),
      ),
    );
    for (const [at, { status, body }] of answers.entries())
      if (at % 2 === 0) expect([status, body.text]).toEqual([200, `t${at}`]);
      else expect(body.data.updateWord.n).toBe(at);
    const versionOf = async (code: string) =>
      (await app.graphql(`{ word(code: "${code}") { _version } }`)).body.data.word._version;
    expect(await versionOf('w0')).toBe(1 + MANY / 2 + MANY / 4);
    expect(await versionOf('w2')).toBe(1 + MANY / 4);
    await app.close();
  });

  test('beside what is wrong with others', async () => {
    const app = await openApp(database, { sdl, data: seed });
    const answers = await Promise.all(
      each((at) => app.rest('PUT', `/notes/${at % 3 === 0 ? 1000 + at : at + 1}`, { text: `n${at}` })),
    );
    expect(answers.map(({ status }) => status)).toEqual(each((at) => (at % 3 === 0 ? 404 : 200)));
    const stored = (await app.rest('GET', '/notes?limit=100&fields=text')).body;
    expect(stored.map(({ text }: any) => text)).toEqual(each((at) => (at % 3 === 0 ? 'before' : `n${at}`)));
    await app.close();
  });
});

describe('on PostgreSQL', () => {
  test('nobody waits for a record that somebody else holds', async () => {
    const url = await preparedPostgres();
    const app = await openApp('postgres', { sdl, data: seed, url });
    const other = new Bun.SQL(url, { max: 1 });
    const held: Promise<{ readonly status: number }>[] = [];
    await other.begin(async (sql) => {
      await sql`UPDATE "Note" SET "text" = 'held' WHERE "id" <= 6`;
      const hold = (id: number) => void held.push(app.rest('PUT', `/notes/${id}`, { text: 'after' }));
      // Each alone, and then each among others.
      for (const id of [1, 2, 3]) {
        hold(id);
        await Bun.sleep(50);
      }
      for (const id of [4, 5, 6]) {
        hold(id);
        const others = each((at) => at).slice(6);
        const answers = await Promise.all(
          others.map((at) => app.rest('PUT', `/notes/${at + 1}`, { text: `n${at}` })),
        );
        expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      }
    });
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual(held.map(() => 200));
    const { body } = await app.rest('GET', '/notes?id[lte]=6&fields=text');
    expect(body).toEqual(held.map(() => ({ text: 'after' })));
    await other.close();
    await app.close();
  });

  test('what the database refuses of one is not refused of others', async () => {
    const url = await preparedPostgres();
    const app = await openApp('postgres', { sdl, data: seed, url });
    const other = new Bun.SQL(url, { max: 1 });
    await other.unsafe(`ALTER TABLE "Note" ADD CONSTRAINT "own" CHECK ("text" <> 'n7')`);
    // The database names the whole row, which is for the log alone, and only where the client is told less.
    const printed = spyOn(console, 'error');
    const answers = await Promise.all(each((at) => app.rest('PUT', `/notes/${at + 1}`, { text: `n${at}` })));
    expect(answers.map(({ status }) => status)).toEqual(each((at) => (at === 7 ? 409 : 200)));
    expect(printed.mock.calls).toEqual([]);
    printed.mockRestore();
    await other.close();
    await app.close();
  });
});
