/** Numbers about a running server, as Prometheus reads them: the second listener to observations. */

import type { Observation } from './observe.ts';

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Seconds. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Clients name their operations: beyond this many names, or with longer ones, the rest are `other`. */
const MOST_OPERATIONS = 200;
const LONGEST_NAME = 100;
const MOST_UNTOLD = 500;
/** Other methods come from those who try things out, and do not each need a series. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);

/** What is told of one metric; plain data, so that a process can hand it to another. */
export interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** Suffix of the name, labels, value. */
  readonly samples: readonly (readonly [string, Labels, number])[];
}

interface Cache {
  readonly size: number;
  readonly misses: number;
}

type Labels = Readonly<Record<string, string>>;

export class Metrics {
  readonly #requests = new Map<string, Map<string, Series>>();
  readonly #operations = new Map<string, Map<string, Series>>();
  /** By name. */
  readonly #read = new Map<string, () => Family>();

  readonly #caches = new Map<string, Cache>();
  #untold: Observation[] = [];

  /** Kept for later: many are counted in a fraction of the time that each would take between the rest of its request. */
  readonly observe = (observation: Observation): void => {
    if (observation.event !== 'request' && observation.event !== 'operation') return;
    if (this.#untold.push(observation) >= MOST_UNTOLD) this.#countAll();
  };

  #countAll(): void {
    const all = this.#untold;
    this.#untold = [];
    for (const observation of all) this.#count(observation);
  }

  #count(observation: Observation): void {
    if (observation.event === 'request') {
      const { route, method, status, ms } = observation;
      const known = METHODS.has(method) ? method : 'other';
      seriesOf(this.#requests, route, known).add(status, ms);
    } else if (observation.event === 'operation') {
      const { type, outcome, ms } = observation;
      seriesOf(this.#operations, this.#named(observation.name), type).add(outcome, ms);
    }
  }

  /** Before another application tells of itself: nobody may be asked that is closed. What was counted stays. */
  renew(): void {
    this.#read.clear();
    this.#caches.clear();
    this.#read.set('process_resident_memory_bytes', processMemory);
    this.#read.set('process_cpu_seconds_total', processCpu);
  }

  /** A number that is looked up when somebody asks. */
  add(type: 'counter' | 'gauge', name: string, help: string, value: () => number): void {
    this.#read.set(name, () => ({ name, type, help, samples: [['', {}, value()]] }));
  }

  /** Several of them, which a label tells apart. */
  addEach(
    type: 'counter' | 'gauge',
    name: string,
    help: string,
    label: string,
    values: () => Readonly<Record<string, number>>,
  ): void {
    this.#read.set(name, () => {
      const samples = Object.entries(values()).map(
        ([each, value]) => ['', { [label]: each }, value] as const,
      );
      return { name, type, help, samples };
    });
  }

  /** One that keeps what would have to be made anew. */
  addCache(name: string, cache: Cache): void {
    this.#caches.set(name, cache);
    const each = (of: (cache: Cache) => number) => () =>
      Object.fromEntries([...this.#caches].map(([known, kept]) => [known, of(kept)]));
    const entries = each(({ size }) => size);
    const misses = each((kept) => kept.misses);
    this.addEach('gauge', 'duet_cache_entries', 'What the caches hold.', 'cache', entries);
    this.addEach('counter', 'duet_cache_misses_total', 'How often they did not have it.', 'cache', misses);
  }

  snapshot(): Family[] {
    this.#countAll();
    return [
      ...families('duet_request', 'Requests', 'answered', this.#requests, ['route', 'method', 'status']),
      ...families('duet_graphql_operation', 'GraphQL operations', 'carried out', this.#operations, [
        'operation',
        'type',
        'outcome',
      ]),
      ...[...this.#read.values()].map((read) => read()),
    ];
  }

  #named(name: string | undefined): string {
    if (name === undefined) return 'anonymous';
    if (this.#operations.has(name)) return name;
    return this.#operations.size < MOST_OPERATIONS && name.length <= LONGEST_NAME ? name : 'other';
  }
}

/** The text of one process, or of several that a label tells apart. */
export function render(processes: ReadonlyMap<string | undefined, readonly Family[]>): string {
  const all = [...processes].flatMap(([worker, told]) => told.map((family) => ({ worker, family })));
  return [...Map.groupBy(all, ({ family }) => family.name)]
    .map(([name, same]) => {
      const [first] = same;
      const lines = same.flatMap(({ worker, family }) =>
        family.samples.map(([suffix, labels, value]) => {
          const shown = worker === undefined ? labels : { ...labels, worker };
          return `${name}${suffix}${braced(shown)} ${value}\n`;
        }),
      );
      return `# HELP ${name} ${first?.family.help}\n# TYPE ${name} ${first?.family.type}\n${lines.join('')}`;
    })
    .join('');
}

/** How often, by outcome, and how long. */
class Series {
  readonly outcomes = new Map<string | number, number>();
  readonly buckets = new Float64Array(BUCKETS.length + 1);
  seconds = 0;

  add(outcome: string | number, ms: number): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    const seconds = ms / 1000;
    this.seconds += seconds;
    let bucket = 0;
    while (seconds > (BUCKETS[bucket] ?? Number.POSITIVE_INFINITY)) bucket++;
    this.buckets[bucket] = (this.buckets[bucket] ?? 0) + 1;
  }
}

function seriesOf(all: Map<string, Map<string, Series>>, outer: string, inner: string): Series {
  const same = all.get(outer) ?? new Map<string, Series>();
  const known = same.get(inner);
  if (known) return known;
  const series = new Series();
  all.set(outer, same.set(inner, series));
  return series;
}

function families(
  name: string,
  what: string,
  done: string,
  all: ReadonlyMap<string, ReadonlyMap<string, Series>>,
  [outer, inner, outcome]: readonly [string, string, string],
): Family[] {
  const each = [...all].flatMap(([first, same]) =>
    [...same].map(([second, series]) => ({ labels: { [outer]: first, [inner]: second }, series })),
  );
  return [
    {
      name: `${name}s_total`,
      type: 'counter',
      help: `${what} ${done}.`,
      samples: each.flatMap(({ labels, series }) =>
        [...series.outcomes].map(
          ([said, count]) => ['', { ...labels, [outcome]: String(said) }, count] as const,
        ),
      ),
    },
    {
      name: `${name}_duration_seconds`,
      type: 'histogram',
      help: 'How long they took.',
      samples: each.flatMap(({ labels, series }) => histogram(labels, series)),
    },
  ];
}

function histogram(labels: Labels, { buckets, seconds }: Series): Family['samples'] {
  let count = 0;
  const cumulative = Array.from(buckets, (each, index) => {
    count += each;
    return ['_bucket', { ...labels, le: String(BUCKETS[index] ?? '+Inf') }, count] as const;
  });
  return [...cumulative, ['_sum', labels, seconds], ['_count', labels, count]];
}

/** Label values are our own templates, names of GraphQL and numbers; a path of the schema may still hold anything. */
function braced(labels: Labels): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) =>
      `${name}="${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`,
  );
  return pairs.length > 0 ? `{${pairs.join(',')}}` : '';
}

function processMemory(): Family {
  return {
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    help: 'Resident memory size in bytes.',
    samples: [['', {}, process.memoryUsage.rss()]],
  };
}

function processCpu(): Family {
  const { user, system } = process.cpuUsage();
  return {
    name: 'process_cpu_seconds_total',
    type: 'counter',
    help: 'Total user and system CPU time spent in seconds.',
    samples: [['', {}, (user + system) / 1e6]],
  };
}
