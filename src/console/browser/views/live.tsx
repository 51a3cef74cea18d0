/** To come. */
import type { Schema } from '../schema/types.ts';
export function Live(_: { schema: Schema }) {
  return <p>…</p>;
}
