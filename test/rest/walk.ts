/** Builds requests for the operations of an API description, out of its examples and of records that exist. */

import { expect } from 'bun:test';
import { exampleInput } from '../../src/schema/examples.ts';
import type { Column, Model, Resource } from '../../src/schema/model.ts';
import { readSchema } from '../../src/schema/read.ts';
import { updatable } from '../../src/schema/values.ts';
import { type AppUnderTest, type DatabaseKind, openApp } from '../app.ts';
import { type DescribedOperation, Description } from './described.ts';

interface Walked {
  readonly sdl: string;
  readonly data: any;
}

export class Walk {
  readonly app: AppUnderTest;
  readonly described: Description;
  readonly model: Model;
  readonly #data: any;
  readonly #created = new Map<Resource, unknown[]>();
  #fresh = 0;

  private constructor(app: AppUnderTest, described: Description, { sdl, data }: Walked) {
    this.app = app;
    this.described = described;
    this.model = readSchema(sdl).model as Model;
    this.#data = data;
  }

  static async open(database: DatabaseKind, deployment: Walked): Promise<Walk> {
    const app = await openApp(database, { ...deployment, env: { LIMIT_BODY: '20000', LIMIT_URL: '8000' } });
    return new Walk(app, await Description.of(app), deployment);
  }

  resourceOf({ path }: DescribedOperation): Resource | undefined {
    return this.model.resources.find((resource) => resource.path === path.split('/')[1]);
  }

  /** The operations of a method, on collections or on single records. */
  operations(method: string, of: 'list' | 'one') {
    return this.described.operations.flatMap((operation) => {
      const resource = this.resourceOf(operation);
      const fits = operation.method === method && operation.path.includes('{') === (of === 'one');
      return resource && fits ? [{ operation, resource }] : [];
    });
  }

  find(method: string, resource: Resource): DescribedOperation | undefined {
    return this.operations(method, method === 'POST' ? 'list' : 'one').find(
      (each) => each.resource === resource,
    )?.operation;
  }

  /** The key of a record that exists. */
  key(resource: Resource): unknown {
    return this.#created.get(resource)?.[0] ?? this.#data[resource.plural]?.[0]?.[resource.key.name];
  }

  /** The document's own example, or for a change one that is like it, with references that lead somewhere. */
  input({ operation }: DescribedOperation, resource: Resource): Record<string, any> {
    const { example } = operation.requestBody.content['application/json'];
    const changed = updatable(resource);
    // The examples have what is needed alone.
    const given = { ...exampleInput(resource, (column) => changed.includes(column)), ...example };
    const entries = Object.entries<unknown>(given).map(([field, value]) => {
      const column = resource.fieldByName.get(field) as Column;
      if (column.reference) return [field, this.key(column.reference.target) ?? value];
      const isUnique =
        column === resource.key || resource.uniques.some(({ columns }) => columns.includes(column));
      return [field, isUnique ? `u${++this.#fresh}` : value];
    });
    return Object.fromEntries(entries);
  }

  async create(resource: Resource, more: Record<string, unknown> = {}) {
    const operation = this.described.operation('POST', `/${resource.path}`);
    const body = { ...this.input(operation, resource), ...more };
    const answer = await this.described.send(operation, { body });
    if (answer.status === 201) {
      const key = answer.body[resource.key.name];
      this.#created.set(resource, [...(this.#created.get(resource) ?? []), key]);
      expect(answer.headers.get('Location')).toBe(`/${resource.path}/${encodeURIComponent(key)}`);
    }
    return answer;
  }

  forget(resource: Resource, key: unknown): void {
    const kept = (this.#created.get(resource) ?? []).filter((each) => each !== key);
    this.#created.set(resource, kept);
  }

  /** Every query parameter of every read of a record or list that exists. */
  parameters() {
    const reads = [...this.operations('GET', 'list'), ...this.operations('GET', 'one')];
    return reads.flatMap(({ operation, resource }) => {
      const key = String(this.key(resource));
      const queried = operation.parameters.filter((parameter) => parameter.in === 'query');
      return queried.map((parameter) => {
        const schema = parameter.schema ?? parameter.content['application/json'].schema;
        return { operation, resource, parameter, key, schema: this.described.schema(schema) };
      });
    });
  }

  /** The query string that gives a parameter a value. */
  query({ name }: { name: string }, value: unknown): string {
    const text = Array.isArray(value)
      ? value.join()
      : typeof value === 'object'
        ? JSON.stringify(value)
        : `${value}`;
    return String(new URLSearchParams({ [name]: text }));
  }
}
