/** Reads resources from GraphQL's introspection: the names and types that operations are written with. */

import {
  type Column,
  type GraphqlSide,
  type Input,
  type Inverse,
  type Kind,
  labelOf,
  type ManyOperation,
  type Operation,
  RELEVANCE,
  type Resource,
} from './types.ts';
import { choicesIn } from './values.ts';

export const introspectionQuery = `query Introspection {
  __schema {
    queryType { name }
    mutationType { name }
    types {
      kind
      name
      description
      fields(includeDeprecated: true) {
        name
        description
        deprecationReason
        args { name type { ...Type } }
        type { ...Type }
      }
      inputFields(includeDeprecated: true) { name type { ...Type } }
      enumValues(includeDeprecated: true) { name deprecationReason }
    }
  }
}
fragment Type on __Type {
  kind
  name
  ofType { kind name ofType { kind name ofType { kind name } } }
}`;

interface TypeRef {
  readonly kind: string;
  readonly name: string | null;
  readonly ofType?: TypeRef | null;
}

interface Argument {
  readonly name: string;
  readonly type: TypeRef;
}

export interface Field extends Argument {
  readonly description: string | null;
  /** Null where it is not deprecated. */
  readonly deprecationReason: string | null;
  readonly args: readonly Argument[];
}

export interface Type {
  readonly kind: string;
  readonly name: string;
  readonly description: string | null;
  readonly fields: readonly Field[] | null;
  readonly inputFields: readonly Argument[] | null;
  readonly enumValues: readonly { readonly name: string; readonly deprecationReason: string | null }[] | null;
}

export interface Introspection {
  readonly __schema: {
    readonly queryType: { readonly name: string };
    readonly mutationType: { readonly name: string } | null;
    readonly types: readonly Type[];
  };
}

export function readIntrospection({ __schema }: Introspection): Resource[] {
  const types = new Map(__schema.types.map((type) => [type.name, type]));
  const queries = types.get(__schema.queryType.name)?.fields ?? [];
  const mutations = types.get(__schema.mutationType?.name ?? '')?.fields ?? [];
  return __schema.types.flatMap((type) => {
    if (!type.fields?.some(({ name }) => name === '_version')) return [];
    const resource = new Reader(types, queries, mutations, type).read();
    return resource ? [resource] : [];
  });
}

class Reader {
  readonly #types: ReadonlyMap<string, Type>;
  readonly #type: Type;
  readonly #roots: Partial<Record<Operation | ManyOperation | 'CONNECTION', Field>>;

  constructor(
    types: ReadonlyMap<string, Type>,
    queries: readonly Field[],
    mutations: readonly Field[],
    type: Type,
  ) {
    this.#types = types;
    this.#type = type;
    const { name } = type;
    const isKept = type.fields?.some((field) => field.name === '_changes');
    const connection = queries.find((field) => written(field.type) === `${name}Connection!`);
    const list = connection?.name.replace(/Connection$/, '');
    const ofMany = (verb: string, argument: string) =>
      mutations.find(
        (field) =>
          field.name.startsWith(verb) &&
          written(field.type) === `[${name}!]!` &&
          field.args.some((each) => each.name === argument),
      );
    const found = {
      LIST: queries.find((field) => field.name === list),
      CONNECTION: connection,
      GET: queries.find((field) => written(field.type) === name && field.args.length === 1),
      CREATE: mutations.find((field) => field.name === `create${name}`),
      UPDATE: mutations.find((field) => field.name === `update${name}`),
      DELETE: mutations.find((field) => field.name === `delete${name}`),
      CREATE_MANY: ofMany('create', 'records'),
      UPDATE_MANY: ofMany('update', 'set'),
      DELETE_MANY: ofMany('delete', 'atMost'),
      CHANGES: queries.find((field) => written(field.type) === `[${name}Change!]!`),
      // An action may have that name where nothing is kept.
      RESTORE: mutations.find((field) => isKept && field.name === `restore${name}`),
    };
    this.#roots = Object.fromEntries(Object.entries(found).filter(([, field]) => field !== undefined));
  }

  read(): Resource | undefined {
    const { name, description } = this.#type;
    const columns = this.#columns();
    const keyName = (this.#roots.GET ?? this.#roots.DELETE)?.args[0]?.name;
    const key = columns.find((column) => column.name === keyName) ?? columns[0];
    if (!key) return undefined;
    const inverses = this.#inverses();
    const isColumn = (argument: Input) => columns.some((column) => column.name === argument.name);
    return {
      name,
      ...(description && { description }),
      plural: this.#roots.LIST?.name ?? name,
      key,
      columns,
      inverses,
      operations: new Set(operations.filter((operation) => this.#roots[operation])),
      create: this.#inputs('CREATE').filter(isColumn),
      update: this.#inputs('UPDATE').filter((input) => isColumn(input) && input.name !== key.name),
      rest: undefined,
      graphql: this.#side(),
      label: labelOf(columns, key),
      searchable: this.#orders.some((order) => order.name === RELEVANCE),
    };
  }

  get #orders() {
    return this.#types.get(`${this.#type.name}Order`)?.inputFields ?? [];
  }

  #side(): GraphqlSide {
    const roots = Object.entries(this.#roots);
    return {
      roots: Object.fromEntries(roots.map(([operation, field]) => [operation, field.name])),
      connection: this.#roots.CONNECTION?.name,
      kept: this.#roots.CHANGES ? this.#kept() : [],
      arguments: Object.fromEntries(
        roots.map(([operation, { args }]) => [
          operation,
          Object.fromEntries(args.map(({ name, type }) => [name, written(type)])),
        ]),
      ),
    };
  }

  #kept(): string[] {
    const change = this.#types.get(`${this.#type.name}Change`);
    const after = change?.fields?.find(({ name }) => name === 'after');
    return this.#types.get(after ? named(after.type) : '')?.fields?.map(({ name }) => name) ?? [];
  }

  #columns(): Column[] {
    const fields = this.#type.fields ?? [];
    const filters = this.#types.get(`${this.#type.name}Where`)?.inputFields ?? [];
    return fields.flatMap((field): Column[] => {
      const type = this.#types.get(named(field.type));
      if (field.name === '_version' || !type || type.kind === 'OBJECT') return [];
      const filter = filters.find(({ name }) => name === field.name);
      const operators = filter ? (this.#types.get(named(filter.type))?.inputFields ?? []) : [];
      const names = operators.map(({ name }) => name);
      const related = fields.find(
        ({ name, type: of }) => `${name}Id` === field.name && this.#types.get(named(of))?.kind === 'OBJECT',
      );
      return [
        {
          ...described(field),
          // An ID that the server counts up is a number at heart; one that clients give is text.
          kind: type.name === 'ID' && names.includes('contains') ? 'text' : kindOf(type),
          type: type.name,
          list: isList(field.type),
          required: field.type.kind === 'NON_NULL',
          ...choicesOf(type),
          bounds: {},
          operators: names,
          sortable: this.#orders.some(({ name }) => name === field.name),
          ...(related && {
            reference: {
              ...described(related),
              target: named(related.type),
              required: related.type.kind === 'NON_NULL',
              doors: ['graphql'],
            },
          }),
        },
      ];
    });
  }

  #inverses(): Inverse[] {
    return (this.#type.fields ?? []).flatMap((field): Inverse[] => {
      const target = this.#types.get(named(field.type));
      // A list of numbers about records is none of records.
      if (!isList(field.type) || target?.kind !== 'OBJECT' || !this.#types.has(`${target.name}Where`))
        return [];
      const back = (target.fields ?? []).filter(
        ({ type }) => !isList(type) && named(type) === this.#type.name,
      );
      const linkedBy = linking.filter((operation) =>
        this.#roots[operation]?.args.some(({ name }) => name === `_${field.name}`),
      );
      const isPointing = back.length === 1 && linkedBy.length === 0;
      const via = isPointing && back[0] ? `${back[0].name}Id` : undefined;
      return [{ ...described(field), target: target.name, via, doors: ['graphql'], linkedBy }];
    });
  }

  #inputs(operation: Operation): Input[] {
    return (this.#roots[operation]?.args ?? []).map(({ name, type }) => ({
      name,
      required: type.kind === 'NON_NULL',
    }));
  }
}

const linking = ['CREATE', 'UPDATE'] as const;
const operations: readonly Operation[] = ['LIST', 'GET', 'CREATE', 'UPDATE', 'DELETE', 'CHANGES', 'RESTORE'];

const kinds: Readonly<Record<string, Kind>> = {
  ID: 'id',
  Int: 'int',
  Float: 'float',
  BigInt: 'bigint',
  Decimal: 'decimal',
  Boolean: 'boolean',
  DateTime: 'datetime',
  Date: 'date',
  UUID: 'uuid',
  JSON: 'json',
};

function kindOf({ kind, name }: Type): Kind {
  return kind === 'ENUM' ? 'enum' : (kinds[name] ?? 'text');
}

/** In the words of the OpenAPI document. */
function described({ name, description, deprecationReason: reason }: Field) {
  const told = [description, reason === null ? null : `Deprecated: ${reason}`].filter(Boolean).join('\n\n');
  return { name, ...(told && { description: told }), ...(reason !== null && { deprecated: true }) };
}

export function named(type: TypeRef): string {
  return type.ofType ? named(type.ofType) : (type.name ?? '');
}

function isList(type: TypeRef): boolean {
  return type.kind === 'LIST' || (type.ofType ? isList(type.ofType) : false);
}

/** `[Book!]!` */
export function written({ kind, name, ofType }: TypeRef): string {
  if (kind === 'NON_NULL' && ofType) return `${written(ofType)}!`;
  if (kind === 'LIST' && ofType) return `[${written(ofType)}]`;
  return name ?? '';
}

function choicesOf({ enumValues }: Type) {
  const values = enumValues ?? [];
  const outdated = values.flatMap(({ name, deprecationReason: why }): [string, string][] =>
    why === null ? [] : [[name, why]],
  );
  return choicesIn(
    values.map(({ name }) => name),
    Object.fromEntries(outdated),
  );
}
