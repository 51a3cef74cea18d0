/** Webhooks as the database has them: what follows the journal for them, and what has become of their deliveries. */

import { all, among, equal, type Filter, not } from '../../query/filter.ts';
import type { Model } from '../../schema/model.ts';
import { changes, jobs, marks, webhooks } from '../../storage/own.ts';
import { type Aggregate, type Row, select } from '../../storage/statements.ts';
import { type Program, run } from '../../storage/storage.ts';
import { type Ended, enqueue, NEVER, type NewJob } from '../jobs/queue.ts';
import type { Positions } from '../journal/positions.ts';
import { wholeChanges } from '../journal/reading.ts';
import { eventIn, eventOf, matches, mayMatchOthers, typesOf } from './events.ts';
import { type Receiver, Undelivered } from './sending.ts';

/** Read at once, for each webhook. */
const PAGE = 50;
/**
 * What is followed in one transaction, of all webhooks together, and twice that at the most: on SQLite all other writers wait for it,
 * and one that takes longer than they have to wait is ended. With much to tell many, it would be ended each time.
 */
const PORTION = 250;
const PORTION_BYTES = 256 * 1024;
/** How many deliveries are told of each. */
const RECENT = 20;
/** For how long changes of types that this node does not know are left to one that does: a new file is rolled out by then. */
const ROLLOUT_MS = 10 * 60_000;
const PREFIX = 'webhook:';
/** Behind all that begin with it. */
const PAST = 'webhook;';

const { id, events, position, disabled, recent } = webhooks.column;
const isInUse: Filter = { is: 'null', column: disabled };

/** Why one is told nothing from the moment on in which a replay was asked for, until what waits is gone. */
export const REPLAYED = 'it is replayed as soon as what waited for it is gone';

/** An attempt to deliver an event. */
export interface Delivery {
  readonly at: string;
  readonly event: string;
  readonly type: string;
  /** The key of the record that it is about; those of an older version have none. */
  readonly record?: string;
  readonly attempt: number;
  readonly result: 'delivered' | 'again' | 'failed';
  /** What the receiver has answered, if it has. */
  readonly status: number | null;
  readonly error: string | null;
}

/** What its jobs are called. */
export function hookOf(webhook: string): string {
  return `${PREFIX}${webhook}`;
}

export function webhookOf(hook: string): string {
  return hook.slice(PREFIX.length);
}

/** The deliveries about one record, which come one after the other. */
export function laneOf(webhook: string, type: string, key: unknown): string {
  return `${hookOf(webhook)} ${type} ${key}`;
}

export interface Known {
  /** Those that are in use, by the names of their jobs. */
  readonly receivers: ReadonlyMap<string, Receiver>;
  /** Those that are to be replayed, and after which position. */
  readonly replayed: ReadonlyMap<string, number>;
  /** Which there are, and why some are told nothing. */
  readonly states: string;
}

export function* allKnown(): Program<Known> {
  const rows = yield* run(
    select(
      webhooks,
      webhooks.columns.filter((column) => column !== recent),
    ),
  );
  const used = rows.filter((row) => row['disabled'] === null);
  const replayed = rows.filter((row) => row['disabled'] === REPLAYED);
  return {
    receivers: new Map(used.map((row) => [hookOf(String(row['id'])), receiverOf(row)])),
    replayed: new Map(replayed.map((row) => [String(row['id']), Number(row['position'])])),
    states: JSON.stringify(rows.map((row) => [row['id'], row['disabled']])),
  };
}

export function receiverOf(row: Row): Receiver {
  const isOldGood = Date.parse(String(row['oldUntil'])) > Date.now();
  return {
    url: String(row['url']),
    secrets: [String(row['secret']), ...(isOldGood ? [String(row['oldSecret'])] : [])],
    allowsPrivate: row['private'] === 1,
  };
}

/** Whether something has happened that one of them is yet to be told of. */
export function* isBehind(model: Model, positions: Positions): Program<boolean> {
  for (const row of yield* run(select(webhooks, [id, events, position], isInUse))) {
    const [lost = [], found = []] = yield [
      select(marks, [marks.key], lostTo(row, model)),
      select(changes, [changes.key], all([ofTypes(row, model), after(positions, row)]), { limit: 1 }),
    ];
    if (lost.length + found.length > 0) return true;
  }
  return false;
}

export interface Followed {
  /** Whether there may be more. */
  readonly hasMoved: boolean;
  /** The webhooks that cannot be told of everything, because it is no longer kept. */
  readonly lost: readonly string[];
  /** The last webhook that it came to: the next time, those behind it come first. */
  readonly last: string | undefined;
}

/**
 * Has the next few changes delivered, beginning behind the webhook that it came to last: one that is far behind keeps no other from
 * being told. Where each stands is moved on in the same transaction, and whoever else follows waits for that: so each change is
 * stored once, and none is left out when a node dies.
 */
export function* follow(model: Model, positions: Positions, after?: string): Program<Followed> {
  const rows = yield* run(select(webhooks, [id, events, position], isInUse, { lock: true }));
  const stored: NewJob[] = [];
  const lost: string[] = [];
  let hasMoved = false;
  let count = 0;
  let bytes = 0;
  let last = after;
  const begin = rows.findIndex((row) => row['id'] === after) + 1;
  for (const row of [...rows.slice(begin), ...rows.slice(0, begin)]) {
    if (count >= PORTION || bytes >= PORTION_BYTES) break;
    const name = String(row['id']);
    last = name;
    const patterns = patternsOf(row);
    const types = typesOf(patterns, model);
    const next = yield* wholeChanges(positions, types, Number(row['position']), PAGE, PORTION_BYTES);
    const furthest = next.at(-1)?.at;
    const end = furthest === undefined ? 0 : yield* foreseen(row, model, positions, furthest);
    const page = next.filter(({ at }) => at < end);
    const dropped = yield* run(select(marks, [marks.column.position], lostTo(row, model)));
    if (dropped.length > 0) lost.push(name);
    const reached = page.at(-1)?.at ?? Math.max(0, ...dropped.map((mark) => Number(mark['position'])));
    if (reached > 0) yield* setWebhook(name, { position: reached });
    hasMoved ||= reached > 0;
    for (const { change, at, length } of page) {
      count++;
      bytes += length;
      const resource = model.byType.get(change.resource);
      if (!resource || !matches(patterns, change)) continue;
      const event = eventOf(resource, change);
      const lane = laneOf(name, change.resource, change.key);
      stored.push({ hook: hookOf(name), lane, version: at, given: { event }, path: [] });
    }
  }
  if (stored.length > 0) yield* enqueue(stored);
  return { hasMoved, lost, last };
}

export function patternsOf(row: Row): string[] {
  return JSON.parse(String(row['events']));
}

function tablesOf(row: Row, model: Model): string[] {
  return typesOf(patternsOf(row), model).map(({ table }) => table);
}

function ofTypes(row: Row, model: Model): Filter {
  return among(changes.column.table, tablesOf(row, model));
}

function after({ column }: Positions, row: Row): Filter {
  return { is: 'gt', column, value: row['position'] };
}

/**
 * Up to where this node knows all that a webhook is to be told of. It is looked no further than at what is told next: one that is
 * behind may have any number of changes before it, and mostly there are none of types that are not known.
 */
function* foreseen(row: Row, model: Model, positions: Positions, last: number): Program<number> {
  if (!mayMatchOthers(patternsOf(row), model)) return Number.POSITIVE_INFINITY;
  const { column } = positions;
  const known = typesOf(['*'], model).map(({ table }) => table);
  const where = all([
    after(positions, row),
    { is: 'lte', column, value: last },
    not(among(changes.column.table, known)),
    { is: 'gt', column: changes.column.at, value: new Date(Date.now() - ROLLOUT_MS).toISOString() },
  ]);
  const order = [{ column, descending: false }];
  const [first] = yield* run(select(changes, [column], where, { order, limit: 1 }));
  return Number(first?.[column.name] ?? Number.POSITIVE_INFINITY);
}

/** The types of which there were changes after its position that are no longer kept. */
function lostTo(row: Row, model: Model): Filter {
  return all([
    among(marks.key, tablesOf(row, model)),
    { is: 'gt', column: marks.column.position, value: row['position'] },
  ]);
}

export function* setWebhook(webhook: string, values: Row): Program<void> {
  const where = equal(id, webhook);
  yield* run({ do: 'update', resource: webhooks, set: values, where, counts: false, isSilent: true });
}

/** What has become of deliveries. Receivers that want no more are disabled. */
export function* note(ended: readonly Ended[]): Program<void> {
  const byHook = Map.groupBy(
    ended.filter(({ isReturned }) => !isReturned),
    ({ job }) => job.hook,
  );
  const names = [...byHook.keys()].map(webhookOf);
  const rows = yield* run(select(webhooks, [id, recent, position], among(id, names), { lock: true }));
  for (const row of rows) {
    const name = String(row['id']);
    const own = byHook.get(hookOf(name)) ?? [];
    const told = [...own.map(deliveryOf).reverse(), ...JSON.parse(String(row['recent']))];
    yield* setWebhook(name, { recent: JSON.stringify(told.slice(0, RECENT)) });
    const refused = own.filter(({ outcome }) => outcome instanceof Undelivered && outcome.isGone);
    if (refused.length > 0) yield* disable(row, refused);
  }
}

function deliveryOf({ job, error, pause, outcome }: Ended): Delivery {
  const { id: event, type, subject } = eventIn(job.given);
  const status = outcome instanceof Undelivered ? (outcome.status ?? null) : outcome;
  return {
    at: new Date().toISOString(),
    event,
    type,
    ...(subject !== undefined && { record: subject }),
    attempt: job.attempt,
    result: error === undefined ? 'delivered' : pause === undefined ? 'failed' : 'again',
    status: typeof status === 'number' ? status : null,
    error: error ?? null,
  };
}

/** It stands again before what it has refused; the others that wait for it are taken away later, since there may be many. */
function* disable(row: Row, refused: readonly Ended[]): Program<void> {
  const { key, column } = jobs;
  const these = among(
    key,
    refused.map(({ job }) => job.id),
  );
  const versions = yield* run(select(jobs, [column.version], these));
  yield* run({ do: 'delete', resource: jobs, where: these });
  const reached = Math.min(Number(row['position']), ...versions.map(({ version }) => Number(version) - 1));
  yield* setWebhook(String(row['id']), { disabled: String(refused[0]?.error), position: reached });
}

/** The deliveries that are still to be made. */
export function waitingOf(hooks: readonly string[]): Filter {
  return all([among(jobs.column.hook, hooks), { is: 'lt', column: jobs.column.due, value: NEVER }]);
}

/** The position that the first of them tells of. */
export function* firstWaiting(hook: string): Program<number | undefined> {
  const { first } = yield* ofWaiting([hook], [{ as: 'first', of: 'min', column: jobs.column.version }]);
  return first === null ? undefined : Number(first);
}

/** The name of the first webhook behind another that there are jobs for. */
export function* nextWithJobs(after: string): Program<string | undefined> {
  const { hook } = jobs.column;
  const where = all([
    { is: 'gt', column: hook, value: hookOf(after) },
    { is: 'lt', column: hook, value: PAST },
  ]);
  const order = [{ column: hook, descending: false }];
  const [row] = yield* run(select(jobs, [hook], where, { order, limit: 1 }));
  return row && webhookOf(String(row['hook']));
}

/** How many there are, and since when the oldest of them waits. */
export function* countWaiting(hooks: readonly string[]): Program<{ count: number; since: number | null }> {
  const { count, since } = yield* ofWaiting(hooks, [
    { as: 'count', of: 'count', column: undefined },
    { as: 'since', of: 'min', column: jobs.column.at },
  ]);
  return { count: Number(count), since: typeof since === 'string' ? Date.parse(since) : null };
}

function* ofWaiting(hooks: readonly string[], measures: Aggregate['measures']): Program<Row> {
  const [row] = yield* run({
    do: 'aggregate',
    resource: jobs,
    where: waitingOf(hooks),
    by: [],
    measures,
    having: undefined,
    order: [],
    limit: undefined,
    offset: 0,
    most: undefined,
    bytes: undefined,
  });
  return row as Row;
}
