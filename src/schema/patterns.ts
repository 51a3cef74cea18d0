/** How the time that a pattern takes grows with the text, as far as it passes `whyDangerous`: what repeats is then plain. */

type Part =
  | { readonly is: 'set'; readonly source: string }
  | { readonly is: 'start' }
  /** `$`, `\b`, `\B`. */
  | { readonly is: 'edge' }
  | { readonly is: 'group' | 'look'; readonly choices: readonly (readonly Part[])[] }
  | { readonly is: 'repeat'; readonly of: Part; readonly least: number; readonly isLong: boolean };

/** How often the matcher comes by a place: at most length ** degree times, and after one of these characters. */
interface Arrivals {
  readonly degree: number;
  readonly after: readonly string[];
}

/** So many turns are as good as a constant. */
const FEW_TURNS = 100;
const ANYTHING = '[^]';
const EDGE: Part = { is: 'edge' };

/**
 * A backtracking matcher takes at most about length ** degree steps: 1 for `^[a-z]+-[a-z]+$`, 2 for `^.*a.*$`.
 * Begun anew at each character, as it is without `^`, it takes 2 for `a+b`.
 */
export function degreeOf(pattern: string): number {
  // (?i:…) changes what the sets inside it are.
  if (/\(\?[ims-]+:/.test(pattern)) return [...pattern.matchAll(/[*+{]/g)].length + 1;
  const group: Part = { is: 'group', choices: new Parser(pattern).choices() };
  const walk = new Walk();
  walk.part(group, { degree: 1, after: [ANYTHING] }, []);
  return walk.degree;
}

class Walk {
  degree = 1;

  /** `rest`: all that has to match after the part. */
  part(part: Part, arrivals: Arrivals, rest: readonly Part[]): Arrivals {
    switch (part.is) {
      case 'set':
        return { ...arrivals, after: [part.source] };
      case 'start':
        return { degree: 0, after: [] };
      case 'edge':
        return arrivals;
      case 'look':
        // Once it has matched, the matcher does not come back into it; but what comes after can fail.
        for (const choice of part.choices) this.#sequence(choice, { ...arrivals, after: [ANYTHING] }, [EDGE]);
        return arrivals;
      case 'group':
        return either(part.choices.map((choice) => this.#sequence(choice, arrivals, rest)));
      case 'repeat': {
        const turned = part.isLong ? this.#loop(part.of, arrivals, rest) : this.part(part.of, arrivals, rest);
        return part.least === 0 ? either([arrivals, turned]) : turned;
      }
    }
  }

  #sequence(parts: readonly Part[], arrivals: Arrivals, rest: readonly Part[]): Arrivals {
    let now = arrivals;
    for (const [at, part] of parts.entries()) now = this.part(part, now, [...parts.slice(at + 1), ...rest]);
    return now;
  }

  #loop(of: Part, { degree, after }: Arrivals, rest: readonly Part[]): Arrivals {
    const own = setsOf(of);
    // Only looks and edges: they move nowhere.
    if (own.length === 0) return { degree, after };
    // Where nothing can fail afterwards, it is run through once.
    if (!rest.some(canFail)) return { degree, after: own };
    // Begun only behind what it does not contain, it never runs over the same text twice.
    if (degree > 0 && areDisjoint(after, own)) return { degree, after: own };
    this.degree = Math.max(this.degree, degree + 1);
    const next: string[] = [];
    for (const part of rest) if (!collectFirst(part, next)) break;
    const first: string[] = [];
    collectFirst(of, first);
    // It can be left only where it has to be.
    const hasOneEnd = degree === 0 && areDisjoint(first, next);
    return { degree: hasOneEnd ? 0 : degree + 1, after: own };
  }
}

function either(all: readonly Arrivals[]): Arrivals {
  return { degree: Math.max(...all.map(({ degree }) => degree)), after: all.flatMap(({ after }) => after) };
}

/** Adds what the next character can be; whether there may be none. */
function collectFirst(part: Part, sets: string[]): boolean {
  switch (part.is) {
    case 'set':
      sets.push(part.source);
      return false;
    case 'repeat':
      return collectFirst(part.of, sets) || part.least === 0;
    case 'group':
      return part.choices
        .map((choice) => choice.every((each) => collectFirst(each, sets)))
        .some((isEmpty) => isEmpty);
    case 'look':
      // It is run through before the next character is looked at.
      if (part.choices.flat().some(hasLoop)) sets.push(ANYTHING);
      return true;
    default:
      return true;
  }
}

function setsOf(part: Part): string[] {
  if (part.is === 'set') return [part.source];
  if (part.is === 'repeat') return setsOf(part.of);
  return part.is === 'group' ? part.choices.flat().flatMap(setsOf) : [];
}

function hasLoop(part: Part): boolean {
  if (part.is === 'repeat') return part.isLong || hasLoop(part.of);
  return 'choices' in part && part.choices.flat().some(hasLoop);
}

function canFail(part: Part): boolean {
  if (part.is === 'repeat') return part.least > 0 && canFail(part.of);
  return part.is !== 'group' || part.choices.every((choice) => choice.some(canFail));
}

function areDisjoint(some: readonly string[], others: readonly string[]): boolean {
  if (some.length === 0 || others.length === 0) return true;
  const both = new RegExp(`(?=${some.join('|')})(?:${others.join('|')})`, 'u');
  if (both.test(ASCII)) return false;
  return some.every(isAscii) || others.every(isAscii) || !both.test(everyCharacter());
}

function isAscii(set: string): boolean {
  return !/[^ -~]|\\[DPSWpsux]|^\[\^|^\.$/.test(set);
}

const ASCII = String.fromCharCode(...Array(128).keys());

/** Half surrogates aside, which no text has. Made when it is needed, which is seldom: it takes megabytes. */
function everyCharacter(): string {
  const units = new Uint16Array(2 * 0x11_0000);
  let at = 0;
  for (let code = 0; code < 0x1_0000; code++) if (code < 0xd800 || code > 0xdfff) units[at++] = code;
  for (let high = 0xd800; high < 0xdc00; high++)
    for (let low = 0xdc00; low < 0xe000; low++) {
      units[at++] = high;
      units[at++] = low;
    }
  return new TextDecoder('utf-16le').decode(units.subarray(0, at));
}

const OPENING = /\((?:\?(?:<?[=!]|<[^>]*>|:))?/y;
const SET =
  /\\(?:u\{[^}]*\}|u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|x..|c.|[pP]\{[^}]*\}|.)|\[(?:\\.|[^\]\\])*\]|./suy;
const QUANTIFIER = /(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/y;

/** Reads what `RegExp` has accepted. */
class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  choices(isBackward = false): Part[][] {
    const choices: Part[][] = [[]];
    for (; this.#at < this.#text.length && this.#text[this.#at] !== ')'; ) {
      if (this.#text[this.#at] === '|') {
        choices.push([]);
        this.#at++;
      } else choices.at(-1)?.push(this.#quantified());
    }
    // What looks behind is matched from its end.
    return isBackward ? choices.map((choice) => choice.toReversed()) : choices;
  }

  #quantified(): Part {
    const of = this.#single();
    const found = this.#take(QUANTIFIER);
    if (!found) return of;
    const [text, least = text[0] === '+' ? '1' : '0', comma, most] = found;
    const bound =
      text[0] === '?' ? 1 : comma === '' ? Number(least) : Number(most || Number.POSITIVE_INFINITY);
    return { is: 'repeat', of, least: Number(least), isLong: bound > FEW_TURNS };
  }

  #single(): Part {
    const opening = this.#take(OPENING)?.[0];
    if (opening !== undefined) {
      const choices = this.choices(/^\(\?<[=!]/.test(opening));
      this.#at++;
      return { is: /[=!]$/.test(opening) ? 'look' : 'group', choices };
    }
    const source = this.#take(SET)?.[0] ?? '';
    if (source === '^') return { is: 'start' };
    return ['$', '\\b', '\\B'].includes(source) ? EDGE : { is: 'set', source };
  }

  #take(token: RegExp): RegExpExecArray | null {
    token.lastIndex = this.#at;
    const found = token.exec(this.#text);
    if (found) this.#at = token.lastIndex;
    return found;
  }
}
