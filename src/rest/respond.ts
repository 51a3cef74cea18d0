/** Result → Response, for the routes of a resource. */

import type { Node } from '../engine/read.ts';
import { DuetError } from '../errors.ts';
import { JSON_TYPE } from '../http/exchange.ts';
import { etag, noneMatches } from './etag.ts';
import type { Collection } from './parse.ts';

export function listed({ headers }: Collection, nodes: readonly Node[]): Response {
  return json(200, JSON.stringify(nodes), headers);
}

export function found(from: Collection, node: Node | null, ifNoneMatch: string | null): Response {
  const { resource } = from;
  if (!node)
    throw new DuetError('NOT_FOUND', `There is no ${resource.singular} with this ${resource.key.name}.`);
  const ETag = tagOf(from, node);
  if (!noneMatches(ifNoneMatch, ETag)) return new Response(null, { status: 304, headers: { ETag } });
  return json(200, record(from, node), { ...from.headers, ETag });
}

export function created(from: Collection, node: Node): Response {
  const key = encodeURIComponent(String(node[from.resource.key.name]));
  return json(201, record(from, node), {
    ...from.headers,
    Location: `/${from.resource.path}/${key}`,
    ETag: tagOf(from, node),
  });
}

export function updated(from: Collection, node: Node): Response {
  return json(200, record(from, node), { ...from.headers, ETag: tagOf(from, node) });
}

export function deleted(): Response {
  return new Response(null, { status: 204 });
}

function tagOf({ resource, fingerprint }: Collection, node: Node): string {
  return etag(node[resource.version.name], fingerprint);
}

function record({ resource }: Collection, node: Node): string {
  const record: Record<string, unknown> = {};
  for (const { name } of resource.columns) record[name] = node[name];
  return JSON.stringify(record);
}

function json(status: number, body: string, headers: Record<string, string>): Response {
  return new Response(body, { status, headers: { ...headers, 'Content-Type': JSON_TYPE } });
}
