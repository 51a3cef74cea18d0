/** Selections merged as they are for an answer: whether they can be (GraphQL, section 5.3.2), and how many fields it gets. */

import {
  type DocumentNode,
  type FieldNode,
  GraphQLError,
  type GraphQLSchema,
  isAbstractType,
  Kind,
  type NamedTypeNode,
  type OperationDefinitionNode,
  OverlappingFieldsCanBeMergedRule,
  type SelectionSetNode,
  type ValueNode,
  validate,
} from 'graphql';
import { tooLarge } from './limits.ts';
import { NODE, NODE_FIELD } from './node.ts';

/** As many as graphql-js tells of other rules. */
const MOST_ERRORS = 100;

export interface Merged {
  readonly errors: readonly GraphQLError[];
  /** How many fields all operations have. */
  readonly fields: number;
}

export type Merge = (document: DocumentNode, mostFields: number) => Merged;

/** Throws for a schema with other interfaces or unions than `Node`: fields of the same name would be taken for the same field. */
export function mergingIn(schema: GraphQLSchema): Merge {
  const abstract = Object.values(schema.getTypeMap()).filter(isAbstractType);
  const other = abstract.find(({ name }) => name !== NODE);
  if (other)
    throw new Error(
      `"${other.name}" is an interface or a union: fields of its types cannot be merged by their names alone. Compare their types, too, as OverlappingFieldsCanBeMergedRule does`,
    );
  if (abstract.length === 0) return merged;
  return (document, mostFields) => {
    const { errors, fields } = merged(document, mostFields);
    if (!mixesTypes(document)) return { errors, fields };
    // The same name may be a field of one type and another of the next: then types must be compared too.
    const excess = errors.filter(({ originalError }) => originalError);
    if (excess.length > 0) return { errors: excess, fields };
    return { errors: validate(schema, document, [OverlappingFieldsCanBeMergedRule]), fields };
  };
}

/**
 * Whether fields of several types may stand in one selection: below the root field `node`, and in a fragment on the interface, which
 * has others in it for any type. Elsewhere fields that are called `node` lead to one type.
 */
function mixesTypes({ definitions }: DocumentNode): boolean {
  const isOn = (type: string, { name }: NamedTypeNode) => name.value === type;
  const has = ({ selections }: SelectionSetNode, isRoot: boolean): boolean =>
    selections.some((each) => {
      if (each.kind === Kind.FRAGMENT_SPREAD) return false;
      if (each.kind === Kind.FIELD) {
        if (isRoot && each.name.value === NODE_FIELD) return true;
        return each.selectionSet !== undefined && has(each.selectionSet, false);
      }
      const { typeCondition: on, selectionSet } = each;
      if (!on) return has(selectionSet, isRoot);
      return isOn(NODE, on) || has(selectionSet, isRoot && isOn('Query', on));
    });
  return definitions.some((each) => {
    if (each.kind === Kind.FRAGMENT_DEFINITION)
      return isOn(NODE, each.typeCondition) || has(each.selectionSet, isOn('Query', each.typeCondition));
    return each.kind === Kind.OPERATION_DEFINITION && has(each.selectionSet, each.operation === 'query');
  });
}

/**
 * What is wrong with a document that all rules but that of overlapping fields admit, over a schema whose composite types
 * are objects. There one selection has one type, whatever fragments it is made of: fields with the same name are the same
 * field, and no types need be compared.
 *
 * graphql-js compares each field with each of the same name, and their selections, pair by pair. Here selections that are
 * answered together are merged, and each field is compared with the first of its name.
 */
function merged(document: DocumentNode, mostFields: number): Merged {
  const merging = new Merging(document, mostFields);
  let fields = 0;
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    const count = merging.fieldsOf(definition);
    fields += count;
    if (count <= mostFields) continue;
    const detail = `The operation has more than ${mostFields} fields.`;
    return { errors: [tooLarge('TOO_MANY_FIELDS', detail, definition)], fields };
  }
  return { errors: merging.errors, fields };
}

/** A selection with its inline fragments resolved. */
interface Part {
  readonly id: number;
  readonly fields: readonly FieldNode[];
  /** The names of fragments. */
  readonly spreads: readonly string[];
}

class Merging {
  readonly errors: GraphQLError[] = [];
  readonly #most: number;
  readonly #fragments = new Map<string, SelectionSetNode>();
  readonly #parts = new Map<SelectionSetNode, Part>();
  readonly #arguments = new Map<FieldNode, string>();
  /** How many fields there are in what was merged; fragments lead to the same selections by many ways. */
  readonly #merged = new Map<string, number>();
  /** How often selections may yet be merged; each time is a field of the answer. */
  #left = 0;

  constructor({ definitions }: DocumentNode, most: number) {
    this.#most = most;
    for (const each of definitions)
      if (each.kind === Kind.FRAGMENT_DEFINITION) this.#fragments.set(each.name.value, each.selectionSet);
  }

  /** On all levels. */
  fieldsOf({ selectionSet }: OperationDefinitionNode): number {
    this.#left = this.#most;
    return this.#merge([selectionSet]);
  }

  /** Of selections that are answered together. */
  #merge(selections: readonly SelectionSetNode[]): number {
    const parts = new Set<Part>();
    for (const selection of selections) this.#gather(selection, parts);
    // What only spreads is not worth telling apart.
    const ids = Array.from(parts).flatMap(({ id, fields }) => (fields.length > 0 ? id : []));
    const key = ids.sort((one, other) => one - other).join();
    const known = this.#merged.get(key);
    if (known !== undefined) return known;
    if (this.#left-- < 0) return Number.POSITIVE_INFINITY;
    const groups = groupsOf(parts);
    let count = groups.size;
    for (const [name, fields] of groups) {
      const conflict = this.errors.length < MOST_ERRORS ? this.#conflict(name, fields) : undefined;
      if (conflict) this.errors.push(conflict);
      const inner = fields.flatMap(({ selectionSet }) => selectionSet ?? []);
      // Of several types, they may be no conflict after all: whatever they ask for counts.
      if (conflict) for (const each of inner) count += this.#merge([each]);
      else if (inner.length > 0) count += this.#merge(inner);
    }
    this.#merged.set(key, count);
    return count;
  }

  /** The selection and whatever it spreads. */
  #gather(selection: SelectionSetNode, into: Set<Part>): void {
    const part = this.#part(selection);
    if (into.has(part)) return;
    into.add(part);
    for (const name of part.spreads) {
      const fragment = this.#fragments.get(name);
      if (fragment) this.#gather(fragment, into);
    }
  }

  #part(selection: SelectionSetNode): Part {
    let part = this.#parts.get(selection);
    if (!part) {
      const fields: FieldNode[] = [];
      const spreads: string[] = [];
      const add = ({ selections }: SelectionSetNode): void => {
        for (const each of selections)
          if (each.kind === Kind.FIELD) fields.push(each);
          else if (each.kind === Kind.FRAGMENT_SPREAD) spreads.push(each.name.value);
          else add(each.selectionSet);
      };
      add(selection);
      part = { id: this.#parts.size, fields, spreads };
      this.#parts.set(selection, part);
    }
    return part;
  }

  #conflict(name: string, [first, ...others]: readonly FieldNode[]): GraphQLError | undefined {
    if (!first) return undefined;
    for (const other of others) {
      const isOther = first.name.value !== other.name.value;
      if (!isOther && this.#argumentsOf(first) === this.#argumentsOf(other)) continue;
      const why = isOther
        ? `"${first.name.value}" and "${other.name.value}" are different fields`
        : 'they have differing arguments';
      return new GraphQLError(
        `Fields "${name}" conflict because ${why}. Use different aliases on the fields to fetch both if this was intentional.`,
        { nodes: [first, other] },
      );
    }
    return undefined;
  }

  /** The same text for the same arguments, in whatever order. */
  #argumentsOf(field: FieldNode): string {
    if (!field.arguments || field.arguments.length === 0) return '';
    let text = this.#arguments.get(field);
    if (text === undefined) {
      text = writtenArguments(field.arguments);
      this.#arguments.set(field, text);
    }
    return text;
  }
}

/** By their names in the answer. */
function groupsOf(parts: Iterable<Part>): Map<string, FieldNode[]> {
  const groups = new Map<string, FieldNode[]>();
  for (const { fields } of parts)
    for (const field of fields) {
      const name = (field.alias ?? field.name).value;
      const group = groups.get(name);
      if (group) group.push(field);
      else groups.set(name, [field]);
    }
  return groups;
}

interface Named {
  readonly name: { readonly value: string };
  readonly value: ValueNode;
}

/** The same text for the same values, in whatever order. */
export function writtenArguments(given: readonly Named[]): string {
  return given
    .map(({ name, value }) => `${name.value}:${written(value)}`)
    .sort()
    .join();
}

function written(value: ValueNode): string {
  switch (value.kind) {
    case Kind.OBJECT:
      return `{${writtenArguments(value.fields)}}`;
    case Kind.LIST:
      return `[${value.values.map(written).join()}]`;
    case Kind.VARIABLE:
      return `$${value.name.value}`;
    case Kind.NULL:
      return 'null';
    case Kind.STRING:
      // graphql-js takes the two ways to write a text for two texts.
      return (value.block ? '""' : '') + JSON.stringify(value.value);
    default:
      return String(value.value);
  }
}
