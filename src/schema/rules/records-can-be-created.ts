/** Every required value can come from somewhere, and required references form no circle. */

import type { Resource } from '../model.ts';
import type { Rule } from './rule.ts';

export const recordsCanBeCreated: Rule = (model, report, fills) => {
  for (const resource of model.resources) {
    for (const column of fills(resource.name) ? [] : resource.columns) {
      const { origin } = column;
      if (origin.by !== 'nobody' || !column.required || origin.default !== undefined) continue;
      // Neither a key nor a reference can have a default.
      const cure =
        column.reference || column === resource.key
          ? 'Remove it.'
          : `Add @default, drop the "!", or give ${resource.name} a beforeCreate in logic.ts.`;
      report(
        column.place,
        `"${resource.name}.${column.name}" is required, but @readonly keeps clients from giving it. ${cure}`,
      );
    }
    for (const { name, place, onDelete, required } of resource.references)
      if (onDelete === 'SET_NULL' && required)
        report(
          place,
          `"${resource.name}.${name}" cannot be set to null on delete. Drop the "!", or choose RESTRICT or CASCADE.`,
        );
    const circle = requiredCircle(resource);
    if (circle)
      report(
        circle[0].place,
        `No ${resource.name} could ever be created: it requires itself through ${circle.map(({ owner, name }) => `${owner.name}.${name}`).join(', ')}. Make one of them nullable.`,
      );
  }
};

/** The shortest way back to the resource along required references. */
function requiredCircle(
  start: Resource,
): [Resource['references'][number], ...Resource['references'][number][]] | undefined {
  const seen = new Set<Resource>();
  let paths = start.references
    .filter(({ required }) => required)
    .map((reference) => [reference] as const as [typeof reference, ...(typeof reference)[]]);
  while (paths.length > 0) {
    const longer: typeof paths = [];
    for (const path of paths) {
      const target = path.at(-1)?.target;
      if (target === start) return path;
      if (!target || seen.has(target)) continue;
      seen.add(target);
      for (const reference of target.references) if (reference.required) longer.push([...path, reference]);
    }
    paths = longer;
  }
  return undefined;
}
