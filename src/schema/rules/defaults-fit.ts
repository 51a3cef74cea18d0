/** A default is a value that a client could have given. */

import type { Fault } from '../../base/errors.ts';
import { checkValue } from '../values.ts';
import type { Rule } from './rule.ts';

export const defaultsFit: Rule = (model, report) => {
  for (const resource of model.resources)
    for (const column of resource.columns) {
      if (!('default' in column.origin) || column.origin.default === undefined) continue;
      const where = `${resource.name}.${column.name}`;
      if (column === resource.key)
        report(column.place, `The key "${where}" cannot have a default. Remove it.`);
      const faults: Fault[] = [];
      checkValue(column, column.origin.default, faults);
      for (const { detail } of faults)
        report(column.place, `The default of "${where}" does not fit: ${detail}. Mend the value.`);
    }
};
