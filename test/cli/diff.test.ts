/** What `duet diff` says of what must be true of records. */

import { expect, test } from 'bun:test';
import { reportOf } from '../../src/cli/commands/diff.ts';
import type { Model } from '../../src/schema/model.ts';
import { readSchema } from '../../src/schema/read.ts';

const nothing = { rewrites: [], steps: [], refusals: [], held: [], surplus: [], prunable: [] };
const read = (directives: string, field: string) =>
  readSchema(`enum E { X Y Z } type A @resource ${directives} { id: ID! n: Int e: E ${field} }`)
    .model as Model;
const check = (least: number, message: string) =>
  `@check(where: { n: { gte: ${least} } }, message: "${message}")`;

test('new checks and fewer transitions are breaking, their reverse is safe', () => {
  const before = read(check(1, 'There is some.'), '@transitions(allow: { X: [Y, Z] })');
  const after = read(check(2, 'There is enough.'), '@transitions(allow: { X: [Y], Y: [Z] })');
  const changed = (from: Model, to: Model) =>
    reportOf(from, to, nothing).REST.map(({ mark, text }) => `${mark} ${text}`);
  expect(changed(before, after)).toEqual([
    'breaking /as e: changes in other ways',
    'safe /as: gone: @check: There is some.',
    'breaking /as: new: @check: There is enough.',
  ]);
  expect(changed(read('', '@transitions(allow: { X: [Y] })'), read('', ''))).toEqual([
    'safe /as e: changes in other ways',
  ]);
  expect(changed(read('', ''), read('', '@transitions(allow: { X: [Y] })'))).toEqual([
    'breaking /as e: changes in other ways',
  ]);
  expect(changed(before, before)).toEqual([]);
});
