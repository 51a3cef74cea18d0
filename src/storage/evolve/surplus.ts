/** What a database has and the file does not name: it stays, unseen, until somebody asks for it to be dropped. */

import type { Model } from '../../schema/model.ts';
import { keptColumns } from '../../schema/values.ts';
import { quote } from '../sql/dialect.ts';
import { wordsName } from '../words.ts';
import type { Shapes } from './database.ts';
import type { Past } from './history.ts';

export interface Surplus {
  /** `Table` or `Table.column`. */
  readonly name: string;
  readonly table: string;
  /** Undefined when it is the whole table, or its words. */
  readonly column: string | undefined;
  /** What keeps the words of its records, by other fields than the file's or by those that it no longer searches. */
  readonly words: string | undefined;
  /** Whether an earlier file named it; what another program made is not Duet's to drop. */
  readonly own: boolean;
}

export function surplusOf(model: Model, shapes: Shapes, past: Past): Surplus[] {
  const tables = new Map(model.resources.map((resource) => [resource.table, resource]));
  const whole: Surplus[] = [];
  const parts: Surplus[] = [];
  for (const [table, shape] of shapes) {
    const resource = tables.get(table);
    if (!resource) {
      whole.push({
        name: spell(table),
        table,
        column: undefined,
        words: undefined,
        own: past.hasMade(table),
      });
      continue;
    }
    for (const words of shape.words)
      if (resource.searched.length === 0 || words !== wordsName(resource))
        parts.push({ name: `${spell(table)}.${words}`, table, column: undefined, words, own: true });
    const named = new Set(keptColumns(resource).map(({ stored }) => stored));
    for (const [column, { primary }] of shape.columns)
      if (!named.has(column)) {
        // A file with another key is refused, and its records keep theirs.
        const own = past.hasNamed(table, column) && !primary;
        parts.push({ name: `${spell(table)}.${spell(column)}`, table, column, words: undefined, own });
      }
  }
  return [...whole, ...parts];
}

/** A name that is no plain word is quoted: a table "A.b" is not the column b of A. */
function spell(name: string): string {
  return /^\w+$/.test(name) ? name : quote(name);
}
