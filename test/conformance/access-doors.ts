/** One caller at both doors: sends operations and tells what came of them, in the same words for each door. */

import type { AppUnderTest } from '../app.ts';
import { type Name, type Row, serial, shapes, type Who } from './access-world.ts';

/** What came of it: what was answered, or a word for why not. */
export type Outcome = unknown;

export const doors = ['rest', 'graphql'] as const;
export type Door = (typeof doors)[number];
/** The ways to write: alone, and as a part of something that happens as a whole. */
export const ways = ['rest', 'graphql', 'transaction', 'atomic'] as const;
export type Way = (typeof ways)[number];

export class Client {
  readonly #app: AppUnderTest;
  readonly #who: Who;
  readonly #headers: Record<string, string>;
  /** Everything that was received, as text, until somebody takes it. */
  received: string[] = [];

  constructor(app: AppUnderTest, who: Who, headers: Record<string, string>) {
    this.#app = app;
    this.#who = who;
    this.#headers = headers;
  }

  async rest(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<{ outcome: Outcome; headers: Headers }> {
    const answer = await this.#app.rest(method, path, body, { ...this.#headers, ...headers });
    this.received.push(JSON.stringify([answer.body, [...answer.headers]]));
    if (answer.status >= 400)
      return { outcome: this.#word(answer.body.code, answer.status), headers: answer.headers };
    return { outcome: alike(answer.body), headers: answer.headers };
  }

  /** A list as a file; undefined when it is denied. */
  async file(path: string, type: string): Promise<string | undefined> {
    const response = await this.#app.fetch(path, { headers: { ...this.#headers, Accept: type } });
    const text = await response.text();
    this.received.push(text);
    if (response.status === 200) return text;
    return this.#word(JSON.parse(text).code, response.status) === 'denied' ? undefined : text;
  }

  async graphql(document: string, variables?: Record<string, unknown>): Promise<any> {
    const { data, errors = [], body } = await this.#app.graphql(document, variables, this.#headers);
    this.received.push(JSON.stringify(body));
    for (const { path, extensions } of errors) {
      if (extensions.code !== 'FORBIDDEN' || !path || path.length < 2)
        return this.#word(extensions.code, undefined);
      // A forbidden field is null and has its error: that is what REST's absence is.
      const at = path.slice(0, -1).reduce((value: any, part: string | number) => value[part], data);
      const last = path.at(-1);
      if (at[last] !== null) return `${path.join('.')} is forbidden, but not null`;
      delete at[last];
    }
    return alike(data);
  }

  #word(code: string, status: number | undefined): string {
    const wanted = this.#who.claims ? ['FORBIDDEN', 403] : ['UNAUTHENTICATED', 401];
    if (code !== 'FORBIDDEN' && code !== 'UNAUTHENTICATED') return code;
    return code === wanted[0] && (status === undefined || status === wanted[1])
      ? 'denied'
      : `denied as ${code} ${status}`;
  }

  async create(way: Way, name: Name, input: Row): Promise<Outcome> {
    if (way === 'rest') return (await this.rest('POST', `/${name}`, input)).outcome;
    if (way === 'transaction') return this.#transaction({ method: 'POST', path: `/${name}`, body: input });
    return this.#mutate(way, name, `create${shapes[name].type}`, literals(input));
  }

  async update(way: Way, name: Name, key: unknown, changes: Row): Promise<Outcome> {
    const path = pathOf(name, key);
    if (way === 'rest') return (await this.rest('PUT', path, changes)).outcome;
    if (way === 'transaction') return this.#transaction({ method: 'PUT', path, body: changes });
    const args = literals({ [shapes[name].key]: key, ...changes });
    return this.#mutate(way, name, `update${shapes[name].type}`, args);
  }

  /** REST answers nothing, GraphQL the record as it was. */
  async remove(way: Way, name: Name, key: unknown): Promise<Outcome> {
    const path = pathOf(name, key);
    if (way === 'rest') return (await this.rest('DELETE', path)).outcome;
    if (way === 'transaction') return (await this.#transaction({ method: 'DELETE', path })) ?? '';
    return this.#mutate(way, name, `delete${shapes[name].type}`, literals({ [shapes[name].key]: key }));
  }

  async updateMany(door: Door, name: Name, where: unknown, changes: Row): Promise<Outcome> {
    if (door === 'rest')
      return this.#transaction({ method: 'PUT', path: `/${name}`, where, atMost: 100, body: changes });
    const args = `where: ${literal('', where)}, set: { ${literals(changes)} }, atMost: 100`;
    return this.#mutate('graphql', name, `update${capitalised(name)}`, args);
  }

  async removeMany(door: Door, name: Name, where: unknown): Promise<Outcome> {
    if (door === 'rest') return this.#transaction({ method: 'DELETE', path: `/${name}`, where, atMost: 100 });
    const args = `where: ${literal('', where)}, atMost: 100`;
    return this.#mutate('graphql', name, `delete${capitalised(name)}`, args);
  }

  async #transaction(operation: unknown): Promise<Outcome> {
    const { outcome } = await this.rest('POST', '/transaction', { operations: [operation] });
    return typeof outcome === 'string' ? outcome : (outcome as any).results[0].body;
  }

  async #mutate(way: Way, name: Name, field: string, args: string): Promise<Outcome> {
    const directive = way === 'atomic' ? '@atomic' : '';
    const columns = shapes[name].columns.join(' ');
    const data = await this.graphql(`mutation ${directive} { it: ${field}(${args}) { ${columns} } }`);
    return typeof data === 'string' ? data : data.it;
  }
}

export function pathOf(name: Name, key: unknown): string {
  return `/${name}/${encodeURIComponent(String(key))}`;
}

export function capitalised(name: string): string {
  return name[0]?.toUpperCase() + name.slice(1);
}

function literals(values: Row): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}: ${literal(name, value)}`)
    .join(', ');
}

/** A value as GraphQL writes it. */
export function literal(name: string, value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((each) => literal(name, each)).join(', ')}]`;
  if (typeof value === 'object' && value !== null)
    return `{ ${Object.entries(value)
      .map(([inner, each]) => `${inner}: ${literal(serial.has(inner) ? inner : name, each)}`)
      .join(', ')} }`;
  return serial.has(name) && typeof value === 'number'
    ? JSON.stringify(String(value))
    : JSON.stringify(value);
}

/** Integer keys are strings in GraphQL: here they are everywhere. */
export function alike(value: any, name = ''): any {
  if (Array.isArray(value)) return value.map((each) => alike(each, name));
  if (typeof value !== 'object' || value === null)
    return serial.has(name) && value !== null ? String(value) : value;
  return Object.fromEntries(Object.entries(value).map(([inner, each]) => [inner, alike(each, inner)]));
}
