/** What an input says of lists through join types, and which of their links are to come and to go. */

import { DuetError, type Fault, isFull, nested, pointer, validationFailed } from '../../base/errors.ts';
import { all, among, equal, type Filter, isEverything } from '../../query/filter.ts';
import { MOST_VALUES } from '../../query/operators.ts';
import type { Resource, Through } from '../../schema/model.ts';
import { ADD, linkFields, linkNames, REMOVE, writtenThrough } from '../../schema/through.ts';
import { checkValue } from '../../schema/values.ts';
import type { Row } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import type { Budget } from '../budget.ts';
import type { Input, Write } from '../operation.ts';
import type { Access } from '../policy/access.ts';
import { linkSeen } from '../policy/reading.ts';
import { addedIn } from '../policy/writing.ts';
import { Collision } from './collision.ts';
import { eachOf } from './portions.ts';
import { missingOf, notFound } from './references.ts';

/** How many links one request can make by naming them for many records at once. */
const MOST_LINKS = 10_000;

export type Path = readonly (string | number)[];

/** A record that an input names, and where. */
interface Named {
  readonly key: unknown;
  readonly path: Path;
}

export interface LinkChange {
  readonly through: Through;
  /** Each once, in the order of their keys: whoever links the same in the same order keeps nobody waiting who waits for it. */
  readonly add: readonly Named[];
  /** Undefined where the list is to have no others than those. */
  readonly remove: readonly Named[] | undefined;
  /** Where the input says what goes. */
  readonly removedAt: Path;
}

const none: readonly never[] = [];

/** Faults are those of the request. */
export function linkChanges(resource: Resource, input: Input, faults: Fault[]): readonly LinkChange[] {
  const throughs = writtenThrough(resource);
  if (throughs.length === 0) return none;
  return throughs.flatMap((through): LinkChange[] => {
    const { ids, changes } = linkNames(through);
    const isExact = Object.hasOwn(input, ids);
    if (isExact && Object.hasOwn(input, changes)) {
      const detail = `${ids} says which there are to be; give it, or ${changes}`;
      faults.push({ pointer: pointer(changes), code: 'UNKNOWN', detail });
    }
    if (isExact) {
      const add = namedIn(through, ids, input[ids], [], faults);
      return [{ through, add, remove: undefined, removedAt: [ids] }];
    }
    return Object.hasOwn(input, changes) ? [changesIn(through, changes, input[changes], faults)] : [];
  });
}

/** `{ add: [3], remove: [1] }` */
function changesIn(through: Through, name: string, given: unknown, faults: Fault[]): LinkChange {
  const report = (path: Path, code: Fault['code'], detail: string) => {
    if (!isFull(faults)) faults.push({ pointer: pointer(name, ...path), code, detail });
  };
  const change = { through, add: none, remove: none, removedAt: [name, REMOVE] };
  const form = `${name} must be an object of what to ${ADD} and to ${REMOVE}`;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    report([], 'TYPE', form);
    return change;
  }
  const object = given as Input;
  const names = Object.keys(object);
  if (names.length === 0) report([], 'EMPTY', `${name} is empty; give ${ADD} or ${REMOVE}`);
  for (const each of names)
    if (each !== ADD && each !== REMOVE) report([each], 'UNKNOWN', `${form}, and has nothing else`);
  const list = (of: string) =>
    Object.hasOwn(object, of) ? namedIn(through, of, object[of], [name], faults) : none;
  const [add, remove] = [list(ADD), list(REMOVE)];
  const added = new Set(add.map(({ key }) => key));
  for (const { key, path } of remove)
    if (added.has(key)) report(path.slice(1), 'UNKNOWN', 'it cannot be added and removed at once');
  return { ...change, add, remove };
}

function namedIn(through: Through, name: string, given: unknown, outer: Path, faults: Fault[]): Named[] {
  const found: Fault[] = [];
  const report = (code: Fault['code'], detail: string) =>
    found.push({ pointer: pointer(name), code, detail });
  let values: unknown[] = [];
  if (given === null) report('REQUIRED', `${name} must not be null; [] names none`);
  else if (Array.isArray(given) && given.length > MOST_VALUES)
    report('OUT_OF_RANGE', `${name} must have at most ${MOST_VALUES} keys`);
  else {
    const checked = checkValue({ ...through.far.column, name, list: true }, given, found);
    if (Array.isArray(checked)) values = checked;
  }
  faults.push(...found.map((fault) => nested(fault, ...outer)));
  if (found.length > 0) return [];
  const byKey = new Map<unknown, Named>();
  for (const [index, key] of values.entries())
    if (!byKey.has(key)) byKey.set(key, { key, path: [...outer, name, index] });
  return [...byKey.values()].sort((a, b) => ((a.key as string) < (b.key as string) ? -1 : 1));
}

/** The types of the links that come or go. */
export function joinsOf(links: readonly LinkChange[]): readonly Resource[] {
  return links.map(({ through }) => through.links.target);
}

/** The lists that an input says something of. */
export function linkedBy(resource: Resource, input: Input): readonly Through[] {
  const throughs = writtenThrough(resource);
  if (throughs.length === 0) return none;
  return throughs.filter((through) => {
    const { ids, changes } = linkNames(through);
    return Object.hasOwn(input, ids) || Object.hasOwn(input, changes);
  });
}

interface NewLink {
  /** The key of the record whose list it is. */
  readonly from: unknown;
  readonly to: unknown;
  readonly path: Path;
  /** There is one already, which the caller does not see. */
  readonly isTaken: boolean;
}

interface Difference {
  /** The keys of the links that are to go. */
  readonly removed: readonly unknown[];
  readonly added: readonly NewLink[];
}

/** Refuses more links for so many records than one request can make. */
export function mayLink(budget: Budget, changes: readonly LinkChange[], records: number): void {
  for (const { add } of changes) {
    budget.links += records * add.length;
    if (budget.links <= MOST_LINKS) continue;
    const detail = `${records} records with ${add.length} links each are more than ${MOST_LINKS} in one request; change fewer at once`;
    throw validationFailed([
      { pointer: pointer(...(add[0]?.path.slice(0, -1) ?? [])), code: 'OUT_OF_RANGE', detail },
    ]);
  }
}

/**
 * The same for new records, with those that are nested in them, which are counted too. It counts what is sent, before that is looked at: few words name
 * many links, of which each is a record.
 */
export function mayLinkNew(budget: Budget, resource: Resource, input: Input, path: Path): void {
  for (const { name } of linkFields(resource)) {
    const { length } = Object.hasOwn(input, name) ? addedIn(input[name]) : none;
    // Of a list that is too long itself, that is told.
    if (length === 0 || length > MOST_VALUES) continue;
    budget.links += length;
    if (budget.links <= MOST_LINKS) continue;
    const detail = `these are more than ${MOST_LINKS} links in one request; link fewer at once`;
    throw validationFailed([{ pointer: pointer(...path, name), code: 'OUT_OF_RANGE', detail }]);
  }
  for (const { name, target } of resource.inverses) {
    const given = Object.hasOwn(input, name) ? input[name] : undefined;
    if (!Array.isArray(given)) continue;
    budget.nest(given.length);
    for (const [index, each] of given.entries())
      if (typeof each === 'object' && each !== null) mayLinkNew(budget, target, each, [...path, name, index]);
  }
}

/** What to do to the links of records: those that the caller does not see are not there, and stay. */
export function* differenceOf(
  access: Access,
  { through, add, remove }: LinkChange,
  keys: readonly unknown[],
): Program<Difference> {
  const { target: join, reference: near } = through.links;
  const { far } = through;
  const named = remove && [...add, ...remove].map(({ key }) => key);
  const own = keys.length === 1 ? equal(near.column, keys[0]) : among(near.column, keys);
  const where = all([own, named && among(far.column, named)]);
  const seen = all([linkSeen(access, through), targetSeen(access, through)]);
  const columns = [join.key, near.column, far.column];
  const coming = new Set(add.map(({ key }) => key));
  const going = remove && new Set(remove.map(({ key }) => key));
  const pairsOf = (row: Row) => {
    const key = row[far.column.name];
    return coming.has(key) ? [pairOf(row[near.column.name], key)] : [];
  };
  // A record may have any number of links: what need not be known of one is not kept.
  const [taken, linked] = [new Set<string>(), new Set<string>()];
  const removed: unknown[] = [];
  yield* eachOf(join, columns, all([where, seen]), false, (row) => {
    const key = row[far.column.name];
    for (const pair of pairsOf(row)) linked.add(pair);
    if (key !== null && (going ? going.has(key) : !coming.has(key))) removed.push(row[join.key.name]);
    return false;
  });
  if (add.length > 0 && !isEverything(seen)) {
    yield* eachOf(join, columns, all([own, among(far.column, [...coming])]), false, (row) => {
      for (const pair of pairsOf(row)) taken.add(pair);
      return false;
    });
  }
  const added = keys.flatMap((from) =>
    add.flatMap(({ key: to, path }): NewLink[] => {
      const pair = pairOf(from, to);
      return linked.has(pair) ? [] : [{ from, to, path, isTaken: taken.has(pair) }];
    }),
  );
  return { removed, added };
}

function targetSeen(access: Access, { far }: Through): Filter {
  const where = access.rows(far.target, 'READ');
  return isEverything(where) ? where : { is: 'related', field: far, where };
}

function pairOf(from: unknown, to: unknown): string {
  return JSON.stringify([from, to]);
}

/**
 * What links would lead to nothing, before the record is written that has them: with what else is wrong with it, it is told at
 * once. Where a rule hides some of what they could lead to, it is asked when they are written, since the record itself may show it.
 */
export function* lostLinks(
  access: Access,
  links: readonly { readonly through: Through; readonly add: readonly Named[] }[],
): Program<Fault[]> {
  const faults: Fault[] = [];
  for (const { through, add } of links) {
    const { target: join, reference: near } = through.links;
    const { column, target } = through.far;
    if (add.length === 0 || !isEverything(access.rows(target, 'READ'))) continue;
    const rows = add.map(({ key }) => ({ [column.name]: key }));
    const missing = yield* missingOf(access, join, rows, near.column);
    for (const [index, references] of missing.entries())
      for (const fault of notFound(references))
        faults.push({ ...fault, pointer: pointer(...(add[index]?.path ?? [])) });
  }
  return faults;
}

/** Tells what goes wrong with one of these, by its index, where the input names it. */
export function* atPlaces<T>(
  places: readonly Path[],
  program: Program<T>,
  isRace: (collision: Collision, index: number) => boolean = () => false,
): Program<T> {
  try {
    return yield* program;
  } catch (error) {
    if (error instanceof Collision) {
      const told = error.at(places);
      throw isRace(error, Number(error.more.path[0] ?? 0)) ? told.lost() : told;
    }
    if (!(error instanceof DuetError) || !error.errors) throw error;
    const pointers = new Map<string, Fault>();
    for (const fault of error.errors) {
      const place = places[Number(fault.pointer?.split('/')[1] ?? 0)] ?? places[0] ?? [];
      const told = { ...fault, pointer: pointer(...place) };
      pointers.set(`${told.pointer} ${told.code} ${told.detail}`, told);
    }
    throw new DuetError(error.code, error.message, { errors: [...pointers.values()] });
  }
}

/**
 * Whether two such writes, from either end, could each make the same link and neither see the other's: nothing but a unique
 * pair, or to run as if alone, keeps them from it.
 */
export function mayLinkTwice(writes: readonly Write[]): boolean {
  return writes.some((operation) => {
    // What a function writes runs as if alone anyway.
    if (operation.do === 'act') return false;
    const inputs = 'input' in operation ? [operation.input] : 'inputs' in operation ? operation.inputs : none;
    return inputs.some((input) => linkedBy(operation.resource, input).some(hasTwins));
  });
}

function hasTwins({ links: { target: join, reference: near }, far }: Through): boolean {
  const isUnique = join.uniques.some(({ columns }) =>
    columns.every((column) => column === near.column || column === far.column),
  );
  return !isUnique && writtenThrough(far.target).some(({ links }) => links.target === join);
}
