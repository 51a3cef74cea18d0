/** Values that columns admit, for the API description and for commands to paste. */

import type { Fault } from '../base/errors.ts';
import { matching } from './matching.ts';
import type { Column, Resource } from './model.ts';
import type { Scalar } from './scalars.ts';
import { checkValue, creatable, isScalar, isText, neededOnCreate, updatable } from './values.ts';

const byFormat: Readonly<Record<string, string>> = {
  email: 'somebody@example.com',
  uri: 'https://example.com/',
  uuid: '01890f5a-7c1e-7a64-b3f5-2b1f3c0e9a11',
  'date-time': '2024-05-01T12:30:00.000Z',
  date: '2024-05-01',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
};

const byStorage: Readonly<Partial<Record<Scalar['stored'], unknown>>> = {
  serial: 1,
  boolean: true,
  uuid: byFormat['uuid'],
  time: byFormat['date-time'],
  date: byFormat['date'],
  json: {},
};

/** One of them may match a pattern. */
const words = ['text', 'Text', 'TEXT', 'a', 'A', '1', '123', '12345', 'text-1', 'AB-123'];

/** Undefined where no guess meets the column's own constraint. */
export function exampleOf(column: Column): unknown {
  const shaped = guesses(column).map((guess) => (column.list ? [guess] : guess));
  return shaped.find((value) => {
    const faults: Fault[] = [];
    checkValue(column, value, faults);
    return faults.length === 0;
  });
}

/** A key as text; its name, where no guess fits. */
export function exampleKey(key: Column): string {
  return String(exampleOf(key) ?? key.name);
}

/** What a create can hold; undefined when a field that must be in it has no example. */
export function exampleInput(resource: Resource, wanted: (column: Column) => boolean) {
  return exampleOfAll(creatable(resource).filter(wanted));
}

/** The least that a create can hold, or one field where it needs none. */
export function exampleCreate(resource: Resource) {
  const [first] = creatable(resource);
  const needsSome = creatable(resource).some(neededOnCreate);
  return exampleInput(resource, needsSome ? neededOnCreate : (column) => column === first);
}

/** A change of one field: the first text, or else the first that is no reference. */
export function exampleUpdate(resource: Resource): Readonly<Record<string, unknown>> | undefined {
  const own = updatable(resource).filter(({ reference }) => !reference);
  const column = own.find(isText) ?? own[0];
  const value = column && exampleOf(column);
  return column && value !== undefined ? { [column.name]: value } : undefined;
}

function exampleOfAll(columns: readonly Column[]): Readonly<Record<string, unknown>> | undefined {
  const entries = columns.map((column) => {
    // A record need not have a related one, and nobody knows which there are.
    const known = column.reference && !column.required ? undefined : exampleOf(column);
    return [column.name, known ?? (column.required ? undefined : null)] as const;
  });
  return entries.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(entries);
}

function guesses(column: Column): unknown[] {
  const { type, constraint, origin, reference, name } = column;
  if (reference) return guesses(reference.target.key);
  const given = 'default' in origin && origin.default != null ? [origin.default].flat() : [];
  if (!isScalar(type)) return [...given, ...type.values.map((each) => each.name)];
  const { min = 1, max = 1, minLength = 0, maxLength, format, pattern } = constraint ?? {};
  if (type.is === 'exact')
    return [...given, ...(type.scale === 2 ? ['12.50'] : []), String(min), String(max), '0'];
  if (type.is === 'number')
    return [
      ...given,
      ...[min, max].flatMap((bound) => [bound, Math.ceil(Number(bound)), Math.floor(Number(bound))]),
      0,
    ];
  if (type.is !== 'text') return [...given, byStorage[type.stored]];
  const texts = [...(name === 'lang' ? ['en'] : []), ...(format ? [byFormat[format] ?? ''] : []), ...words];
  const sized = (text: string) => text.padEnd(minLength, text).slice(0, maxLength);
  return [
    ...given,
    ...texts.flatMap((text) => [text, sized(text)]),
    ...(pattern ? matching(pattern.source) : []),
  ];
}
