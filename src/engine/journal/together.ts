/** Changes in one answer with others: it has one position, from which to go on with all of them. */

import { type Fault, validationFailed } from '../../base/errors.ts';
import type { Operation } from '../operation.ts';
import type { Positions } from './positions.ts';
import type { ChangesPage } from './reading.ts';

/**
 * The answers of these operations. Where only the position is asked for, it is the one that all pages have come to. Without it,
 * whoever is told neither a change nor that there is none could not go on: such a page is an error instead.
 */
export function together(
  positions: Positions,
  operations: readonly Operation[],
  answers: readonly unknown[],
): unknown[] {
  const isPage = (index: number) => operations[index]?.do === 'changes';
  const pages = answers.filter((_, index) => isPage(index)) as ChangesPage[];
  const tells = operations.some(isPosition);
  return operations.map((operation, index) => {
    if (operation.do !== 'changes') return answers[index];
    const page = answers[index] as ChangesPage;
    if (isPosition(operation)) return { ...page, position: reachedBy(positions, pages) };
    const isInVain = page.more && page.changes.length === 0;
    return isInVain && !tells ? validationFailed([{ ...operation.at, ...IN_VAIN }]) : page;
  });
}

function isPosition(operation: Operation): boolean {
  return operation.do === 'changes' && operation.limit === 0;
}

/** Who goes on from there with any of them misses nothing, and sees no more of the past. */
function reachedBy(positions: Positions, pages: readonly ChangesPage[]): string {
  const places = pages.flatMap(({ position }) => positions.placeOf(position) ?? []);
  return positions.textOf({
    at: Math.min(...places.map(({ at }) => at)),
    past: Math.max(...places.map(({ past }) => past)),
  });
}

const IN_VAIN: Fault = {
  code: 'CURSOR',
  detail:
    'Of the changes that one answer looks at, none is shown here. Ask for changesPosition beside this field, and go on after that.',
};
