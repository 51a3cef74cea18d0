/** The cache keeps what is used, however much comes that is used once. */

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { Lru } from '../../src/base/lru.ts';

const MOST = 10;

test('what is used stays, and what is not makes room', () => {
  const cache = new Lru<string, string>(MOST);
  cache.set('hot', 'value');
  cache.set('cold', 'value');
  for (let unique = 0; unique < 100; unique++) {
    expect(cache.get('hot')).toBe('value');
    cache.set(`unique ${unique}`, 'value');
  }
  expect(cache.get('cold')).toBeUndefined();
});

test('the half that was used last is there, no more than all are, and each value is dropped once', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(3 * MOST), { maxLength: 200 }), (keys) => {
      const live = new Set<object>();
      const cache = new Lru<number, { key: number }>(MOST, (value) => {
        expect(live.delete(value)).toBe(true);
      });
      let used: number[] = [];
      for (const key of keys) {
        const found = cache.get(key);
        if (used.slice(-MOST / 2).includes(key)) expect(found).toBeDefined();
        if (!found) {
          const value = { key };
          live.add(value);
          cache.set(key, value);
        } else expect(found.key).toBe(key);
        used = [...used.filter((each) => each !== key), key];
        expect(live.size).toBeLessThanOrEqual(MOST);
      }
      cache.clear();
      expect(live.size).toBe(0);
    }),
  );
});
