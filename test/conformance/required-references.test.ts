/** Where rules see a record only with what its required reference leads to, whoever sees it sees both, through both doors. */

import { describe, expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const visible = '{ or: [{ public: { eq: true } }, { owner: { eq: { claim: "sub" } } }] }';
const sdl = `
  type Product @resource
    @allow(to: [READ], where: ${visible})
    @allow(to: [READ], role: "buyer", where: { color: { in: ["RED", "BLUE"] } })
  { id: ID!  public: Boolean  owner: String  color: String }
  type Line @resource @allow(to: [READ], where: { product: ${visible} }) { id: ID!  product: Product! }
  type Part @resource
    @allow(to: [READ], where: { or: [{ product: { owner: { eq: { claim: "sub" } } } }, { product: { public: { eq: true } } }] })
    @allow(to: [READ], role: "buyer", where: { product: { color: { in: ["BLUE", "RED"] } } })
  { id: ID!  product: Product! }`;
const products = [
  { public: true },
  { owner: 'ann' },
  { owner: 'bob', color: 'RED' },
  { public: true, owner: 'bob', color: 'GREEN' },
];
const each = products.map((_, index) => ({ productId: index + 1 }));
const data = { products, lines: each, parts: each };

const callers = [
  [undefined, [1, 4], [1, 4]],
  [{ sub: 'ann' }, [1, 2, 4], [1, 2, 4]],
  [{ sub: 'bob' }, [1, 3, 4], [1, 3, 4]],
  [{ sub: 'cid', roles: ['buyer'] }, [1, 4], [1, 3, 4]],
] as const;

describe.each([...databases])('on %s', (database) => {
  test('a required reference is there in every record that is seen', async () => {
    const app = await openApp(database, { sdl, data, env: { AUTH_SECRET: SECRET } });
    try {
      for (const [claims, lines, parts] of callers) {
        const headers = claims ? await headersOf({ name: claims.sub, claims }) : {};
        const shown = (keys: readonly number[]) => keys.map((id) => ({ id, productId: id, product: { id } }));
        const query = '{ lines { id productId product { id } } parts { id productId product { id } } }';
        const { data: answer, errors } = await app.graphql(query, {}, headers);
        expect(errors).toBeUndefined();
        for (const [name, keys] of [['lines', lines] as const, ['parts', parts] as const]) {
          const path = `/${name}?include=product`;
          expect((await app.rest('GET', path, undefined, headers)).body).toMatchObject(shown(keys));
          expect(answer[name]).toEqual(JSON.parse(JSON.stringify(shown(keys)).replace(/\d+/g, '"$&"')));
        }
      }
    } finally {
      await app.close();
    }
  });
});
