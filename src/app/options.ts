/** What an application is made of. */

import type { Family, Metrics } from '../base/metrics.ts';
import type { Observe } from '../base/observe.ts';
import type { Recent, Told } from '../base/recent.ts';
import type { Tracer } from '../base/tracer.ts';
import type { Config } from '../config/config.ts';
import type { Logic } from '../engine/logic/logic.ts';
import type { Door } from '../graphql/schema.ts';
import type { Trusted } from '../graphql/trusted.ts';
import type { Model } from '../schema/model.ts';
import type { OtherWriters } from '../storage/sqlite/other-writers.ts';
import type { Storage } from '../storage/storage.ts';

export interface AppOptions {
  readonly model: Model;
  /** Undefined when GraphQL is not served. */
  readonly door: Door | undefined;
  readonly storage: Storage;
  readonly observe: Observe;
  /** Those of an application in whose place this one comes; its own otherwise. */
  readonly metrics?: Metrics | undefined;
  /** The same with what operators look at; whoever runs statements tells it of the slow ones. */
  readonly recent?: Recent | undefined;
  /** When the deprecation of a field was first applied, by `Type.field`. */
  readonly deprecatedSince: ReadonlyMap<string, Date>;
  /** The other processes behind the same port. */
  readonly peers?: Peers | undefined;
  /** GraphQL documents that clients can name. */
  readonly trusted?: Trusted | undefined;
  readonly config: Config;
  /** Undefined when nothing is traced. */
  readonly tracer?: Tracer | undefined;
  readonly dev?: Dev | undefined;
  /** Functions that take part in writes. */
  readonly logic?: Logic | undefined;
}

/** What the console of `duet dev` tells of the schema file that is being worked on. */
export interface Dev {
  /** What is wrong with it: then an earlier one is served, if there was one. */
  faults: readonly string[];
  /** How often it was taken up; 0 where it could not be yet. */
  loads: number;
}

/** Several processes that answer for each other. */
export interface Peers {
  /** Lets the others ask this process. */
  offer(own: Offer): void;
  /** Those of them that write to the same file of SQLite. */
  readonly writers: OtherWriters;
  /** What all of them tell, by the name of their process. */
  collect<About extends keyof Offer>(about: About): Promise<ReadonlyMap<string, ReturnType<Offer[About]>>>;
}

/** What a process tells of itself; plain data. */
export interface Offer {
  readonly metrics: () => readonly Family[];
  readonly recent: () => Told;
}
