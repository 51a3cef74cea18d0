/** Documents that were parsed and validated before, kept by their text. */

import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  Kind,
  NoSchemaIntrospectionCustomRule,
  type OperationDefinitionNode,
  OverlappingFieldsCanBeMergedRule,
  parse,
  Source,
  specifiedRules,
  validate,
} from 'graphql';
import { type Code, DuetError } from '../base/errors.ts';
import { Lru } from '../base/lru.ts';
import { CompiledQuery } from './compiled/compiled.ts';
import { PlannedSelections } from './compiled/planned.ts';
import { NotPlain } from './compiled/shape.ts';
import type { Arguments } from './fields.ts';
import {
  asTokenLimit,
  beyondLimits,
  beyondLists,
  beyondRepeats,
  type DocumentLimits,
  isWithin,
  repeatedVariables,
} from './limits.ts';
import { type Merge, type Merged, mergingIn } from './merged.ts';
import type { Door } from './schema.ts';
import { withCures } from './unsearched.ts';
import { plainly } from './validity.ts';

/**
 * These bounds keep hostile clients from filling the memory with documents that nobody sends twice. So many are kept of those
 * that have few fields: of what is made of a document each takes about a kilobyte, a few words spread thousands of them, and
 * tokens take a third of that.
 */
const KEPT_DOCUMENTS = 1000;
const FEW_FIELDS = 50;
const TOKENS_OF_FIELD = 3;
const LONGEST_KEPT = 32 * 1024;
/** Of the heaviest, some ten are kept. */
const HEAVIEST_KEPT = KEPT_DOCUMENTS / 10;

/** That of overlapping fields takes a time that grows with their square; `mergingIn` does the same. */
const rules = specifiedRules.filter((rule) => rule !== OverlappingFieldsCanBeMergedRule);
const withoutIntrospection = [...rules, NoSchemaIntrospectionCustomRule];
/** So many errors say what may have been meant: a type is held against all names of a schema, 30 ms where there are 5,000. */
const MOST_SUGGESTING = 3;

export type Checked =
  | { readonly document: CheckedDocument; readonly errors?: never }
  | { readonly document?: never; readonly errors: readonly GraphQLError[]; readonly code: Code };

/** The root fields that a document begins with which had a long answer when it was new: many write their values into it, and are new each time. */
type Lately = Set<string>;

function beginningOf({ definitions }: DocumentNode): string {
  for (const each of definitions) {
    if (each.kind !== Kind.OPERATION_DEFINITION) continue;
    const [first] = each.selectionSet.selections;
    return first?.kind === Kind.FIELD ? first.name.value : '';
  }
  return '';
}

/** A valid document, and its queries by name. */
export class CheckedDocument {
  readonly ast: DocumentNode;
  /** How many documents with few fields take as much memory. */
  readonly weight: number;
  readonly #schema: GraphQLSchema;
  /** Objects that one answer may hold. */
  readonly #most: number;
  readonly #compile: (ast: DocumentNode, operationName: string | undefined) => CompiledQuery;
  readonly #queries = new Map<string | undefined, CompiledQuery | undefined>();
  readonly #repeated = new Map<OperationDefinitionNode, ReadonlyMap<string, number>>();
  readonly #shared = new Map<string, Promise<unknown>>();
  readonly #lately: Lately;
  #isLong: boolean | undefined;

  constructor(
    ast: DocumentNode,
    fields: number,
    schema: GraphQLSchema,
    most: number,
    compile: (ast: DocumentNode, name: string | undefined) => CompiledQuery,
    lately: Lately,
  ) {
    this.ast = ast;
    this.#lately = lately;
    this.#schema = schema;
    this.#most = most;
    this.weight = 1 + Math.floor((fields + tokensOf(ast) / TOKENS_OF_FIELD) / FEW_FIELDS);
    this.#compile = compile;
  }

  /** Whether its last answer was: the next most likely is, too. Where it is new, that of another which was. */
  get isLong(): boolean {
    return this.#isLong ?? this.#lately.has(beginningOf(this.ast));
  }

  set isLong(isLong: boolean) {
    if (this.#isLong === undefined) {
      if (isLong) this.#lately.add(beginningOf(this.ast));
      else this.#lately.delete(beginningOf(this.ast));
    }
    this.#isLong = isLong;
  }

  /** What the variables of a request, of so many bytes, are too many of for the operation that it names. */
  excess(
    operationName: string | undefined,
    given: Arguments | undefined,
    sent: number,
  ): GraphQLError | undefined {
    const operation = getOperationAST(this.ast, operationName);
    if (!operation?.variableDefinitions?.length) return undefined;
    const repeated = this.#repeated.get(operation) ?? repeatedVariables(this.ast, operation);
    this.#repeated.set(operation, repeated);
    return (
      beyondRepeats(repeated, given ?? {}, operation) ??
      beyondLists(this.#schema, operation, given ?? {}, this.#most, sent)
    );
  }

  /** Once for all who ask for the same while it is under way. */
  shared<T>(name: string, work: () => Promise<T>): Promise<T> {
    const known = this.#shared.get(name) as Promise<T> | undefined;
    if (known) return known;
    const working = work().finally(() => this.#shared.delete(name));
    this.#shared.set(name, working);
    return working;
  }

  /** Undefined for what only the executor can run. */
  query(operationName: string | undefined): CompiledQuery | undefined {
    if (this.#queries.has(operationName)) return this.#queries.get(operationName);
    // Clients can send any number of names that the document does not have.
    if (!getOperationAST(this.ast, operationName)) return undefined;
    const query = this.#compiled(operationName);
    this.#queries.set(operationName, query);
    return query;
  }

  #compiled(operationName: string | undefined): CompiledQuery | undefined {
    try {
      return this.#compile(this.ast, operationName);
    } catch (error) {
      if (error instanceof NotPlain || error instanceof DuetError) return undefined;
      throw error;
    }
  }
}

export class Documents {
  readonly #door: Door;
  readonly #merge: Merge;
  readonly #introspection: boolean;
  readonly #limits: DocumentLimits;
  /** Objects that one answer may hold. */
  readonly #most: number;
  readonly #page: number | undefined;
  readonly #planned = new PlannedSelections();
  readonly #lately: Lately = new Set();
  readonly #kept = new Lru<string, CheckedDocument>(KEPT_DOCUMENTS, undefined, ({ weight }) => weight);
  /** How many are kept, and how often one was not. */
  readonly cache: Pick<Lru<string, CheckedDocument>, 'size' | 'misses'> = this.#kept;

  constructor(door: Door, introspection: boolean, limits: DocumentLimits, most: number, page?: number) {
    this.#door = door;
    this.#merge = mergingIn(door.schema);
    this.#introspection = introspection;
    this.#limits = limits;
    this.#most = most;
    this.#page = page;
  }

  check(text: string): Checked {
    const kept = this.#kept.get(text);
    if (kept) return { document: kept };
    const checked = this.#checkAnew(text);
    const { document } = checked;
    if (document && text.length <= LONGEST_KEPT && document.weight <= HEAVIEST_KEPT)
      this.#kept.set(text, document);
    return checked;
  }

  #checkAnew(text: string): Checked {
    const source = new Source(text);
    let document: DocumentNode;
    try {
      document = parse(source, { maxTokens: this.#limits.tokens });
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
      return { errors: [asTokenLimit(error, this.#limits) ?? error], code: 'GRAPHQL_PARSE_FAILED' };
    }
    // Every error would look for its line from the first one on, a hundred of them below half a million lines for
    // seconds. The tokens know theirs (`formatted`).
    source.body = '';
    const plain = plainly(this.#door.schema, document);
    if (plain?.sizes && isWithin(plain.sizes, this.#limits)) return this.#checked(document, plain.fields);
    // Before validation, some of whose rules cost far more than the walk that counts.
    const excesses = beyondLimits(document, this.#limits);
    if (excesses.length > 0) return { errors: excesses, code: 'GRAPHQL_VALIDATION_FAILED' };
    const { errors, fields } = this.#validate(document, plain !== undefined);
    if (errors.length > 0) return { errors, code: 'GRAPHQL_VALIDATION_FAILED' };
    return this.#checked(document, fields);
  }

  #checked(document: DocumentNode, fields: number): Checked {
    return {
      document: new CheckedDocument(
        document,
        fields,
        this.#door.schema,
        this.#most,
        (ast, name) => new CompiledQuery(this.#door, ast, name, this.#most, this.#page, this.#planned),
        this.#lately,
      ),
    };
  }

  #validate(document: DocumentNode, isValid: boolean): Merged {
    const { schema } = this.#door;
    if (isValid) return this.#merge(document, this.#limits.fields);
    // Suggestions would tell the schema to those who may not ask for it.
    const errors = this.#introspection
      ? withCures(this.#door, document, validated(schema, document))
      : validate(schema, document, withoutIntrospection, { hideSuggestions: true });
    return errors.length > 0 ? { errors, fields: 0 } : this.#merge(document, this.#limits.fields);
  }
}

/** As `validate` does, but for the suggestions of what comes after the first few errors. */
function validated(schema: GraphQLSchema, document: DocumentNode): readonly GraphQLError[] {
  const few = validate(schema, document, rules, { maxErrors: MOST_SUGGESTING });
  if (few.length <= MOST_SUGGESTING) return few;
  const all = validate(schema, document, rules, { hideSuggestions: true });
  return [...few.slice(0, MOST_SUGGESTING), ...all.slice(MOST_SUGGESTING)];
}

function tokensOf({ loc }: DocumentNode): number {
  let tokens = 0;
  for (let token = loc?.startToken; token; token = token.next ?? undefined) tokens++;
  return tokens;
}
