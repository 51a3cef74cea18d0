/** `duet recompute Order.total`: makes a stored computed field anew in all records, after its function has changed. */

import { faulting, openDeployment, StartFault } from '../../app/deployment.ts';
import { readFiles } from '../../app/logic.ts';
import type { Observe } from '../../base/observe.ts';
import type { Config } from '../../config/config.ts';
import { anonymous } from '../../engine/caller.ts';
import { Journal } from '../../engine/journal/journal.ts';
import type { Change } from '../../engine/write/changes.ts';
import { recomputePage } from '../../engine/write/recompute.ts';
import type { Place } from '../../query/order.ts';
import type { Computed, Model, Resource } from '../../schema/model.ts';
import { didYouMean } from '../../schema/suggest.ts';
import { whyNotUnique } from '../../storage/evolve/foreseen.ts';
import { NotUnique } from '../../storage/faults.ts';
import { type Audience, Progress } from '../progress.ts';

/** A page is a transaction of its own. */
const PAGE_MS = 60_000;

/** In batches: whoever reads and writes meanwhile waits for one of them at the most. */
export async function recompute(
  name: string,
  config: Config,
  observe: Observe,
  { print, audience }: { readonly print: (line: string) => void; readonly audience: Audience },
): Promise<void> {
  const { model } = await readFiles(config);
  const { resource, computed } = fieldOf(model, name);
  const { database } = await openDeployment(config, observe, { model });
  const journal = resource.journal && new Journal(database, model);
  const record = journal && ((changes: readonly Change[]) => journal.record(changes, anonymous));
  const progress = new Progress(audience, (done) => `looked at ${done} records`);
  try {
    let [read, changed] = [0, 0];
    let after: Place | undefined;
    do {
      const page = await faulting(() => {
        const from = after;
        const deadline = performance.now() + PAGE_MS;
        const page = database.write(() => recomputePage(resource, computed, from, record), 'many', deadline);
        return page.catch(async (error) => {
          if (!(error instanceof NotUnique)) throw error;
          throw new StartFault(await database.read(() => whyNotUnique(resource, computed), 'many', deadline));
        });
      });
      after = page.after;
      read += page.read;
      changed += page.changed;
      progress.reached(read);
    } while (after);
    progress.done(read);
    print(`${name}: ${changed} of ${read} records had another value`);
  } finally {
    await database.close();
  }
}

function fieldOf(
  { resources }: Model,
  name: string,
): { readonly resource: Resource; readonly computed: Computed } {
  const known = new Map(
    resources.flatMap((resource) =>
      resource.recomputed.map((computed) => [
        `${resource.name}.${computed.column.name}`,
        { resource, computed },
      ]),
    ),
  );
  const found = known.get(name);
  if (found) return found;
  const cure = didYouMean(name, known.keys()) || ` There are: ${[...known.keys()].join(', ') || 'none'}.`;
  throw new StartFault(`"${name}" is no field with @computed(…, stored: true).${cure}`);
}
