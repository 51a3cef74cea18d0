/** How a database keeps values: a row for each kind, so that a new scalar is one more row in the table of each database. */

import type { Column } from '../../schema/model.ts';
import type { Scalar } from '../../schema/scalars.ts';
import { keptAs } from '../../schema/values.ts';
import type { Row } from '../statements.ts';

/** Neither way is taken by null; what is left out needs nothing done. */
export interface Codec {
  /** The type of a column, as the database itself spells it. */
  readonly type: string;
  /** The same, with whatever a new column of this type must say besides. */
  readonly definition?: string;
  /** From the value to what the driver is given. */
  readonly encode?: (value: unknown) => unknown;
  /** From what the driver gives back to the value. */
  readonly decode?: (given: unknown) => unknown;
  /** What to select instead of the column, where the driver would not give back all of its value. */
  readonly read?: (quoted: string) => string;
}

export type Codecs = Readonly<Record<Scalar['stored'], Codec>>;

/** Of the columns of an answer that need one. */
export type Decoders = readonly { readonly name: string; readonly decode: (given: unknown) => unknown }[];

export function encoded(codecs: Codecs, column: Column, value: unknown): unknown {
  const { encode } = codecs[keptAs(column)];
  return encode && value !== null ? encode(value) : value;
}

/** What to select for a value of this column. */
export function readAs(codecs: Codecs, column: Column, quoted: string): string {
  return codecs[keptAs(column)].read?.(quoted) ?? quoted;
}

export function decodersOf(codecs: Codecs, columns: readonly Column[]): Decoders {
  return columns.flatMap((column) => {
    const { decode } = codecs[keptAs(column)];
    return decode ? [{ name: column.name, decode }] : [];
  });
}

export function decoded(rows: Row[], decoders: Decoders): Row[] {
  for (const { name, decode } of decoders)
    for (const row of rows) if (row[name] !== null) row[name] = decode(row[name]);
  return rows;
}
