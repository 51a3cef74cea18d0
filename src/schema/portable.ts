/** A Model that can cross to another thread, where reading the file anew would take long. */

import type { Model } from './model.ts';
import { Serial, scalars } from './scalars.ts';

/** A copy that structured cloning can copy once more: instead of scalars, whose functions it cannot, it has stand-ins. */
export interface Portable {
  readonly model: unknown;
  /** The names of the scalars, by what stands for them; a clone keeps which object is which. */
  readonly standIns: ReadonlyMap<object, string>;
}

const all = new Map([Serial, ...scalars.values()].map((scalar) => [scalar.name, scalar]));

export function portable(model: Model): Portable {
  const swap = new Map<object, object>([...all.values()].map((scalar) => [scalar, {}]));
  const standIns = new Map([...all].map(([name, scalar]) => [swap.get(scalar) ?? {}, name]));
  return { model: copied(model, swap), standIns };
}

export function revived({ model, standIns }: Portable): Model {
  const swap = new Map<object, object>(
    [...standIns].map(([standIn, name]) => [standIn, all.get(name) ?? {}]),
  );
  return copied(model, swap) as Model;
}

/** A copy of everything within reach, whatever points to whatever; `done` has what others are to stand for. */
function copied(value: unknown, done: Map<object, object>): unknown {
  if (typeof value !== 'object' || value === null || value instanceof RegExp) return value;
  const before = done.get(value);
  if (before) return before;
  const copy = Array.isArray(value)
    ? []
    : value instanceof Map
      ? new Map()
      : value instanceof Set
        ? new Set()
        : {};
  done.set(value, copy);
  if (value instanceof Map)
    for (const [key, each] of value)
      (copy as Map<unknown, unknown>).set(copied(key, done), copied(each, done));
  else if (value instanceof Set) for (const each of value) (copy as Set<unknown>).add(copied(each, done));
  else
    for (const [name, each] of Object.entries(value))
      Object.defineProperty(copy, name, { value: copied(each, done), enumerable: true });
  return copy;
}
