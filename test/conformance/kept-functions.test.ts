/** Kept answers of functions that are told who the caller is belong to whoever has the same roles and claims. */

import { describe, expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  type Wallet @resource @allow(to: [READ, CREATE], role: "user") { id: ID!  org: String! @readonly }
  type Mutation { whose: String! @action @allow(role: "user") }`;
const logic = {
  Wallet: { beforeCreate: ({ input, caller }: any) => ({ ...input, org: caller.claims.org }) },
  Mutation: {
    // biome-ignore lint/correctness/useYield: it needs nothing of the transaction
    *whose({ caller }: any) {
      return caller.claims.org;
    },
  },
};

const as = async (org: string, more: object = {}) => ({
  ...(await headersOf({
    name: `${org} ${JSON.stringify(more)}`,
    claims: { sub: 'ann', roles: ['user'], org, ...more },
  })),
  'Idempotency-Key': 'the-same-key-0123456789',
});

describe.each([...databases])('on %s', (database) => {
  test.each([
    ['an action', '/actions/whose', undefined, (body: any) => body],
    ['a create', '/wallets', {}, ({ org }: any) => org],
  ])('%s: another claim is another caller, another token is not', async (_, path, body, orgOf) => {
    await using app = await openApp(database, { sdl, logic, env: { AUTH_SECRET: SECRET } }).then((opened) =>
      Object.assign(opened, { [Symbol.asyncDispose]: () => opened.close() }),
    );
    const send = async (headers: Record<string, string>) => app.rest('POST', path, body ?? {}, headers);
    const first = await send(await as('acme'));
    expect(orgOf(first.body)).toBe('acme');
    const other = await send(await as('globex'));
    expect(orgOf(other.body)).toBe('globex');
    const again = await send(await as('acme', { jti: 'another' }));
    expect(again.body).toEqual(first.body);
  });

  test('a claim of the token that a rule uses makes another caller, of kept and of live answers', async () => {
    const secret = `type Secret @resource @journal @allow(to: [READ, CREATE], where: { session: { eq: { claim: "jti" } } })
      { id: ID!  session: String!  text: String }`;
    const own = { Secret: { beforeCreate: ({ input }: any) => input } };
    await using app = await openApp(database, { sdl: secret, logic: own, env: { AUTH_SECRET: SECRET } }).then(
      (opened) => Object.assign(opened, { [Symbol.asyncDispose]: () => opened.close() }),
    );
    const [one, other] = [await as('acme', { jti: 's1' }), await as('acme', { jti: 's2' })];
    const body = { session: 's1', text: 'hidden' };
    expect((await app.rest('POST', '/secrets', body, one)).status).toBe(201);
    expect((await app.rest('POST', '/secrets', body, other)).status).toBe(403);
    const listens = async (headers: Record<string, string>) => {
      const stopped = new AbortController();
      const stream = await app.fetch('/secrets', {
        headers: { ...headers, Accept: 'text/event-stream' },
        signal: stopped.signal,
      });
      return { stopped, stream };
    };
    const first = await listens(one);
    const second = await listens(other);
    expect(await firstData(first.stream)).toContain('hidden');
    expect(await firstData(second.stream)).toBe('[]');
    for (const { stopped } of [first, second]) stopped.abort();
  });
});

/** Of the first event that has an answer. */
async function firstData(stream: Response): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of stream.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    const found = /^data: (\[.*)\n/m.exec(text)?.[1];
    if (found !== undefined) return found;
  }
  return text;
}
