/** How the disk is waited for: in each commit while those are quick, in the background while they are slow. */

import { expect, test } from 'bun:test';
import { Pace } from '../../src/storage/sqlite/pace.ts';

test('three slow commits in a row make a disk slow, and two hundred quick ones make it quick again', () => {
  const pace = new Pace();
  for (const ms of [1, 2, 2, 0.1, 0.1, 0.1, 0.1, 5, 5]) pace.committed(ms);
  expect(pace.isSlow).toBe(false);
  pace.committed(5);
  expect(pace.isSlow).toBe(true);
  for (let quick = 0; quick < 199; quick++) pace.committed(0.1);
  expect(pace.isSlow).toBe(true);
  pace.committed(0.1);
  expect(pace.isSlow).toBe(false);
  // What was slow once is not held against it.
  pace.committed(5);
  expect(pace.isSlow).toBe(false);
});

test('one that takes very long is enough', () => {
  const pace = new Pace();
  pace.committed(50);
  expect(pace.isSlow).toBe(true);
  for (let quick = 0; quick < 198; quick++) pace.committed(0.1);
  pace.committed(3);
  pace.committed(0.1);
  expect(pace.isSlow).toBe(true);
});
