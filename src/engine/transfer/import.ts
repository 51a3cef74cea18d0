/** The lines of an export → a program that stores what they have: all of it, or nothing and every fault of the file. */

import type { Column, Model, Resource } from '../../schema/model.ts';
import { MAX_KEY } from '../../schema/scalars.ts';
import type { Statement } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import { type KeptKey, readKept, storeKept } from '../api-keys.ts';
import { burial, faultOf, type Remains } from '../write/remains.ts';
import { isObject, LastIds, RecordReader, resourceOf } from './load.ts';
import {
  batchOf,
  FileFault,
  type Loaded,
  lateColumns,
  requiredFirst,
  storeBatch,
  storeLate,
} from './store.ts';

/** A version is an Int of GraphQL. */
const MAX_VERSION = 2 ** 31 - 1;
const MOST_FAULTS = 20;
/** Beyond so many characters a batch is stored, however few its records are. */
const BATCH_LENGTH = 1024 * 1024;
/** How many statements that are alike go out together. */
const TOGETHER = 500;

/** Asked of each line, in its order, before it is decoded: those that are known are left out. */
export type IsKnown = (bytes: Uint8Array, from: number, to: number) => boolean;

export interface Source {
  /** All lines, from the first; asked for again where their order makes that necessary. */
  readonly lines: (isKnown?: IsKnown) => Iterable<string>;
  /** Told how many records there are, as soon as that is known, and how many have been stored. */
  readonly progress: (stored: number, all: number) => void;
}

/** `singly`: where the batch begins whose records are stored one by one, so that the one which is refused can be named. */
export function* importing(model: Model, source: Source, singly?: string): Program<void> {
  const file = new ImportFile(model, source.lines, singly);
  const { spans, records } = yield* file.look();
  let stored = 0;
  const told = (more: number) => {
    stored += more;
    source.progress(stored, records);
  };
  for (const resources of file.passes(spans)) yield* file.store(resources, storeBatch, told);
  file.refuse();
  const late = new Set([...spans.keys()].filter((each) => file.lateOf(each).length > 0));
  if (late.size > 0) yield* file.store(late, storeLate, () => {});
  yield* file.storeKeyless();
  yield* file.ids.raise();
}

/** Between which lines the records of a resource are. */
interface Span {
  readonly first: number;
  last: number;
}

type Spans = ReadonlyMap<Resource, Span>;

/** How an export writes a record: whose it is can be told without reading all of it. */
const RECORD = /^\{"resource":"([^"\\]+)",(?:"version":\d+,)?"record":/;
const beginningOf = (plural: string) => `{"resource":${JSON.stringify(plural)},`;
const [VERSION_NAME, RECORD_NAME] = ['"version":', '"record":'].map((name) => Buffer.from(name)) as [
  Buffer,
  Buffer,
];
const [ZERO, NINE, COMMA] = ['0', '9', ','].map((char) => char.charCodeAt(0)) as [number, number, number];

/** The same for one that begins so, by its bytes. */
function hasRecord(bytes: Uint8Array, from: number, begins: Uint8Array): boolean {
  if (!hasAt(bytes, from, begins)) return false;
  let at = from + begins.length;
  if (hasAt(bytes, at, VERSION_NAME)) {
    at += VERSION_NAME.length;
    const first = at;
    for (let digit = bytes[at]; digit !== undefined && digit >= ZERO && digit <= NINE; digit = bytes[at])
      at++;
    if (at === first || bytes[at++] !== COMMA) return false;
  }
  return hasAt(bytes, at, RECORD_NAME);
}

function hasAt(bytes: Uint8Array, from: number, wanted: Uint8Array): boolean {
  for (let at = 0; at < wanted.length; at++) if (bytes[from + at] !== wanted[at]) return false;
  return true;
}

class ImportFile {
  readonly ids = new LastIds();
  readonly #model: Model;
  readonly #source: Source['lines'];
  readonly #singly: string | undefined;
  readonly #order: readonly Resource[];
  readonly #resources: ReadonlyMap<string, Resource>;
  readonly #late: ReadonlyMap<Resource, readonly Column[]>;
  readonly #unknown = new Set<string>();
  /** Records that were given a key here and have references to be set: to read them again would give them another. */
  readonly #keyless: { readonly resource: Resource; readonly loaded: Loaded }[] = [];
  readonly #faults: string[] = [];
  /** How many resources have records. */
  #recorded = 0;
  #untold = 0;

  constructor(model: Model, source: Source['lines'], singly: string | undefined) {
    this.#model = model;
    this.#source = source;
    this.#singly = singly;
    this.#order = requiredFirst(model.resources);
    this.#resources = new Map(model.resources.map((each) => [each.plural, each]));
    this.#late = new Map(model.resources.map((each) => [each, lateColumns(each, this.#order)]));
  }

  refuse(): void {
    if (this.#untold > 0) this.#faults.push(`and ${this.#untold} more`);
    if (this.#faults.length > 0) throw new FileFault(this.#faults.join('\n'));
  }

  lateOf(resource: Resource): readonly Column[] {
    return this.#late.get(resource) ?? [];
  }

  /** Finds out where the records are, and stores everything else: a record whose key was buried goes on from there. */
  *look(): Program<{ readonly spans: Spans; readonly records: number }> {
    const spans = new Map<Resource, Span>();
    let records = 0;
    let statements: Statement[] = [];
    const keys: KeptKey[] = [];
    let number = 0;
    // Most lines have a record of the same resource as the one before.
    let [begins, current]: [Uint8Array, Span | undefined] = [new Uint8Array(), undefined];
    const isAlike: IsKnown = (bytes, from) => {
      number++;
      if (!current || !hasRecord(bytes, from, begins)) return false;
      records++;
      current.last = number;
      return true;
    };
    for (const text of this.#source(isAlike)) {
      if (text.trim() === '') continue;
      const plural = RECORD.exec(text)?.[1];
      const entry = plural === undefined ? readLine(text) : { plural };
      if (!entry) this.#faults.push(`line ${number} is none of ${FORMS.join(', ')}`);
      if (!entry) continue;
      if ('key' in entry) {
        keys.push(entry.key);
        continue;
      }
      const resource = this.#resourceOf(entry.plural);
      if (!resource) continue;
      if ('remains' in entry) {
        const statement = this.#remains(resource, entry.remains, number);
        if (statement) statements.push(statement);
        if (statements.length === TOGETHER) {
          yield statements;
          statements = [];
        }
        continue;
      }
      records++;
      current = spans.get(resource) ?? { first: number, last: number };
      current.last = number;
      begins = Buffer.from(beginningOf(entry.plural));
      spans.set(resource, current);
    }
    if (statements.length > 0) yield statements;
    yield* storeKept(keys, this.#faults);
    this.#hasFaults();
    this.#recorded = spans.size;
    return { spans, records };
  }

  /** Whose records are stored in one pass over the file: what they require was stored before, or comes before them. */
  *passes(spans: Spans): Iterable<ReadonlySet<Resource>> {
    const left = new Set(this.#order.filter((resource) => spans.has(resource)));
    while (left.size > 0) {
      const pass = new Set<Resource>();
      for (const resource of left) {
        const from = spans.get(resource)?.first ?? 0;
        const waits = resource.references.some(
          ({ required, target }) =>
            required &&
            target !== resource &&
            left.has(target) &&
            !(pass.has(target) && (spans.get(target)?.last ?? 0) < from),
        );
        if (!waits) pass.add(resource);
      }
      yield pass;
      for (const resource of pass) left.delete(resource);
    }
  }

  /** The records of these resources, batch by batch. After a fault nothing is stored any more, only looked at. */
  *store(
    resources: ReadonlySet<Resource>,
    storing: typeof storeBatch,
    told: (stored: number) => void,
  ): Program<void> {
    const readers = new Map([...resources].map((each) => [each, new RecordReader(each)]));
    const isWhole = readers.size === this.#recorded;
    let current: Resource | undefined;
    let batch: Loaded[] = [];
    let most = 0;
    let length = 0;
    let number = 0;
    for (const text of this.#source()) {
      number++;
      if (text.trim() === '') continue;
      // Most lines of another pass need not be read.
      const plural = RECORD.exec(text)?.[1];
      const isOfAnother = plural !== undefined && !readers.has(this.#resources.get(plural) as Resource);
      if (!isWhole && isOfAnother) continue;
      const line = readLine(text);
      // One that names its resource twice is of another than it was taken for.
      const entry =
        line && 'record' in line && plural !== undefined && line.plural !== plural ? undefined : line;
      // The others were told when they were looked at.
      if (!entry && plural !== undefined) this.#faults.push(`line ${number} is none of ${FORMS.join(', ')}`);
      const resource = entry && 'record' in entry ? this.#resources.get(entry.plural) : undefined;
      const reader = resource && readers.get(resource);
      if (!entry || !('record' in entry) || !reader) continue;
      const { record, version } = entry;
      const where = `line ${number}`;
      const isKeyless =
        this.lateOf(resource).length > 0 && isObject(record) && !Object.hasOwn(record, resource.key.name);
      if (isKeyless && storing === storeLate) continue;
      const row = this.ids.given(resource, reader.read(record, where, this.#faults));
      if (this.#hasFaults()) continue;
      if (current && (current !== resource || batch.length === most || length > BATCH_LENGTH)) {
        yield* this.#storeBatch(current, batch, storing);
        told(batch.length);
        batch = [];
        length = 0;
      }
      if (current !== resource) most = batchOf(resource);
      current = resource;
      const loaded = { where, row, version };
      batch.push(loaded);
      if (isKeyless) this.#keyless.push({ resource, loaded });
      length += text.length;
    }
    if (!current || this.#hasFaults()) return;
    yield* this.#storeBatch(current, batch, storing);
    told(batch.length);
  }

  *storeKeyless(): Program<void> {
    for (const { resource, loaded } of this.#keyless)
      yield* storeLate(resource, [loaded], this.lateOf(resource));
  }

  *#storeBatch(resource: Resource, batch: readonly Loaded[], storing: typeof storeBatch): Program<void> {
    const late = this.lateOf(resource);
    if (batch[0]?.where === this.#singly) for (const each of batch) yield* storing(resource, [each], late);
    else yield* storing(resource, batch, late);
  }

  #hasFaults(): boolean {
    const more = this.#faults.length - MOST_FAULTS;
    // However many there are, they do not fill the memory.
    if (more > 0) {
      this.#untold += more;
      this.#faults.length = MOST_FAULTS;
    }
    return this.#faults.length > 0;
  }

  #resourceOf(plural: string): Resource | undefined {
    const resource = this.#resources.get(plural);
    if (resource || this.#unknown.has(plural)) return resource;
    this.#unknown.add(plural);
    return resourceOf(this.#model, plural, this.#faults);
  }

  #remains(resource: Resource, remains: Remains, number: number): Statement | undefined {
    const fault = faultOf(resource, remains);
    if (fault) this.#faults.push(`line ${number}: ${fault}`);
    if (fault || 'lastId' in remains) {
      if ('lastId' in remains) this.ids.note(resource, remains.lastId);
      return undefined;
    }
    return burial(resource, remains.buried.key, remains.buried.version);
  }
}

type Entry =
  | { readonly plural: string; readonly record: unknown; readonly version: number | undefined }
  | { readonly plural: string; readonly remains: Remains }
  | { readonly key: KeptKey };

const FORMS = [
  '{"resource": …, "version": …, "record": {…}}',
  '{"resource": …, "lastId": …}',
  '{"resource": …, "buried": {"key": …, "version": …}}',
  '{"apiKey": {"name": …, "hash": …, "roles": […], "at": …, "revoked": …}}',
];

function readLine(text: string): Entry | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(parsed)) return undefined;
  const { resource: plural, record, version, lastId, buried, apiKey } = parsed;
  // A line that is two things at once is neither.
  const isRecord = record !== undefined;
  const others = Number(lastId !== undefined) + Number(buried !== undefined) + Number(apiKey !== undefined);
  if (others + Number(isRecord) !== 1) return undefined;
  if (apiKey !== undefined) {
    const key = readKept(apiKey);
    return key && { key };
  }
  if (typeof plural !== 'string') return undefined;
  if (isRecord) {
    const isSound = typeof record === 'object' && (version === undefined || isUpTo(MAX_VERSION, version));
    return isSound ? { plural, record, version } : undefined;
  }
  const remains = lastId === undefined ? readBuried(buried) : isUpTo(MAX_KEY, lastId) && { lastId };
  return remains ? { plural, remains } : undefined;
}

function readBuried(buried: unknown): Remains | undefined {
  const { key, version } = isObject(buried) ? buried : {};
  return typeof key === 'string' && isUpTo(MAX_VERSION, version) ? { buried: { key, version } } : undefined;
}

function isUpTo(most: number, value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most;
}
