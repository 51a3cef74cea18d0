/** `describe`: the types that a caller may use, briefly enough for a hundred of them to fit into one answer. */

import { cited, type Fault, isFull, pointer, validationFailed } from '../base/errors.ts';
import type { Caller } from '../engine/caller.ts';
import type { Engine } from '../engine/engine.ts';
import type { Action, Enum, Field, Model, OperationKind, Resource } from '../schema/model.ts';
import { rootFieldName } from '../schema/names.ts';
import {
  answerable,
  creatable,
  graphqlTypeName,
  isScalar,
  neededOnCreate,
  updatable,
} from '../schema/values.ts';
import type { Values } from './message.ts';

const needed: Readonly<Record<string, readonly OperationKind[]>> = {
  READ: ['LIST', 'GET'],
  CREATE: ['CREATE'],
  UPDATE: ['UPDATE'],
  DELETE: ['DELETE'],
};

/** What the rules and the file let the caller do; nothing where it may not even read. */
export function mayDo(engine: Engine, caller: Caller, resource: Resource): Action[] {
  const isOffered = (action: Action) => needed[action]?.some((kind) => resource.operations.has(kind));
  return engine.actions(caller, resource).filter(isOffered);
}

/** Those that are named, with all that the file says of them; or all, with their types alone. */
export function described({ resources }: Model, engine: Engine, caller: Caller, { types }: Values): object {
  const usable = resources.filter((resource) => mayDo(engine, caller, resource).length > 0);
  const wanted = types === undefined ? usable : named(types, usable);
  const isWhole = types !== undefined;
  const enums = new Set<Enum>();
  const told = wanted.map((resource) => [resource.name, typeOf(engine, caller, resource, isWhole, enums)]);
  const values = [...enums].map((each) => [each.name, each.values.map(({ name }) => name)]);
  return { types: Object.fromEntries(told), enums: Object.fromEntries(values) };
}

/** Names alone, for a file of which more does not fit. */
export function names({ resources }: Model, engine: Engine, caller: Caller): object {
  const usable = resources.map((resource) => [resource.name, mayDo(engine, caller, resource)] as const);
  return {
    types: Object.fromEntries(
      usable.filter(([, may]) => may.length > 0).map(([name, may]) => [name, { may }]),
    ),
    more: 'There are too many types to tell all of their fields at once: name some in "types".',
  };
}

/** Each once, however often it is named. */
function named(types: unknown, usable: readonly Resource[]): Resource[] {
  if (!Array.isArray(types) || !types.every((each) => typeof each === 'string'))
    throw validationFailed([{ pointer: '#/types', code: 'TYPE', detail: 'types must be a list of names' }]);
  const faults: Fault[] = [];
  const byName = new Map(usable.map((resource) => [resource.name, resource]));
  const found = new Set<Resource>();
  for (const [index, name] of types.entries()) {
    if (isFull(faults)) break;
    const resource = byName.get(name);
    if (resource) found.add(resource);
    else
      faults.push({
        pointer: pointer('types', index),
        code: 'UNKNOWN',
        detail: `there is no type ${cited(name)} that you may use; describe without types names those that there are`,
      });
  }
  if (faults.length > 0) throw validationFailed(faults);
  return [...found];
}

function typeOf(
  engine: Engine,
  caller: Caller,
  resource: Resource,
  isWhole: boolean,
  enums: Set<Enum>,
): object {
  const { operations, description, path, searched } = resource;
  const fields = answerable(resource).flatMap((field) => {
    const uses = engine.uses(caller, field);
    if (!uses.includes('READ')) return [];
    if (field.kind === 'column' && !isScalar(field.type)) enums.add(field.type);
    const text = [typeText(field), settable(resource, field, uses), isWhole ? field.description : undefined];
    return [[field.name, text.filter((part) => part !== undefined && part !== '').join(' ')]];
  });
  return {
    ...(isWhole && description !== undefined && { description }),
    may: mayDo(engine, caller, resource),
    ...(resource.graphql && operations.has('LIST') && { list: rootFieldName.LIST(resource) }),
    ...(resource.graphql && operations.has('GET') && { get: rootFieldName.GET(resource) }),
    ...(resource.rest && { path: `/${path}` }),
    ...(searched.length > 0 && { searched: searched.map(({ name }) => name) }),
    fields: Object.fromEntries(fields),
  };
}

/** As GraphQL spells it. */
function typeText(field: Field): string {
  const bang = field.required ? '!' : '';
  if (field.kind === 'reference') return `${field.target.name}${bang}`;
  if (field.kind !== 'column') return `[${field.target.name}!]${bang}`;
  const one = graphqlTypeName(field);
  return `${field.list ? `[${one}!]` : one}${bang}`;
}

/** What an agent must know before it writes: what has to be given, and what cannot be. */
function settable(resource: Resource, field: Field, uses: readonly Action[]): string {
  if (field.kind !== 'column') return '';
  const onCreate = creatable(resource).includes(field) && uses.includes('CREATE');
  const onUpdate = updatable(resource).includes(field) && uses.includes('UPDATE');
  if (!onCreate && !onUpdate) return '(set by the server)';
  if (!onUpdate) return '(set on create)';
  return onCreate && neededOnCreate(field) ? '(needed on create)' : '';
}
