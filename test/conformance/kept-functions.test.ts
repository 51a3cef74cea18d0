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
});
