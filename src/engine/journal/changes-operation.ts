/** What is asked of the changes of records, and what a caller may see of them. */

import type { Fault } from '../../base/errors.ts';
import type { Filter } from '../../query/filter.ts';
import type { Resource } from '../../schema/model.ts';
import type { Guard } from '../policy/guards.ts';
import type { Measured } from '../sizes.ts';

/** What a caller may see of the changes of a type: rules over records as they were. */
export interface ChangeRights {
  /** The records that exist for the caller. */
  readonly seen: Filter;
  /** Those whose past it may read. */
  readonly past: Filter;
  /** Fields that it may never read. */
  readonly hidden: readonly string[];
  readonly guards: readonly Guard[];
}

/** What the answer has of each change. */
export interface Telling {
  /** How often it has what is no record, by its name. */
  readonly fields: ReadonlyMap<string, number>;
  /** The bytes of the names under which it has all of that. */
  readonly names: number;
  /** How often it has the whole record as it was; or what of it. */
  readonly before: number | Measured;
  readonly after: number | Measured;
  /** The bytes that stand for what the caller may not have. */
  readonly refusal: number;
}

/** The changes of each record of an answer. */
export interface OwnChanges extends Pick<ChangesRead, 'after' | 'at' | 'limit' | 'telling'> {
  /** As that of a relation. */
  readonly as: string;
  readonly resource: Resource;
  /** What the caller may see of them, where that is not everything; the policy's to say. */
  readonly rights?: ChangeRights;
}

/** The changes of records whose types keep them, in the order of their commits. */
export interface ChangesRead {
  readonly do: 'changes';
  readonly resources: readonly Resource[];
  /** Of one record alone; its key is undefined when the client's text can name none. */
  readonly record: { readonly key: string | number | undefined } | undefined;
  /** What records are like before or after, of one resource; by their own fields. */
  readonly where: Filter;
  /** The position to go on from, as it was given. */
  readonly after: string | undefined;
  /** Where that stands in the request. */
  readonly at: Pick<Fault, 'parameter' | 'pointer'>;
  readonly limit: number;
  readonly telling: Telling;
  /** What the caller may see of each, where that is not everything; the policy's to say. */
  readonly rights?: ReadonlyMap<Resource, ChangeRights>;
}
