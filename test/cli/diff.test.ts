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

test('a list through a join type that can no longer be written is breaking', () => {
  const file = (list: string, more: string) =>
    readSchema(`type A @resource { id: ID! ${list} } type B @resource { id: ID! }
      type C @resource { id: ID! a: A! b: B! ${more} }`).model as Model;
  const list = 'bs: [B!]! @through(type: "C")';
  const report = (from: Model, to: Model) => {
    const { REST, GraphQL } = reportOf(from, to, nothing);
    return [REST, GraphQL].map((changes) => changes.map(({ mark, text }) => `${mark} ${text}`));
  };
  const [rest, graphql] = report(file('', ''), file(list, ''));
  expect(rest).toEqual(['safe /as bIds: can be written', 'safe /as _bs: can be written']);
  expect(graphql).toContain('safe Field A.bs was added');
  const [narrowed] = report(file(list, ''), file(list, 'n: Int!'));
  expect(narrowed).toEqual([
    'breaking /as bIds: can no longer be written',
    'breaking /as _bs: can no longer be written',
    'breaking /cs n: is new and must be given on create',
  ]);
});

test('letter case that does not count any more can be missed, and so can letter case that does', () => {
  const text = (directives: string) =>
    readSchema(`type A @resource { id: ID! s: String ${directives} }`).model as Model;
  const changed = (from: string, to: string) =>
    reportOf(text(from), text(to), nothing).REST.map(({ mark, text }) => `${mark} ${text}`);
  const line = 'breaking /as s: is compared';
  expect(changed('', '@caseless')).toEqual([`${line} without letter case`]);
  expect(changed('@caseless', '')).toEqual([`${line} with letter case`]);
  expect(changed('@caseless', '@caseless')).toEqual([]);
});

test('a journal that ends is breaking, and one that keeps less is destructive', () => {
  const file = (journal: string) => readSchema(`type A @resource ${journal} { id: ID! }`).model as Model;
  const report = (from: string, to: string) =>
    reportOf(file(from), file(to), nothing).REST.map(({ mark, text }) => `${mark} ${text}`);
  expect(report('', '@journal')).toEqual(['safe new: GET /changes/as']);
  expect(report('@journal', '')).toEqual(['breaking gone: GET /changes/as; what was kept stays, unseen']);
  expect(report('@journal(keep: "30d")', '@journal')).toEqual([]);
  expect(report('@journal(keep: "forever")', '@journal')).toEqual([
    'destructive /changes/as: changes are kept for less long',
  ]);
  expect(report('@journal(keep: "12h")', '@journal(keep: "2d")')).toEqual([
    'safe /changes/as: changes are kept for longer',
  ]);
});
