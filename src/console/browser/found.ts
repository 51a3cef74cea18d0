/** Records by a text that somebody types, where there is no `@search`: it is looked for in their own texts, and as their key. */

import type { ListAsk } from './ask.ts';
import { scalar } from './scalar.ts';
import type { Column, Resource } from './schema/types.ts';
import type { Where } from './where.ts';

/** The columns in which a text can be found. */
export function textsOf({ columns }: Resource): Column[] {
  return columns.filter(
    ({ kind, list, operators }) => kind === 'text' && !list && operators.includes('contains'),
  );
}

/** Each of the words is looked for. Undefined where nothing could be found by one of them. */
export function found(resource: Resource, text: string, columns: readonly Column[]): Where | undefined {
  const all = text.match(/\S+/g)?.map((word) => foundBy(resource, word, columns)) ?? [undefined];
  return all.length === 1 ? all[0] : all.every((each) => each) ? { and: all } : undefined;
}

/** Letter case counts, so that it is looked for as it was typed and with a capital. */
function foundBy({ key }: Resource, text: string, columns: readonly Column[]): Where | undefined {
  const words = [...new Set([text, text[0]?.toUpperCase() + text.slice(1)])];
  const conditions = columns
    .filter(({ operators }) => operators.includes('contains'))
    .flatMap(({ name }): Where[] => words.map((word) => ({ [name]: { contains: word } })));
  const asKey = scalar(key, text);
  if (key.kind === 'text' || (key.kind === 'id' && Number.isSafeInteger(asKey) && Number(asKey) > 0))
    conditions.push({ [key.name]: { eq: asKey } });
  return conditions.length > 0 ? { or: conditions } : undefined;
}

/** All that the records of a list match. */
export function filterOf({ resource, where, find }: ListAsk): Where | undefined {
  const none = { [resource.key.name]: { in: [] } };
  const text = find && (found(resource, find, textsOf(resource)) ?? none);
  return where && text ? { and: [where, text] } : text || where;
}
