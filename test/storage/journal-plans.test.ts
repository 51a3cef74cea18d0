/** However many changes PostgreSQL keeps, nobody looks through all of them for the first, or for those that are new. */

import { expect, test } from 'bun:test';
import { openApp, sharedPostgres, within } from '../app.ts';

const sdl = 'type Note @resource @journal { id: ID!  text: String! }';

test('what looks for changes follows an index', async () => {
  const url = await (await sharedPostgres()).database();
  const app = await openApp('postgres', { sdl, url });
  await using sql = new Bun.SQL(url, { max: 1 });
  // Half of them without a position when the server looks how many there are: then it takes any for one of these.
  await sql.unsafe(`INSERT INTO "_duet_changes" ("position", "at", "kind", "table", "key", "version", "transaction")
    SELECT CASE WHEN i < 10000 THEN i END, '2999-01-01T00:00:00.000Z', 'UPDATED', 'Note', i % 300, i, i
    FROM generate_series(1, 20000) AS i`);
  await sql.unsafe('ANALYZE "_duet_changes"');
  // So many that old changes are looked for, after the answer.
  const records = Array.from({ length: 300 }, () => ({ text: 'x' }));
  await app.graphql('mutation ($records: [NoteInput!]!) { createNotes(records: $records) { id } }', {
    records,
  });
  const looks = () => [
    ...new Set(
      app.statements.filter((text) =>
        /^SELECT .* FROM "_duet_changes" .* LIMIT (\d+|\$\d+::int4)$/.test(text),
      ),
    ),
  ];
  // Which looks for what has no position, too.
  await Promise.all(records.slice(0, 20).map((record) => app.rest('POST', '/notes', record)));
  await within(
    30_000,
    (async () => {
      while (!looks().some((text) => text.includes('"at"'))) await Bun.sleep(20);
    })(),
  );
  for (const text of looks()) {
    const plan = (await sql.unsafe(`EXPLAIN (GENERIC_PLAN) ${text}`).simple()).map(
      (row: any) => row['QUERY PLAN'],
    );
    const told = [text, ...plan].join('\n');
    expect(told).toMatch(/Index (Only )?Scan using _duet_changes_(type|position|record)/);
    expect(told).not.toMatch(/Sort|Seq Scan|_sequence_key/);
  }
  const grouped = app.statements.find((text) => text.includes('"_left"'));
  const plan = (await sql.unsafe(`EXPLAIN (GENERIC_PLAN) ${grouped}`).simple()).map(
    (row: any) => row['QUERY PLAN'],
  );
  expect(plan.join('\n')).toMatch(/Index (Only )?Scan (using|on) _duet_changes_position/);
  expect(plan.join('\n')).not.toMatch(/Seq Scan on _duet_changes/);
  await app.close();
});
