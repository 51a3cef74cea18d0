/** How TypeScript is written: names that are free, comments, properties and whole interfaces. */

import { shapesOf } from '../schema/actions.ts';
import type { Column, Described, Model } from '../schema/model.ts';
import { isScalar } from '../schema/values.ts';

export interface Property {
  readonly name: string;
  readonly type: string;
  readonly optional?: boolean;
  readonly readonly?: boolean;
  readonly told?: string | undefined;
}

/** A type of the file keeps its name; what is derived, and what is ours, makes way. */
export class Names {
  readonly #taken: Set<string>;
  readonly #known = new Map<string, string>();

  constructor({ resources, enums, actions }: Model) {
    this.#taken = new Set([...resources, ...enums, ...shapesOf(actions)].map(({ name }) => name));
  }

  /** The same for the same words, and another for others, also where they read alike: `Book` `ListWhere`, `BookList` `Where`. */
  of(...words: readonly string[]): string {
    const key = words.join(' ');
    let name = this.#known.get(key) ?? words.join('');
    if (this.#known.has(key)) return name;
    while (this.#taken.has(name)) name += '_';
    this.#taken.add(name);
    this.#known.set(key, name);
    return name;
  }
}

/** What the file says of something, and what there is to say beside it. */
export function toldOf(
  { description, deprecated }: Pick<Described, 'description' | 'deprecated'>,
  ...more: readonly (string | undefined)[]
): string | undefined {
  const gone = deprecated === undefined ? undefined : `@deprecated ${deprecated}`;
  return [description, ...more, gone].filter((each) => each !== undefined).join('\n') || undefined;
}

export function comment(told: string | undefined, indent = ''): string {
  if (told === undefined) return '';
  // It must not end before its end.
  const lines = told.replaceAll('*/', '*\\/').split('\n');
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`;
}

export function interfaceOf(
  name: string,
  properties: readonly Property[],
  { told, base }: { readonly told?: string | undefined; readonly base?: string } = {},
): string {
  const of = base === undefined ? '' : ` extends ${base}`;
  return `${comment(told)}export interface ${name}${of} {\n${properties.map(propertyOf).join('')}}\n`;
}

export function typeOf(name: string, type: string, told?: string): string {
  return `${comment(told)}export type ${name} = ${type};\n`;
}

function propertyOf({ name, type, optional, readonly, told }: Property): string {
  return `${comment(told, '  ')}  ${readonly ? 'readonly ' : ''}${name}${optional ? '?' : ''}: ${type};\n`;
}

/** A column, with what the file says of it. */
export function fieldOf(column: Column, type: string, optional: boolean): Property {
  return { name: column.name, type, optional, told: toldOf(column) };
}

export function union(of: readonly string[]): string {
  return of.length === 0 ? 'never' : of.join(' | ');
}

export function literals(names: readonly string[]): string {
  return union(names.map((name) => `'${name}'`));
}

/** Of a type that may be a union. */
export function listOf(type: string): string {
  return type.includes(' ') ? `(${type})[]` : `${type}[]`;
}

/** One that is taken, and not kept. */
export function givenList(type: string): string {
  return `readonly ${listOf(type)}`;
}

/** What one value of a column is. */
export function leafType(type: Column['type']): string {
  if (!isScalar(type)) return type.name;
  switch (type.stored) {
    case 'serial':
    case 'integer':
    case 'float':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'json':
      return 'unknown';
    default:
      return 'string';
  }
}
