/** What is written → the jobs of the functions that are to run after it. */

import { DEEPEST } from '../logic/functions.ts';
import type { Logic } from '../logic/logic.ts';
import type { AfterName } from '../logic/outside.ts';
import type { Change, Watcher } from '../write/changes.ts';
import { enqueue, type NewJob } from './queue.ts';

const names: Readonly<Record<Change['kind'], AfterName>> = {
  CREATED: 'afterCreate',
  UPDATED: 'afterUpdate',
  DELETED: 'afterDelete',
};

/** `wake`: called when there are new jobs. */
export function afterHooks({ after }: Logic, wake: () => void): Watcher {
  const jobsOf = (changes: readonly Change[]) =>
    changes.flatMap(({ resource, kind, before, after: stored, version, path }): NewJob[] => {
      const name = names[kind];
      if (!after.get(resource)?.[name]) return [];
      const hook = `${resource.name}.${name}`;
      const led = [...path, hook];
      if (led.length > DEEPEST)
        throw new Error(`functions lead to each other more than ${DEEPEST} deep: ${led.join(' → ')}`);
      const record = stored ?? before ?? {};
      const lane = `${hook} ${record[resource.key.name]}`;
      return [{ hook, lane, version, given: { record, before: before ?? null }, path: led }];
    });
  return {
    wants: (resource) => after.has(resource),
    *record(changes) {
      const jobs = jobsOf(changes);
      if (jobs.length > 0) yield* enqueue(jobs);
    },
    committed: wake,
  };
}
