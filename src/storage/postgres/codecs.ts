/** How PostgreSQL keeps each kind of value. */

import { readJson } from '../../base/passed.ts';
import { folded } from '../../schema/folding.ts';
import { type Codec, type Codecs, ofEachScale } from '../sql/codec.ts';

export interface PostgresCodec extends Codec {
  /** Follows a parameter. What is sent as text the server reads, so that nothing on the way rounds or shifts it. */
  readonly cast: string;
  /** What an array of JSON is to have for it, where it would be a number that JSON has no exact one for. */
  readonly inJson?: (quoted: string) => string;
  /** The same in an image, which is kept: the text that stands for the value in an answer, whatever the settings of the server. */
  readonly image?: (quoted: string) => string;
  /** From what a JSON array of the server has for it. */
  readonly decodeJson?: (given: unknown) => unknown;
  /** The least and the greatest, where there is no min and max of it, although it has an order. */
  readonly extremes?: Readonly<Record<'min' | 'max', (quoted: string) => string>>;
}

/** The digits of 2^63. */
const PRECISION = 19;

const MOST_FLOAT = '1.7976931348623157e308';

/** The types are spelt as `format_type` does. */
export const codecs: Codecs<PostgresCodec> = {
  serial: { type: 'bigint', cast: 'int8', decode: Number },
  integer: { type: 'integer', cast: 'int4' },
  bigint: exact('bigint', 'int8'),
  decimal: ofEachScale((scale) => exact(`numeric(${PRECISION},${scale})`, 'numeric')),
  // Fractions are added exactly: added as they come, the sum would depend on their order.
  float: {
    type: 'double precision',
    cast: 'float8',
    // One that no float can hold is an error only where it is answered, and here it would be one wherever it is added up.
    sum: (quoted) => {
      const sum = `SUM(${quoted}::numeric)`;
      return `CASE WHEN ${sum} > ${MOST_FLOAT} THEN 'Infinity' WHEN ${sum} < -${MOST_FLOAT} THEN '-Infinity' ELSE ${sum}::float8 END`;
    },
  },
  boolean: {
    type: 'boolean',
    cast: 'boolean',
    extremes: { min: (quoted) => `bool_and(${quoted})`, max: (quoted) => `bool_or(${quoted})` },
  },
  // By code point whatever the database's own collation is.
  text: { type: 'text', definition: 'text COLLATE "C"', cast: 'text' },
  words: { type: 'tsvector', cast: 'text::tsvector' },
  folded: {
    type: 'text',
    definition: 'text COLLATE "C"',
    cast: 'text',
    encode: (value) => folded(String(value)),
  },
  time: {
    type: 'timestamp with time zone',
    cast: 'text::timestamptz',
    image: (quoted) => `to_char(${quoted} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
    decode: isoTime,
    decodeJson: isoTime,
  },
  date: { type: 'date', cast: 'text::date', read: (quoted) => `${quoted}::text` },
  uuid: {
    type: 'uuid',
    cast: 'text::uuid',
    extremes: {
      min: (quoted) => `min(${quoted}::text COLLATE "C")::uuid`,
      max: (quoted) => `max(${quoted}::text COLLATE "C")::uuid`,
    },
  },
  // Not jsonb, which forgets the order of keys. Read as text: the driver would make objects of all of it.
  json: {
    type: 'json',
    cast: 'text::json',
    encode: JSON.stringify,
    read: (quoted) => `${quoted}::text`,
    decode: parsed,
    decodeJson: parsed,
    // What was read is kept as what it is.
    image: (quoted) => `${quoted}::json`,
  },
};

/**
 * Text on the way in and out: JSON would make a float of it. The driver gives back text by itself, and a cast would do harm:
 * Citus orders by the name in its answer, and so by the text, where a column of this name is meant.
 */
function exact(type: string, cast: string): PostgresCodec {
  return {
    type,
    cast: `text::${cast}`,
    inJson: (quoted) => `${quoted}::text`,
    sum: (quoted) => `SUM(${quoted})::text`,
    total: (quoted) => `SUM(${quoted})`,
  };
}

function parsed(given: unknown): unknown {
  return readJson(String(given));
}

/** Of a Date, or of the text that stands for one in JSON. */
function isoTime(given: unknown): string {
  return new Date(given as Date | string).toISOString();
}
