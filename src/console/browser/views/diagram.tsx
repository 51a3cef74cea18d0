/** To come. */
import type { Schema } from '../schema/types.ts';
export function Diagram(_: { schema: Schema }) {
  return <p>…</p>;
}
