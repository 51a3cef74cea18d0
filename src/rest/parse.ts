/** Request → Operation, for the routes of a resource. */

import type { Get, List, Selection, Write } from '../engine/operation.ts';
import { DuetError, validationFailed } from '../errors.ts';
import { type BodyLimits, parseJsonObject, readBody } from '../http/body.ts';
import type { Exchange } from '../http/exchange.ts';
import { readKey } from '../schema/keys.ts';
import type { Resource } from '../schema/model.ts';
import { storedColumns } from '../schema/values.ts';
import { versionsOf } from './etag.ts';

/** What the routes of one resource share. */
export interface Collection {
  readonly resource: Resource;
  readonly fingerprint: string;
  readonly limits: BodyLimits;
  readonly list: Selection;
  /** What every answer with records says besides: that some of their fields are deprecated, and since when. */
  readonly headers: Readonly<Record<string, string>>;
  /** The version is read for the ETag. */
  readonly one: Selection;
}

export function collection(
  resource: Resource,
  fingerprint: string,
  limits: BodyLimits,
  deprecatedSince: ReadonlyMap<string, Date>,
): Collection {
  const dates = resource.columns.flatMap(({ name }) => deprecatedSince.get(`${resource.name}.${name}`) ?? []);
  const first = Math.min(...dates.map((date) => Math.floor(date.getTime() / 1000)));
  return {
    resource,
    // RFC 9745; the earliest date, where several fields are deprecated.
    headers: dates.length > 0 ? { Deprecation: `@${first}` } : {},
    fingerprint,
    limits,
    list: { columns: resource.columns, relations: [] },
    one: { columns: storedColumns(resource), relations: [] },
  };
}

export function parseList({ resource, list }: Collection, exchange: Exchange): List {
  refuseParameters(exchange);
  return { do: 'list', resource, selection: list };
}

export function parseGet({ resource, one }: Collection, exchange: Exchange): Get {
  const { refusal } = attempt(() => refuseParameters(exchange));
  return { do: 'get', resource, key: readKey(resource.key, exchange.key), selection: one, refusal };
}

export async function parseCreate({ resource, one, limits }: Collection, exchange: Exchange): Promise<Write> {
  const { request } = exchange;
  const bytes = await readBody(request, limits);
  refuseParameters(exchange);
  return { do: 'create', resource, input: parseJsonObject(request, bytes, limits), selection: one };
}

export async function parseUpdate(from: Collection, exchange: Exchange): Promise<Write> {
  const { resource, one, limits, fingerprint } = from;
  const { request } = exchange;
  const bytes = await readBody(request, limits);
  const { value: input = {}, refusal } = attempt(() => {
    refuseParameters(exchange);
    return parseJsonObject(request, bytes, limits);
  });
  const ifVersion = versionsOf(request.headers.get('If-Match'), fingerprint);
  const key = readKey(resource.key, exchange.key);
  return { do: 'update', resource, key, input, ifVersion, selection: one, refusal };
}

export async function parseDelete(from: Collection, exchange: Exchange): Promise<Write> {
  const { resource, one, limits, fingerprint } = from;
  // Nothing is in it, but it must not be larger than any other.
  await readBody(exchange.request, limits);
  const { refusal } = attempt(() => refuseParameters(exchange));
  const ifVersion = versionsOf(exchange.request.headers.get('If-Match'), fingerprint);
  const key = readKey(resource.key, exchange.key);
  return { do: 'delete', resource, key, ifVersion, selection: one, refusal };
}

/** A record that is not there is told before a request that is wrong, so the fault travels with the operation. */
function attempt<T>(parse: () => T): { value?: T; refusal: DuetError | undefined } {
  try {
    return { value: parse(), refusal: undefined };
  } catch (error) {
    if (error instanceof DuetError) return { refusal: error };
    throw error;
  }
}

/** A parameter that nothing reads would be believed to work: it is refused by name. */
function refuseParameters({ query }: Exchange): void {
  const names = [...new Set(new URLSearchParams(query).keys())].slice(0, 100);
  if (names.length === 0) return;
  throw validationFailed(
    names.map((name) => ({
      parameter: name.slice(0, 100),
      code: 'UNKNOWN',
      detail: `"${name.slice(0, 100)}" is not a parameter of this path; it takes none`,
    })),
  );
}
