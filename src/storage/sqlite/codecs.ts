/** How SQLite keeps each kind of value. */

import type { Codecs } from '../sql/codec.ts';

export const codecs: Codecs = {
  serial: { type: 'INTEGER' },
  integer: { type: 'INTEGER' },
  float: { type: 'REAL' },
  boolean: { type: 'INTEGER', encode: Number, decode: (given) => given !== 0 },
  text: { type: 'TEXT' },
  time: { type: 'TEXT' },
  date: { type: 'TEXT' },
  uuid: { type: 'TEXT' },
  json: { type: 'TEXT', encode: JSON.stringify, decode: (given) => JSON.parse(String(given)) },
};
