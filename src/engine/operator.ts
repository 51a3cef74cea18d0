/** What operators ask of a running service: its API keys, its jobs, and the schemas that its database has had. */

import { history } from '../storage/own.ts';
import { select } from '../storage/statements.ts';
import { type Deadline, type Program, run, type Storage } from '../storage/storage.ts';
import { ApiKeys } from './api-keys.ts';
import { type Chosen, countJobs, dropJobs, type JobEntry, listJobs, retryJobs } from './jobs/operator.ts';
import type { Changed } from './jobs/portions.ts';

/** More than anybody reads at once. */
const MOST_JOBS = 200;
const MOST_MIGRATIONS = 200;

export interface Migration {
  readonly at: string;
  /** Of the schema file. */
  readonly fingerprint: string;
  /** In words; none where the file changed nothing in the database. */
  readonly steps: readonly string[];
}

export interface JobList {
  readonly waiting: number;
  readonly failed: number;
  /** The oldest first. */
  readonly jobs: readonly JobEntry[];
  /** Whether there are more of them. */
  readonly more: boolean;
}

export class Operator {
  readonly keys: ApiKeys;
  readonly #storage: Storage;
  readonly #patience: number;

  /** `patience` is in milliseconds. */
  constructor(storage: Storage, patience: number) {
    this.keys = new ApiKeys(storage);
    this.#storage = storage;
    this.#patience = patience;
  }

  async jobs(failedOnly: boolean): Promise<JobList> {
    return this.#storage.read(() => listing(failedOnly), 'many', this.#deadline());
  }

  async retry(chosen: Chosen): Promise<Changed> {
    return retryJobs(this.#storage, chosen, this.#deadline());
  }

  async drop(chosen: Chosen): Promise<Changed> {
    return dropJobs(this.#storage, chosen, this.#deadline());
  }

  /** The newest first. */
  async migrations(): Promise<Migration[]> {
    return this.#storage.read(migrations, 'one', this.#deadline());
  }

  #deadline(): Deadline {
    return performance.now() + this.#patience;
  }
}

function* listing(failedOnly: boolean): Program<JobList> {
  // Counted first: where there are so many that this is done elsewhere, so is the rest.
  const counted = yield* countJobs();
  const found = yield* listJobs(failedOnly, MOST_JOBS + 1);
  return { ...counted, jobs: found.slice(0, MOST_JOBS), more: found.length > MOST_JOBS };
}

function* migrations(): Program<Migration[]> {
  const { id, at, fingerprint, steps } = history.column;
  const order = [{ column: id, descending: true }];
  const rows = yield* run(
    select(history, [at, fingerprint, steps], undefined, { order, limit: MOST_MIGRATIONS }),
  );
  return rows.map((row) => ({
    at: String(row['at']),
    fingerprint: String(row['fingerprint']),
    steps: JSON.parse(String(row['steps'])),
  }));
}
