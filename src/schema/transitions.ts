/** `@transitions`: where the value of an enum field can go from where it is. */

import type { Applied } from './directives.ts';
import type { Faults } from './draft.ts';
import type { Column, Enum, Resource, Transitions } from './model.ts';
import type { Scalar } from './scalars.ts';
import { didYouMean } from './suggest.ts';
import { isScalar } from './values.ts';

export function readTransitions(
  { node, arguments: { allow } }: Applied,
  where: string,
  type: Scalar | Enum,
  list: boolean,
  faults: Faults,
): Transitions | undefined {
  if (isScalar(type) || list) {
    faults.at(node, `"@transitions" on "${where}" needs a field of an enum. Remove it, or make it one.`);
    return undefined;
  }
  if (
    typeof allow !== 'object' ||
    allow === null ||
    Array.isArray(allow) ||
    Object.keys(allow).length === 0
  ) {
    const [from = 'A', to = 'B'] = type.values.map(({ name }) => name);
    faults.at(node, `"@transitions" on "${where}" names no change. Write: allow: { ${from}: [${to}] }`);
    return undefined;
  }
  const names = type.values.map(({ name }) => name);
  const known = (name: unknown): name is string => {
    if (names.some((each) => each === name)) return true;
    const cure = didYouMean(String(name), names) || ` There are: ${names.join(', ')}.`;
    faults.at(
      node,
      `"@transitions" on "${where}" names ${JSON.stringify(name)}, which is no value of ${type.name}.${cure}`,
    );
    return false;
  };
  const read = Object.entries(allow).flatMap(([from, to]): [string, string[]][] => {
    if (!known(from)) return [];
    if (Array.isArray(to)) return [[from, to.filter(known)]];
    faults.at(
      node,
      `"@transitions" on "${where}" must list where ${from} can go, such as ${from}: [${names.at(-1)}]`,
    );
    return [];
  });
  return new Map(read);
}

/** What people are told of it; the console reads it from here too. */
export function toldTransitions(transitions: Transitions): string {
  const lines = [...transitions].map(([from, to]) => `${from} → ${to.join(', ') || 'nothing'}`);
  return `Changes only so: ${lines.join('; ')}.`;
}

const known = new WeakMap<Resource, readonly Column[]>();

/** The columns whose changes are bound. */
export function staged(resource: Resource): readonly Column[] {
  let columns = known.get(resource);
  if (!columns) {
    columns = resource.columns.filter(({ transitions }) => transitions);
    known.set(resource, columns);
  }
  return columns;
}

/** Where a field can go from a value. What has no value yet begins as a new record does. */
export function nextOf({ transitions, type, origin }: Column, from: unknown): readonly string[] {
  if (typeof from === 'string') return transitions?.get(from) ?? [];
  const start = 'default' in origin ? origin.default : undefined;
  if (typeof start === 'string') return [start];
  return isScalar(type) ? [] : type.values.map(({ name }) => name);
}

/** Whether two versions of a column let it change in the same ways. */
export function passSame(a: Column, b: Column): boolean {
  return passesAll(a, b) && passesAll(b, a);
}

/** Whether whatever the old one let happen, the new one does too. */
export function passesAll({ transitions: old }: Column, { transitions: now }: Column): boolean {
  if (!now) return true;
  if (!old) return false;
  return [...old].every(([from, to]) => to.every((each) => now.get(from)?.includes(each)));
}

/** Whether something must be true of a record, whoever writes it. */
export function isBound(resource: Resource): boolean {
  return resource.checks.length > 0 || staged(resource).length > 0;
}
