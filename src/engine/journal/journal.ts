/** The journal: every change of the types that ask for it, written with the change itself, kept for as long as they say. */

import { all, among, equal, type Filter } from '../../query/filter.ts';
import type { Model, Resource } from '../../schema/model.ts';
import { changes, marks, newChanges } from '../../storage/own.ts';
import { type Insert, type Row, select } from '../../storage/statements.ts';
import { insertAll, type Program, run, type Storage } from '../../storage/storage.ts';
import { type AnswerLimits, type Budget, UNLIMITED } from '../budget.ts';
import type { Caller } from '../caller.ts';
import type { Permitted } from '../policy/permitted.ts';
import type { Change, Watcher } from '../write/changes.ts';
import type { ChangesRead } from './changes-operation.ts';
import { Feed } from './feed.ts';
import { imageOf } from './images.ts';
import { Live } from './live.ts';
import { addChanges } from './own-changes.ts';
import { Positions } from './positions.ts';
import { type ChangesPage, readChanges } from './reading.ts';

/** After so many changes, whoever has written them gives positions to them, and drops what is too old. */
const SWEEP_EVERY = 256;
/** More than come meanwhile, and few enough that nobody notices. */
const SWEPT = 4 * SWEEP_EVERY;
const SWEEP_MS = 60_000;
const PATIENCE_MS = 10_000;

export class Journal implements Watcher {
  /** Not the one that knows for whom it reads: replicas may be behind what is to be shown. */
  readonly storage: Storage;
  /** The same for what requests ask for, whose statements are counted. */
  readonly asked: Storage;
  readonly positions: Positions;
  /** Those who listen. */
  readonly feed: Feed;
  /** Called when something was committed here. */
  onCommit: (() => void) | undefined;
  readonly live: Live;
  readonly #kept: readonly Resource[];
  #since = 0;

  constructor(
    storage: Storage,
    { resources }: Model,
    limits: AnswerLimits = UNLIMITED,
    concurrency = 1,
    notice: (message: string) => void = () => {},
    asked = storage,
  ) {
    this.storage = storage;
    this.asked = asked;
    this.positions = new Positions(storage);
    this.feed = new Feed(storage, this.positions, limits, concurrency);
    const { feed, positions } = this;
    this.live = new Live({ feed, positions, resources, concurrency, longest: limits.bytes, notice });
    this.#kept = resources.filter(({ journal }) => journal?.keepMs !== undefined);
  }

  wants({ journal }: Resource): boolean {
    return journal !== undefined;
  }

  record(made: readonly Change[], caller: Caller, requestId?: string): Program<void> {
    return insertAll(newChanges, made, rowsOf(caller, requestId));
  }

  created(resource: Resource, caller: Caller, requestId?: string): Insert['change'] {
    if (!this.storage.insertsChanges) return undefined;
    const rowOf = rowsOf(caller, requestId);
    return (after) => rowOf({ resource, kind: 'CREATED', before: undefined, after, version: 1 });
  }

  committed({ length }: readonly Change[]): void {
    this.feed.wake();
    this.onCommit?.();
    this.#since += length;
    if (this.#since < SWEEP_EVERY) return;
    this.#since = 0;
    this.#sweepSoon();
  }

  read(operation: Permitted<ChangesRead>, budget: Budget): Program<ChangesPage> {
    return readChanges(this.positions, operation, budget);
  }

  readonly addChanges: NonNullable<AnswerLimits['addChanges']> = (wanted, rows, budget, times) =>
    addChanges(this.positions, wanted, rows, budget, times);

  /** Drops what is too old also while nobody writes, until it is told to stop. */
  watch(stopped: AbortSignal): void {
    const timer = setInterval(() => this.#sweepSoon(), SWEEP_MS);
    timer.unref();
    stopped.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  /** Takes what a record was out of its changes; answers with how many there were. */
  async erase({ table }: Resource, key: string): Promise<number> {
    const { table: of, key: record } = changes.column;
    let erased = 0;
    for (;;) {
      const done = await this.storage.write(
        () => this.#erase(all([equal(of, table), equal(record, key)])),
        'many',
        performance.now() + PATIENCE_MS,
      );
      erased += done;
      if (done < SWEPT) return erased;
    }
  }

  *#erase(own: Filter): Program<number> {
    const { sequence, before, after } = changes.column;
    const hasImage: Filter = {
      is: 'not',
      of: all([
        { is: 'null', column: before },
        { is: 'null', column: after },
      ]),
    };
    const order = [{ column: sequence, descending: false }];
    const rows = yield* run(select(changes, [sequence], all([own, hasImage]), { order, limit: SWEPT }));
    const gone = rows.map((row) => ({ sequence: row['sequence'], before: null, after: null }));
    if (gone.length > 0)
      yield* run({ do: 'update all', resource: changes, columns: [before, after], rows: gone });
    return gone.length;
  }

  /** Nobody waits for it: what fails now is tried again. */
  #sweepSoon(): void {
    this.sweep().catch(() => {});
  }

  async sweep(now = Date.now()): Promise<void> {
    await this.positions.ready();
    for (const resource of this.#kept) {
      const before = new Date(now - (resource.journal?.keepMs ?? 0)).toISOString();
      const deadline = performance.now() + PATIENCE_MS;
      while (performance.now() < deadline) {
        const dropped = await this.storage.write(() => this.#drop(resource, before), 'many', deadline);
        if (dropped < SWEPT) break;
      }
    }
  }

  /** The oldest, and notes up to where: who goes on from before then is told so. Answers with how many there were. */
  *#drop({ table }: Resource, before: string): Program<number> {
    const { column } = this.positions;
    const { sequence, at } = changes.column;
    const isStamped: Filter = { is: 'not', of: { is: 'null', column } };
    const order = [{ column, descending: false }];
    const where = all([equal(changes.column.table, table), isStamped]);
    const oldest = (limit: number) =>
      run(select(changes, [...new Set([sequence, column, at])], where, { order, limit }));
    // Mostly not even the oldest is too old.
    const [first] = yield* oldest(1);
    if (!first || String(first['at']) >= before) return 0;
    const rows = yield* oldest(SWEPT);
    const old: Row[] = [];
    for (const row of rows) {
      if (String(row['at']) >= before) break;
      old.push(row);
    }
    const last = old.at(-1);
    if (!last) return 0;
    const keys = old.map((row) => row['sequence']);
    yield* run({ do: 'delete', resource: changes, where: among(sequence, keys) });
    yield* run({
      do: 'upsert',
      resource: marks,
      values: { table, position: last[column.name], secret: null },
      conflict: marks.primary,
      set: [marks.column.position],
    });
    return old.length;
  }
}

/** The rows of one transaction. */
function rowsOf({ subject }: Caller, requestId: string | undefined): (change: Omit<Change, 'path'>) => Row {
  const transaction = Bun.randomUUIDv7();
  const at = new Date().toISOString();
  return ({ resource, kind, before, after, version }) => ({
    at,
    kind,
    table: resource.table,
    key: String((after ?? before)?.[resource.key.name]),
    version,
    caller: subject ?? null,
    requestId: requestId ?? null,
    transaction,
    before: imageOf(resource, before),
    after: imageOf(resource, after),
  });
}
