/** The keys that an issuer publishes: fetched, renewed, withdrawn, and kept while it is away. */

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { Clock } from './clock.ts';
import { seen, withIssuer } from './guarded.ts';
import { bearer, type Issuer } from './issuer.ts';

const MINUTE = 60_000;
/** Longer than an issuer is left in peace after it was asked. */
const COOL_DOWN = 5100;
/** Longer than its answer is waited for. */
const PATIENCE = 3100;

let clock: Clock;
beforeEach(() => {
  clock = new Clock();
});
afterEach(() => clock[Symbol.dispose]());

/** The question takes its way through real sockets. */
async function expectAsked(issuer: Issuer, times: number): Promise<void> {
  for (let turns = 0; issuer.asked < times && turns < 10_000; turns++)
    await new Promise((resolve) => setImmediate(resolve));
  expect(issuer.asked).toBe(times);
}

describe('the keys of the issuer', () => {
  test('are asked for again when a token names a new one, but not again and again', async () => {
    await withIssuer(async (app, issuer) => {
      const old = await issuer.sign();
      expect(await seen(app, bearer(old))).toBe('ann');
      clock.advance(COOL_DOWN);
      await issuer.rotate();
      const [one, other] = [await issuer.sign(), await issuer.sign({ sub: 'bob' })];
      expect(await Promise.all([seen(app, bearer(one)), seen(app, bearer(other))])).toEqual(['ann', 'bob']);
      expect(issuer.asked).toBe(2);
      for (let tries = 0; tries < 20; tries++)
        expect((await seen(app, bearer(await issuer.sign({}, { kid: `made-up-${tries}` }))))[0]).toBe(401);
      expect(issuer.asked).toBe(2);
    });
  });

  test.each(['failing', 'hanging'] as const)(
    'that is %s are kept; what they cannot judge is 503',
    async (mood) => {
      await withIssuer(async (app, issuer) => {
        expect(await seen(app, bearer(await issuer.sign()))).toBe('ann');
        issuer.mood = mood;
        clock.advance(COOL_DOWN);
        const unknown = seen(app, bearer(await issuer.sign({}, { kid: 'new' })));
        // Meanwhile, known keys work, and nobody who names one waits.
        for (const sub of ['bob', 'cy']) {
          const answer = seen(app, bearer(await issuer.sign({ sub })));
          const first = mood === 'hanging' ? Promise.race([answer, unknown.then(() => 'waited')]) : answer;
          expect(await first).toBe(sub);
        }
        // Its answer is waited for, but not for ever.
        await expectAsked(issuer, 2);
        clock.advance(PATIENCE);
        expect((await unknown).slice(0, 2)).toEqual([503, 'UNAVAILABLE']);
        const asked = issuer.asked;
        expect((await seen(app, bearer(await issuer.sign({}, { kid: 'newer' }))))[0]).toBe(503);
        expect(issuer.asked).toBe(asked);
        issuer.mood = 'well';
        clock.advance(COOL_DOWN);
        await issuer.rotate();
        expect(await seen(app, bearer(await issuer.sign()))).toBe('ann');
      });
    },
  );

  test.each(['failing', 'redirecting', 'boundless', 'babbling'] as const)(
    'that could never be had from one that is %s leave tokens undecided and the anonymous unharmed',
    async (mood) => {
      await withIssuer(async (app, issuer) => {
        issuer.mood = mood;
        const answer = await app.rest('POST', '/notes', { title: 'x' }, bearer(await issuer.sign()));
        expect([answer.status, answer.body.code, answer.headers.get('Retry-After')]).toEqual([
          503,
          'UNAVAILABLE',
          '5',
        ]);
        expect(app.observations).toContainEqual(expect.objectContaining({ event: 'failure' }));
        expect((await app.rest('GET', '/notes')).status).toBe(200);
      });
    },
  );
});

describe('as time goes by', () => {
  const late = { exp: Math.floor(Date.now() / 1000) + 7200 };

  test('they are renewed every ten minutes, and one that was withdrawn is worth nothing then', async () => {
    await withIssuer(async (app, issuer) => {
      const old = await issuer.sign(late);
      expect(await seen(app, bearer(old))).toBe('ann');
      await issuer.rotate();
      clock.advance(10 * MINUTE - 1);
      // Proven anew, by the keys of before.
      expect(await seen(app, bearer(old))).toBe('ann');
      expect(issuer.asked).toBe(1);
      clock.advance(1);
      await expectAsked(issuer, 2);
      // Whoever names a new key waits for the answer that is under way.
      expect(await seen(app, bearer(await issuer.sign(late)))).toBe('ann');
      // What was proven is believed for a minute.
      clock.advance(MINUTE);
      expect((await seen(app, bearer(old)))[0]).toBe(401);
      clock.advance(9 * MINUTE);
      await expectAsked(issuer, 3);
    });
  });

  test('they are kept while the issuer is away, which is asked again after half a minute', async () => {
    await withIssuer(async (app, issuer) => {
      const old = await issuer.sign(late);
      expect(await seen(app, bearer(old))).toBe('ann');
      await issuer.rotate();
      const fresh = await issuer.sign(late);
      issuer.mood = 'failing';
      clock.advance(10 * MINUTE);
      await expectAsked(issuer, 2);
      expect((await seen(app, bearer(fresh)))[0]).toBe(503);
      expect(await seen(app, bearer(old))).toBe('ann');
      issuer.mood = 'well';
      clock.advance(MINUTE / 2);
      await expectAsked(issuer, 3);
      expect(await seen(app, bearer(fresh))).toBe('ann');
    });
  });
});
