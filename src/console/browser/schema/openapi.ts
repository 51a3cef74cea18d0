/** Reads resources from the OpenAPI document: fields, bounds, bodies, filters, and which operations there are. */

import {
  type Column,
  type Input,
  type Inverse,
  labelOf,
  type Operation,
  type Reference,
  type Resource,
} from './types.ts';
import { columnOf, type JsonSchema, resolved, type Schemas, wordsOf } from './values.ts';

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  /** With `deepObject`, properties of the schema are written in brackets: `pages[gte]`. */
  readonly style?: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
  /** In place of the schema, where the text is of a media type. */
  readonly content?: Content;
}

/** A body, by its media type. */
export type Content = Readonly<Record<string, { readonly schema: JsonSchema }>>;

/** A schema whose properties are all its own. */
type Flat = Omit<JsonSchema, 'properties'> & { readonly properties: Readonly<Record<string, JsonSchema>> };

export interface Described {
  readonly operationId?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
}

interface PathItem {
  readonly parameters?: readonly Parameter[];
  readonly get?: Described;
  readonly post?: Described;
  readonly put?: Described;
  readonly delete?: Described;
}

export interface OpenApi {
  readonly info: { readonly version: string };
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: {
    readonly schemas: Schemas;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly securitySchemes?: object;
  };
}

export function readOpenApi(document: OpenApi): Resource[] {
  return document.tags.flatMap(({ name, description }) => {
    const reader = new Reader(document, name);
    const resource = reader.read();
    return resource ? [{ ...resource, description }] : [];
  });
}

class Reader {
  readonly #document: OpenApi;
  readonly #name: string;
  readonly #all: PathItem | undefined;
  readonly #one: PathItem | undefined;
  readonly #path: string;

  constructor(document: OpenApi, name: string) {
    this.#document = document;
    this.#name = name;
    const mine = Object.entries(document.paths).filter(([, item]) =>
      [item.get, item.post, item.put, item.delete].some(
        (operation) =>
          operation?.tags?.[0] === name &&
          /^(list|get|create|update|delete)/.test(operation.operationId ?? ''),
      ),
    );
    this.#one = mine.find(([path]) => path.includes('{'))?.[1];
    this.#all = mine.find(([path]) => !path.includes('{'))?.[1];
    this.#path = mine[0]?.[0].split('/{')[0] ?? '';
  }

  read(): Resource | undefined {
    const described = this.#schemas[this.#name];
    if (this.#path === '' || !described) return undefined;
    const record = this.#flat(described);
    const columns = this.#columns(record);
    const keyName = this.#parameters(this.#one).find((parameter) => parameter.in === 'path')?.name;
    const key = columns.find(({ name }) => name === keyName) ?? columns[0];
    if (!key) return undefined;
    // What is nested in a body is a list of new records, and `_inc` adds to fields: here a record is made or changed alone.
    const isColumn = ({ name }: Input) => columns.some((column) => column.name === name);
    const create = this.#inputs(this.#all?.post).filter(isColumn);
    const update = this.#inputs(this.#one?.put).filter(isColumn);
    const operations = new Set<Operation>();
    if (this.#all?.get) operations.add('LIST');
    if (this.#all?.post) operations.add('CREATE');
    if (this.#one?.get) operations.add('GET');
    if (this.#one?.put) operations.add('UPDATE');
    if (this.#one?.delete) operations.add('DELETE');
    const one = `${this.#path}/{${key.name}}`;
    if (this.#document.paths[`/changes${one}`]) operations.add('CHANGES');
    if (this.#document.paths[`${one}/restore`]) operations.add('RESTORE');
    return {
      name: this.#name,
      plural: this.#path.slice(1),
      key,
      columns,
      inverses: this.#inverses(record),
      operations,
      create,
      update,
      rest: { path: this.#path, operations },
      graphql: undefined,
      label: labelOf(columns, key),
      searchable: this.#parameters(this.#all?.get).some((parameter) => parameter.name === 'search'),
      // What a record can be looked up by instead of being created.
      uniques: this.#parameters(this.#all?.post).find(({ name }) => name === 'upsert')?.schema.enum,
    };
  }

  #parameters(of: PathItem | Described | undefined): Parameter[] {
    const { parameters } = this.#document.components;
    return (of?.parameters ?? []).flatMap((each) => {
      const name = each.$ref?.split('/').pop();
      return (name === undefined ? each : parameters[name]) ?? [];
    });
  }

  /** What can be said of a field in brackets. */
  #operators(name: string): string[] {
    return this.#parameters(this.#all?.get).flatMap((parameter) => {
      if (parameter.name.startsWith(`${name}[`)) return [parameter.name.slice(name.length + 1, -1)];
      if (parameter.name !== name || parameter.style !== 'deepObject') return [];
      const filter = parameter.schema.anyOf?.at(-1) ?? parameter.schema;
      return Object.keys(this.#resolve(filter).properties ?? {});
    });
  }

  get #schemas(): Schemas {
    return this.#document.components.schemas;
  }

  #resolve(schema: JsonSchema): JsonSchema {
    return resolved(schema, this.#schemas);
  }

  /** The properties of a schema, and of those that it is put together of. */
  #flat(schema: JsonSchema): Flat {
    const { allOf = [], properties = {}, ...rest } = this.#resolve(schema);
    const found = new Map<string, JsonSchema>();
    for (const part of allOf)
      for (const [name, property] of Object.entries(this.#flat(part).properties)) found.set(name, property);
    for (const [name, property] of Object.entries(properties))
      if (property === false) found.delete(name);
      else found.set(name, { ...found.get(name), ...property });
    return { ...rest, properties: Object.fromEntries(found) };
  }

  #targetOf(schema: JsonSchema): string | undefined {
    const one = schema.items ?? schema;
    const $ref = one.$ref ?? one.anyOf?.[0]?.$ref;
    return this.#document.tags.find(({ name }) => $ref === `#/components/schemas/${name}`)?.name;
  }

  #columns(record: Flat): Column[] {
    const properties = Object.entries(record.properties);
    return properties.flatMap(([name, schema]): Column[] => {
      // The version is nobody's field.
      if (name.startsWith('_') || this.#targetOf(schema) !== undefined) return [];
      // `authorId` stands before `author`: the key of a reference, and what it leads to.
      const referenced = name.endsWith('Id') ? record.properties[name.slice(0, -2)] : undefined;
      const reference = referenced && !referenced.items && this.#reference(name.slice(0, -2), referenced);
      return [{ ...this.#column(name, schema), ...(reference && { reference }) }];
    });
  }

  #reference(name: string, schema: JsonSchema): Reference | undefined {
    const target = this.#targetOf(schema);
    if (target === undefined) return undefined;
    const required = !(schema.anyOf ?? []).some(({ type }) => type === 'null');
    return { name, target, required, doors: ['rest'], ...wordsOf(schema) };
  }

  #column(name: string, schema: JsonSchema): Column {
    const operators = this.#operators(name);
    // What can be compared can be sorted by.
    return { ...columnOf(name, schema, this.#schemas), operators, sortable: operators.includes('eq') };
  }

  #inverses(record: Flat): Inverse[] {
    const body = this.#body(this.#all?.post);
    const changes = this.#body(this.#one?.put);
    const nested = (name: string) => withoutWhich(body.properties[name]?.items);
    const properties = Object.entries(record.properties);
    return properties.flatMap(([name, schema]): Inverse[] => {
      const target = schema.items && this.#targetOf(schema);
      if (target === undefined) return [];
      const linkedBy: Operation[] = [
        ...(body.properties[`_${name}`] ? (['CREATE'] as const) : []),
        ...(changes.properties[`_${name}`] ? (['UPDATE'] as const) : []),
      ];
      const others = properties.map(
        ([other, { items }]) => items && this.#targetOf(items) === target && nested(other),
      );
      const via = linkedBy.length > 0 ? undefined : this.#via(target, nested(name), others);
      // It stands before that which adds and removes.
      const names = Object.keys(body.properties);
      const ids = names[names.indexOf(`_${name}`) - 1];
      return [{ name, target, via, ids, doors: ['rest'], linkedBy, ...wordsOf(schema) }];
    });
  }

  /** The one reference of the target that leads back; of several, the one that nested creation sets, or no other list's does. */
  #via(target: string, own: string | undefined, others: readonly unknown[]): string | undefined {
    const record = this.#flat(this.#schemas[target] ?? {});
    const [found, more] = Object.entries(record.properties).flatMap(([name, schema]) => {
      const led = name.toLowerCase();
      const leads = !schema.items && this.#targetOf(schema) === this.#name;
      return leads && (own ? own === led : !others.includes(led)) ? [`${name}Id`] : [];
    });
    return more ? undefined : found;
  }

  #body(operation: Described | undefined): Flat {
    return this.#flat(Object.values(operation?.requestBody?.content ?? {})[0]?.schema ?? {});
  }

  #inputs(operation: Described | undefined): Input[] {
    const body = this.#body(operation);
    return Object.entries(body.properties).flatMap(([name, schema]) =>
      schema.readOnly
        ? []
        : [
            {
              name,
              required: body.required?.includes(name) ?? false,
              ...('default' in schema && { default: schema.default }),
            },
          ],
    );
  }
}

/** The reference that a new record must not have, because it is set by what it is nested in. */
function withoutWhich({ $ref = '', properties = {} }: JsonSchema = {}): string | undefined {
  const forbidden = Object.keys(properties).find((name) => properties[name] === false);
  return (forbidden?.slice(0, -2) ?? /CreateWithout(\w+?)_*$/.exec($ref)?.[1])?.toLowerCase();
}
