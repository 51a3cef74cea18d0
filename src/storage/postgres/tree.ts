/** A Select and all that it has below as one statement of PostgreSQL: one round trip, and one snapshot by itself. */

import type { Column } from '../../schema/model.ts';
import { codecOf, passing } from '../sql/codec.ts';
import type { Compiler, Template } from '../sql/compile.ts';
import { quote } from '../sql/dialect.ts';
import { heavyOf } from '../sql/long-answers.ts';
import { weigh } from '../sql/weights.ts';
import type { Writer } from '../sql/writer.ts';
import type { Row, Select, Statement } from '../statements.ts';
import { Prefetched } from '../storage.ts';
import { codecs } from './codecs.ts';
import { bytesOf, failsBeyond } from './dialect.ts';

/** More of them would be planned for long, and all of them wait for the last. */
const MOST_SELECTS = 16;
/** How many arguments a function can have. */
const MOST_COLUMNS = 100;
/** Of each Select: beyond that, one level after the other is quick enough; and below that, nothing is gained. */
const MOST_ROWS = 5000;
const FEWEST_ROWS = 100;

export interface Tree extends Template {
  /** In the order of their answers. */
  readonly selects: readonly Select[];
  /** How many rows of each may be too many for an answer: it has one more of them, then. */
  readonly most: number;
}

export class Trees {
  readonly #compiler: Compiler;
  readonly #known = new WeakMap<Select, Tree | null>();

  constructor(compiler: Compiler) {
    this.#compiler = compiler;
  }

  /** Undefined where there is nothing below, or too much. */
  of(select: Select): Tree | undefined {
    if (select.prefetch.length === 0) return undefined;
    let tree = this.#known.get(select);
    if (tree === undefined) {
      tree = treeOf(select, this.#compiler.writer());
      this.#known.set(select, tree);
    }
    return tree ?? undefined;
  }

  /** From now on it is read level by level. */
  giveUp({ selects: [root] }: Tree): Unforeseen {
    if (root) this.#known.set(root, null);
    return new Unforeseen();
  }
}

function treeOf(root: Select, writer: Writer): Tree | null {
  const selects = [...within(root)];
  // Were one asked for twice, its rows could be those of either.
  const areDifferent = new Set(selects).size === selects.length;
  const areNarrow = selects.every(({ columns }) => columns.length <= MOST_COLUMNS);
  if (!areDifferent || !areNarrow || selects.length > MOST_SELECTS) return null;
  // So many of each are not too many of all: a level below too many rows is never to be loaded.
  const [, ...below] = selects.map((select) => select.most ?? 0);
  const fitting = Math.min(...below) - 1;
  const most = Math.min(MOST_ROWS, Math.floor(fitting / selects.length));
  if (most < FEWEST_ROWS) return null;

  const parts: string[] = [];
  const add = (select: Select, listed?: string) => {
    const name = nameOf(parts.length);
    const fewer = { ...select, most: select.most && Math.min(select.most, most + 1) };
    parts.push(`${name} AS (${writer.queries.select(fewer, listed)})`);
    for (const { near, first, select: next } of select.prefetch) {
      const limit = first === undefined ? '' : ` LIMIT ${first}`;
      // What many led to is there for each of them.
      const distinct = select.per?.through ? 'DISTINCT ' : '';
      add(next, `ARRAY(SELECT ${distinct}${quote(near.name)} FROM ${name}${limit})`);
    }
  };
  add(root);
  // Values by column, not by row: the server writes them, and we read them, in half of the time.
  const answers = selects.map(({ columns }, index) => {
    const lists = columns.map((column) => `array_agg(${inJson(column)})`).join(', ');
    return `(SELECT json_build_array(${lists}) AS "_lists"${bytesIn(selects[index])} FROM ${nameOf(index)}) AS ${nameOf(index)}`;
  });
  const lists = selects.map((_, index) => `${nameOf(index)}."_lists" AS ${nameOf(index)}`).join(', ');
  const sql = `WITH ${parts.join(', ')} SELECT ${lists} FROM ${answers.join(', ')}${notTooMuch(selects)}`;
  return { sql, decoders: [], open: writer.conditions, findsOne: false, selects, most };
}

function inJson(column: Column): string {
  const quoted = quote(column.name);
  return codecOf(codecs, column).inJson?.(quoted) ?? quoted;
}

function bytesIn(select: Select | undefined): string {
  const heavy = select && heavyOf(select);
  return heavy ? `, coalesce(sum(${bytesOf(heavy.columns)}), 0) AS "_bytes"` : '';
}

/** What is too much in all is not sent. */
function notTooMuch(selects: readonly Select[]): string {
  const heavy = selects.flatMap((select, index) => {
    const bytes = heavyOf(select)?.bytes;
    return bytes === undefined ? [] : [{ bytes, of: `${nameOf(index)}."_bytes"` }];
  });
  const [first] = heavy;
  return first ? ` WHERE ${failsBeyond(first.bytes, heavy.map(({ of }) => of).join(' + '))}` : '';
}

/** The Select and all below, each before those below it. */
function* within(select: Select): Generator<Select> {
  yield select;
  for (const { select: next } of select.prefetch) yield* within(next);
}

/** No stored name begins with `_`. */
function nameOf(index: number): string {
  return `"_tree${index}"`;
}

/** What a program is answered before it asks. */
export class Ahead {
  readonly #rows = new Map<Select, Row[]>();

  /** The rows of the first Select; those of the others are kept until they are asked for. Undefined if they are too many. */
  keep({ selects, most }: Tree, [answer]: readonly Row[]): Row[] | undefined {
    const found = Object.values(answer ?? {}) as Lists[];
    if (found.some(([values]) => values && values.length > most)) return undefined;
    const [first, ...below] = selects.map((select, index) => rowsOf(select, found[index] ?? []));
    below.forEach((rows, index) => {
      this.#rows.set(selects[index + 1] as Select, rows);
    });
    return first;
  }

  /** Undefined unless all of them were answered before. */
  take(statements: readonly Statement[]): Prefetched | undefined {
    const found = new Prefetched();
    for (const statement of statements) {
      const rows = statement.do === 'filled' ? this.#rows.get(statement.select) : undefined;
      if (!rows) return undefined;
      found.push(rows);
    }
    return found;
  }
}

/** A program asks for what it was not expected to, or for too much at once: it needs a transaction, and no trees. */
export class Unforeseen extends Error {}

/** For each column its values, or null where there is no row. */
type Lists = readonly (readonly unknown[] | null)[];

function isJson(columns: readonly Column[]) {
  return (values: readonly unknown[] | null, index: number): values is readonly unknown[] =>
    values !== null && passing(columns[index] as Column) !== undefined;
}

function rowsOf({ columns, passes, bytes }: Select, lists: Lists): Row[] {
  if (!passes && bytes !== undefined) weigh(lists.filter(isJson(columns)));
  const rows = Array.from({ length: lists[0]?.length ?? 0 }, (): Row => ({}));
  columns.forEach((column, index) => {
    const { name } = column;
    const values = lists[index] ?? [];
    const decodeJson = (passes && passing(column)) || codecOf(codecs, column).decodeJson;
    for (let at = 0; at < rows.length; at++) {
      const value = values[at];
      (rows[at] as Row)[name] = decodeJson && value !== null ? decodeJson(value) : value;
    }
  });
  return rows;
}
