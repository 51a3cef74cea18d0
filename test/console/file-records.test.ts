/** What the console makes of a file: every record, with the line that it begins at, or why it has none. */

import { expect, test } from 'bun:test';
import { readCell, readFile } from '../../src/console/browser/file-records.ts';
import type { Column } from '../../src/console/browser/schema/types.ts';
import { Unreadable } from '../../src/console/browser/typed.ts';

const read = (text: string, encoding: BufferEncoding = 'utf8', name = 'books.csv') =>
  readFile(name, Buffer.from(text, encoding));
const rows = (text: string) => read(text).records.map(({ line, values }) => [line, values['a'], values['b']]);

test.each([
  ['line feeds', '\n'],
  ['returns and line feeds', '\r\n'],
  ['returns', '\r'],
])('lines end with %s', (_, end) => {
  const text = ['a,b', '1,"two', 'lines"', '3,4', ''].join(end);
  expect(rows(text)).toEqual([
    [2, '1', `two${end}lines`],
    [4, '3', '4'],
  ]);
});

test('a return within a line loses nothing of what follows', () => {
  expect(rows('a,b\n1,2\r\n3,4\r5,6\n7,8')).toEqual([
    [2, '1', '2'],
    [3, '3', '4'],
    [4, '5', '6'],
    [5, '7', '8'],
  ]);
});

test.each(['', '\n'])('the last value of a file may be empty, before %j', (end) => {
  expect(rows(`a,b\n1,2\n3,${end}`)).toEqual([
    [2, '1', '2'],
    [3, '3', ''],
  ]);
});

test('a quote that is opened and not closed is told, and not taken for a letter', () => {
  const why = 'A value begins with a quote that does not end it; a quote inside is doubled.';
  expect(read('a,b\n1,"two\n"3"x,4\n5," ""6"" "\n7,8"').faults).toEqual([
    { line: 2, why },
    { line: 3, why },
  ]);
});

test('a mark at the beginning is none of the names', () => {
  expect(read('\ufeffa;b\n1;2').names).toEqual(['a', 'b']);
});

test.each(['books.csv', 'books.json', 'books.ndjson'])('%s that is not UTF-8 is refused', (name) => {
  const { records, faults } = read('{"a":"Z\xfcrich"}', 'latin1', name);
  expect(records).toEqual([]);
  expect(faults).toEqual([{ line: 1, why: expect.stringContaining('not UTF-8') }]);
});

test('a cell that is to be a list says how one is written', () => {
  const column = { kind: 'text', list: true } as Column;
  expect(readCell(column, '["one", "two"]')).toEqual(['one', 'two']);
  expect(readCell(column, 'one, two')).toEqual(
    new Unreadable('one, two', 'A list is written as JSON, such as ["one", "two"].'),
  );
  expect(readCell({ ...column, kind: 'int' }, '7')).toEqual(
    new Unreadable('7', 'A list is written as JSON, such as [1, 2].'),
  );
});
