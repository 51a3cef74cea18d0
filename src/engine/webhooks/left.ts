/** What waits for webhooks that are disabled, removed or replayed: it is taken away, and where they stand in the journal is kept. */

import { all, equal, type Filter } from '../../query/filter.ts';
import { jobs, webhooks } from '../../storage/own.ts';
import { type Row, select } from '../../storage/statements.ts';
import { type Program, run, type Storage } from '../../storage/storage.ts';
import { discard } from '../jobs/portions.ts';
import { firstWaiting, hookOf, nextWithJobs, REPLAYED, setWebhook, waitingOf } from './stored.ts';

const PATIENCE_MS = 30_000;
const { id, disabled, position } = webhooks.column;

/** Everybody may do it at the same time: each portion goes once. */
export async function discardLeft(
  storage: Storage,
  replayed: ReadonlyMap<string, number>,
  isStopped: () => boolean,
): Promise<void> {
  const read = <T>(program: () => Program<T>) =>
    storage.read(program, 'many', performance.now() + PATIENCE_MS);
  for (const [webhook, after] of replayed) await beginReplay(storage, webhook, after, isStopped);
  let name: string | undefined = '';
  while (!isStopped()) {
    const after: string = name;
    name = await read(() => nextWithJobs(after));
    if (name === undefined) return;
    const webhook = name;
    const hook = hookOf(webhook);
    const row = await read(() => stored(webhook));
    if (row && !isOver(row)) continue;
    const first = await read(() => firstWaiting(hook));
    await discard(storage, row ? waitingOf([hook]) : equal(jobs.column.hook, hook), {
      *mayGo() {
        return !isStopped() && (!row || (yield* stepBack(webhook, first)));
      },
    });
  }
}

/** What waits, or has failed, is told again with the rest; what is under way goes on. */
async function beginReplay(
  storage: Storage,
  webhook: string,
  after: number,
  isStopped: () => boolean,
): Promise<void> {
  const isFree: Filter = { is: 'null', column: jobs.column.holder };
  const isAfter: Filter = { is: 'gt', column: jobs.column.version, value: after };
  const again = all([equal(jobs.column.hook, hookOf(webhook)), isAfter, isFree]);
  const isWanted = function* (): Program<boolean> {
    const row = yield* stored(webhook, true);
    return !isStopped() && row?.['disabled'] === REPLAYED && Number(row['position']) === after;
  };
  await discard(storage, again, { still: isFree, mayGo: isWanted });
  await storage.write(
    function* () {
      if (yield* isWanted()) yield* setWebhook(webhook, { disabled: null });
    },
    'many',
    performance.now() + PATIENCE_MS,
  );
}

/**
 * It stands again where the first of its deliveries did that was not made: a replay from there misses nothing. That is noted before
 * any of them is gone; where it is in use again by now, none goes.
 */
function* stepBack(webhook: string, first: number | undefined): Program<boolean> {
  const row = yield* stored(webhook, true);
  if (!row || !isOver(row) || first === undefined) return false;
  if (Number(row['position']) >= first) yield* setWebhook(webhook, { position: first - 1 });
  return true;
}

function isOver(row: Row): boolean {
  return row['disabled'] !== null && row['disabled'] !== REPLAYED;
}

function* stored(webhook: string, lock = false): Program<Row | undefined> {
  const [row] = yield* run(select(webhooks, [disabled, position], equal(id, webhook), { lock }));
  return row;
}
