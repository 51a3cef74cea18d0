/** How PostgreSQL keeps each kind of value. */

import type { Scalar } from '../../schema/scalars.ts';
import type { Codec } from '../sql/codec.ts';

export interface PostgresCodec extends Codec {
  /** Follows a parameter. What is sent as text the server reads, so that nothing on the way rounds or shifts it. */
  readonly cast: string;
  /** From what a JSON array of the server has for it. */
  readonly decodeJson?: (given: unknown) => unknown;
  /** What its values are added as. */
  readonly sum?: string;
  /** The least and the greatest, where there is no min and max of it, although it has an order. */
  readonly extremes?: Readonly<Record<'min' | 'max', (quoted: string) => string>>;
}

/** The types are spelt as `format_type` does. */
export const codecs: Readonly<Record<Scalar['stored'], PostgresCodec>> = {
  serial: { type: 'bigint', cast: 'int8', decode: Number },
  integer: { type: 'integer', cast: 'int4' },
  // Fractions are added exactly: added as they come, the sum would depend on their order.
  float: { type: 'double precision', cast: 'float8', sum: 'numeric' },
  boolean: {
    type: 'boolean',
    cast: 'boolean',
    extremes: { min: (quoted) => `bool_and(${quoted})`, max: (quoted) => `bool_or(${quoted})` },
  },
  // By code point whatever the database's own collation is.
  text: { type: 'text', definition: 'text COLLATE "C"', cast: 'text' },
  time: { type: 'timestamp with time zone', cast: 'text::timestamptz', decode: isoTime, decodeJson: isoTime },
  date: { type: 'date', cast: 'text::date', read: (quoted) => `${quoted}::text` },
  uuid: {
    type: 'uuid',
    cast: 'text::uuid',
    extremes: {
      min: (quoted) => `min(${quoted}::text COLLATE "C")::uuid`,
      max: (quoted) => `max(${quoted}::text COLLATE "C")::uuid`,
    },
  },
  // Not jsonb, which forgets the order of keys.
  json: { type: 'json', cast: 'text::json', encode: JSON.stringify },
};

/** Of a Date, or of the text that stands for one in JSON. */
function isoTime(given: unknown): string {
  return new Date(given as Date | string).toISOString();
}
