/** The REST door: an ask as a request, a response as an answer. */

import {
  type ActAsk,
  type Answer,
  type Ask,
  type Change,
  type GetAsk,
  isMany,
  type ListAsk,
  SHOWN_CHANGES,
  SHOWN_INVERSES,
  SHOWN_LINKS,
} from '../ask.ts';
import { filterOf } from '../found.ts';
import { readable } from '../links.ts';
import {
  furtherOf,
  linkedLists,
  type Resource,
  type Row,
  referencesOf,
  type Schema,
} from '../schema/types.ts';
import { filterParameters } from '../where.ts';
import { Fault, type FieldFault, type Wire } from './wire.ts';

const JSON_HEADERS = { 'Content-Type': 'application/json' };

export function restWire(ask: Ask, schema: Schema): Wire | undefined {
  if (ask.do === 'act') return actWire(ask);
  const { rest } = ask.resource;
  if (!rest) return undefined;
  const door = 'rest';
  switch (ask.do) {
    case 'list':
      return {
        door,
        method: 'GET',
        path: rest.path + parametersOf(listParameters(ask)),
        headers: ask.as ? { Accept: ask.as } : {},
      };
    case 'get':
      return {
        door,
        method: 'GET',
        path: one(ask) + parametersOf(relatedParameters(ask, schema)),
        headers: {},
      };
    case 'create':
      return {
        door,
        method: 'POST',
        path: rest.path,
        headers: JSON_HEADERS,
        body: JSON.stringify(ask.values),
      };
    case 'update':
      return {
        door,
        method: 'PUT',
        path: one(ask),
        headers: { ...JSON_HEADERS, ...matching(ask, schema) },
        body: JSON.stringify(ask.changes),
      };
    case 'delete':
      return { door, method: 'DELETE', path: one(ask), headers: matching(ask, schema) };
    case 'changes': {
      const after: [string, string][] = ask.after === undefined ? [] : [['after', ask.after]];
      const parameters = parametersOf([['limit', String(SHOWN_CHANGES)], ...after]);
      return { door, method: 'GET', path: `/changes${one(ask)}${parameters}`, headers: {} };
    }
    case 'restore':
      return {
        door,
        method: 'POST',
        path: `${one(ask)}/restore`,
        headers: JSON_HEADERS,
        body: JSON.stringify({ version: ask.version }),
      };
    case 'createMany':
      return transaction({ method: 'POST', path: rest.path, body: ask.records });
    case 'updateMany': {
      const { where, changes: body, atMost } = ask;
      return transaction({ method: 'PUT', path: rest.path, where, body, atMost });
    }
    case 'deleteMany': {
      const { where, atMost } = ask;
      return transaction({ method: 'DELETE', path: rest.path, where, atMost });
    }
  }
}

function matching({ version }: { version?: number | undefined }, schema: Schema): Record<string, string> {
  return version === undefined ? {} : { 'If-Match': `"${version}-${schema.fingerprint}"` };
}

/** What is done to many records has no route of its own. */
function transaction(operation: object): Wire {
  return {
    door: 'rest',
    method: 'POST',
    path: '/transaction',
    headers: JSON_HEADERS,
    body: JSON.stringify({ operations: [operation] }),
  };
}

function actWire({ action, values }: ActAsk): Wire {
  const { path, root } = action;
  if (root === 'Mutation')
    return { door: 'rest', method: 'POST', path, headers: JSON_HEADERS, body: JSON.stringify(values) };
  const given = action.arguments.flatMap(({ column: { name, list, kind } }): [string, string][] => {
    const value = values[name];
    if (value === undefined || value === null) return [];
    return [[name, list || kind === 'json' ? JSON.stringify(value) : String(value)]];
  });
  return { door: 'rest', method: 'GET', path: path + parametersOf(given), headers: {} };
}

function one({ resource, key }: { resource: Resource; key: unknown }): string {
  return `${resource.rest?.path}/${encodeURIComponent(String(key))}`;
}

function parametersOf(pairs: readonly (readonly [string, string])[]): string {
  return pairs.length === 0
    ? ''
    : `?${readable(new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value])))}`;
}

export function listParameters(ask: ListAsk): [string, string][] {
  const lists = ask.related ? linkedLists(ask.resource, 'rest').map(({ name }) => name) : [];
  const include = ask.related ? [...includable(ask.resource), ...lists] : [];
  const pairs: [string, string | undefined][] = [
    ...filterParameters(filterOf(ask)),
    ['search', ask.search],
    ['sort', ask.sort.join(',') || undefined],
    ['include', include.join(',') || undefined],
    ...lists.map((name): [string, string] => [`${name}[limit]`, String(SHOWN_INVERSES + 1)]),
    ['limit', ask.limit?.toString()],
    ['after', ask.after],
    ['before', ask.before],
    ['count', ask.count ? 'true' : undefined],
  ];
  return pairs.filter((pair): pair is [string, string] => pair[1] !== undefined);
}

function relatedParameters({ resource, related }: GetAsk, schema: Schema): [string, string][] {
  if (!related) return [];
  const isForm = related === 'links';
  const shown = resource.inverses.filter(
    ({ doors, linkedBy }) => doors.includes('rest') && (!isForm || linkedBy.includes('UPDATE')),
  );
  const lists = shown.map(({ name }) => name);
  const most = isForm ? SHOWN_LINKS : SHOWN_INVERSES + 1;
  // A form shows those of a list by their names alone.
  const further = (isForm ? [] : shown).flatMap((list) =>
    furtherOf(list, 'rest', schema).map(({ name }) => `${list.name}.${name}`),
  );
  const names = [...includable(resource), ...lists, ...further];
  if (names.length === 0) return [];
  return [
    ['include', names.join(',')],
    ...lists.map((name): [string, string] => [`${name}[limit]`, String(most)]),
  ];
}

function includable(resource: Resource): string[] {
  return referencesOf(resource)
    .filter(({ doors }) => doors.includes('rest'))
    .map(({ name }) => name);
}

export async function restAnswer(ask: Ask, response: Response): Promise<Answer> {
  if (!response.ok) throw await restFault(response);
  if (ask.do === 'delete') return {};
  if (ask.do === 'act') return { value: await response.json() };
  if (isMany(ask)) {
    const { results } = (await response.json()) as { results: { body: Row[] }[] };
    return { rows: results[0]?.body ?? [] };
  }
  if (ask.do === 'changes') return { changes: (await response.json()) as Change[] };
  if (ask.do === 'list') {
    const links = linksOf(response.headers.get('Link') ?? '');
    const total = response.headers.get('X-Total-Count');
    return {
      rows: (await response.json()) as Row[],
      next: links.get('next')?.get('after') ?? undefined,
      previous: links.get('prev')?.get('before') ?? undefined,
      total: total === null ? undefined : Number(total),
    };
  }
  const tag = /^"(\d+)-/.exec(response.headers.get('ETag') ?? '')?.[1];
  return { row: (await response.json()) as Row, version: tag === undefined ? undefined : Number(tag) };
}

export async function restFault(response: Response): Promise<Fault> {
  const body = (await response.json().catch(() => ({}))) as {
    code?: string;
    detail?: string;
    requestId?: string;
    errors?: FieldFault[];
  };
  return new Fault(body.code ?? 'UNKNOWN', response.status, body.detail ?? response.statusText, body);
}

/** `</books?after=…>; rel="next"` */
function linksOf(header: string): Map<string, URLSearchParams> {
  const links = [...header.matchAll(/<[^>?]*\??([^>]*)>;\s*rel="(\w+)"/g)];
  return new Map(links.map(([, query = '', rel = '']) => [rel, new URLSearchParams(query)]));
}
