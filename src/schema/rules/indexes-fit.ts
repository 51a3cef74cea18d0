/** Only values that every database can compare are unique or indexed: no lists and no JSON. */

import { isScalar } from '../values.ts';
import type { Rule } from './rule.ts';

export const indexesFit: Rule = (model, report) => {
  for (const resource of model.resources)
    for (const { columns, place } of [...resource.uniques, ...resource.indexes])
      for (const { name, type, list } of columns)
        if (list || (isScalar(type) && type.stored === 'json'))
          report(
            place,
            `"${resource.name}.${name}" is a list or JSON and cannot be unique or indexed. Take it out.`,
          );
};
