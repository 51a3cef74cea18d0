/** A file is read line by line, whatever its lines are like, and however it is cut into the chunks that are read. */

import { expect, test } from 'bun:test';
import { Lines } from '../../src/cli/input-lines.ts';
import { Folder } from '../process.ts';

const MB = 1024 * 1024;

test.each([
  ['nothing', ''],
  ['one line', 'a'],
  ['a last line without an end', 'a\nb'],
  ['empty lines', '\n\na\n\n'],
  ['a mark at its beginning, and one later', '\ufeffa\n\ufeffb\n'],
  ['ends of lines of Windows', 'a\r\nb\r\n'],
  // Whose parts are in two chunks, at every place.
  ['long characters', `${'äöü€😀'.repeat(9)}\n`.repeat(60_000)],
  ['a line that is longer than a chunk', `short\n${'€'.repeat(MB)}\nshort\n${'x'.repeat(3 * MB)}`],
])('%s', async (_, text) => {
  using folder = new Folder({ 'lines.txt': text });
  using lines = await Lines.open(folder.file('lines.txt'));
  const wanted = text.replace(/^\ufeff/, '').split('\n');
  if (wanted.at(-1) === '') wanted.pop();
  expect([...lines.all()].map((line) => Bun.hash(line))).toEqual(wanted.map((line) => Bun.hash(line)));

  // Each is asked about once, by its bytes; those that are known are left out.
  const asked: bigint[] = [];
  let count = 0;
  const left = lines.all((bytes, from, to) => {
    asked.push(
      Bun.hash(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(from, to))) as bigint,
    );
    return count++ % 3 !== 0;
  });
  const others = wanted.filter((_, index) => index % 3 === 0);
  expect([...left].map((line) => Bun.hash(line))).toEqual(others.map((line) => Bun.hash(line)));
  expect(asked).toEqual(wanted.map((line) => Bun.hash(line) as bigint));
});

test.each([
  ['a short one', 3, 'a\nb\n', 'c\n'],
  ['the last, without an end', 2, 'a\n', ''],
  ['one in another chunk', 200_002, `${'0123456789\n'.repeat(200_001)}`, '\nc'],
])('a line that is not UTF-8 is told by its number: %s', async (_, line, before, after) => {
  using folder = new Folder({});
  await Bun.write(
    folder.file('odd.txt'),
    Buffer.concat([before, 'Z\xfcrich', after].map((text) => Buffer.from(text, 'latin1'))),
  );
  using lines = await Lines.open(folder.file('odd.txt'));
  const message = `line ${line} is not UTF-8; save the file as UTF-8`;
  expect(() => [...lines.all()]).toThrow(message);
  expect(() => [...lines.all(() => false)]).toThrow(message);
});
