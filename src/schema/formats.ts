/** The formats that `@constraint(format:)` knows, and the patterns that it takes. */

import { isIP } from 'node:net';
import { canonicalDate, canonicalDateTime, canonicalUuid } from './scalars.ts';

// The address form of HTML's <input type=email>, which is what people mean by an e-mail address.
const email =
  /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?=.{1,255}$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?){0,126}$/;
// RFC 3986 characters only; the URL parser alone would quietly repair spaces and backslashes.
const uriCharacters = /^[a-zA-Z][a-zA-Z0-9+.-]*:(?:[a-zA-Z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9a-fA-F]{2})+$/;

export const formats: ReadonlyMap<
  string,
  { readonly what: string; readonly test: (text: string) => boolean }
> = new Map([
  ['email', { what: 'an e-mail address', test: (text: string) => email.test(text) }],
  [
    'uri',
    { what: 'an absolute URI', test: (text: string) => uriCharacters.test(text) && URL.canParse(text) },
  ],
  ['uuid', { what: 'a UUID', test: (text: string) => canonicalUuid(text) !== undefined }],
  ['date-time', { what: 'an RFC 3339 time', test: (text: string) => canonicalDateTime(text) !== undefined }],
  [
    'date',
    { what: 'a calendar day as YYYY-MM-DD', test: (text: string) => canonicalDate(text) !== undefined },
  ],
  ['ipv4', { what: 'an IPv4 address', test: (text: string) => isIP(text) === 4 }],
  ['ipv6', { what: 'an IPv6 address', test: (text: string) => isIP(text) === 6 }],
]);

/**
 * Says why a pattern could take exponential time on hostile text, or undefined.
 * A backtracking matcher blows up when a repeated group can match the same text in two ways:
 * a quantifier inside a repeated group, alternatives inside one, or a back-reference.
 */
export function whyDangerous(pattern: string): string | undefined {
  const groups: { ambiguous: boolean }[] = [{ ambiguous: false }];
  let closed: { ambiguous: boolean } | undefined;
  let quantified = false;
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at];
    const before = closed;
    const lazy = quantified && char === '?';
    closed = undefined;
    quantified = false;
    const open = groups.at(-1);
    if (!open) return undefined;
    if (char === '\\') {
      at++;
      if (/[1-9k]/.test(pattern[at] ?? '')) return 'back-references';
    } else if (char === '[') {
      while (++at < pattern.length && pattern[at] !== ']') if (pattern[at] === '\\') at++;
    } else if (char === '(') {
      groups.push({ ambiguous: false });
      if (pattern[at + 1] === '?') at++;
    } else if (char === ')') {
      closed = groups.pop();
      if (closed?.ambiguous) for (const outer of groups) outer.ambiguous = true;
    } else if (char === '|') {
      open.ambiguous = true;
    } else if (char === '?' && !lazy) {
      quantified = true;
      for (const outer of groups) outer.ambiguous = true;
    } else if (char === '*' || char === '+' || char === '{') {
      const repeat = char === '{' ? /^\{(\d+)(,?)(\d*)\}/.exec(pattern.slice(at)) : undefined;
      // {3} repeats a fixed number of times: it is as good as writing the group out.
      const varies = char !== '{' || (repeat?.[2] === ',' && repeat[1] !== repeat[3]);
      if (varies && before?.ambiguous) return 'nested quantifiers';
      if (varies) for (const outer of groups) outer.ambiguous = true;
      at += repeat ? repeat[0].length - 1 : 0;
      quantified = true;
    }
  }
  return undefined;
}
