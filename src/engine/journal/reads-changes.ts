/** Whether an operation asks for what has happened to records, which positions are given for first. */

import type { Operation, Selection, Wanted } from '../operation.ts';

export function readsChanges(operation: Operation): boolean {
  if (operation.do === 'changes') return true;
  if (operation.do === 'aggregate') return operation.relations.some(({ selection }) => hasChanges(selection));
  if ('answer' in operation) return wantsChanges(operation.answer);
  return 'selection' in operation && hasChanges(operation.selection);
}

function wantsChanges(wanted: Wanted): boolean {
  if (wanted.is === 'record') return hasChanges(wanted.selection);
  return wanted.is === 'object' && [...wanted.fields.values()].some(wantsChanges);
}

function hasChanges({ changes, relations }: Selection): boolean {
  return changes !== undefined || relations.some(({ selection }) => hasChanges(selection));
}
