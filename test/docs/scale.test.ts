/** The step of docs/scale.md from one file to several nodes, by the commands of docs/production.md that it leads to. */

import { expect, test } from 'bun:test';
import { JSON_HEADERS, sharedPostgres } from '../app.ts';
import { Reader, stepsOf } from './steps.ts';

test('from one file to PostgreSQL', async () => {
  const [serve, move] = (await stepsOf('docs/production.md')).filter(
    ({ heading }) => heading === 'Several machines: PostgreSQL',
  );
  const [named = '', served = ''] = serve?.text.split('\n') ?? [];
  expect([named, served]).toEqual([
    expect.stringContaining('DATABASE_URL'),
    expect.stringContaining('duet serve'),
  ]);
  const url = await (await sharedPostgres()).database();
  await using reader = new Reader(
    {},
    { 'npx duet': 'duet', 'postgres://duet:PASSWORD@db.internal:5432/duet': url, 'postgres://…': url },
  );
  await reader.write('schema.graphql', 'type Note @resource { id: ID!  title: String! }');
  const notes = async (): Promise<any> => (await fetch(`${reader.url}/notes`)).json();
  await reader.serve('duet serve');
  for (const title of ['one', 'two', 'three'])
    await fetch(`${reader.url}/notes`, {
      method: 'POST',
      headers: JSON_HEADERS,
      body: JSON.stringify({ title }),
    });
  await fetch(`${reader.url}/notes/3`, { method: 'DELETE' });
  const before = await notes();
  await reader.stop();
  await reader.run(move?.text ?? '');
  await reader.run(named);
  await reader.serve(served.replace('0.0.0.0', '127.0.0.1'));
  expect([before.length, await notes()]).toEqual([2, before]);
  // No id is given again.
  const fourth = await fetch(`${reader.url}/notes`, {
    method: 'POST',
    headers: JSON_HEADERS,
    body: '{"title":"four"}',
  });
  expect(await fourth.json()).toEqual({ id: 4, title: 'four' });
});
