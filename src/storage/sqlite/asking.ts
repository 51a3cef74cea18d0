/** Statements as another process is asked them, and what its rows mean here. */

import { decodedInTurns } from '../sql/codec.ts';
import { heavyOf } from '../sql/long-answers.ts';
import type { Row, Statement } from '../statements.ts';
import { compiler, stored } from './runner.ts';
import type { Asked } from './statement-process.ts';

export interface Asking extends Asked {
  readonly decode: (rows: Row[]) => Promise<Row[]>;
}

/** One that is asked by whoever drives programs, and not by these. */
export function control(sql: string): Asked {
  return { sql, parameters: [] };
}

/** All of the log that can be carried over into the file without anybody having to wait. No transaction may be open. */
export const CHECKPOINT = control('PRAGMA wal_checkpoint(PASSIVE)');

/** The rows of each statement. */
export async function meant(asked: readonly Asking[], answers: readonly Row[][]): Promise<Row[][]> {
  const rows: Row[][] = [];
  for (const [index, { decode }] of asked.entries()) rows.push(await decode(answers[index] ?? []));
  return rows;
}

export function asking(statement: Statement): Asking {
  const { sql, parameters, decoders } = compiler.compile(statement);
  if (statement.do !== 'insert') {
    const heavy = heavyOf(statement);
    return {
      sql,
      parameters,
      bound: heavy && { bytes: heavy.bytes, cuts: heavy.cuts, names: heavy.names },
      decode: (rows) => decodedInTurns(rows, decoders),
    };
  }
  const decode = async ([row]: Row[]) => (row ? [stored(statement, row['id'])] : []);
  return { sql, parameters, isSilent: true, decode };
}
