/** How long changes are kept, and what is told to those who come too late. */

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { type AppUnderTest, type DatabaseKind, databases, openApp, sharedPostgres } from '../app.ts';
import { Folder } from '../process.ts';

const sdl = `type Item @resource @journal(keep: "12h") { id: ID! name: String! }
  type Other @resource @journal(keep: "forever") { id: ID! name: String! }`;

/** Makes all changes so far as old as that. */
async function age(database: DatabaseKind, url: string, at: string): Promise<void> {
  const sql = `UPDATE "_duet_changes" SET "at" = '${at}'`;
  if (database === 'postgres') {
    await using client = new Bun.SQL(url, { max: 1 });
    await client.unsafe(sql);
  } else {
    using file = new Database(url.slice('sqlite:'.length));
    file.run('PRAGMA busy_timeout = 5000');
    file.run(sql);
  }
}

async function eventually(work: () => Promise<boolean>): Promise<boolean> {
  for (let tries = 0; tries < 200; tries++) {
    if (await work()) return true;
    await Bun.sleep(50);
  }
  return false;
}

/** More than a batch, so that somebody sweeps. */
const many = (app: AppUnderTest, plural: string, input: string) =>
  app.graphql(`mutation ($records: [${input}!]!) { ${plural}(records: $records) { id } }`, {
    records: Array.from({ length: 300 }, (_, index) => ({ name: `n${index}` })),
  });

describe.each([...databases])('on %s', (database) => {
  test('old changes go, and who went on from before them is told', async () => {
    using folder = new Folder();
    const url =
      database === 'sqlite' ? `sqlite:${folder.file('x.db')}` : await (await sharedPostgres()).database();
    const app = await openApp(database, { sdl, url });
    await app.rest('POST', '/others', { name: 'a' });
    await app.rest('POST', '/items', { name: 'a' });
    const first = (await app.rest('GET', '/changes')).body[0].position;
    await app.rest('PUT', '/items/1', { name: 'b' });
    const [, , last] = (await app.rest('GET', '/changes')).body;
    await age(database, url, new Date(Date.now() - 13 * 3_600_000).toISOString());
    expect((await many(app, 'createItems', 'ItemInput')).errors).toBeUndefined();
    const isGone = async () => (await app.rest('GET', `/changes/items?after=${first}`)).status === 410;
    expect(await eventually(isGone)).toBe(true);
    const told = await app.rest('GET', `/changes?after=${first}`);
    expect([told.status, told.body.code]).toEqual([410, 'POSITION_EXPIRED']);
    const { errors } = await app.graphql(`{ changes(after: "${first}") { key } }`);
    expect(errors?.[0].extensions.code).toBe('POSITION_EXPIRED');
    // Nothing is missing for those who have seen all that is gone, nor of a type that keeps everything.
    const since = (await app.rest('GET', `/changes/items?after=${last.position}&limit=1000`)).body;
    expect(since.map(({ key }: any) => key)).toEqual(Array.from({ length: 300 }, (_, index) => index + 2));
    expect((await app.rest('GET', `/changes/others?after=${first}`)).body).toEqual([]);
    expect((await app.rest('GET', '/changes/others')).body).toHaveLength(1);
    expect((await app.rest('GET', '/changes/items?limit=1')).body[0].key).toBe(2);
    await app.close();
  });

  test('what is young enough stays', async () => {
    using folder = new Folder();
    const url =
      database === 'sqlite' ? `sqlite:${folder.file('x.db')}` : await (await sharedPostgres()).database();
    const app = await openApp(database, { sdl, url });
    await app.rest('POST', '/items', { name: 'a' });
    await age(database, url, new Date(Date.now() - 11 * 3_600_000).toISOString());
    await many(app, 'createItems', 'ItemInput');
    await Bun.sleep(200);
    expect((await app.rest('GET', '/changes/items/1')).body).toHaveLength(1);
    await app.close();
  });
});
