/** What the routes of one resource share. */

import { Lru } from '../base/lru.ts';
import type { Aggregate, List, Selection } from '../engine/operation.ts';
import type { BodyLimits } from '../http/body.ts';
import type { Wanted } from '../query/aggregates.ts';
import type { Resource } from '../schema/model.ts';
import { computedOf, storedColumns } from '../schema/values.ts';
import { type Deprecations, deprecationOfColumns } from './deprecation.ts';
import type { OneParameters, ReadLimits } from './query.ts';

const KEPT_QUERIES = 500;

export interface Collection extends ReadLimits {
  readonly resource: Resource;
  readonly fingerprint: string;
  readonly limits: BodyLimits;
  readonly deprecatedSince: Deprecations;
  /** What an answer with whole records says besides: that some of their fields are deprecated, and since when. */
  readonly headers: Readonly<Record<string, string>>;
  /** The same where a record was asked for. */
  readonly readHeaders: Readonly<Record<string, string>>;
  /** Whether the same record looks different to different callers. */
  readonly isShaped: boolean;
  /** The version is read for the ETag. */
  readonly one: Selection;
  /** Lists that many ask for, such as a first page, by their query; one with a cursor is hardly sent twice. */
  readonly lists: Lru<string, List>;
  /** What is said of one record, by the query that says it. */
  readonly ones: Lru<string, OneParameters>;
}

export function collection(
  resource: Resource,
  fingerprint: string,
  limits: BodyLimits,
  reads: ReadLimits,
  deprecatedSince: Deprecations,
  isShaped: boolean,
): Collection {
  const headers = deprecationOfColumns(resource, resource.columns, deprecatedSince);
  return {
    resource,
    deprecatedSince,
    headers,
    readHeaders: { ...headers, ...varying(resource) },
    fingerprint,
    limits,
    ...reads,
    // Another function makes something else of the same version.
    isShaped: isShaped || resource.computed.length > 0,
    one: { columns: storedColumns(resource), relations: [], computed: computedOf(resource) },
    lists: new Lru(KEPT_QUERIES),
    ones: new Lru(KEPT_QUERIES),
  };
}

/** The same path answers with files and events to those who ask for them. */
export const VARY = { Vary: 'Accept' };

/** Of a record there are only events, where its type tells when it changes. */
export function varying({ journal }: Resource): Readonly<Record<string, string>> | undefined {
  return journal && VARY;
}

/** Numbers about a list, and what was asked for of them. */
export type Aggregation = Aggregate & { readonly wanted: readonly Wanted[] };
