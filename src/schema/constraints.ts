/** What @constraint says of a field. */

import { cited } from '../base/errors.ts';
import { readBound } from './decimals.ts';
import type { Applied, AppliedDirectives } from './directives.ts';
import type { Faults } from './draft.ts';
import { whyRefused } from './formats.ts';
import type { Constraint, Enum } from './model.ts';
import type { Scalar } from './scalars.ts';

export function readConstraint(
  directives: AppliedDirectives,
  type: Scalar | Enum,
  where: string,
  faults: Faults,
): Constraint | undefined {
  const applied = directives.get('constraint')?.[0];
  if (!applied) return undefined;
  const given = applied.arguments as { [K in keyof Omit<Constraint, 'pattern'>]?: Constraint[K] } & {
    pattern?: string;
  };
  const pattern = given.pattern === undefined ? undefined : readPattern(given.pattern, applied, faults);
  return {
    minLength: given.minLength,
    maxLength: given.maxLength,
    pattern,
    format: given.format,
    min: readBound('min', given.min, applied, type, where, faults),
    max: readBound('max', given.max, applied, type, where, faults),
  };
}

/** A dangerous pattern is not even kept: the field's own default would be matched against it. */
function readPattern(text: string, applied: Applied, faults: Faults): RegExp | undefined {
  let pattern: RegExp;
  try {
    pattern = new RegExp(text, 'u');
  } catch {
    faults.at(
      applied.node,
      `"${cited(text)}" is not a regular expression (with the u flag). Mend the pattern.`,
    );
    return undefined;
  }
  const why = whyRefused(text, applied.arguments['maxLength'] as number | undefined);
  if (why === undefined) return pattern;
  faults.at(applied.node, `The pattern "${cited(text)}" ${why}`);
  return undefined;
}
