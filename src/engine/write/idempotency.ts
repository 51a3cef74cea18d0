/** A write that is sent twice happens once: its answer is kept in its own transaction and given again. */

import { DuetError } from '../../base/errors.ts';
import { fromMarked, jsonOf, markedJson } from '../../base/passed.ts';
import { all, equal, type Filter } from '../../query/filter.ts';
import { LockTimeout } from '../../storage/faults.ts';
import { answers } from '../../storage/own.ts';
import { type Row, select } from '../../storage/statements.ts';
import { OTHERS_TURN, type Program, run } from '../../storage/storage.ts';
import { isExpired } from './expired.ts';

/** Characters: what is longer is compressed, or writing it down once more, on its way to the database, would take as long as making it. */
const LONG = 64 * 1024;
/** No JSON begins with it. */
const COMPRESSED = 'zstd ';

/** A request with a key. */
export interface Keyed {
  readonly key: string;
  /** What is asked for, as a hash: another request under the same key is a mistake. */
  readonly request: string;
  /** What is wrong with the key itself. */
  readonly refusal: DuetError | undefined;
}

export interface Idempotency extends Keyed {
  /** Whose key it is: two callers' keys have nothing to do with each other. */
  readonly caller: string;
  /** The rules that its caller is under; empty where there are none. */
  readonly rules: string;
}

/**
 * Runs the work, or gives the answer that it had before. A key that cannot be used is told after what `before` has to
 * tell; a replay comes before everything, because the record of a repeated DELETE is gone.
 */
export function* once<T>(
  { caller, rules, key, request, refusal }: Idempotency,
  work: () => Program<T>,
  before: () => Program<unknown> = nothing,
): Program<T> {
  if (refusal) {
    yield* before();
    throw refusal;
  }
  const asked = `${request} ${rules}`;
  const now = Date.now();
  const at = new Date(now).toISOString();
  // Somebody who is doing the same right now is waited for, by the database.
  const isOld = isExpired(now);
  const where = all([equal(answers.column.caller, caller), equal(answers.column.key, key)]);
  if (!(yield* claim({ caller, key, request: asked, answer: null, at }, isOld))) {
    const [kept] = yield* run(select(answers, answers.columns, where));
    if (kept?.['request'] === asked) return yield* fromKept<T>(String(kept['answer']));
    yield* before();
    const isSame = String(kept?.['request']).startsWith(`${request} `);
    throw new DuetError(
      'IDEMPOTENCY_MISMATCH',
      isSame
        ? 'This request was carried out, under rules that have changed since. Read what it has done.'
        : 'This Idempotency-Key was used for another request. Use a new one.',
    );
  }
  const answer = yield* work();
  const kept = yield* asKept(answer);
  yield* run({
    do: 'update',
    resource: answers,
    set: { answer: kept },
    where,
    counts: false,
    isSilent: true,
  });
  return answer;
}

/**
 * As JSON where that is read and written again as it is: then nodes of an older release, which read nothing else, can give it, too. JSON
 * that others have written, with spaces or numbers in many digits, is passed on as its text, with a key as without. Of the longest
 * answer each step takes a tenth of a second or two: others have their turn in between.
 */
function* asKept(answer: unknown): Program<string> {
  const text = markedJson(answer);
  if (text.length <= LONG) {
    const json = jsonOf(answer);
    if (JSON.stringify(JSON.parse(json)) === json) return json;
  }
  yield OTHERS_TURN;
  const bytes = Bun.zstdCompressSync(text, { level: 1 });
  yield OTHERS_TURN;
  return COMPRESSED + bytes.toString('base64');
}

function* fromKept<T>(kept: string): Program<T> {
  if (!kept.startsWith(COMPRESSED)) return JSON.parse(kept);
  yield OTHERS_TURN;
  const json = Bun.zstdDecompressSync(Buffer.from(kept.slice(COMPRESSED.length), 'base64')).toString();
  yield OTHERS_TURN;
  return fromMarked(json) as T;
}

function* nothing(): Program<void> {}

/** Whether the key is new, or so old that it may be used again; waits for a transaction that has it. */
function* claim(values: Row, isOld: Filter): Program<boolean> {
  const { request, answer, at } = answers.column;
  try {
    const rows = yield* run({
      do: 'upsert',
      resource: answers,
      values,
      conflict: answers.primary,
      set: [request, answer, at],
      where: isOld,
    });
    return rows.length > 0;
  } catch (error) {
    if (!(error instanceof LockTimeout)) throw error;
    throw new DuetError(
      'IDEMPOTENCY_IN_PROGRESS',
      'A request with this Idempotency-Key is still under way.',
      {
        headers: { 'Retry-After': '1' },
      },
    );
  }
}
