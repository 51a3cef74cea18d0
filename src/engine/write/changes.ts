/** What a transaction has written, record by record; whoever watches a type may add statements to the same transaction. */

import { DuetError } from '../../base/errors.ts';
import type { Filter } from '../../query/filter.ts';
import type { Model, Resource } from '../../schema/model.ts';
import { storedColumns } from '../../schema/values.ts';
import { type Insert, type Row, select } from '../../storage/statements.ts';
import { type Program, run } from '../../storage/storage.ts';
import { isTooMuch } from '../budget.ts';
import type { Caller } from '../caller.ts';
import { bytesOfJson, inSteps } from '../sizes.ts';

export interface Change {
  readonly resource: Resource;
  readonly kind: 'CREATED' | 'UPDATED' | 'DELETED';
  /** The record's own columns, its version too, in the values that statements answer with. */
  readonly before: Row | undefined;
  readonly after: Row | undefined;
  /** The record's new version; of one that was deleted, its last. */
  readonly version: number;
  /** The functions of the deployment that have led to it, the outermost first. */
  readonly path: readonly string[];
}

/**
 * Whoever wants to know of every record that is written, whichever way, is given to the Engine as one of its `Watchers`. What
 * nobody wants costs nothing: without watchers `access.changes` is undefined, and where none of them wants a type, `wants` says
 * no, so that nothing is read or copied for it. Whatever writes a record tells `access.changes` of it.
 */
export interface Watcher {
  /** Whose records it wants to know of; asked once for each type, when the application is made. */
  wants(resource: Resource): boolean;
  /**
   * Asked at the end of a transaction that has written such records, with all of them in the order of their statements: what
   * it yields is durable together with them, and if it throws, nothing has happened. A transaction that is run again asks again.
   */
  record(changes: readonly Change[], caller: Caller, requestId: string | undefined): Program<void>;
  /**
   * The same of a new record, in its first version and the only change of its transaction, for the statement that inserts it;
   * undefined where it takes another one.
   */
  created?(resource: Resource, caller: Caller, requestId: string | undefined): Insert['change'];
  /** Told of the same changes when they are durable. */
  committed?(changes: readonly Change[]): void;
}

/** All that watch, each with the types that it wants. */
export class Watchers {
  readonly #watching: readonly (readonly [Watcher, ReadonlySet<Resource>])[];
  readonly #wanted: ReadonlySet<Resource>;
  readonly #leading: ReadonlySet<Resource>;

  /** Of the request that is being worked on. */
  readonly #requestId: () => string | undefined;

  /** `mayAct`: whether functions of the deployment take part in writes of a type that may write anything. */
  constructor(
    { resources }: Model,
    watchers: readonly Watcher[],
    mayAct: (resource: Resource) => boolean,
    requestId: () => string | undefined,
  ) {
    this.#requestId = requestId;
    this.#watching = watchers.map((each) => [each, new Set(resources.filter((of) => each.wants(of)))]);
    this.#wanted = new Set(this.#watching.flatMap(([, wanted]) => [...wanted]));
    this.#leading = related(resources.filter((each) => this.#wanted.has(each) || mayAct(each)));
  }

  /** Whether a write of this type can come to a record that somebody wants to know of. */
  mayLead(resource: Resource): boolean {
    return this.#leading.has(resource);
  }

  /** Undefined where nobody wants to know of anything. `longest`: how many bytes one answer may have. */
  changes(longest: number): Changes | undefined {
    return this.#wanted.size > 0 ? new Changes(this.#wanted, this.#requestId(), 2 * longest) : undefined;
  }

  *record({ all, requestId }: Changes, caller: Caller): Program<void> {
    for (const [watcher, wanted] of this.#watching) {
      const own = all.filter(({ resource }) => wanted.has(resource));
      if (own.length > 0) yield* watcher.record(own, caller, requestId);
    }
  }

  /** What the one of them who wants a new record would write of it, where one statement does. */
  created(resource: Resource, { requestId }: Changes, caller: Caller): Insert['change'] {
    const [only, ...others] = this.#watching.filter(([, wanted]) => wanted.has(resource));
    return others.length > 0 ? undefined : only?.[0].created?.(resource, caller, requestId);
  }

  committed({ all }: Changes): void {
    for (const [watcher, wanted] of this.#watching) {
      const own = watcher.committed ? all.filter(({ resource }) => wanted.has(resource)) : [];
      if (own.length > 0) watcher.committed?.(own);
    }
  }
}

/** These, and all that refer to them or that they refer to, however far away: a write goes no further by itself. */
function related(resources: readonly Resource[]): ReadonlySet<Resource> {
  const found = new Set(resources);
  // A set that is walked through comes to what is added meanwhile.
  for (const { references, pointedAtBy } of found) {
    for (const { target } of references) found.add(target);
    for (const { owner } of pointedAtBy) found.add(owner);
  }
  return found;
}

interface Noted {
  readonly all: Change[];
  bytes: number;
}

/** The changes of one transaction so far. */
export class Changes {
  readonly requestId: string | undefined;
  readonly #wanted: ReadonlySet<Resource>;
  /**
   * How many bytes there may be of what records were and became: few words change a long record again and again, and each time
   * all of it is kept twice.
   */
  readonly #most: number;
  readonly #path: readonly string[];
  readonly #noted: Noted;

  constructor(
    wanted: ReadonlySet<Resource>,
    requestId: string | undefined,
    most: number,
    path: readonly string[] = [],
    noted: Noted = { all: [], bytes: 0 },
  ) {
    this.requestId = requestId;
    this.#wanted = wanted;
    this.#most = most;
    this.#path = path;
    this.#noted = noted;
  }

  get all(): readonly Change[] {
    return this.#noted.all;
  }

  /** The same transaction, where these functions have led. */
  along(path: readonly string[]): Changes {
    return new Changes(this.#wanted, this.requestId, this.#most, path, this.#noted);
  }

  /** The transaction is run again. */
  clear(): void {
    this.#noted.all.length = 0;
    this.#noted.bytes = 0;
  }

  /** Whether records of this type are to be noted: only then need anybody know what they were like. */
  wants(resource: Resource): boolean {
    return this.#wanted.has(resource);
  }

  /** Whole records that are about to be noted; where it is certain that they would be too much, most of them are not even read. */
  *read(resource: Resource, where: Filter): Program<Row[]> {
    // Databases count more than characters: see `mostBytes`.
    const bytes = Number.isFinite(this.#most) ? 3 * this.#most : undefined;
    try {
      return yield* run(select(resource, storedColumns(resource), where, { bytes }));
    } catch (error) {
      throw isTooMuch(error) ? keepsTooMuch(this.#most) : error;
    }
  }

  created(resource: Resource, after: Row): void {
    this.#note(resource, 'CREATED', undefined, after);
  }

  updated(resource: Resource, before: Row, after: Row): void {
    this.#note(resource, 'UPDATED', before, after);
  }

  deleted(resource: Resource, before: Row): void {
    this.#note(resource, 'DELETED', before, undefined);
  }

  /** Copies, because rows become answers: what is related to them is put in, and what the caller may not see is taken out. */
  #note(resource: Resource, kind: Change['kind'], before: Row | undefined, after: Row | undefined): void {
    if (!this.#wanted.has(resource)) return;
    const version = Number((after ?? before)?.[resource.version.name]);
    const path = this.#path;
    const noted = this.#noted;
    // What is new was sent once as it is. And one record alone, however long, was so, too.
    if (before) noted.bytes += roughly(before) + roughly(after);
    if (noted.bytes > this.#most && noted.all.length > 0) throw keepsTooMuch(this.#most);
    noted.all.push({
      resource,
      kind,
      before: before && { ...before },
      after: after && { ...after },
      version,
      path,
    });
  }
}

/** Characters; shorter values count alike. */
const SHORT = 1024;
const COUNTED_SHORT = 64;

/** Bytes of a record, each value by itself: beside another that the caller can make longer, a step would tell of it. */
function roughly(row: Row | undefined): number {
  let bytes = 0;
  for (const name in row) {
    const own = bytesOfJson(row[name]);
    bytes += own > SHORT ? inSteps(own, SHORT, 2) : COUNTED_SHORT;
  }
  return bytes;
}

function keepsTooMuch(most: number): DuetError {
  return new DuetError(
    'WRITE_TOO_LARGE',
    `What the changed records were and became has more than ${most} bytes, twice LIMIT_BYTES, which is what the journal and after hooks keep of one transaction. Write fewer records at once.`,
  );
}
