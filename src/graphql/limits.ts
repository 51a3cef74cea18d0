/** How large a document may be, counted through its fragments before anything is done with it. */

import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLSchema,
  getNullableType,
  isInputObjectType,
  isListType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  typeFromAST,
  type ValueNode,
  valueFromASTUntyped,
} from 'graphql';
import { type Code, DuetError, validationFailed } from '../base/errors.ts';
import { effortOf } from '../schema/folding.ts';
import { type Listed, listedIn } from './inputs.ts';
import { variablesIn } from './variables.ts';

export interface DocumentLimits {
  /** In the whole document; the others hold for each of its operations. */
  readonly tokens: number;
  /** Levels of fields, the innermost included. */
  readonly depth: number;
  /** The same below `__schema` and `__type`, which count for themselves. */
  readonly introspectionDepth: number;
  readonly aliases: number;
  readonly rootFields: number;
  /** In the answer: those that are asked for again are merged, and those of a fragment are there wherever it is spread. */
  readonly fields: number;
  readonly directives: number;
}

/** How many values variables, and arguments of fragments, may have once more, for each place but the first that uses them. */
const MOST_REPEATED_VALUES = 50_000;
/** A text counts once more for as many. */
const CHARACTERS_OF_VALUE = 50;

/** Everything that the limits speak of, in a selection and whatever it spreads. */
interface Counts {
  depth: number;
  introspectionDepth: number;
  aliases: number;
  directives: number;
  /** Fields on the first level. */
  fields: number;
  /** How many arguments of fields use each variable. */
  readonly variables: Map<string, number>;
  /** Values that are written into the document, as often as there are places that use them. */
  values: number;
}

/** The same of a document whose operations have each of their fields once, and no fragments: the most that one of them has. */
export interface Sizes {
  depth: number;
  aliases: number;
  directives: number;
  rootFields: number;
  fields: number;
}

export function isWithin(sizes: Sizes, limits: DocumentLimits): boolean {
  return (
    sizes.depth <= limits.depth &&
    sizes.aliases <= limits.aliases &&
    sizes.directives <= limits.directives &&
    sizes.rootFields <= limits.rootFields &&
    sizes.fields <= limits.fields
  );
}

/** What is too large, with a code for each; none when all is well. */
export function beyondLimits(document: DocumentNode, limits: DocumentLimits): GraphQLError[] {
  const counter = new Counter(document);
  const operations = document.definitions.filter((each) => each.kind === Kind.OPERATION_DEFINITION);
  return operations
    .map((node) => [node, counter.operation(node)] as const)
    .flatMap(([node, counts]) => [
      ...judged(node, counts, limits),
      ...(counts.values - counter.written > MOST_REPEATED_VALUES
        ? [tooManyValues('spreads fragments', node)]
        : []),
    ]);
}

function judged(node: OperationDefinitionNode, counts: Counts, limits: DocumentLimits): GraphQLError[] {
  const rows: readonly (readonly [Code, number, number, string])[] = [
    ['QUERY_TOO_DEEP', counts.depth, limits.depth, 'levels of fields'],
    [
      'INTROSPECTION_TOO_DEEP',
      counts.introspectionDepth,
      limits.introspectionDepth,
      'levels of introspection fields',
    ],
    ['TOO_MANY_ALIASES', counts.aliases, limits.aliases, 'aliases'],
    ['TOO_MANY_ROOT_FIELDS', counts.fields, limits.rootFields, 'root fields'],
    ['TOO_MANY_DIRECTIVES', counts.directives, limits.directives, 'directives'],
  ];
  return rows.flatMap(([code, count, limit, what]) =>
    count > limit ? [tooLarge(code, `The operation has more than ${limit} ${what}.`, node)] : [],
  );
}

/** How often an operation uses those of its variables that it uses more than once. */
export function repeatedVariables(
  document: DocumentNode,
  operation: OperationDefinitionNode,
): ReadonlyMap<string, number> {
  const { variables } = new Counter(document).operation(operation);
  return new Map([...variables].filter(([, uses]) => uses > 1));
}

/**
 * A body of a megabyte is read once; what it has in a variable is read, checked and searched for again for each alias and
 * each list that uses it.
 */
export function beyondRepeats(
  repeated: ReadonlyMap<string, number>,
  given: Readonly<Record<string, unknown>>,
  node: OperationDefinitionNode,
): GraphQLError | undefined {
  let values = 0;
  for (const [name, uses] of repeated) {
    const value = Object.hasOwn(given, name) ? given[name] : defaultOf(name, node);
    const isMany = typeof value === 'object' && value !== null;
    values += (isMany ? valuesIn(value) : beyondOne(value)) * (uses - 1);
  }
  return values > MOST_REPEATED_VALUES ? tooManyValues('uses variables', node) : undefined;
}

function tooManyValues(does: string, node: OperationDefinitionNode): GraphQLError {
  const detail = `The operation ${does} in several places, where they have more than ${MOST_REPEATED_VALUES} values again. Send shorter lists and texts, or several operations.`;
  return tooLarge('TOO_MANY_VALUES', detail, node);
}

/** What stands for a variable that is left out. */
function defaultOf(name: string, { variableDefinitions }: OperationDefinitionNode): unknown {
  const defined = variableDefinitions?.find(({ variable }) => variable.name.value === name);
  return defined?.defaultValue && valueFromASTUntyped(defined.defaultValue);
}

/** As many objects as a body of a megabyte has room for, but for those that say nothing. */
const MOST_LISTED = 100_000;
/** Of one filter a thousand are read, and of an order a hundred: enough for all places that an operation has them in. */
const MOST_CONDITIONS = 10_000;
/** Fields of its type for each object that there may be: graphql-js asks an object for all of them, those that it does not have too. */
const MOST_ASKED = 50;
/** Bytes of a body: `{},`. */
const SHORTEST_LISTED = 3;

/** What is counted of objects in variables: what lists have, and the fields that all of them are asked for. */
type Given = Record<Listed | 'asked', number>;

/**
 * What objects in variables have more of than any operation may: graphql-js makes a thousand bytes of the three that
 * an empty one is sent as, for whoever would then refuse them. A write creates at most `objects` records, and as many again that
 * are nested in them; actions are given as many. `sent`: bytes of the whole request.
 */
export function beyondLists(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  given: Readonly<Record<string, unknown>>,
  objects: number,
  sent: number,
): GraphQLError | undefined {
  const most = Math.max(2 * objects, MOST_LISTED);
  if (sent <= Math.min(objects, MOST_CONDITIONS) * SHORTEST_LISTED) return undefined;
  const counts: Given = { records: 0, conditions: 0, arguments: 0, asked: 0 };
  const widths = new Map<GraphQLInputObjectType, number>();
  for (const { variable, type } of operation.variableDefinitions ?? []) {
    const name = variable.name.value;
    const declared = typeFromAST(schema, type) as GraphQLInputType | undefined;
    if (!declared || !Object.hasOwn(given, name)) continue;
    countListed(declared, given[name], counts, widths);
  }
  if (counts.conditions > MOST_CONDITIONS) {
    const detail = `the variables have more than ${MOST_CONDITIONS} conditions`;
    const refused = validationFailed([{ parameter: 'variables', code: 'OUT_OF_RANGE', detail }]);
    return new GraphQLError(refused.message, { nodes: [operation], originalError: refused });
  }
  const rows: readonly (readonly [number, number, string])[] = [
    [counts.records, most, 'records'],
    [counts.arguments, objects, 'objects for actions'],
    [counts.asked, most * MOST_ASKED, 'fields in all, with those that their objects leave out'],
  ];
  for (const [count, limit, what] of rows)
    if (count > limit) {
      const detail = `The variables have more than ${limit} ${what}. Send them in several requests.`;
      return tooLarge('TOO_MANY_OBJECTS', detail, operation);
    }
  return undefined;
}

function countListed(
  of: GraphQLInputType,
  value: unknown,
  counts: Given,
  widths: Map<GraphQLInputObjectType, number>,
): void {
  if (typeof value !== 'object' || value === null) return;
  const type = getNullableType(of);
  if (isListType(type)) {
    const inner = getNullableType(type.ofType);
    const values = Array.isArray(value) ? value : [value];
    const listed = isInputObjectType(inner) && listedIn(inner);
    if (listed) counts[listed] += values.length;
    if (isInputObjectType(inner) || isListType(inner))
      for (const each of values) countListed(inner, each, counts, widths);
  } else if (isInputObjectType(type)) {
    const fields = type.getFields();
    const width = widths.get(type) ?? Object.keys(fields).length;
    widths.set(type, width);
    counts.asked += width;
    for (const [name, inner] of Object.entries(value)) {
      const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
      if (field) countListed(field.type, inner, counts, widths);
    }
  }
}

function valuesIn(value: object): number {
  let values = 0;
  for (const inner of Object.values(value))
    values += 1 + (typeof inner === 'object' && inner !== null ? valuesIn(inner) : beyondOne(inner));
  return values;
}

/** The same of what a document has in place of a variable. */
function literalsIn(value: ValueNode): number {
  if (value.kind === Kind.STRING) return beyondOne(value.value);
  let values = 0;
  if (value.kind === Kind.LIST) for (const each of value.values) values += 1 + literalsIn(each);
  else if (value.kind === Kind.OBJECT) for (const each of value.fields) values += 1 + literalsIn(each.value);
  return values;
}

/** A long text is as much work as several values: it is folded, or held against a pattern, from its beginning to its end. */
function beyondOne(value: unknown): number {
  return typeof value === 'string' ? Math.floor(effortOf(value) / CHARACTERS_OF_VALUE) : 0;
}

export function tooLarge(code: Code, detail: string, node: OperationDefinitionNode): GraphQLError {
  return new GraphQLError(detail, { nodes: [node], originalError: new DuetError(code, detail) });
}

/** The parser stops at the first token beyond the limit, and tells it as an error of syntax. */
export function asTokenLimit(error: GraphQLError, { tokens }: DocumentLimits): GraphQLError | undefined {
  if (!error.message.startsWith(`Syntax Error: Document contains more than ${tokens} tokens`))
    return undefined;
  const detail = `The document has more than ${tokens} tokens. Send long values as variables.`;
  const refused = new GraphQLError(detail, { originalError: new DuetError('TOO_MANY_TOKENS', detail) });
  return Object.assign(refused, { locations: error.locations });
}

/**
 * Counts as if every spread were replaced by its fragment, without doing so: a fragment is counted once, however often
 * it is spread. Fragments that spread each other twice would otherwise be a tree of 2^n leaves; their counts grow
 * towards Infinity, which is beyond every limit.
 */
class Counter {
  /** The values of all that was counted, each as often as it is written. */
  written = 0;
  readonly #fragments = new Map<string, FragmentDefinitionNode>();
  readonly #counted = new Map<string, Counts>();

  constructor({ definitions }: DocumentNode) {
    for (const each of definitions)
      if (each.kind === Kind.FRAGMENT_DEFINITION) this.#fragments.set(each.name.value, each);
  }

  operation({ selectionSet, directives, variableDefinitions }: OperationDefinitionNode): Counts {
    const counts = this.#selection(selectionSet);
    counts.directives += directives?.length ?? 0;
    for (const variable of variableDefinitions ?? []) counts.directives += variable.directives?.length ?? 0;
    return counts;
  }

  #selection({ selections }: SelectionSetNode): Counts {
    const counts = nothing();
    for (const node of selections) {
      counts.directives += node.directives?.length ?? 0;
      if (node.kind === Kind.FIELD) {
        for (const { value } of node.arguments ?? []) {
          for (const name of variablesIn(value)) increase(counts.variables, name, 1);
          const values = literalsIn(value);
          counts.values += values;
          this.written += values;
        }
        const inner = node.selectionSet ? this.#selection(node.selectionSet) : nothing();
        const isIntrospection = node.name.value === '__schema' || node.name.value === '__type';
        add(counts, {
          ...inner,
          depth: isIntrospection ? 0 : inner.depth + 1,
          introspectionDepth: isIntrospection ? inner.depth + 1 : inner.introspectionDepth,
          aliases: inner.aliases + (node.alias ? 1 : 0),
          fields: 1,
        });
      } else if (node.kind === Kind.INLINE_FRAGMENT) add(counts, this.#selection(node.selectionSet));
      else add(counts, this.#fragment(node.name.value));
    }
    return counts;
  }

  #fragment(name: string): Counts {
    const known = this.#counted.get(name);
    if (known) return known;
    const fragment = this.#fragments.get(name);
    // One that spreads itself meets this entry; its cycle, like a name that is missing, is for validation to tell.
    this.#counted.set(name, nothing());
    if (!fragment) return nothing();
    const counts = this.#selection(fragment.selectionSet);
    counts.directives += fragment.directives?.length ?? 0;
    this.#counted.set(name, counts);
    return counts;
  }
}

function nothing(): Counts {
  return {
    depth: 0,
    introspectionDepth: 0,
    aliases: 0,
    directives: 0,
    fields: 0,
    variables: new Map(),
    values: 0,
  };
}

function add(to: Counts, more: Counts): void {
  to.depth = Math.max(to.depth, more.depth);
  to.introspectionDepth = Math.max(to.introspectionDepth, more.introspectionDepth);
  to.aliases += more.aliases;
  to.directives += more.directives;
  to.fields += more.fields;
  to.values += more.values;
  for (const [name, uses] of more.variables) increase(to.variables, name, uses);
}

function increase(uses: Map<string, number>, name: string, more: number): void {
  uses.set(name, (uses.get(name) ?? 0) + more);
}
