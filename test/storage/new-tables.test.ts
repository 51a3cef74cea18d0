/** Writes on many records find them by an index on PostgreSQL, also where the server knows nothing of the table yet. */

import { expect, test } from 'bun:test';
import { openApp, sharedPostgres } from '../app.ts';

const COUNT = 3_000;

const sdl = `
  type Tag @resource { id: ID!  name: String!  n: Int  kind: Kind  labels: [Label!]! }
  type Kind @resource { code: ID! @key  tags: [Tag!]! }
  type Label @resource { id: ID!  text: String  tag: Tag! @onDelete(do: CASCADE)  note: Note @onDelete(do: SET_NULL) }
  type Note @resource { id: ID!  labels: [Label!]! }`;

test('no list of keys is held against each row of a table', async () => {
  const url = await (await sharedPostgres()).database();
  const app = await openApp('postgres', { sdl, url, env: { LIMIT_DEADLINE: '60000' } });
  const admin = new Bun.SQL(url, { max: 1 });
  const fill = [
    ['Kind', '"code"', `'k' || i`],
    ['Note', '', ''],
    ['Tag', '"name", "n", "kindId"', `'t' || i, i, 'k' || i`],
    ['Label', '"tagId", "noteId"', 'i, i'],
  ];
  for (const [table, columns, values] of fill) {
    await admin.unsafe(`ALTER TABLE "${table}" SET (autovacuum_enabled = false)`);
    const [names, made] = [columns, values].map((part) => (part === '' ? '' : `${part}, `));
    await admin.unsafe(
      `INSERT INTO "${table}" (${names}"_version") SELECT ${made}1 FROM generate_series(1, ${COUNT}) i`,
    );
  }
  app.statements.length = 0;
  for (const write of [
    `updateTags(where: {}, set: { n: 5 }, atMost: ${COUNT}) { id labels { id } kind { code } }`,
    `deleteNotes(where: {}, atMost: ${COUNT}) { id }`,
    `deleteTags(where: {}, atMost: ${COUNT}) { id }`,
    `deleteKinds(where: {}, atMost: ${COUNT}) { code }`,
  ])
    expect((await app.graphql(`mutation { ${write} }`)).errors).toBeUndefined();

  const numbers = Array.from({ length: COUNT }, (_, index) => index + 1);
  const lists = { int8: numbers.join(), text: numbers.map((number) => `k${number}`).join() };
  const statements = [...new Set(app.statements)].filter((sql) => sql.includes('::text::'));
  const told: string[] = [];
  // The plan that the server makes for such lists, for the tables as they were filled.
  await admin.unsafe('BEGIN');
  for (const [table, columns, values] of fill) {
    const [names, made] = [columns, values].map((part) => (part === '' ? '' : `${part}, `));
    const key = table === 'Kind' ? '' : '"id", ';
    await admin.unsafe(
      `INSERT INTO "${table}" (${key}${names}"_version") SELECT ${key && 'i, '}${made}1 FROM generate_series(1, ${COUNT}) i ON CONFLICT DO NOTHING`,
    );
  }
  for (const sql of statements) {
    const whole = sql
      .replace(
        /\$\d+::text::(int8|text)\[\]/g,
        (_, type: 'int8' | 'text') => `'{${lists[type]}}'::text::${type}[]`,
      )
      .replace(/\$\d+::(\w+)/g, (_, type) => `'1'::${type}`);
    const plan = (await admin.unsafe(`EXPLAIN ${whole}`)).map((row: any) => row['QUERY PLAN']).join('\n');
    if (/ANY/.test(sql)) {
      told.push(sql.slice(0, 40));
      expect(plan, sql).toMatch(/Index Cond: .*ANY/);
      expect(plan, sql).not.toMatch(/Filter: .*ANY/);
    }
  }
  await admin.unsafe('ROLLBACK');
  // Updates, deletes, the search for what points there, and related records.
  expect(told.length).toBeGreaterThan(6);
  for (const kind of [
    'UPDATE "Tag"',
    'UPDATE "Label"',
    'DELETE FROM "Tag"',
    'DELETE FROM "Kind"',
    'SELECT "id", "tagId" FROM "Label"',
  ])
    expect(
      told.some((sql) => sql.startsWith(kind)),
      kind,
    ).toBe(true);
  await admin.close();
  await app.close();
});
