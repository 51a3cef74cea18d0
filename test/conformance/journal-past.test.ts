/** A position opens no more than what its reader could see when it was told: the past stays behind the right to it. */

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
type Pub @resource @journal
  @allow(to: [READ, HISTORY])
  @allow(to: [READ, CREATE, UPDATE, DELETE, HISTORY], role: "admin")
{ id: ID! text: String! }
type Sec @resource @journal
  @allow(to: [READ])
  @allow(to: [READ, CREATE, UPDATE, DELETE, HISTORY], role: "admin")
{ id: ID! text: String! }
type Note @resource @journal
  @allow(to: [READ])
  @allow(to: [READ, HISTORY], where: { owner: { eq: { claim: "sub" } } })
  @allow(to: [READ, CREATE, UPDATE, DELETE, HISTORY], role: "admin")
{ id: ID! text: String! owner: String! }
`;

const eve = await headersOf({ name: 'eve', claims: { sub: 'eve' } });
const admin = await headersOf({ name: 'root', claims: { sub: 'root', roles: ['admin'] } });

for (const database of databases)
  describe(`on ${database}`, () => {
    let app: AppUnderTest;
    beforeEach(async () => {
      app = await openApp(database, { sdl, env: { AUTH_SECRET: SECRET } });
    });
    afterEach(() => app.close());

    const write = async (method: string, path: string, body?: unknown) => {
      expect((await app.rest(method, path, body, admin)).status).toBeLessThan(300);
    };
    const read = async (path: string) => {
      const { status, body, headers } = await app.rest('GET', path, undefined, eve);
      expect([path, status]).toEqual([path, 200]);
      return { changes: body as any[], position: headers.get('Changes-Position') ?? '' };
    };
    /** The first so many ids of a stream. */
    const ids = async (path: string, count: number, more: Record<string, string> = {}) => {
      const response = await app.fetch(path, { headers: { Accept: 'text/event-stream', ...eve, ...more } });
      let text = '';
      for await (const chunk of response.body as ReadableStream<Uint8Array>) {
        text += new TextDecoder().decode(chunk);
        if (text.split('data: ').length > count) break;
      }
      const events = text.split('\n\n').filter((event) => event.includes('data: '));
      return events.map((event) => ({
        id: event.match(/^id: (.*)$/m)?.[1] ?? '',
        data: JSON.parse(event.match(/^data: (.*)$/m)?.[1] ?? ''),
      }));
    };
    /** What each way to ask shows of the records of others, from this position on. */
    const seenAfter = async (position: string) => {
      const query = `{
        secChanges(after: "${position}") { after { text } }
        noteChanges(after: "${position}") { after { text } }
        secs { _changes(after: "${position}") { after { text } } }
      }`;
      const { data, errors } = await app.graphql(query, {}, eve);
      expect(errors).toBeUndefined();
      const shown = [
        ...(await read(`/changes/secs?after=${position}`)).changes,
        ...(await read(`/changes/secs/1?after=${position}`)).changes,
        ...(await read(`/changes/notes?after=${position}`)).changes,
        ...(await read(`/changes?after=${position}`)).changes,
        ...data.secChanges,
        ...data.noteChanges,
        ...data.secs.flatMap(({ _changes }: any) => _changes),
      ];
      return shown.map(({ after }) => after?.text as string).filter((text) => /^secret/.test(text));
    };

    /** Something of eve's, and then what others have edited away since. */
    const live = async () => {
      await write('POST', '/pubs', { text: 'news' });
      await write('POST', '/notes', { text: 'mine', owner: 'eve' });
      await write('POST', '/secs', { text: 'secret draft' });
      await write('PUT', '/secs/1', { text: 'shown' });
      await write('POST', '/notes', { text: 'secret thought', owner: 'ann' });
      await write('PUT', '/notes/2', { text: 'shown' });
      await write('PUT', '/pubs/1', { text: 'late news' });
      await write('PUT', '/notes/1', { text: 'mine still' });
    };

    test('what the past of some records was told with does not open that of others', async () => {
      await live();
      const pubs = await read('/changes/pubs');
      const page = await read('/changes/pubs?limit=1');
      const notes = await read('/changes/notes?limit=1');
      expect(notes.changes.map(({ after }) => after.text)).toEqual(['mine']);
      const { data } = await app.graphql(
        '{ pubChanges(first: 1) { position } pubs { _changes { position } } }',
        {},
        eve,
      );
      const told: [string, string][] = [
        ['a change', pubs.changes[0].position],
        ['a page', page.position],
        ['a page of some records of a type', notes.position],
        ['a change in GraphQL', data.pubChanges[0].position],
        ['a change of a record', data.pubs[0]._changes[0].position],
      ];
      for (const [what, position] of told) expect([what, await seenAfter(position)]).toEqual([what, []]);
      // Nor does what is told by those who go on from there.
      const [, second] = (await read(`/changes?after=${notes.position}`)).changes;
      expect(second.after.text).toBe('mine still');
      const streamed = await ids(`/changes?after=${page.position}`, 1);
      expect(streamed.map(({ data: { after } }) => after.text)).toContain('mine');
      expect(await seenAfter(streamed[0]?.id ?? '')).toEqual([]);
      expect(await seenAfter((await read(`/changes?after=${page.position}&limit=1`)).position)).toEqual([]);
    });

    test('a stream that begins in the past shows that of others no more than a page does', async () => {
      await live();
      const { position } = await read('/changes/pubs?limit=1');
      const following = ids('/changes/secs', 1, { 'Last-Event-ID': position });
      const subscribed = app.fetch('/graphql', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream', ...eve },
        body: JSON.stringify({
          query: `subscription { secChanges(after: "${position}") { after { text } } }`,
        }),
      });
      const reader = (await subscribed).body?.getReader();
      await write('PUT', '/secs/1', { text: 'shown again' });
      expect((await following).map(({ data }) => data.after.text)).toEqual(['shown again']);
      let text = '';
      while (!text.includes('next')) text += new TextDecoder().decode((await reader?.read())?.value);
      await reader?.cancel();
      expect(text).toContain('shown again');
      expect(text).not.toContain('secret');
    });

    test('whoever reads the past misses nothing that happens meanwhile', async () => {
      await live();
      const first = await read('/changes/notes?limit=1');
      await write('PUT', '/notes/2', { text: 'from now on' });
      const second = await read(`/changes/notes?limit=1&after=${first.position}`);
      const rest = await read(`/changes/notes?after=${second.position}`);
      expect([...first.changes, ...second.changes, ...rest.changes].map(({ after }) => after.text)).toEqual([
        'mine',
        'mine still',
        'from now on',
      ]);
      // By the position of each change too.
      const { data } = await app.graphql(
        `{ noteChanges(after: "${second.changes[0].position}") { after { text } } }`,
        {},
        eve,
      );
      expect(data.noteChanges).toEqual([{ after: { text: 'from now on' } }]);
      await write('PUT', '/notes/2', { text: 'and then' });
      expect((await read(`/changes/notes?after=${rest.position}`)).changes).toHaveLength(1);
    });

    test('positions sort, wherever they were told', async () => {
      await live();
      const told = (await read('/changes')).changes.map(({ position }) => position as string);
      const { position } = await read('/changes');
      await write('PUT', '/pubs/1', { text: 'latest' });
      const later = (await read(`/changes?after=${position}`)).changes.map((change) => change.position);
      const all = [...told, position, ...later];
      expect([...all].sort()).toEqual(all);
    });
  });
