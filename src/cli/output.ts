/** Where commands write: results to standard output, the rest to standard error. */

import { writeSync } from 'node:fs';
import type { Audience } from './progress.ts';

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** At once: what a stream still holds when the process ends is not always heard. */
export function tell(line: string): void {
  try {
    writeSync(process.stderr.fd, `${line}\n`);
  } catch {
    // Nobody reads it, or not fast enough: the stream knows what to do about that.
    process.stderr.write(`${line}\n`);
  }
}

export const nobody: Audience = { tell: () => {}, redraw: undefined, columns: undefined };

/** Where long work says how far it is. */
export function terminal(): Audience {
  const { isTTY, columns } = process.stderr;
  return { tell, redraw: isTTY ? (text) => void process.stderr.write(text) : undefined, columns };
}
