/** What a live answer may cost others: judging whether a change can alter it takes little, whatever it asks for. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { Listener } from '../events.ts';

const sdl = 'type Note @resource @journal { id: ID! text: String! n: Int }';

for (const database of databases)
  describe(`on ${database}`, () => {
    let app: AppUnderTest;
    beforeAll(async () => {
      app = await openApp(database, { sdl });
    });
    afterAll(() => app.close());

    test('what would take long to judge is not judged: such an answer is made again', async () => {
      const made = async () => {
        const text = (await app.rest('GET', '/metrics')).body as string;
        return Number(/^duet_live_executions_total (\d+)$/m.exec(text)?.[1]);
      };
      const among = (count: number, from: number) => ({
        n: { in: Array.from({ length: count }, (_, at) => from + at) },
      });
      const text = 'x'.repeat(2000);
      const one = 'query ($one: NoteWhere) @live { notes(where: $one) { id } }';
      const two = `query ($one: NoteWhere, $two: NoteWhere) @live {
        one: notes(where: $one) { id } two: notes(where: $two) { id } }`;
      const cases: [string, object, string, again: number][] = [
        [one, { one: among(90, 10) }, 'x', 0],
        [one, { one: { or: [among(60, 10), among(60, 100)] } }, 'x', 1],
        [two, { one: among(60, 10), two: among(60, 100) }, 'x', 1],
        [one, { one: { text: { contains: 'none' } } }, 'x', 0],
        [one, { one: { text: { contains: 'none' } } }, text, 1],
        [one, { one: { text: { endsWith: 'none' } } }, text, 1],
      ];
      for (const [query, variables, written, again] of cases) {
        await using listener = await Listener.ask(app, query, variables);
        await listener.take(1);
        // Whoever is shown it proves that it was told to all.
        await using other = await Listener.open(app, '/notes?aggregate=count');
        await other.take(1);
        const before = await made();
        await app.rest('POST', '/notes', { text: written, n: 1 });
        await other.take(1);
        for (let tries = 0; tries < 40 && (await made()) - before < 1 + again; tries++) await Bun.sleep(50);
        expect([variables, written.length, (await made()) - before]).toEqual([
          variables,
          written.length,
          1 + again,
        ]);
      }
    });
  });
