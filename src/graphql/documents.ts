/** Documents that were parsed and validated before, kept by their text. */

import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  NoSchemaIntrospectionCustomRule,
  parse,
  specifiedRules,
  validate,
} from 'graphql';
import type { Code } from '../errors.ts';
import { asTokenLimit, beyondLimits, type DocumentLimits } from './limits.ts';

/** Both bounds keep hostile clients from filling the memory with documents that nobody sends twice. */
const KEPT_DOCUMENTS = 1000;
const LONGEST_KEPT = 32 * 1024;

export type Checked =
  | { readonly document: DocumentNode; readonly errors?: never }
  | { readonly document?: never; readonly errors: readonly GraphQLError[]; readonly code: Code };

export class Documents {
  readonly #schema: GraphQLSchema;
  readonly #introspection: boolean;
  readonly #limits: DocumentLimits;
  readonly #kept = new Map<string, DocumentNode>();

  constructor(schema: GraphQLSchema, introspection: boolean, limits: DocumentLimits) {
    this.#schema = schema;
    this.#introspection = introspection;
    this.#limits = limits;
  }

  check(text: string): Checked {
    const kept = this.#kept.get(text);
    if (kept) return { document: kept };
    const checked = this.#checkAnew(text);
    if (checked.document && text.length <= LONGEST_KEPT) this.#keep(text, checked.document);
    return checked;
  }

  #checkAnew(text: string): Checked {
    let document: DocumentNode;
    try {
      document = parse(text, { maxTokens: this.#limits.tokens });
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
      return { errors: [asTokenLimit(error, this.#limits) ?? error], code: 'GRAPHQL_PARSE_FAILED' };
    }
    // Before validation, some of whose rules cost far more than the walk that counts.
    const excesses = beyondLimits(document, this.#limits);
    if (excesses.length > 0) return { errors: excesses, code: 'GRAPHQL_VALIDATION_FAILED' };
    const rules = this.#introspection ? specifiedRules : [...specifiedRules, NoSchemaIntrospectionCustomRule];
    // Suggestions would tell the schema to those who may not ask for it.
    const errors = validate(this.#schema, document, rules, { hideSuggestions: !this.#introspection });
    return errors.length > 0 ? { errors, code: 'GRAPHQL_VALIDATION_FAILED' } : { document };
  }

  #keep(text: string, document: DocumentNode): void {
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size >= KEPT_DOCUMENTS) this.#kept.delete(oldest);
    this.#kept.set(text, document);
  }
}
