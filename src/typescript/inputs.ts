/** The types of what is written: what creates, updates and upserts take. */

import type { Column, Reference, Resource } from '../schema/model.ts';
import { INCREMENTS } from '../schema/names.ts';
import { nestable, nestedIn } from '../schema/nested.ts';
import { ADD, linkNames, REMOVE, writtenThrough } from '../schema/through.ts';
import { creatable, incrementable, neededOnCreate, updatable } from '../schema/values.ts';
import {
  fieldOf,
  givenList,
  interfaceOf,
  leafType,
  type Names,
  type Property,
  typeOf,
  union,
} from './print.ts';

/** What they need of the types around them. */
interface TypesAround {
  readonly names: Names;
  named(resource: Resource, part: 'Input' | 'Changes' | 'Increments' | 'Upsert' | 'By'): string;
  given(column: Column, isNested?: boolean): string;
}

export function inputTypes(resource: Resource, types: TypesAround): string[] {
  return [
    inputType(types, resource),
    ...nestedIn(resource, 'rest').map((reference) => inputType(types, resource, reference)),
    interfaceOf(types.named(resource, 'Changes'), changesOf(types, resource)),
    ...increments(types, resource),
    upsert(types, resource),
    typeOf(types.named(resource, 'By'), lookups(resource)),
  ];
}

/** `known`: the reference that is set by what the record is nested in. */
function inputType(types: TypesAround, resource: Resource, known?: Reference): string {
  const columns = creatable(resource).filter((column) => column !== known?.column);
  const nested = nestable(resource, 'rest').map(
    ({ name, target, reference }): Property => ({
      name,
      optional: true,
      type: `${givenList(nestedName(types, reference))} | null`,
      told: `New ${target.plural} that point to it.`,
    }),
  );
  const properties = columns.map((column) =>
    fieldOf(column, types.given(column, known !== undefined), !neededOnCreate(column)),
  );
  return interfaceOf(known ? nestedName(types, known) : types.named(resource, 'Input'), [
    ...properties,
    ...nested,
    ...linksOf(resource),
  ]);
}

function nestedName(types: TypesAround, { owner, name }: Reference): string {
  return types.names.of(owner.name, `InputWithout${name[0]?.toUpperCase()}${name.slice(1)}`);
}

function changesOf(types: TypesAround, resource: Resource): Property[] {
  const columns = updatable(resource).map((column) => fieldOf(column, types.given(column), true));
  const countable = incrementable(resource);
  const increments: Property = {
    name: INCREMENTS,
    type: types.named(resource, 'Increments'),
    optional: true,
    told: 'Added to the numbers that are stored, without reading them first.',
  };
  return [...columns, ...linksOf(resource), ...(countable.length > 0 ? [increments] : [])];
}

function increments(types: TypesAround, resource: Resource): string[] {
  const properties = incrementable(resource).map(
    (column): Property => ({ name: column.name, type: leafType(column.type), optional: true }),
  );
  return properties.length > 0 ? [interfaceOf(types.named(resource, 'Increments'), properties)] : [];
}

/** Which records lists through join types lead to. */
function linksOf(resource: Resource): Property[] {
  return writtenThrough(resource).flatMap((through): Property[] => {
    const { ids, changes } = linkNames(through);
    const keys = givenList(leafType(through.target.key.type));
    return [
      { name: ids, type: keys, optional: true, told: `The keys of all that ${through.name} is to have.` },
      {
        name: changes,
        type: `{ ${ADD}?: ${keys}; ${REMOVE}?: ${keys} }`,
        optional: true,
        told: `What changes of ${through.name}; the rest of it stays.`,
      },
    ];
  });
}

function upsert(types: TypesAround, resource: Resource): string {
  const columns = creatable(resource).map((column) => fieldOf(column, types.given(column), true));
  return interfaceOf(types.named(resource, 'Upsert'), [...columns, ...linksOf(resource)]);
}

/** Each set of fields that no two records have in common: one name, or a list of names. */
function lookups({ key, uniques }: Resource): string {
  const sets = [[key], ...uniques.map(({ columns }) => columns)];
  const spelt = sets.map(([first, ...others]) =>
    others.length === 0
      ? `'${first?.name}'`
      : `readonly [${[first, ...others].map((column) => `'${column?.name}'`).join(', ')}]`,
  );
  return union([...new Set(spelt)]);
}
