/** Texts that a pattern matches, as far as they can be guessed from its parts. */

import { type Part, partsOf } from './pattern-parts.ts';

const CHARACTERS = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@/:+#, '];

/** How often what may be repeated is, where the pattern lets it be chosen. */
const TIMES = [3, 1, 0, 8, 20];

/** What a pattern says of the places beside a character is not thought of: whoever takes one of them tries it. */
export function matching(pattern: string): string[] {
  const whole = partsOf(pattern);
  return [...new Set(TIMES.map((times) => written(whole, times, '')))];
}

/** Goes on after what is written already, so that repeated characters are not all the same. */
function written(part: Part, times: number, before: string): string {
  switch (part.is) {
    case 'set':
      return before + characterOf(part.source, before.length);
    case 'group':
      return (part.choices[0] ?? []).reduce((text, each) => written(each, times, text), before);
    case 'repeat': {
      let text = before;
      const count = Math.max(part.least, Math.min(part.most, times));
      for (let left = count; left > 0 && text.length < LONGEST; left--) text = written(part.of, times, text);
      return text;
    }
    default:
      return before;
  }
}

/** Nobody reads a longer example. */
const LONGEST = 200;

function characterOf(source: string, at: number): string {
  const one = new RegExp(`^(?:${source})$`, 'u');
  const fitting = CHARACTERS.filter((each) => one.test(each));
  return fitting[at % fitting.length] ?? source.replace(/^\\/, '');
}
