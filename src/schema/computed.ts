/** Fields that functions of the deployment make of others. */

import type { FieldDefinitionNode } from 'graphql';
import { withScale } from './decimals.ts';
import { readDirectives } from './directives.ts';
import { type FieldReader, unwrap } from './fields.ts';
import type { Column, Computed, Resource } from './model.ts';
import { scalars } from './scalars.ts';
import { didYouMean } from './suggest.ts';

export function isComputed({ directives }: FieldDefinitionNode): boolean {
  return directives?.some(({ name }) => name.value === 'computed') ?? false;
}

/** When all fields of the type that are stored have been read. */
export function readComputed(
  node: FieldDefinitionNode,
  resource: Resource,
  { faults, enums }: FieldReader,
): Computed | undefined {
  const directives = readDirectives(node.directives, 'FIELD_DEFINITION', faults.at);
  const described = faults.described(node, directives);
  const where = `${resource.name}.${described.name}`;
  for (const [name, [applied]] of directives)
    if (!['computed', 'decimal', 'deprecated'].includes(name))
      faults.at(applied.node, `"@${name}" does not fit "${where}", which is computed. Remove it.`);
  const { name, list, required, fault } = unwrap(node.type);
  const named = scalars.get(name) ?? enums.get(name);
  if (!named || fault) {
    const options = [...scalars.keys(), ...enums.keys()];
    const cure = didYouMean(name, options) || ` There are: ${options.join(', ')}.`;
    faults.at(
      node.type,
      `"${where}" is computed, and must be a value or a list of them: not "${name}".${cure}`,
    );
    return undefined;
  }
  const applied = directives.get('computed')?.[0];
  const wanted = (applied?.arguments['from'] ?? []) as readonly string[];
  const from = wanted.flatMap((each): Column[] => {
    const field = resource.fieldByName.get(each);
    if (field?.kind === 'column') return [field];
    const options = resource.columns.map((column) => column.name);
    const cure = didYouMean(each, options) || ` There are: ${options.join(', ')}.`;
    if (applied)
      faults.at(
        applied.node,
        `"${where}" is computed from "${each}", which is no stored field of ${resource.name}.${cure}`,
      );
    return [];
  });
  if (applied && wanted.length === 0)
    faults.at(applied.node, `"${where}" is computed from nothing. Name the fields: @computed(from: ["…"])`);
  const hidden = from.find(({ allow }) => allow.some(({ to }) => to.includes('READ')));
  if (hidden && required)
    faults.at(
      node.type,
      `"${where}" is computed from "${hidden.name}", which some may not read, so it must be nullable. Drop the "!".`,
    );
  const column: Column = {
    ...described,
    kind: 'column',
    stored: described.name,
    type: withScale(named, node, directives, where, faults),
    list,
    required,
    origin: { by: 'nobody', default: undefined },
    constraint: undefined,
    transitions: undefined,
    allow: [],
    reference: undefined,
    folded: undefined,
  };
  return { column, from, compute: undefined };
}
