/** Normal forms, held against those of the runtime, which takes its time. */

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { normalized } from '../../src/schema/normal-forms.ts';

const points = Array.from({ length: 0x110000 }, (_, point) => point).filter((point) => point >>> 11 !== 0x1b);
const marks = points.map((point) => String.fromCodePoint(point)).filter((each) => /\p{M}/u.test(each));
/** Letters with marks of their own, those that become one with the next, and two that are marks once they are taken apart. */
const letters = ['a', 'é', 'ṩ', 'か', 'ᄀ', '각', '¨', 'ﾊ', '\uff9e', '\uff9f'];

test('marks in any order and number', () => {
  const run = (of: fc.Arbitrary<string>) => fc.array(of, { maxLength: 100 }).map((each) => each.join(''));
  const some = fc.subarray([...marks, '\uff9e', '\uff9f'], { minLength: 2, maxLength: 8 });
  const row = fc.oneof(
    some.chain((few) => run(fc.constantFrom(...few))),
    run(fc.constantFrom(...marks)),
  );
  const texts = fc.array(fc.tuple(fc.constantFrom('', ...letters), row).map((each) => each.join('')));
  fc.assert(
    fc.property(texts, (parts) => {
      const text = parts.join('');
      for (const form of ['NFC', 'NFD', 'NFKC'] as const)
        expect(normalized(text, form)).toBe(text.normalize(form));
    }),
    { numRuns: 300 },
  );
});

test('each mark is put in order among all others', () => {
  const others = marks.filter((_, index) => index % 7 === 0).join('');
  for (const mark of marks) {
    const text = `a${others}${mark}`;
    if (normalized(text, 'NFD') !== text.normalize('NFD')) throw new Error(mark.codePointAt(0)?.toString(16));
  }
});

/** Every mark that changes places with others comes before it. */
const LAST = '\u0345';

test('no other character begins with such a mark once it is taken apart', () => {
  const starts = points.filter((point) => {
    const text = String.fromCodePoint(point);
    return !/\p{M}/u.test(text) && !`${LAST}${text}`.normalize('NFKD').startsWith(LAST);
  });
  expect(starts).toEqual([0xff9e, 0xff9f]);
});
