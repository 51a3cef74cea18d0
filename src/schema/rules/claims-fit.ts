/** A claim has a name, and sets what is not a key: a key is what the client, or the server, chooses. */

import type { Rule } from './rule.ts';

export const claimsFit: Rule = (model, report) => {
  for (const resource of model.resources)
    for (const column of resource.columns) {
      if (column.origin.by !== 'claim') continue;
      const where = `${resource.name}.${column.reference?.name ?? column.name}`;
      if (column.origin.claim === '')
        report(column.place, `"@set" on "${where}" names no claim. Name one: @set(claim: "sub")`);
      if (column === resource.key)
        report(column.place, `The key "${where}" cannot be set from a claim. Remove "@set".`);
    }
};
