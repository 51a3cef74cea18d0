/** JSON that was read, as a text again: whoever reads it next finds the same values. */

declare global {
  interface JSON {
    /** Stands in what is written for this text of a number, as it is. */
    rawJSON(text: string): object;
  }
}

/** As JSON.stringify does, with the numbers that it makes others of: 1e999 is read as infinite, and would be null. */
export function rewritten(value: unknown): string {
  return JSON.stringify(value, (_, each) => {
    if (each === Number.POSITIVE_INFINITY) return JSON.rawJSON('1e999');
    if (each === Number.NEGATIVE_INFINITY) return JSON.rawJSON('-1e999');
    return Object.is(each, -0) ? JSON.rawJSON('-0') : each;
  });
}
