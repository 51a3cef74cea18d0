/** Random documents with their variables, straight from a GraphQL schema, made from choices that shrink. */

import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredArgument,
  isRequiredInputField,
  type OperationTypeNode,
} from 'graphql';

export interface Request {
  readonly query: string;
  readonly variables: Record<string, unknown>;
  readonly operationName: string | undefined;
}

/** What documents can name: keys and cursors of the data, so that they find something. */
export interface Known {
  readonly keys: readonly string[];
  /** Of lists without a filter and in their own order, by the name of their type. */
  readonly cursors: ReadonlyMap<string, readonly string[]>;
}

/** Choices in a row; when there are no more, each is the plainest. */
export class Dice {
  readonly #choices: readonly number[];
  #at = 0;

  constructor(choices: readonly number[]) {
    this.#choices = choices;
  }

  /** Prefetch `sides`. */
  roll(sides: number): number {
    return (this.#choices[this.#at++] ?? 0) % sides;
  }

  /** Once in so many rolls. */
  once(sides: number): boolean {
    return this.roll(sides) === sides - 1;
  }

  pick<T>(from: readonly T[]): T {
    const found = from[this.roll(from.length)];
    if (found === undefined) throw new Error('nothing to pick from');
    return found;
  }
}

/** Names that every object has, or that make one something else. */
const aliases = ['a', 'b', 'c', 'id', 'name', 'constructor', 'toString', 'toJSON', 'then', '__typename1'];
const DEEPEST = 4;

type Fields = Readonly<Record<string, GraphQLField<unknown, unknown>>>;

export class Generator {
  readonly #schema: GraphQLSchema;
  readonly #dice: Dice;
  readonly #known: Known;
  /** What stands under each name of an answer: the same name for something else would be no valid document. */
  readonly #named = new Map<string, string>();
  readonly #declared: string[] = [];
  /** By where they can stand. */
  readonly #usable = new Map<string, string>();
  readonly #variables: Record<string, unknown> = {};
  readonly #fragments: { readonly name: string; readonly type: GraphQLObjectType; readonly text: string }[] =
    [];
  /** Whether variables may be missing, null or of a wrong type. */
  readonly #careless: boolean;
  #count = 0;

  constructor(schema: GraphQLSchema, choices: readonly number[], known: Known) {
    this.#schema = schema;
    this.#dice = new Dice(choices);
    this.#known = known;
    this.#careless = this.#dice.once(4);
  }

  request(kind: 'query' | 'mutation' = 'query'): Request {
    const root = this.#schema.getRootType(kind as OperationTypeNode) as GraphQLObjectType;
    const selection = this.#selection(root, 0);
    const declared = this.#declared.length > 0 ? `(${this.#declared.join(', ')})` : '';
    const fragments = this.#fragments.map(
      ({ name, type, text }) => `fragment ${name} on ${type.name} ${text}`,
    );
    const several = this.#dice.once(6);
    const other = several ? ['query Other { __typename }'] : [];
    const query = [`${kind} Main${declared} ${selection}`, ...other, ...fragments].join('\n');
    const names = several ? ['Main', 'Main', 'Other', undefined, 'Missing'] : [undefined, 'Main'];
    const operationName = names[this.#dice.roll(names.length)];
    return { query, variables: this.#variables, operationName };
  }

  #selection(type: GraphQLObjectType, depth: number): string {
    const length = 1 + this.#dice.roll(depth === 0 ? 3 : 5);
    const parts: string[] = [];
    for (let index = 0; index < length; index++) parts.push(this.#part(type, depth));
    return `{ ${parts.join(' ')} }`;
  }

  #part(type: GraphQLObjectType, depth: number): string {
    switch (this.#dice.roll(12)) {
      case 11:
        return `${this.#as(type, '__typename', '')}${this.#directives()}`;
      case 10:
      case 9:
        return this.#spread(type, depth);
      case 8: {
        const elsewhere = this.#dice.once(3) && this.#ofAnother(type);
        if (elsewhere) return elsewhere;
        const on = this.#dice.once(2) ? '' : ` on ${type.name}`;
        return `...${on}${this.#directives()} ${this.#selection(type, depth)}`;
      }
      default:
        return this.#field(type, depth);
    }
  }

  #spread(type: GraphQLObjectType, depth: number): string {
    const fitting = this.#fragments.filter((each) => each.type === type);
    const known = fitting.length > 0 && !this.#dice.once(3) ? this.#dice.pick(fitting) : undefined;
    if (known) return `...${known.name}${this.#directives()}`;
    // It is there for others only when it is complete: none spreads itself.
    const text = this.#selection(type, depth + 1);
    const name = this.#dice.once(20) ? '__proto__' : `F${this.#count++}`;
    if (this.#fragments.some((each) => each.name === name)) return text.slice(1, -1);
    this.#fragments.push({ name, type, text });
    return `...${name}${this.#directives()}`;
  }

  /** What another type has under the same name, by way of an interface of both: of this one it asks for nothing. */
  #ofAnother(type: GraphQLObjectType): string | undefined {
    const [shared] = type.getInterfaces();
    const others = shared ? this.#schema.getPossibleTypes(shared).filter((each) => each !== type) : [];
    if (!shared || others.length === 0) return undefined;
    const other = this.#dice.pick(others);
    const theirs: Fields = other.getFields();
    const alike = Object.values<GraphQLField<unknown, unknown>>(type.getFields()).filter(
      ({ name, type: of, args }) =>
        args.length === 0 && !isCompositeType(getNamedType(of)) && String(theirs[name]?.type) === String(of),
    );
    if (alike.length === 0) return undefined;
    const inner = `... on ${other.name} { ${this.#as(type, this.#dice.pick(alike).name, '')} }`;
    return `... on ${shared.name}${this.#directives()} { ${inner} }`;
  }

  #field(type: GraphQLObjectType, depth: number): string {
    const fields: Fields = type.getFields();
    // What has an interface for its type is the executor's, and so it is rare.
    const isRare = !this.#dice.once(10);
    const all = Object.values(fields).filter(
      (field) => !isRare || !isInterfaceType(getNamedType(field.type)),
    );
    const composite = all.filter((field) => isCompositeType(getNamedType(field.type)));
    const leaves = all.filter((field) => !composite.includes(field));
    const deeper = composite.length > 0 && depth < DEEPEST && (leaves.length === 0 || this.#dice.once(2));
    if (!deeper && leaves.length === 0) return '__typename';
    const field = this.#dice.pick(deeper ? composite : leaves);
    const again = field.args.length > 0 && this.#dice.once(4) ? ` ${this.#asked(type, field, depth)}` : '';
    return this.#asked(type, field, depth) + again;
  }

  #asked(type: GraphQLObjectType, field: GraphQLField<unknown, unknown>, depth: number): string {
    const args = this.#arguments(field);
    const named = getNamedType(field.type);
    return `${this.#as(type, field.name, args)}${this.#directives()}${this.#inner(named, depth + 1)}`;
  }

  /** Of an interface always the same type: in another, the same name could stand for something else. */
  #inner(type: GraphQLNamedType, depth: number): string {
    if (isObjectType(type)) return ` ${this.#selection(type, depth)}`;
    if (!isInterfaceType(type)) return '';
    const [first] = this.#schema.getPossibleTypes(type);
    return ` { __typename${first ? ` ... on ${first.name} ${this.#selection(first, depth)}` : ''} }`;
  }

  /** The field under a name that stands for nothing else in this document. */
  #as(type: GraphQLObjectType, name: string, args: string): string {
    const field = name + args;
    const alias = this.#dice.once(3) ? this.#dice.pick(aliases) : name;
    const wanted = this.#dice.once(400) ? '__proto__' : alias;
    for (let suffix = 0; ; suffix++) {
      const as = suffix === 0 ? wanted : `${wanted}${suffix}`;
      const taken = this.#named.get(`${type.name}.${as}`);
      if (taken !== undefined && taken !== field) continue;
      this.#named.set(`${type.name}.${as}`, field);
      return as === name ? field : `${as}: ${field}`;
    }
  }

  #directives(): string {
    if (!this.#dice.once(8)) return '';
    const names = this.#dice.pick([['skip'], ['include'], ['include', 'skip']]);
    return names
      .map((name) => {
        const value = this.#dice.once(3) ? name === 'skip' : name === 'include';
        return ` @${name}(if: ${this.#dice.once(2) ? this.#variable('Boolean', true, value) : value})`;
      })
      .join('');
  }

  #arguments({ args, type }: GraphQLField<unknown, unknown>): string {
    const chosen = new Map<string, GraphQLArgument>();
    for (const argument of args)
      if (isRequiredArgument(argument) || this.#dice.once(4)) chosen.set(argument.name, argument);
    if (!this.#careless) {
      if (chosen.has('first')) chosen.delete('last');
      const cursors = this.#known.cursors.get(listed(type)) ?? [];
      if (chosen.has('where') || chosen.has('orderBy') || cursors.length === 0)
        for (const name of ['after', 'before']) chosen.delete(name);
    }
    const given = [...chosen.values()].map((argument) => {
      const name = argument.name === 'before' || argument.name === 'after' ? listed(type) : argument.name;
      return `${argument.name}: ${this.#literal(name, argument.type, 0, true)}`;
    });
    return given.length > 0 ? `(${given.join(', ')})` : '';
  }

  /** As it stands in a document: with variables for the whole or for parts of it. */
  #literal(name: string, type: GraphQLInputType, depth: number, variables: boolean): string {
    const required = isNonNullType(type);
    const plain = required ? type.ofType : type;
    if (variables && this.#dice.once(3))
      return this.#variable(String(plain), required, this.#value(name, plain, depth));
    if (!required && (this.#careless || depth === 0) && this.#dice.once(12)) return 'null';
    if (isListType(plain)) {
      const items = Array.from({ length: this.#dice.roll(3) }, () =>
        this.#literal(name, plain.ofType, depth + 1, variables),
      );
      return `[${items.join(', ')}]`;
    }
    if (isInputObjectType(plain)) {
      const parts = this.#inputFields(plain, depth).map(
        // Whoever must be the only one must also be there.
        (field) =>
          `${field.name}: ${plain.isOneOf ? printed(field.type, this.#value(field.name, field.type, depth + 1)) : this.#literal(field.name, field.type, depth + 1, variables)}`,
      );
      return `{ ${parts.join(', ')} }`;
    }
    return printed(plain, this.#value(name, plain, depth));
  }

  #inputFields(
    type: {
      readonly isOneOf: boolean;
      getFields(): Record<string, GraphQLInputField>;
    },
    depth: number,
  ) {
    const all = Object.values(type.getFields());
    const plain = depth > 2 ? all.filter((field) => !isInputObjectType(getNamedType(field.type))) : all;
    const length = type.isOneOf ? 1 : Math.min(this.#dice.roll(3), plain.length);
    const chosen = new Set(all.filter(isRequiredInputField));
    while (chosen.size < length) {
      const size = chosen.size;
      chosen.add(this.#dice.pick(plain));
      if (chosen.size === size) break;
    }
    return [...chosen];
  }

  #value(name: string, type: GraphQLInputType, depth: number): unknown {
    const plain = isNonNullType(type) ? type.ofType : type;
    if (isListType(plain)) {
      // One value stands for a list of one.
      if (this.#dice.once(5)) return this.#value(name, plain.ofType, depth + 1);
      return Array.from({ length: this.#dice.roll(3) }, () => this.#value(name, plain.ofType, depth + 1));
    }
    if (isInputObjectType(plain))
      return Object.fromEntries(
        this.#inputFields(plain, depth).map((field) => [
          field.name,
          this.#value(field.name, field.type, depth + 1),
        ]),
      );
    if (isEnumType(plain)) return this.#dice.pick(plain.getValues()).name;
    const faulty = this.#careless && this.#dice.once(4);
    if (name === 'first' || name === 'last')
      return this.#dice.pick(faulty ? [0, -1, 2 ** 31 - 1] : [2, 1, 3, 5]);
    const cursors = this.#known.cursors.get(name);
    if (cursors) return faulty || cursors.length === 0 ? 'no cursor' : this.#dice.pick(cursors);
    if (faulty && !(plain.name in exact)) return this.#dice.pick(['no such value', '']);
    const { keys } = this.#known;
    // A filter refuses what its column cannot have; a key that cannot be is one that nobody has.
    const names =
      depth === 0 ? [...keys, 'nobody'] : ['1', '2', '3', '5', ...keys.filter((key) => /^\d+$/.test(key))];
    return this.#dice.pick<unknown>(exact[plain.name] ?? samples[plain.name] ?? names);
  }

  /** A new variable, or one that fits; its declaration, its default and its value are as the dice say. */
  #variable(type: string, required: boolean, value: unknown): string {
    const before = this.#usable.get(type + required);
    if (before !== undefined && this.#dice.once(3)) return before;
    const fresh = this.#dice.once(30) ? '__proto__' : `v${this.#count++}`;
    const name = this.#declared.some((each) => each.startsWith(`$${fresh}:`)) ? `v${this.#count++}` : fresh;
    this.#usable.set(type + required, `$${name}`);
    const named = this.#schema.getType(type.replaceAll(/[[\]!]/g, ''));
    const hasDefault = this.#dice.once(3) && !type.startsWith('[') && !isInputObjectType(named);
    // A default lets a nullable variable stand where null is forbidden.
    const must = hasDefault ? this.#dice.once(2) : required || this.#dice.once(4);
    const fallback = hasDefault ? ` = ${printed(named as GraphQLInputType, value)}` : '';
    this.#declared.push(`$${name}: ${type}${must ? '!' : ''}${fallback}`);
    const given = this.#careless && this.#dice.once(4) ? this.#dice.pick(wrong) : value;
    const absent = hasDefault ? this.#dice.once(2) : !must && this.#dice.once(4);
    if (!absent) Object.defineProperty(this.#variables, name, { value: given, enumerable: true });
    return `$${name}`;
  }
}

/** The name of what is in a list, page by page or not. */
function listed(type: GraphQLOutputType): string {
  return getNamedType(type).name.replace(/Connection$/, '');
}

const wrong: unknown[] = [null, 'x', {}, [1], 3.5, true, null, [null], { no: 1 }, '2024-02-30', [{}]];

/** Types that graphql-js itself keeps anything else from. */
const exact: Readonly<Record<string, readonly unknown[]>> = {
  Int: [0, 1, -1, 2, 100, 2 ** 31 - 1],
  Float: [0, 0.5, 1, -1e-7, 1e21],
  Boolean: [true, false],
};

const samples: Readonly<Record<string, readonly unknown[]>> = {
  DateTime: ['2024-02-29T00:00:00.000Z', '1969-12-31T23:59:59Z'],
  Date: ['2024-02-29', '1970-01-01'],
  UUID: ['0190f5a0-7c1e-7a64-b3f5-2b1f3c0e9a10'],
  JSON: [{ b: 1, a: [null] }, 0, 'a', []],
};

function printed(type: GraphQLInputType, value: unknown): string {
  const plain = isNonNullType(type) ? type.ofType : type;
  if (Array.isArray(value)) {
    const item = isListType(plain) ? plain.ofType : plain;
    return `[${value.map((each) => printed(item, each)).join(', ')}]`;
  }
  if (isListType(plain)) return printed(plain.ofType, value);
  if (isEnumType(plain)) return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = isInputObjectType(plain) ? plain.getFields() : {};
  const parts = Object.entries(value).map(
    ([name, each]) => `${name}: ${printed(fields[name]?.type ?? plain, each)}`,
  );
  return `{ ${parts.join(', ')} }`;
}
