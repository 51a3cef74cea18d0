/** A writer whose statements are counted where somebody asked for it: those of another thread cannot be. */

import type { StatementCount } from '../storage/count.ts';
import type { Writer } from './writer.ts';

/** `here` writes through the storage that counts, and does the same as the other. */
export function countedWriter(count: StatementCount, writer: Writer, here: Writer): Writer {
  const chosen = () => (count.isOn ? here : writer);
  return {
    write: (...call) => chosen().write(...call),
    transact: (...call) => chosen().transact(...call),
    close: () => writer.close(),
  };
}
