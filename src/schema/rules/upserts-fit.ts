/** The names of what records can be looked up by tell one set of fields from another. */

import { upsertNames } from '../upserts.ts';
import type { Rule } from './rule.ts';

export const upsertsFit: Rule = (model, report) => {
  for (const resource of model.resources) {
    const known = new Map<string, string>();
    for (const { name, columns } of upsertNames(resource)) {
      const own = columns.map((column) => column.name).join(', ');
      const other = known.get(name);
      if (other !== undefined && other !== own)
        report(
          resource.place,
          `${resource.name} can be looked up by "${name}" in two ways: by ${other}, and by ${own}. Rename a field.`,
        );
      known.set(name, own);
    }
  }
};
