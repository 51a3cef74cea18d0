/** When requests are turned away: by how long they have waited, on a clock of the test's own. */

import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';
import { Load, watchLag } from '../../src/http/guard/load.ts';

const LAG = 1000;
let now = 1_000_000;
let clock: { mockRestore(): void };
let unwatch: () => void;
beforeEach(() => {
  clock = spyOn(performance, 'now').mockImplementation(() => now);
  unwatch = watchLag();
});
afterEach(() => {
  unwatch();
  clock.mockRestore();
});

/** Which of those who have waited so long are worked on, in one turn of the event loop which begins now. */
async function turn(load: Load, ...waits: number[]): Promise<number[]> {
  load.arrive(now);
  const served = waits.filter((waited) => {
    try {
      load.admit(now - waited);
      return true;
    } catch {
      return false;
    }
  });
  await new Promise(setImmediate);
  now += 5;
  return served;
}

test('once there is too much to do, whoever has waited for a tenth is turned away until nobody has', async () => {
  const load = new Load(1000, LAG, 1, 1);
  expect(await turn(load, 500, 900, 1500)).toEqual([500, 900, 1500]);
  expect(await turn(load, 1500, 1400, 150, 50)).toEqual([50]);
  // However short its turns are: who waits is left to the next by the one before.
  expect(await turn(load, 150, 90)).toEqual([90]);
  expect(await turn(load, 150, 90)).toEqual([90]);
  expect(load.isOver).toBe(true);
  expect(await turn(load, 90, 80)).toEqual([90, 80]);
  expect(await turn(load, 90, 150, 900)).toEqual([90, 150, 900]);
  expect(load.isOver).toBe(false);
});

test('one long wait is no overload, twice as long as any may be is', async () => {
  const load = new Load(1000, LAG, 1, 1);
  expect(await turn(load, 1900, 10)).toEqual([1900, 10]);
  expect(await turn(load, 10)).toEqual([10]);
  expect(await turn(load, 2100, 150, 10)).toEqual([10]);
});
