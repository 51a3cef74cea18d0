/** Rules with a check: what a record must be before an update, and what it must be after. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  enum State { DRAFT SENT FILED }
  type Desk @resource @allow(to: [READ]) { id: ID!  name: String! }
  type Letter @resource
    @allow(to: [READ], role: "porter", where: { desk: { name: { eq: "in" } } })
    @allow(
      to: [UPDATE]
      role: "porter"
      where: { desk: { name: { eq: "in" } } }
      check: { desk: { name: { eq: "out" } } }
    )
    @allow(to: [READ, CREATE], where: { owner: { eq: { claim: "sub" } } })
    @allow(to: [UPDATE], where: { and: [{ owner: { eq: { claim: "sub" } } }, { state: { eq: DRAFT } }] })
    @allow(
      to: [UPDATE]
      where: { and: [{ owner: { eq: { claim: "sub" } } }, { state: { eq: DRAFT } }] }
      check: { state: { eq: SENT } }
    )
    @allow(to: [READ, UPDATE], role: "clerk", where: { state: { eq: SENT } })
    @allow(to: [UPDATE], role: "clerk", where: { state: { eq: SENT } }, check: { state: { eq: FILED } })
    @allow(to: [READ, CREATE, UPDATE, DELETE], role: "admin")
  {
    id: ID!
    owner: String!
    desk: Desk
    text: String!
    code: String @unique
    state: State! @default(value: DRAFT)
    note: String @allow(to: [READ], role: "clerk")
  }`;

const as = (sub: string, ...roles: string[]) =>
  headersOf({ name: `${sub} ${roles}`, claims: { sub, roles } });
const ann = await as('ann');
const clerk = await as('carl', 'clerk');
const porter = await as('paul', 'porter');
const admin = await as('root', 'admin');
const DENIED = 'The updated letter would violate an access rule.';

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  let id: number;
  beforeAll(async () => {
    app = await openApp(database, {
      sdl,
      data: { desks: [{ name: 'in' }, { name: 'out' }] },
      env: { AUTH_SECRET: SECRET },
    });
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    const { body } = await app
      .unguarded()
      .rest('POST', '/letters', { owner: 'ann', text: 'Dear', note: 'hush', deskId: 1 });
    id = body.id;
  });
  const stored = async () => (await app.unguarded().rest('GET', `/letters/${id}`)).body;

  test('who has no claims at all may not change what a check with a claim guards, and is told at once', async () => {
    const guarded = `type Memo @resource @allow(to: [READ, CREATE]) @allow(to: [UPDATE], where: {}, check: { n: { eq: { claim: "n" } } })
      { id: ID!  n: Int }`;
    const memos = await openApp(database, {
      sdl: guarded,
      data: { memos: [{ n: 1 }] },
      env: { AUTH_SECRET: SECRET },
    });
    const { body } = await memos.rest('GET', '/access.json');
    expect(JSON.stringify(body)).not.toContain('UPDATE');
    for (const path of ['/memos/1', '/memos/9'])
      for (const set of [{ n: 1 }, { nope: 1 }]) {
        const { status } = await memos.rest('PUT', path, set);
        expect([path, set, status]).toEqual([path, set, 401]);
      }
    const { errors } = await memos.graphql('mutation { updateMemo(id: 1, n: 1) { id } }');
    expect(errors?.[0].extensions.code).toBe('UNAUTHENTICATED');
    const two = await headersOf({ name: 'two', claims: { sub: 'two', n: 2 } });
    expect((await memos.rest('PUT', '/memos/1', { n: 2 }, two)).status).toBe(200);
    await memos.close();
  });

  /** The same update by either door: what is shown, or the code and the message. */
  const doors = {
    rest: async (set: any, headers: any) => {
      const { status, body } = await app.rest('PUT', `/letters/${id}`, set, headers);
      return status === 200 ? body : [body.code, body.detail];
    },
    graphql: async (set: any, headers: any) => {
      const { data, errors } = await app.graphql(
        'mutation($w: LetterWhere!, $s: LetterChanges!) { it: updateLetters(where: $w, set: $s, atMost: 1) { id owner deskId text code state } }',
        { w: { id: { eq: id } }, s: set },
        headers,
      );
      if (errors) return [errors[0].extensions.code, errors[0].message];
      return data.it[0]
        ? { ...data.it[0], id: Number(data.it[0].id), deskId: Number(data.it[0].deskId) }
        : ['NOT_FOUND'];
    },
  };

  describe.each(Object.entries(doors))('through %s', (_, update) => {
    test('a record may go where its way leads, out of sight too, and is shown as it was written', async () => {
      const shown = { id, owner: 'ann', deskId: 1, text: 'Dear', code: null, state: 'SENT' };
      expect(await update({ state: 'SENT' }, ann)).toEqual(shown);
      expect(await update({ state: 'DRAFT' }, ann)).toEqual(['FORBIDDEN', 'You may not update this letter.']);
      const filed = await update({ state: 'FILED', text: 'Filed' }, clerk);
      expect(filed).toMatchObject({ state: 'FILED', text: 'Filed' });
      expect((await app.rest('GET', `/letters/${id}`, undefined, clerk)).status).toBe(404);
      expect(await stored()).toMatchObject({ state: 'FILED', note: 'hush' });
    });

    test('without its check, the record must stay as the other rules say', async () => {
      expect(await update({ state: 'FILED' }, ann)).toEqual(['FORBIDDEN', DENIED]);
      expect(await update({ owner: 'bob' }, ann)).toEqual(['FORBIDDEN', DENIED]);
      expect(await update({ text: 'Dearest' }, ann)).toMatchObject({ text: 'Dearest', state: 'DRAFT' });
      expect(await update({ state: 'SENT', owner: 'bob' }, ann)).toMatchObject({ owner: 'bob' });
      expect((await app.rest('GET', `/letters/${id}`, undefined, ann)).status).toBe(404);
    });

    test('the same where what is seen hangs on other records', async () => {
      expect(await update({ text: 'x' }, porter)).toEqual(['FORBIDDEN', DENIED]);
      expect(await update({ deskId: 2 }, porter)).toMatchObject({ deskId: 2, text: 'Dear' });
      expect((await app.rest('GET', `/letters/${id}`, undefined, porter)).status).toBe(404);
    });

    test('no way leads through the check of another', async () => {
      await update({ state: 'SENT' }, ann);
      expect(await update({ state: 'DRAFT' }, clerk)).toEqual(['FORBIDDEN', DENIED]);
      expect(await update({ text: 'x' }, clerk)).toMatchObject({ text: 'x', state: 'SENT' });
      expect(await update({ state: 'DRAFT' }, admin)).toMatchObject({ state: 'DRAFT' });
      expect(await stored()).toMatchObject({ state: 'DRAFT' });
    });

    test('who may make it so is told what is taken, and who may not is not', async () => {
      await app.unguarded().rest('POST', '/letters', { owner: 'bob', text: 'x', code: `taken ${id}` });
      expect((await update({ state: 'SENT', code: `taken ${id}` }, ann))[0]).toBe('CONFLICT');
      expect(await update({ state: 'FILED', code: `taken ${id}` }, ann)).toEqual(['FORBIDDEN', DENIED]);
    });
  });

  test('many records: one that may not become so keeps all as they were', async () => {
    const other = (await app.unguarded().rest('POST', '/letters', { owner: 'ann', text: 'b', state: 'SENT' }))
      .body.id;
    const where = { id: { in: [id, other] } };
    const operation = { method: 'PUT', path: '/letters', where, atMost: 2, body: { state: 'SENT' } };
    const { status, body } = await app.rest('POST', '/transaction', { operations: [operation] }, ann);
    expect([status, body.code]).toEqual([403, 'FORBIDDEN']);
    expect(await stored()).toMatchObject({ state: 'DRAFT' });
  });

  test('the key of what a record must refer to is shown when both leave sight, and nothing else of that', async () => {
    const inFirm = '{ projects: { some: { members: { some: { who: { eq: { claim: "sub" } } } } } } }';
    const seats = [1, 2, 3, 4, 5, 6];
    const crews = await openApp(database, {
      sdl: `
        type Firm @resource @allow(to: [READ], where: ${inFirm})
          { id: ID!  name: String!  projects: [Project!]! }
        type Project @resource @allow(to: [READ], where: { firm: ${inFirm} })
          { id: ID!  name: String!  firm: Firm!  members: [Member!]! @inverse(of: "project") }
        type Member @resource
          @allow(to: [READ, CREATE], where: { project: { firm: ${inFirm} } })
          @allow(to: [UPDATE], where: { who: { eq: { claim: "sub" } } }, check: {})
          { id: ID!  seat: Int! @unique  who: String!  project: Project!  first: Project }`,
      data: {
        firms: seats.map(() => ({ name: 'Acme' })),
        projects: seats.map((firmId) => ({ name: 'Dam', firmId })),
        members: seats.map((seat) => ({ seat, who: 'ann', projectId: seat, firstId: seat })),
      },
      env: { AUTH_SECRET: SECRET },
    });
    const graphql = async (field: string) =>
      (await crews.graphql(`mutation { it: ${field} { who projectId firstId first { name } } }`, {}, ann))
        .data?.it;
    const expected = (seat: number) => ({
      who: 'bob',
      projectId: `${seat}`,
      firstId: null,
      first: null,
    });
    expect(await graphql('updateMember(id: 1, who: "bob")')).toEqual(expected(1));
    expect(await graphql('updateMembers(where: { id: { eq: 2 } }, set: { who: "bob" }, atMost: 1)')).toEqual([
      expected(2),
    ]);
    expect(await graphql('upsertMember(by: seat, seat: 3, who: "bob", projectId: 3)')).toEqual(expected(3));
    const put = await crews.rest(
      'PUT',
      '/members/4?fields=projectId,firstId,project.firm.name',
      { who: 'bob' },
      ann,
    );
    expect(put).toMatchObject({
      status: 200,
      body: { projectId: 4, firstId: null, project: null },
    });
    const upserted = await crews.rest(
      'POST',
      '/members?upsert=seat',
      { seat: 5, who: 'bob', projectId: 5 },
      ann,
    );
    expect(upserted).toMatchObject({ status: 200, body: { projectId: 5, firstId: null } });
    const { body } = await crews.graphql(
      'mutation { updateMember(id: 6, who: "bob") { project { name } } }',
      {},
      ann,
    );
    expect(body.errors).toMatchObject([
      { message: 'This was written. You may not read its project.', extensions: { code: 'FORBIDDEN' } },
    ]);
    for (const id of seats)
      expect((await crews.rest('GET', `/projects/${id}`, undefined, ann)).status).toBe(404);
    // A read by the same selection is not such a write.
    expect((await crews.rest('GET', '/members', undefined, ann)).body).toEqual([]);
    expect((await crews.unguarded().rest('GET', '/members?who=bob')).body).toHaveLength(6);
    await crews.close();
  });

  test('what a function makes a record refer to is shown to nobody who never saw it', async () => {
    const team = '{ team: { eq: { claim: "team" } } }';
    const desk = await openApp(database, {
      sdl: `
        type Person @resource @allow(to: [READ], where: ${team}) { id: ID!  team: String! }
        type Ticket @resource
          @allow(to: [READ], where: { person: ${team} })
          @allow(to: [UPDATE], where: { state: { eq: "new" } }, check: { state: { ne: "new" } })
          { id: ID!  state: String!  person: Person! @readonly }`,
      data: {
        persons: [{ team: 'a' }, { team: 'hidden' }, { team: 'a' }],
        tickets: [1, 1, 1, 1, 3].map((personId) => ({ state: 'new', personId })),
      },
      logic: {
        Ticket: {
          beforeCreate({ input }: any) {
            return { ...input, personId: 1 };
          },
          *beforeUpdate({ input, tx }: any) {
            if (input.state === 'left') yield* tx.system.persons.update(3, { team: 'hidden' });
            return input.state === 'handed over' ? { ...input, personId: 2 } : input;
          },
        },
      },
      env: { AUTH_SECRET: SECRET },
    });
    const member = await headersOf({ name: 'of team a', claims: { sub: 'ann', team: 'a' } });
    const put = (id: number, state: string) =>
      desk.rest('PUT', `/tickets/${id}?include=person`, { state }, member);
    expect((await put(1, 'open')).body).toMatchObject({ state: 'open', personId: 1, person: { team: 'a' } });
    expect((await put(5, 'left')).body).toMatchObject({ state: 'left', personId: 3, person: null });
    expect(await put(2, 'handed over')).toMatchObject({
      status: 200,
      body: { state: 'handed over', personId: null, person: null },
    });
    for (const [id, field] of [
      [3, 'updateTicket(id: 3, state: "handed over") { state person { team } }'],
      [
        4,
        'updateTickets(where: { id: { eq: 4 } }, set: { state: "handed over" }, atMost: 1) { state personId }',
      ],
    ] as const) {
      const keyed = { ...member, 'Idempotency-Key': `${database}-${id}` };
      const { body } = await desk.graphql(`mutation { ${field} }`, {}, keyed);
      const again = await desk.graphql(`mutation { ${field} }`, {}, keyed);
      expect(again.body.errors).toEqual(body.errors);
      expect(body.errors.map((each: any) => each.extensions.code)).toEqual(['FORBIDDEN']);
      expect(body.errors[0].message).toStartWith('This was written. You may not read its person');
      expect(JSON.stringify(body)).not.toContain('hidden');
      expect((await desk.unguarded().rest('GET', `/tickets/${id}`)).body.state).toBe('handed over');
    }
    await desk.close();
  });
});
