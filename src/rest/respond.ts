/** Result → Response, for the routes of a resource. */

import { DuetError } from '../base/errors.ts';
import { jsonOf } from '../base/passed.ts';
import type { List, Listing, Selection } from '../engine/operation.ts';
import { type Node, relationKey } from '../engine/read/read.ts';
import { CREATED } from '../engine/write/upsert.ts';
import { answer, answerWithoutBody, common, JSON_TYPE } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { costOfAnswer } from '../http/guard/rate-limits.ts';
import { answerOf } from '../query/aggregates.ts';
import type { ListQuery } from '../query/list.ts';
import { decisive } from '../query/parts.ts';
import type { Resource } from '../schema/model.ts';
import { computedOf } from '../schema/values.ts';
import { type Aggregation, type Collection, VARY, varying } from './collection.ts';
import { deprecationOf } from './deprecation.ts';
import { etag, sameCopy } from './etag.ts';
import { Links } from './links.ts';

const listFields = { 'Content-Type': JSON_TYPE, ...VARY };
const listHeaders = common(listFields);

type Spend = Exchange['spend'];

/** An answer as JSON: the objects in it are paid for, as those of GraphQL are, where somebody counts. */
export function paid(body: unknown, spend: Spend): string {
  spend?.(costOfAnswer(body));
  return jsonOf(body);
}

export function listed(
  from: Collection,
  operation: List,
  listing: Listing,
  { query, spend }: Exchange,
): Response {
  const { selection } = operation;
  const { nodes, total } = listing;
  const deprecation = deprecationOf(from.resource, selection, from.deprecatedSince);
  const body = isPlain(from, operation) ? nodes : nodes.map((node) => shown(selection, node));
  const headers = headersOf(from, operation, listing, query);
  const response = answer(200, paid(body, spend), deprecation, headers);
  if (total !== undefined) response.headers.set('X-Total-Count', String(total));
  return response;
}

/** Rows that hold just the columns of the answer, in its order, are written as they are; rules can need more columns. */
function isPlain({ isShaped }: Collection, { selection, places, list }: List): boolean {
  if (selection.relations.length > 0 || isShaped) return false;
  return !places || list.order.every(({ column }) => selection.columns.includes(column));
}

export function aggregated(
  from: Collection,
  operation: Aggregation,
  rows: readonly Node[],
  spend: Spend,
): Response {
  const { by, wanted, relations } = operation;
  const columns = [...by.map(decisive), ...wanted.flatMap(({ column }) => column ?? [])];
  const deprecation = deprecationOf(from.resource, { columns, relations }, from.deprecatedSince);
  const groups = rows.map((row) => {
    const group = answerOf(row, by, wanted);
    if (relations.length > 0) group['by'] = shown({ columns: by, relations }, row);
    return group;
  });
  return answer(200, paid(groups, spend), deprecation, listHeaders);
}

const LONGEST_LOCATION = 1024;

const linksOf = new WeakMap<ListQuery, Links>();

/** With links: `next` is the sign of more; `prev` leads back from a page that has a cursor. */
function headersOf({ resource }: Collection, { list }: List, listing: Listing, query: string): Headers {
  const { nodes, more } = listing;
  const next = list.backwards ? list.before !== undefined : more;
  const previous = list.backwards ? more : list.after !== undefined || list.offset > 0;
  if (nodes.length === 0 || list.limit === undefined || (!next && !previous)) return listHeaders;
  let links = linksOf.get(list);
  if (!links) {
    links = new Links(resource, list, query, listFields);
    linksOf.set(list, links);
  }
  return links.headers(next ? nodes.at(-1) : undefined, previous ? nodes[0] : undefined);
}

export function found(from: Collection, selection: Selection, node: Node | null, spend: Spend): Response {
  const { resource, deprecatedSince } = from;
  const headers = { ...deprecationOf(resource, selection, deprecatedSince), ...varying(resource) };
  return answer(200, paid(shown(selection, existing(from, node)), spend), headers);
}

/** The plain record, which its version stands for. */
export function foundWhole(from: Collection, node: Node | null, ifNoneMatch: string | null): Response {
  const record = existing(from, node);
  const version = record[from.resource.version.name];
  const body = jsonOf(whole(from, record));
  const tag = tagOf(from, version, body);
  const kept = sameCopy(ifNoneMatch, tag);
  if (kept !== undefined) return answerWithoutBody(304, { ETag: kept });
  return tagged(answer(200, body, from.readHeaders), tag);
}

function existing({ resource }: Collection, node: Node | null): Node {
  if (node) return node;
  throw new DuetError('NOT_FOUND', `There is no ${resource.singular} with this ${resource.key.name}.`);
}

/** `shape`: what was asked for, where that is not the plain record, which alone has a tag. */
export function created(from: Collection, node: Node, shape?: Selection, spend?: Spend): Response {
  const { key, path } = from.resource;
  const id = node[key.name];
  const response = written(from, 201, node, shape, spend);
  const { headers } = response;
  const location = `/${path}/${typeof id === 'number' ? id : encodeURIComponent(String(id))}`;
  // Percent-encoded, a natural key can be longer than clients and proxies take a header to be; the record tells it too.
  if (location.length <= LONGEST_LOCATION) headers.set('Location', location);
  return response;
}

export function updated(from: Collection, node: Node, shape?: Selection, spend?: Spend): Response {
  return written(from, 200, node, shape, spend);
}

export function upserted(from: Collection, node: Node, shape?: Selection, spend?: Spend): Response {
  const isNew = node[CREATED] === true;
  node[CREATED] = undefined;
  return (isNew ? created : updated)(from, node, shape, spend);
}

function written(from: Collection, status: number, node: Node, shape?: Selection, spend?: Spend): Response {
  const { resource, headers, deprecatedSince } = from;
  if (shape)
    return answer(status, paid(shown(shape, node), spend), deprecationOf(resource, shape, deprecatedSince));
  const version = node[resource.version.name];
  const body = paid(whole(from, node), spend);
  return tagged(answer(status, body, headers), tagOf(from, version, body));
}

export function deleted(): Response {
  return answerWithoutBody(204);
}

/** Where rules decide what is shown, the same version looks different to different callers. */
function tagOf({ fingerprint, isShaped }: Collection, version: unknown, body: string): string {
  return etag(version, fingerprint, isShaped ? body : undefined);
}

function tagged(response: Response, tag: string): Response {
  response.headers.set('ETag', tag);
  return response;
}

/** The record without its version, which is taken from it; rules can need more columns, and move others. */
function whole({ resource, isShaped }: Collection, node: Node): Node {
  if (isShaped) return shown(wholeOf(resource), node);
  node[resource.version.name] = undefined;
  return node;
}

const wholes = new WeakMap<Resource, Selection>();

/** All that a record shows, without what is related to it. Made once: what is known of a selection is kept beside it. */
export function wholeOf(resource: Resource): Selection {
  let selection = wholes.get(resource);
  if (!selection) {
    selection = { columns: resource.columns, relations: [], computed: computedOf(resource) };
    wholes.set(resource, selection);
  }
  return selection;
}

/** A node as the selection asks for it: columns first, then what is included. */
export function shown({ columns, computed, relations }: Selection, node: Node): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  for (const { name } of columns) record[name] = node[name];
  for (const { column } of computed ?? []) record[column.name] = node[column.name];
  for (const { as, selection } of relations) {
    const related = node[relationKey(as)] as Node | Node[] | null;
    if (Array.isArray(related)) record[as] = related.map((each) => shown(selection, each));
    else record[as] = related && shown(selection, related);
  }
  return record;
}
