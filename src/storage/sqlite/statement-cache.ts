/** What is kept of statements by their texts: of a deployment's own all, of those that others word ever anew little. */

import { Lru } from '../../base/lru.ts';

/** Statements beyond this many are prepared anew; a deployment has a few for each resource and document. */
const MOST = 1000;
/** A long one counts as several: one with hundreds of relations in its filter takes half a megabyte. */
const SHORT = 4000;

/** `forget` is told of each that is dropped. */
export function keptStatements<V extends {}>(forget?: (value: V) => void): Lru<string, V> {
  return new Lru(MOST, forget, (_, sql) => 1 + Math.floor(sql.length / SHORT));
}
