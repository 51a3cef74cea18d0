/** Reads a regular expression into its parts. */

export type Part =
  | { readonly is: 'set'; readonly source: string }
  | { readonly is: 'start' }
  /** `$`, `\b`, `\B`. */
  | { readonly is: 'edge' }
  | { readonly is: 'group'; readonly choices: Choices }
  | { readonly is: 'look'; readonly choices: Choices; readonly isBehind: boolean; readonly isNot: boolean }
  | Repeat;

export type Choices = readonly (readonly Part[])[];

export interface Repeat {
  readonly is: 'repeat';
  readonly of: Part;
  readonly least: number;
  readonly most: number;
}

export const ANYTHING = '[^]';

/** Of what `RegExp` has accepted with the u flag. */
export function partsOf(pattern: string): Part {
  return { is: 'group', choices: new Parser(pattern).choices() };
}

const OPENING = /\((?:\?(?:<?[=!]|<[^>]*>|[ims-]*:))?/y;
const SET =
  /\\(?:u\{[^}]*\}|u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|x..|c.|[pP]\{[^}]*\}|.)|\[(?:\\.|[^\]\\])*\]|./suy;
const QUANTIFIER = /(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/y;

class Parser {
  readonly #text: string;
  /** (?i:…) and its like change what the sets and edges inside of them are. */
  readonly #isVague: boolean;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.#isVague = /\(\?[ims-]+:/.test(text);
  }

  choices(isBehind = false): Part[][] {
    const choices: Part[][] = [[]];
    for (; this.#at < this.#text.length && this.#text[this.#at] !== ')'; ) {
      if (this.#text[this.#at] === '|') {
        choices.push([]);
        this.#at++;
      } else choices.at(-1)?.push(this.#quantified(isBehind));
    }
    // What looks behind is matched from its end.
    return isBehind ? choices.map((choice) => choice.toReversed()) : choices;
  }

  #quantified(isBehind: boolean): Part {
    const of = this.#single(isBehind);
    const found = this.#take(QUANTIFIER);
    if (!found) return of;
    const [text, least = text[0] === '+' ? '1' : '0', comma, most] = found;
    const bound =
      text[0] === '?' ? 1 : comma === '' ? Number(least) : Number(most || Number.POSITIVE_INFINITY);
    return { is: 'repeat', of, least: Number(least), most: bound };
  }

  #single(isBehind: boolean): Part {
    const opening = this.#take(OPENING)?.[0];
    if (opening !== undefined) {
      const isLook = /[=!]$/.test(opening);
      const looksBehind = isLook && opening.includes('<');
      const choices = this.choices(isLook ? looksBehind : isBehind);
      this.#at++;
      return isLook
        ? { is: 'look', choices, isBehind: looksBehind, isNot: opening.endsWith('!') }
        : { is: 'group', choices };
    }
    const source = this.#take(SET)?.[0] ?? '';
    if (source === '^' && !this.#isVague) return { is: 'start' };
    if (['^', '$', '\\b', '\\B'].includes(source)) return { is: 'edge' };
    return { is: 'set', source: this.#isVague ? ANYTHING : source };
  }

  #take(token: RegExp): RegExpExecArray | null {
    token.lastIndex = this.#at;
    const found = token.exec(this.#text);
    if (found) this.#at = token.lastIndex;
    return found;
  }
}
