/** Cron lines: which moments they name, in UTC, and what is wrong with them. */

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { readCron } from '../../src/engine/jobs/cron.ts';

function slots(line: string, after: string, count: number): string[] {
  const { next } = readCron(line);
  const found: string[] = [];
  let moment = Date.parse(after);
  while (next && found.length < count) {
    moment = next(moment);
    found.push(new Date(moment).toISOString().slice(0, 16));
  }
  return found;
}

test.each([
  ['* * * * *', '2024-02-28T23:58:30Z', ['2024-02-28T23:59', '2024-02-29T00:00', '2024-02-29T00:01']],
  ['0 3 * * *', '2024-01-01T03:00:00Z', ['2024-01-02T03:00', '2024-01-03T03:00']],
  ['*/20 9-10 * * 1-5', '2024-01-05T10:30:00Z', ['2024-01-05T10:40', '2024-01-08T09:00', '2024-01-08T09:20']],
  ['0 0 29 2 *', '2024-03-01T00:00:00Z', ['2028-02-29T00:00']],
  [
    '30 4 1,15 * 5',
    '2024-03-01T05:00:00Z',
    ['2024-03-08T04:30', '2024-03-15T04:30', '2024-03-22T04:30', '2024-03-29T04:30', '2024-04-01T04:30'],
  ],
  ['0 12 * * 7', '2024-03-01T05:00:00Z', ['2024-03-03T12:00', '2024-03-10T12:00']],
  ['5/15 0 31 12 *', '2024-03-01T05:00:00Z', ['2024-12-31T00:05', '2024-12-31T00:20']],
])('%s', (line, after, expected) => {
  expect(slots(line, after, expected.length)).toEqual(expected);
});

test.each([
  [7, 'it must be a text of five fields'],
  [
    '0 3 * *',
    '"0 3 * *" has 4 fields, and must have five: minute, hour, day of the month, month, day of the week',
  ],
  ['60 3 * * *', '"60" is no minute (0 to 59, as in *, 5, 1-5, 1,3 or */10)'],
  ['0 3 0 * *', '"0" is no day of the month (1 to 31, as in *, 5, 1-5, 1,3 or */10)'],
  ['0 5-3 * * *', '"5-3" is no hour (0 to 23, as in *, 5, 1-5, 1,3 or */10)'],
  ['*/0 * * * *', '"*/0" is no minute (0 to 59, as in *, 5, 1-5, 1,3 or */10)'],
  ['0 0 * JAN *', '"JAN" is no month (1 to 12, as in *, 5, 1-5, 1,3 or */10)'],
  ['0 0 30 2 *', '"0 0 30 2 *" names a day that never comes'],
])('%p is none', (line, fault) => {
  expect(readCron(line)).toEqual({ fault });
});

test('a slot is the first minute after a moment whose parts all match', () => {
  const field = (least: number, most: number) =>
    fc.oneof(fc.constant('*'), fc.integer({ min: least, max: most }).map(String));
  const lines = fc.tuple(field(0, 59), field(0, 23), field(1, 28), fc.constant('*'), fc.constant('*'));
  const moments = fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2040, 0) });
  fc.assert(
    fc.property(lines, moments, (words, after) => {
      const found = readCron(words.join(' ')).next?.(after) ?? 0;
      const at = new Date(found);
      const parts = [at.getUTCMinutes(), at.getUTCHours(), at.getUTCDate()];
      expect(parts.every((part, index) => words[index] === '*' || Number(words[index]) === part)).toBe(true);
      expect(found % 60_000).toBe(0);
      expect(found).toBeGreaterThan(after);
      // Nothing in between: each minute of the day before it, at the most.
      const isSlot = (moment: number) => {
        const day = new Date(moment);
        const own = [day.getUTCMinutes(), day.getUTCHours(), day.getUTCDate()];
        return own.every((part, index) => words[index] === '*' || Number(words[index]) === part);
      };
      const first = Math.max(Math.floor(after / 60_000) * 60_000 + 60_000, found - 1440 * 60_000);
      for (let moment = first; moment < found; moment += 60_000) expect(isSlot(moment)).toBe(false);
    }),
    { numRuns: 60 },
  );
});
