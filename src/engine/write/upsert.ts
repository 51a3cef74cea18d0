/** Changes the record that has certain values, or creates it: looked up and locked, then an ordinary update or create. */

import { claimFor } from '../../access/claims.ts';
import { type Fault, pointer, validationFailed } from '../../base/errors.ts';
import { all, equal, type Filter } from '../../query/filter.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { INCREMENTS, withArticle } from '../../schema/names.ts';
import { checkValue, storedColumns } from '../../schema/values.ts';
import { lookup, type Row, type Statement, select } from '../../storage/statements.ts';
import { type Program, run } from '../../storage/storage.ts';
import type { Budget } from '../budget.ts';
import type { Input, Upsert, UpsertMany } from '../operation.ts';
import type { Access } from '../policy/access.ts';
import { mayWrite } from '../policy/judging.ts';
import type { Permitted } from '../policy/permitted.ts';
import { readableWhere } from '../policy/reading.ts';
import { mayGive } from '../policy/writing.ts';
import { type Node, spent } from '../read/read.ts';
import { assigned, needsClaim, ownOf } from './assign.ts';
import { Collision } from './collision.ts';
import { createAll, within } from './create.ts';
import { change } from './update.ts';
import { validCreate } from './validate.ts';
import { attached } from './write.ts';

/** Tells in the answer of an upsert that the record is new. No field begins with `_`. */
export const CREATED = '_created';

const ADDS: Fault = {
  pointer: pointer(INCREMENTS),
  code: 'UNKNOWN',
  detail: `${INCREMENTS} has nothing to add to where the record is new; give the value, or update the record by its key`,
};

type On = Pick<Permitted<Upsert>, 'resource' | 'by'>;

export function upsert(access: Access, operation: Permitted<Upsert>, budget: Budget): Program<Node> {
  return attached(operation.selection, upsertRecord(access, operation, operation.input), budget);
}

/** One after the other: a record can be created by the first, and changed by the next. */
export function* upsertMany(
  access: Access,
  operation: Permitted<UpsertMany>,
  budget: Budget,
): Program<Node[]> {
  const nodes: Node[] = [];
  for (const [index, input] of operation.inputs.entries())
    nodes.push(yield* within([index], upsertRecord(access, operation, input)));
  yield* spent(operation.selection, nodes, budget);
  return nodes;
}

function* upsertRecord(access: Access, { resource, by }: On, input: Input): Program<Node> {
  const named = valuesOf(access, resource, by, input);
  const [[stored] = []] = yield [lookupBy(resource, by, named)];
  const key = stored?.[resource.key.name];
  if (stored && (access.isFree || (yield* isSeen(access, resource, key, having(by, named))))) {
    if (!access.isFree) {
      access.admit(resource, 'UPDATE');
      yield* mayWrite(access, resource, 'UPDATE', [key]);
    }
    return yield* change(access, resource, stored, input, undefined, by);
  }
  mayGive(access, resource, input);
  const record = assigned(access, resource, validCreate(resource, input, ownOf(access, resource)));
  try {
    const [node] = yield* createAll(access, resource, [record], () => []);
    return { ...node, [CREATED]: true };
  } catch (error) {
    // Somebody has created it since it was looked up; one that is there and not seen stays so.
    const isRace = error instanceof Collision && error.columns.length > 0 && !stored;
    throw isRace ? error.lost() : error;
  }
}

function lookupBy(resource: Resource, by: readonly Column[], named: Row): Statement {
  const [column] = by;
  if (column && by.length === 1) return lookup(resource, column, named[column.name], { lock: 'change' });
  return select(resource, storedColumns(resource), having(by, named), { lock: 'change' });
}

function having(by: readonly Column[], named: Row): Filter {
  return all(by.map((column) => equal(column, named[column.name])));
}

/** Whether the caller could have found it by these values: a reference to what it may not see has none. */
function* isSeen(access: Access, resource: Resource, key: unknown, wanted: Filter): Program<boolean> {
  const where = all([equal(resource.key, key), readableWhere(access, resource, wanted)]);
  return (yield* run(select(resource, [resource.key], where))).length > 0;
}

/** What the record is looked up by; what is wrong with it is told with all that is wrong with the rest. */
function valuesOf(access: Access, resource: Resource, by: readonly Column[], input: Input): Row {
  if (Object.hasOwn(input, INCREMENTS)) throw validationFailed([ADDS]);
  const faults: Fault[] = [];
  const values: Row = Object.create(null);
  for (const column of by) {
    const { name, origin } = column;
    // What the server itself gives stands, as in a create.
    const isOurs = origin.by === 'claim' && !(access.isSystem && Object.hasOwn(input, name));
    const given = isOurs
      ? claimFor(column, origin.claim, access.caller.claims)
      : Object.hasOwn(input, name)
        ? input[name]
        : undefined;
    if (isOurs && given == null)
      throw needsClaim(access.caller, `Looking up ${withArticle(resource.singular)}`, origin.claim, name);
    if (given !== null && given !== undefined)
      values[name] = isOurs ? given : checkValue(column, given, faults);
    else {
      const detail = `${name} is required, as the record is looked up by it`;
      faults.push({ pointer: pointer(name), code: 'REQUIRED', detail });
    }
  }
  if (faults.length === 0) return values;
  mayGive(access, resource, input);
  validCreate(resource, input);
  throw validationFailed(faults);
}
