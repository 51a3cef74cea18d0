/** Processes that write to one file: who finds it taken is told when it is free, in turn, and never needs to be. */

import { test as always, expect } from 'bun:test';
import { type Flags, flagsOf, Turn, type TurnMessage } from '../../src/cli/write-turns.ts';
import { type Commit, type Outcome, WriteQueue } from '../../src/storage/sqlite/write-queue.ts';

/** Elsewhere there are no several processes behind one port. */
const test = always.skipIf(process.platform !== 'linux');

/** As many processes as are asked for, and who was told that it is its turn. */
function processes(count: number) {
  const { file, lower } = flagsOf(count) as Flags;
  const told: number[] = [];
  const all: Turn[] = [];
  const send = (message: TurnMessage) => {
    if (message.say === 'next') all[message.who]?.heard({ say: 'go' });
  };
  for (let own = 0; own < count; own++) {
    const turn = new Turn(send);
    turn.heard({ say: 'flags', file, own });
    all.push(turn);
  }
  const of = (at: number) => all[at] as Turn;
  /** Waits, and is told once. */
  const wait = (at: number, isShort = true) => {
    const withdraw = of(at).wait(() => {
      withdraw();
      told.push(at);
    }, isShort);
    return withdraw;
  };
  return { told, of, wait, file, lower };
}

test('a write that found the file taken goes on in the moment in which another process lets go of it', async () => {
  const { of } = processes(2);
  let isTaken = true;
  let tries = 0;
  const queue = new WriteQueue(
    (batch) => {
      tries++;
      return isTaken ? undefined : batch.map(() => ({ result: 'written' }));
    },
    1000,
    of(1),
  );
  const written = queue.add(function* () {}, 'one', Number.POSITIVE_INFINITY);
  while (tries === 0) await Bun.sleep(0);
  isTaken = false;
  const before = tries;
  of(0).done(false);
  // Nothing can have come in between, no timer either.
  expect(tries).toBe(before + 1);
  expect((await written) as unknown).toBe('written');
});

test('it goes on by itself where nobody tells', async () => {
  let tries = 0;
  const commit = () => (++tries < 3 ? undefined : [{ result: 'written' }]);
  for (const others of [undefined, processes(1).of(0)]) {
    tries = 0;
    const queue = new WriteQueue(commit, 1000, others);
    expect((await queue.add(function* () {}, 'one', Number.POSITIVE_INFINITY)) as unknown).toBe('written');
  }
});

test('one that takes long hears of its own deadline while another that takes long is under way', async () => {
  let end = () => {};
  const queue = new WriteQueue((batch, isAlone) => {
    if (!isAlone) return batch.map(() => 'alone');
    return new Promise((resolve) => {
      end = () => resolve(batch.map(() => ({ result: 'written' })));
    });
  }, 1000);
  const first = queue.add(function* () {}, 'many', Number.POSITIVE_INFINITY);
  const second = queue.add(function* () {}, 'many', performance.now() + 20);
  let told: unknown;
  second.catch((error) => {
    told = error.code;
  });
  for (let tries = 0; tries < 200 && told === undefined; tries++) await Bun.sleep(10);
  end();
  expect([told, await first] as unknown[]).toEqual(['DEADLINE_EXCEEDED', 'written']);
});

test('what is short does not wait for all that came with it and turns out to take long, one after the other', async () => {
  const done: string[] = [];
  const isLong = (steps: string) => steps === 'many';
  const queue = new WriteQueue((batch, isAlone) => {
    const [first] = batch;
    if (isAlone) return Promise.resolve([{ result: done.push('long') }]);
    // Of the others nothing is begun: the first that took long has taken all of the time that they have together.
    if (first && isLong(first.steps)) return ['alone'];
    return batch.map(({ steps }) => (isLong(steps) ? 'again' : { result: done.push('short') }));
  }, 1000);
  const add = (steps: 'one' | 'many') => queue.add(function* () {}, steps, Number.POSITIVE_INFINITY);
  await Promise.all([add('many'), add('many'), add('many'), add('one'), add('one')]);
  expect(done).toEqual(['short', 'short', 'long', 'long', 'long']);
  done.length = 0;
  // Nor does what is long wait for ever, where there is always something left.
  const all: Promise<unknown>[] = [];
  const busy = new WriteQueue((batch, isAlone) => {
    if (isAlone) return Promise.resolve([{ result: done.push('long') }]);
    if (batch.some(({ steps }) => isLong(steps)))
      return batch.map(({ steps }) => (isLong(steps) ? 'alone' : 'again'));
    if (!done.includes('long')) all.push(busy.add(function* () {}, 'one', Number.POSITIVE_INFINITY));
    return [{ result: done.push('short') }];
  }, 60_000);
  all.push(busy.add(function* () {}, 'many', Number.POSITIVE_INFINITY));
  for (let count = 0; count < 3; count++)
    all.push(busy.add(function* () {}, 'one', Number.POSITIVE_INFINITY));
  for (let at = 0; at < all.length; at++) await all[at];
  expect(done.indexOf('long')).toBeWithin(1, 10);
});

test('what is short comes before what has turned out to be slow, which has its turn all the same', async () => {
  const done: string[] = [];
  /** As many as there is time for: one that is slow takes all of it. */
  const queue = new WriteQueue((batch) => {
    const outcomes: Outcome[] = [];
    for (const { steps, isSlow } of batch) {
      if (steps === 'one') outcomes.push({ result: done.push('short') });
      else if (isSlow) return [...outcomes, { result: done.push('slow') }];
      else outcomes.push('slow');
      if (outcomes.length === 4) break;
    }
    return outcomes;
  }, 1000);
  const add = (steps: 'one' | 'many') => queue.add(function* () {}, steps, Number.POSITIVE_INFINITY);
  await Promise.all([add('many'), add('many'), add('many'), add('one'), add('one')]);
  expect(done).toEqual(['short', 'short', 'slow', 'slow', 'slow']);
  done.length = 0;
  // Where there is always more that is short than there is time for.
  const slow = add('many');
  const short: Promise<unknown>[] = [];
  const until = performance.now() + 10_000;
  while (!done.includes('slow') && performance.now() < until) {
    for (let count = 0; count < 5; count++) short.push(add('one'));
    await new Promise(setImmediate);
  }
  expect(done.at(-1)).toBe('slow');
  expect(done.length).toBeGreaterThan(5);
  await Promise.all([slow, ...short]);
});

test('one that takes long and comes to nothing at first keeps its place before those that came later', async () => {
  const done: number[] = [];
  let turns = 0;
  const queue = new WriteQueue((batch, isAlone) => {
    if (!isAlone) return batch.map(() => 'alone');
    // Every other turn is spent on what the last one has left behind.
    if (turns++ % 2 === 0) return Promise.resolve(['again']);
    done.push(Number(batch[0]?.deadline));
    return Promise.resolve([{ result: undefined }]);
  }, 1000);
  // Told apart by their deadlines, all of which are far away.
  const deadlines = [1e12, 2e12, 3e12, 4e12];
  await Promise.all(deadlines.map((deadline) => queue.add(function* () {}, 'many', deadline)));
  expect(done).toEqual(deadlines);
});

test('all that is short and waits when one that takes long ends comes before the next that does, however much it is', async () => {
  const done: string[] = [];
  const ends: (() => void)[] = [];
  const queue = new WriteQueue((batch, isAlone) => {
    if (!isAlone && batch[0]?.steps === 'many') return batch.map(() => 'alone');
    if (!isAlone) return batch.map(() => ({ result: done.push('short') }));
    return new Promise((resolve) => {
      ends.push(() => resolve([{ result: done.push('long') }]));
    });
  }, 1000);
  const add = (steps: 'one' | 'many') => queue.add(function* () {}, steps, Number.POSITIVE_INFINITY);
  const long = [add('many'), add('many')];
  while (ends.length === 0) await Bun.sleep(1);
  // More than go together.
  const short = Array.from({ length: 450 }, () => add('one'));
  ends[0]?.();
  await Promise.all(short);
  while (ends.length === 1) await Bun.sleep(1);
  ends[1]?.();
  await Promise.all(long);
  expect([done[0], done.lastIndexOf('short'), done[451]]).toEqual(['long', 450, 'long']);
});

test('one that takes long gives way to what is short in other processes, but not for ever', async () => {
  const { of } = processes(3);
  /** Asks again whenever it is told, as one does that still finds the file taken. */
  const keepWaiting = (at: number, isShort: boolean) => {
    let withdraw = () => {};
    const ask = () => {
      withdraw();
      withdraw = of(at).wait(ask, isShort);
    };
    ask();
    return () => withdraw();
  };
  const done: string[] = [];
  const queueOf = (holdMs: number) =>
    new WriteQueue(
      (batch, isAlone) => {
        if (!isAlone && batch[0]?.steps === 'many') return batch.map(() => 'alone');
        done.push(isAlone ? 'long' : 'short');
        const outcomes = batch.map(() => ({ result: undefined }));
        return isAlone ? Promise.resolve(outcomes) : outcomes;
      },
      holdMs,
      of(0),
    );
  const queue = queueOf(60_000);
  const add = (steps: 'one' | 'many', to = queue) => to.add(function* () {}, steps, Number.POSITIVE_INFINITY);
  const withdraw = keepWaiting(1, true);
  const long = add('many');
  await Bun.sleep(50);
  expect(done).toEqual([]);
  // What is short in its own does not wait for that.
  await add('one');
  expect(done).toEqual(['short']);
  withdraw();
  await long;
  // Others that take long are no better.
  keepWaiting(2, false);
  await add('many');
  keepWaiting(1, true);
  await add('many', queueOf(0));
  expect(done).toEqual(['short', 'long', 'long', 'long']);
});

test('it gives way to what waits for another that takes long, however long that has gone on', async () => {
  const { of } = processes(2);
  const tried: string[] = [];
  const commit: Commit = (batch, isAlone) => {
    if (!isAlone) return batch.map(() => 'alone');
    tried.push('long');
    return Promise.resolve(batch.map(() => ({ result: undefined })));
  };
  const queue = new WriteQueue(commit, 0, of(0));
  of(1).holds(true);
  const withdraw = of(1).wait(() => {}, true);
  const long = queue.add(function* () {}, 'many', Number.POSITIVE_INFINITY);
  // Longer than it gives way to others that are short.
  await Bun.sleep(700);
  of(1).holds(false);
  await Bun.sleep(50);
  expect(tried).toEqual([]);
  withdraw();
  await long;
  expect([tried, of(1).areHolding]).toEqual([['long'], false]);
});

test('each that takes long gives way anew, also behind one whose deadline has passed meanwhile', async () => {
  const { of } = processes(2);
  const commit: Commit = (batch, isAlone) =>
    isAlone ? Promise.resolve(batch.map(() => ({ result: undefined }))) : batch.map(() => 'alone');
  const queue = new WriteQueue(commit, 0, of(0));
  of(1).wait(() => {}, true);
  const add = (deadline: number) => queue.add(function* () {}, 'many', deadline);
  expect(await add(performance.now() + 100).catch(({ code }) => code)).toBe('DEADLINE_EXCEEDED');
  await Bun.sleep(600);
  const begun = performance.now();
  await add(Number.POSITIVE_INFINITY);
  expect(performance.now() - begun).toBeGreaterThanOrEqual(500);
});

test('others know of what takes long while it is under way', async () => {
  const { of } = processes(2);
  const known: boolean[] = [];
  const commit: Commit = async (batch, isAlone) => {
    known.push(of(1).areHolding);
    // At first it may be another that has the file, which is not known until it has been tried.
    if (isAlone) await Bun.sleep(100);
    known.push(of(1).areHolding);
    return batch.map(() => (isAlone ? { result: undefined } : 'alone'));
  };
  await new WriteQueue(commit, 0, of(0)).add(function* () {}, 'many', Number.POSITIVE_INFINITY);
  expect([...known, of(1).areHolding]).toEqual([false, false, false, true, false]);
});

test('what is short in other processes keeps nobody from its turn, however long it goes on', async () => {
  const { of } = processes(2);
  const tried: string[] = [];
  let isTaken = true;
  const commit: Commit = (batch, isAlone) => {
    if (!isAlone && batch[0]?.steps === 'many') return batch.map(() => 'alone');
    tried.push(isAlone ? 'long' : 'short');
    const outcomes = isTaken ? undefined : batch.map(() => ({ result: undefined }));
    return isAlone ? Promise.resolve(outcomes) : outcomes;
  };
  const queue = new WriteQueue(commit, 60_000, of(0));
  const add = (steps: 'one' | 'many') => queue.add(function* () {}, steps, Number.POSITIVE_INFINITY);
  const long = add('many');
  while (tried.length === 0) await Bun.sleep(1);
  const short = add('one');
  await Bun.sleep(200);
  isTaken = false;
  const before = tried.length;
  await Promise.all([short, long]);
  expect(tried.slice(before)).toEqual(['long', 'short']);
});

test('a queue that takes the place of another, which still ends, is known to wait and to be about what takes long', async () => {
  const { of } = processes(2);
  const ends: (() => void)[] = [];
  const commit: Commit = (batch, isAlone) => {
    if (!isAlone) return batch.map(({ steps }) => (steps === 'many' ? 'alone' : { result: undefined }));
    return new Promise((resolve) => {
      ends.push(() => resolve([{ result: undefined }]));
    });
  };
  const written: Promise<unknown>[] = [];
  for (const queue of [0, 1].map(() => new WriteQueue(commit, 60_000, of(0)))) {
    const add = (steps: 'one' | 'many') => queue.add(function* () {}, steps, Number.POSITIVE_INFINITY);
    written.push(add('many'));
    await Bun.sleep(50);
    written.push(add('one'));
  }
  const known = () => [of(1).areHolding, of(1).ahead()()];
  ends[0]?.();
  await Promise.all(written.slice(0, 2));
  expect(known()).toEqual([true, true]);
  ends[1]?.();
  await Promise.all(written);
  expect(known()).toEqual([false, false]);
});

test('who has written nothing lets nobody go on', async () => {
  const { of, wait, told } = processes(2);
  const queue = new WriteQueue(() => undefined, 60_000, of(0));
  wait(1);
  const write = queue.add(function* () {}, 'one', performance.now() + 20);
  expect(await write.catch(({ code }) => code)).toBe('DEADLINE_EXCEEDED');
  await Bun.sleep(50);
  expect(told).toEqual([]);
});

test.each(['one that tells', 'one that is slow to tell', 'one of which nobody knows'])(
  'after another process has written for long, what is short comes first: %s',
  async (what) => {
    const { of } = processes(2);
    const tells = what === 'one that tells';
    const others = what === 'one of which nobody knows' ? undefined : of(0);
    const tried: string[] = [];
    let isTaken = true;
    const commit: Commit = (batch, isAlone) => {
      if (!isAlone && batch[0]?.steps === 'many') return batch.map(() => 'alone');
      tried.push(isAlone ? 'long' : 'short');
      const outcomes = isTaken ? undefined : batch.map(() => ({ result: undefined }));
      return isAlone ? Promise.resolve(outcomes) : outcomes;
    };
    const queue = new WriteQueue(commit, 60_000, others);
    const add = (steps: 'one' | 'many') => queue.add(function* () {}, steps, Number.POSITIVE_INFINITY);
    of(1).holds(true);
    const long = add('many');
    while (tried.length === 0) await Bun.sleep(1);
    let short = tells ? undefined : add('one');
    await Bun.sleep(200);
    // In the moment in which it comes, before it has been tried once.
    short ??= add('one');
    isTaken = false;
    const before = tried.length;
    of(1).holds(false);
    if (tells) of(1).done(false);
    await Promise.all([short, long]);
    expect(tried.slice(before)).toEqual(['short', 'long']);
  },
);

test('while another process writes, it stays the turn of what asked first: chance would have the others wait', async () => {
  const tried: string[] = [];
  let isTaken = false;
  const queue = new WriteQueue((batch, isAlone) => {
    if (!isAlone && batch.every(({ steps }) => steps === 'many')) return batch.map(() => 'alone');
    tried.push(isAlone ? 'long' : 'short');
    // Before each that is written the file is taken three times.
    isTaken = tried.length % 4 !== 0;
    const outcomes = isTaken ? undefined : batch.map(() => ({ result: 'written' }));
    return isAlone ? Promise.resolve(outcomes) : outcomes;
  }, 1000);
  const add = (steps: 'one' | 'many') => queue.add(function* () {}, steps, Number.POSITIVE_INFINITY);
  const long = [add('many'), add('many')];
  await Bun.sleep(0);
  await Promise.all([...long, add('one')]);
  expect(tried).toEqual(['long', 'short', 'long'].flatMap((each) => Array(4).fill(each)));
});

test('while another process writes, all hear of their deadlines, also those whose turn it is not', async () => {
  const isLong = (steps: string) => steps === 'many';
  const queue = new WriteQueue((batch, isAlone) => {
    if (isAlone) return Promise.resolve(undefined);
    return batch.some(({ steps }) => isLong(steps)) ? batch.map(() => 'alone') : undefined;
  }, 1000);
  const long = queue.add(function* () {}, 'many', Number.POSITIVE_INFINITY);
  await Bun.sleep(0);
  const short = queue.add(function* () {}, 'one', performance.now() + 50);
  const told = (write: Promise<unknown>) => write.catch(({ code }) => code);
  expect(await Promise.race([told(short), told(long)])).toBe('DEADLINE_EXCEEDED');
  expect(await told(long)).toBe('UNAVAILABLE');
});

test('who holds the file hears that another process waits for it', async () => {
  const { of, wait } = processes(3);
  let wanted = () => false;
  let end = () => {};
  const queue = new WriteQueue(
    (batch, isAlone, isWanted) => {
      if (!isAlone) return batch.map(() => 'alone');
      wanted = isWanted;
      return new Promise((resolve) => {
        end = () => resolve([{ result: 'written' }]);
      });
    },
    1000,
    of(1),
  );
  const written = queue.add(function* () {}, 'many', Number.POSITIVE_INFINITY);
  await Bun.sleep(20);
  const told = [wanted()];
  // One's own flag stays where it went on by itself.
  const withdrawals = [wait(1), wait(2)];
  told.push(wanted());
  withdrawals[1]?.();
  told.push(wanted());
  withdrawals[0]?.();
  end();
  expect([...told, await written] as unknown[]).toEqual([false, true, false, 'written']);
});

test('what is short has its turn before what takes long', () => {
  const { told, of, wait } = processes(4);
  wait(1, false);
  wait(2, true);
  expect(of(0).ahead()()).toBe(true);
  expect(of(2).ahead()()).toBe(false);
  of(0).done(false);
  of(2).done(false);
  expect(told).toEqual([2, 1]);
});

test('nobody gives way to one that is gone', () => {
  const { of, file, lower } = processes(3);
  of(1).wait(() => {}, true);
  of(2).wait(() => {}, true);
  lower(1);
  expect([of(0).ahead()(), of(2).ahead()()]).toEqual([true, false]);
  // Another in its place, which knows nothing of it, is told that it is its turn, once.
  const told: TurnMessage[] = [];
  const next = new Turn((message) => told.push(message));
  next.heard({ say: 'flags', file, own: 2 });
  next.heard({ say: 'go' });
  expect([told, of(0).ahead()()]).toEqual([[], false]);
});

test('others know of what is short and waits for one that takes long in the same process', async () => {
  const { of } = processes(2);
  let end = () => {};
  const queue = new WriteQueue(
    (batch, isAlone) => {
      if (!isAlone) return batch.map(({ steps }) => (steps === 'many' ? 'alone' : { result: undefined }));
      return new Promise((resolve) => {
        end = () => resolve([{ result: undefined }]);
      });
    },
    60_000,
    of(0),
  );
  const add = (steps: 'one' | 'many', deadline = Number.POSITIVE_INFINITY) =>
    queue.add(function* () {}, steps, deadline);
  for (const isLate of [false, true]) {
    const long = add('many');
    await Bun.sleep(20);
    const known = [of(1).ahead()()];
    const short = add('one', isLate ? performance.now() + 1 : undefined).catch(() => {});
    known.push(of(1).ahead()());
    if (isLate) await short;
    end();
    await Promise.all([long, short]);
    known.push(of(1).ahead()());
    expect(known).toEqual([false, true, false]);
  }
});

test('who was told, and tries, is still known to wait until it has written', async () => {
  const { of } = processes(3);
  let settle: (() => void) | undefined;
  let isFirst = true;
  const queue = new WriteQueue(
    (batch) => {
      if (isFirst) {
        isFirst = false;
        return undefined;
      }
      // Where the disk is slow, it has to be waited for before the file is tried.
      return new Promise((resolve) => {
        settle = () => resolve(batch.map(() => ({ result: undefined })));
      });
    },
    1000,
    of(1),
  );
  const written = queue.add(function* () {}, 'one', Number.POSITIVE_INFINITY);
  while (!settle) await Bun.sleep(1);
  expect(of(0).ahead()()).toBe(true);
  settle();
  await written;
  expect(of(0).areWaiting).toBe(false);
});

test('who has just come is not refused for what another has done before, nor anybody for a worker that ends by itself', async () => {
  const { of } = processes(2);
  const queue = new WriteQueue(() => undefined, 0, of(1));
  const add = () => {
    const begun = performance.now();
    const write = queue.add(function* () {}, 'one', Number.POSITIVE_INFINITY);
    return write.catch(({ code }) => [code, performance.now() - begun]) as Promise<[string, number]>;
  };
  const first = add();
  await Bun.sleep(400);
  const second = add();
  expect((await first)[0]).toBe('UNAVAILABLE');
  const [code, waited] = await second;
  expect(code).toBe('UNAVAILABLE');
  expect(waited).toBeGreaterThanOrEqual(500);
  of(0).holds(true);
  let isRefused = false;
  const third = add().then(() => {
    isRefused = true;
  });
  await Bun.sleep(700);
  expect(isRefused).toBe(false);
  of(0).holds(false);
  const ended = performance.now();
  await third;
  expect(performance.now() - ended).toBeGreaterThanOrEqual(400);
});

test('who was told is not refused for what others did before', async () => {
  const { of } = processes(2);
  let isTaken = true;
  const begun = performance.now();
  const queue = new WriteQueue((batch) => (isTaken ? undefined : batch.map(() => ({ result: 1 }))), 0, of(1));
  const written = queue.add(function* () {}, 'one', Number.POSITIVE_INFINITY).catch((error) => error.code);
  // Longer than it has patience with one of them.
  while (performance.now() - begun < 700) {
    await Bun.sleep(100);
    of(0).done(false);
  }
  isTaken = false;
  expect((await written) as unknown).toBe(1);
  isTaken = true;
  const refused = queue.add(function* () {}, 'one', Number.POSITIVE_INFINITY).catch((error) => error.code);
  expect((await refused) as unknown).toBe('UNAVAILABLE');
});

test('one that takes long hears of its own deadline while the one before it gives way', async () => {
  const { of } = processes(2);
  const queue = new WriteQueue(
    (batch, isAlone) => {
      if (!isAlone) return batch.map(() => 'alone');
      return Promise.resolve(batch.map(() => ({ result: 'written' })));
    },
    1000,
    of(1),
  );
  const withdraw = of(0).wait(() => {}, true);
  const begun = performance.now();
  const add = (ms: number) => queue.add(function* () {}, 'many', begun + ms);
  const first = add(10_000);
  const told = await add(50).catch(({ code }) => [code, performance.now() - begun]);
  // It gives way for as long as it has patience, 1.5 s.
  expect(told).toEqual(['DEADLINE_EXCEEDED', expect.any(Number)] as never);
  expect((told as unknown as number[])[1]).toBeLessThan(1000);
  withdraw();
  expect(await first).toBe('written' as never);
});

test('what takes long gives way until all that was short and waited has been written once, not to what came since', async () => {
  const { of } = processes(3);
  let begun = 0;
  const queue = new WriteQueue(
    (batch, isAlone) => {
      if (!isAlone) return batch.map(() => 'alone');
      begun++;
      return Promise.resolve(batch.map(() => ({ result: 'written' })));
    },
    60_000,
    of(1),
  );
  const add = () => queue.add(function* () {}, 'many', Number.POSITIVE_INFINITY);
  // There is always something.
  of(0).wait(() => {}, true);
  const first = add();
  await Bun.sleep(50);
  of(0).done(false);
  await Bun.sleep(50);
  expect(begun).toBe(0);
  of(0).done(true);
  await first;
  // What waits for another that takes long comes before the next one.
  const second = add();
  of(2).holds(true);
  await Bun.sleep(50);
  of(0).done(true);
  await Bun.sleep(50);
  of(2).holds(false);
  await Bun.sleep(50);
  expect(begun).toBe(1);
  of(0).done(true);
  await second;
});

test('a round is over when all that was left behind has been written, or waited for another', async () => {
  const { of } = processes(2);
  const ahead: boolean[] = [];
  let isThere: (() => boolean) | undefined;
  let isTaken = false;
  const queue = new WriteQueue(
    (batch) => {
      if (isTaken) return undefined;
      if (isThere) ahead.push(isThere());
      return batch.map((_, at) => (at === 0 ? { result: 'written' } : 'again'));
    },
    1000,
    of(1),
  );
  of(1).wait(() => {}, true);
  isThere = of(0).ahead();
  const add = () => queue.add(function* () {}, 'one', Number.POSITIVE_INFINITY);
  await Promise.all([add(), add(), add()]);
  expect([...ahead, isThere()]).toEqual([true, true, true, false]);
  // One is left behind of two when another process takes the file, and a third comes meanwhile.
  const two = [add(), add()];
  await two[0];
  isTaken = true;
  of(0).holds(true);
  await Bun.sleep(60);
  const third = add();
  isThere = of(0).ahead();
  ahead.length = 0;
  isTaken = false;
  of(0).holds(false);
  await Promise.all([...two, third]);
  expect([...ahead, isThere()]).toEqual([true, true, false]);
});

test('others know of what is short and waits for one that takes long, also where it came before that began', async () => {
  const { of } = processes(2);
  let end = () => {};
  let short: Promise<unknown> | undefined;
  const queue = new WriteQueue(
    (batch, isAlone) => {
      if (isAlone) return new Promise((resolve) => (end = () => resolve([{ result: 'written' }])));
      if (batch.every(({ steps }) => steps === 'one')) return batch.map(() => ({ result: 'written' }));
      short = queue.add(function* () {}, 'one', Number.POSITIVE_INFINITY);
      return batch.map(() => 'alone');
    },
    1000,
    of(1),
  );
  const long = queue.add(function* () {}, 'many', Number.POSITIVE_INFINITY);
  for (let tries = 0; tries < 100 && !of(0).areHolding; tries++) await Bun.sleep(1);
  expect([of(0).areHolding, of(0).ahead()()]).toEqual([true, true]);
  end();
  await Promise.all([long, short]);
  expect(of(0).areWaiting).toBe(false);
});

test('what is left behind by what came before it keeps its turn until it is written, or has waited for too long', async () => {
  const { of } = processes(2);
  const seen: boolean[] = [];
  let isBroken = false;
  const queue = new WriteQueue(
    (batch) => {
      seen.push(of(0).ahead()());
      if (isBroken && batch.length === 1) throw new Error('the disk is full');
      return batch.map((_, at) => (at === 0 ? { result: 'written' } : 'again'));
    },
    1000,
    of(1),
  );
  const add = (deadline = Number.POSITIVE_INFINITY) => queue.add(function* () {}, 'one', deadline);
  await Promise.all([add(), add(), add()]);
  expect(seen).toEqual([false, true, true]);
  expect(of(0).areWaiting).toBe(false);
  // It is too late when it would be its turn.
  const [first, second] = [add(), add(performance.now() + 1)];
  await first;
  const until = performance.now() + 2;
  while (performance.now() < until);
  expect(await second.catch(({ code }) => code)).toBe('DEADLINE_EXCEEDED');
  await Bun.sleep(1);
  expect(of(0).areWaiting).toBe(false);
  isBroken = true;
  const told = await Promise.allSettled([add(), add()]);
  expect(told.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect(of(0).areWaiting).toBe(false);
});

test('while it gives way, a queue asks once at a time', async () => {
  let asking = 0;
  let most = 0;
  let gaps = 0;
  let isShortWaiting = true;
  const others = {
    wait() {
      most = Math.max(most, ++asking);
      return () => {
        if (--asking === 0) gaps++;
      };
    },
    done() {},
    holds() {},
    due() {},
    areWaiting: true,
    ahead: () => () => isShortWaiting,
    areHolding: false,
    areDue: false,
  };
  const queue = new WriteQueue(
    (batch, isAlone) => {
      const outcomes = batch.map(({ steps }) =>
        !isAlone && steps === 'many' ? 'alone' : { result: undefined },
      );
      return isAlone ? Promise.resolve(outcomes) : (outcomes as []);
    },
    60_000,
    others,
  );
  const add = (steps: 'one' | 'many') => queue.add(function* () {}, steps, Number.POSITIVE_INFINITY);
  const long = add('many');
  for (let short = 0; short < 20; short++) {
    await add('one');
    await Bun.sleep(2);
  }
  const before = gaps;
  await Bun.sleep(50);
  // There is no moment at which it is not known to wait: the next has asked before the last is withdrawn.
  expect([most, gaps - before]).toEqual([2, 0]);
  isShortWaiting = false;
  await long;
});

test('what is short in other processes waits for whose turn it is of what takes long, but not for ever', async () => {
  const { of } = processes(2);
  const tried: string[] = [];
  const commit: Commit = (batch) => {
    tried.push('short');
    return batch.map(() => ({ result: undefined }));
  };
  const queue = new WriteQueue(commit, 60_000, of(0));
  const add = () => queue.add(function* () {}, 'one', Number.POSITIVE_INFINITY);
  of(1).due(true);
  const held = add();
  await Bun.sleep(20);
  expect([tried, of(1).areWaiting]).toEqual([[], true]);
  of(1).due(false);
  await held;
  // It may have been stopped.
  of(1).due(true);
  await add();
  await add();
  expect(tried).toEqual(['short', 'short', 'short']);
});

test('one that takes long tells when it is its turn, and is told first when the file is free', async () => {
  const { of, wait, told } = processes(3);
  const known: boolean[] = [];
  let isTaken = true;
  const commit: Commit = async (batch, isAlone) => {
    known.push(of(1).areDue);
    if (isAlone && isTaken) return undefined;
    return batch.map(() => (isAlone ? { result: undefined } : 'alone'));
  };
  const queue = new WriteQueue(commit, 60_000, of(0));
  const withdraw = of(1).wait(() => {}, true);
  const long = queue.add(function* () {}, 'many', Number.POSITIVE_INFINITY);
  await Bun.sleep(50);
  // It gives way first.
  expect([known, of(1).areDue]).toEqual([[false], false]);
  withdraw();
  while (known.length < 3) await Bun.sleep(1);
  expect(known.slice(1).every(Boolean)).toBe(true);
  isTaken = false;
  await long;
  expect(of(1).areDue).toBe(false);
  wait(1);
  of(2).due(true);
  wait(2, false);
  of(0).done(true);
  expect(told).toEqual([2]);
});

test('one that fails before it has begun is neither known to be next nor to wait', async () => {
  const { of } = processes(2);
  let isTaken = true;
  const queue = new WriteQueue(
    (batch, isAlone) => {
      if (!isAlone) return batch.map(() => 'alone');
      if (isTaken) return undefined;
      throw new Error('the disk is full');
    },
    60_000,
    of(0),
  );
  const long = queue.add(function* () {}, 'many', Number.POSITIVE_INFINITY);
  for (let tries = 0; tries < 200 && !(of(1).areDue && of(1).areWaiting); tries++) await Bun.sleep(1);
  expect([of(1).areDue, of(1).areWaiting]).toEqual([true, true]);
  isTaken = false;
  expect(await long.catch((error) => error.message)).toBe('the disk is full');
  expect([of(1).areDue, of(1).areWaiting]).toEqual([false, false]);
});

test('it gives way anew to what waits for another that takes long while what is short has its turn here', async () => {
  const { of } = processes(2);
  const done: string[] = [];
  let isTaken = false;
  const queue = new WriteQueue(
    (batch, isAlone) => {
      if (!isAlone && batch.every(({ steps }) => steps === 'many')) return batch.map(() => 'alone');
      if (!isTaken) done.push(isAlone ? 'long' : 'short');
      const outcomes = isTaken ? undefined : batch.map(() => ({ result: undefined }));
      return isAlone ? Promise.resolve(outcomes) : outcomes;
    },
    60_000,
    of(0),
  );
  const add = (steps: 'one' | 'many') => queue.add(function* () {}, steps, Number.POSITIVE_INFINITY);
  const withdrawFirst = of(1).wait(() => {}, true);
  const long = add('many');
  await Bun.sleep(30);
  isTaken = true;
  const short = add('one');
  await Bun.sleep(30);
  // All to which it has given way has been written: it would be its turn, but for the other that begins.
  withdrawFirst();
  of(1).done(true);
  of(1).holds(true);
  await Bun.sleep(50);
  const withdraw = of(1).wait(() => {}, true);
  of(1).holds(false);
  isTaken = false;
  await short;
  await Bun.sleep(50);
  expect(done).toEqual(['short']);
  withdraw();
  await long;
});

test('those who wait have their turns one after the other', () => {
  const { told, of, wait } = processes(4);
  // Nobody waits, and nobody is told.
  of(0).done(false);
  const withdrawals = [0, 2, 3].map((at) => wait(at));
  of(1).done(false);
  of(2).done(false);
  expect(told).toEqual([2, 3]);
  // One that has written meanwhile lets the next go.
  wait(2);
  withdrawals[0]?.();
  of(3).done(false);
  expect(told).toEqual([2, 3, 2]);
  of(2).done(false);
  wait(1);
  of(0).heard({ say: 'go' });
  expect(told).toEqual([2, 3, 2, 1]);
});
