/** All that functions of a deployment do outside of transactions, by themselves: after-hooks and schedules. */

import type { Observe } from '../../base/observe.ts';
import type { Row } from '../../storage/statements.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Api } from '../logic/api.ts';
import type { Logic } from '../logic/logic.ts';
import type { Outside } from '../logic/outside.ts';
import type { Watcher } from '../write/changes.ts';
import { afterHooks } from './after.ts';
import { Clockwork } from './clockwork.ts';
import { MOST_ATTEMPTS } from './queue.ts';
import { JobRunner, pauseAfter } from './runner.ts';

export interface Jobs {
  readonly watcher: Watcher;
  readonly runner: JobRunner<Outside>;
  start(): void;
  stop(): Promise<void>;
}

/** Undefined where there are none: then nobody looks for any. */
export function jobsOf(
  logic: Logic,
  storage: Storage,
  api: (path: readonly string[]) => Api,
  observe: Observe,
): Jobs | undefined {
  const hooks = new Map<string, Outside>(logic.schedules.map((each) => [each.name, each]));
  for (const [{ name: type }, functions] of logic.after)
    for (const [name, each] of Object.entries(functions)) hooks.set(`${type}.${name}`, each);
  if (hooks.size === 0) return undefined;
  const runner = new JobRunner({
    storage,
    hooks,
    retries: { most: MOST_ATTEMPTS, pauseAfter },
    observe,
    async run({ run }, { given, path }, context) {
      await run({ ...(given.value as Row), ...context, api: api(path) });
    },
  });
  const clockwork = new Clockwork(storage, logic.schedules, runner.wake, observe);
  return {
    watcher: afterHooks(logic, runner.wake),
    runner,
    start() {
      runner.start();
      clockwork.start();
    },
    async stop() {
      await clockwork.stop();
      await runner.stop();
    },
  };
}
