/** Requests that a client could make who knows nothing but the two descriptions, and then half of them disturbed. */

import type { GraphQLSchema } from 'graphql';
import { Dice, Generator } from '../../graphql/generated.ts';
import type { DescribedOperation, Description } from '../../rest/described.ts';
import type { Borders, Probe } from './borders.ts';
import { choicesOf, disturbed, odd, scrambled, stranger, strangeTexts, untidy } from './noise.ts';
import { type Memory, SchemaValues } from './schema-values.ts';

export interface Shot {
  readonly url: string;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
}

/** What the requests are made of, for one application. */
export interface Arsenal {
  readonly described: Description;
  readonly schema: GraphQLSchema;
  readonly memory: Memory;
  /** Cursors by the name of their type, for GraphQL. */
  readonly cursors: ReadonlyMap<string, readonly string[]>;
  /** Headers that name a caller, one set for each. */
  readonly callers: readonly Record<string, string>[];
  readonly borders: Borders;
}

const CHOICES = 800;

export class Gunner {
  readonly #arsenal: Arsenal;
  readonly #dice: Dice;
  readonly #choices: readonly number[];
  readonly #values: SchemaValues;
  /** Whether values may be other than described. */
  readonly #careless: boolean;
  /** How many things are done to the whole request; most would hide what is wrong with its values. */
  readonly #spoils: number;

  constructor(arsenal: Arsenal, seed: number) {
    this.#arsenal = arsenal;
    this.#choices = choicesOf(seed, CHOICES);
    this.#dice = new Dice(this.#choices);
    this.#careless = this.#dice.once(2);
    this.#spoils = this.#dice.pick([0, 0, 0, 0, 1, 1, 2, 4]);
    this.#values = new SchemaValues(arsenal.described, arsenal.memory, this.#dice, this.#careless ? 6 : 100);
  }

  shot(): Shot {
    const probe = this.#careless || this.#dice.once(2) ? undefined : this.#arsenal.borders.next();
    return probe ? this.#probing(probe) : this.#any();
  }

  /** Nothing else is wrong with it: of two faults, one would hide that the other is not seen. */
  #probing({ operation, field, value }: Probe): Shot {
    const schema = operation.operation.requestBody.content['application/json'].schema;
    const { required = [] } = this.#arsenal.described.schema(schema);
    const sound = Object.entries(this.#values.of(schema) as object).filter(([name]) =>
      required.includes(name),
    );
    const body = JSON.stringify({ ...Object.fromEntries(sound), [field]: value });
    const headers = { ...this.#dice.pick(this.#arsenal.callers), 'Content-Type': 'application/json' };
    return { url: this.#path(operation), method: operation.method, headers, body };
  }

  #any(): Shot {
    const { links } = this.#arsenal.memory;
    const isFollowing = links.length > 0 && this.#dice.once(20);
    const operation = isFollowing ? this.#operation('GET', '/') : this.#target();
    const body = this.#body(operation);
    const url = isFollowing ? this.#followed(links) : this.#path(operation) + this.#query(operation);
    const headers = this.#headers(operation, body !== undefined);
    let shot: Shot = { url, method: operation.method, headers, body };
    for (let count = 0; count < this.#spoils; count++) shot = this.#spoilt(shot);
    return shot;
  }

  /** A sound body for a new record. */
  input(path: string): unknown {
    return this.#values.of(
      this.#operation('POST', path).operation.requestBody.content['application/json'].schema,
    );
  }

  #operation(method: string, path: string): DescribedOperation {
    return this.#arsenal.described.operation(method, path);
  }

  #target(): DescribedOperation {
    if (this.#dice.once(3)) return this.#operation('POST', '/graphql');
    if (this.#dice.once(10)) return this.#operation('POST', '/transaction');
    const { operations } = this.#arsenal.described;
    // What is the same for every deployment is seldom of interest.
    return this.#dice.pick(this.#dice.once(40) ? operations : operations.filter(isOwn));
  }

  #followed(links: readonly string[]): string {
    return this.#dice.pick(links).replace(/[\w-]+$/, (cursor) => this.#cursor(cursor));
  }

  /** Clients can write cursors too: one of the right query, with other values in it. */
  #cursor(cursor: string): string {
    if (!this.#careless) return cursor;
    const [name, ...place] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const forged = place.map((value: unknown) => (this.#dice.once(2) ? stranger(this.#dice) : value));
    return Buffer.from(JSON.stringify([name, ...forged])).toString('base64url');
  }

  #path({ path }: DescribedOperation): string {
    return path.replace(/\{\w+\}/, () => {
      const { memory } = this.#arsenal;
      const known = memory.keys.get(path.split('/')[1] ?? '') ?? [];
      if (known.length > 0 && !this.#dice.once(8)) return encodeURIComponent(this.#dice.pick(known));
      const strange = this.#dice.once(2) ? ['1', '2', '99999', ...memory.allKeys] : strangeTexts;
      return encode(String(this.#dice.pick(strange)));
    });
  }

  #query({ parameters }: DescribedOperation): string {
    const queried = parameters.filter((parameter) => parameter.in === 'query');
    if (queried.length === 0 || this.#dice.once(3)) return '';
    const given = new Map<string, string>();
    for (let count = 1 + this.#dice.roll(3); count > 0; count--) {
      // There are ten times as many filters as other parameters.
      const special = queried.filter(
        ({ name }) => !/^[\w.]+(\[\w+\])?$/.test(name) || /^[a-zA-Z]+$/.test(name),
      );
      const where = queried.filter(({ content }) => content);
      const parameter = this.#dice.pick(
        where.length > 0 && this.#dice.once(4) ? where : this.#dice.once(2) ? special : queried,
      );
      given.set(parameter.name, this.#parameter(parameter));
      const [, list] = /^(\w+)\[(?:limit|after|sort|where)\]$/.exec(parameter.name) ?? [];
      if (list !== undefined && queried.some(({ name }) => name === 'include')) given.set('include', list);
    }
    return `?${[...given].map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')}`;
  }

  #parameter({ name, schema, content }: any): string {
    const { cursors } = this.#arsenal.memory;
    if (/(after|before)\]?$/.test(name) && cursors.length > 0) return this.#cursor(this.#dice.pick(cursors));
    const value = this.#values.of(schema ?? content['application/json'].schema);
    if (content) return JSON.stringify(this.#maybe(value));
    if (/^(include|fields)$/.test(name) && this.#dice.once(4)) return this.#longPath(schema);
    return Array.isArray(value) ? value.join() : String(value);
  }

  /** Relations of relations, most of which there are not. */
  #longPath(schema: any): string {
    const relations = schema.items.anyOf?.flatMap((each: any) => each.enum ?? []) ?? ['id'];
    return Array.from({ length: 1 + this.#dice.roll(14) }, () => this.#dice.pick(relations)).join('.');
  }

  #maybe(value: unknown): unknown {
    return this.#careless && this.#dice.once(3) ? disturbed(value, this.#dice) : value;
  }

  #body({ path, operation }: DescribedOperation): string | undefined {
    if (path === '/graphql') return this.#written(this.#maybe(this.#envelope()));
    if (path === '/transaction') return this.#written(this.#maybe(this.#transaction()));
    const schema = operation.requestBody?.content['application/json'].schema;
    return schema && this.#written(this.#maybe(this.#values.of(schema)));
  }

  #written(value: unknown): string {
    const json = JSON.stringify(value);
    return this.#careless && this.#dice.once(6) ? untidy(json, this.#dice) : json;
  }

  #transaction(): unknown {
    const { operations: all } = this.#arsenal.described;
    const writes = all.filter((each) => each.method !== 'GET' && isOwn(each));
    const operations = Array.from({ length: 1 + this.#dice.roll(4) }, (_, index) =>
      this.#step(this.#dice.pick(writes), index),
    );
    return { operations };
  }

  #step(of: DescribedOperation, index: number): unknown {
    const { method, path, operation } = of;
    const schema = operation.requestBody?.content['application/json'].schema;
    const collection = path.replace(/\/\{.*/, '');
    const where = this.#arsenal.described.operations
      .find((each) => each.path === collection && each.method === 'GET')
      ?.parameters.find(({ name }) => name === 'where');
    const isMany = this.#dice.once(4);
    const body = () => {
      const input = this.#values.of(schema) as object;
      const reference = Object.keys(input).find((name) => name.endsWith('Id'));
      const isLinked = reference !== undefined && index > 0 && this.#dice.once(3);
      return isLinked
        ? { ...input, [reference]: { $ref: `${this.#dice.pick(['a0', 'a1', 'a9'])}.id` } }
        : input;
    };
    if (isMany && method === 'POST') return { method, path, body: [body(), body()] };
    const bodied = schema && { body: body() };
    if (isMany && where) {
      const filter = this.#values.of(where.content['application/json'].schema);
      return { method, path: collection, where: filter, atMost: this.#dice.pick([1, 5, 50, 0]), ...bodied };
    }
    const named = method !== 'DELETE' && this.#dice.once(2) && { as: `a${index}` };
    const { tags } = this.#arsenal.memory;
    const matched = method !== 'POST' &&
      tags.length > 0 &&
      this.#dice.once(4) && { ifMatch: this.#dice.pick(tags) };
    return { method, path: this.#path(of), ...bodied, ...named, ...matched };
  }

  #envelope(): unknown {
    const { schema, memory, cursors } = this.#arsenal;
    const known = { keys: [...new Set(memory.allKeys.map(String))].slice(0, 30), cursors };
    const generator = new Generator(schema, this.#choices.slice(CHOICES / 2), known);
    const request = generator.request(this.#dice.once(3) ? 'mutation' : 'query');
    let { query } = request;
    if (query.startsWith('mutation') && this.#dice.once(4)) query = query.replace(' {', ' @atomic {');
    const isSpoilt = this.#careless && this.#dice.once(2);
    if (isSpoilt) query = this.#dice.once(2) ? scrambled(query, this.#dice) : this.#shuffled(query);
    const variables = this.#maybe(request.variables);
    const extensions = this.#dice.once(20) ? { extensions: this.#dice.pick([null, {}, []]) } : {};
    return { ...request, query, variables, ...extensions };
  }

  /** Token by token: what no longer is what it was often still can be parsed. */
  #shuffled(query: string): string {
    const tokens = query.match(/"(?:[^"\\]|\\.)*"|\.\.\.|[\w$@]+|\s+|./g) ?? [];
    for (let count = 1 + this.#dice.roll(3); count > 0; count--) {
      const at = this.#dice.roll(tokens.length);
      const token = this.#dice.pick(tokens);
      if (this.#dice.once(3)) tokens.splice(at, 1);
      else if (this.#dice.once(2)) tokens.splice(at, 0, token);
      else tokens[at] = this.#dice.once(4) ? JSON.stringify(this.#dice.pick(strangeTexts)) : token;
    }
    return tokens.join('');
  }

  #headers({ method, path }: DescribedOperation, isBodied: boolean): Record<string, string> {
    const dice = this.#dice;
    const { callers, memory } = this.#arsenal;
    const { tags } = memory;
    const headers: Record<string, string> = { ...dice.pick(callers) };
    if (isBodied) headers['Content-Type'] = 'application/json';
    if (method !== 'GET' && dice.once(8)) headers['Idempotency-Key'] = `k${dice.roll(200)}`;
    const matching = method === 'GET' ? 'If-None-Match' : 'If-Match';
    if (path.includes('{') && dice.once(6) && tags.length > 0)
      headers[matching] = dice.pick([...tags, tags.join(', '), '*', `W/${tags[0]}`]);
    if (dice.once(8)) headers['Accept'] = dice.pick(odd.accepts);
    return headers;
  }

  #spoilt(shot: Shot): Shot {
    const dice = this.#dice;
    const header = (name: string, value: string): Shot => ({
      ...shot,
      headers: { ...shot.headers, [name]: value },
    });
    switch (dice.roll(11)) {
      case 10:
        return { ...shot, method: dice.pick(odd.methods) };
      case 9:
        return header('Content-Type', dice.pick(odd.contentTypes));
      case 8:
        return header('Accept', dice.pick(odd.accepts));
      case 7:
        return header(dice.pick(odd.names), dice.pick(odd.values));
      case 6:
        return header('Authorization', dice.pick(odd.authorizations));
      case 5:
        return header(dice.pick(['If-Match', 'If-None-Match', 'Idempotency-Key']), dice.pick(odd.values));
      case 4:
        return { ...shot, body: JSON.stringify(stranger(dice)) };
      case 3:
        return { ...shot, body: scrambled(shot.body ?? '{}', dice) };
      case 2:
        return { ...shot, url: `${shot.url}${shot.url.includes('?') ? '&' : '?'}${this.#stray()}` };
      default:
        return { ...shot, url: `/${scrambled(shot.url.slice(1), dice)}` };
    }
  }

  /** A parameter that there may not be. */
  #stray(): string {
    const names = [
      'limit',
      'after',
      'sort',
      'where',
      'include',
      'fields',
      'id[in]',
      '__proto__',
      'a[b',
      'a.b[eq]',
      '',
    ];
    return `${encode(this.#dice.pick(names))}=${encode(this.#dice.pick(strangeTexts))}`;
  }
}

/** Whether the schema file has it, and not every deployment. */
function isOwn({ operation }: DescribedOperation): boolean {
  return !operation.tags.includes('Service');
}

/** Percent-encoded, even where a half surrogate makes the real thing throw. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
