/** Holds a service against its own OpenAPI document: each answer must be one that the document declares. */

import { expect } from 'bun:test';
import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import type { AppUnderTest } from '../app.ts';

export interface DescribedOperation {
  readonly path: string;
  readonly method: string;
  readonly pointer: string;
  readonly operation: any;
  readonly parameters: any[];
}

export interface Seen {
  readonly status: number;
  readonly headers: Headers;
  readonly body: any;
}

const ROOT = 'http://duet.test/openapi.json';

export class Description {
  readonly document: any;
  readonly operations: DescribedOperation[];
  /** `GET /books 200`, for each answer so far. */
  readonly seen = new Set<string>();
  readonly #app: AppUnderTest;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true, ownProperties: true });
  readonly #validators = new Map<string, ValidateFunction>();
  /** By their pointers, which every answer is looked up by. */
  readonly #found = new Map<string, any>();

  private constructor(app: AppUnderTest, document: any) {
    this.#app = app;
    this.document = document;
    addFormats(this.#ajv);
    for (const format of ['int32', 'int64', 'decimal', 'double']) this.#ajv.addFormat(format, true);
    this.#ajv.addSchema({ ...document, $id: ROOT });
    this.operations = Object.entries<any>(document.paths).flatMap(([path, { parameters = [], ...methods }]) =>
      Object.entries<any>(methods).map(([method, operation]) => ({
        path,
        method: method.toUpperCase(),
        pointer: join('#/paths', path, method),
        operation,
        parameters: [...parameters, ...(operation.parameters ?? [])].flatMap((each) => this.#spelt(each)),
      })),
    );
  }

  static async of(app: AppUnderTest, profile?: 'client'): Promise<Description> {
    const response = await app.fetch(profile ? `/openapi.json?profile=${profile}` : '/openapi.json');
    expect(response.headers.get('Content-Type')).toBe('application/json');
    return new Description(app, await response.json());
  }

  operation(method: string, path: string): DescribedOperation {
    const found = this.operations.find((each) => each.method === method && each.path === path);
    if (!found) throw new Error(`${method} ${path} is not described`);
    return found;
  }

  /** Sends a request, and fails when the answer is not declared for the operation. */
  async send(
    of: DescribedOperation,
    { key, query = '', body, headers = {} }: { key?: string; query?: string; body?: any; headers?: any },
  ): Promise<Seen> {
    const path = of.path.replace(/\{\w+\}/, encodeURIComponent(key ?? ''));
    const isText = typeof body === 'string' || body === undefined;
    const init: RequestInit = {
      method: of.method,
      headers: body === undefined ? headers : { 'Content-Type': 'application/json', ...headers },
      ...(body !== undefined && { body: isText ? body : JSON.stringify(body) }),
    };
    const url = query === '' ? path : `${path}?${query}`;
    const response = await this.#app.fetch(url, init);
    const what = `${of.method} ${url} ${JSON.stringify(body)?.slice(0, 300) ?? ''}`;
    return this.check(of, response, what);
  }

  /** Fails when the answer is not declared for the operation. */
  async check(of: DescribedOperation, response: Response, what: string): Promise<Seen> {
    const { status, headers } = response;
    const text = await response.text();
    const about = `${what} → ${status} ${text.slice(0, 500)}`;
    const all = `${of.pointer}/responses`;
    const own = join(all, String(status));
    const pointer = this.#resolve(this.at(own) || status < 400 ? own : `${all}/default`);
    const declared = this.at(pointer);
    if (!declared) throw new Error(`undeclared status: ${about}`);
    this.seen.add(`${of.method} ${of.path} ${status}`);
    for (const name of Object.keys(declared.headers ?? {})) {
      const at = this.#resolve(join(`${pointer}/headers`, name));
      const value = headers.get(name);
      if (value === null && this.at(at).required) throw new Error(`no header ${name}: ${about}`);
      const isNumber = this.at(at).schema.type === 'integer';
      if (value !== null) this.fit(`${at}/schema`, isNumber ? Number(value) : value, `${name}: ${about}`);
    }
    const known = ['ETag', 'Vary', 'Location', 'Link', 'X-Total-Count', 'Deprecation', 'Retry-After'];
    if (status < 400) known.push('Duet-Position');
    for (const name of known)
      if (headers.has(name) && !declared.headers?.[name])
        throw new Error(`undeclared header ${name}: ${about}`);
    if (!declared.content) {
      if (text !== '') throw new Error(`undeclared body: ${about}`);
      return { status, headers, body: undefined };
    }
    const type = (headers.get('Content-Type') ?? '').replace(/; charset=utf-8$/, '');
    if (!declared.content[type]) throw new Error(`undeclared type ${type}: ${about}`);
    const body = /^application\/(json|.*\+json)$/.test(type) ? JSON.parse(text) : text;
    if (declared.content[type].schema) this.fit(`${join(`${pointer}/content`, type)}/schema`, body, about);
    return { status, headers, body };
  }

  /** Fails when the value does not fit the schema at the pointer. */
  fit(pointer: string, value: unknown, about: string): void {
    const validate = this.#validator(pointer);
    if (!validate(value)) throw new Error(`${about}\n${this.#ajv.errorsText(validate.errors)} (${pointer})`);
  }

  fits(pointer: string, value: unknown): boolean {
    return this.#validator(pointer)(value);
  }

  #validator(pointer: string): ValidateFunction {
    const known = this.#validators.get(pointer);
    if (known) return known;
    const encoded = pointer.slice(1).split('/').map(encodeURIComponent).join('/');
    const validate = this.#ajv.compile({ $ref: `${ROOT}#${encoded}` });
    this.#validators.set(pointer, validate);
    return validate;
  }

  at(pointer: string): any {
    if (this.#found.has(pointer)) return this.#found.get(pointer);
    let value = this.document;
    for (const part of pointer.split('/').slice(1))
      value = value?.[part.replaceAll('~1', '/').replaceAll('~0', '~')];
    this.#found.set(pointer, value);
    return value;
  }

  /** Every example that stands beside a schema, or in it. */
  examples(value: any = this.document, pointer = '#'): { schema: string; value: unknown }[] {
    if (typeof value !== 'object' || value === null) return [];
    const values = Object.values<any>(value.examples ?? {}).map((each) => each.value);
    if ('example' in value) values.push(value.example);
    const beside = value.schema ? values.map((each) => ({ schema: `${pointer}/schema`, value: each })) : [];
    // Those of a schema itself are a list.
    const own = Array.isArray(value.examples) ? value.examples : [];
    return [
      ...beside,
      ...own.map((each: unknown) => ({ schema: pointer, value: each })),
      ...Object.entries(value).flatMap(([key, inner]) => this.examples(inner, join(pointer, key))),
    ];
  }

  #resolve(pointer: string): string {
    return this.at(pointer)?.$ref ?? pointer;
  }

  /** A schema without its outermost reference, with the properties of those that it is put together of. */
  schema(schema: any): any {
    const { allOf = [], ...own } = schema.$ref
      ? { ...this.at(schema.$ref), ...schema, $ref: undefined }
      : schema;
    if (allOf.length === 0) return own;
    const properties: Record<string, any> = {};
    for (const part of allOf) Object.assign(properties, this.schema(part).properties);
    for (const [name, property] of Object.entries<any>(own.properties ?? {}))
      if (property === false) delete properties[name];
      else properties[name] = { ...properties[name], ...property };
    return { type: 'object', ...own, properties };
  }

  /** Where the schema of a parameter stands. */
  pointerTo({ pointer }: DescribedOperation, name: string): string {
    const above = pointer.slice(0, pointer.lastIndexOf('/'));
    for (const all of [`${pointer}/parameters`, `${above}/parameters`])
      for (const [index, each] of (this.at(all) ?? []).entries())
        if ((each.$ref ? this.at(each.$ref) : each).name === name)
          return `${each.$ref ?? `${all}/${index}`}/schema`;
    throw new Error(`${pointer} has no parameter ${name}`);
  }

  /** A parameter, and each way to write it: `pages`, `pages[gte]`. */
  #spelt(given: any): any[] {
    const parameter = given.$ref ? this.at(given.$ref) : given;
    if (parameter.style !== 'deepObject') return [parameter];
    const { name, schema, style, explode, ...rest } = parameter;
    const [plain, filter] = schema.anyOf ?? [undefined, schema];
    const bracketed = Object.entries<any>(this.schema(filter).properties).map(([key, operand]) => ({
      ...rest,
      name: `${name}[${key}]`,
      schema: operand,
    }));
    return plain ? [{ ...rest, name, schema: plain }, ...bracketed] : bracketed;
  }
}

export function join(pointer: string, ...parts: readonly string[]): string {
  return [pointer, ...parts.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1'))].join('/');
}
