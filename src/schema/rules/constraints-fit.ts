/** A constraint speaks of what its field has: lengths of text, sizes of numbers, known formats. */

import { columnsOfActions } from '../actions.ts';
import { formats } from '../formats.ts';
import { didYouMean } from '../suggest.ts';
import { isBelow, isScalar } from '../values.ts';
import type { Rule } from './rule.ts';

export const constraintsFit: Rule = (model, report) => {
  for (const [owner, columns] of [
    ...model.resources.map(({ name, columns: own }) => [name, own] as const),
    ...columnsOfActions(model.actions),
  ])
    for (const { constraint, name, place, type } of columns) {
      if (!constraint) continue;
      const where = `${owner}.${name}`;
      const { minLength, maxLength, pattern, format, min, max } = constraint;
      const is = isScalar(type) ? type.is : 'other';
      for (const [argument, value] of Object.entries({ minLength, maxLength, pattern, format }))
        if (value !== undefined && is !== 'text')
          report(place, `"${argument}" on "${where}" needs a String or ID field. Remove it.`);
      for (const [argument, value] of Object.entries({ min, max }))
        if (value !== undefined && is !== 'number' && is !== 'exact')
          report(place, `"${argument}" on "${where}" needs a field that is a number. Remove it.`);
      if ((minLength ?? 0) < 0 || (maxLength ?? 0) < 0)
        report(place, `The lengths on "${where}" must not be negative.`);
      if ((minLength ?? 0) > (maxLength ?? Number.POSITIVE_INFINITY) || isBelow(max, min))
        report(
          place,
          `Nothing can meet the constraint on "${where}": the least is above the most. Swap them.`,
        );
      if (format !== undefined && !formats.has(format))
        report(
          place,
          `Unknown format "${format}" on "${where}".${didYouMean(format, formats.keys()) || ` There are: ${[...formats.keys()].join(', ')}.`}`,
        );
    }
};
