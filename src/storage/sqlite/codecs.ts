/** How SQLite keeps each kind of value. */

import { readJson } from '../../base/passed.ts';
import { textOfUnits } from '../../schema/exact.ts';
import { folded } from '../../schema/folding.ts';
import { type Codec, type Codecs, ofEachScale } from '../sql/codec.ts';

export const codecs: Codecs = {
  serial: { type: 'INTEGER' },
  integer: { type: 'INTEGER' },
  bigint: exact(0),
  // In units of the last digit.
  decimal: ofEachScale(exact),
  float: { type: 'REAL' },
  boolean: { type: 'INTEGER', encode: Number, decode: (given) => given !== 0 },
  text: { type: 'TEXT' },
  // It keeps them in a table of their own.
  words: { type: 'TEXT' },
  folded: { type: 'TEXT', encode: (value) => folded(String(value)) },
  time: { type: 'TEXT' },
  date: { type: 'TEXT' },
  uuid: { type: 'TEXT' },
  json: { type: 'TEXT', encode: JSON.stringify, decode: (given) => readJson(String(given)) },
};

/**
 * A driver gives numbers back as floats, and takes text for a number where a column is one. A sum of integers fails as soon
 * as it overflows on the way, so the high and the low halves are added apart.
 */
function exact(scale: number): Codec {
  return {
    type: 'INTEGER',
    encode: (value) => String(value).replace('.', ''),
    read: (quoted) => `CAST(${quoted} AS TEXT)`,
    decode: (given) => textOfUnits(BigInt(String(given)), scale),
    sum: (quoted) => `SUM(${quoted} >> 32) || ' ' || SUM(${quoted} & 4294967295)`,
    decodeSum: (given) => {
      const [high = 0n, low = 0n] = String(given).split(' ').map(BigInt);
      return textOfUnits((high << 32n) + low, scale);
    },
    total,
  };
}

/**
 * The halves joined. What does not fit 64 bits is beyond all that does; it cannot be answered, so it needs no more. NUMERIC
 * leaves that as it is, where INTEGER would make the greatest of integers of it; and it makes a number of a text beside it.
 */
function total(quoted: string): string {
  const low = `SUM(${quoted} & 4294967295)`;
  const high = `(SUM(${quoted} >> 32) + (${low} >> 32))`;
  const joined = `${high} * 4294967296 + (${low} & 4294967295)`;
  return `CAST(CASE WHEN ${high} > 2147483647 THEN 9.3e18 WHEN ${high} < -2147483648 THEN -9.3e18 ELSE ${joined} END AS NUMERIC)`;
}
