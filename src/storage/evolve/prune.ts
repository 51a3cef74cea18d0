/** Drops what the file no longer names, once somebody has seen what that is. */

import type { Model } from '../../schema/model.ts';
import { quote } from '../sql/dialect.ts';
import { alter } from './applying.ts';
import type { Evolvable } from './database.ts';
import { pastOf, remember } from './history.ts';
import { type Surplus, surplusOf } from './surplus.ts';

/**
 * Drops what the caller has shown, and answers with what it dropped: nothing that the file names by now, and nothing
 * that another program made.
 */
export async function prune(
  database: Evolvable,
  model: Model,
  shown: readonly string[],
): Promise<readonly string[]> {
  const { ddl } = database;
  return database.exclusively(async (session) => {
    const past = await pastOf(session, model);
    const shapes = await ddl.shapes(session);
    const doomed = surplusOf(model, shapes, past).filter(({ name, own }) => own && shown.includes(name));
    if (!past.last || doomed.length === 0) return [];
    const { last } = past;
    const names = doomed.map(({ name }) => name);
    await session.transaction(async () => {
      // Before the columns that they are made of.
      for (const { table, words } of doomed)
        for (const sql of words === undefined ? [] : ddl.dropWords(table, words)) await session.query(sql);
      // Columns before tables: one of them may refer to a table that goes.
      for (const { table, column } of doomed) {
        if (column === undefined) continue;
        // An index keeps SQLite from dropping its columns.
        for (const index of past.indexes(table).values())
          if (index.columns.some(({ stored }) => stored === column))
            await session.query(`DROP INDEX IF EXISTS ${quote(index.name)}`);
        await session.query(`${alter(table)} DROP COLUMN ${quote(column)}`);
      }
      const tables = doomed.filter((each) => isWhole(each)).map(({ table }) => table);
      for (const table of tables)
        for (const words of shapes.get(table)?.words ?? [])
          for (const sql of ddl.dropWords(table, words)) await session.query(sql);
      for (const sql of tables.length > 0 ? ddl.dropTables(tables) : []) await session.query(sql);
      await remember(
        session,
        last,
        names.map((name) => `drop ${name}`),
      );
    });
    return names;
  });
}

function isWhole({ column, words }: Surplus): boolean {
  return column === undefined && words === undefined;
}
