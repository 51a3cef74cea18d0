/** How much one answer may hold. */

import { DuetError } from '../base/errors.ts';
import { PassedJson } from '../base/passed.ts';
import { keptAs } from '../schema/values.ts';
import { answerTooLarge } from '../storage/faults.ts';
import { MOST_WEIGHT, mayWeigh, weightOfMany } from '../storage/sql/weights.ts';
import type { Row } from '../storage/statements.ts';
import type { Program } from '../storage/storage.ts';
import type { OwnChanges } from './journal/changes-operation.ts';
import {
  bytesOf,
  bytesOfJson,
  leastBytesOf,
  type Measured,
  MOST_BYTES_OF_CHARACTER,
  timesOf,
} from './sizes.ts';

/** Longer answers may wait in memory until their clients have taken them. */
export const LONG_BYTES = 64 * 1024;

/** So many bytes of changes are looked at for one answer, and up to twice as many. */
export const LOOKED_BYTES = 4 * 1024 * 1024;

export interface AnswerLimits {
  readonly objects: number;
  readonly bytes: number;
  /** Whether what is read is only written out: JSON is then passed on as its text. */
  readonly passes?: boolean;
  /** Fails where there is no room for a long answer now. */
  readonly admitLong?: (bytes: number) => void;
  /** Counts a part of an answer that is long by itself, until what it answers with is called. */
  readonly holdLong?: (bytes: number) => () => void;
  /** Adds to records what has happened to them, where their type keeps that. */
  readonly addChanges?: (
    wanted: OwnChanges,
    rows: readonly Row[],
    budget: Budget,
    /** How often the answer has each record, where that is not once. */
    times: ReadonlyMap<Row, number> | undefined,
  ) => Program<void>;
}

/** For what is never in memory as a whole. */
export const UNLIMITED: AnswerLimits = {
  objects: Number.MAX_SAFE_INTEGER,
  bytes: Number.POSITIVE_INFINITY,
};

/** So many rows are too many bytes for certain: of wide ones, far fewer than there may be objects. */
export function mostRows({ bytes }: AnswerLimits, selection: Measured): number {
  return Math.floor(bytes / leastBytesOf(selection)) + 1;
}

/** How many bytes something takes: each character as one, or as it is written. */
type Measure = (isExact: boolean) => number;

/**
 * What was counted by its characters, and what was before it: rows by their selection, and what measures itself. A chain,
 * because every read makes a Budget, and most add to it once: three empty lists take longer than the rest of it.
 */
type Counted = (
  | { readonly rows: readonly Row[]; readonly selection: Measured }
  | { readonly measure: Measure }
) & { readonly before: Counted | undefined };

/** How many objects and bytes one answer may still hold; of what would exceed it, little is loaded. */
export class Budget {
  readonly limits: AnswerLimits;
  /** What has been spent so far. */
  bytes = 0;
  objects = 0;
  /** Records of join types that the request has named for others: no answer has them, and few words ask for many. */
  links = 0;
  /** Records that the request nests in others: no answer need have them, and two characters are one. */
  nested = 0;
  /** Objects in what actions of the request are given: two characters are one, with all that is told of its fields. */
  arguments = 0;
  /** Bytes of values that the request gives to more records than it was sent for: no answer need have them. */
  given = 0;
  /** And what they take in memory once they are read from all of them, where that is much. */
  givenWeight = 0;
  /** What JSON of the answer takes in memory that was read, and not passed on, where that is much. */
  weight = 0;
  /** Changes that were looked at: no answer need have any of them. */
  looked = 0;
  /** And the bytes of what records were in them. */
  lookedBytes = 0;
  /** Whether bytes are counted as they are written: once there are so many characters that it matters. */
  #isExact = false;
  #counted: Counted | undefined;
  /** So many bytes of changes are read at once. */
  readonly readBytes: number;

  constructor(limits: AnswerLimits, readBytes = LOOKED_BYTES) {
    this.limits = limits;
    this.readBytes = readBytes;
  }

  /** One that has spent as much: what a write spends counts once it has happened, and it may be tried more than once. */
  copy(): Budget {
    const copy = new Budget(this.limits, this.readBytes);
    copy.become(this);
    return copy;
  }

  become(other: Budget): void {
    this.bytes = other.bytes;
    this.objects = other.objects;
    this.links = other.links;
    this.nested = other.nested;
    this.arguments = other.arguments;
    this.given = other.given;
    this.givenWeight = other.givenWeight;
    this.weight = other.weight;
    this.looked = other.looked;
    this.lookedBytes = other.lookedBytes;
    this.#isExact = other.#isExact;
    this.#counted = other.#counted;
  }

  /** How many bytes of changes may still be looked at. */
  get leftToLook(): number {
    return 2 * this.readBytes - this.lookedBytes;
  }

  /** One more than fits, so that too many can be told from just enough. */
  get most(): number {
    return this.limits.objects - this.objects + 1;
  }

  /** Fails where so many more would not fit, before any work is done for them. */
  expect(objects: number): void {
    if (objects >= this.most) this.#count(objects);
  }

  /** Records that are to be created in others, before anything is made of them. */
  nest(records: number): void {
    this.nested += records;
    if (this.nested > this.limits.objects)
      throw new DuetError(
        'TOO_MANY_OBJECTS',
        `More than ${this.limits.objects} records are nested in others. Create them in several requests.`,
      );
  }

  /** Objects that an action is given, before they are looked at. */
  pass(objects: number): void {
    this.arguments += objects;
    if (this.arguments > this.limits.objects)
      throw new DuetError(
        'TOO_MANY_OBJECTS',
        `What actions are given has more than ${this.limits.objects} objects. Send them in several requests.`,
      );
  }

  /** Values that are held, judged and stored so many times more than they were sent. */
  give(values: unknown, times: number): void {
    if (times <= 0) return;
    this.given += times * bytesOfJson(values);
    if (this.given > this.limits.bytes)
      throw new DuetError(
        'WRITE_TOO_LARGE',
        `What is set in many records has more than ${this.limits.bytes} bytes in all of them, LIMIT_BYTES. Write fewer records in one request.`,
      );
    if (!mayWeigh(this.given)) return;
    this.givenWeight += weightOfMany([[values, times]]);
    if (this.givenWeight > MOST_WEIGHT)
      throw new DuetError(
        'WRITE_TOO_LARGE',
        'What is set in many records has too many small parts in all of them. Write fewer records in one request.',
      );
  }

  /** Rows that the answer has once each, or as often as the selection asks for them. */
  spend(rows: readonly Row[], selection: Measured): void {
    this.#count(rows.length * timesOf(selection));
    this.bytes += bytesOf(selection, rows, this.#isExact);
    if (!this.#isExact) this.#counted = { rows, selection, before: this.#counted };
    this.#admit();
    this.weigh([[rows, 1]], selection);
  }

  /**
   * JSON in rows that the answer has so often. Each statement may come to as much as all of them together: an answer that is kept for
   * a retry is read again as a whole.
   */
  weigh(lists: Iterable<readonly [rows: readonly Row[], times: number]>, { columns }: Measured): void {
    if (!mayWeigh(this.bytes)) return;
    const names = columns.filter((column) => keptAs(column) === 'json').map(({ name }) => name);
    const values: [unknown, number][] = [];
    for (const [rows, times] of lists)
      for (const row of rows)
        for (const name of names) if (isRead(row[name])) values.push([row[name], times]);
    if (values.length > 0) this.weight += weightOfMany(values);
    if (this.weight > MOST_WEIGHT) throw answerTooLarge();
  }

  take(objects: number, measure: Measure): void {
    this.#count(objects);
    this.bytes += measure(this.#isExact);
    if (!this.#isExact) this.#counted = { measure, before: this.#counted };
    this.#admit();
  }

  #count(objects: number): void {
    this.objects += objects;
    if (this.objects > this.limits.objects)
      throw new DuetError(
        'TOO_MANY_OBJECTS',
        `The answer would hold more than ${this.limits.objects} objects. Ask for pages of it, or for fewer relations.`,
      );
  }

  #admit(): void {
    const { limits } = this;
    if (!this.#isExact && isMuch(limits, this.bytes)) {
      this.#isExact = true;
      this.bytes = 0;
      for (let counted = this.#counted; counted; counted = counted.before)
        this.bytes +=
          'measure' in counted ? counted.measure(true) : bytesOf(counted.selection, counted.rows, true);
      this.#counted = undefined;
    }
    admitBytes(limits, this.bytes);
  }
}

/** Whether objects were made of it. */
function isRead(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !(value instanceof PassedJson);
}

/** Whether so many characters, or short values at four bytes each, could take more bytes than the answer may have. */
function isMuch(limits: AnswerLimits, characters: number): boolean {
  return characters * MOST_BYTES_OF_CHARACTER > limits.bytes;
}

function admitBytes(limits: AnswerLimits, bytes: number): void {
  if (bytes > limits.bytes) throw answerTooLarge();
  if (bytes > LONG_BYTES) limits.admitLong?.(bytes);
}

/** Whether it is the budget that failed. */
export function isTooMuch(error: unknown): boolean {
  return (
    error instanceof DuetError && (error.code === 'TOO_MANY_OBJECTS' || error.code === 'ANSWER_TOO_LARGE')
  );
}
