/** The keys that an issuer publishes: fetched, renewed, withdrawn, and kept while it is away. */

import { afterEach, beforeEach, describe, expect, jest, test } from 'bun:test';
import { seen, withIssuer } from './guarded.ts';
import { bearer, type Issuer } from './issuer.ts';

describe('the keys of the issuer', () => {
  test('are asked for again when a token names a new one, but not again and again', async () => {
    await withIssuer(async (app, issuer) => {
      const old = await issuer.sign();
      expect(await seen(app, bearer(old))).toBe('ann');
      await Bun.sleep(5100);
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
        await Bun.sleep(5100);
        const unknown = seen(app, bearer(await issuer.sign({}, { kid: 'new' })));
        // Meanwhile, known keys work, and nobody who names one waits.
        for (const sub of ['bob', 'cy']) {
          const answer = seen(app, bearer(await issuer.sign({ sub })));
          const first = mood === 'hanging' ? Promise.race([answer, unknown.then(() => 'waited')]) : answer;
          expect(await first).toBe(sub);
        }
        expect((await unknown).slice(0, 2)).toEqual([503, 'UNAVAILABLE']);
        const asked = issuer.asked;
        expect((await seen(app, bearer(await issuer.sign({}, { kid: 'newer' }))))[0]).toBe(503);
        expect(issuer.asked).toBe(asked);
        issuer.mood = 'well';
        await Bun.sleep(5100);
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
  const MINUTE = 60_000;
  const late = { exp: Math.floor(Date.now() / 1000) + 7200 };
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => {
    // What is wound up now would never strike again: the clock of bodies, which all applications share, stops first.
    jest.advanceTimersByTime(1000);
    jest.useRealTimers();
  });

  /** The question takes its way through real sockets. */
  async function expectAsked(issuer: Issuer, times: number): Promise<void> {
    for (let turns = 0; issuer.asked < times && turns < 10_000; turns++)
      await new Promise((resolve) => setImmediate(resolve));
    expect(issuer.asked).toBe(times);
  }

  test('they are renewed every ten minutes, and one that was withdrawn is worth nothing then', async () => {
    await withIssuer(async (app, issuer) => {
      const old = await issuer.sign(late);
      expect(await seen(app, bearer(old))).toBe('ann');
      await issuer.rotate();
      jest.advanceTimersByTime(10 * MINUTE - 1);
      // Proven anew, by the keys of before.
      expect(await seen(app, bearer(old))).toBe('ann');
      expect(issuer.asked).toBe(1);
      jest.advanceTimersByTime(1);
      await expectAsked(issuer, 2);
      // Whoever names a new key waits for the answer that is under way.
      expect(await seen(app, bearer(await issuer.sign(late)))).toBe('ann');
      // What was proven is believed for a minute.
      jest.advanceTimersByTime(MINUTE);
      expect((await seen(app, bearer(old)))[0]).toBe(401);
      jest.advanceTimersByTime(9 * MINUTE);
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
      jest.advanceTimersByTime(10 * MINUTE);
      await expectAsked(issuer, 2);
      expect((await seen(app, bearer(fresh)))[0]).toBe(503);
      expect(await seen(app, bearer(old))).toBe('ann');
      issuer.mood = 'well';
      jest.advanceTimersByTime(MINUTE / 2);
      await expectAsked(issuer, 3);
      expect(await seen(app, bearer(fresh))).toBe('ann');
    });
  });
});
