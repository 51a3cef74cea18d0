/** Reads the text that `/metrics` answers (Prometheus text format), and what happened between two readings. */

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Reading {
  /** Milliseconds. */
  readonly at: number;
  readonly samples: readonly Sample[];
}

export function readMetrics(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels, value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/.exec(line) ?? [];
    if (name === undefined || value === undefined || line.startsWith('#')) return [];
    return [
      {
        name,
        labels: readLabels(labels ?? ''),
        value: value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value),
      },
    ];
  });
}

function readLabels(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
  return Object.fromEntries(
    pairs.map(([, name = '', value = '']) => [
      name,
      value.replace(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : c)),
    ]),
  );
}

/** How the requests of one route, or the runs of one operation, went in a span of time. */
export interface Flow {
  readonly name: string;
  readonly perSecond: number;
  /** What the service answered with 4xx: it is for whoever asked to mend. */
  readonly refusedPerSecond: number;
  readonly errorsPerSecond: number;
  /** Milliseconds within which half, and nearly all, were answered; undefined where there were none. */
  readonly p50: number | undefined;
  readonly p95: number | undefined;
  readonly p99: number | undefined;
}

export interface Source {
  readonly total: string;
  readonly buckets: string;
  readonly nameOf: (labels: Sample['labels']) => string;
  readonly isRefused: (labels: Sample['labels']) => boolean;
  readonly isError: (labels: Sample['labels']) => boolean;
}

/** What watches over the service is no use of it: this page asks every two seconds. */
const isWatching = ({ route = '' }: Sample['labels']) =>
  /^\/(healthz|readyz|metrics|_duet\/.*|_console\/.*)$/.test(route);

export const requests: Source = {
  total: 'duet_requests_total',
  buckets: 'duet_request_duration_seconds_bucket',
  nameOf: ({ method, route }) => `${method} ${route === 'none' ? '(no such path)' : route}`,
  isRefused: ({ status }) => status?.[0] === '4',
  isError: ({ status }) => status?.[0] === '5',
};

export const operations: Source = {
  total: 'duet_graphql_operations_total',
  buckets: 'duet_graphql_operation_duration_seconds_bucket',
  nameOf: ({ operation, type }) => `${type} ${operation}`,
  isRefused: () => false,
  isError: ({ outcome }) => outcome === 'error',
};

export function flows(source: Source, before: Reading, after: Reading): Flow[] {
  const seconds = Math.max(0.001, (after.at - before.at) / 1000);
  const grown = growth(before);
  const names = new Set(of(source.total, after).map(({ labels }) => source.nameOf(labels)));
  return [...names].map((name) => {
    const mine = (sample: Sample) => source.nameOf(sample.labels) === name;
    const totals = of(source.total, after).filter(mine);
    const sum = (samples: readonly Sample[]) => samples.reduce((all, sample) => all + grown(sample), 0);
    const buckets = new Map<number, number>();
    for (const sample of of(source.buckets, after).filter(mine)) {
      const le = sample.labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(sample.labels['le']);
      buckets.set(le, (buckets.get(le) ?? 0) + grown(sample));
    }
    const bounds = [...buckets].sort(([one], [other]) => one - other);
    return {
      name,
      perSecond: sum(totals) / seconds,
      refusedPerSecond: sum(totals.filter(({ labels }) => source.isRefused(labels))) / seconds,
      errorsPerSecond: sum(totals.filter(({ labels }) => source.isError(labels))) / seconds,
      p50: quantile(bounds, 0.5),
      p95: quantile(bounds, 0.95),
      p99: quantile(bounds, 0.99),
    };
  });
}

function of(name: string, { samples }: Reading): Sample[] {
  return samples.filter((sample) => sample.name === name && !isWatching(sample.labels));
}

/** A counter that is smaller than before has begun anew. */
function growth(before: Reading): (sample: Sample) => number {
  const earlier = new Map(before.samples.map((sample) => [keyOf(sample), sample.value]));
  return (sample) => {
    const was = earlier.get(keyOf(sample)) ?? 0;
    return sample.value >= was ? sample.value - was : sample.value;
  };
}

function keyOf({ name, labels }: Sample): string {
  return `${name} ${JSON.stringify(labels)}`;
}

/** Within the bucket that holds it, in proportion; in milliseconds. */
function quantile(bounds: readonly (readonly [number, number])[], share: number): number | undefined {
  const total = bounds.at(-1)?.[1] ?? 0;
  if (total <= 0) return undefined;
  const rank = total * share;
  let [low, below] = [0, 0];
  for (const [high, count] of bounds) {
    if (count >= rank) {
      if (high === Number.POSITIVE_INFINITY) return low * 1000;
      const within = count === below ? 1 : (rank - below) / (count - below);
      return (low + (high - low) * within) * 1000;
    }
    [low, below] = [high, count];
  }
  return low * 1000;
}
