/** A write that is permitted → the program that carries it out. */

import type { Program } from '../../storage/storage.ts';
import type { Budget } from '../budget.ts';
import { inTurns } from '../in-turns.ts';
import type { Act, Write, WriteRecords } from '../operation.ts';
import type { Access } from '../policy/access.ts';
import type { Permitted } from '../policy/permitted.ts';
import type { Node } from '../read/read.ts';
import { mayBeLong } from '../sizes.ts';
import { createMany, deleteMany, updateMany } from './bulk.ts';
import { mayLinkNew } from './links.ts';
import { restore } from './restore.ts';
import { upsert, upsertMany } from './upsert.ts';
import { write } from './write.ts';

/** One node, or those of a write on many. */
export type Written = Node | Node[];

/**
 * The same where its answer is one of several. One record alone is no longer than what was sent once; a thousand of them, or
 * one under many names, are.
 */
export function* performAmong(access: Access, operation: Permitted<Write>, budget: Budget): Program<Written> {
  const written = yield* perform(access, operation, budget);
  if (operation.do === 'act') return written;
  if (!Array.isArray(written)) budget.spend([written], operation.selection);
  yield* shed(operation, Array.isArray(written) ? written : [written]);
  return written;
}

/**
 * Lets go of what is not answered, and so not referred to: of few words, a request would hold long records again and again until
 * its end. What is never long goes with its record.
 */
function* shed({ resource, selection }: Permitted<WriteRecords>, nodes: readonly Node[]): Program<void> {
  const names = resource.columns
    .filter((column) => column !== resource.key && mayBeLong(column) && !selection.columns.includes(column))
    .map(({ name }) => name);
  if (names.length === 0) return;
  yield* inTurns(nodes, (node) => {
    for (const name of names) node[name] = undefined;
  });
}

export function perform(access: Access, operation: Permitted<Write>, budget: Budget): Program<Written> {
  if ('inputs' in operation) {
    budget.expect(operation.inputs.length);
    for (const [index, input] of operation.inputs.entries())
      mayLinkNew(budget, operation.resource, input, [index]);
  }
  if (operation.do === 'create' || operation.do === 'upsert')
    mayLinkNew(budget, operation.resource, operation.input, []);
  switch (operation.do) {
    case 'create many':
      return createMany(access, operation, budget);
    case 'update many':
      return updateMany(access, operation, budget);
    case 'delete many':
      return deleteMany(access, operation, budget);
    case 'upsert':
      return upsert(access, operation, budget);
    case 'upsert many':
      return upsertMany(access, operation, budget);
    case 'restore':
      return restore(access, operation, budget);
    case 'act':
      return carriedOut(access, operation, budget);
    default:
      return write(access, operation, budget);
  }
}

/** Its answer is no record, or was read as records are; it is counted either way. */
function carriedOut(
  { changes }: Access,
  { action, args, program }: Permitted<Act<'act'>>,
  budget: Budget,
): Program<Written> {
  if (!program) throw new Error(`nothing carries out ${action.name}`);
  return program(args, budget, changes) as Program<Written>;
}
