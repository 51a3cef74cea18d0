/** What one file of tests starts and others of its process go on to use: it ends when the last of them is done. */

const ends: (() => Promise<void>)[] = [];

/** Called once, at the very end. */
export function atTheEnd(end: () => Promise<void>): void {
  ends.push(end);
}

export async function endShared(): Promise<void> {
  for (const end of ends.splice(0)) await end();
}
