/** One field of a resource's type → a column, a reference with its column, or a list that waits for its reference. */

import { type FieldDefinitionNode, Kind, type TypeNode } from 'graphql';
import type { Fault } from '../base/errors.ts';
import { readConstraint } from './constraints.ts';
import { withScale } from './decimals.ts';
import { type Applied, type AppliedDirectives, readDirectives } from './directives.ts';
import { type Faults, told } from './draft.ts';
import type { Column, DeleteAction, Enum, Origin, Reference, Resource } from './model.ts';
import { foldedNameOf, keyFieldOf } from './names.ts';
import { Folded, type Scalar, Serial, scalars, UUID } from './scalars.ts';
import { didYouMean } from './suggest.ts';
import { readTransitions, toldTransitions } from './transitions.ts';
import { checkValue } from './values.ts';

export interface FieldReader {
  readonly faults: Faults;
  readonly enums: ReadonlyMap<string, Enum>;
  readonly resources: ReadonlyMap<string, Resource>;
  /** Lists of resources; their references are known only after every type was read. */
  readonly inverses: PendingInverse[];
}

export interface PendingInverse {
  readonly node: FieldDefinitionNode;
  readonly directives: AppliedDirectives;
  readonly owner: Resource;
  readonly target: Resource;
}

interface ReadField {
  readonly column: Column;
  readonly reference: Reference | undefined;
  readonly key: boolean;
  readonly unique: boolean;
  readonly index: boolean;
}

const fits: Readonly<Record<string, readonly ('column' | 'reference' | 'inverse')[]>> = {
  key: ['column'],
  default: ['column'],
  set: ['column', 'reference'],
  createdAt: ['column'],
  updatedAt: ['column'],
  readonly: ['column', 'reference'],
  unique: ['column', 'reference'],
  index: ['column', 'reference'],
  constraint: ['column'],
  decimal: ['column'],
  transitions: ['column'],
  caseless: ['column'],
  inverse: ['inverse'],
  through: ['inverse'],
  onDelete: ['reference'],
  column: ['column', 'reference'],
  operation: [],
  action: [],
  computed: [],
  allow: ['column', 'reference', 'inverse'],
  deprecated: ['column', 'reference', 'inverse'],
};

export function readField(
  node: FieldDefinitionNode,
  owner: Resource,
  reader: FieldReader,
): ReadField | undefined {
  const { faults } = reader;
  const where = `${owner.name}.${node.name.value}`;
  const written = readDirectives(node.directives, 'FIELD_DEFINITION', faults.at);
  if (node.arguments && node.arguments.length > 0)
    faults.at(node.arguments[0] ?? node, `"${where}" cannot take arguments. Remove them.`);

  const shape = unwrap(node.type);
  const target = reader.resources.get(shape.name);
  const type = scalars.get(shape.name) ?? reader.enums.get(shape.name);
  if (!target && !type) {
    const options = [...scalars.keys(), ...reader.enums.keys(), ...reader.resources.keys()];
    faults.at(
      node.type,
      `Unknown type "${shape.name}" on ${where}.${didYouMean(shape.name, options) || ` There are: ${options.join(', ')}.`}`,
    );
    return undefined;
  }
  const kind = type ? 'column' : shape.list ? 'inverse' : 'reference';
  const directives = new Map<string, readonly [Applied, ...Applied[]]>();
  for (const [name, applied] of written)
    if (fits[name]?.includes(kind)) directives.set(name, applied);
    else
      faults.at(
        applied[0].node,
        `"@${name}" does not fit "${where}", which is a ${describe(kind)}. Remove it.`,
      );
  for (const name of ['unique', 'index'])
    for (const applied of directives.get(name) ?? [])
      if (applied.arguments['fields'])
        faults.at(
          applied.node,
          `"@${name}" on a field takes no fields. Move it to the type, or drop the argument.`,
        );

  if (type) {
    if (shape.list && shape.fault)
      faults.at(
        node.type,
        `"${where}" must be a list of non-null items: [${shape.name}!] or [${shape.name}!]!`,
      );
    return readColumn(node, directives, type, shape, owner, faults);
  }
  if (!target) return undefined;
  if (kind === 'inverse') {
    const hidable = faults.allowRules(directives).some(({ to }) => to.includes('READ'));
    const written = `[${shape.name}!]${hidable ? '' : '!'}`;
    const side = directives.has('through') ? 'leads through a join type' : 'is the far side of a reference';
    const why = hidable ? 'has a rule on who may READ it' : side;
    if (shape.fault || shape.required === hidable)
      faults.at(node.type, `"${where}" ${why} and must be written ${written}`);
    reader.inverses.push({ node, directives, owner, target });
    return undefined;
  }
  return readReference(node, directives, target, shape, owner, faults);
}

function describe(kind: 'column' | 'reference' | 'inverse'): string {
  return { column: 'stored value', reference: 'reference', inverse: 'list of the records that point here' }[
    kind
  ];
}

interface Shape {
  readonly name: string;
  readonly list: boolean;
  readonly required: boolean;
  /** Nullable items, or a list of lists. */
  readonly fault: boolean;
}

export function unwrap(type: TypeNode): Shape {
  const required = type.kind === Kind.NON_NULL_TYPE;
  const outer = required ? type.type : type;
  if (outer.kind === Kind.NAMED_TYPE) return { name: outer.name.value, list: false, required, fault: false };
  const item = unwrap(outer.type);
  return { name: item.name, list: true, required, fault: item.list || !item.required };
}

function readColumn(
  node: FieldDefinitionNode,
  directives: AppliedDirectives,
  named: Scalar | Enum,
  shape: Shape,
  owner: Resource,
  faults: Faults,
): ReadField {
  const described = faults.described(node, directives);
  const natural = directives.has('key');
  const assigned =
    described.name === 'id' && !natural && !shape.list && (named === UUID || named === scalars.get('ID'));
  const where = `${owner.name}.${described.name}`;
  if (natural && (!shape.required || shape.list || (shape.name !== 'ID' && shape.name !== 'String')))
    faults.at(node.type, `The key "${where}" must be ID! or String!`);
  if (described.name === 'id' && !natural && !(assigned && shape.required))
    faults.at(node.type, `"${where}" must be ID! or UUID! (the server assigns it), or carry @key`);
  for (const setter of assigned ? setters : [])
    for (const { node: at } of directives.get(setter) ?? [])
      faults.at(at, `"@${setter}" does not fit "${where}", which the server assigns. Remove it.`);
  const type = assigned && named !== UUID ? Serial : withScale(named, node, directives, where, faults);
  const origin: Origin = assigned
    ? { by: named === UUID ? 'uuid' : 'serial' }
    : readOrigin(directives, where, shape, faults);
  const applied = directives.get('transitions')?.[0];
  const transitions = applied && readTransitions(applied, where, named, shape.list, faults);
  const column: Column = {
    ...described,
    description: told([
      described.description,
      transitions && toldTransitions(transitions),
      directives.has('caseless') ? 'Compared and sorted without letter case.' : undefined,
    ]),
    kind: 'column',
    stored: storedName(directives, described.name),
    type,
    list: shape.list,
    required: shape.required,
    origin,
    constraint: readConstraint(directives, type, where, faults),
    transitions,
    folded: undefined,
    allow: faults.allowRules(directives),
    reference: undefined,
  };
  return {
    column: withFolded(withCanonicalDefault(column), natural, directives, where, faults),
    reference: undefined,
    key: natural || assigned,
    unique: directives.has('unique'),
    index: directives.has('index'),
  };
}

/** Null until records that were there before have been brought up to date. */
function foldedOf(column: Column): Column {
  return {
    ...column,
    stored: foldedNameOf(column.stored),
    type: Folded,
    required: false,
    origin: { by: 'nobody', default: undefined },
    constraint: undefined,
    allow: [],
  };
}

/** Lets texts that differ in letter case only be the same, where that is asked for. */
function withFolded(
  column: Column,
  natural: boolean,
  directives: AppliedDirectives,
  where: string,
  faults: Faults,
): Column {
  const node = directives.get('caseless')?.[0].node;
  if (!node) return column;
  if (natural)
    faults.at(
      node,
      `"@caseless" does not fit "${where}", which is the key: paths name records by it letter by letter. Remove it, or let another field be @unique @caseless.`,
    );
  else if (column.type !== scalars.get('String') || column.list)
    faults.at(
      node,
      `"@caseless" on "${where}" needs a String field${column.list ? ', and this is a list' : ''}. Remove it.`,
    );
  else return { ...column, folded: foldedOf(column) };
  return column;
}

/** What the server fills in looks like what it makes of the same value from a client. */
export function withCanonicalDefault(column: Column): Column {
  const { origin } = column;
  if (!('default' in origin) || origin.default === undefined) return column;
  const misfits: Fault[] = [];
  const value = checkValue(column, origin.default, misfits);
  return misfits.length === 0 ? { ...column, origin: { ...origin, default: value } } : column;
}

function readReference(
  node: FieldDefinitionNode,
  directives: AppliedDirectives,
  target: Resource,
  shape: Shape,
  owner: Resource,
  faults: Faults,
): ReadField {
  const described = faults.described(node, directives);
  const name = keyFieldOf(described.name);
  const column = {
    ...described,
    name,
    kind: 'column' as const,
    stored: storedName(directives, name),
    // The key of the target may not be read yet: its type is looked up when it is needed.
    get type() {
      return target.key.type;
    },
    list: false,
    required: shape.required,
    origin: readOrigin(directives, `${owner.name}.${described.name}`, shape, faults),
    constraint: undefined,
    transitions: undefined,
    folded: undefined,
    allow: faults.allowRules(directives),
    reference: undefined as Reference | undefined,
  };
  const onDelete =
    (directives.get('onDelete')?.[0].arguments['do'] as DeleteAction | undefined) ?? 'RESTRICT';
  const reference: Reference = {
    ...described,
    description: told([described.description, toldDelete(onDelete, described.name)]),
    kind: 'reference',
    owner,
    column,
    target,
    required: shape.required,
    onDelete,
    allow: column.allow,
  };
  column.reference = reference;
  return { column, reference, key: false, unique: directives.has('unique'), index: false };
}

/** What people are told of it; the console reads it from here too. */
function toldDelete(onDelete: DeleteAction, name: string): string | undefined {
  if (onDelete === 'CASCADE') return `Deleted together with its ${name}.`;
  return onDelete === 'SET_NULL' ? `Emptied when its ${name} is deleted.` : undefined;
}

export function storedName(directives: AppliedDirectives, name: string): string {
  return (directives.get('column')?.[0].arguments['name'] as string | undefined) ?? name;
}

const setters: readonly string[] = ['default', 'set', 'createdAt', 'updatedAt'];

function readOrigin(directives: AppliedDirectives, where: string, shape: Shape, faults: Faults): Origin {
  const used = setters.filter((name) => directives.has(name));
  const [setter] = used;
  const at = setter === undefined ? undefined : directives.get(setter)?.[0];
  if (at && used.length > 1)
    faults.at(at.node, `"${where}" is set by ${used.map((name) => `@${name}`).join(' and ')}. Keep one.`);
  if (at && (setter === 'createdAt' || setter === 'updatedAt')) {
    if (shape.name !== 'DateTime' || !shape.required || shape.list)
      faults.at(at.node, `"@${setter}" needs "${where}" to be DateTime!`);
    return { by: setter };
  }
  if (at && setter === 'set') return { by: 'claim', claim: String(at.arguments['claim']) };
  return { by: directives.has('readonly') ? 'nobody' : 'client', default: at?.arguments['value'] };
}
