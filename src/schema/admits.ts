/** Compares what two versions of a column admit. */

import type { Bound, Column } from './model.ts';
import { isBelow, isScalar, scaleOf } from './values.ts';

/** Whether they admit the same, as far as constraints and enums go. */
export function admitSame(a: Column, b: Column): boolean {
  return bounds(a) === bounds(b);
}

/** Whether whatever the old one admitted, the new one does too. */
export function admitsAll(old: Column, now: Column): boolean {
  if (isScalar(now.type)) {
    // The values of an enum are kept as text.
    if (isScalar(old.type) ? old.type.name !== now.type.name : now.type.name !== 'String') return false;
    if (scaleOf(old) > scaleOf(now)) return false;
  } else {
    if (isScalar(old.type)) return false;
    const names = new Set(now.type.values.map(({ name }) => name));
    if (!old.type.values.every(({ name }) => names.has(name))) return false;
  }
  const [a, b] = [old.constraint, now.constraint];
  if (!b) return true;
  const least = (x: Bound | undefined, y: Bound | undefined) =>
    y === undefined || (x !== undefined && !isBelow(x, y));
  const most = (x: Bound | undefined, y: Bound | undefined) =>
    y === undefined || (x !== undefined && !isBelow(y, x));
  const same = (x: unknown, y: unknown) => y === undefined || x === y;
  return (
    least(a?.minLength, b.minLength) &&
    most(a?.maxLength, b.maxLength) &&
    least(a?.min, b.min) &&
    most(a?.max, b.max) &&
    same(a?.pattern?.source, b.pattern?.source) &&
    same(a?.format, b.format)
  );
}

/** Whether every value of the old column is one of the new type too, as far as its range goes. */
export function widens(old: Column, now: Column): boolean {
  if (old.list || now.list || old.reference || now.reference) return false;
  if (old.type.name === 'Int') return ['BigInt', 'Float', 'Decimal'].includes(now.type.name);
  return old.type.name === 'Decimal' && now.type.name === 'Decimal' && scaleOf(old) < scaleOf(now);
}

function bounds({ constraint, type }: Column): string {
  const values = isScalar(type) ? [] : type.values.map(({ name }) => name);
  return JSON.stringify([values, constraint && { ...constraint, pattern: constraint.pattern?.source }]);
}
