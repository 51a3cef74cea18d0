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
        parameters: [...parameters, ...(operation.parameters ?? [])],
      })),
    );
  }

  static async of(app: AppUnderTest): Promise<Description> {
    const response = await app.fetch('/openapi.json');
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
    const pointer = this.#resolve(join(`${of.pointer}/responses`, String(status)));
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
    this.fit(`${join(`${pointer}/content`, type)}/schema`, body, about);
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
    let value = this.document;
    for (const part of pointer.split('/').slice(1))
      value = value?.[part.replaceAll('~1', '/').replaceAll('~0', '~')];
    return value;
  }

  /** Every example that stands beside a schema. */
  examples(value: any = this.document, pointer = '#'): { schema: string; value: unknown }[] {
    if (typeof value !== 'object' || value === null) return [];
    const values = Object.values<any>(value.examples ?? {}).map((each) => each.value);
    if ('example' in value) values.push(value.example);
    const own = value.schema ? values.map((each) => ({ schema: `${pointer}/schema`, value: each })) : [];
    return [
      ...own,
      ...Object.entries(value).flatMap(([key, inner]) => this.examples(inner, join(pointer, key))),
    ];
  }

  #resolve(pointer: string): string {
    return this.at(pointer)?.$ref ?? pointer;
  }

  /** A schema without its outermost reference. */
  schema(schema: any): any {
    return schema.$ref ? { ...this.at(schema.$ref), ...schema, $ref: undefined } : schema;
  }
}

export function join(pointer: string, ...parts: readonly string[]): string {
  return [pointer, ...parts.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1'))].join('/');
}
