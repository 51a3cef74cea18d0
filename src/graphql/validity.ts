/** Whether a document is valid, and how large, by one walk that knows the usual shapes: graphql-js finds out about the others, and words it. */

// Each of its 30 rules prepares itself for every kind of node, which takes half of the time of a document that is new.
import {
  type ArgumentNode,
  type DirectiveNode,
  type DocumentNode,
  doTypesOverlap,
  type FragmentDefinitionNode,
  type GraphQLArgument,
  type GraphQLCompositeType,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  isCompositeType,
  isInputObjectType,
  isInputType,
  isLeafType,
  isListType,
  isNonNullType,
  isRequiredArgument,
  isRequiredInputField,
  isTypeSubTypeOf,
  isUnionType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionNode,
  type SelectionSetNode,
  typeFromAST,
  type ValueNode,
  validateInputLiteral,
} from 'graphql';
import type { Sizes } from './limits.ts';

/** What an operation declares, and whether it is used. */
interface Variable {
  readonly type: GraphQLInputType;
  isUsed: boolean;
}

/** Fragments are walked once for each operation, so that many operations of one fragment are left to graphql-js. */
const MOST_SELECTIONS = 10_000;

/** What is known of a valid document. */
export interface Plain {
  /** Undefined where fields are to be merged before they can be counted: those of fragments, or of the same name. */
  readonly sizes: Sizes | undefined;
  /** How many all operations have. */
  readonly fields: number;
}

/** Undefined where graphql-js is to find out. */
export function plainly(schema: GraphQLSchema, document: DocumentNode): Plain | undefined {
  const operations = new Map<string | undefined, OperationDefinitionNode>();
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions)
    if (definition.kind === Kind.OPERATION_DEFINITION) operations.set(definition.name?.value, definition);
    else if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
    else return undefined;
  // A name that came twice has taken the place of the one before; one without a name is alone.
  if (operations.size + fragments.size < document.definitions.length) return undefined;
  if (operations.size > 1 && operations.has(undefined)) return undefined;
  const walk = new Walk(schema, fragments);
  for (const operation of operations.values()) if (!walk.operation(operation)) return undefined;
  return walk.isEachFragmentUsed ? walk.found : undefined;
}

class Walk {
  readonly #schema: GraphQLSchema;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #used = new Set<FragmentDefinitionNode>();
  /** Of the operation that is walked. */
  readonly #variables = new Map<string, Variable>();
  /** False while it is walked: whoever meets it then is in a circle. */
  readonly #walked = new Map<FragmentDefinitionNode, boolean>();
  #selections = 0;
  /** Whether nothing is to be merged. */
  #isFlat = true;
  #fields = 0;
  /** Of the operation that is walked. */
  #sizes = nothing();
  readonly #most = nothing();

  constructor(schema: GraphQLSchema, fragments: ReadonlyMap<string, FragmentDefinitionNode>) {
    this.#schema = schema;
    this.#fragments = fragments;
  }

  get found(): Plain {
    return { sizes: this.#isFlat ? this.#most : undefined, fields: this.#fields };
  }

  get isEachFragmentUsed(): boolean {
    return this.#used.size === this.#fragments.size;
  }

  operation({
    operation,
    directives,
    variableDefinitions = [],
    selectionSet,
  }: OperationDefinitionNode): boolean {
    const type = this.#schema.getRootType(operation);
    if (!type || operation === OperationTypeNode.SUBSCRIPTION || directives?.length) return false;
    this.#walked.clear();
    this.#variables.clear();
    for (const definition of variableDefinitions) {
      const declared = typeFromAST(this.#schema, definition.type);
      const { defaultValue } = definition;
      if (!isInputType(declared) || definition.directives?.length) return false;
      if (defaultValue && !this.#value(defaultValue, declared)) return false;
      this.#variables.set(definition.variable.name.value, { type: declared, isUsed: false });
    }
    this.#sizes = nothing();
    if (this.#variables.size < variableDefinitions.length || !this.#selected(selectionSet, type, 1))
      return false;
    for (const { isUsed } of this.#variables.values()) if (!isUsed) return false;
    this.#sizes.rootFields = selectionSet.selections.length;
    this.#count(this.#sizes);
    return true;
  }

  #count(sizes: Sizes): void {
    this.#fields += sizes.fields;
    for (const name of Object.keys(sizes) as (keyof Sizes)[])
      if (sizes[name] > this.#most[name]) this.#most[name] = sizes[name];
  }

  /** `depth`: that of the fields in it. */
  #selected({ selections }: SelectionSetNode, parent: GraphQLCompositeType, depth: number): boolean {
    this.#selections += selections.length;
    if (this.#selections > MOST_SELECTIONS) return false;
    const sizes = this.#sizes;
    sizes.fields += selections.length;
    if (depth > sizes.depth && selections.length > 0) sizes.depth = depth;
    if (this.#isFlat && !isEachOnce(selections)) this.#isFlat = false;
    for (const node of selections) {
      if (node.directives && !this.#directed(node.directives)) return false;
      if (node.kind === Kind.FRAGMENT_SPREAD) {
        this.#isFlat = false;
        const fragment = this.#fragments.get(node.name.value);
        if (!fragment || node.arguments?.length || !this.#spread(fragment, parent, depth)) return false;
      } else if (node.kind === Kind.INLINE_FRAGMENT) {
        this.#isFlat = false;
        const { typeCondition, selectionSet } = node;
        const type = typeCondition ? this.#schema.getType(typeCondition.name.value) : parent;
        if (!isCompositeType(type) || !doTypesOverlap(this.#schema, parent, type)) return false;
        if (!this.#selected(selectionSet, type, depth)) return false;
      } else if (node.name.value === '__typename') {
        if (node.alias) sizes.aliases++;
        if (node.arguments?.length || node.selectionSet) return false;
      } else {
        if (node.alias) sizes.aliases++;
        const field = isUnionType(parent) ? undefined : parent.getFields()[node.name.value];
        if (!field || !this.#given(node.arguments, field.args)) return false;
        const type = getNamedType(field.type);
        if (
          isLeafType(type)
            ? node.selectionSet
            : !node.selectionSet || !this.#selected(node.selectionSet, type, depth + 1)
        )
          return false;
      }
    }
    return true;
  }

  #spread(fragment: FragmentDefinitionNode, parent: GraphQLCompositeType, depth: number): boolean {
    const type = this.#schema.getType(fragment.typeCondition.name.value);
    if (!isCompositeType(type) || !doTypesOverlap(this.#schema, parent, type)) return false;
    const walked = this.#walked.get(fragment);
    if (walked !== undefined) return walked;
    if (fragment.directives?.length || fragment.variableDefinitions?.length) return false;
    this.#used.add(fragment);
    this.#walked.set(fragment, false);
    if (!this.#selected(fragment.selectionSet, type, depth)) return false;
    this.#walked.set(fragment, true);
    return true;
  }

  /** Those that say whether a selection counts; all others are rare. */
  #directed(directives: readonly DirectiveNode[]): boolean {
    this.#sizes.directives += directives.length;
    const names = new Set<string>();
    for (const { name, arguments: given } of directives) {
      const directive = this.#schema.getDirective(name.value);
      if (!directive || (name.value !== 'skip' && name.value !== 'include')) return false;
      if (names.has(name.value) || !this.#given(given, directive.args)) return false;
      names.add(name.value);
    }
    return true;
  }

  #given(nodes: readonly ArgumentNode[] = [], known: readonly GraphQLArgument[]): boolean {
    let left = nodes.length;
    for (const argument of known) {
      const node = nodes.find(({ name }) => name.value === argument.name);
      if (node) left--;
      if (node ? !this.#value(node.value, argument.type) : isRequiredArgument(argument)) return false;
    }
    // One that is left is unknown, or there twice.
    return left === 0;
  }

  #value(node: ValueNode, type: GraphQLInputType): boolean {
    if (node.kind === Kind.VARIABLE) {
      const variable = this.#variables.get(node.name.value);
      if (!variable || !isTypeSubTypeOf(this.#schema, variable.type, type)) return false;
      variable.isUsed = true;
      return true;
    }
    if (isNonNullType(type)) return node.kind !== Kind.NULL && this.#value(node, type.ofType);
    if (node.kind === Kind.NULL) return true;
    if (isListType(type))
      return node.kind === Kind.LIST
        ? node.values.every((item) => this.#value(item, type.ofType))
        : this.#value(node, type.ofType);
    if (isInputObjectType(type)) {
      if (node.kind !== Kind.OBJECT || type.isOneOf) return false;
      let left = node.fields.length;
      for (const field of Object.values(type.getFields())) {
        const given = node.fields.find(({ name }) => name.value === field.name);
        if (given) left--;
        if (given ? !this.#value(given.value, field.type) : isRequiredInputField(field)) return false;
      }
      return left === 0;
    }
    // Variables within a value of a scalar type are none of its fields.
    if (node.kind === Kind.LIST || node.kind === Kind.OBJECT) return false;
    let isGood = true;
    validateInputLiteral(node, type, () => {
      isGood = false;
    });
    return isGood;
  }
}

function nothing(): Sizes {
  return { depth: 0, aliases: 0, directives: 0, rootFields: 0, fields: 0 };
}

/** Up to so many names are compared with each other, which takes less time than to make a set of them. */
const FEW_NAMES = 8;

/** Of the names that fields have in the answer; fragments have none. */
function isEachOnce(selections: readonly SelectionNode[]): boolean {
  if (selections.length > FEW_NAMES) return new Set(selections.map(answeredAs)).size === selections.length;
  for (let at = 1; at < selections.length; at++) {
    const name = answeredAs(selections[at] as SelectionNode);
    for (let before = 0; before < at; before++)
      if (answeredAs(selections[before] as SelectionNode) === name) return false;
  }
  return true;
}

function answeredAs(node: SelectionNode): string {
  if (node.kind === Kind.FIELD) return (node.alias ?? node.name).value;
  return '';
}
