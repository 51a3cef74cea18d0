/** Root fields with `@action`, and the types that they take and answer with. */

import {
  type DocumentNode,
  type FieldDefinitionNode,
  type InputObjectTypeDefinitionNode,
  type InputValueDefinitionNode,
  Kind,
  type ObjectTypeDefinitionNode,
  valueFromASTUntyped,
} from 'graphql';
import { readConstraint } from './constraints.ts';
import { withScale } from './decimals.ts';
import { type AppliedDirectives, readDirectives } from './directives.ts';
import type { Faults } from './draft.ts';
import { unwrap, withCanonicalDefault } from './fields.ts';
import type { ActionField, Column, Enum, Resource, Shape, Slot } from './model.ts';
import { pathOf } from './names.ts';
import { type Scalar, scalars } from './scalars.ts';
import { didYouMean } from './suggest.ts';

type PlainNode = ObjectTypeDefinitionNode | InputObjectTypeDefinitionNode;
type SlotNode = FieldDefinitionNode | InputValueDefinitionNode;

export function isAction({ directives }: FieldDefinitionNode): boolean {
  return directives?.some(({ name }) => name.value === 'action') ?? false;
}

/** The types that an action takes or answers with, and that are no resources. */
export function plainTypes({ definitions }: DocumentNode): ReadonlyMap<string, PlainNode> {
  const candidates = new Map<string, PlainNode>();
  const found = new Map<string, PlainNode>();
  const wanted: SlotNode[] = [];
  for (const node of definitions) {
    if (node.kind === Kind.INPUT_OBJECT_TYPE_DEFINITION) candidates.set(node.name.value, node);
    if (node.kind !== Kind.OBJECT_TYPE_DEFINITION && node.kind !== Kind.OBJECT_TYPE_EXTENSION) continue;
    const { value: name } = node.name;
    if (name === 'Query' || name === 'Mutation')
      for (const field of node.fields ?? [])
        if (isAction(field)) wanted.push(field, ...(field.arguments ?? []));
    const isResource = node.directives?.some((each) => each.name.value === 'resource');
    if (node.kind === Kind.OBJECT_TYPE_DEFINITION && !isResource) candidates.set(name, node);
  }
  for (const { type } of wanted) {
    const { name } = unwrap(type);
    const node = candidates.get(name);
    if (!node || found.has(name)) continue;
    found.set(name, node);
    wanted.push(...(node.fields ?? []));
  }
  return found;
}

export interface ActionReader {
  readonly enums: ReadonlyMap<string, Enum>;
  readonly resources: ReadonlyMap<string, Resource>;
  readonly faults: Faults;
}

export function readActions(
  roots: readonly { readonly root: 'Query' | 'Mutation'; readonly node: FieldDefinitionNode }[],
  plain: ReadonlyMap<string, PlainNode>,
  reader: ActionReader,
): ActionField[] {
  const { faults } = reader;
  const shapes = new Map<string, Shape>();
  // Made before their fields are read: a type may hold itself.
  for (const [name, node] of plain) {
    const kind = node.kind === Kind.INPUT_OBJECT_TYPE_DEFINITION ? 'input' : 'type';
    for (const each of node.directives ?? [])
      faults.at(each, `"@${each.name.value}" does not fit "${name}", which nothing stores. Remove it.`);
    shapes.set(name, { ...faults.described(node, new Map()), kind, fields: [] });
  }
  const slots = new SlotReader(reader, shapes);
  for (const { name, kind, fields } of shapes.values())
    for (const field of plain.get(name)?.fields ?? []) {
      const slot = slots.read(field, name, kind);
      if (slot) (fields as Slot[]).push(slot);
    }
  return roots.flatMap(({ root, node }) => {
    const directives = readDirectives(node.directives, 'FIELD_DEFINITION', faults.at);
    const described = faults.described(node, directives);
    const where = `${root}.${described.name}`;
    for (const [name, [applied]] of directives)
      if (!['action', 'allow', 'decimal', 'deprecated'].includes(name))
        faults.at(applied.node, `"@${name}" does not fit the action "${where}". Remove it.`);
    for (const { node: at, arguments: given } of directives.get('allow') ?? [])
      for (const name of Object.keys(given))
        if (name !== 'role')
          faults.at(at, `"${name}" does not fit the action "${where}". Write: @allow(role: "…"), or @allow`);
    const ofAnswer = node.directives?.filter(({ name }) => name.value === 'decimal') ?? [];
    const answer = slots.read({ ...node, directives: ofAnswer }, root, 'type');
    const args = (node.arguments ?? []).flatMap((argument) => slots.read(argument, where, 'input') ?? []);
    const names = new Set<string>();
    for (const { name, place } of args) {
      if (names.has(name)) faults.report(place, `"${where}" takes "${name}" twice. Remove one.`);
      names.add(name);
    }
    const path = pathOf(described.name);
    return answer
      ? [{ ...described, root, path, arguments: args, answer, allow: faults.allowed(directives) }]
      : [];
  });
}

class SlotReader {
  readonly #reader: ActionReader;
  readonly #shapes: ReadonlyMap<string, Shape>;

  constructor(reader: ActionReader, shapes: ReadonlyMap<string, Shape>) {
    this.#reader = reader;
    this.#shapes = shapes;
  }

  /** `kind`: what a type must be to stand here. */
  read(node: SlotNode, owner: string, kind: Shape['kind']): Slot | undefined {
    const { faults, enums, resources } = this.#reader;
    const isGiven = node.kind === Kind.INPUT_VALUE_DEFINITION;
    const location = isGiven ? 'ARGUMENT_DEFINITION' : 'FIELD_DEFINITION';
    const directives = readDirectives(node.directives, location, faults.at);
    const described = faults.described(node, directives);
    const where = `${owner}.${described.name}`;
    for (const [name, [applied]] of directives)
      if (!['decimal', 'deprecated', ...(isGiven ? ['constraint'] : [])].includes(name))
        faults.at(applied.node, `"@${name}" does not fit "${where}", which nothing stores. Remove it.`);
    const { name, list, required, fault } = unwrap(node.type);
    if (fault) faults.at(node.type, `"${where}" must be a list of non-null items: [${name}!] or [${name}!]!`);
    const common = { ...described, list, required };
    const type = scalars.get(name) ?? enums.get(name);
    if (type) return { ...common, is: 'value', column: this.#column(node, common, type, where, directives) };
    const shape = this.#shapes.get(name);
    if (shape?.kind === kind) return { ...common, is: 'object', shape };
    const resource = resources.get(name);
    if (resource && kind === 'type') {
      if (!resource.graphql)
        faults.at(node.type, `${name} is not served through GraphQL, so "${where}" cannot answer with it.`);
      return { ...common, is: 'record', resource };
    }
    const known = [...this.#shapes.values()].filter((each) => each.kind === kind).map((each) => each.name);
    const records = kind === 'type' ? resources.keys() : [];
    const options = [...scalars.keys(), ...enums.keys(), ...known, ...records];
    const cure = didYouMean(name, options) || ` There are: ${options.join(', ')}.`;
    const why = resource
      ? `"${where}" cannot take a record. Take its key: ID!`
      : `Unknown type "${name}" on ${where}.`;
    faults.at(node.type, resource ? why : `${why}${cure}`);
    return undefined;
  }

  #column(
    node: SlotNode,
    common: Pick<Slot, 'name' | 'place' | 'description' | 'deprecated' | 'list' | 'required'>,
    named: Scalar | Enum,
    where: string,
    directives: AppliedDirectives,
  ): Column {
    const { faults } = this.#reader;
    const type = withScale(named, node as FieldDefinitionNode, directives, where, faults);
    const written = node.kind === Kind.INPUT_VALUE_DEFINITION ? node.defaultValue : undefined;
    return withCanonicalDefault({
      ...common,
      kind: 'column',
      stored: common.name,
      type,
      origin: { by: 'client', default: written && valueFromASTUntyped(written) },
      constraint: readConstraint(directives, type, where, faults),
      transitions: undefined,
      allow: [],
      reference: undefined,
      folded: undefined,
    });
  }
}

/** The plain types that actions take and answer with, each once. */
export function shapesOf(actions: readonly ActionField[]): readonly Shape[] {
  const found = new Set<Shape>();
  const visit = (slot: Slot): void => {
    if (slot.is !== 'object' || found.has(slot.shape)) return;
    found.add(slot.shape);
    slot.shape.fields.forEach(visit);
  };
  for (const { arguments: args, answer } of actions) [...args, answer].forEach(visit);
  return [...found];
}

/** The places of plain values, by what they belong to. */
export function columnsOfActions(actions: readonly ActionField[]): [string, readonly Column[]][] {
  const columns = (slots: readonly Slot[]) =>
    slots.flatMap((slot) => (slot.is === 'value' ? [slot.column] : []));
  return [
    ...actions.map(({ root, name, arguments: args }): [string, readonly Column[]] => [
      `${root}.${name}`,
      columns(args),
    ]),
    ...shapesOf(actions).map(({ name, fields }): [string, readonly Column[]] => [name, columns(fields)]),
  ];
}
