/** New records that come along with the record that they will point to, in its list. */

import type { Inverse, Reference, Resource } from './model.ts';

type Door = 'rest' | 'graphql';

/** Why new records cannot be nested in what this leads to; undefined where they can. */
export function whyNotNested({ owner, name, column }: Reference): string | undefined {
  if (!owner.operations.has('CREATE')) return `${owner.name} does not offer CREATE`;
  // Whoever could choose what it is nested in would choose it.
  if (column.origin.by !== 'client') return `${owner.name}.${name} is set by the server`;
  return undefined;
}

/** The lists that a new record can bring along. */
export function nestable({ inverses }: Resource, through: Door): readonly Inverse[] {
  return inverses.filter(({ target, reference }) => target[through] && !whyNotNested(reference));
}

/** The references that such lists lead back along. */
export function nestedIn({ references }: Resource, through: Door): readonly Reference[] {
  return references.filter((reference) =>
    nestable(reference.target, through).some((inverse) => inverse.reference === reference),
  );
}
