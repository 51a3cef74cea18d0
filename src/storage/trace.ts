/** What is told of each statement that programs run. */

/** Told its text when it begins; what it returns, if anything, when it has ended. */
export type Trace = (sql: string) => (() => void) | undefined;

/** Tells the end of several that are answered together. */
export function ended(traces: readonly ((() => void) | undefined)[] | undefined): void {
  if (traces) for (const end of traces) end?.();
}
