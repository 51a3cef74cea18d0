/** Positions that changes are given by the statement that writes them, in place of an update of each row after the commit. */

import { changes, marks } from '../own.ts';
import { quote } from './dialect.ts';

/** So many changes of others are given theirs along the way; where there are more, it is left to who does nothing else. */
const MOST_LEFT = 500;

const journal = quote(changes.table);
const counter = quote(marks.table);

const left = `SELECT "sequence", "transaction" FROM ${journal} WHERE "position" IS NULL ORDER BY "position" LIMIT ${MOST_LEFT + 1}`;
const countLeft = '(SELECT count(*) FROM "_left")';

/** As `stamp` of the engine orders them: transactions by the last number that each has drawn. */
const places = `SELECT "sequence", row_number() OVER (ORDER BY "_end", "sequence") AS "_place" FROM (SELECT "sequence", max("sequence") OVER (PARTITION BY "transaction") AS "_end" FROM "_left") AS "_ended"`;

/** What was given a position since the statement looked keeps that one, and the one it would have had here is nobody's. */
const stamped = `UPDATE ${journal} SET "position" = "_last"."position" + "_place" FROM "_last" CROSS JOIN (${places}) AS "_placed" WHERE ${journal}."sequence" = "_placed"."sequence" AND ${journal}."position" IS NULL`;

/**
 * The parts of a statement that give positions to the changes of all rows of `given`. It waits for nobody, and gives none while somebody
 * else does so: nobody knows how long those take.
 *
 * The last position that was given is raised, and so locked, until the commit: whoever is given a later one is seen later, and
 * what fails gives its positions back. The statement has looked at the table before it has that lock. So it knows of all that
 * was committed before it began, which is given its positions first: nothing that somebody has waited for comes after what they
 * did next. Of what was committed since, it knows nothing; but that cannot be before new records, which nobody has seen yet. And
 * whoever gave positions meanwhile has seen no version of a record without those before it, as this statement has not.
 */
export function stampingOf(given: string): string {
  const count = `(${countLeft} + (SELECT count(*) FROM ${given}))`;
  const own = `(SELECT "table" FROM ${counter} WHERE "table" = '' FOR UPDATE SKIP LOCKED)`;
  const last = `UPDATE ${counter} SET "position" = "position" + ${count} WHERE "table" = ${own} AND ${countLeft} <= ${MOST_LEFT} RETURNING "position" - ${count} AS "position"`;
  return `"_left" AS MATERIALIZED (${left}), "_last" AS (${last}), "_stamped" AS (${stamped})`;
}

/** That of a row, by its place among them; null where none is given now. */
export function positionAt(place: string): string {
  return `(SELECT "position" FROM "_last") + ${countLeft} + ${place}`;
}
