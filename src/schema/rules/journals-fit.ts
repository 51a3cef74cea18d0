/** Only what keeps its changes has a history that a rule could show. */

import type { Rule } from './rule.ts';

export const journalsFit: Rule = (model, report) => {
  for (const { name, journal, allow } of model.resources)
    for (const { place, to } of allow)
      if (to.includes('HISTORY') && !journal)
        report(
          place,
          `The rule on "${name}" allows HISTORY, but ${name} keeps none. Add @journal(keep: "30d") to the type, or take HISTORY out.`,
        );
};
