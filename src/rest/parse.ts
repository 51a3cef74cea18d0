/** Request → Operation, for the routes of a resource. */

import {
  cited,
  DuetError,
  type Fault,
  type FaultCode,
  isFull,
  pointer,
  validationFailed,
} from '../base/errors.ts';
import type { Get, Input, List, Selection, WriteOne } from '../engine/operation.ts';
import type { Keyed } from '../engine/write/idempotency.ts';
import { parseJsonObject } from '../http/body.ts';
import type { Exchange } from '../http/exchange.ts';
import { idempotencyOf } from '../http/idempotency.ts';
import { measuresOf } from '../query/aggregates.ts';
import { readKey } from '../schema/keys.ts';
import type { Resource } from '../schema/model.ts';
import type { Aggregation, Collection } from './collection.ts';
import { excludedBy, versionsOf } from './etag.ts';
import { type ExportType, refuseInExports } from './export.ts';
import { type OneParameters, readListRequest, readOneParameters, refuseParameters } from './query.ts';

const LONGEST_KEPT = 1024;

/** A list, or numbers about it. */
export function parseList(from: Collection, { query }: Exchange): List | Aggregation {
  const kept = from.lists.get(query);
  if (kept) return kept;
  const operation = readListOperation(from, query);
  const isOften = operation.do === 'list' && !operation.list.after && !operation.list.before;
  if (isOften && query.length <= LONGEST_KEPT) from.lists.set(query, operation);
  return operation;
}

function readListOperation(from: Collection, query: string): List | Aggregation {
  const { resource } = from;
  const { list, selection, count, aggregate } = readListRequest(resource, query, from);
  if (!aggregate) return { do: 'list', resource, selection, list, count, places: list.limit !== undefined };
  const { where } = list;
  const { relations } = selection;
  return {
    do: 'aggregate',
    resource,
    where,
    relations,
    ...aggregate,
    measures: measuresOf(aggregate.wanted),
  };
}

export function parseExport(from: Collection, type: ExportType, { query }: Exchange): List {
  const { resource } = from;
  const request = readListRequest(resource, query, from);
  refuseInExports(request, type);
  return {
    do: 'list',
    resource,
    selection: request.selection,
    list: request.list,
    count: false,
    places: true,
  };
}

/** `shaped`: not the plain record, so that its version does not tell whether the answer has changed. */
export function parseGet(from: Collection, exchange: Exchange): Get & { readonly shaped: boolean } {
  const { resource, one } = from;
  const key = readKey(resource.key, exchange.key);
  if (exchange.query === '')
    return { do: 'get', resource, key, selection: one, refusal: undefined, shaped: false };
  const { value, refusal } = attempt(() => parseOneParameters(from, exchange.query, false));
  const shape = value?.shape;
  return { do: 'get', resource, key, selection: shape ?? one, refusal, shaped: shape !== undefined };
}

const PLAIN: OneParameters = { shape: undefined, by: undefined };

/** `mayUpsert`: the request creates records. */
export function parseOneParameters(from: Collection, query: string, mayUpsert: boolean): OneParameters {
  if (query === '') return PLAIN;
  const kept = from.ones.get(query);
  // One that creates may have said what others may not.
  if (kept && (mayUpsert || !kept.by)) return kept;
  const parameters = readOneParameters(from.resource, query, from, mayUpsert);
  if (query.length <= LONGEST_KEPT) from.ones.set(query, parameters);
  return parameters;
}

/** A write, and the key that keeps it from happening twice. */
export interface WriteRequest {
  /** What is answered, where that is not the plain record. */
  readonly shape: Selection | undefined;
  readonly operation: WriteOne;
  readonly idempotency: Keyed | undefined;
}

export function parseCreate(from: Collection, exchange: Exchange, bytes: Uint8Array): WriteRequest {
  const { resource, one, limits } = from;
  const { shape, by } = parseOneParameters(from, exchange.query, true);
  const input = parseJsonObject(exchange.request, bytes, limits);
  refuseConditions(resource, exchange.request);
  const idempotency = idempotencyOf(exchange, resource.path, bytes);
  const selection = shape ?? one;
  if (by) return { operation: { do: 'upsert', resource, by, input, selection }, idempotency, shape };
  return { operation: { do: 'create', resource, input, selection, through: 'rest' }, idempotency, shape };
}

export function parseUpdate(from: Collection, exchange: Exchange, bytes: Uint8Array): WriteRequest {
  const { resource, one, limits } = from;
  const { request } = exchange;
  const { value, refusal } = attempt(() => {
    const { shape } = parseOneParameters(from, exchange.query, false);
    return { shape, input: parseJsonObject(request, bytes, limits) };
  });
  const { shape, input = {} } = value ?? {};
  const key = readKey(resource.key, exchange.key);
  const versions = versionsWanted(from, request);
  const selection = shape ?? one;
  return {
    operation: { do: 'update', resource, key, input, ...versions, selection, refusal },
    idempotency: idempotencyOf(exchange, `${resource.path}/${exchange.key}`, bytes),
    shape,
  };
}

/** `{"version": 2}`, or nothing in it. */
export function parseRestore(from: Collection, exchange: Exchange, bytes: Uint8Array): WriteRequest {
  const { resource, one, limits } = from;
  const { value, refusal } = attempt(() => {
    const { shape } = parseOneParameters(from, exchange.query, false);
    const body = bytes.length === 0 ? {} : parseJsonObject(exchange.request, bytes, limits);
    const faults: Fault[] = [];
    const version = readRestoredVersion(body, (name, code, detail) => {
      if (!isFull(faults)) faults.push({ pointer: pointer(name), code, detail });
    });
    if (faults.length > 0) throw validationFailed(faults);
    return { shape, version };
  });
  const { shape, version } = value ?? {};
  const key = readKey(resource.key, exchange.key);
  const { headers } = exchange.request;
  const ifVersion = versionsToRestore(headers.get('If-Match'), from);
  const { unlessVersion } = versionsWanted(from, exchange.request);
  const selection = shape ?? one;
  return {
    operation: { do: 'restore', resource, key, version, ifVersion, unlessVersion, selection, refusal },
    idempotency: idempotencyOf(exchange, `${resource.path}/${exchange.key}/restore`, bytes),
    shape,
  };
}

/** There may be no record, and then none has any version. */
export function versionsToRestore(ifMatch: string | null, { fingerprint }: Collection) {
  return ifMatch?.trim() === '*' ? ('any' as const) : versionsOf(ifMatch, fingerprint);
}

/** Nothing is in its body, but it must not be larger than any other. */
export function parseDelete(from: Collection, exchange: Exchange, bytes: Uint8Array): WriteRequest {
  const { resource, one } = from;
  const { refusal } = attempt(() => refuseParameters(resource, exchange.query));
  const key = readKey(resource.key, exchange.key);
  const versions = versionsWanted(from, exchange.request);
  return {
    operation: { do: 'delete', resource, key, ...versions, selection: one, refusal },
    idempotency: idempotencyOf(exchange, `${resource.path}/${exchange.key}`, bytes),
    shape: undefined,
  };
}

function versionsWanted({ fingerprint }: Collection, { headers }: Request) {
  const ifVersion = versionsOf(headers.get('If-Match'), fingerprint);
  return { ifVersion, unlessVersion: excludedBy(headers.get('If-None-Match'), fingerprint) };
}

/** A collection always exists and has no tag (RFC 9110, sections 13.1.1 and 13.1.2). */
function refuseConditions({ plural }: Resource, { headers }: Request): void {
  const isExcluded = headers.get('If-None-Match')?.trim() === '*';
  if (!isExcluded && (headers.get('If-Match') ?? '*').trim() === '*') return;
  throw new DuetError(
    'VERSION_CONFLICT',
    `${isExcluded ? 'If-None-Match' : 'If-Match'} is about ${plural} as a whole here, which exist and have no ETag. Leave it out.`,
  );
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

export function readRestoredVersion(
  { version, ...others }: Input,
  report: (name: string, code: FaultCode, detail: string) => void,
): number | undefined {
  for (const name of Object.keys(others).map(cited))
    report(name, 'UNKNOWN', `"${name}" is not known here; give version`);
  const isVersion = version === undefined || (Number.isSafeInteger(version) && Number(version) > 0);
  if (!isVersion) report('version', 'TYPE', 'version must be a whole number from 1 on');
  return version as number | undefined;
}
