/** SDL text → Model, or every fault of it at once. */

import {
  type DefinitionNode,
  type DocumentNode,
  type FieldDefinitionNode,
  GraphQLError,
  Kind,
  Lexer,
  type ObjectTypeDefinitionNode,
  parse,
  Source,
  stripIgnoredCharacters,
  TokenKind,
} from 'graphql';
import { isAction, plainTypes, readActions } from './actions.ts';
import { readColumnSets, readSearched } from './column-sets.ts';
import { isComputed, readComputed } from './computed.ts';
import { type AppliedDirectives, definedTypes, readDirectives } from './directives.ts';
import { type Draft, Faults, told } from './draft.ts';
import { type FieldReader, readField } from './fields.ts';
import { resolveInverse } from './inverses.ts';
import { readJournal } from './journal.ts';
import type { Enum, Inverse, Model, OperationKind, Resource, SchemaFault, Through } from './model.ts';
import { ownTypes, pathOf, pluralOf, singularOf } from './names.ts';
import { readRootField } from './roots.ts';
import type { Rule } from './rules/rule.ts';
import { rules } from './rules/rules.ts';
import { scalars } from './scalars.ts';
import { resolveThrough } from './through.ts';
import { unclosed } from './unclosed.ts';
import { boundIndexed } from './values.ts';

export type SchemaReading =
  | { readonly model: Model; readonly faults?: never }
  | { readonly model?: never; readonly faults: readonly SchemaFault[] };

/**
 * `more`: rules beside those that the file must meet by itself. `fills`: whether a function of the deployment fills in new
 * records of a type.
 */
export function readSchema(
  text: string,
  more: readonly Rule[] = [],
  fills: (type: string) => boolean = nobodyFills,
): SchemaReading {
  const faults = new Faults();
  let document: DocumentNode;
  try {
    document = isBlank(text) ? { kind: Kind.DOCUMENT, definitions: [] } : parse(text);
  } catch (error) {
    if (error instanceof RangeError)
      return { faults: [{ line: 1, column: 1, message: 'The file nests too deep to be read. Flatten it.' }] };
    if (!(error instanceof GraphQLError)) throw error;
    const { message, locations: [at = { line: 1, column: 1 }] = [] } = error;
    return { faults: [unclosed(text, error) ?? { ...at, message }] };
  }
  const model = readDocument(document, faults, text);
  for (const rule of [...rules, ...more])
    rule(model, (place, message) => faults.report(place, message), fills);
  if (faults.found.length === 0) return { model };
  return { faults: faults.found.toSorted((a, b) => a.line - b.line || a.column - b.column) };
}

/** To the parser, nothing but comments is a mistake at the end of the file, which tells nobody what to write. */
function isBlank(text: string): boolean {
  return new Lexer(new Source(text)).lookahead().kind === TokenKind.EOF;
}

const nobodyFills = () => false;

function fingerprintOf(text: string): string {
  return Bun.hash(stripIgnoredCharacters(text)).toString(36);
}

interface Declared {
  readonly resource: Draft<Resource>;
  readonly node: ObjectTypeDefinitionNode;
  readonly directives: AppliedDirectives;
}

function readDocument(document: DocumentNode, faults: Faults, source: string): Model {
  const enums = new Map<string, Enum>();
  const declared = new Map<string, Declared>();
  const roots: { root: 'Query' | 'Mutation'; node: FieldDefinitionNode }[] = [];
  const seen = new Set<string>();
  const plain = plainTypes(document);

  for (const definition of document.definitions) {
    const name = 'name' in definition ? (definition.name?.value ?? '') : '';
    const isRoot = name === 'Query' || name === 'Mutation';
    if (isRoot && isObject(definition)) {
      for (const [directive, [applied]] of readDirectives(definition.directives, 'OBJECT', faults.at))
        faults.at(applied.node, `"@${directive}" does not fit "${name}". Remove it.`);
      if (definition.interfaces && definition.interfaces.length > 0)
        faults.at(
          definition.interfaces[0] ?? definition,
          `"${name}" cannot implement interfaces. Remove "implements".`,
        );
      for (const node of definition.fields ?? []) roots.push({ root: name, node });
    } else if (
      definition.kind !== Kind.OBJECT_TYPE_DEFINITION &&
      definition.kind !== Kind.ENUM_TYPE_DEFINITION &&
      !(definition.kind === Kind.INPUT_OBJECT_TYPE_DEFINITION && plain.has(name))
    ) {
      faults.at(
        definition,
        `${cannotStand(definition)} A Duet file holds types with @resource, enums, Query and Mutation.`,
      );
    } else if (seen.has(name)) {
      faults.at(definition.name, `There are two types "${name}". Rename or remove one.`);
    } else if (scalars.has(name) || definedTypes.includes(name) || ownTypes.includes(name)) {
      faults.at(definition.name, `The type name "${name}" is taken by Duet. Choose another.`);
    } else {
      seen.add(name);
      if (definition.kind === Kind.ENUM_TYPE_DEFINITION) {
        const directives = readDirectives(definition.directives, 'ENUM', faults.at);
        if (!definition.values || definition.values.length === 0)
          faults.at(
            definition.name,
            `Enum "${name}" has no values. Add one, such as: enum ${name} { OTHER }`,
          );
        const values = (definition.values ?? []).map((value) =>
          faults.described(value, readDirectives(value.directives, 'ENUM_VALUE', faults.at)),
        );
        enums.set(name, { ...faults.described(definition, directives), values });
      } else if (definition.kind === Kind.OBJECT_TYPE_DEFINITION && !plain.has(name)) {
        const directives = readDirectives(definition.directives, 'OBJECT', faults.at);
        declared.set(name, {
          resource: draftResource(definition, directives, faults),
          node: definition,
          directives,
        });
      }
    }
  }

  const byType = new Map([...declared].map(([name, { resource }]) => [name, resource as Resource]));
  const reader: FieldReader = { faults, enums, resources: byType, inverses: [] };
  for (const { resource, node } of declared.values()) readFields(resource, node, reader);
  for (const pending of reader.inverses) {
    const list = pending.directives.has('through')
      ? resolveThrough(pending, byType, faults)
      : resolveInverse(pending, reader.inverses, faults);
    if (list) addList(pending.owner as Draft<Resource>, list);
  }
  for (const { resource, directives } of declared.values()) {
    readColumnSets(resource, directives, faults);
    readSearched(resource, directives, faults);
  }

  const resources = [...byType.values()];
  const [acting, bound] = [
    roots.filter(({ node }) => isAction(node)),
    roots.filter(({ node }) => !isAction(node)),
  ];
  for (const resource of resources) boundIndexed(resource);
  const rootFields = bound.flatMap(({ root, node }) => readRootField(root, node, byType, faults) ?? []);
  const actions = readActions(acting, plain, { enums, resources: byType, faults });
  if (resources.length === 0)
    faults.report(
      { line: 1, column: 1 },
      'The file declares no resource. Add one, such as: type Book @resource { id: ID! title: String! }',
    );
  const fingerprint = fingerprintOf(source);
  return {
    resources,
    byType,
    enums: [...enums.values()],
    rootFields,
    actions,
    fingerprint,
    generation: fingerprint,
    source,
  };
}

function isObject(definition: DefinitionNode) {
  return definition.kind === Kind.OBJECT_TYPE_DEFINITION || definition.kind === Kind.OBJECT_TYPE_EXTENSION;
}

function cannotStand(definition: DefinitionNode): string {
  const what = definition.kind.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return `${/^[aeio]/.test(what) ? 'An' : 'A'} ${what} cannot stand here.`;
}

const everyOperation: readonly OperationKind[] = ['LIST', 'GET', 'CREATE', 'UPDATE', 'DELETE'];

function draftResource(
  node: ObjectTypeDefinitionNode,
  directives: AppliedDirectives,
  faults: Faults,
): Draft<Resource> {
  const described = faults.described(node, directives);
  if (!directives.has('resource') && !node.directives?.some((each) => each.name.value === 'resource'))
    faults.at(
      node.name,
      `Type "${described.name}" is not a resource. Write: type ${described.name} @resource { … }`,
    );
  if (node.interfaces && node.interfaces.length > 0)
    faults.at(node.name, `Type "${described.name}" cannot implement interfaces. Remove "implements".`);
  const options = directives.get('resource')?.[0].arguments ?? {};
  const singular = singularOf(described.name);
  const plural = (options['plural'] as string | undefined) ?? pluralOf(singular);
  const version = {
    ...described,
    name: '_version',
    description: 'Grows with every change of the record.',
    deprecated: undefined,
    kind: 'column',
    stored: '_version',
    type: knownScalar('Int'),
    list: false,
    required: true,
    origin: { by: 'version' },
    constraint: undefined,
    transitions: undefined,
    folded: undefined,
    allow: [],
    reference: undefined,
  } as const;
  const checks = faults.checkRules(directives);
  return {
    ...described,
    description: told([
      described.description,
      ...checks.map(({ message }) => `Checked on every write: ${message}`),
    ]),
    singular,
    plural,
    path: (options['path'] as string | undefined) ?? pathOf(plural),
    table: (directives.get('table')?.[0].arguments['name'] as string | undefined) ?? described.name,
    operations: new Set((options['only'] as OperationKind[] | undefined) ?? everyOperation),
    rest: options['rest'] !== false,
    graphql: options['graphql'] !== false,
    // A type without a key is a fault that readFields reports; until then the version stands in.
    key: version,
    version,
    fields: [],
    fieldByName: new Map(),
    columns: [],
    references: [],
    inverses: [],
    throughs: [],
    pointedAtBy: [],
    uniques: [],
    indexes: [],
    searched: [],
    allow: faults.allowRules(directives),
    checks,
    computed: [],
    recomputed: [],
    hooks: [],
    journal: readJournal(described.name, directives, faults),
  };
}

function knownScalar(name: string) {
  const found = scalars.get(name);
  if (!found) throw new Error(`no scalar ${name}`);
  return found;
}

function readFields(resource: Draft<Resource>, node: ObjectTypeDefinitionNode, reader: FieldReader): void {
  const keys = [];
  for (const fieldNode of node.fields ?? []) {
    if (isComputed(fieldNode)) continue;
    const read = readField(fieldNode, resource as Resource, reader);
    if (!read) continue;
    for (const field of [read.column, read.reference]) {
      if (!field) continue;
      if (resource.fieldByName.has(field.name)) {
        const why =
          field === read.column && read.reference ? ` It stores the key of "${read.reference.name}".` : '';
        reader.faults.report(field.place, `"${resource.name}.${field.name}" exists twice.${why} Rename one.`);
        continue;
      }
      resource.fields.push(field);
      (resource.fieldByName as Map<string, unknown>).set(field.name, field);
      if (field.kind === 'column') resource.columns.push(field);
      if (field.kind === 'reference') {
        resource.references.push(field);
        (field.target.pointedAtBy as unknown[]).push(field);
      }
    }
    if (read.unique) resource.uniques.push({ place: read.column.place, columns: [read.column] });
    if (read.index) resource.indexes.push({ place: read.column.place, columns: [read.column] });
    if (read.key && resource.fieldByName.get(read.column.name) === read.column) keys.push(read.column);
  }
  for (const fieldNode of node.fields ?? []) {
    const read = isComputed(fieldNode) && readComputed(fieldNode, resource as Resource, reader);
    if (!read) continue;
    const { computed, isStored, unique, index } = read;
    const { column } = computed;
    if (!isStored) {
      resource.computed.push(computed);
      continue;
    }
    if (resource.fieldByName.has(column.name)) {
      reader.faults.report(column.place, `"${resource.name}.${column.name}" exists twice. Rename one.`);
      continue;
    }
    resource.recomputed.push(computed);
    resource.fields.push(column);
    (resource.fieldByName as Map<string, unknown>).set(column.name, column);
    resource.columns.push(column);
    if (unique) resource.uniques.push({ place: column.place, columns: [column] });
    if (index) resource.indexes.push({ place: column.place, columns: [column] });
  }
  const [key, second] = keys;
  if (!key)
    reader.faults.report(
      resource.place,
      `Type "${resource.name}" has no key. Add: id: ID! (or id: UUID!, or @key on an ID! or String! field)`,
    );
  else if (second)
    reader.faults.report(
      second.place,
      `Type "${resource.name}" has two keys, "${key.name}" and "${second.name}". Keep one.`,
    );
  if (key) resource.key = key;
}

/** The list belongs where the file has it; columns and references were read before it was known to be sound. */
function addList(owner: Draft<Resource>, list: Inverse | Through): void {
  const later = owner.fields.findIndex(
    ({ place }) =>
      place.line > list.place.line || (place.line === list.place.line && place.column > list.place.column),
  );
  owner.fields.splice(later === -1 ? owner.fields.length : later, 0, list);
  (owner.fieldByName as Map<string, unknown>).set(list.name, list);
  if (list.kind === 'inverse') owner.inverses.push(list);
  else owner.throughs.push(list);
}
