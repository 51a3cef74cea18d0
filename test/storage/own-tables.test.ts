/** Duet's own tables as databases in use have them: what an older version wrote there counts. */

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { type DatabaseKind, databases, openApp, sharedPostgres } from '../app.ts';
import { Folder } from '../process.ts';

const sdl = `type Tag @resource @allow(to: [READ, CREATE]) { name: ID! @key }
  type Note @resource @allow(to: [READ, CREATE], role: "editor") { id: ID!  text: String }`;
const secret = 'duet_secret';
const hash = new Bun.CryptoHasher('sha256').update(secret).digest('base64url');

/** Word for word what the first version made, and wrote. */
const before = [
  'CREATE TABLE "_duet_buried" ("table" TEXT NOT NULL, "key" TEXT NOT NULL, "version" INTEGER NOT NULL, PRIMARY KEY ("table", "key"))',
  'CREATE TABLE "_duet_answers" ("caller" TEXT NOT NULL, "key" TEXT NOT NULL, "request" TEXT NOT NULL, "answer" TEXT, "at" TEXT NOT NULL, PRIMARY KEY ("caller", "key"))',
  'CREATE TABLE "_duet_keys" ("name" TEXT NOT NULL PRIMARY KEY, "hash" TEXT NOT NULL UNIQUE, "roles" TEXT NOT NULL, "at" TEXT NOT NULL, "revoked" TEXT)',
  `INSERT INTO "_duet_buried" ("table", "key", "version") VALUES ('Tag', 'gone', 7), ('Tag', 'used', 0)`,
  `INSERT INTO "_duet_answers" ("caller", "key", "request", "answer", "at") VALUES ('', 'k', 'x', '{}', '9999-01-01T00:00:00.000Z')`,
  `INSERT INTO "_duet_keys" ("name", "hash", "roles", "at", "revoked") VALUES ('ci', '${hash}', '["editor"]', '2024-01-01T00:00:00.000Z', NULL)`,
];

async function carriedOut(database: DatabaseKind, url: string): Promise<void> {
  if (database === 'postgres') {
    await using sql = new Bun.SQL(url, { max: 1 });
    for (const text of before) await sql.unsafe(text);
    return;
  }
  using file = new Database(url.slice('sqlite:'.length));
  for (const text of before) file.run(text);
}

describe.each([...databases])('on %s', (database) => {
  test('graves, answers and keys are found', async () => {
    using folder = new Folder();
    const url =
      database === 'sqlite'
        ? `sqlite:${folder.file('x.db')}`
        : await (await sharedPostgres()).database('en-US');
    await carriedOut(database, url);
    const app = await openApp(database, { sdl, url, env: { AUTH_KEYS: 'on' } });
    for (const [name, version] of [
      ['gone', 8],
      ['used', 1],
      ['new', 1],
    ] as const) {
      const { headers } = await app.rest('POST', '/tags', { name });
      expect([name, headers.get('ETag')?.split('-')[0]]).toEqual([name, `"${version}`]);
    }
    const twice = await app.unguarded().rest('POST', '/tags', { name: 'other' }, { 'Idempotency-Key': 'k' });
    expect(twice.body.code).toBe('IDEMPOTENCY_MISMATCH');
    const asKey = { Authorization: `Bearer ${secret}` };
    expect((await app.rest('POST', '/notes', { text: 'x' }, asKey)).status).toBe(201);
    expect((await app.rest('POST', '/notes', { text: 'x' }, { Authorization: 'Bearer duet_x' })).status).toBe(
      401,
    );
    await app.close();
  });
});
