/** What clients and operators entrust to the server shows up nowhere else: canaries, and failures at every layer. */

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { SignJWT } from 'jose';
import { databases, sharedPostgres } from '../app.ts';
import { command, Folder, Server } from '../process.ts';
import { bearer, sound } from './issuer.ts';

/** In tokens and settings: never to be seen again, by anybody. */
const SECRET = 'canary-secret-of-at-least-thirty-two-bytes';
/** In bodies, variables, values and headers: the sender may be told of it, nobody else. */
const VALUE = 'canary-value-0x7c3f';

const sdl = `
  type Note @resource @allow(to: [READ, CREATE, UPDATE, DELETE]) {
    id: ID!
    title: String! @unique @constraint(maxLength: 100)
    rank: Int
    topic: Topic
  }
  type Topic @resource @allow(to: [READ, CREATE, UPDATE, DELETE]) { slug: String! @key  at: DateTime  notes: [Note!]! }`;

const sign = (claims: Record<string, unknown>, secret = SECRET) =>
  new SignJWT(sound(claims)).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(secret));

/** Everything a client can put a value into, sound or not. */
async function sendEverything(url: string, token: string): Promise<string[]> {
  const answers: string[] = [];
  const send = async (method: string, path: string, body?: string, headers: Record<string, string> = {}) => {
    const all = { 'Content-Type': 'application/json', ...bearer(token), ...headers };
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: all,
      ...(body !== undefined && { body }),
    });
    answers.push(`${[...answer.headers].join('\n')}\n${await answer.text()}`);
  };
  const json = JSON.stringify;
  const value = encodeURIComponent(VALUE);
  const graphql = (query: string, variables: unknown = {}) =>
    send('POST', '/graphql', json({ query, variables }));
  for (let twice = 0; twice < 2; twice++) await send('POST', '/notes', json({ title: VALUE }));
  for (const body of [
    `{"title":"${VALUE}`,
    `"${VALUE}"`,
    json({ title: [VALUE] }),
    json({ title: VALUE.repeat(9) }),
  ])
    await send('POST', '/notes', body);
  await send('POST', '/notes', json({ title: 'x' }), { 'Content-Type': VALUE });
  await send('POST', '/notes', json({ title: 'y' }), { 'Idempotency-Key': VALUE });
  await send('POST', '/notes', json({ title: `${VALUE}z`, topicId: VALUE }));
  await send('PUT', '/notes/1', json({ title: VALUE, rank: VALUE }), { 'If-Match': `"${VALUE}"` });
  await send('DELETE', '/notes/1', undefined, { 'If-Match': `"${VALUE}"` });
  for (const query of [
    `title=${value}`,
    `rank[gte]=${value}`,
    `sort=${value}`,
    `after=${value}&limit=1`,
    `where=${encodeURIComponent(json({ title: { eq: VALUE } }))}`,
    `where=${value}`,
    `topic.slug[contains]=${value}`,
  ])
    await send('GET', `/notes?${query}`);
  const operations = [{ method: 'POST', path: '/notes', body: { title: VALUE }, as: VALUE }];
  await send('POST', '/transaction', json({ operations }));
  await graphql('mutation($t: String!) { createNote(title: $t) { id } }', { t: VALUE });
  await graphql(`mutation { createNote(title: "${VALUE}") { id } }`);
  await graphql('query($r: Int) { notes(where: { rank: { eq: $r } }) { id } }', { r: VALUE });
  await graphql(`{ notes(where: { title: { eq: "${VALUE}" } }) { id } }`);
  await graphql(`{ notes "${VALUE}" }`);
  await graphql('{ notes { id } }', VALUE);
  await graphql(`# ${VALUE}\n{ nothing }`);
  return answers;
}

describe.each([...databases])('on %s', (database) => {
  test('nothing of what was sent is in the log, in the metrics or in the answers of others', async () => {
    using folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{}' });
    const DATABASE_URL =
      database === 'sqlite' ? `sqlite:${folder.file('duet.db')}` : await (await sharedPostgres()).database();
    await using server = await Server.start(folder, {
      DATABASE_URL,
      AUTH_SECRET: SECRET,
      LOG_LEVEL: 'debug',
    });
    const good = await sign({ private: VALUE });
    const forged = await sign({ sub: SECRET, iss: SECRET }, `${SECRET}!`);
    const stale = await sign({ exp: 1, sub: SECRET });
    const answers: string[] = [];
    answers.push(...(await sendEverything(server.url, good)));
    for (const token of [forged, stale, `duet_${SECRET}`, SECRET, `${SECRET}.${SECRET}.${SECRET}`])
      for (const text of [`Bearer ${token}`, `Basic ${token}`, token]) {
        const answer = await fetch(`${server.url}/notes`, { headers: { Authorization: text } });
        expect(answer.status).toBe(401);
        answers.push(`${[...answer.headers].join('\n')}\n${await answer.text()}`);
      }

    // What nobody has foreseen: columns of other types, then no table at all.
    const alter = async (sql: string) => {
      if (database === 'sqlite') {
        const other = new Database(folder.file('duet.db'));
        other.run(sql);
        other.close();
      } else {
        const other = new Bun.SQL(DATABASE_URL, { max: 1 });
        await other.unsafe(sql);
        await other.close();
      }
    };
    const innocent = async () => {
      const answer = await fetch(`${server.url}/topics`);
      const failed = await fetch(`${server.url}/notes/7?fields=title`);
      return `${await answer.text()}${await failed.text()}`;
    };
    const others = [await innocent()];
    if (database === 'postgres') {
      await alter('DELETE FROM "Note"');
      await alter('ALTER TABLE "Note" ALTER COLUMN "title" TYPE integer USING 0');
      answers.push(...(await sendEverything(server.url, good)));
      await alter('ALTER TABLE "Note" ALTER COLUMN "title" TYPE text USING NULL');
      // PostgreSQL then tells the whole row that failed.
      await alter('ALTER TABLE "Note" ADD CONSTRAINT "odd" CHECK (length("title") < 3)');
      answers.push(...(await sendEverything(server.url, good)));
    } else {
      await alter(`CREATE TRIGGER "odd" BEFORE INSERT ON "Note" BEGIN SELECT RAISE(ABORT, 'odd'); END`);
      answers.push(...(await sendEverything(server.url, good)));
    }
    others.push(await innocent());
    await alter('DROP TABLE "Note"');
    answers.push(...(await sendEverything(server.url, good)));
    others.push(await innocent());
    const failures = () => server.log.filter(({ event }) => event === 'failure');
    for (let tries = 0; tries < 100 && failures().length <= 10; tries++) await Bun.sleep(10);
    expect(failures().length).toBeGreaterThan(10);

    const metrics = await fetch(`${server.url}/metrics`, {
      headers: bearer(await sign({ role: 'metrics' })),
    });
    expect(metrics.status).toBe(200);
    others.push(await metrics.text());
    server.signal('SIGTERM');
    await server.exited();
    const seen = { log: server.log.map((line) => JSON.stringify(line)), others, answers };
    expect(seen.log.filter((line) => line.includes('canary'))).toEqual([]);
    expect(seen.log.filter((line) => [good, forged, stale].some((token) => line.includes(token)))).toEqual(
      [],
    );
    expect(seen.others.filter((text) => text.includes('canary'))).toEqual([]);
    expect(seen.answers.filter((text) => text.includes(SECRET) || text.includes(good))).toEqual([]);
    // A failure that nobody foresaw tells even its own client nothing.
    for (const text of answers.filter((each) => each.includes('INTERNAL')))
      expect(text).not.toContain('canary');
  });
});

test('secrets of the settings are in no message', async () => {
  using folder = new Folder();
  for (const env of [
    { DATABASE_URL: `postgres://duet:${SECRET}@127.0.0.1:1/duet`, DATABASE_WAIT: '200' },
    { DATABASE_URL: `postgres://duet:${SECRET}@[oops/duet` },
    { DATABASE_URL: `mysql://duet:${SECRET}@127.0.0.1/duet` },
    { AUTH_SECRET: SECRET.slice(0, 20) },
    { AUTH_SECRET: SECRET, AUTH_JWKS_URL: 'https://issuer.test' },
  ] as Record<string, string>[]) {
    const { stdout, stderr, exit } = await command(folder, ['serve'], env);
    expect([exit, stderr.startsWith('duet: ')]).toEqual([2, true]);
    expect(stdout + stderr).not.toContain('canary');
  }
});
