/** Who sees which changes: by the rules of the records as they were, and the past only with the right to it. */

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
type Person @resource @journal
  @allow(to: [READ], where: { hidden: { eq: false } })
  @allow(to: [READ, CREATE, UPDATE, DELETE, HISTORY], role: "admin")
{ id: ID! name: String! hidden: Boolean! @default(value: false) }
type Note @resource @journal
  @allow(to: [READ], where: { public: { eq: true } })
  @allow(to: [READ, CREATE, UPDATE, DELETE, HISTORY], where: { owner: { eq: { claim: "sub" } } })
  @allow(to: [READ, CREATE, UPDATE, DELETE, HISTORY], role: "admin")
{
  id: ID!
  text: String!
  owner: String!
  public: Boolean! @default(value: false)
  secret: String @allow(to: [READ, CREATE, UPDATE], role: "admin")
  mood: String @allow(to: [READ], where: { owner: { eq: { claim: "sub" } } }) @allow(to: [READ], role: "admin")
  about: Person
}
type Vault @resource @journal @allow(to: [READ, CREATE], role: "admin") { id: ID! text: String! }
`;

const as = (sub: string, more: object = {}) => headersOf({ name: sub, claims: { sub, ...more } });
const ann = await as('ann');
const bob = await as('bob');
const admin = await as('root', { roles: ['admin'] });

for (const database of databases)
  describe(`on ${database}`, () => {
    let app: AppUnderTest;
    beforeEach(async () => {
      app = await openApp(database, { sdl, env: { AUTH_SECRET: SECRET } });
    });
    afterEach(() => app.close());

    const feed = async (who: Record<string, string>, path = '/changes') => {
      const { status, body, headers } = await app.rest('GET', path, undefined, who);
      expect([path, status]).toEqual([path, 200]);
      return { changes: body as any[], position: headers.get('Changes-Position') ?? '' };
    };
    const write = async (who: Record<string, string>, method: string, path: string, body?: unknown) => {
      const answer = await app.rest(method, path, body, who);
      expect([method, path, answer.status < 300, answer.body]).toEqual([method, path, true, answer.body]);
    };
    const brief = (changes: any[]) => changes.map(({ kind, key, version }) => `${kind} ${key} ${version}`);

    /** The life of a note that is private, public, and private again. */
    const live = async () => {
      await write(ann, 'POST', '/notes', { text: 'draft', owner: 'ann', mood: 'low' });
      await write(admin, 'PUT', '/notes/1', { secret: 'hush' });
      await write(ann, 'PUT', '/notes/1', { text: 'done', public: true });
      await write(ann, 'PUT', '/notes/1', { text: 'better' });
      await write(ann, 'PUT', '/notes/1', { public: false });
      await write(ann, 'DELETE', '/notes/1');
    };

    test('a record that enters sight is new, and one that leaves it is gone', async () => {
      const { position } = await feed(bob);
      await live();
      const { changes } = await feed(bob, `/changes/notes?after=${position}`);
      // With its last version that was seen, as if it were gone.
      expect(brief(changes)).toEqual(['CREATED 1 3', 'UPDATED 1 4', 'DELETED 1 4']);
      const shown = { id: 1, owner: 'ann', public: true, aboutId: null };
      expect(changes.map(({ after }) => after)).toEqual([
        { ...shown, text: 'done' },
        { ...shown, text: 'better' },
        null,
      ]);
      // What was there before, and who did it, is the past.
      for (const change of changes)
        expect(
          Object.keys(change).filter((name) => ['before', 'caller', 'requestId'].includes(name)),
        ).toEqual([]);
      const query = '{ noteChanges(after: "POSITION") { kind before { id } } }'.replace('POSITION', position);
      const { data, errors } = await app.graphql(query, {}, bob);
      expect(data.noteChanges.map(({ before }: any) => before)).toEqual([null, null, null]);
      expect(errors?.map(({ extensions }) => extensions.code)).toEqual([
        'FORBIDDEN',
        'FORBIDDEN',
        'FORBIDDEN',
      ]);
    });

    test('the past needs HISTORY, on the record as it was', async () => {
      await live();
      expect((await feed(bob, '/changes/notes')).changes).toEqual([]);
      const own = (await feed(ann, '/changes/notes')).changes;
      expect(brief(own)).toEqual([
        'CREATED 1 1',
        'UPDATED 1 2',
        'UPDATED 1 3',
        'UPDATED 1 4',
        'UPDATED 1 5',
        'DELETED 1 5',
      ]);
      expect(own.map(({ caller }) => caller)).toEqual(['ann', 'root', 'ann', 'ann', 'ann', 'ann']);
      expect(own[1].after).toEqual({
        id: 1,
        text: 'draft',
        owner: 'ann',
        public: false,
        mood: 'low',
        aboutId: null,
      });
      expect(own[5].before.text).toBe('better');
      const all = (await feed(admin, '/changes/notes')).changes;
      expect(all.map(({ after }) => after?.secret)).toEqual([
        null,
        'hush',
        'hush',
        'hush',
        'hush',
        undefined,
      ]);
    });

    test('a record tells of its past to those who may know', async () => {
      await write(ann, 'POST', '/notes', { text: 'draft', owner: 'ann' });
      await write(ann, 'PUT', '/notes/1', { text: 'done', public: true });
      const own = (who: Record<string, string>) =>
        app.graphql('{ notes { text _changes { version caller after { text } } } }', {}, who);
      expect((await own(bob)).data).toEqual({ notes: [{ text: 'done', _changes: [] }] });
      const changes = [
        { version: 1, caller: 'ann', after: { text: 'draft' } },
        { version: 2, caller: 'ann', after: { text: 'done' } },
      ];
      expect((await own(ann)).data).toEqual({ notes: [{ text: 'done', _changes: changes }] });
    });

    test('nobody goes on from where nobody has been', async () => {
      await live();
      const { position } = (await feed(admin)).changes[0];
      const before = `${position.slice(0, 15)}0${position.slice(16)}`;
      expect((await app.rest('GET', `/changes?after=${before}`, undefined, bob)).status).toBe(400);
    });

    test('a reference to what is not seen is null, as it is in the record', async () => {
      const { position } = await feed(bob);
      await write(admin, 'POST', '/persons', { name: 'Cid', hidden: true });
      await write(ann, 'POST', '/notes', { text: 'x', owner: 'ann', public: true });
      await write(admin, 'PUT', '/notes/1', { aboutId: 1 });
      const seen = (await feed(bob, `/changes/notes?after=${position}`)).changes;
      expect(seen.map(({ after }) => after.aboutId)).toEqual([null, null]);
      expect((await feed(admin, '/changes/notes')).changes.map(({ after }) => after.aboutId)).toEqual([
        null,
        1,
      ]);
    });

    test('of several types, those that one may read', async () => {
      const { position } = await feed(bob);
      await write(admin, 'POST', '/vaults', { text: 'gold' });
      await write(admin, 'POST', '/persons', { name: 'Dan' });
      expect((await feed(bob, `/changes?after=${position}`)).changes.map(({ resource }) => resource)).toEqual(
        ['Person'],
      );
      expect((await app.rest('GET', '/changes/vaults', undefined, bob)).status).toBe(403);
      expect((await app.rest('GET', '/changes/vaults')).status).toBe(401);
      const { errors } = await app.graphql('{ vaultChanges { key } }', {}, bob);
      expect(errors?.[0].extensions.code).toBe('FORBIDDEN');
    });

    test('a filter asks only for what one may read', async () => {
      const { position } = await feed(bob);
      await live();
      const asked = (where: object) =>
        `/changes/notes?after=${position}&where=${encodeURIComponent(JSON.stringify(where))}`;
      expect((await app.rest('GET', asked({ secret: { eq: 'hush' } }), undefined, bob)).status).toBe(403);
      // A hidden value is no ground to tell of a change.
      expect(brief((await feed(bob, asked({ text: { eq: 'draft' } }))).changes)).toEqual([]);
      expect(brief((await feed(bob, asked({ text: { eq: 'done' } }))).changes)).toEqual([
        'CREATED 1 3',
        'UPDATED 1 4',
      ]);
    });

    test('two worlds that differ only in what is hidden give the same stream', async () => {
      const world = async (hidden: string) => {
        const other = await openApp(database, { sdl, env: { AUTH_SECRET: SECRET } });
        const begin = await other.rest('GET', '/changes', undefined, bob);
        const send = (method: string, path: string, body?: unknown) => other.rest(method, path, body, admin);
        await send('POST', '/notes', { text: hidden, owner: 'ann', secret: hidden, mood: hidden });
        await send('PUT', '/notes/1', { text: 'shown', public: true });
        await send('PUT', '/notes/1', { secret: `${hidden}!`, mood: `${hidden}!` });
        await send('PUT', '/notes/1', { public: false, text: hidden });
        await send('PUT', '/notes/1', { text: `${hidden}?` });
        await send('DELETE', '/notes/1');
        const { body } = await other.rest(
          'GET',
          `/changes?after=${begin.headers.get('Changes-Position')}`,
          undefined,
          bob,
        );
        await other.close();
        return body.map(({ position, at, transaction, ...rest }: any) => rest);
      };
      const one = await world('one');
      expect(one).toHaveLength(3);
      expect(await world('another')).toEqual(one);
    });
  });
