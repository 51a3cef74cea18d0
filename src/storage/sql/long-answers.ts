/** Which reads could answer with more text than an answer may have, so that it is to be counted while they run. */

import type { Column } from '../../schema/model.ts';
import { isScalar, keptAs } from '../../schema/values.ts';
import { parentOf, type Query, type Statement } from '../statements.ts';

/** So many texts of any length are too few to matter, as each was the body of a request once. */
const FEW_TEXTS = 101;
const MOST_BYTES_OF_CHARACTER = 4;

export interface Heavy {
  /** How many bytes of text there may be. */
  readonly bytes: number;
  /** Whether it leaves out the rows beyond, instead of failing. */
  readonly cuts: boolean;
  /** What can be long, under the names of the answer. */
  readonly columns: readonly Column[];
  readonly names: readonly string[];
}

const known = new WeakMap<Query, Heavy | null>();

/** Undefined where nothing needs to be counted. */
export function heavyOf(asked: Statement): Heavy | undefined {
  const statement = asked.do === 'filled' ? asked.select : asked;
  if ((statement.do !== 'select' && statement.do !== 'aggregate') || statement.bytes === undefined)
    return undefined;
  let heavy = known.get(statement);
  if (heavy === undefined) {
    heavy = found(statement, statement.bytes);
    known.set(statement, heavy);
  }
  return heavy ?? undefined;
}

function found(statement: Query, bytes: number): Heavy | null {
  const rows = rowsOf(statement);
  const columns = answered(statement).filter((column) => ['text', 'json'].includes(keptAs(column)));
  const widths = columns.map(widthOf);
  const bounded = widths.filter(Number.isFinite);
  const widest = bounded.reduce((sum, width) => sum + width, 0);
  const isFew = bounded.length === widths.length || rows * (widths.length - bounded.length) <= FEW_TEXTS;
  if (isFew && (widest === 0 || rows * widest <= bytes)) return null;
  const cuts = statement.do === 'select' && statement.cuts;
  return { bytes, cuts, columns, names: columns.map(({ name }) => name) };
}

function rowsOf(statement: Query): number {
  const { limit = Number.POSITIVE_INFINITY, most = Number.POSITIVE_INFINITY, per } = statement;
  if (per) return most;
  return statement.do === 'aggregate' && statement.by.length === 0 ? 1 : Math.min(limit, most);
}

/** What counts of an answer. */
function answered(statement: Query): readonly Column[] {
  if (statement.do === 'select')
    return statement.columns.filter((column) => !statement.uncounted.includes(column));
  const extremes = statement.measures.flatMap(({ as, of, column }) =>
    column && (of === 'min' || of === 'max') ? [{ ...column, name: as }] : [],
  );
  const { per, by } = statement;
  return [...(per ? [parentOf(per.column)] : []), ...by, ...extremes];
}

/** How many bytes a value can have. */
export function widthOf({ constraint, list, type }: Column): number {
  if (list || (isScalar(type) && type.stored === 'json')) return Number.POSITIVE_INFINITY;
  if (!isScalar(type)) return Math.max(...type.values.map(({ name }) => name.length));
  const characters = constraint?.maxLength ?? Number.POSITIVE_INFINITY;
  return MOST_BYTES_OF_CHARACTER * characters;
}
