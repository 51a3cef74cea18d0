/** A primary with replicas, which answer the reads that they can: those that must show no more than they have replayed. */

import type { Metrics } from '../../base/metrics.ts';
import type { Soon } from '../../base/soon.ts';
import { currentScope, within } from '../scopes.ts';
import type { Query } from '../statements.ts';
import {
  type Deadline,
  later,
  type Position,
  type Prepared,
  type Program,
  type Replicas,
  type Seen,
  type Steps,
} from '../storage.ts';
import { Replica } from './replica.ts';
import { type PostgresOptions, PostgresStorage } from './storage.ts';

/** For how long reads go to one of several replicas before it is the next one's turn: those of one moment share statements. */
const TURN_MS = 10;
/** How many times the primary is asked where it is, within the time that a replica may be behind. */
const SAMPLES = 4;
/** How far one may be behind for reads that come with a position, where the deployment does not say. */
const STALE_MS = 10_000;

export interface ReplicatedOptions extends PostgresOptions {
  /** One for each replica. */
  readonly replicas: readonly PostgresOptions[];
  /** How many milliseconds a replica may be behind for reads that have seen nothing; null where those go to the primary. */
  readonly staleMs: number | null;
}

export class ReplicatedStorage extends PostgresStorage {
  readonly #all: readonly Replica[];
  readonly #staleMs: number | null;
  /** Where the primary was, and when: whoever has replayed as much is no further behind than that is ago. */
  #samples: { readonly at: number; readonly position: Position }[] = [];
  #sampleAt = Number.NEGATIVE_INFINITY;
  /** Those that the primary has answered. */
  #reads = 0;

  constructor({ replicas, staleMs, ...options }: ReplicatedOptions) {
    super(options);
    this.#staleMs = staleMs;
    this.#all = replicas.map((each) => new Replica(each));
  }

  readonly replicas: Replicas = {
    follow: (tell) => {
      for (const replica of this.#all) replica.follow(tell);
    },
    tell: () => {
      const used = this.#all.filter(({ isUsed }) => isUsed).length;
      const number = `${used} of ${this.#all.length}`;
      return used === 0
        ? `${number} can be used; all reads go to the primary`
        : `${number} can be used; what they cannot show is read from the primary`;
    },
  };

  override prepare(statement: Query): Prepared {
    const primary = super.prepare(statement);
    const prepared = new Map(this.#all.map((replica) => [replica, replica.storage.prepare(statement)]));
    return (value, deadline, seen) => {
      const ask = () => primary(value, deadline);
      if (!seen) return ask();
      return this.#routed(seen, deadline, ask, (replica, shown) => {
        const finds = prepared.get(replica) ?? primary;
        return finds(value, deadline, shown);
      });
    };
  }

  override async read<T>(
    program: () => Program<T>,
    steps: Steps,
    deadline: Deadline,
    seen?: Seen,
  ): Promise<T> {
    const ask = () => super.read(program, steps, deadline);
    if (!seen) return ask();
    return this.#routed(seen, deadline, ask, ({ storage }, shown) =>
      storage.read(program, steps, deadline, shown),
    );
  }

  async #routed<T>(
    seen: Seen,
    deadline: Deadline,
    primary: () => Soon<T>,
    ask: (replica: Replica, seen: Seen) => Soon<T>,
  ): Promise<T> {
    const scope = currentScope();
    const position = this.#positionFor(seen);
    const replica = position === undefined ? undefined : this.#next(position);
    if (replica && position !== undefined)
      try {
        const answer = await ask(replica, { position, written: undefined });
        replica.reads++;
        return answer;
      } catch (error) {
        if (!replica.failed(error, deadline)) throw error;
      }
    this.#reads++;
    return within(scope, primary);
  }

  /** What a replica must have replayed; undefined where only the primary will do. */
  #positionFor({ position, written }: Seen): Position | undefined {
    if (written !== undefined) return later(position, written);
    if (position === undefined && this.#staleMs === null) return undefined;
    // Whoever names an old position asks for old records, and rules that look at records are judged by those: a right that was
    // withdrawn has to end, also where this node cannot ask the primary, and others can.
    const recent = this.#positionAgo(this.#staleMs ?? STALE_MS);
    return recent === undefined ? undefined : later(position, recent);
  }

  /** Where the primary was so many milliseconds ago, or since; undefined where nobody knows. Nobody waits for it either. */
  #positionAgo(staleMs: number): Position | undefined {
    const now = performance.now();
    if (now >= this.#sampleAt) {
      this.#sampleAt = now + staleMs / SAMPLES;
      this.position(now + staleMs).then(
        (position) => this.#samples.push({ at: now, position }),
        // A primary that cannot be asked is away, which writes tell of.
        () => {},
      );
    }
    const recent = this.#samples.findIndex(({ at }) => now - at <= staleMs);
    this.#samples.splice(0, recent === -1 ? this.#samples.length : recent);
    return this.#samples[0]?.position;
  }

  #next(position: Position): Replica | undefined {
    const turn = Math.floor(performance.now() / TURN_MS) % this.#all.length;
    const inOrder = [...this.#all.slice(turn), ...this.#all.slice(0, turn)];
    return inOrder.find((replica) => replica.mayShow(position));
  }

  override tell(metrics: Metrics): void {
    super.tell(metrics);
    const each = (count: (replica: Replica) => number) => () =>
      Object.fromEntries(this.#all.map((replica) => [replica.name, count(replica)]));
    const reads = each((replica) => replica.reads);
    metrics.addEach(
      'counter',
      'duet_database_reads_total',
      'Reads of requests by the server that has answered them.',
      'server',
      () => ({ primary: this.#reads, ...reads() }),
    );
    metrics.addEach(
      'counter',
      'duet_replica_behind_total',
      'Reads that went to the primary because the replica had not replayed what they had to show.',
      'server',
      each((replica) => replica.behind),
    );
    metrics.addEach(
      'gauge',
      'duet_replica_used',
      'Whether the replica can be used (1), or is away (0).',
      'server',
      each(({ isUsed }) => Number(isUsed)),
    );
  }

  override async close(): Promise<void> {
    await Promise.all([super.close(), ...this.#all.map((replica) => replica.close())]);
  }
}
