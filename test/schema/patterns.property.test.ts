/** No text takes a pattern more steps than `stepsOf` says, as counted by a plain backtracking matcher. */

import { expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { longestFor, whyDangerous } from '../../src/schema/formats.ts';
import { type Part, partsOf } from '../../src/schema/pattern-parts.ts';
import { stepsOf } from '../../src/schema/patterns.ts';

const MOST_COUNTED = 200_000;

type Then = (at: number) => boolean;

/** Matches as ECMA-262 says, section 22.2.2, and counts what it looks at. */
class Matcher {
  steps = 0;
  readonly #text: readonly string[];

  constructor(text: string) {
    this.#text = [...text];
  }

  test(pattern: Part): boolean {
    return this.#text.concat('').some((_, at) => this.#part(pattern, at, 1, () => true));
  }

  #part(part: Part, at: number, direction: 1 | -1, then: Then): boolean {
    switch (part.is) {
      case 'set': {
        this.#step();
        const char = this.#text[direction === 1 ? at : at - 1];
        return (
          char !== undefined && new RegExp(`^(?:${part.source})$`, 'u').test(char) && then(at + direction)
        );
      }
      case 'start':
        this.#step();
        return at === 0 && then(at);
      case 'edge':
        this.#step();
        return at === this.#text.length && then(at);
      case 'look': {
        const inside = part.isBehind ? -1 : 1;
        const isFound = this.#choices(part.choices, at, inside, () => true);
        return isFound !== part.isNot && then(at);
      }
      case 'group':
        return this.#choices(part.choices, at, direction, then);
      case 'repeat':
        return this.#turns(part, at, direction, part.least, part.most, then);
    }
  }

  #step(): void {
    if (++this.steps > MOST_COUNTED) throw new RangeError('Too many steps');
  }

  #choices(choices: readonly (readonly Part[])[], at: number, direction: 1 | -1, then: Then): boolean {
    return choices.some((choice) => {
      if (choices.length > 1) this.#step();
      return this.#sequence(choice, 0, at, direction, then);
    });
  }

  #sequence(parts: readonly Part[], index: number, at: number, direction: 1 | -1, then: Then): boolean {
    const part = parts[index];
    if (!part) return then(at);
    return this.#part(part, at, direction, (next) => this.#sequence(parts, index + 1, next, direction, then));
  }

  #turns(
    part: Part & { is: 'repeat' },
    at: number,
    direction: 1 | -1,
    least: number,
    most: number,
    then: Then,
  ): boolean {
    if (most === 0) return then(at);
    const again: Then = (next) =>
      (least > 0 || next !== at) &&
      this.#turns(part, next, direction, Math.max(0, least - 1), most - 1, then);
    return this.#part(part.of, at, direction, again) || (least === 0 && then(at));
  }
}

const set = fc.constantFrom('a', 'b', '1', '-', '[ab]', '[a1]', '[^a]', '\\d', '\\w', '.', '\\u{61}', 'é');
const bounds = fc
  .tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 6 }))
  .map(([least, more]) => `{${least},${least + more}}`);
const quantifier = fc.oneof(fc.constantFrom('', '', '', '*', '+', '?', '{2}', '{3,}', '{0}'), bounds);
const { pattern } = fc.letrec<{ pattern: string; sequence: string; part: string }>((tie) => ({
  part: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    fc.tuple(set, quantifier).map((each) => each.join('')),
    fc.constantFrom('^', '$'),
    fc.tuple(tie('pattern'), quantifier).map(([inside, times]) => `(?:${inside})${times}`),
    fc
      .tuple(fc.constantFrom('=', '!', '<=', '<!'), tie('pattern'))
      .map(([kind, inside]) => `(?${kind}${inside})`),
  ),
  sequence: fc.array(tie('part'), { maxLength: 4 }).map((parts) => parts.join('')),
  pattern: fc
    .array(tie('sequence'), { minLength: 1, maxLength: 3, size: 'xsmall' })
    .map((all) => all.join('|')),
}));
const char = fc.constantFrom('a', 'b', '1', '-', 'é');
/** What nearly matches for long takes longest. */
const text = fc.oneof(
  fc
    .tuple(fc.array(char, { minLength: 1, maxLength: 3 }), fc.integer({ min: 0, max: 14 }), char)
    .map(([part, times, last]) => part.join('').repeat(times) + last),
  fc.array(char, { maxLength: 30 }).map((all) => all.join('')),
);

test('the matcher that counts finds what RegExp finds, in no more steps than were foretold', () => {
  let counted = 0;
  fc.assert(
    fc.property(
      fc.oneof(
        pattern,
        pattern.map((each) => `^${each}`),
        pattern.map((each) => `^(?:${each})$`),
      ),
      fc.array(text, { minLength: 8, maxLength: 8 }),
      (source, texts) => {
        fc.pre(source.length < 60 && whyDangerous(source) === undefined);
        const parts = partsOf(source);
        const most = stepsOf(source);
        const isEasy = longestFor(source) === undefined;
        for (const each of [...texts, ...['a', 'b', '1', '-'].map((one) => one.repeat(30))]) {
          const matcher = new Matcher(each);
          const bound = most[[...each].length] ?? 0;
          if (bound > MOST_COUNTED) continue;
          expect(matcher.test(parts)).toBe(new RegExp(source, 'u').test(each));
          expect({ source, each, isMore: matcher.steps > bound, steps: matcher.steps, bound }).toMatchObject({
            isMore: false,
          });
          if (isEasy) counted++;
        }
      },
    ),
    { numRuns: 400 },
  );
  expect(counted).toBeGreaterThan(400);
});
