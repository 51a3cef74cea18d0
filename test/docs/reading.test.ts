/** Every example of docs/reading.md, run through both doors: it works, it finds something, and both find the same. */

import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { operatorNames } from '../../src/query/operators.ts';
import { databases, openApp } from '../app.ts';

const text = await Bun.file(join(import.meta.dir, '../../docs/reading.md')).text();
const examples = [...text.matchAll(/^\| `GET ([^`]+)` +\| `([^`]+)` +\|$/gm)].map(
  ([, rest = '', graphql = '']) => [rest, graphql] as const,
);

/** What GraphQL selected, in the shape of REST: rows of connections, numbers for integer ids. */
function rowsOf(data: Record<string, any>): unknown {
  const [value] = Object.values(data);
  // A record that is asked for one of its lists.
  if (Object.keys(value ?? {}).some((name) => /(Connection|Aggregate)$/.test(name))) return rowsOf(value);
  return value?.edges ? value.edges.map((edge: any) => edge.node) : value;
}

/** REST records have more fields than a selection asked for: only those that it has are compared. */
function project(rest: any, graphql: any): unknown {
  if (Array.isArray(graphql)) return graphql.map((each, index) => project(rest?.[index], each));
  if (graphql === null || typeof graphql !== 'object') return rest;
  return Object.fromEntries(
    Object.entries(graphql).map(([name, value]) => [name, project(rest?.[name], value)]),
  );
}

function withNumbers(value: any, name = ''): unknown {
  if (Array.isArray(value)) return value.map((each) => withNumbers(each));
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withNumbers(each, key)]));
  return /^id$|Id$/.test(name) && typeof value === 'string' ? Number(value) : value;
}

test('the commands of the page work', async () => {
  const app = await openApp('sqlite');
  const commands = [...text.matchAll(/^curl -g -H '([^:]+): ([^']+)' 'localhost:4000([^']+)'$/gm)];
  expect(commands.length).toBe([...text.matchAll(/^curl/gm)].length);
  for (const [, name = '', value = '', path = ''] of commands) {
    const response = await app.fetch(path, { headers: { [name]: value } });
    expect([response.status, response.headers.get('Content-Type')?.startsWith(value)]).toEqual([200, true]);
    expect((await response.text()).split('\n').length).toBeGreaterThan(2);
  }
  await app.close();
});

test('there are examples, and every operator is explained', () => {
  expect(examples.length).toBeGreaterThan(25);
  for (const name of operatorNames) expect(text).toContain(`\`${name}\``);
});

describe.each([...databases])('on %s', async (database) => {
  const app = await openApp(database);
  afterAll(() => app.close());

  test.each(examples)('GET %s', async (path, query) => {
    const { status, body } = await app.rest('GET', path);
    expect(status, JSON.stringify(body)).toBe(200);
    const { data, errors } = await app.graphql(query);
    expect(errors).toBeUndefined();
    const rows = withNumbers(rowsOf(data));
    expect(Array.isArray(rows) ? rows.length : 1).toBeGreaterThan(0);
    expect(Array.isArray(body) ? body.length : 1).toBe(Array.isArray(rows) ? rows.length : 1);
    expect(project(body, rows)).toEqual(rows as any);
  });
});
