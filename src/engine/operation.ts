/** What both doors turn a request into: a plain value that says everything and does nothing. */

import type { DuetError } from '../base/errors.ts';
import type { Measure } from '../query/aggregates.ts';
import type { Filter } from '../query/filter.ts';
import type { ListQuery } from '../query/list.ts';
import type { GroupQuery } from '../query/results.ts';
import type {
  ActionField,
  Column,
  Computed,
  Inverse,
  Reference,
  Resource,
  Through,
} from '../schema/model.ts';
import type { Row } from '../storage/statements.ts';
import type { Program } from '../storage/storage.ts';
import type { Budget } from './budget.ts';
import type { ChangesRead, OwnChanges } from './journal/changes-operation.ts';
import type { Guard } from './policy/guards.ts';
import type { Rendered } from './sizes.ts';
import type { Changes } from './write/changes.ts';

/** What to answer of a record: its columns, and records related to it. */
export interface Selection {
  readonly columns: readonly Column[];
  readonly relations: readonly Relation[];
  /** What functions make of the columns, whether or not those are answered too. */
  readonly computed?: readonly Computed[] | undefined;
  /** What only some of the records may show; the policy's to say. */
  readonly guards?: readonly Guard[];
  /** What has happened to each record, where its type keeps that. */
  readonly changes?: readonly OwnChanges[] | undefined;
  /** Where that is not each record once, with its fields under their own names. */
  readonly rendered?: Rendered;
}

export interface Relation {
  /** The name in the answer; one relation can be asked for twice under two names. */
  readonly as: string;
  readonly field: Reference | Inverse | Through;
  readonly selection: Selection;
  /** Which records of a list; undefined for a reference. */
  readonly list: ListQuery | undefined;
  /** The records that exist for the caller, where not all do; the policy's to say. */
  readonly seen?: Filter;
  /** The same of the records of a join type. */
  readonly seenLinks?: Filter;
  /** What is wanted of each inverse list besides its records, or in their place. */
  readonly paged?: Paged;
  readonly summary?: Summary;
}

/** The list of each record as a page of its own. */
export interface Paged {
  /** Whether the rows' places in the order are wanted, for cursors. */
  readonly places: boolean;
  /** Whether it is wanted to know if the list goes on beyond the page. */
  readonly more: boolean;
  readonly count: boolean;
  /** What the answer has for the page of the record with this key. */
  readonly complete: (page: Listing, key: unknown) => unknown;
}

/** Numbers about the list of each record. */
export interface Summary {
  readonly aggregate: Aggregate;
  /** How often the answer has them. */
  readonly times: number;
  readonly complete: (rows: readonly Row[]) => unknown;
}

export interface Listing {
  readonly nodes: Row[];
  /** Whether the list goes on beyond this page, in the direction that it was read in. */
  readonly more: boolean;
  readonly total: number | undefined;
}

interface On {
  readonly resource: Resource;
  readonly selection: Selection;
}

interface OnOne extends On {
  /** The canonical key; undefined when the client's text can name no record at all. */
  readonly key: string | number | undefined;
  /** What is wrong with the request itself; whether the record exists is told first. */
  readonly refusal: DuetError | undefined;
  /** The records that exist for the caller, where not all do; the policy's to say. */
  readonly seen?: Filter;
}

interface Guarded {
  /** Refuses to write a record whose version is by now none of these. */
  readonly ifVersion: readonly number[] | undefined;
  /** Refuses to write a record whose version is by now one of these. */
  readonly unlessVersion?: readonly number[] | 'any' | undefined;
}

export type Input = Readonly<Record<string, unknown>>;

export type List = On & {
  readonly do: 'list';
  readonly list: ListQuery;
  /** Whether the rows' places in the order are wanted, for cursors. */
  readonly places: boolean;
  /** Whether all rows are to be counted, whatever the page. */
  readonly count: boolean;
};
/** One row of numbers for each group, or for all records. */
export type Aggregate = GroupQuery & {
  readonly do: 'aggregate';
  readonly resource: Resource;
  readonly where: Filter;
  readonly by: readonly Column[];
  readonly measures: readonly Measure[];
  /** The records that groups are of: references whose keys are among `by`. */
  readonly relations: readonly Relation[];
  /** How often the answer has each value of a row, by its name in the row, and the bytes of all names that it has of a row. */
  readonly rendered?: { readonly times: Readonly<Record<string, number>>; readonly names: number };
};
export type Get = OnOne & { readonly do: 'get' };
/** The door that a request came through: what is closed there cannot be reached through what is open. */
export type Door = 'rest' | 'graphql';

/** New records that are to point to the new one can be nested in its input, under the name of their list. */
export type Create = On & { readonly do: 'create'; readonly input: Input; readonly through: Door };
export type Update = OnOne & Guarded & { readonly do: 'update'; readonly input: Input };
export type Delete = OnOne & Guarded & { readonly do: 'delete' };

/** Writes a record as it was at this version; without one, a deleted record as it was last. */
export type Restore = OnOne & {
  readonly do: 'restore';
  readonly version: number | undefined;
  /** As of other writes, except that a deleted record has none: `any` refuses to write it again. */
  readonly ifVersion: readonly number[] | 'any' | undefined;
  readonly unlessVersion?: Guarded['unlessVersion'];
};

/** Runs a function of the deployment: `ask` only reads. */
export interface Act<Do extends 'act' | 'ask' = 'act' | 'ask'> {
  readonly do: Do;
  readonly action: ActionField;
  readonly args: Input;
  /** What of its answer is wanted. */
  readonly answer: Wanted;
  /**
   * What carries it out, with these arguments, and answers within the budget; the functions' to say. `changes`: where what it
   * writes is noted.
   */
  readonly program?: (args: Input, budget: Budget, changes?: Changes) => Program<unknown>;
}

/** Of records that an action answers with, what to read of them; of a plain type, the same of its fields. */
export type Wanted =
  | { readonly is: 'record'; readonly selection: Selection }
  /** How often the answer has each. */
  | { readonly is: 'value'; readonly times: number }
  | { readonly is: 'object'; readonly times: number; readonly fields: ReadonlyMap<string, Wanted> };

export type Ask = Act<'ask'>;
export type Read = List | Get | Aggregate;
/** Writes on many records; more than `atMost` is an error, and then nothing has happened. */
export type CreateMany = On & {
  readonly do: 'create many';
  readonly inputs: readonly Input[];
  readonly through: Door;
};
export type UpdateMany = On & Many & { readonly do: 'update many'; readonly input: Input };
export type DeleteMany = On & Many & { readonly do: 'delete many' };

/** Changes the record that has the same values in these columns, or creates it. Nothing can be nested in it. */
export type Upsert = On & { readonly do: 'upsert'; readonly by: readonly Column[]; readonly input: Input };
export type UpsertMany = On & {
  readonly do: 'upsert many';
  readonly by: readonly Column[];
  readonly inputs: readonly Input[];
};

interface Many {
  readonly where: Filter;
  readonly atMost: number;
  /** Fewer are an error too. */
  readonly atLeast: number;
  /** Of how many it is known that they matched when they were looked for beforehand; no more than these are in `where` then. */
  readonly found?: number;
}

export type WriteOne = Create | Update | Delete | Upsert | Restore;
/** A write on the records of one resource. */
export type WriteRecords = WriteOne | WriteMany;
export type WriteMany = CreateMany | UpdateMany | DeleteMany | UpsertMany;
export type Write = WriteRecords | Act<'act'>;
export type Operation = Read | Ask | ChangesRead | Write;
