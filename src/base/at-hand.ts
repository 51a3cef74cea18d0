/** Many records of many columns, gone through column by column: a few at a time, while they are at hand. */

/** Of more properties than about 128 the runtime keeps a table for each object; from so many columns on, a few at a time are faster anyway. */
const WIDE = 16;
const FEW = 16;

/**
 * The same, in parts that are to be gone through one after the other: to come back to thousands of such objects for each column took
 * seconds, ten times as long as this.
 */
export function atHand<T>(records: readonly T[], columns: number): readonly (readonly T[])[] {
  if (columns < WIDE || records.length <= FEW) return [records];
  return Array.from({ length: Math.ceil(records.length / FEW) }, (_, part) =>
    records.slice(part * FEW, (part + 1) * FEW),
  );
}
