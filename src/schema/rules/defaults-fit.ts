/** A default is a value that a client could have given. */

import type { Fault } from '../../base/errors.ts';
import { columnsOfActions } from '../actions.ts';
import { checkValue } from '../values.ts';
import type { Rule } from './rule.ts';

export const defaultsFit: Rule = (model, report) => {
  for (const resource of model.resources)
    if ('default' in resource.key.origin && resource.key.origin.default !== undefined)
      report(
        resource.key.place,
        `The key "${resource.name}.${resource.key.name}" cannot have a default. Remove it.`,
      );
  for (const [owner, columns] of [
    ...model.resources.map(({ name, columns: own }) => [name, own] as const),
    ...columnsOfActions(model.actions),
  ])
    for (const column of columns) {
      if (!('default' in column.origin) || column.origin.default === undefined) continue;
      const faults: Fault[] = [];
      checkValue(column, column.origin.default, faults);
      for (const { detail } of faults)
        report(
          column.place,
          `The default of "${owner}.${column.name}" does not fit: ${detail}. Mend the value.`,
        );
    }
};
