/** A keyed write that is sent again while another file is rolled out happens once, and shows nothing that other rules hide. */

import { describe, expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';
import { Deployment } from '../storage/deployment.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const order = (fields: string, rule = '', more = '') =>
  `type Order @resource @allow(to: [READ, CREATE], role: "authenticated") ${rule} { id: ID!  item: String!  ${fields} } ${more}`;

/** Orders are hidden from who bought them, or from who sold them, and so on. */
const dealt = (by: string, who = 'who: String!', type = 'Deal') => `
  type Order @resource
    @allow(to: [CREATE], role: "authenticated")
    @allow(to: [READ], where: { deals: { none: { who: { eq: { claim: "sub" } } } } })
    { id: ID!  item: String!  deals: [${type}!]! @inverse(of: "${by}") }
  type Deal @resource { id: ID!  ${who}  by: String  bought: Order  sold: Order }
  type Trade @resource { id: ID!  ${who}  bought: Order  sold: Order }`;

const create = 'mutation { createOrder(item: "a lamp") { id item } }';

describe.each([...databases])('on %s', (database) => {
  test.each<[what: string, next: string, refused: string | undefined, former?: string]>([
    ['a field', order('note: String'), undefined],
    ['a type', order('', '', 'type Note @resource { id: ID! }'), undefined],
    ['what is set by the subject', order('by: String @set(claim: "sub")'), undefined],
    ['a type before it', `type Zoo @resource { id: ID! } ${order('')}`, undefined],
    [
      'a type with rules',
      order('', '', 'type Note @resource @allow(to: [READ]) { id: ID! }'),
      'IDEMPOTENCY_MISMATCH',
    ],
    ['another rule', order('', '@allow(to: [UPDATE], role: "admin")'), 'IDEMPOTENCY_MISMATCH'],
    ['a rule of a field', order('note: String @allow(to: [READ], role: "admin")'), 'IDEMPOTENCY_MISMATCH'],
    ['nothing', dealt('bought'), undefined, dealt('bought')],
    ['where a list comes from', dealt('sold'), 'IDEMPOTENCY_MISMATCH', dealt('bought')],
    ['what a list is of', dealt('bought', undefined, 'Trade'), 'IDEMPOTENCY_MISMATCH', dealt('bought')],
    [
      'how a text compares',
      dealt('bought', 'who: String! @caseless'),
      'IDEMPOTENCY_MISMATCH',
      dealt('bought'),
    ],
  ])('%s is new', async (_, next, refused, former = order('')) => {
    await using deployment = await Deployment.create(database);
    const open = (sdl: string) =>
      openApp(database, { sdl, url: deployment.url, env: { AUTH_SECRET: SECRET } });
    const ann = await headersOf({ name: 'ann of a rollout', claims: { sub: 'ann', roles: ['admin'] } });
    const rest = { ...ann, 'Idempotency-Key': 'pay-by-rest' };
    const graphql = { ...ann, 'Idempotency-Key': 'pay-by-graphql' };
    const before = await open(former);
    const first = await before.rest('POST', '/orders', { item: 'a lamp' }, rest);
    const second = await before.graphql(create, {}, graphql);
    expect([first.status, second.errors]).toEqual([201, undefined]);
    await before.close();
    const after = await open(next);
    const again = await after.rest('POST', '/orders', { item: 'a lamp' }, rest);
    const byGraphql = await after.graphql(create, {}, graphql);
    expect([again.body.code, byGraphql.errors?.[0].extensions.code]).toEqual([refused, refused]);
    if (refused) expect(again.body.detail).toContain('This request was carried out');
    else expect([again.body, byGraphql.data]).toEqual([first.body, second.data]);
    expect((await after.rest('GET', '/orders?fields=item', undefined, ann)).body).toHaveLength(2);
    await after.close();
  });
});
