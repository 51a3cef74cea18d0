/** Tables and columns have names that differ by more than letter case, which SQLite does not tell apart. */

import type { Rule } from './rule.ts';

export const storedNamesAreFree: Rule = (model, report) => {
  const tables = new Map<string, string>();
  for (const { name, table, place, columns } of model.resources) {
    const other = tables.get(table.toLowerCase());
    if (other)
      report(
        place,
        `${name} and ${other} are stored in the same table "${table}". Rename one: @table(name: "…")`,
      );
    tables.set(table.toLowerCase(), name);
    if (!isStorable(table))
      report(
        place,
        `The table name "${table}" must be 1 to 60 ASCII characters, without commas, and not begin with "_" or be a name of SQLite itself.`,
      );

    const stored = new Map<string, string>();
    for (const column of columns) {
      const before = stored.get(column.stored.toLowerCase());
      if (before && before.toLowerCase() !== column.name.toLowerCase())
        report(
          column.place,
          `${name}.${column.name} and ${name}.${before} are stored in the same column. Rename one: @column(name: "…")`,
        );
      stored.set(column.stored.toLowerCase(), column.name);
      if (!isStorable(column.stored) && !column.name.startsWith('_'))
        report(
          column.place,
          `The column name "${column.stored}" must be 1 to 60 ASCII characters, without commas, and not begin with "_" or be a name of SQLite itself.`,
        );
    }
  }
};

// PostgreSQL cuts identifiers at 63 bytes, and a cut name is another name.
function isStorable(name: string): boolean {
  return /^(?!_|sqlite_|pragma_|json_each$|json_tree$)[\x20-\x2b\x2d-\x7e]{1,60}$/i.test(name);
}
