/** An answer that is kept for an Idempotency-Key is for the same caller with the same rights, and for nobody else. */

import { afterAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ApiKeys } from '../../src/engine/api-keys.ts';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
type Memo @resource
  @allow(to: [READ], where: { team: { in: { claim: "teams" } } })
  @allow(to: [READ, CREATE, UPDATE], role: "authenticated")
{
  id: ID!
  team: String
  pay: Int @allow(to: [READ], role: "payer")
  depot: String @set(claim: "depot")
  near: Memo
  about: [Note!]!
}
type Note @resource
  @allow(to: [READ, CREATE], where: { memo: { team: { eq: { claim: "region" } } } })
  @allow(to: [READ, CREATE], role: "clerk")
{ id: ID! text: String memo: Memo }
`;

interface Who {
  readonly sub: string;
  readonly roles: readonly string[];
  readonly teams?: unknown;
  readonly depot?: unknown;
  readonly region?: unknown;
  /** Asked for by no rule. */
  readonly colour?: unknown;
}

const whos: fc.Arbitrary<Who> = fc.record(
  {
    sub: fc.constantFrom('ann', 'ann', 'ann', 'bob'),
    roles: fc.array(fc.constantFrom('payer', 'clerk', 'stranger'), { maxLength: 3 }),
    teams: fc.constantFrom('red', ['red', 'blue'], ['blue', 'red'], [], null),
    depot: fc.constantFrom('north', 'south'),
    region: fc.constantFrom('red', 'blue'),
    colour: fc.constantFrom('pink', 'grey'),
  },
  { requiredKeys: ['sub', 'roles'] },
);

/** In plain words: the subject, its roles, and the claims that a rule or a field asks for. */
function rightsOf({ sub, roles, teams, depot, region }: Who): string {
  const named = ['clerk', 'payer', 'stranger'].filter((role) => roles.includes(role));
  const set = Array.isArray(teams) ? [...teams].sort() : (teams ?? null);
  return JSON.stringify([sub, named, set, depot ?? null, region ?? null]);
}

type Send = (app: AppUnderTest, headers: Record<string, string>) => Promise<unknown>;

const body = { team: 'red', pay: 7 };
const ways: Readonly<Record<string, Send>> = {
  POST: async (app, headers) => (await app.rest('POST', '/memos', body, headers)).body,
  PUT: async (app, headers) => {
    const { headers: answered, body: shown } = await app.rest('PUT', '/memos/1', body, headers);
    return { shown, tag: answered.get('ETag') };
  },
  'a transaction': async (app, headers) => {
    const operations = [{ method: 'POST', path: '/memos', body }];
    return (await app.rest('POST', '/transaction', { operations }, headers)).body;
  },
  'a mutation': async (app, headers) =>
    (await app.graphql('mutation { createMemo(team: "red", pay: 7) { id pay depot } }', {}, headers)).body,
};

describe.each([...databases])('on %s', async (database) => {
  let keys: ApiKeys | undefined;
  const app = await openApp(database, {
    sdl,
    data: { memos: [body] },
    env: { AUTH_SECRET: SECRET },
    around: (storage) => {
      keys = new ApiKeys(storage);
      return storage;
    },
  });
  afterAll(() => app.close());
  const version = async () =>
    (await app.unguarded().graphql('{ memo(id: 1) { _version } }')).data.memo._version;
  const count = async () => (await app.unguarded().rest('GET', '/memos')).body.length;
  let used = 0;

  test.each(Object.entries(ways))(
    '%s',
    async (way, send) => {
      await fc.assert(
        fc.asyncProperty(whos, whos, async (one, other) => {
          const key = { 'Idempotency-Key': `${way.replaceAll(' ', '-')}${++used}` };
          const headers = (who: Who) =>
            headersOf({ name: `kept ${JSON.stringify(who)}`, claims: { ...who } });
          const written = async () => (way === 'PUT' ? await version() : await count());
          const before = await written();
          const first = await send(app, { ...(await headers(one)), ...key });
          const second = await send(app, { ...(await headers(other)), ...key });
          const isSame = rightsOf(one) === rightsOf(other);
          expect([one, other, (await written()) - before]).toEqual([one, other, isSame ? 1 : 2]);
          if (isSame) expect(second).toEqual(first);
          for (const [who, answer] of [[one, first] as const, [other, second] as const]) {
            const seesPay = JSON.stringify(answer).includes('"pay":7');
            expect([who, seesPay]).toEqual([who, who.roles.includes('payer')]);
          }
          // Whatever came between, each has its own answer again.
          expect(await send(app, { ...(await headers(one)), ...key })).toEqual(first);
          expect(await send(app, { ...(await headers(other)), ...key })).toEqual(second);
        }),
        { numRuns: database === 'sqlite' ? 60 : 25, interruptAfterTimeLimit: 20_000 },
      );
    },
    60_000,
  );

  test('an API key that was made anew under its old name, with other roles', async () => {
    const send = async (roles: string[]) => {
      const secret = await keys?.create('robot', roles);
      const headers = { Authorization: `Bearer ${secret}`, 'Idempotency-Key': 'robot' };
      const { body: shown } = await app.rest('POST', '/memos', body, headers);
      await keys?.revoke('robot');
      return shown;
    };
    const [paid, unpaid, again] = [
      await send(['payer', 'clerk']),
      await send(['clerk']),
      await send(['clerk', 'payer']),
    ];
    expect([paid.pay, unpaid.pay, again]).toEqual([7, undefined, paid]);
    expect(unpaid.id).not.toBe(paid.id);
  });

  test('those whom nobody knows have one answer', async () => {
    const open = app.unguarded();
    const send = async () => (await open.rest('POST', '/memos', body, { 'Idempotency-Key': 'open' })).body.id;
    const first = await send();
    expect(await send()).toBe(first);
  });
});
