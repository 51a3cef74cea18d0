/** Rules that look at other records hold among writes that run at the same moment, on every database. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { SQL } from 'bun';
import { type Answer, type AppUnderTest, databases, openApp, sharedPostgres } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

setDefaultTimeout(60_000);

const sdl = `
enum Rank { CHAIR MEMBER }
type Club @resource @allow(to: [READ]) @allow(to: [CREATE, UPDATE, DELETE], role: "admin") {
  id: ID!
  name: String
  seats: [Seat!]!
  posts: [Post!]!
  days: [Day!]!
  nights: [Night!]!
}
type Seat @resource
  @allow(to: [READ])
  @allow(to: [CREATE, UPDATE], role: "authenticated", where: { club: { seats: { none: { rank: { eq: CHAIR } } } } })
  @allow(to: [CREATE, UPDATE, DELETE], role: "admin")
{
  id: ID!
  rank: Rank!
  tag: String @unique
  club: Club! @onDelete(do: CASCADE)
}
type Day @resource
  @allow(to: [READ])
  @allow(to: [CREATE], where: { club: { nights: { none: {} } } })
  @allow(to: [DELETE], role: "admin")
{
  id: ID!
  club: Club!
}
type Night @resource
  @allow(to: [READ])
  @allow(to: [CREATE], where: { club: { days: { none: {} } } })
{
  id: ID!
  club: Club!
}
type Post @resource
  @allow(to: [READ])
  @allow(to: [CREATE, UPDATE], where: { club: { name: { ne: "closed" } } })
{
  id: ID!
  title: String
  club: Club!
}
`;

const as = (sub: string, ...roles: string[]) => headersOf({ name: `${sub} races`, claims: { sub, roles } });
const users = await Promise.all(Array.from({ length: 8 }, (_, index) => as(`user ${index}`)));
const admin = await as('admin', 'admin');
type Headers = Record<string, string>;

const ways: Readonly<Record<string, (app: AppUnderTest, body: object, headers: Headers) => Promise<Answer>>> =
  {
    POST: (app, body, headers) => app.rest('POST', '/seats', body, headers),
    'POST with a key': (app, body, headers) =>
      app.rest('POST', '/seats', body, { ...headers, 'Idempotency-Key': crypto.randomUUID() }),
    'a transaction': (app, body, headers) =>
      app.rest(
        'POST',
        '/transaction',
        { operations: [{ method: 'POST', path: '/seats', body }] },
        { ...headers, 'Idempotency-Key': crypto.randomUUID() },
      ),
    'a mutation': (app, { clubId }: any, headers) =>
      app.graphql(`mutation { createSeat(clubId: ${clubId}, rank: CHAIR) { id } }`, {}, headers),
    'an atomic mutation': (app, { clubId }: any, headers) =>
      app.graphql(`mutation @atomic { createSeat(clubId: ${clubId}, rank: CHAIR) { id } }`, {}, headers),
  };

/** As many as a pooler has in the run behind one; the others follow as soon as they can. */
const SESSIONS = 4;

/** In one word what came of a request. */
const told = ({ status, body }: Answer): string =>
  body.code ?? body.errors?.[0].extensions.code ?? (status < 300 ? 'done' : String(status));

const once = [...Array(7).fill('FORBIDDEN'), 'done'];

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  let other: SQL | undefined;

  beforeAll(async () => {
    const clubs = Array.from({ length: 16 }, (_, index) => ({ name: `${index}` }));
    const env = { AUTH_SECRET: SECRET };
    if (database === 'sqlite') {
      app = await openApp(database, { sdl, data: { clubs }, env });
      return;
    }
    const url = await (await sharedPostgres()).database();
    app = await openApp(database, { sdl, data: { clubs }, env, url });
    other = new SQL(url, { max: 1 });
  });

  afterAll(async () => {
    await app.close();
    await other?.close({ timeout: 0 });
  });

  /** Lets each of these, in turn, get as far as the statement that writes before the first of them is stored. */
  const together = async (club: number, writes: readonly (() => Promise<Answer>)[]): Promise<string[]> => {
    if (!other) return Promise.all(writes.map((write) => write().then(told)));
    await other`BEGIN`;
    await other`SELECT 1 FROM "Club" WHERE id = ${club} FOR UPDATE`;
    const begun: Promise<Answer>[] = [];
    for (const write of writes) {
      begun.push(write());
      for (let tries = 0; tries < 100; tries++) {
        // Or it would be shown the sessions of its first look.
        await other`SELECT pg_stat_clear_snapshot()`;
        const waiting = await other`SELECT 1 FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'`;
        if (waiting.length >= Math.min(begun.length, SESSIONS)) break;
        await Bun.sleep(5);
      }
    }
    await other`COMMIT`;
    return Promise.all(begun.map((answer) => answer.then(told)));
  };

  test.each(Object.keys(ways).map((name, index) => [name, index + 1] as const))(
    'eight want to be the chair of a club by %s: one is',
    async (name, clubId) => {
      const body = { clubId, rank: 'CHAIR' };
      const way = ways[name] as (typeof ways)[string];
      const told = await together(
        clubId,
        users.map((user) => () => way(app, body, user)),
      );
      expect(told.sort()).toEqual(once);
    },
  );

  test('whoever comes too late is refused by the rule, and not told that its values are taken', async () => {
    const body = { clubId: 6, rank: 'CHAIR', tag: 'the chair' };
    const writes = [admin, ...users.slice(1)].map((who) => () => app.rest('POST', '/seats', body, who));
    const [unruled, ...others] = await together(6, writes);
    expect(new Set(others)).toEqual(new Set(unruled === 'done' ? ['FORBIDDEN'] : ['FORBIDDEN', 'done']));
    const taken = await app.rest('POST', '/seats', { clubId: 7, rank: 'CHAIR', tag: 'the chair' }, users[0]);
    expect(told(taken)).toBe('CONFLICT');
  });

  test('members who become the chair by an update', async () => {
    const seats = await Promise.all(
      users.map((user) => app.rest('POST', '/seats', { clubId: 8, rank: 'MEMBER' }, user)),
    );
    const begun = seats.map(({ body }, index) =>
      app.rest('PUT', `/seats/${body.id}`, { rank: 'CHAIR' }, users[index]),
    );
    expect((await Promise.all(begun)).map(told).sort()).toEqual(once);
  });

  test('two resources whose rules look at each other', async () => {
    const writes = users.map(
      (user, index) => () => app.rest('POST', index % 2 === 0 ? '/days' : '/nights', { clubId: 9 }, user),
    );
    const four = (word: string) => Array(4).fill(word);
    expect((await together(9, writes)).sort()).toEqual([...four('FORBIDDEN'), ...four('done')]);
    const lists = await Promise.all(['/days', '/nights'].map((path) => app.rest('GET', path)));
    expect(lists.map(({ body }) => body.length).sort()).toEqual([0, 4]);
  });

  test('who may do everything is never refused', async () => {
    const body = { clubId: 10, rank: 'CHAIR' };
    const writes = [...users.slice(1), admin].map((who) => () => app.rest('POST', '/seats', body, who));
    const [last, ...others] = (await together(10, writes)).reverse();
    expect(last).toBe('done');
    expect(others.filter((word) => word !== 'FORBIDDEN').join()).toBeOneOf(['', 'done']);
  });

  test('writers who do not concern each other all get through', async () => {
    const chairs = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        app.rest('POST', '/clubs', { name: `new ${index}` }, admin).then(({ body }) => body.id),
      ),
    );
    const begun = chairs.map((clubId, index) =>
      app.rest('POST', '/seats', { clubId, rank: 'CHAIR' }, users[index % 8]),
    );
    expect(new Set((await Promise.all(begun)).map(told))).toEqual(new Set(['done']));
  });

  if (database === 'postgres') {
    test('who loses every time is told so', async () => {
      const sql = other as SQL;
      await sql
        .unsafe(`
        CREATE SEQUENCE tries;
        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          PERFORM nextval('tries');
          RAISE 'lost' USING ERRCODE = '40001';
        END $$;
        CREATE TRIGGER fail AFTER INSERT ON "Night" FOR EACH ROW EXECUTE FUNCTION fail()`)
        .simple();
      const { status, headers, body } = await app.rest('POST', '/nights', { clubId: 11 }, users[0]);
      expect([status, headers.get('Retry-After'), body.code, body.detail]).toEqual([
        503,
        '1',
        'UNAVAILABLE',
        'Others keep changing the same records.',
      ]);
      const [{ last_value }] = await sql`SELECT last_value FROM tries`;
      expect(Number(last_value)).toBe(30);
    });

    test('only writes that could race are serializable', async () => {
      const sql = other as SQL;
      await sql
        .unsafe(`
        CREATE TABLE seen (isolation text);
        CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          INSERT INTO seen VALUES (current_setting('transaction_isolation'));
          RETURN NULL;
        END $$`)
        .simple();
      for (const table of ['Club', 'Seat', 'Post', 'Day'])
        await sql
          .unsafe(
            `CREATE TRIGGER see AFTER INSERT OR UPDATE OR DELETE ON "${table}" FOR EACH STATEMENT EXECUTE FUNCTION see()`,
          )
          .simple();
      const isolation = async (
        method: string,
        path: string,
        body: unknown,
        who = admin,
        doors: Pick<AppUnderTest, 'rest'> = app,
      ) => {
        await sql`DELETE FROM seen`;
        const answer = await doors.rest(method, path, body, who);
        expect([path, told(answer)]).toEqual([path, 'done']);
        const seen: { isolation: string }[] = await sql`SELECT DISTINCT isolation FROM seen`;
        return { seen: seen.map((row) => row.isolation).join(), body: answer.body };
      };
      const club = await isolation('POST', '/clubs', { name: 'plain' });
      expect(club.seen).toBe('read committed');
      const clubId = club.body.id;
      // Looks at clubs, but nobody looks at it.
      expect((await isolation('POST', '/posts', { clubId }, users[0])).seen).toBe('read committed');
      expect((await isolation('PUT', `/clubs/${clubId}`, { name: 'other' })).seen).toBe('read committed');
      expect((await isolation('POST', '/seats', { clubId, rank: 'MEMBER' })).seen).toBe('serializable');
      const nested = { name: 'nested', seats: [{ rank: 'MEMBER' }] };
      const made = await isolation('POST', '/clubs', nested);
      expect(made.seen).toBe('serializable');
      const operations = [
        { method: 'PUT', path: `/clubs/${clubId}`, body: { name: 'third' } },
        { method: 'POST', path: '/posts', body: { clubId } },
      ];
      expect((await isolation('POST', '/transaction', { operations })).seen).toBe('serializable');
      // The rules of what goes along are not asked.
      expect((await isolation('DELETE', `/clubs/${made.body.id}`, undefined)).seen).toBe('read committed');
      const open = app.unguarded();
      expect((await isolation('POST', '/seats', { clubId, rank: 'CHAIR' }, {}, open)).seen).toBe(
        'read committed',
      );
    });
  }
});
