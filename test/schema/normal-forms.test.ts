/** Normal forms, held against those of the runtime, which takes its time. */

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { wordsOfAll } from '../../src/query/words.ts';
import { folded } from '../../src/schema/folding.ts';
import { normalized } from '../../src/schema/normal-forms.ts';

const points = Array.from({ length: 0x110000 }, (_, point) => point).filter((point) => point >>> 11 !== 0x1b);
const marks = points.map((point) => String.fromCodePoint(point)).filter((each) => /\p{M}/u.test(each));
/** Letters with marks of their own, those that become one with the next, and two that are marks once they are taken apart. */
const letters = ['a', 'é', 'ṩ', 'か', 'ᄀ', '각', '¨', 'ﾊ', '\uff9e', '\uff9f'];
/** Without the size, hardly any has more than ten. */
const upTo100 = { maxLength: 100, size: 'max' } as const;

test('marks in any order and number', () => {
  const run = (of: fc.Arbitrary<string>) => fc.array(of, upTo100).map((each) => each.join(''));
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

/** Every mark that changes places with others comes before the last of these, and after the first. */
const [FIRST, LAST] = ['\u0334', '\u0345'];
const firstOf = (text: string) => String.fromCodePoint(text.codePointAt(0) ?? 0);

/** All that change places, or become one, with what is before them, once they are taken apart. */
function touching(): string[] {
  const seconds = new Set<string>();
  for (const point of points) {
    const text = String.fromCodePoint(point);
    if (text.normalize('NFC') === text)
      for (const part of [...text.normalize('NFD')].slice(1)) seconds.add(part);
  }
  return points
    .map((point) => String.fromCodePoint(point))
    .filter((text) => {
      const first = firstOf(text.normalize('NFKD'));
      const moves = (pair: string) => pair.normalize('NFD') !== pair;
      return seconds.has(first) || moves(LAST + first) || moves(first + FIRST);
    });
}

const all = touching();
/** Those that also become one with each other, which the runtime makes room for by moving all that follow. */
const joining = all.filter((each) => !/\p{Mn}/u.test(each) || [...each.normalize('NFD')].length > 1);

/** The longest text that the runtime is asked for a normal form of meanwhile. */
function longestAsked(run: () => void): number {
  const { normalize } = String.prototype;
  let longest = 0;
  String.prototype.normalize = function (this: string, form?: string) {
    longest = Math.max(longest, [...this].length);
    return normalize.call(this, form);
  };
  try {
    run();
  } finally {
    String.prototype.normalize = normalize;
  }
  return longest;
}

/** Two that become one with each other, many times, and a syllable's vowel. */
const vowels = [
  '\u{16128}',
  '\u{1611e}\u{16120}',
  '\u{16d67}',
  '\u{113c7}',
  '\u{16128}\u1161',
  '\u{16d67}ㅠ',
];
/** The third becomes one with no letter, and keeps those of its rank from it. */
const accents = ['\u0301', '\u0308', '\u0310', '\u0323', '\u0345'];

test('what becomes one with what is before it, in any order and number', () => {
  const of = fc.oneof(fc.constantFrom(...joining), fc.constantFrom(...all), fc.constantFrom(...vowels));
  const row = fc.oneof(
    fc.array(fc.constantFrom(...accents), upTo100),
    fc.array(of, upTo100),
    fc.array(of, { minLength: 1, maxLength: 4 }).chain((few) => fc.array(fc.constantFrom(...few), upTo100)),
  );
  const starts = fc.constantFrom('', ...letters, 'ω', '\ud800', '\u{16d63}', '\u{16d69}', '\u{11382}', '가');
  const texts = fc.array(
    fc
      .tuple(
        starts,
        row.map((each) => each.join('')),
      )
      .map((each) => each.join('')),
  );
  fc.assert(
    fc.property(texts, (parts) => {
      const text = parts.join('');
      for (const form of ['NFC', 'NFD', 'NFKC'] as const) {
        expect(normalized(text, form)).toBe(text.normalize(form));
        expect(normalized(text.normalize('NFD'), form)).toBe(text.normalize(form));
      }
    }),
    { numRuns: 300 },
  );
});

test('the runtime is given no long run of any character that touches what is before it', () => {
  // Asks for the order of all marks, once.
  normalized(`a${LAST.repeat(100)}`, 'NFC');
  const long = all.filter((each) => longestAsked(() => normalized(`a${each.repeat(100)}b`, 'NFKC')) > 30);
  expect(long).toEqual([]);
});

test.each(vowels)('a long run of %j is folded and split as its parts are, without the runtime', (vowel) => {
  const text = vowel.repeat(2000);
  const apart = text.normalize('NFD');
  const longest = longestAsked(() => {
    expect(folded(text)).toBe(folded(apart));
    expect(wordsOfAll([text])).toEqual(wordsOfAll([apart]));
  });
  expect(longest).toBeLessThan(30);
});
