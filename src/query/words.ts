/** The words of texts, as both databases are to find them: they are split here, so that neither has a say in it. */

import { foldedCase, UNICODE } from '../schema/folding.ts';
import { normalized } from '../schema/normal-forms.ts';

/** Longer words are cut. */
const LONGEST_WORD = 64;
/** Words beyond these of one record are not found. */
const MOST_WORDS = 20_000;

/** How words are split, in short: where it is done in another way, records are to be split anew. */
export const SPLITTING = `1.${UNICODE}`;

const RUN = /[\p{L}\p{N}\p{M}]+/gu;
/** Scripts whose words stand without spaces between them; what they share, such as a long vowel of kana, belongs to them. */
const SCRIPTS = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar'];
const CHARACTER = SCRIPTS.map((name) => `\\p{scx=${name}}`).join('');
const PART = new RegExp(`[${CHARACTER}]+|[^${CHARACTER}]+`, 'gu');
const UNSPACED = new RegExp(`^[${CHARACTER}]`, 'u');
/** Accents and the like, once they are taken apart from their letters. */
const MARKS = /\p{M}+/gu;
/** Most texts: what can be said of all of them is said of these in a tenth of the time. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
const ASCII = /^[\x00-\x7f]*$/;

/** In their order, each as often as it stands there; `isNew` says whether a run of characters is to be split. */
export function* wordsOf(text: string, isNew: (run: string) => boolean = () => true): Generator<string> {
  if (ASCII.test(text)) {
    for (const run of text.toLowerCase().match(/[a-z0-9]+/g) ?? [])
      if (isNew(run)) yield cut(run, LONGEST_WORD);
    return;
  }
  // Compatibility forms first: they can hold letters, spaces and marks of their own.
  for (const run of normalized(text, 'NFKC').match(RUN) ?? []) if (isNew(run)) yield* wordsOfRun(run);
}

function* wordsOfRun(run: string): Generator<string> {
  for (const part of normalized(foldedCase(run), 'NFKC').match(PART) ?? [])
    if (UNSPACED.test(part)) yield* pairs(part);
    else {
      const word = normalized(normalized(part, 'NFD').replace(MARKS, ''), 'NFC');
      if (word !== '') yield cut(word, LONGEST_WORD);
    }
}

/** Overlapping, so that any two characters that stand together are found; one that stands alone is a word. */
function* pairs(text: string): Generator<string> {
  let before = '';
  let isAlone = true;
  for (const character of text) {
    if (before !== '') {
      isAlone = false;
      yield before + character;
    }
    before = character;
  }
  if (isAlone) yield before;
}

export function cut(word: string, longest: number): string {
  if (word.length <= longest) return word;
  return [...word].slice(0, longest).join('');
}

/** How a word of the nth field is kept: databases then know where it stands, and a type has few fields to search. */
export function inField(word: string, field: number): string {
  return field.toString(36) + word;
}

/** Between two turns of others, so many words are looked at. */
const WORDS_OF_TURN = 2_000;

/** The words of a record, each once, with the first of its fields that has it. */
export function wordsOfAll(texts: readonly unknown[]): string[] {
  const split = splitting(texts);
  for (;;) {
    const { done, value } = split.next();
    if (done) return value;
  }
}

/** The same in steps of a few milliseconds. */
export function* splitting(texts: readonly unknown[]): Generator<undefined, string[]> {
  let looks = 0;
  const known = new Set<string>();
  const kept: string[] = [];
  // Whoever repeats a few words a million times has them split once.
  const runs = new Set<string>();
  const isNew = (run: string) => runs.size < runs.add(run).size;
  for (const [field, text] of texts.entries()) {
    if (typeof text !== 'string') continue;
    for (const piece of piecesOf(text)) {
      if (piece !== text) yield;
      for (const word of wordsOf(piece, isNew)) {
        if (++looks % WORDS_OF_TURN === 0) yield;
        if (known.has(word)) continue;
        if (known.size === MOST_WORDS) return kept;
        known.add(word);
        kept.push(inField(word, field));
      }
    }
  }
  return kept;
}

/** Characters that are looked at together: one can be eighteen, once it is taken apart. */
const PIECE = 16_384;
/** What is in no word, and never becomes one letter with what is before it. */
const BREAK = /[\p{P}\p{Z}\p{Cc}]/u;

/** Cut between words; where there is nothing between any, each begins with the last character of the one before. */
function* piecesOf(text: string): Generator<string> {
  let from = 0;
  while (text.length - from > PIECE) {
    let end = from + PIECE;
    while (end > from && !BREAK.test(text.charAt(end))) end--;
    if (end > from) {
      yield text.slice(from, end);
      from = end;
      continue;
    }
    end = from + PIECE;
    if (isSecondHalf(text, end)) end--;
    yield text.slice(from, end);
    from = isSecondHalf(text, end - 1) ? end - 2 : end - 1;
  }
  yield text.slice(from);
}

function isSecondHalf(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff;
}
