/** Processes that write to one file: who finds it taken is told when it is free, in turn, and never needs to be. */

import { expect, test } from 'bun:test';
import { Turn, WriteTurns } from '../../src/cli/write-turns.ts';
import { WriteQueue } from '../../src/storage/sqlite/write-queue.ts';

/** As many processes as there are names, and who was told that it is its turn. */
function processes(...names: string[]) {
  const told: string[] = [];
  const all = new Map<string, Turn>();
  const turns = new WriteTurns<string>((to, { say }) => all.get(to)?.heard(say as 'wanted' | 'go'));
  for (const name of names)
    all.set(name, new Turn(({ say }) => turns.heard(say as 'waits' | 'wrote', name, names)));
  const of = (name: string) => all.get(name) as Turn;
  return { told, turns, of, wait: (name: string) => of(name).wait(() => told.push(name)) };
}

test('a write that found the file taken goes on in the moment in which another process lets go of it', async () => {
  const { of } = processes('one', 'two');
  let isTaken = true;
  let tries = 0;
  const queue = new WriteQueue(
    (batch) => {
      tries++;
      return isTaken ? undefined : batch.map(() => ({ result: 'written' }));
    },
    1000,
    of('two'),
  );
  const written = queue.add(function* () {}, 'one', Number.POSITIVE_INFINITY);
  while (tries === 0) await Bun.sleep(0);
  isTaken = false;
  const before = tries;
  of('one').done();
  // Nothing can have come in between, no timer either.
  expect(tries).toBe(before + 1);
  expect((await written) as unknown).toBe('written');
});

test('it goes on by itself where nobody tells', async () => {
  let tries = 0;
  const commit = () => (++tries < 3 ? undefined : [{ result: 'written' }]);
  for (const others of [undefined, processes('alone').of('alone')]) {
    tries = 0;
    const queue = new WriteQueue(commit, 1000, others);
    expect((await queue.add(function* () {}, 'one', Number.POSITIVE_INFINITY)) as unknown).toBe('written');
  }
});

test('those who wait have their turns in the order in which they came', () => {
  const { told, turns, of, wait } = processes('one', 'two', 'three', 'four');
  // Nobody waits, and nobody is told.
  of('one').done();
  const withdrawals = ['two', 'three', 'four'].map(wait);
  of('one').done();
  expect(told).toEqual(['two']);
  // One that has written meanwhile, and one that has ended, let the next go.
  withdrawals[0]?.();
  withdrawals[1]?.();
  of('two').done();
  expect(told).toEqual(['two', 'four']);
  wait('two');
  wait('three');
  turns.left('two');
  of('four').done();
  expect(told).toEqual(['two', 'four', 'three']);
});
