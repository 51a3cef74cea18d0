/** What a request costs does not grow with the requests before it: no new SQL, no second plan, no memory, no timers. */

import { afterAll, describe, expect, spyOn, test } from 'bun:test';
import { CheckedDocument } from '../../src/graphql/documents.ts';
import { databases, openApp } from '../app.ts';
import { type Ask, askAll, nested, one, page, RECORDS, rows } from './asking.ts';
import type { Growth } from './memory.ts';

/** How many are asked two by two, before it is known what they ask the database. */
const TOGETHER = 10;

/** By a number from 1 on that each is asked with once. */
const reads: [string, Ask][] = [
  ['a record by key', (app, n) => app.rest('GET', `/users/${n}`)],
  ['a list with a limit', (app, n) => app.rest('GET', `/users?limit=10&name[gte]=n${n}`)],
  ['a record with related ones', (app, n) => app.rest('GET', `/users/${n}?include=posts.comments`)],
  ['a GraphQL query by key', (app, n) => app.graphql(one, { id: n })],
  ['a nested GraphQL query', (app, n) => app.graphql(nested, { id: n, title: `t${n}` })],
  ['a connection', (app, n) => app.graphql(page, { name: `n${n}` })],
];

const writes: [string, Ask][] = [
  ['a create', (app, n) => app.rest('POST', '/users', { name: `x${n}`, email: `x${n}@example.com` })],
  ['an update', (app, n) => app.rest('PUT', `/users/${n}`, { name: `y${n}`, email: `y${n}@example.com` })],
  [
    'a GraphQL update',
    (app, n) =>
      app.graphql('mutation($id: ID!, $name: String) { updateUser(id: $id, name: $name) { name } }', {
        id: n,
        name: `z${n}`,
      }),
  ],
  ['a delete', (app, n) => app.rest('DELETE', `/comments/${n}`)],
];

describe.each([...databases])('on %s', async (database) => {
  const app = await openApp(database, { data: rows() });
  afterAll(() => app.close());

  test.each([...reads, ...writes])('the SQL of %s is the same for all keys and values', async (_, ask) => {
    app.statements.length = 0;
    // Alone, and together with another one: of which one may come too late to be stored with the other.
    await askAll(app, ask, 1, 1);
    for (let n = 2; n <= TOGETHER; n += 2) await askAll(app, ask, n, n + 1);
    const first = new Set(app.statements);
    expect(first.size).toBeGreaterThan(0);
    await askAll(app, ask, TOGETHER + 2, RECORDS);
    expect([...new Set(app.statements)].sort()).toEqual([...first].sort());
  });

  test('a document is compiled once, whatever its variables', async () => {
    using query = spyOn(CheckedDocument.prototype, 'query');
    await askAll(app, (_, n) => app.graphql(nested, { id: n, title: `t${n}` }), 1, 100);
    const plans = new Set(query.mock.results.map(({ value }) => value));
    expect(query).toHaveBeenCalledTimes(100);
    expect([...plans]).toEqual([expect.anything()]);
  });
});

test('what was asked leaves nothing behind', async () => {
  // In a process of its own, which takes ten seconds where nothing else runs: what other tests have left behind is tidied at any time, and grows and shrinks too.
  const child = Bun.spawn([process.execPath, '--no-env-file', `${import.meta.dir}/memory.ts`], {
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const growths: Growth[] = JSON.parse(await child.stdout.text());
  expect(growths.length).toBe(6);
  for (const { what, bytes, waiting } of growths) {
    // What leaks does so every time; a heap that is being tidied grows now and then.
    expect([what, Math.min(...bytes) < 100_000 || bytes]).toEqual([what, true]);
    expect([what, Math.min(...waiting) < 50 || waiting]).toEqual([what, true]);
  }
}, 180_000);
