/** How SQLite keeps each kind of value. */

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
  folded: { type: 'TEXT', encode: (value) => folded(String(value)) },
  time: { type: 'TEXT' },
  date: { type: 'TEXT' },
  uuid: { type: 'TEXT' },
  json: { type: 'TEXT', encode: JSON.stringify, decode: (given) => JSON.parse(String(given)) },
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
  };
}
