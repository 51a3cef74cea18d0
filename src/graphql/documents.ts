/** Documents that were parsed and validated before, kept by their text. */

import {
  type DocumentNode,
  GraphQLError,
  getOperationAST,
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
import { NotPlain } from './compiled/shape.ts';
import type { Arguments } from './fields.ts';
import {
  asTokenLimit,
  beyondLimits,
  beyondRepeats,
  type DocumentLimits,
  repeatedVariables,
} from './limits.ts';
import { type FaultsOfMerging, mergingIn } from './merged.ts';
import type { Door } from './schema.ts';
import { withCures } from './unsearched.ts';
import { isPlainlyValid } from './validity.ts';

/** Both bounds keep hostile clients from filling the memory with documents that nobody sends twice. */
const KEPT_DOCUMENTS = 1000;
const LONGEST_KEPT = 32 * 1024;

/** That of overlapping fields takes a time that grows with their square; `mergingIn` does the same. */
const rules = specifiedRules.filter((rule) => rule !== OverlappingFieldsCanBeMergedRule);
const withoutIntrospection = [...rules, NoSchemaIntrospectionCustomRule];

export type Checked =
  | { readonly document: CheckedDocument; readonly errors?: never }
  | { readonly document?: never; readonly errors: readonly GraphQLError[]; readonly code: Code };

/** A valid document, and its queries by name. */
export class CheckedDocument {
  readonly ast: DocumentNode;
  readonly #compile: (ast: DocumentNode, operationName: string | undefined) => CompiledQuery;
  readonly #queries = new Map<string | undefined, CompiledQuery | undefined>();
  readonly #repeated = new Map<OperationDefinitionNode, ReadonlyMap<string, number>>();

  constructor(ast: DocumentNode, compile: (ast: DocumentNode, name: string | undefined) => CompiledQuery) {
    this.ast = ast;
    this.#compile = compile;
  }

  /** What the variables of a request are too many of for the operation that it names. */
  excess(operationName: string | undefined, given: Arguments | undefined): GraphQLError | undefined {
    const operation = given && getOperationAST(this.ast, operationName);
    if (!operation) return undefined;
    const repeated = this.#repeated.get(operation) ?? repeatedVariables(this.ast, operation);
    this.#repeated.set(operation, repeated);
    return beyondRepeats(repeated, given, operation);
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
  readonly #faultsOfMerging: FaultsOfMerging;
  readonly #introspection: boolean;
  readonly #limits: DocumentLimits;
  /** Objects that one answer may hold. */
  readonly #most: number;
  readonly #page: number | undefined;
  readonly #kept = new Lru<string, CheckedDocument>(KEPT_DOCUMENTS);
  /** How many are kept, and how often one was not. */
  readonly cache: Pick<Lru<string, CheckedDocument>, 'size' | 'misses'> = this.#kept;

  constructor(door: Door, introspection: boolean, limits: DocumentLimits, most: number, page?: number) {
    this.#door = door;
    this.#faultsOfMerging = mergingIn(door.schema);
    this.#introspection = introspection;
    this.#limits = limits;
    this.#most = most;
    this.#page = page;
  }

  check(text: string): Checked {
    const kept = this.#kept.get(text);
    if (kept) return { document: kept };
    const checked = this.#checkAnew(text);
    if (checked.document && text.length <= LONGEST_KEPT) this.#kept.set(text, checked.document);
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
    // Before validation, some of whose rules cost far more than the walk that counts.
    const excesses = beyondLimits(document, this.#limits);
    if (excesses.length > 0) return { errors: excesses, code: 'GRAPHQL_VALIDATION_FAILED' };
    const errors = this.#validate(document);
    if (errors.length > 0) return { errors, code: 'GRAPHQL_VALIDATION_FAILED' };
    return {
      document: new CheckedDocument(
        document,
        (ast, name) => new CompiledQuery(this.#door, ast, name, this.#most, this.#page),
      ),
    };
  }

  #validate(document: DocumentNode): readonly GraphQLError[] {
    const { schema } = this.#door;
    if (isPlainlyValid(schema, document)) return this.#faultsOfMerging(document, this.#limits.fields);
    // Suggestions would tell the schema to those who may not ask for it.
    const errors = this.#introspection
      ? withCures(this.#door, document, validate(schema, document, rules))
      : validate(schema, document, withoutIntrospection, { hideSuggestions: true });
    return errors.length > 0 ? errors : this.#faultsOfMerging(document, this.#limits.fields);
  }
}
