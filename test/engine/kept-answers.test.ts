/** Answers that are kept for a retry: the longest leave others their turns between what has to be done in one piece. */

import { describe, expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';
import { CountedTurns } from './turns.ts';

const sdl = 'type Note @resource { id: ID!  text: String! }';

describe.each([...databases])('on %s', (database) => {
  test.each([
    ['a short one in none', 10, 0],
    ['a long one in two, to be kept and to be given again', 1000, 2],
  ])('%s', async (_, length, expected) => {
    const turns = new CountedTurns();
    const app = await openApp(database, { sdl, around: turns.around });
    const text = 'x'.repeat(length);
    const operations = [
      { method: 'POST', path: '/notes', body: Array.from({ length: 100 }, () => ({ text })) },
    ];
    const asked = async () => {
      turns.count = 0;
      const { status, body } = await app.rest(
        'POST',
        '/transaction',
        { operations },
        { 'Idempotency-Key': 'k' },
      );
      return { status, body, turns: turns.count };
    };
    const first = await asked();
    expect([first.status, first.turns]).toEqual([200, expected]);
    expect(first.body.results[0].body[99]).toEqual({ id: 100, text });
    expect(await asked()).toEqual(first);
    await app.close();
  });
});
