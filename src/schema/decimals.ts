/** What the file says of exact numbers: how many digits a Decimal has, and the bounds of a constraint to the last of them. */

import type { FieldDefinitionNode } from 'graphql';
import type { Applied, AppliedDirectives } from './directives.ts';
import type { Faults } from './draft.ts';
import { MOST_SCALE } from './exact.ts';
import type { Bound, Enum } from './model.ts';
import { decimals, type Scalar } from './scalars.ts';
import { isScalar } from './values.ts';

/** A Decimal is one of a scale; where that is missing or wrong, any will do to go on with. */
export function withScale(
  type: Scalar | Enum,
  node: FieldDefinitionNode,
  directives: AppliedDirectives,
  where: string,
  faults: Faults,
): Scalar | Enum {
  const applied = directives.get('decimal')?.[0];
  if (type !== decimals[0]) {
    if (applied) faults.at(applied.node, `"@decimal" on "${where}" needs a Decimal field. Remove it.`);
    return type;
  }
  const scale = applied?.arguments['scale'];
  // An argument that does not fit its type was reported already.
  if (scale === undefined && !node.directives?.some((each) => each.name.value === 'decimal'))
    faults.at(
      node.type,
      `"${where}" is a Decimal, and nothing says how many digits it has behind the point. Add, for two: @decimal(scale: 2)`,
    );
  const found = scale === undefined ? type : decimals[Number(scale)];
  if (applied && !found)
    faults.at(
      applied.node,
      `The scale of "${where}" must be 0 to ${MOST_SCALE}, not ${scale}. Give the digits behind the point, such as 2 for cents.`,
    );
  return found ?? type;
}

/** The bound of an exact number is read from its digits, because a float has lost some of them. */
export function readBound(
  name: 'min' | 'max',
  given: Bound | undefined,
  { node }: Applied,
  type: Scalar | Enum,
  where: string,
  faults: Faults,
): Bound | undefined {
  if (given === undefined || !isScalar(type) || type.is !== 'exact') return given;
  const written = node.arguments?.find((argument) => argument.name.value === name)?.value;
  const digits = written && 'value' in written ? String(written.value) : '';
  const misfits: string[] = [];
  const bound = type.check(digits, (_, detail) => misfits.push(detail));
  for (const detail of misfits)
    faults.at(node, `"${name}" on "${where}" ${detail}. Write out its digits, without an exponent.`);
  return misfits.length === 0 ? String(bound) : undefined;
}
