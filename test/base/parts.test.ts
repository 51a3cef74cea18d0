/** Long JSON in parts is the JSON that is written at once. */

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { LongText, PART, written } from '../../src/base/parts.ts';
import { jsonOf, PassedJson } from '../../src/base/passed.ts';

/** Longer than a part, with characters of every length where one may end, and with those that are escaped. */
const long = fc
  .tuple(fc.constantFrom('x', '"', 'é', '😀', '\n', '\u2028', 'x😀'), fc.nat(3))
  .map(([text, before]) => '-'.repeat(before) + text.repeat(PART));
/** What a function of a deployment may give for JSON; some is left out, or written otherwise than its members say. */
const made = fc.oneof(
  fc.constantFrom<unknown>(undefined, new Date(0), () => 1, Symbol('x'), new Map([[1, 2]]), Object('text')),
  long.map((text) => ({ text, toJSON: () => [text] })),
  long.map((text) => ({ text, toJSON: () => undefined })),
);
const leaf = fc.oneof(
  fc.jsonValue(),
  long,
  long.map((text) => new PassedJson(JSON.stringify([text]))),
);
const value = fc.oneof(
  leaf,
  fc.array(fc.oneof(leaf, made), { maxLength: 4 }),
  fc.dictionary(fc.string(), fc.oneof(leaf, fc.array(leaf, { maxLength: 3 }), made), {
    maxKeys: 4,
    noNullPrototype: false,
  }),
);

test('any value, whole or in parts', () => {
  fc.assert(
    fc.property(value, (value) => {
      const json = jsonOf(value);
      const parts = [...new LongText('<', value, '>').behind('!')];
      expect(parts.join('') === `!<${json}>`).toBe(true);
      // Each by itself, as they are sent.
      const bytes = Buffer.concat(parts.map((part) => new TextEncoder().encode(part)));
      expect(bytes.toString() === `!<${json}>`).toBe(true);
      const text = written('<', value, '>');
      expect([...text].join('') === `<${json}>`).toBe(true);
    }),
    { numRuns: 60 },
  );
});

test('no part is much longer than others, and what is in it several times is held once', () => {
  const text = 'x'.repeat(10 * PART);
  const same = new LongText('', { a: text, b: [text, { c: text }] }, '');
  expect([same.held, Math.max(...[...same].map(({ length }) => length)) < 2 * PART]).toEqual([
    10 * PART,
    true,
  ]);
});
