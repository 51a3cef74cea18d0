/** Many webhooks with much to be told: the journal is followed for them a little at a time, and nothing is lost or told twice. */

import { describe, expect, test } from 'bun:test';
import { textIn } from '../../src/storage/statements.ts';
import type { Program, Storage } from '../../src/storage/storage.ts';
import { databases, openApp, withOwn } from '../app.ts';

const sdl = 'type Doc @resource @journal { id: ID!  body: String! }';
/** Which of the transactions that store deliveries is undone. */
const UNDONE = 2;
/** Far less than SQLite writes within LIMIT_WRITE_HOLD; the longest event here is little of it. */
const MOST_TEXT = 1024 * 1024;
const MOST_DELIVERIES = 500;

/** What each transaction stores of deliveries; one of them is undone. */
function watching(storage: Storage, stored: { deliveries: number; text: number }[]): Storage {
  const write: Storage['write'] = (program, ...more) =>
    storage.write(
      function* () {
        const own = { deliveries: 0, text: 0 };
        const steps = program() as Program<any>;
        let step = steps.next();
        while (!step.done) {
          for (const each of step.value)
            if (each.do === 'insert all' && each.resource.table === '_duet_jobs')
              for (const row of each.rows) {
                own.deliveries++;
                own.text += textIn(row);
              }
          step = steps.next(yield step.value);
        }
        if (own.deliveries > 0) {
          stored.push(own);
          if (stored.length === UNDONE) throw new Error('undone');
        }
        return step.value;
      },
      ...more,
    );
  return withOwn(storage, { write });
}

describe.each([...databases])('on %s', (database) => {
  test.each([
    ['long', 40_000, 20],
    ['short', 10, 60],
  ])('%s records', async (_, length, count) => {
    const stored: { deliveries: number; text: number }[] = [];
    const app = await openApp(database, { sdl, around: (storage) => watching(storage, stored) });
    const told = new Map<string, string[]>();
    const receiver = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: async (request) => {
        const { type, subject } = (await request.json()) as { type: string; subject: string };
        told.get(new URL(request.url).pathname)?.push(`${type} ${subject}`);
        return new Response(null, { status: 204 });
      },
    });
    const operator = app.from({ address: '127.0.0.1', host: 'localhost:4000' });
    for (let index = 0; index < 12; index++) {
      told.set(`/${index}`, []);
      const body = JSON.stringify({
        url: `http://127.0.0.1:${receiver.port}/${index}`,
        // Some are told of everything, some of a part.
        on: index % 2 === 0 ? ['Doc.*'] : ['Doc.updated'],
        allowPrivate: true,
      });
      const headers = { 'Content-Type': 'application/json' };
      const added = await operator.fetch('/_duet/webhooks', { method: 'POST', headers, body });
      expect(added.status).toBe(201);
    }
    const records = Array.from({ length: count }, () => ({ body: 'x'.repeat(length) }));
    const { data } = await app.graphql(
      'mutation ($records: [DocInput!]!) { createDocs(records: $records) { id } }',
      { records },
    );
    const ids: string[] = data.createDocs.map(({ id }: { id: string }) => id);
    await app.graphql('mutation { updateDocs(where: {}, set: { body: "y" }, atMost: 1000) { id } }');
    const expected = (index: number) => (index % 2 === 0 ? 2 : 1) * count;
    for (let tries = 0; tries < 1_500; tries++) {
      if ([...told.values()].every(({ length: of }, index) => of >= expected(index))) break;
      await Bun.sleep(20);
    }
    // Whatever would be told twice is told by now.
    await Bun.sleep(200);
    const updated = ids.map((id) => `Doc.updated ${id}`);
    const all = [...ids.map((id) => `Doc.created ${id}`), ...updated].toSorted();
    for (const [path, events] of told)
      expect(events.toSorted()).toEqual(Number(path.slice(1)) % 2 === 0 ? all : updated.toSorted());
    expect(Math.max(...stored.map(({ text }) => text))).toBeLessThan(MOST_TEXT);
    expect(Math.max(...stored.map(({ deliveries }) => deliveries))).toBeLessThan(MOST_DELIVERIES);
    receiver.stop(true);
    await app.close();
  });
});
