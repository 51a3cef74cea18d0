/** What the log says of what is used up: once a minute, and then how often it was left out. */

import { afterEach, expect, setSystemTime, test } from 'bun:test';
import { Log } from '../../src/base/log.ts';

afterEach(() => {
  setSystemTime();
});

const MINUTE = 60_000;

function coded(code: string): Error {
  const inner = Object.assign(new Error('no space left'), { code });
  return new Error('The disk of the database is full.', { cause: inner });
}

const CODES = ['ENOSPC', 'EMFILE', 'ENFILE', 'EDQUOT', 'SQLITE_FULL', 'SQLITE_CANTOPEN', '53100'];
const AWAY = ['ERR_POSTGRES_CONNECTION_REFUSED', 'ERR_POSTGRES_CONNECTION_LOST', '57P03'];

test.each([...CODES, ...AWAY])('%s is said once a minute', (code) => {
  const lines: any[] = [];
  const log = new Log('info', (text) => {
    for (const line of text.trimEnd().split('\n')) lines.push(JSON.parse(line));
  });
  const fail = (cause: Error, times: number) => {
    for (let count = 0; count < times; count++) log.observe({ event: 'failure', cause });
    log.flush();
  };
  const start = 1_800_000_000_000;
  setSystemTime(start);
  fail(coded(code), 1000);
  fail(coded(code === 'EMFILE' ? 'ENOSPC' : 'EMFILE'), 5);
  fail(new Error('something else'), 2);
  setSystemTime(start + MINUTE - 1);
  fail(coded(code), 1);
  expect(lines.map(({ unsaid, cause }) => [unsaid, cause.split('\n')[0]])).toEqual([
    [undefined, 'Error: The disk of the database is full.'],
    [undefined, 'Error: The disk of the database is full.'],
    [undefined, 'Error: something else'],
    [undefined, 'Error: something else'],
  ]);
  setSystemTime(start + MINUTE);
  fail(coded(code), 7);
  expect(lines.slice(4).map(({ unsaid }) => unsaid)).toEqual([1000]);
  setSystemTime(start + 2 * MINUTE);
  fail(coded(code), 1);
  expect(lines.slice(5).map(({ unsaid }) => unsaid)).toEqual([6]);
});

test('what may have happened is said each time', () => {
  const lines: string[] = [];
  const log = new Log('info', (text) => lines.push(...text.trimEnd().split('\n')));
  const cause = coded('ERR_POSTGRES_CONNECTION_LOST');
  for (let count = 0; count < 3; count++)
    log.observe({
      event: 'failure',
      cause: Object.assign(new Error('', { cause }), { code: 'OUTCOME_UNKNOWN' }),
    });
  log.flush();
  expect(lines.length).toBe(3);
});
