/** Slots of schedules: once, whatever a node has read before another was faster. */

import { expect, test } from 'bun:test';
import { dueSlots, turn } from '../../src/engine/jobs/queue.ts';
import { equal } from '../../src/query/filter.ts';
import { schedules } from '../../src/storage/own.ts';
import type { Row } from '../../src/storage/statements.ts';
import { type Program, run, type Storage } from '../../src/storage/storage.ts';
import { databases, openApp } from '../app.ts';

const YEAR = 365 * 86_400_000;
const slots = [{ name: 'nightly', cron: '0 3 * * *', after: (moment: number) => moment + YEAR }];

/** The same program, which sees the schedules as they were. */
function* late(known: readonly Row[]): Program<number> {
  const program = dueSlots(slots);
  let step = program.next();
  while (!step.done) {
    const [first] = step.value;
    const rows = yield step.value;
    const isLook = first?.do === 'select' && first.resource === schedules;
    step = program.next(isLook ? [[...known]] : rows);
  }
  return step.value;
}

test.each([...databases])(
  'on %s, a node that has looked before another ran a slot does not run it again',
  async (database) => {
    let storage: Storage | undefined;
    const around = (opened: Storage) => {
      storage = opened;
      return opened;
    };
    const app = await openApp(database, { sdl: 'type A @resource { id: ID! }', around });
    const write = <T>(program: () => Program<T>) =>
      (storage as Storage).write(program, 'many', performance.now() + 30_000);
    expect(await write(() => dueSlots(slots))).toBe(0);
    const where = equal(schedules.key, 'nightly');
    const known = await write(() =>
      run({ do: 'update', resource: schedules, set: { next: 60_000 }, where, counts: false }),
    );
    expect(await write(() => dueSlots(slots))).toBe(1);
    const [job] = await write(() =>
      turn('one', [], { each: new Map([['nightly', 9]]), jobs: 9, given: 9_999 }),
    );
    if (job) await write(() => turn('one', [{ job }], { each: new Map(), jobs: 0, given: 0 }));
    expect(job?.given.value).toEqual({ slot: '1970-01-01T00:01:00.000Z' });
    expect(await write(() => late(known))).toBe(0);
    await app.close();
  },
);
