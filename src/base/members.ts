/** An object that is written as JSON, some of whose members are passed on as they stand there. */

import { type PassedJson, passed } from './passed.ts';

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const BRACE = 0x7b;
const END = 0x7d;
/** What a brace has that a bracket has not. */
const BRACE_BIT = 0x20;

/** Of the object in the text: members of these names are PassedJson, unless they are null, and all others are read. */
export function membersOf(text: string, names: ReadonlySet<string>): Record<string, unknown> {
  if (names.size === 0) return JSON.parse(text);
  const left: [name: string, value: PassedJson][] = [];
  /** The same text with null for what is passed on, up to the place `from`. */
  let rest = '';
  let from = 0;
  for (let at = 0; ; ) {
    const begin = text.indexOf('"', at);
    if (begin < 0) break;
    const end = endOfText(text, begin);
    const value = text.indexOf(':', end) + 1;
    // Of what is no JSON, whoever reads it complains.
    if (value === 0) break;
    at = endOfValue(text, value);
    const written = text.slice(begin, end);
    const name = written.includes('\\') ? JSON.parse(written) : written.slice(1, -1);
    if (!names.has(name)) continue;
    rest += `${text.slice(from, value)}null`;
    from = at;
    const given = text.slice(value, at).trim();
    if (given !== 'null') left.push([name, passed(given)]);
  }
  const members = JSON.parse(from === 0 ? text : rest + text.slice(from));
  for (const [name, value] of left) members[name] = value;
  return members;
}

/** Where the text ends that begins at this place: behind the first quote that no backslash escapes, unless that one is escaped itself. */
function endOfText(json: string, begin: number): number {
  for (let at = begin; ; ) {
    at = json.indexOf('"', at + 1);
    if (at < 0) return json.length;
    let escapes = 0;
    while (json.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return at + 1;
  }
}

/** Where the value ends that begins at this place, spaces before it included. */
function endOfValue(json: string, begin: number): number {
  let at = begin;
  while (json.charCodeAt(at) <= SPACE) at++;
  const first = json.charCodeAt(at);
  if (first === QUOTE) return endOfText(json, at);
  if (opens(first)) return endOfNested(json, at);
  for (; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === COMMA || code === END) break;
  }
  return at;
}

/** Of a list or an object. */
function endOfNested(json: string, begin: number): number {
  let depth = 0;
  for (let at = begin; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfText(json, at) - 1;
    else if (opens(code)) depth++;
    else if (closes(code) && --depth === 0) return at + 1;
  }
  return json.length;
}

/** Brackets and braces differ by one bit, which no other two characters of JSON outside of texts do that way. */
function opens(code: number): boolean {
  return (code | BRACE_BIT) === BRACE;
}

function closes(code: number): boolean {
  return (code | BRACE_BIT) === END;
}
