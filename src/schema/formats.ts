/** The formats that `@constraint(format:)` knows, and the patterns that it takes. */

import { isIP } from 'node:net';
import { stepsOf } from './patterns.ts';
import { canonicalDate, canonicalDateTime, canonicalUuid } from './scalars.ts';

// The address form of HTML's <input type=email>, which is what people mean by an e-mail address.
const email =
  /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?=.{1,255}$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?){0,126}$/;
// RFC 3986 characters only; the URL parser alone would quietly repair spaces and backslashes.
const uriBegin = /^[a-zA-Z][a-zA-Z0-9+.-]*:./;
// Looked for, and not gone through one by one to the end: that would take half a second for a megabyte.
const notOfUri = /[^a-zA-Z0-9\-._~:/?#[\]@!$&'()*+,;=%]|%(?![0-9a-fA-F]{2})/;
// No host is that long, with a user before it or not; but the parser would unpack it and put its accents in order, for minutes.
const longAuthority = /^(?:https?|wss?|ftp|file):\/*[^/?#]{2001}/i;

export const formats: ReadonlyMap<
  string,
  { readonly what: string; readonly test: (text: string) => boolean }
> = new Map([
  ['email', { what: 'an e-mail address', test: (text: string) => email.test(text) }],
  ['uri', { what: 'an absolute URI', test: isUri }],
  ['uuid', { what: 'a UUID', test: (text: string) => canonicalUuid(text) !== undefined }],
  ['date-time', { what: 'an RFC 3339 time', test: (text: string) => canonicalDateTime(text) !== undefined }],
  [
    'date',
    { what: 'a calendar day as YYYY-MM-DD', test: (text: string) => canonicalDate(text) !== undefined },
  ],
  ['ipv4', { what: 'an IPv4 address', test: (text: string) => isIP(text) === 4 }],
  ['ipv6', { what: 'an IPv6 address', test: (text: string) => isIP(text) === 6 && !text.includes('%') }],
]);

function isUri(text: string): boolean {
  return uriBegin.test(text) && !notOfUri.test(text) && !longAuthority.test(text) && URL.canParse(text);
}

/** In more ways than this no text is matched. */
const MOST_WAYS = 100_000;

interface Group {
  /** In how many ways the group can at most match one text. */
  ways: number;
  quantified: boolean;
}

/**
 * Says why a pattern could take exponential time on hostile text, or undefined.
 * A backtracking matcher blows up when a repeated group can match the same text in two ways:
 * a quantifier inside a repeated group, alternatives inside one, or a back-reference.
 */
export function whyDangerous(pattern: string): string | undefined {
  const groups: [Group, ...Group[]] = [{ ways: 1, quantified: false }];
  let closed: Group | undefined;
  let quantified = false;
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at];
    const before = closed;
    const lazy = quantified && char === '?';
    closed = undefined;
    quantified = false;
    const open = groups.at(-1) ?? groups[0];
    if (char === '\\') {
      at++;
      if (/[1-9k]/.test(pattern[at] ?? '')) return 'back-references';
      // The braces of \u{61} and \p{L} are no quantifier.
      if (/[upP]/.test(pattern[at] ?? '') && pattern[at + 1] === '{') at = pattern.indexOf('}', at);
    } else if (char === '[') {
      while (++at < pattern.length && pattern[at] !== ']') if (pattern[at] === '\\') at++;
    } else if (char === '(') {
      groups.push({ ways: 1, quantified: false });
      if (pattern[at + 1] === '?') at++;
    } else if (char === ')') {
      closed = open;
      groups.pop();
      const outer = groups.at(-1) ?? groups[0];
      outer.ways *= closed.ways;
      outer.quantified ||= closed.quantified;
    } else if (char === '|') {
      open.ways++;
    } else if (char === '?' && !lazy) {
      open.ways *= 2;
      open.quantified = true;
      quantified = true;
    } else if (char === '*' || char === '+' || char === '{') {
      const [least, most, length] = readQuantifier(pattern, at);
      const why = before?.quantified ? 'nested quantifiers' : 'alternatives in a repeated group';
      if (before && before.ways > 1) {
        // A fixed number of times is as good as writing the group out, which helps only while it is short.
        if (least !== most || before.ways ** most > MOST_WAYS) return why;
        open.ways *= before.ways ** Math.max(0, most - 1);
      }
      if (least !== most) {
        open.ways *= most - least + 1;
        open.quantified = true;
      }
      at += length - 1;
      quantified = true;
    }
  }
  return undefined;
}

/** A step takes some two nanoseconds: a whole body of texts that are hard to check takes less than a fifth of a second. */
const MOST_STEPS = 100;
/** However short a text is, checking it takes as long as so many characters: quotes, a comma, and all else that is checked. */
const AROUND_TEXT = 8;
/** The time that it takes to judge a pattern grows faster than its length. */
const LONGEST_PATTERN = 500;

/** Why no field may have a pattern, or none without a smaller `maxLength`; undefined if it may. */
export function whyRefused(pattern: string, maxLength = Number.POSITIVE_INFINITY): string | undefined {
  if (pattern.length > LONGEST_PATTERN)
    return `has ${pattern.length} characters, and may have ${LONGEST_PATTERN}. Shorten it; a list of words can be an enum.`;
  const danger = whyDangerous(pattern);
  if (danger !== undefined)
    return `has ${danger}, with which hostile text takes for ever to check. Write it without.`;
  const longest = longestFor(pattern);
  if (longest === undefined || maxLength <= longest) return undefined;
  const long = 'tries the same text again and again, which takes long';
  if (longest === 0)
    return `${long} even where it is short. Write it with fewer quantifiers or alternatives.`;
  return `${long} where it is long. Add "maxLength: ${longest}" or less, or begin it with ^ and let what repeats end where the next part begins.`;
}

/** The longest text that a pattern can be tried on without noticeable time, where that does not hold for any. */
export function longestFor(pattern: string): number | undefined {
  const tooLong = stepsOf(pattern).findIndex((steps, length) => steps > MOST_STEPS * (length + AROUND_TEXT));
  return tooLong === -1 ? undefined : Math.max(0, tooLong - 1);
}

const BRACES = /\{(\d+)(,?)(\d*)\}/y;

function readQuantifier(pattern: string, at: number): [least: number, most: number, length: number] {
  BRACES.lastIndex = at;
  const [text, least, comma, most] = BRACES.exec(pattern) ?? [];
  if (text === undefined) return [0, Number.POSITIVE_INFINITY, 1];
  if (!comma) return [Number(least), Number(least), text.length];
  return [Number(least), most ? Number(most) : Number.POSITIVE_INFINITY, text.length];
}
