/** What a list is filtered by, in words. */

import type { ListAsk } from '../ask.ts';
import { comparables, spoken, WORDS } from '../filter-tree.ts';
import { labelled, type Resource, type Row, type Schema } from '../schema/types.ts';
import { allOf, conditionsOf, isObject, type Where } from '../where.ts';
import { listLink } from './list-place.ts';
import { Icon } from './parts.tsx';
import { useReferred } from './referred.ts';

/** Each can be taken away. */
export function FilterChips({ ask, schema }: { ask: ListAsk; schema: Schema }) {
  const parts = partsOf(ask.where);
  const keys = parts.flatMap((part): Row[] =>
    Object.entries(part).flatMap(([name, value]) =>
      isObject(value) ? [value['eq'], value['ne'], value['in']].flat().map((key) => ({ [name]: key })) : [],
    ),
  );
  const referred = useReferred(ask.resource, keys, schema);
  /** References by their own names, and the records that they lead to by theirs. */
  const say: Say = (field, key) => {
    const { reference } = ask.resource.columns.find(({ name }) => name === field) ?? {};
    const target = reference && schema.byName.get(reference.target);
    if (key === undefined) return reference?.name ?? field;
    const record = reference && referred({ [field]: key } as Row)[reference.name];
    return target && record ? labelled(target, record as Row) : String(key);
  };
  if (parts.length === 0) return null;
  const columns = comparables(ask.resource, schema);
  return (
    <ul class="chips" aria-label="Filters">
      {parts.map((part, at) => {
        const text = inWords(part, say, (field, operator) => spoken(operator, columns.get(field)));
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

/** What the service says of a condition, which it calls `beds gt`. */
export function filterSaid(text: string, { columns }: Resource): string {
  return text.replace(/^(\w+) (\w+)(?= (must|needs))/, (whole, field, operator) => {
    const column = columns.find(({ name }) => name === field);
    return operator in WORDS
      ? `${column?.reference?.name ?? field} ${spoken(operator, column)}: this`
      : whole;
  });
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

/** A field in words, or a value of it. */
type Say = (field: string, value?: unknown) => string;
/** What is said of a field. */
type Speak = (field: string, operator: string) => string;

function inWords(where: unknown, say: Say, speak: Speak, path: readonly string[] = []): string {
  if (!isObject(where)) return JSON.stringify(where);
  const texts = Object.entries(where).map(([name, value]) => {
    if ((name === 'and' || name === 'or') && Array.isArray(value))
      return value.map((each) => bracketed(each, say, speak)).join(` ${name} `);
    if (name === 'not') return `not ${bracketed(value, say, speak, true)}`;
    if (name === 'some' || name === 'none') {
      const which = `${name === 'some' ? 'some' : 'no'} ${path.join('.')}`;
      return isObject(value) && Object.keys(value).length === 0
        ? which
        : `${which} with ${bracketed(value, say, speak, true)}`;
    }
    if (isObject(value)) return inWords(value, say, speak, [...path, name]);
    const field = path.join('.');
    if (name === 'isNull') return `${say(field)} is ${value === false ? 'not null' : 'null'}`;
    const values = [value].flat().map((each) => say(field, each));
    return `${say(field)} ${speak(field, name)} ${values.join(', ')}`;
  });
  return texts.join(' and ');
}

/** In brackets where it could be read otherwise without them. */
function bracketed(where: unknown, say: Say, speak: Speak, always = false): string {
  const text = inWords(where, say, speak);
  return always || /\b(and|or)\b/.test(text) ? `(${text})` : text;
}
