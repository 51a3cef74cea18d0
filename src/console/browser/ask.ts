/** What the console asks of the service, before it is written for one door or the other. */

import type { Action, Resource, Row } from './schema/types.ts';
import type { Where } from './where.ts';

export type Ask = RecordAsk | ActAsk;

/** What is asked of a resource. */
export type RecordAsk =
  | ListAsk
  | GetAsk
  | CreateAsk
  | UpdateAsk
  | DeleteAsk
  | ChangesAsk
  | RestoreAsk
  | ManyAsk;

/** What is done to many records, in one transaction. */
export type ManyAsk = CreateManyAsk | UpdateManyAsk | DeleteManyAsk;

export interface ListAsk {
  readonly do: 'list';
  readonly resource: Resource;
  readonly where: Where | undefined;
  /** Words to look for. */
  readonly search?: string | undefined;
  /** A text to look for in the texts of a type that has no words to search. */
  readonly find?: string | undefined;
  /** `['-pages', 'title']` */
  readonly sort: readonly string[];
  /** Undefined: all of them. */
  readonly limit: number | undefined;
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  /** Which of all records is the first of the page, where somebody has turned to it: cursors do not tell. */
  readonly from?: number | undefined;
  readonly count?: boolean;
  /** Whether to read along what the records refer to. */
  readonly related?: boolean;
  /** Those that are shown, in their order, where somebody has chosen: nothing that the service is asked. */
  readonly columns?: string | undefined;
  /** As a file, which only REST has. */
  readonly as?: FileType;
}

export type FileType = 'text/csv' | 'application/x-ndjson';

export interface GetAsk {
  readonly do: 'get';
  readonly resource: Resource;
  readonly key: unknown;
  /** Whether to read along what it refers to, and the first of those that refer to it; or those that a form can link. */
  readonly related: boolean | 'links';
}

interface CreateAsk {
  readonly do: 'create';
  readonly resource: Resource;
  readonly values: Row;
}

export interface UpdateAsk {
  readonly do: 'update';
  readonly resource: Resource;
  readonly key: unknown;
  readonly changes: Row;
  /** The version that the changes were made to. */
  readonly version: number | undefined;
}

export interface DeleteAsk {
  readonly do: 'delete';
  readonly resource: Resource;
  readonly key: unknown;
  readonly version?: number | undefined;
}

/** What has happened to a record, the first first. */
export interface ChangesAsk {
  readonly do: 'changes';
  readonly resource: Resource;
  readonly key: unknown;
  /** The position of the last that was seen. */
  readonly after: string | undefined;
}

export interface RestoreAsk {
  readonly do: 'restore';
  readonly resource: Resource;
  readonly key: unknown;
  /** Undefined: a deleted record as it was last. */
  readonly version: number | undefined;
}

interface CreateManyAsk {
  readonly do: 'createMany';
  readonly resource: Resource;
  readonly records: readonly Row[];
}

export interface UpdateManyAsk {
  readonly do: 'updateMany';
  readonly resource: Resource;
  readonly where: Where;
  readonly changes: Row;
  /** When more match, nothing happens. */
  readonly atMost: number;
}

export interface DeleteManyAsk {
  readonly do: 'deleteMany';
  readonly resource: Resource;
  readonly where: Where;
  readonly atMost: number;
}

export interface ActAsk {
  readonly do: 'act';
  readonly action: Action;
  readonly values: Row;
}

/** How many of the records that refer to one are shown with it; one more is asked for, to know whether there are more. */
export const SHOWN_INVERSES = 5;
/** How many changes of a record are asked for at a time. */
export const SHOWN_CHANGES = 500;
/** How many records a form shows of a list that it can change. */
export const SHOWN_LINKS = 200;

/** What happened to a record. */
export interface Change {
  readonly position: string;
  readonly at: string;
  readonly kind: 'CREATED' | 'UPDATED' | 'DELETED';
  readonly version: number;
  /** This and what was before are left out for those who may not read the past. */
  readonly caller?: string | null;
  readonly before?: Row | null | undefined;
  readonly after: Row | null;
}

/** What came back, in the values of REST whichever door it came through. */
export interface Answer {
  readonly rows?: readonly Row[];
  readonly row?: Row;
  readonly version?: number | undefined;
  readonly next?: string | undefined;
  readonly previous?: string | undefined;
  readonly total?: number | undefined;
  readonly changes?: readonly Change[];
  /** What an action has answered. */
  readonly value?: unknown;
}

export function isRead(ask: Ask): boolean {
  if (ask.do === 'act') return ask.action.root === 'Query';
  return ask.do === 'list' || ask.do === 'get' || ask.do === 'changes';
}

export function isMany(ask: Ask): ask is ManyAsk {
  return ask.do === 'createMany' || ask.do === 'updateMany' || ask.do === 'deleteMany';
}
