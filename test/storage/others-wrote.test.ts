/** What is known of a SQLite file is looked at anew when another process has written to it: how much there is, and which indexes. */

import { Database } from 'bun:sqlite';
import { describe, expect, spyOn, test } from 'bun:test';
import { WalIndex } from '../../src/storage/sqlite/wal-index.ts';
import { type Answer, type AppUnderTest, openApp } from '../app.ts';
import { SECRET } from '../conformance/access-matrix.ts';
import { Folder } from '../process.ts';

const sdl = 'type Item @resource { id: ID!  code: String! @unique  name: String! }';
const ROWS = 30_000;
const PARTS = 20_000;

describe('what another process has written', () => {
  /** Whatever is under way on a machine that stands still for a moment would leave by the clock. */
  function stopped() {
    const clock = { now: performance.now() };
    const spy = spyOn(performance, 'now').mockImplementation(() => clock.now);
    return Object.assign(clock, { [Symbol.dispose]: () => spy.mockRestore() });
  }

  function load(file: string): void {
    using db = new Database(file);
    db.run(
      `WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ${ROWS}) INSERT INTO "Item" (code, name, _version) SELECT 'c' || i, 'n' || i, 1 FROM s`,
    );
  }

  test.each(['a read', 'a write'])('counts for %s at once', async (what) => {
    using folder = new Folder();
    const file = folder.file('duet.db');
    using clock = stopped();
    // What leaves the process fails there.
    const app = await openApp('sqlite', { sdl, data: {}, url: `sqlite:${file}`, apart: ['false'] });
    const scan = async () => (await app.rest('GET', '/items?name[contains]=zzz&limit=5')).status;
    expect(await scan()).toBe(200);
    clock.now += 1_000;
    load(file);
    if (what === 'a write')
      expect((await app.rest('POST', '/items', { code: 'x', name: 'x' })).status).toBe(201);
    expect(await scan()).toBe(503);
    await app.close();
  });

  test('until it is counted again, nothing is taken for certain that hangs on it', async () => {
    using folder = new Folder();
    const file = folder.file('duet.db');
    using clock = stopped();
    const app = await openApp('sqlite', { sdl, data: {}, url: `sqlite:${file}`, apart: ['false'] });
    const scan = async () => (await app.rest('GET', '/items?name[contains]=zzz&limit=5')).status;
    clock.now += 1_000;
    expect(await scan()).toBe(200);
    load(file);
    // The clock goes on while rows are visited, and only where it is looked at.
    const looks = spyOn(performance, 'now').mockImplementation(() => {
      clock.now += 1;
      return clock.now;
    });
    expect(await scan()).toBe(503);
    looks.mockRestore();
    await app.close();
  });

  test('an index that it has dropped is not relied on any more', async () => {
    using folder = new Folder();
    const file = folder.file('duet.db');
    const first = await openApp('sqlite', { sdl, data: {}, url: `sqlite:${file}` });
    await first.close();
    load(file);
    using _ = stopped();
    const app = await openApp('sqlite', { sdl, data: {}, url: `sqlite:${file}`, apart: ['false'] });
    const lookup = async () => (await app.rest('GET', '/items?code=zzz')).status;
    expect(await lookup()).toBe(200);
    using db = new Database(file);
    const [[index] = []] = db.query(`SELECT name FROM sqlite_schema WHERE name LIKE 'Item_code_%'`).values();
    db.run(`DROP INDEX "${index}"`);
    expect(await lookup()).toBe(503);
    await app.close();
  });

  // A newer file does it, while servers of the older one go on.
  describe('a unique that it has given up leads to all records that match', () => {
    const referring = `${sdl.replace('@resource', '@resource @allow(to: [READ])')}
      type Part @resource @allow(to: [READ, UPDATE], where: { item: { code: { eq: "a" } } }) { id: ID!  n: Int  item: Item! }`;
    const data = { items: [{ id: 1, code: 'a', name: 'first' }], parts: [{ id: 1, itemId: 1 }] };
    const opened = (url: string) =>
      openApp('sqlite', { sdl: referring, data, url, env: { AUTH_SECRET: SECRET } });
    /** Returns what brings it back. */
    function giveUp(db: Database, parts = 1): () => void {
      const [[index, made] = []] = db
        .query(`SELECT name, sql FROM sqlite_schema WHERE name LIKE 'Item_code_%'`)
        .values();
      // Before anybody reads who has begun to start by now.
      db.run('PRAGMA synchronous = OFF');
      db.transaction(() => {
        db.run(`DROP INDEX "${index}"`);
        db.run(`INSERT INTO "Item" (code, name, _version) VALUES ('a', 'second', 1)`);
        db.run(
          `WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ${parts}) INSERT INTO "Part" ("itemId", _version) SELECT 2, 1 FROM s`,
        );
      })();
      return () => {
        db.run(`DELETE FROM "Part" WHERE "itemId" = 2`);
        db.run(`DELETE FROM "Item" WHERE id = 2`);
        db.run(String(made));
      };
    }
    const shown = async (app: AppUnderTest) => ({
      listed: (await app.rest('GET', '/parts?sort=-id')).body.map(({ id }: { id: number }) => id),
      found: (await app.rest('GET', '/parts/2')).status,
      filtered: (await app.rest('GET', '/parts?item.name=second')).body.length,
    });
    const [once, twice] = [
      { listed: [1], found: 404, filtered: 0 },
      { listed: [2, 1], found: 200, filtered: 1 },
    ];
    const download = (app: AppUnderTest) =>
      app.fetch('/parts', { headers: { Accept: 'application/x-ndjson' } });

    test.each(['where it is told', 'where nothing tells that others have written'])('%s', async (how) => {
      using folder = new Folder();
      const file = folder.file('duet.db');
      using _ = how === 'where it is told' ? undefined : spyOn(WalIndex, 'of').mockReturnValue(undefined);
      const app = await opened(`sqlite:${file}`);
      expect(await shown(app)).toEqual(once);
      expect(app.statements.join()).toContain('= (SELECT');
      using db = new Database(file);
      const back = giveUp(db);
      expect(await shown(app)).toEqual(twice);
      back();
      expect(await shown(app)).toEqual(once);
      await app.close();
      // Also where no read comes before.
      const other = await opened(`sqlite:${folder.file('other.db')}`);
      using db2 = new Database(folder.file('other.db'));
      giveUp(db2);
      expect(await shown(other)).toEqual(twice);
      await other.close();
    });

    test('in writes, also where no read comes before', async () => {
      using folder = new Folder();
      const app = await opened(`sqlite:${folder.file('duet.db')}`);
      expect((await app.rest('PUT', '/parts/1', { n: 1 })).status).toBe(200);
      using db = new Database(folder.file('duet.db'));
      giveUp(db);
      expect((await app.rest('PUT', '/parts/2', { n: 2 })).status).toBe(200);
      await app.close();
    });

    test('if somebody commits while it is looked whether anybody has', async () => {
      using folder = new Folder();
      const app = await opened(`sqlite:${folder.file('duet.db')}`);
      expect(await shown(app)).toEqual(once);
      using db = new Database(folder.file('duet.db'));
      const { look } = WalIndex.prototype;
      // What is read in one turn is read at one moment.
      await Bun.sleep(1);
      const spy = spyOn(WalIndex.prototype, 'look').mockImplementationOnce(function (this: WalIndex) {
        giveUp(db);
        return look.call(this);
      });
      await shown(app);
      spy.mockRestore();
      await Bun.sleep(1);
      expect(await shown(app)).toEqual(twice);
      await app.close();
    });

    const all = { path: '/parts', where: { n: { isNull: true } }, atMost: 50_000 };
    const elsewhere: [
      what: string,
      ask: (app: AppUnderTest) => Promise<Answer>,
      found: (body: any) => number,
    ][] = [
      ['read', (app) => app.rest('GET', '/parts?aggregate=count&n[ne]=5'), ([{ count }]) => count],
      [
        'write',
        (app) =>
          app.graphql(
            'mutation { updateParts(where: { n: { isNull: true } }, set: { n: 2 }, atMost: 50000) { id } }',
          ),
        ({ data }) => data.updateParts.length,
      ],
      [
        'transaction',
        (app) =>
          app.rest('POST', '/transaction', { operations: [{ method: 'PUT', ...all, body: { n: 2 } }] }),
        ({ results: [{ body }] }) => body.length,
      ],
    ];
    // Programs wait for their turn there, and statements are made only then.
    test.each(elsewhere)('in a %s that another process carries out', async (_, ask, found) => {
      using folder = new Folder();
      const app = await opened(`sqlite:${folder.file('duet.db')}`);
      using db = new Database(folder.file('duet.db'));
      db.run('PRAGMA busy_timeout = 5000');
      db.run(
        `WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ${ROWS}) INSERT INTO "Part" ("itemId", _version) SELECT 1, 1 FROM s`,
      );
      expect((await app.rest('GET', '/parts/1')).status).toBe(200);
      const begun = app.statements.length;
      const asked = ask(app);
      // What comes of it here is that it takes long; the other process is not there yet.
      for (let tries = 0; tries < 100 && app.statements.length === begun; tries++)
        await new Promise((resolve) => setImmediate(resolve));
      giveUp(db);
      const { body } = await asked;
      expect(found(body)).toBe(ROWS + 2);
      await app.close();
    });

    test('in downloads', async () => {
      using folder = new Folder();
      const app = await opened(`sqlite:${folder.file('duet.db')}`);
      expect((await (await download(app)).text()).split('\n').length).toBe(2);
      using db = new Database(folder.file('duet.db'));
      giveUp(db);
      expect((await (await download(app)).text()).split('\n').length).toBe(3);
      await app.close();
    });

    test('in downloads that have begun before it is back', async () => {
      using folder = new Folder();
      const app = await opened(`sqlite:${folder.file('duet.db')}`);
      using db = new Database(folder.file('duet.db'));
      const back = giveUp(db, PARTS);
      const { body } = await download(app);
      const reader = body?.getReader();
      let { done, value } = (await reader?.read()) ?? {};
      back();
      expect(await shown(app)).toEqual(once);
      let bytes = 0;
      while (!done) {
        bytes += value?.length ?? 0;
        ({ done, value } = (await reader?.read()) ?? {});
      }
      expect(bytes).toBeGreaterThan(PARTS * '{"id":1,"n":null,"itemId":1}'.length);
      await app.close();
    });
  });
});
