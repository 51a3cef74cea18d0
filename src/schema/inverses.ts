/** Which list belongs to which reference, and the join type that two lists without one need. */

import type { Draft, Faults } from './draft.ts';
import { type PendingInverse, unwrap } from './fields.ts';
import type { Inverse, Resource } from './model.ts';
import { didYouMean } from './suggest.ts';

/** The same from either side. */
function joinName(owner: Resource, target: Resource): string {
  return [owner, target]
    .toSorted(byPlace)
    .map(({ name }) => name)
    .join('');
}

/** A type with a reference each way, ready to paste. */
export function joinType(owner: Resource, target: Resource, name = joinName(owner, target)): string {
  const [one, other] = [owner, target].toSorted(byPlace) as [Resource, Resource];
  const field = ({ name, singular }: Resource) => `${singular}: ${name}! @onDelete(do: CASCADE)`;
  return `type ${name} @resource @unique(fields: ["${one.singular}", "${other.singular}"]) { id: ID! ${field(one)} ${field(other)} }`;
}

function byPlace(a: Resource, b: Resource): number {
  return a.place.line - b.place.line || a.place.column - b.place.column;
}

/** Finds the reference that points back from the list's items to the list's owner. */
export function resolveInverse(
  { node, directives, owner, target }: PendingInverse,
  lists: readonly PendingInverse[],
  faults: Faults,
): Inverse | undefined {
  const described = faults.described(node, directives);
  const { required } = unwrap(node.type);
  const where = `${owner.name}.${described.name}`;
  const pointing = target.references.filter((reference) => reference.target === owner);
  const names = pointing.map((reference) => reference.name);
  const of = directives.get('inverse')?.[0];
  const wanted = of?.arguments['of'];
  const reference = of ? pointing.find(({ name }) => name === wanted) : pointing[0];
  if (owner.fieldByName.has(described.name)) {
    faults.report(described.place, `"${where}" exists twice. Rename one.`);
    return undefined;
  }
  if (of && !reference) {
    const cure =
      names.length === 0 ? ` Add a reference to ${owner.name} there.` : ` There are: ${names.join(', ')}.`;
    faults.at(
      of.node,
      `${target.name} has no reference "${wanted}" to ${owner.name}.${didYouMean(String(wanted), names) || cure}`,
    );
    return undefined;
  }
  const back = lists.find((list) => list.owner === target && list.target === owner && list.node !== node);
  const through = back?.directives.get('through')?.[0].arguments['type'];
  if (!reference && back && through !== undefined) {
    faults.at(
      node.type,
      `Nothing in ${target.name} points back to ${where}. Lead it through the type that ${target.name}.${back.node.name.value} leads through: @through(type: "${through}")`,
    );
    return undefined;
  }
  if (!reference && back && !owner.references.some((each) => each.target === target)) {
    faults.at(
      node.type,
      `${where} and ${target.name}.${back.node.name.value} point at each other, and nothing stores the pairs. Add @through(type: "${joinName(owner, target)}") to both lists, and a type for the pairs: ${joinType(owner, target)}`,
    );
    return undefined;
  }
  if (!reference) {
    const field = `${owner.singular}: ${owner.name}!`;
    faults.at(
      node.type,
      `Nothing in ${target.name} points back to ${where}. Add a reference to ${target.name}, such as: ${field}`,
    );
    return undefined;
  }
  if (!of && pointing.length > 1) {
    faults.at(
      node.type,
      `Several references point back to ${where}: ${names.join(', ')}. Name one: @inverse(of: "${names[0]}")`,
    );
    return undefined;
  }
  const inverse: Draft<Inverse> = {
    ...described,
    kind: 'inverse',
    target,
    reference,
    required,
    allow: faults.allowRules(directives),
  };
  return inverse;
}
