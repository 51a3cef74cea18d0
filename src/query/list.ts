/** Which rows of a list, in which order and which part of it: what both doors turn their arguments into. */

import type { FaultCode } from '../base/errors.ts';
import type { Resource } from '../schema/model.ts';
import { type Abridged, isNameOf, placeOf } from './cursors.ts';
import { everything, type Filter } from './filter.ts';
import { type Order, type Place, totalOrder } from './order.ts';

export interface ListQuery {
  readonly where: Filter;
  readonly order: Order;
  /** Whoever reads the list looks an abridged place up first. */
  readonly after: Place | Abridged | undefined;
  readonly before: Place | Abridged | undefined;
  /** Where that is all that is known of where to begin or to end. It says nothing of how many rows there are in all. */
  readonly within?: Filter | undefined;
  readonly limit: number | undefined;
  /** How many rows are left out at the beginning; the database comes by each of them. */
  readonly offset: number;
  /** The limit counts from the end of the list. */
  readonly backwards: boolean;
}

export function wholeList(resource: Resource): ListQuery {
  return { where: everything, order: totalOrder(resource, []), ...wholePage };
}

const wholePage = { after: undefined, before: undefined, limit: undefined, offset: 0, backwards: false };

/** A door's arguments for a page, under the door's own names. */
export interface PageArguments {
  readonly first: Argument;
  readonly after: Argument;
  readonly last: Argument;
  readonly before: Argument;
  readonly offset: Argument;
}

/** Nine digits: beyond any table that could be read so. */
const MOST_LEFT_OUT = 999_999_999;

export interface Argument {
  readonly name: string;
  readonly value: unknown;
}

export type ArgumentReport = (name: string, code: FaultCode, detail: string) => void;

/** More than anybody means: a list of tens of thousands would be read for seconds, in each place that has it. */
const MOST_SORTED = 100;

/** Whether so many fields can be sorted by. */
export function admitsOrder(fields: number, name: string, report: ArgumentReport): boolean {
  if (fields <= MOST_SORTED) return true;
  report(name, 'OUT_OF_RANGE', `${name} may have ${MOST_SORTED} fields at most`);
  return false;
}

export function readList(
  resource: Resource,
  where: Filter,
  wanted: Order,
  page: PageArguments,
  most: number,
  report: ArgumentReport,
  isNested = false,
): ListQuery {
  const order = totalOrder(resource, wanted);
  const place = ({ name, value }: Argument): Place | Abridged | undefined => {
    if (value == null) return undefined;
    const found = placeOf(isNameOf(resource, where, order, isNested), order, String(value));
    if (!found)
      report(name, 'CURSOR', `${name} is no cursor of this query; take it from an answer to the same one`);
    return found;
  };
  const first = readLimit(page.first, most, report);
  const last = readLimit(page.last, most, report);
  const offset = readOffset(page.offset, report);
  const other = [page.after, page.before, page.last].find(({ value }) => value != null);
  if (page.offset.value != null && other)
    report(
      page.offset.name,
      'UNKNOWN',
      `${page.offset.name} and ${other.name} exclude each other; count from the beginning, or go on from a cursor`,
    );
  if (page.first.value != null && page.last.value != null)
    report(page.last.name, 'UNKNOWN', `${page.first.name} and ${page.last.name} exclude each other`);
  return {
    where,
    order,
    after: place(page.after),
    before: place(page.before),
    limit: first ?? last,
    offset,
    backwards: last !== undefined,
  };
}

/** How many there are to be at the most. */
export function readLimit(argument: Argument, most: number, report: ArgumentReport): number | undefined {
  return whole(argument, 1, most, report);
}

/** How many are left out at the beginning. */
export function readOffset(argument: Argument, report: ArgumentReport): number {
  return whole(argument, 0, MOST_LEFT_OUT, report) ?? 0;
}

function whole(
  { name, value }: Argument,
  least: number,
  greatest: number,
  report: ArgumentReport,
): number | undefined {
  if (value == null) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= greatest)
    return value;
  report(name, 'OUT_OF_RANGE', `${name} must be ${least} to ${greatest}`);
  return undefined;
}

/** The most records that a write on many may touch. */
export function readAtMost(
  value: unknown,
  most: number,
  report: (code: FaultCode, detail: string) => void,
): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) return value;
  report('OUT_OF_RANGE', `atMost must be 1 to ${most}`);
  return 0;
}

/** The fewest records that it must touch; undefined where nobody says. */
export function readAtLeast(
  value: unknown,
  atMost: number,
  report: (code: FaultCode, detail: string) => void,
): number {
  if (value === undefined) return 0;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= atMost) return value;
  report('OUT_OF_RANGE', `atLeast must be 1 to atMost`);
  return 0;
}
