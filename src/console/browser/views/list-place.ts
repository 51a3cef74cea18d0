/** A list as its address tells it, and the address of a list. */

import type { ListAsk } from '../ask.ts';
import { listParameters } from '../doors/rest.ts';
import { dataLink, to } from '../links.ts';
import { scalar } from '../scalar.ts';
import type { Column, Resource, Schema } from '../schema/types.ts';
import { readFilter } from '../where.ts';

export const PAGE_SIZES = [25, 50, 100, 500];

/** No field begins with `_`, so that these are no filters. */
const COLUMNS = '_columns';
const FIND = '_find';
const FROM = '_from';

export function listAsk(resource: Resource, query: URLSearchParams, schema?: Schema): ListAsk {
  const where = readFilter(query, (path, operator, text) => {
    const column = schema && columnAt(resource, path, schema);
    return operand(column, operator, text);
  });
  const limit = Number(query.get('limit'));
  return {
    do: 'list',
    resource,
    where,
    find: query.get(FIND) ?? undefined,
    search: (resource.searchable && query.get('search')) || undefined,
    sort: query.get('sort')?.split(',').filter(Boolean) ?? [],
    limit: Number.isInteger(limit) && limit > 0 ? limit : (PAGE_SIZES[0] ?? 25),
    after: query.get('after') ?? undefined,
    before: query.get('before') ?? undefined,
    from: Number(query.get(FROM)) || undefined,
    count: query.get('count') === 'true',
    related: true,
    columns: query.get(COLUMNS) ?? undefined,
  };
}

/** The address says what is asked for, and leaves out what goes without saying. */
export function listLink(ask: ListAsk): string {
  const pairs = listParameters({ ...ask, find: undefined, related: false }).filter(
    ([name, value]) => !(name === 'limit' && value === String(PAGE_SIZES[0])),
  );
  if (ask.find) pairs.push([FIND, ask.find]);
  if (ask.from && (ask.after ?? ask.before)) pairs.push([FROM, String(ask.from)]);
  if (ask.columns !== undefined) pairs.push([COLUMNS, ask.columns]);
  return pairs.length === 0
    ? dataLink(ask.resource.name)
    : to(['data', ask.resource.name], new URLSearchParams(pairs));
}

/** The list of all that point to a record. */
export function allLink(target: Resource, via: string, key: unknown): string {
  return to(['data', target.name], { [`${via}[eq]`]: String(key) });
}

/** The column that a path of references leads to. */
function columnAt(resource: Resource, path: readonly string[], schema: Schema): Column | undefined {
  const [name, ...rest] = path;
  if (rest.length === 0) return resource.columns.find((column) => column.name === name);
  const reference = resource.columns.find((column) => column.reference?.name === name)?.reference;
  const target = reference && schema.byName.get(reference.target);
  return target && columnAt(target, rest, schema);
}

/** Text as a person typed it, as the operand that the operator takes. */
export function operand(column: Column | undefined, operator: string, text: string): unknown {
  if (operator === 'isNull' || operator === 'isEmpty')
    return text === 'true' ? true : text === 'false' ? false : text;
  if (operator === 'in' || operator === 'hasSome' || operator === 'hasEvery')
    return text === '' ? [] : text.split(',').map((part) => scalar(column, part.trim()));
  return scalar(column, text);
}
