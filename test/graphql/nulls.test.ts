/** A null for a variable whose default made it fit where null is forbidden: the client's fault, wherever it stands. */

import { afterAll, describe, expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';

const documents: [string, string, unknown, (string | number)[] | undefined][] = [
  ['an argument', 'query($v: ID = "1") { user(id: $v) { name } }', { user: null }, ['user']],
  [
    'an argument below',
    'query($v: ID = "1") { users { posts(where: { id: { in: [$v] } }) { id } } }',
    null,
    ['users'],
  ],
  ['a condition', 'query($v: Boolean = true) { users @include(if: $v) { name } }', null, undefined],
  ['a condition below', 'query($v: Boolean = true) { users { name @skip(if: $v) } }', null, ['users']],
  [
    'a mutation',
    'mutation($v: ID = "1") { deleteUser(id: $v) { name } }',
    { deleteUser: null },
    ['deleteUser'],
  ],
  [
    'an atomic mutation',
    'mutation($v: ID = "1") @atomic { deleteUser(id: $v) { name } }',
    null,
    ['deleteUser'],
  ],
  [
    'a condition in an atomic mutation',
    'mutation($v: Boolean = true) @atomic { deleteUser(id: 1) @skip(if: $v) { name } }',
    null,
    undefined,
  ],
  [
    'a condition below an atomic mutation',
    'mutation($v: Boolean = true) @atomic { deleteUser(id: 1) { name @skip(if: $v) } }',
    null,
    ['deleteUser'],
  ],
];

describe.each([...databases])('on %s', async (database) => {
  const app = await openApp(database);
  afterAll(() => app.close());

  test.each(documents)('in %s', async (_, query, data, path) => {
    const answer = await app.graphql(query, { v: null });
    expect(answer.status).toBe(200);
    expect(answer.data).toEqual(data);
    expect(answer.errors).toHaveLength(1);
    expect(answer.errors?.[0]).toMatchObject({ extensions: { code: 'BAD_USER_INPUT' } });
    expect(answer.errors?.[0].path).toEqual(path);
    expect(answer.errors?.[0].message).toContain('"$v"');
    expect(app.observations.filter(({ event }) => event === 'failure')).toEqual([]);
  });

  test('a key for retries is looked at by mutations alone', async () => {
    const malformed = { 'Idempotency-Key': 'a key' };
    for (const query of ['{ users { id } }', '{ __typename users { id } }'])
      expect((await app.graphql(query, {}, malformed)).errors).toBeUndefined();
    const refused = await app.graphql('mutation { deleteUser(id: 1) { id } }', {}, malformed);
    expect(refused.status).toBe(400);
  });
});
