/** Senders that retry under the same key while the server is killed and started again: each key has exactly one effect. */

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { Folder, Server } from '../process.ts';

/** How many keys; a long run sets more. */
const KEYS = Number(process.env['KEYS'] ?? 50);
const SENDERS = 10;

const sdl = 'type Note @resource { id: ID!  title: String! }';
const JSON_HEADERS = { 'Content-Type': 'application/json' };

test(`${KEYS} keys with ${SENDERS} senders each have ${KEYS} effects, and equal answers`, async () => {
  using folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{}' });
  /** Where the server is, or will be when it has started again. */
  let there = Promise.withResolvers<string>();
  let done = false;
  let answered = 0;

  /** Sends until there is an answer, as a client would that cannot know what became of the last try. */
  const sender = async (key: number): Promise<string> => {
    const title = `t${key}`;
    const graphql = key % 2 === 0;
    const query = 'mutation($title: String!) { createNote(title: $title) { id title } }';
    const body = JSON.stringify(graphql ? { query, variables: { title } } : { title });
    const headers = { ...JSON_HEADERS, 'Idempotency-Key': `key-${key}` };
    // Until the time of the test is over: how often a slow machine fails is nobody's fault.
    for (;;) {
      const url = await there.promise;
      try {
        const response = await fetch(url + (graphql ? '/graphql' : '/notes'), {
          method: 'POST',
          headers,
          body,
        });
        const text = await response.text();
        if (response.status < 300 && !text.includes('"errors"')) {
          answered++;
          return text;
        }
      } catch {
        // Cut off, or nobody there any more: the next try will tell.
      }
      await Bun.sleep(20);
    }
  };

  const killing = (async () => {
    while (!done) {
      await using server = await Server.start(folder);
      there.resolve(server.url);
      // By answers, not by time: a slow machine gets on too.
      const most = answered + Math.random() * 25;
      while (answered <= most && !done) await Bun.sleep(Math.random() * 10);
      there = Promise.withResolvers<string>();
      server.signal('SIGKILL');
      await server.exited();
    }
  })();

  const sending = Promise.all(
    Array.from({ length: KEYS }, (_, key) => key).map(async (key) => {
      // Not all at once: some arrive while others are being killed.
      await Bun.sleep(key * 60);
      return Promise.all(Array.from({ length: SENDERS }, () => sender(key)));
    }),
  );
  // A server that does not start again is told at once.
  const answers = await Promise.race([sending, killing.then(() => sending)]);
  done = true;
  await killing;
  for (const same of answers) expect(new Set(same).size).toBe(1);
  const db = new Database(folder.file('duet.db'));
  const titles = (db.query('SELECT "title" FROM "Note"').all() as { title: string }[])
    .map(({ title }) => title)
    .sort();
  expect(titles).toEqual(Array.from({ length: KEYS }, (_, key) => `t${key}`).sort());
  db.close();
}, 300_000);
