/** Which unique constraints of the file a SQLite database keeps: a newer file may have given one up while this one is served. */

import type { Database } from 'bun:sqlite';
import type { Resource } from '../../schema/model.ts';
import { comparedBy } from '../../schema/values.ts';
import { indexName } from '../sql/index-names.ts';
import { notGuaranteed } from '../sql/leading.ts';
import { compiler } from './runner.ts';

export class Uniques {
  readonly #database: Database;
  readonly #resources: readonly Resource[];

  constructor(database: Database, resources: readonly Resource[]) {
    this.#database = database;
    this.#resources = resources.filter(({ uniques }) => uniques.length > 0);
  }

  /**
   * Statements that look up one record where there may be several are made anew. What somebody else brings back is not relied on:
   * a snapshot that is read from may be older.
   */
  look(isOwn: boolean): void {
    if (this.#resources.length === 0) return;
    const names = this.#database.query(`SELECT name FROM sqlite_schema WHERE type = 'index'`).values();
    const indexes = new Set(names.map(([name]) => name));
    let isOtherwise = false;
    for (const resource of this.#resources)
      for (const unique of resource.uniques) {
        const isKept = indexes.has(indexName(resource, unique.columns.map(comparedBy), 'unique'));
        const isRelied = !notGuaranteed.has(unique);
        if (isKept === isRelied || (isKept && !isOwn)) continue;
        isOtherwise = true;
        if (isKept) notGuaranteed.delete(unique);
        else notGuaranteed.add(unique);
      }
    if (isOtherwise) compiler.forget();
  }
}
