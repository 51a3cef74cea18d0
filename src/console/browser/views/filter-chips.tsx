/** What a list is filtered by, in words. */

import type { ListAsk } from '../ask.ts';
import { spoken } from '../filter-tree.ts';
import { allOf, conditionsOf, isObject, type Where } from '../where.ts';
import { listLink } from './list-place.ts';
import { Icon } from './parts.tsx';

/** Each can be taken away. */
export function FilterChips({ ask }: { ask: ListAsk }) {
  const parts = partsOf(ask.where);
  if (parts.length === 0) return null;
  return (
    <ul class="chips" aria-label="Filters">
      {parts.map((part, at) => {
        const text = inWords(part);
        return (
          <li key={text}>
            <span dir="auto">{text}</span>
            <a
              href={listLink({ ...ask, where: joined(parts.toSpliced(at, 1)) })}
              aria-label={`Remove ${text}`}
            >
              <Icon name="close" />
            </a>
          </li>
        );
      })}
      {parts.length > 1 && (
        <li class="all">
          <a href={listLink({ ...ask, where: undefined })}>Clear all</a>
        </li>
      )}
    </ul>
  );
}

/** What all has to hold, one by one. */
export function partsOf(where: Where = {}): Where[] {
  return Object.entries(where).flatMap(([name, value]): Where[] => {
    if (name === 'and' && Array.isArray(value))
      return value.filter(isObject).flatMap((each) => partsOf(each));
    const part = { [name]: value };
    return conditionsOf(part)?.flatMap((condition): Where[] => [allOf([condition]) ?? part]) ?? [part];
  });
}

function joined(parts: readonly Where[]): Where | undefined {
  const conditions = parts.map((part) => conditionsOf(part));
  if (conditions.every((each) => each !== undefined)) return allOf(conditions.flat());
  return parts.length > 1 ? { and: parts } : parts[0];
}

function inWords(where: unknown, path: readonly string[] = []): string {
  if (!isObject(where)) return JSON.stringify(where);
  const texts = Object.entries(where).map(([name, value]) => {
    if ((name === 'and' || name === 'or') && Array.isArray(value))
      return value.map((each) => bracketed(each)).join(` ${name} `);
    if (name === 'not') return `not ${bracketed(value, true)}`;
    if (name === 'some' || name === 'none') {
      const which = `${name === 'some' ? 'some' : 'no'} ${path.join('.')}`;
      return isObject(value) && Object.keys(value).length === 0
        ? which
        : `${which} with ${bracketed(value, true)}`;
    }
    if (isObject(value)) return inWords(value, [...path, name]);
    const field = path.join('.');
    if (name === 'isNull') return `${field} is ${value === false ? 'not null' : 'null'}`;
    return `${field} ${spoken[name] ?? name} ${Array.isArray(value) ? value.join(', ') : value}`;
  });
  return texts.join(' and ');
}

/** In brackets where it could be read otherwise without them. */
function bracketed(where: unknown, always = false): string {
  const text = inWords(where);
  return always || /\b(and|or)\b/.test(text) ? `(${text})` : text;
}
