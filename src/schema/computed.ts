/** Fields that functions of the deployment make of others. */

import type { FieldDefinitionNode } from 'graphql';
import { withScale } from './decimals.ts';
import { readDirectives } from './directives.ts';
import { told } from './draft.ts';
import { type FieldReader, storedName, unwrap } from './fields.ts';
import type { Column, Computed, Resource } from './model.ts';
import { scalars } from './scalars.ts';
import { didYouMean } from './suggest.ts';
import { canBeHidden } from './values.ts';

export function isComputed({ directives }: FieldDefinitionNode): boolean {
  return directives?.some(({ name }) => name.value === 'computed') ?? false;
}

interface ReadComputed {
  readonly computed: Computed;
  readonly isStored: boolean;
  readonly unique: boolean;
  readonly index: boolean;
}

const FITTING = ['computed', 'decimal', 'deprecated', 'allow'];
const FITTING_STORED = [...FITTING, 'unique', 'index', 'column'];

/** When all fields of the type that clients and the server set have been read. */
export function readComputed(
  node: FieldDefinitionNode,
  resource: Resource,
  { faults, enums }: FieldReader,
): ReadComputed | undefined {
  const directives = readDirectives(node.directives, 'FIELD_DEFINITION', faults.at);
  const described = faults.described(node, directives);
  const where = `${resource.name}.${described.name}`;
  const applied = directives.get('computed')?.[0];
  const isStored = applied?.arguments['stored'] === true;
  for (const [name, [each]] of directives)
    if (!isStored && FITTING_STORED.includes(name) && !FITTING.includes(name))
      faults.at(
        each.node,
        `"@${name}" does not fit "${where}", which nothing stores. Remove it, or store it: @computed(from: […], stored: true)`,
      );
    else if (!FITTING_STORED.includes(name))
      faults.at(each.node, `"@${name}" does not fit "${where}", which is computed. Remove it.`);
  for (const name of ['unique', 'index'])
    for (const { node: at, arguments: given } of directives.get(name) ?? [])
      if (given['fields'])
        faults.at(at, `"@${name}" on a field takes no fields. Move it to the type, or drop the argument.`);
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
  const refuse = (message: string) => {
    if (applied) faults.at(applied.node, message);
  };
  const wanted = (applied?.arguments['from'] ?? []) as readonly string[];
  const known = resource.columns.filter(({ madeOf }) => !madeOf);
  const from = wanted.flatMap((each): Column[] => {
    const column = known.find((one) => one.name === each);
    if (!column && resource.columns.some((one) => one.name === each)) {
      refuse(`"${where}" is computed from "${each}", which is computed too. Name what that is made of.`);
      return [];
    }
    if (!column) {
      const options = known.map((one) => one.name);
      const cure = didYouMean(each, options) || ` There are: ${options.join(', ')}.`;
      refuse(`"${where}" is computed from "${each}", which is no stored field of ${resource.name}.${cure}`);
      return [];
    }
    const why = isStored ? whyNotStored(column) : undefined;
    if (why)
      refuse(
        `"${where}" is stored and computed from "${each}", ${why}. Leave that out, or drop "stored: true".`,
      );
    return [column];
  });
  if (wanted.length === 0)
    refuse(`"${where}" is computed from nothing. Name the fields: @computed(from: ["…"])`);
  const allow = faults.allowRules(directives);
  for (const { place, to } of allow)
    if (to.some((action) => action !== 'READ'))
      faults.report(place, `"${where}" is computed: a rule on it can allow READ alone.`);
  const hidden = from.find(canBeHidden);
  if (hidden && required && allow.length === 0)
    faults.at(
      node.type,
      `"${where}" is computed from "${hidden.name}", which some may not read, so it must be nullable. Drop the "!".`,
    );
  if (hidden && allow.length > 0 && !isStored)
    faults.at(
      node,
      `"${where}" has a rule of its own, and is computed from "${hidden.name}", which has one. Store it: @computed(from: […], stored: true), or drop the rule.`,
    );
  if (allow.length > 0 && required && !isStored)
    faults.at(
      node.type,
      `"${where}" has a rule on who may READ it and can be null for the others. Drop its "!".`,
    );
  const column: Column = {
    ...described,
    description: told([described.description, `Computed from ${wanted.join(', ')}.`]),
    kind: 'column',
    stored: storedName(directives, described.name),
    type: withScale(named, node, directives, where, faults),
    list,
    required,
    origin: { by: 'function' },
    constraint: undefined,
    transitions: undefined,
    allow,
    reference: undefined,
    folded: undefined,
    madeOf: from,
  };
  const [unique, index] = [directives.has('unique'), directives.has('index')];
  return { computed: { column, from, compute: undefined }, isStored, unique, index };
}

/** What is kept must not hang on what the record alone does not decide, or not yet. */
function whyNotStored({ origin, reference }: Column): string | undefined {
  if (reference) return 'which is a reference: whoever may not see what it leads to does not see it';
  if (origin.by === 'serial') return 'which a record is given when it is stored';
  if (origin.by === 'updatedAt') return 'which changes with every write';
  return undefined;
}
