/** Unicode's case folding, held against what the runtime knows of letters. */

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { folded, foldedBeginning, foldedCase } from '../../src/schema/folding.ts';
import { caseless } from '../conformance/reading-plain.ts';

/** Those of which the small letters fold to the capital ones. */
const isCherokee = (point: number) =>
  (point >= 0x13a0 && point <= 0x13ff) || (point >= 0xab70 && point <= 0xabbf);

test('every letter that the runtime knows folds as its cases say', () => {
  const wrong: string[] = [];
  for (let point = 1; point <= 0x10ffff; point++) {
    if ((point >= 0xd800 && point <= 0xdfff) || isCherokee(point)) continue;
    const text = String.fromCodePoint(point);
    if (folded(text) !== caseless(text) && !/\p{Cn}/u.test(text)) wrong.push(`${point.toString(16)} ${text}`);
  }
  expect(wrong).toEqual([]);
});

test('what is folded stays as it is', () => {
  for (let point = 1; point <= 0x10ffff; point++) {
    const text = point >= 0xd800 && point <= 0xdfff ? '' : folded(String.fromCodePoint(point));
    if (folded(text) !== text) throw new Error(point.toString(16));
  }
});

test('what is more than a shift of the alphabet', () => {
  for (const [text, wanted] of [
    ['ẞ', 'ss'],
    ['ß', 'ss'],
    ['İ', 'i\u0307'],
    ['ı', 'ı'],
    ['ΣΑΣ', 'σασ'],
    ['σας', 'σασ'],
    ['ﬃ', 'ffi'],
    ['E\u0301', 'é'],
    ['Ꭰ', 'Ꭰ'],
    ['ꭰ', 'Ꭰ'],
    ['ᲀ', 'в'],
    ['𐐀', '𐐨'],
    ['K', 'k'],
  ] as const)
    expect([text, folded(text)]).toEqual([text, wanted]);
  expect(foldedCase('E\u0301')).toBe('e\u0301');
  // It is not taken apart for a normal form to put it together.
  expect(foldedCase('ΐ')).toBe('ΐ');
});

test('what folds to several is the same beside any others', () => {
  const of = fc.constantFrom(...'ΐΰßẞİŉǰᾲᾳᾶᾷΰῤῦῧᾀᾈﬁևﬓẖẗaαιυΑΙ\u0300\u0301\u0308\u0313\u0323\u0342\u0345');
  fc.assert(
    fc.property(fc.array(of, { maxLength: 20, size: 'max' }), (letters) => {
      const text = letters.join('');
      expect(folded(text)).toBe(caseless(text));
      expect(folded(text.normalize('NFD'))).toBe(caseless(text));
    }),
    { numRuns: 3000 },
  );
});

test('no text has more than twice as many units of UTF-16 as it has bytes once it is folded', () => {
  for (let point = 1; point <= 0x10ffff; point++) {
    const text = String.fromCodePoint(point).normalize('NFD');
    if (text.length > 2 * Buffer.byteLength(folded(text))) throw new Error(point.toString(16));
  }
});

test('the beginning of a text folds to the beginning of the folded text, wherever it is cut', () => {
  const character = fc.oneof(
    fc.constantFrom('a', 'E', 'ẞ', 'ΐ', 'ᾳ', '각', '\u1112', '😀', '𐐀', 'İ'),
    // Marks of several classes, and what is put together with what comes before it.
    fc.constantFrom('\u0301', '\u0323', '\u0345', '\u0334', '\u1161', '\u11a8', '\u{11935}', '\u{1611e}'),
    fc.constantFrom('\u{16d63}', '\u{16d67}', '\u{16d68}', '\u09c7', '\u09be', '\u{1d165}'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  );
  fc.assert(
    fc.property(fc.array(character, { maxLength: 60 }), fc.nat({ max: 80 }), (characters, most) => {
      const text = characters.join('');
      const beginning = foldedBeginning(text, most);
      expect(folded(text).slice(0, beginning.length)).toBe(beginning);
      if (text.length <= most) expect(beginning).toBe(folded(text));
    }),
    { numRuns: 3000 },
  );
  expect(foldedBeginning(`${'Ab c'.repeat(250)}\u0301`, 999)).toBe('ab c'.repeat(250).slice(0, 999));
});

test('no character that the beginning of a text is cut before changes what precedes it', () => {
  const combining = new Set<string>();
  const all = Array.from({ length: 0x110000 }, (_, point) => point)
    .filter((point) => point < 0xd800 || point > 0xdfff)
    .map((point) => String.fromCodePoint(point));
  for (const each of all) for (const part of [...each.normalize('NFD')].slice(1)) combining.add(part);
  const wrong = all.filter((each) => {
    if (foldedBeginning(`a${each}`, 1) === '') return false;
    return [each, foldedCase(each.normalize('NFC'))].some((text) => {
      const [first = ''] = text.normalize('NFD');
      return combining.has(first) || `\u0345${first}`.normalize('NFD') !== `\u0345${first}`;
    });
  });
  expect(wrong).toEqual([]);
});
