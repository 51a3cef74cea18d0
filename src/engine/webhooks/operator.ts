/** What an operator can know of webhooks and do about them: the `duet webhook` command, and whoever else lets one ask. */

import { DuetError, type Fault, isFull, validationFailed } from '../../base/errors.ts';
import { jsonOf } from '../../base/passed.ts';
import { all, among, equal, type Filter } from '../../query/filter.ts';
import type { Model, Resource } from '../../schema/model.ts';
import { jobs, marks, webhooks } from '../../storage/own.ts';
import { type Row, select } from '../../storage/statements.ts';
import { type Program, run } from '../../storage/storage.ts';
import type { Journal } from '../journal/journal.ts';
import { allowedAddresses, NotAllowed } from './addresses.ts';
import { eventWithout, faultOf, testEvent, typesOf } from './events.ts';
import { newSecret, send, Undelivered } from './sending.ts';
import {
  countWaiting,
  type Delivery,
  hookOf,
  laneOf,
  patternsOf,
  REPLAYED,
  receiverOf,
  setWebhook,
} from './stored.ts';

/** For how long the secret before signs too. */
const BOTH_MS = 24 * 3_600_000;
const PATIENCE_MS = 30_000;
const ID_BYTES = 8;
const ID = /^wh_[0-9a-f]+$/;
const LONGEST_URL = 2_000;

const { id } = webhooks.column;

export interface WebhookEntry {
  readonly id: string;
  /** Without its query, which may hold a secret. */
  readonly url: string;
  readonly on: readonly string[];
  readonly allowsPrivate: boolean;
  readonly at: string;
  /** Why it is told nothing any more. */
  readonly disabled: string | null;
  /** Until when the secret before signs too. */
  readonly rotatesUntil: string | null;
  /** What it was told of, or is about to be; `replay` goes on from here. */
  readonly position: string;
  /** How many deliveries are still to be made, and since when the oldest of them waits. */
  readonly waiting: number;
  readonly waitsSince: string | null;
  /** The newest first. */
  readonly deliveries: readonly Delivery[];
}

/** The oldest first; no secrets are told. */
export async function listWebhooks(journal: Journal): Promise<WebhookEntry[]> {
  const { positions } = journal;
  await positions.ready();
  return reading(journal, function* () {
    const rows = yield* run(select(webhooks, webhooks.columns));
    const entries: WebhookEntry[] = [];
    for (const row of rows) {
      const { count, since } = yield* countWaiting([hookOf(String(row['id']))]);
      const { origin, pathname, search } = new URL(String(row['url']));
      const { secrets, allowsPrivate } = receiverOf(row);
      entries.push({
        id: String(row['id']),
        url: `${origin}${pathname}${search === '' ? '' : '?…'}`,
        on: patternsOf(row),
        allowsPrivate,
        at: String(row['at']),
        disabled: row['disabled'] as string | null,
        rotatesUntil: secrets.length > 1 ? String(row['oldUntil']) : null,
        position: positions.textOf({ at: Number(row['position']), past: 0 }),
        waiting: count,
        waitsSince: since === null ? null : new Date(since).toISOString(),
        deliveries: JSON.parse(String(row['recent'])),
      });
    }
    return entries.sort((one, other) => (one.at < other.at ? -1 : 1));
  });
}

export interface NewWebhook {
  readonly url: string;
  readonly on: readonly string[];
  readonly allowsPrivate: boolean;
}

/** Tells it of what is committed from now on. The secret is not told again. */
export async function addWebhook(
  journal: Journal,
  model: Model,
  { url, on, allowsPrivate }: NewWebhook,
): Promise<{ readonly id: string; readonly secret: string }> {
  const { positions } = journal;
  await refuseUnsound(url, on, allowsPrivate, model);
  await positions.ready();
  const made = { id: `wh_${hex(ID_BYTES)}`, secret: newSecret() };
  await writing(journal, function* (): Program<void> {
    const position = yield* positions.now();
    const row = {
      ...made,
      url,
      events: JSON.stringify([...new Set(on)]),
      oldSecret: null,
      oldUntil: null,
      private: allowsPrivate ? 1 : 0,
      position,
      disabled: null,
      recent: '[]',
      at: new Date().toISOString(),
    };
    yield* run({ do: 'insert all', resource: webhooks, rows: [row] });
  });
  return made;
}

async function refuseUnsound(
  url: string,
  on: readonly string[],
  allowsPrivate: boolean,
  model: Model,
): Promise<void> {
  const faults: Fault[] = [];
  for (const pattern of new Set(on)) {
    if (isFull(faults)) break;
    const detail = faultOf(pattern, model);
    if (detail !== undefined) faults.push({ parameter: 'on', code: 'FORMAT', detail });
  }
  if (on.length === 0)
    faults.push({ parameter: 'on', code: 'REQUIRED', detail: 'say what to tell of, such as Book.created' });
  const fault = await faultOfUrl(url, allowsPrivate);
  if (fault !== undefined) faults.push({ parameter: 'url', code: 'FORMAT', detail: fault });
  if (faults.length > 0) throw validationFailed(faults);
}

/** Where it leads is looked at again with each connection: here it is only the earlier answer. */
async function faultOfUrl(text: string, allowsPrivate: boolean): Promise<string | undefined> {
  if (text.length > LONGEST_URL)
    return `the URL must have ${LONGEST_URL} characters at the most: let a short path of the receiver stand for the rest`;
  // The URL parser would drop some of them: what is stored is to be what is called.
  if (/\p{Cc}/u.test(text))
    return 'the URL must have no control characters, such as a line break: leave them out, or write %0A';
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) return `"${text}" must be https://…`;
  if (url.protocol === 'http:' && !allowsPrivate)
    return 'the URL must be https, unless you say that the receiver is inside this network: whoever sits on the way could read all of it';
  if (url.username !== '' || url.password !== '')
    return 'the URL must have no user and password: the signature tells who sends';
  try {
    await allowedAddresses(url, allowsPrivate);
  } catch (error) {
    // A name that is not there yet may come.
    if (error instanceof NotAllowed) return error.message;
  }
  return undefined;
}

/** What it is still to be told of goes too, soon after. */
export async function removeWebhook(journal: Journal, webhook: string): Promise<void> {
  await writing(journal, function* () {
    yield* found(webhook);
    yield* run({ do: 'delete', resource: webhooks, where: equal(id, webhook) });
  });
}

/** Gives it a new secret, which is not told again. The one before signs too for a day, and no longer when it is done again. */
export async function rotateWebhook(journal: Journal, webhook: string): Promise<{ readonly secret: string }> {
  const secret = newSecret();
  await writing(journal, function* () {
    const row = yield* found(webhook);
    const oldUntil = new Date(Date.now() + BOTH_MS).toISOString();
    yield* setWebhook(webhook, { secret, oldSecret: row['secret'], oldUntil });
  });
  return { secret };
}

/** Sends an event that tells of nothing, at once and once; answers with how that went. */
export async function testWebhook(
  journal: Journal,
  webhook: string,
  timeout: number,
): Promise<{ readonly status: number | null; readonly error: string | null }> {
  const row = await reading(journal, () => found(webhook, false));
  const signal = AbortSignal.timeout(timeout);
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Undelivered(`it took longer than ${timeout} ms`)));
  });
  try {
    return { status: await Promise.race([send(receiverOf(row), testEvent(), 1, signal), late]), error: null };
  } catch (error) {
    if (!(error instanceof Undelivered)) throw error;
    return { status: error.status ?? null, error: error.message };
  }
}

/**
 * Tells it again of everything after a position, in order; one that was disabled is in use again. What waits is first taken away by the
 * service: there may be much, and nobody has to wait for that.
 */
export async function replayWebhook(
  journal: Journal,
  model: Model,
  webhook: string,
  after: string,
): Promise<void> {
  const { positions } = journal;
  await positions.ready();
  const place = positions.placeOf(after);
  if (!place)
    throw refused(`"${after}" is no position. Take it from a change, an event or \`duet webhook list\``);
  await writing(journal, function* () {
    const row = yield* found(webhook);
    const tables = typesOf(patternsOf(row), model).map(({ table }) => table);
    const isPast: Filter = { is: 'gt', column: marks.column.position, value: place.at };
    const lost = yield* run(select(marks, [marks.key], all([among(marks.key, tables), isPast])));
    if (lost.length > 0) throw refused('changes since this position are no longer kept: give a later one');
    if (place.at > Number(row['position']))
      throw refused('this position is yet to come: what is after it was not told before');
    yield* setWebhook(webhook, { position: place.at, disabled: REPLAYED });
  });
}

/**
 * Takes what a record was out of the deliveries that are still to be made, one by one: there may be many, and each has all of the
 * record twice.
 */
export async function eraseDeliveries(journal: Journal, { name }: Resource, key: string): Promise<void> {
  const { id: job, lane, given } = jobs.column;
  const waiting = await reading(journal, function* () {
    const all = yield* run(select(webhooks, [id]));
    const lanes = all.map((row) => laneOf(String(row['id']), name, key));
    return yield* run(select(jobs, [job], among(lane, lanes)));
  });
  for (const { id: each } of waiting)
    await writing(journal, function* () {
      const where = equal(job, each);
      const [row] = yield* run(select(jobs, [given], where, { lock: true }));
      // It may have been made meanwhile.
      if (!row) return;
      const values = { given: jsonOf({ event: eventWithout(String(row['given'])) }) };
      yield* run({ do: 'update', resource: jobs, set: values, where, counts: false, isSilent: true });
    });
}

function* found(webhook: string, lock = true): Program<Row> {
  // Others name none; there are texts that no database takes.
  const rows = ID.test(webhook)
    ? yield* run(select(webhooks, webhooks.columns, equal(id, webhook), { lock }))
    : [];
  const [row] = rows;
  if (!row) throw new DuetError('NOT_FOUND', `There is no webhook "${webhook}".`);
  return row;
}

function refused(detail: string): DuetError {
  return validationFailed([{ parameter: 'after', code: 'CURSOR', detail }]);
}

function hex(bytes: number): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString('hex');
}

async function reading<T>({ asked }: Journal, program: () => Program<T>): Promise<T> {
  return asked.read(program, 'many', performance.now() + PATIENCE_MS);
}

function writing<T>({ asked }: Journal, program: () => Program<T>): Promise<T> {
  return asked.write(program, 'many', performance.now() + PATIENCE_MS);
}
