/** How relevant a record is to what is searched for, as a number. */

import type { Searched } from '../../query/filter.ts';
import type { Relevance } from '../../query/search.ts';
import type { Words } from './dialect.ts';

export class Relevances {
  /** Written alike wherever it stands, so that it is found out once. */
  readonly #known: { readonly searched: Searched; readonly table: string; readonly sql: string }[] = [];
  readonly #words: Words;
  readonly #given: (value: unknown) => number;

  constructor(words: Words, given: (value: unknown) => number) {
    this.#words = words;
    this.#given = given;
  }

  /** Every word is in one of the fields: where it is in none of those before, it is in the last. */
  of(searched: Searched, table: string): string {
    const known = this.#known.find((each) => each.searched === searched && each.table === table);
    if (known) return known.sql;
    const { length } = searched.resource.searched;
    const weights = searched.words.map((word) => {
      const fields = Array.from({ length: length - 1 }, (_, field) => {
        const isThere = this.#words.isIn(searched, word, field, table, this.#given);
        return ` WHEN ${isThere} THEN ${length - field}`;
      });
      return fields.length > 0 ? `CASE${fields.join('')} ELSE 1 END` : '1';
    });
    // A number alone would be a place among what is selected, where rows are ordered by it.
    const sql = `(0 + ${weights.join(' + ')})`;
    this.#known.push({ searched, table, sql });
    return sql;
  }

  /** What is written from here on, where it has been found out already. */
  isKnown({ searched }: Relevance, table: string, sql: string): void {
    this.#known.unshift({ searched, table, sql });
  }
}
