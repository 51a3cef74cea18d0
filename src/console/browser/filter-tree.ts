/** A filter as a person builds it: groups of conditions, and the JSON that they mean. */

import { type Column, type Resource, referencesOf, type Schema } from './schema/types.ts';
import { allOf, type Condition, conditionsOf, isObject, type Where } from './where.ts';

export interface Group {
  readonly is: 'all' | 'any' | 'none';
  readonly parts: readonly Part[];
}

/** A condition that is still being made may lack its operand. */
export interface Comparison {
  readonly path: string;
  readonly operator: string;
  readonly text: string;
  /** What the input holds of it, where that is more than the text. */
  readonly given?: unknown;
}

/** `posts some { … }` */
export interface Quantified {
  readonly inverse: string;
  readonly how: 'some' | 'none';
  readonly group: Group;
}

export type Part = Comparison | Quantified | Group;

/** The operators in words. */
export const WORDS: Readonly<Record<string, string>> = {
  eq: 'is',
  ne: 'is not',
  gt: 'is more than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  in: 'is one of',
  contains: 'contains',
  startsWith: 'starts with',
  endsWith: 'ends with',
  has: 'has',
  hasSome: 'has one of',
  hasEvery: 'has all of',
  isEmpty: 'is empty',
  isNull: 'is null',
};

/** Nobody says that a day is more than another. */
const TIMES: typeof WORDS = { gt: 'is after', gte: 'is from', lt: 'is before', lte: 'is until' };

/** An operator in words. */
export function spoken(operator: string, { kind }: Partial<Column> = {}): string {
  const own = kind === 'date' || kind === 'datetime' ? TIMES : {};
  return own[operator] ?? WORDS[operator] ?? operator;
}

/** A part of a text that has no letter is in every text: whoever applies it has forgotten something. */
export function emptyIn(group: Group): Comparison | undefined {
  for (const part of group.parts) {
    if (!('path' in part)) {
      const found = emptyIn('inverse' in part ? part.group : part);
      if (found) return found;
    } else if (part.text === '' && /^(contains|(starts|ends)With)$/.test(part.operator)) return part;
  }
  return undefined;
}

export const nothing: Group = { is: 'all', parts: [] };

/** What can be compared: own columns, and those of records that are referred to. */
export function comparables(resource: Resource, schema: Schema): Map<string, Column> {
  const own = resource.columns.map((column): [string, Column] => [column.name, column]);
  const through = referencesOf(resource).flatMap(({ name, target }) =>
    (schema.byName.get(target)?.columns ?? []).map((column): [string, Column] => [
      `${name}.${column.name}`,
      column,
    ]),
  );
  return new Map([...own, ...through].filter(([, { operators }]) => operators.length > 0));
}

export function whereOf(
  group: Group,
  resource: Resource,
  schema: Schema,
  read: (column: Column | undefined, operator: string, text: string) => unknown,
): Where | undefined {
  const columns = comparables(resource, schema);
  const conditions: Condition[] = [];
  const others: Where[] = [];
  for (const part of group.parts) {
    if ('path' in part) {
      const { path, operator, text } = part;
      conditions.push({ path: path.split('.'), operator, value: read(columns.get(path), operator, text) });
    } else if ('inverse' in part) {
      const target = schema.byName.get(targetOf(resource, part.inverse) ?? '');
      const inner = target ? whereOf(part.group, target, schema, read) : undefined;
      others.push({ [part.inverse]: { [part.how]: inner ?? {} } });
    } else {
      const inner = whereOf(part, resource, schema, read);
      if (inner) others.push(inner);
    }
  }
  if (group.is === 'all') {
    const own = allOf(conditions);
    const all = own ? [own, ...others] : others;
    return all.length > 1 ? { and: all } : all[0];
  }
  const each = conditions.flatMap((condition): Where[] => {
    const alone = allOf([condition]);
    return alone ? [alone] : [];
  });
  each.push(...others);
  if (each.length === 0) return undefined;
  const any: Where = each.length === 1 && each[0] ? each[0] : { or: each };
  return group.is === 'any' ? any : { not: any };
}

function targetOf({ inverses }: Resource, name: string): string | undefined {
  return inverses.find((inverse) => inverse.name === name)?.target;
}

/** Undefined for a filter that cannot be shown so; it is written as JSON then. */
export function groupOf(where: Where | undefined, resource: Resource, schema: Schema): Group | undefined {
  const columns = comparables(resource, schema);
  const group = (of: Where): Group | undefined => {
    const parts: Part[] = [];
    for (const [name, value] of Object.entries(of)) {
      const found = partsOf(name, value);
      if (!found) return undefined;
      parts.push(...found);
    }
    const [only] = parts;
    // A group in a group of one is that group.
    if (parts.length === 1 && only && 'is' in only) return only;
    return { is: 'all', parts };
  };
  const partsOf = (name: string, value: unknown): Part[] | undefined => {
    if (name === 'and' || name === 'or') {
      const inner = Array.isArray(value)
        ? value.map((each) => (isObject(each) ? group(each) : undefined))
        : [];
      if (inner.length === 0 || inner.some((each) => each === undefined)) return undefined;
      const parts = inner.flatMap((each) => (each ? [flat(each)] : []));
      return [{ is: name === 'and' ? 'all' : 'any', parts }];
    }
    if (name === 'not') {
      const inner = isObject(value) ? group(value) : undefined;
      if (!inner) return undefined;
      return [{ is: 'none', parts: inner.is === 'any' ? inner.parts : [flat(inner)] }];
    }
    const target = schema.byName.get(targetOf(resource, name) ?? '');
    if (target && isObject(value)) {
      return Object.entries(value).flatMap(([how, of]): Part[] => {
        const inner = isObject(of) ? groupOf(of, target, schema) : undefined;
        return inner && (how === 'some' || how === 'none') ? [{ inverse: name, how, group: inner }] : [];
      });
    }
    const conditions = isObject(value) ? conditionsOf({ [name]: value }) : undefined;
    if (!conditions?.every((condition) => isTyped(condition.value))) return undefined;
    const parts = conditions.map(({ path, operator, value: operand }) => ({
      path: path.join('.'),
      operator,
      text: Array.isArray(operand) ? operand.join(', ') : String(operand),
    }));
    return parts.every(({ path }) => columns.has(path)) ? parts : undefined;
  };
  return where ? group(where) : nothing;
}

/** All or any of one thing is that thing; none of it is not. */
function flat(group: Group): Part {
  const [only] = group.parts;
  return group.is !== 'none' && group.parts.length === 1 && only ? only : group;
}

/** In the builder a list is separated by commas, so that not every list can be in it. */
function isTyped(operand: unknown): boolean {
  return !Array.isArray(operand) || operand.every((item) => /^[^,\s]([^,]*[^,\s])?$/.test(String(item)));
}
