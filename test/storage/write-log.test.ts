/** While a newer file is applied, the database tells which records older nodes write: only these are looked at while nobody may. */

import { describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { conditionsOn } from '../../src/query/filter.ts';
import { databases } from '../app.ts';
import { Deployment } from './deployment.ts';
import { leftOfLog, watched } from './watched.ts';

const A = (directives = '', s = '', more = '') =>
  `type A @resource ${directives} { id: ID!  s: String ${s}  n: Int ${more} }`;
const CHECK = '@check(where: { n: { lt: 1000000 } }, message: "n is less than a million")';
/** Of a field that is new, too. */
const SEARCH = '@search(fields: ["s", "t"])';
const everything = A(`${CHECK} ${SEARCH}`, '@caseless', 't: String! @default(value: "Neu")');
const records = (count: number) => ({
  as: Array.from({ length: count }, (_, n) => ({ s: `Straße ${n}`, n })),
});

/** Who is found neither by words nor without regard to letter case. */
async function behind(deployment: Deployment, sdl: string): Promise<unknown[]> {
  return deployment.using(sdl, async (app) => {
    const lost: unknown[] = [];
    const all: { id: number; s: string }[] = (await app.rest('GET', '/as')).body;
    const look = async ({ id, s }: { id: number; s: string }) => {
      const text = encodeURIComponent(s.toUpperCase());
      for (const by of [`s=${text}`, `search=${text}%20neu`]) {
        const { status, body } = await app.rest('GET', `/as?${by}&id=${id}`);
        if (status !== 200 || body.length === 0) lost.push([id, s, by, status]);
      }
    };
    // Some at a time: of thousands at once a busy server would refuse the last.
    while (all.length > 0) await Promise.all(all.splice(0, 50).map(look));
    return lost;
  });
}

const age = (deployment: Deployment) =>
  deployment.sql(`UPDATE "_duet_duties" SET "duty" = 'somebody 0' WHERE "table" = '_write log'`);

describe.each([...databases])('on %s', (kind) => {
  test('who writes all the while leaves nothing behind', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(A(), records(300));
    const old = await deployment.app(A());
    let isOver = false;
    const counts = { written: 0, refused: 0 };
    const writing = [1, 2, 3].map(async (writer) => {
      for (let n = 0; !isOver && n < 10_000; n++) {
        const s = `Größe ${writer} ${n}`;
        const id = 1 + ((n * 7 + writer) % 300);
        const { status } =
          n % 3 === 0 ? await old.rest('POST', '/as', { s, n }) : await old.rest('PUT', `/as/${id}`, { s });
        if (status === 503) counts.refused++;
        else counts.written++;
        await Bun.sleep(2);
      }
    });
    await watched(deployment, everything, { turn: () => Bun.sleep(30), raising: () => Bun.sleep(30) });
    isOver = true;
    await Promise.all(writing);
    await old.close();
    expect(counts.written).toBeGreaterThan(10);
    expect(await behind(deployment, everything)).toEqual([]);
    expect(await leftOfLog(deployment)).toEqual([]);
  });

  test('what is asked for while nobody may write does not hang on how many records there are', async () => {
    const asked: string[][] = [];
    for (const count of [20, 500]) {
      await using deployment = await Deployment.create(kind);
      await deployment.evolve(A(), records(count));
      const old = await deployment.app(A());
      const held: string[] = [];
      const written: number[] = [];
      const write = async () => {
        written.push((await old.rest('POST', '/as', { s: 'Größe', n: 1 })).body.id);
      };
      await watched(deployment, everything, {
        turn: write,
        raising: write,
        asked: (isHeld, statements) => {
          for (const statement of isHeld ? statements : []) {
            held.push(statement.do);
            if (statement.do !== 'select') continue;
            const conditions = statement.where ? conditionsOn(statement.where) : [];
            // By their keys.
            expect(conditions.some(({ is }) => is === 'in')).toBe(true);
          }
        },
      });
      await old.close();
      asked.push(held);
      expect(await behind(deployment, everything)).toEqual([]);
    }
    expect(asked[1]).toEqual(asked[0] as string[]);
    // The text, its folded form and its words, and the check; SQLite has nothing left to do by then.
    expect((asked[0] as string[]).length > 0).toBe(kind === 'postgres');
  });

  test('what a node that died has left of it is dropped by whoever starts next, unless somebody uses it', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(A(), records(20));
    const dying = watched(deployment, everything, {
      program: (_, count) => {
        if (count === 3) throw new Error('killed');
      },
    });
    expect(await dying.catch(({ message }) => message)).toBe('killed');
    expect(await leftOfLog(deployment)).not.toEqual([]);
    // A node that starts cannot tell yet whether another is at work.
    await deployment.evolve(A());
    expect(await leftOfLog(deployment)).not.toEqual([]);
    await deployment.using(A(), async (app) =>
      expect((await app.rest('POST', '/as', { s: 'Größe', n: 1 })).status).toBe(201),
    );
    await age(deployment);
    await deployment.evolve(A());
    expect(await leftOfLog(deployment)).toEqual([]);
    await deployment.evolve(everything);
    expect(await behind(deployment, everything)).toEqual([]);
  });

  test('a node whose log another has taken begins again', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(A(), records(20));
    const old = await deployment.app(A());
    let isTaken = false;
    await watched(deployment, everything, {
      turn: async (turn) => {
        if (turn !== 3) return;
        // As a node does that takes it for abandoned, and dies at once.
        await age(deployment);
        for (const name of kind === 'sqlite' ? ['insert_A', 'update_A'] : ['INSERT', 'UPDATE'])
          await deployment.sql(`DROP TRIGGER "_duet_written_${name}"${kind === 'sqlite' ? '' : ' ON "A"'}`);
        expect((await old.rest('PUT', '/as/1', { s: 'Größe' })).status).toBe(200);
        isTaken = true;
      },
    });
    expect(isTaken).toBe(true);
    await old.close();
    expect(await behind(deployment, everything)).toEqual([]);
    expect(await leftOfLog(deployment)).toEqual([]);
  });
});

describe('on PostgreSQL', () => {
  test('a record that breaks a new check is found, written last of all; whoever wrote it goes on', async () => {
    await using deployment = await Deployment.create('postgres');
    await deployment.evolve(A(), records(20));
    const old = await deployment.app(A());
    const evolving = watched(deployment, A(CHECK), {
      raising: async () => void (await old.rest('PUT', '/as/7', { n: 1_000_000 })),
    });
    expect(await evolving.catch(({ message }) => message)).toContain('there are records that break it: 7.');
    expect((await old.rest('POST', '/as', { n: 5 })).status).toBe(201);
    expect(await leftOfLog(deployment)).toEqual([]);
    expect((await old.rest('PUT', '/as/7', { n: 7 })).status).toBe(200);
    expect(await deployment.refusals(A(CHECK))).toEqual([]);
    await old.close();
  });

  test('who reads the table for long keeps nobody from serving; what is left notes nothing, and goes later', async () => {
    await using deployment = await Deployment.create('postgres');
    await deployment.evolve(A(), records(20));
    const reader = new SQL(deployment.url, { max: 1 });
    await watched(deployment, A(CHECK), {
      raising: async () => void (await reader.unsafe('BEGIN; SELECT 1 FROM "A" LIMIT 1').simple()),
    });
    await deployment.using(A(CHECK), async (app) => {
      expect((await app.rest('POST', '/as', { s: 'x', n: 1 })).status).toBe(201);
      expect((await app.rest('PUT', '/as/1', { n: 3 })).status).toBe(200);
    });
    expect(await leftOfLog(deployment)).not.toEqual([]);
    expect(await deployment.sql('SELECT * FROM "_duet_written"')).toEqual([]);
    await reader.unsafe('COMMIT');
    await reader.close();
    await age(deployment);
    await deployment.evolve(A(CHECK));
    expect(await leftOfLog(deployment)).toEqual([]);
  });

  test.each(['a role may make', 'a server has'])(
    'where %s no triggers, all records are looked at again',
    async (who) => {
      await using deployment = await Deployment.create('postgres');
      const sdl = A(CHECK, '@caseless');
      await deployment.evolve(A('', '@caseless'), records(20));
      await deployment.sql(`UPDATE "A" SET "_f_s" = 'older'`);
      await deployment.sql(`UPDATE "_duet_duties" SET "duty" = 'caseless s 1'`);
      let { url } = deployment;
      if (who === 'a role may make') {
        const role = `writer_${crypto.randomUUID().slice(0, 8)}`;
        await deployment.sql(`CREATE ROLE ${role} LOGIN`);
        await deployment.sql(
          `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`,
        );
        // Without it nobody is held to anything new.
        await deployment.sql(`GRANT TRUNCATE ON "_duet_duties" TO ${role}`);
        url = url.replace('duet@', `${role}@`);
      } else {
        await deployment.sql(
          `CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'there are none' USING ERRCODE = 'XX000'; END $$`,
        );
        await deployment.sql(
          `CREATE EVENT TRIGGER none ON ddl_command_start WHEN TAG IN ('CREATE TRIGGER') EXECUTE FUNCTION refuse()`,
        );
      }
      const write = `UPDATE "A" SET s = 'Größe', _version = 2 WHERE id = 3`;
      let held = 0;
      const given = new Proxy(deployment, {
        get: (of, name) => (name === 'url' ? url : Reflect.get(of, name)),
      });
      await watched(given, sdl, {
        raising: async () => void (await deployment.sql(write)),
        program: (isHeld) => {
          if (isHeld) held++;
        },
      });
      // Their versions, what was written, and the check.
      expect(held).toBe(3);
      expect(await leftOfLog(deployment)).toEqual([]);
      await deployment.using(sdl, async (app) => {
        expect((await app.rest('GET', '/as?s=GR%C3%96SSE')).body).toMatchObject([{ id: 3 }]);
        expect((await app.rest('GET', '/as?s=STRASSE%2019')).body).toHaveLength(1);
      });
    },
  );

  test('who writes may know nothing of it, and have no right to it', async () => {
    await using deployment = await Deployment.create('postgres');
    await deployment.evolve(A(), records(20));
    const role = `writer_${crypto.randomUUID().slice(0, 8)}`;
    await deployment.sql(`CREATE ROLE ${role} LOGIN`);
    await deployment.sql(`GRANT SELECT, UPDATE ON "A", "_duet_duties" TO ${role}`);
    const other = new SQL(deployment.url.replace('duet@', `${role}@`), { max: 1 });
    const write = async () =>
      void (await other.unsafe(`UPDATE "A" SET s = 'Größe', _version = _version + 1`));
    await watched(deployment, everything, { turn: write, raising: write });
    await other.close();
    expect(await behind(deployment, everything)).toEqual([]);
  });
});
