/** Request → Operation, for the routes of a resource. */

import type { Get, Input, List, Selection, Update, Write } from '../engine/operation.ts';
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
  /** The version is read for the ETag. */
  readonly one: Selection;
}

export function collection(resource: Resource, fingerprint: string, limits: BodyLimits): Collection {
  return {
    resource,
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
  refuseParameters(exchange);
  return { do: 'get', resource, key: readKey(resource.key, exchange.key), selection: one };
}

export async function parseCreate({ resource, one, limits }: Collection, exchange: Exchange): Promise<Write> {
  refuseParameters(exchange);
  const { request } = exchange;
  const input = parseJsonObject(request, await readBody(request, limits), limits);
  return { do: 'create', resource, input, selection: one };
}

export async function parseUpdate(from: Collection, exchange: Exchange): Promise<Update> {
  const { resource, one, limits } = from;
  const { request } = exchange;
  refuseParameters(exchange);
  const bytes = await readBody(request, limits);
  return {
    do: 'update',
    resource,
    key: readKey(resource.key, exchange.key),
    // A record that is not there is told before a body that is wrong, so the fault travels with the operation.
    input: attempt(() => parseJsonObject(request, bytes, limits)),
    ifVersion: versionsOf(request.headers.get('If-Match'), from.fingerprint),
    selection: one,
  };
}

export function parseDelete({ resource, one, fingerprint }: Collection, exchange: Exchange): Write {
  refuseParameters(exchange);
  return {
    do: 'delete',
    resource,
    key: readKey(resource.key, exchange.key),
    ifVersion: versionsOf(exchange.request.headers.get('If-Match'), fingerprint),
    selection: one,
  };
}

function attempt(parse: () => Input): Input | DuetError {
  try {
    return parse();
  } catch (error) {
    if (error instanceof DuetError) return error;
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
