/** What a process has read on SQLite is sent in parts, each of which is read here in no time, however long the texts are. */

import { expect, test } from 'bun:test';
import { type Part, restOf } from '../../src/storage/sqlite/statement-process.ts';
import type { Row } from '../../src/storage/statements.ts';

const MOST_ROWS = 2_000;
/** With the row that is too much. */
const MOST_TEXT = 128 * 1024 + 20_000;

function rowsOf(count: number, length: number, of: number): Row[] {
  return Array.from({ length: count }, (_, at) => ({ of, at, text: 'x'.repeat(length), no: null }));
}

function textIn(rows: readonly Row[]): number {
  return rows.reduce((sum, { text }) => sum + String(text).length, 0);
}

test.each([
  ['many short rows', [rowsOf(4_500, 3, 0)]],
  ['rows that are long', [rowsOf(100, 16_000, 0)]],
  ['long rows behind many', [rowsOf(2_000, 3, 0), rowsOf(30, 16_000, 1), [], rowsOf(1, 5, 3)]],
  ['many statements with a little each', Array.from({ length: 40 }, (_, of) => rowsOf(5, 10_000, of))],
  ['nothing', [[], []]],
])('%s', (_, answered) => {
  const sent: Part[] = [];
  const rest = restOf(answered, (part) => sent.push(part));
  const whole = rest.map((rows, at) => [...sent.flatMap(({ part, of }) => (of === at ? part : [])), ...rows]);
  expect(whole).toEqual(answered);
  const messages = [...sent.map(({ part }) => part), rest.flat()];
  expect(Math.max(...messages.map(({ length }) => length))).toBeLessThanOrEqual(MOST_ROWS);
  expect(Math.max(...messages.map(textIn))).toBeLessThanOrEqual(MOST_TEXT);
});
