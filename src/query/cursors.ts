/** The text of a place in an order: opaque to clients, bound to its query, and short whatever the place is made of. */

import { foldedBeginning } from '../schema/folding.ts';
import type { Column, Resource } from '../schema/model.ts';
import { isScalar, longestOf } from '../schema/values.ts';
import { all, any, canonical, equal, everything, type Filter } from './filter.ts';
import type { Order, Place } from './order.ts';

/** Two of them fit into a Link header of 1 KiB, together with a path and a short query. */
export const LONGEST_CURSOR = 420;
/** Bytes of JSON: with the names of the members, less than three quarters of that. */
const KEY_ROOM = 60;
const LEAD_ROOM = 140;
/** 64 bits to the base of 36. */
const LONGEST_NAME = 13;
/** 32 bits and a dot. */
const LONGEST_BELOW = 8;
/** Of how many references a name says what the list is called without them: there is no room for more. */
const MOST_PARENTS = 2;

/**
 * A place whose values do not fit into a cursor: as much of it as does, and how to recognise the record that it was made
 * from. While that record is there and unchanged, it has the values.
 */
export interface Abridged {
  /** Of all values. */
  readonly digest: string;
  readonly key: unknown;
  /** Whether that is only the beginning of the key. */
  readonly begins: boolean;
  /** The first values, as many as fit. */
  readonly lead: Place;
  /** Whether the last of those is only the beginning of a text. */
  readonly cut: boolean;
}

export function isAbridged(place: Place | Abridged | undefined): place is Abridged {
  return place !== undefined && !Array.isArray(place);
}

export function cursorTo(query: string, order: Order, place: Place): string {
  if (!place.some((value) => typeof value === 'string' && value.length > LONGEST_CURSOR)) {
    const whole = encoded([query, ...place]);
    if (whole.length <= LONGEST_CURSOR) return whole;
  }
  return encoded([query, abridged(order, place)]);
}

/** How long the cursors of a list can get; `isNested`: of one that belongs to a record. */
export function longestCursor(
  { where, order }: { readonly where: Filter; readonly order: Order },
  isNested = false,
): number {
  const parents = Math.min(MOST_PARENTS, partsOf(where).filter(isParent).length + Number(isNested));
  // `["` and `"]` around the name of the query, and a comma before each value.
  let bytes = LONGEST_NAME + parents * LONGEST_BELOW + 4;
  for (const { column } of order) bytes += 1 + longestOf(column);
  return Math.min(LONGEST_CURSOR, Math.ceil((bytes * 4) / 3));
}

function encoded(content: unknown): string {
  return Buffer.from(JSON.stringify(content)).toString('base64url');
}

/** Undefined for text that is not a cursor of a query that is meant. */
export function placeOf(
  isMeant: (query: string) => boolean,
  order: Order,
  cursor: string,
): Place | Abridged | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
  if (!Array.isArray(parsed) || typeof parsed[0] !== 'string' || !isMeant(parsed[0])) return undefined;
  const [first] = parsed.slice(1);
  if (parsed.length === 2 && typeof first === 'object' && first !== null) return abridgedFrom(order, first);
  const place = parsed.slice(1);
  return place.length === order.length && areAdmitted(order, place) ? place : undefined;
}

/**
 * What a cursor belongs to: it means nothing under another filter or order. The list of all that refer to one record, such
 * as `/posts?authorId=1`, is that record's own list too, so its name says besides what it is called there.
 */
export function queryName(resource: Resource, where: Filter, order: Order): string {
  return queryNames(resource, where, order)();
}

/**
 * The same of the lists of many records, each with a part of its own: the rest, which may be a megabyte, is put into words
 * once for all of them.
 */
export function queryNames(resource: Resource, where: Filter, order: Order): (own?: Filter) => string {
  const { parents, others } = termsOf(where);
  const around = aroundTerms(resource, order);
  const text = (asked: readonly string[]) => around(together([...asked, ...others]));
  return (own) => {
    const term = own && canonical(own);
    const asked = term === undefined ? parents : [term, ...parents.filter((each) => each !== term)];
    const names = asked
      .map((parent) => nameBelow(text(asked.filter((each) => each !== parent))))
      .sort()
      .slice(0, MOST_PARENTS);
    return [wholeName(text(asked)), ...names].join('.');
  };
}

/** Characters; a longer filter is known by its hash, so that no record's name is made of all of it. */
const LONGEST_TERMS = 1000;

/** What the parts of a filter say; the parents among them are few where there is a record, for it refers to one by each field. */
function termsOf(where: Filter): { readonly parents: readonly string[]; readonly others: readonly string[] } {
  const parts = partsOf(where);
  const parents = distinct(parts.filter(isParent).map(canonical));
  const others = distinct(parts.filter((part) => !isParent(part)).map(canonical));
  const length = others.reduce((sum, term) => sum + term.length, 0);
  if (length <= LONGEST_TERMS) return { parents, others };
  return { parents, others: [`#${Bun.hash(together(others)).toString(36)}`] };
}

function distinct(terms: readonly string[]): readonly string[] {
  return terms.length > 1 ? [...new Set(terms)] : terms;
}

/** What `canonical` makes of filters that say so, all together. */
function together(terms: readonly string[]): string {
  return terms.length === 1 && terms[0] !== undefined ? terms[0] : `all(${terms.toSorted().join()})`;
}

function partsOf(where: Filter): readonly Filter[] {
  return where.is === 'all' ? where.of : [where];
}

/** Whether it asks for all that refer to one record. */
function isParent(part: Filter): boolean {
  return part.is === 'eq' && part.column.reference !== undefined;
}

/**
 * Whether a name is that of this query; a nested list is meant too by that of the list of any record, and all that it says
 * besides is for those.
 */
export function isNameOf(
  resource: Resource,
  where: Filter,
  order: Order,
  isNested: boolean,
): (name: string) => boolean {
  const { parents, others } = termsOf(where);
  // Names of before were made of the whole filter, however long, and of what it says twice.
  const terms = new Set([together([...parents, ...others]), canonical(where)]);
  const texts = [...terms].map(aroundTerms(resource, order));
  const wholes = texts.map(wholeName);
  const below = isNested ? texts.map(nameBelow) : [];
  return (name) => {
    const [own = '', ...besides] = name.split('.');
    return wholes.includes(own) || below.some((each) => besides.includes(each));
  };
}

function wholeName(text: string): string {
  return Bun.hash(text).toString(36);
}

/** What a list is called among those of the records that it belongs to. */
function nameBelow(text: string): string {
  return Bun.hash.crc32(text).toString(36);
}

/** The text that a name is a hash of. */
function aroundTerms(resource: Resource, order: Order): (terms: string) => string {
  const by = order.map(({ column, descending }) => `\n${descending ? '-' : ''}${column.name}`).join('');
  return (terms) => `${resource.name}\n${terms}${by}`;
}

function abridged(order: Order, place: Place): Abridged {
  // The key is the last of every order.
  const key = place.at(-1);
  const begins = bytesOf(key, KEY_ROOM) > KEY_ROOM;
  return {
    digest: digestOf(place),
    key: begins ? beginningOf(String(key), KEY_ROOM) : key,
    begins,
    ...leadOf(order, place),
  };
}

function leadOf(order: Order, place: Place): Pick<Abridged, 'lead' | 'cut'> {
  const lead: unknown[] = [];
  let room = LEAD_ROOM;
  for (const [index, value] of place.entries()) {
    const bytes = bytesOf(value, room);
    if (bytes > room) {
      const column = order[index]?.column;
      const whole = typeof value === 'string' ? value : '';
      const text = beginningOf(column?.folded ? foldedBeginning(whole, LONG_TEXT) : whole, room);
      // Of a text that has a form, such as a date, a part is nothing to compare with.
      const cut = text !== '' && column !== undefined && admits(column, text);
      return { lead: cut ? [...lead, text] : lead, cut };
    }
    room -= bytes;
    lead.push(value);
  }
  return { lead, cut: false };
}

/** As it stands in a list, with the comma; of a text that is too long in any case, no more than that. */
function bytesOf(value: unknown, room: number): number {
  if (typeof value === 'string' && value.length > room) return value.length;
  return Buffer.byteLength(JSON.stringify(value)) + 1;
}

/** `"",` */
const AROUND_TEXT = 3;

/** Whole characters only: half of a surrogate pair would be compared as something else. */
function beginningOf(text: string, room: number): string {
  let [end, left] = [0, room - AROUND_TEXT];
  for (const character of text) {
    left -= bytesOfCharacter(character.codePointAt(0) ?? 0);
    if (left < 0) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** `\u0001` */
const MOST_BYTES_OF_CHARACTER = 6;

/** In JSON. */
function bytesOfCharacter(code: number): number {
  if (code < 0x20) return '\b\t\n\f\r'.includes(String.fromCodePoint(code)) ? 2 : 6;
  if (code < 0x80) return code === 0x22 || code === 0x5c ? 2 : 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}

/** Characters of a text that are looked at one by one: a page can have a hundred texts of a megabyte. */
const LONG_TEXT = 1000;
const OF_LONG = '~';

/** A long text counts by its length and a fast hash, without being written as JSON, and the digest says so. */
function digestOf(place: Place): string {
  const isLong = (value: unknown) => typeof value === 'string' && value.length > LONG_TEXT;
  if (!place.some(isLong)) return digested(place, 16);
  const short = place.map((value) =>
    isLong(value) ? [String(value).length, Bun.hash(String(value)).toString(36)] : value,
  );
  return OF_LONG + digested(short, 15);
}

/** Cursors of before have digests of whole texts, however long. */
export function isDigestOf(digest: string, place: Place): boolean {
  return digest === (digest.startsWith(OF_LONG) ? digestOf(place) : digested(place, 16));
}

function digested(values: readonly unknown[], bytes: number): string {
  return Bun.CryptoHasher.hash('sha256', JSON.stringify(values)).subarray(0, bytes).toString('base64url');
}

/** Clients can write cursors too: each value must be one that the column could have. */
function abridgedFrom(order: Order, given: object): Abridged | undefined {
  const { digest, key, begins, lead, cut } = given as Partial<Record<keyof Abridged, unknown>>;
  const last = order.at(-1);
  if (!last || typeof digest !== 'string' || typeof begins !== 'boolean' || typeof cut !== 'boolean')
    return undefined;
  if (!Array.isArray(lead) || lead.length > order.length || !areAdmitted(order, lead)) return undefined;
  if (!admits(last.column, key)) return undefined;
  // All keys that begin so are read: a short one would be the beginning of many.
  const isCut = typeof key === 'string' && bytesOf(key, KEY_ROOM) > KEY_ROOM - MOST_BYTES_OF_CHARACTER;
  if (begins && !isCut) return undefined;
  if (cut && typeof lead.at(-1) !== 'string') return undefined;
  return { digest, key, begins, lead, cut };
}

/** The rows that come after such a place, and some of those before it: none of the former is left out. */
export function fromLead(order: Order, { lead, cut }: Abridged): Filter {
  const from = (index: number): Filter => {
    const at = order[index];
    if (!at || index >= lead.length) return everything;
    const { column, descending } = at;
    const value = lead[index];
    const none: Filter = { is: 'null', column };
    const next = from(index + 1);
    // Nulls are the lowest: before everything in ascending order, after everything in descending order.
    if (value === null) return descending ? all([none, next]) : any([{ is: 'not', of: none }, next]);
    const beyond: Filter = { is: descending ? 'lt' : 'gt', column, value };
    const same: Filter =
      cut && index === lead.length - 1
        ? { is: 'startsWith', column, value }
        : all([equal(column, value), next]);
    return any(descending ? [beyond, none, same] : [beyond, same]);
  };
  return from(0);
}

function areAdmitted(order: Order, values: Place): boolean {
  return values.every((value, index) => {
    const at = order[index];
    return at !== undefined && admits(at.column, value);
  });
}

function admits({ type, required }: Column, value: unknown): boolean {
  if (value === null) return !required;
  if (!isScalar(type)) return type.values.some(({ name }) => name === value);
  let fine = true;
  const checked = type.check(value, () => {
    fine = false;
  });
  return fine && checked === value;
}
