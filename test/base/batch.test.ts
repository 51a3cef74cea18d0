/** Small work of one turn of the event loop, done in a row at its end. */

import { expect, spyOn, test } from 'bun:test';
import { AsyncLocalStorage } from 'node:async_hooks';
import { afterBatch, inBatch, inTurnOfLong } from '../../src/base/batch.ts';

const turned = () => new Promise(setImmediate);

/** Longer than anybody is kept waiting at a stretch. */
function dawdle(): void {
  const until = performance.now() + 6;
  while (performance.now() < until);
}

test('in the order in which it came, behind everything else of the turn', async () => {
  const done: string[] = [];
  const first = inBatch(() => done.push('first'));
  const second = inBatch(() => done.push('second'));
  done.push('the turn');
  await Promise.all([first, second]);
  expect(done).toEqual(['the turn', 'first', 'second']);
});

test('what it asks for itself is done at once', async () => {
  using _clock = spyOn(performance, 'now').mockReturnValue(0);
  const inner = await inBatch(() => [inBatch(() => 'now')]);
  expect(inner).toEqual(['now']);
});

test('what each leads to is not done in one stretch, however long it goes on', async () => {
  const done: string[] = [];
  setImmediate(() => setImmediate(() => done.push('somebody else')));
  for (const name of ['a', 'b', 'c', 'd'])
    await inBatch(() => {
      dawdle();
      done.push(name);
    });
  expect(done.indexOf('somebody else')).toBeOneOf([1, 2]);
});

test('one that fails does so alone', async () => {
  const answers = await Promise.allSettled([
    inBatch(() => 1),
    inBatch(() => {
      throw new Error('no');
    }),
    inBatch(async () => 3),
  ]);
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

test('the end of a stretch comes after all promises that it settles', async () => {
  // The clock stands still: on a machine that does something else meanwhile, a stretch would end before the second.
  using _clock = spyOn(performance, 'now').mockReturnValue(0);
  const done: string[] = [];
  await Promise.all(
    ['a', 'b'].map(async (name) => {
      await inBatch(() => {
        if (name === 'a') afterBatch(() => done.push('end'));
      });
      for (let hop = 0; hop < 10; hop++) await null;
      done.push(name);
    }),
  );
  await turned();
  expect(done).toEqual(['a', 'b', 'end']);
});

test('nobody waits for more than a stretch of it', async () => {
  const done: string[] = [];
  const all = ['a', 'b', 'c'].map((name) =>
    inBatch(() => {
      dawdle();
      done.push(name);
    }),
  );
  setImmediate(() => done.push('somebody else'));
  await Promise.all(all);
  expect(done).toEqual(['a', 'somebody else', 'b', 'c']);
});

test('whoever is first in a batch does not have the others work in its name', async () => {
  const names = new AsyncLocalStorage<string>();
  const seen = await Promise.all([
    names.run('first', () => inBatch(() => names.getStore())),
    inBatch(() => names.getStore()),
  ]);
  expect(seen).toEqual([undefined, undefined]);
});

test('what is short waits for one that is long, and not for all; nor does what is long wait for all that is short', async () => {
  const done: string[] = [];
  const all: unknown[] = [];
  const add = (name: string, isLong: boolean, work = dawdle) =>
    all.push(
      inBatch(
        () => {
          done.push(name);
          work();
        },
        () => isLong,
      ),
    );
  const addShort = () => {
    // So long that nothing is done at once any more.
    for (let time = 0; time < 2; time++) dawdle();
    for (const name of ['a', 'b', 'c']) add(name, false);
  };
  add('long 1', true, addShort);
  add('long 2', true);
  add('long 3', true);
  for (let at = 0; at < all.length; at++) await all[at];
  expect(done).toEqual(['long 1', 'a', 'long 2', 'b', 'long 3', 'c']);
});

test('what is known to be long by the time that it is its turn lets what is short go first', async () => {
  using _clock = spyOn(performance, 'now').mockReturnValue(0);
  const done: string[] = [];
  let isLong = false;
  const add = (name: string, isOne = false) =>
    inBatch(
      () => {
        done.push(name);
        isLong = true;
      },
      isOne ? () => isLong : undefined,
    );
  await Promise.all([add('long 1', true), add('long 2', true), add('long 3', true), add('a'), add('b')]);
  expect(done).toEqual(['long 1', 'a', 'b', 'long 2', 'long 3']);
});

test('what turns out to be long while it is done goes on behind what is short, in the name of whoever asked', async () => {
  using _clock = spyOn(performance, 'now').mockReturnValue(0);
  const names = new AsyncLocalStorage<string>();
  const done: string[] = [];
  const all = ['a', 'b'].map((name) =>
    names.run(name, () =>
      inBatch(() => {
        done.push(`${name} begins`);
        return inTurnOfLong(() => done.push(`${name} ends`));
      }),
    ),
  );
  const short = inBatch(() => done.push('short'));
  await Promise.all([...all, short]);
  expect(done).toEqual(['a begins', 'b begins', 'short', 'a ends', 'b ends']);
  const told = names.run('c', () => inTurnOfLong(() => names.getStore()));
  expect(await told).toBe('c');
  const failed = inTurnOfLong(() => Promise.reject(new Error('no')));
  expect(await failed.catch(({ message }) => message)).toBe('no');
});
