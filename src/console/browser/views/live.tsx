/** What the service is doing right now: rates, latencies and errors, by route and by GraphQL operation. */

import { signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { authorization } from '../doors/send.ts';
import {
  type Flow,
  flows,
  operations,
  type Reading,
  readMetrics,
  requests,
  type Source,
} from '../metrics.ts';
import type { Schema } from '../schema/types.ts';
import { Empty, milliseconds } from './parts.tsx';

const EVERY_MS = 2000;
/** Two minutes are kept, so that a plot has something to show when one comes back to it. */
const KEPT = 60;
/** How far back the numbers in a row reach. */
const SPAN = 15;

const readings = signal<readonly Reading[]>([]);

export function Live(_: { schema: Schema }) {
  const missing = useSignal('');
  useEffect(() => {
    let current = true;
    const read = async () => {
      const told = await reading();
      if (!current) return;
      if (typeof told === 'string') missing.value = told;
      else {
        missing.value = '';
        readings.value = [...readings.value, told].slice(-KEPT);
      }
    };
    read();
    const timer = setInterval(read, EVERY_MS);
    return () => {
      current = false;
      clearInterval(timer);
    };
  }, []);
  return (
    <>
      <div>
        <h1>Live</h1>
        <p class="quiet">
          From /metrics of the process that answers, every two seconds; the plots show two minutes.
        </p>
      </div>
      {missing.value !== '' ? (
        <Empty title="There are no metrics">{missing.value}</Empty>
      ) : (
        <>
          <Plots title="By route" source={requests} />
          <Plots title="By GraphQL operation" source={operations} />
        </>
      )}
    </>
  );
}

/** The fault as text. */
async function reading(): Promise<Reading | string> {
  const response = await fetch('/metrics', { headers: authorization() }).catch(() => undefined);
  if (!response) return 'The service cannot be reached.';
  if (response.status === 404) return 'This deployment does not serve /metrics.';
  if (!response.ok) return `/metrics answered ${response.status}.`;
  return { at: performance.now(), samples: readMetrics(await response.text()) };
}

function Plots({ title, source }: { title: string; source: Source }) {
  const all = readings.value;
  const last = all.at(-1);
  const before = all[Math.max(0, all.length - 1 - SPAN)];
  const now = last && before && before !== last ? flows(source, before, last) : [];
  const steps = all
    .slice(1)
    .map(
      (reading, at) => new Map(flows(source, all[at] ?? reading, reading).map((flow) => [flow.name, flow])),
    );
  const busy = now.toSorted(
    (one, other) => other.perSecond - one.perSecond || one.name.localeCompare(other.name),
  );
  return (
    <section class="inverse" aria-label={title}>
      <h2>{title}</h2>
      {busy.length === 0 ? (
        <p class="quiet">{all.length < 2 ? 'Listening…' : 'Nothing has been asked yet.'}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable from the keyboard
        <section class="scroll" tabIndex={0} aria-label={`${title}, table`}>
          <table class="live">
            <thead>
              <tr>
                {HEADS.map((head) => (
                  <th key={head} scope="col">
                    <span class={head.endsWith('over time') ? 'sr' : 'head'}>{head}</span>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {busy.map((flow) => (
                <FlowRow key={flow.name} flow={flow} past={steps.map((step) => step.get(flow.name))} />
              ))}
            </tbody>
          </table>
        </section>
      )}
    </section>
  );
}

const HEADS = [
  'what',
  'per second',
  'rate over time',
  'p50',
  'p95',
  'p99',
  'p95 over time',
  'errors/s',
  'errors over time',
];

function FlowRow({ flow, past }: { flow: Flow; past: readonly (Flow | undefined)[] }) {
  const { name, perSecond, errorsPerSecond, p50, p95, p99 } = flow;
  return (
    <tr>
      <th scope="row" class="mono">
        {name}
      </th>
      <td class="int">{rate(perSecond)}</td>
      <td>
        <Spark values={past.map((each) => each?.perSecond ?? 0)} label={`${name}: requests per second`} />
      </td>
      {[p50, p95, p99].map((value, at) => (
        <td key={at} class="int">
          {value === undefined ? <span class="null">–</span> : milliseconds(value)}
        </td>
      ))}
      <td>
        <Spark values={past.map((each) => each?.p95 ?? 0)} label={`${name}: latency, 95th percentile`} />
      </td>
      <td class={errorsPerSecond > 0 ? 'int bad' : 'int'}>{rate(errorsPerSecond)}</td>
      <td>
        <Spark
          values={past.map((each) => each?.errorsPerSecond ?? 0)}
          label={`${name}: errors per second`}
          bad
        />
      </td>
    </tr>
  );
}

function rate(perSecond: number): string {
  return perSecond >= 100 ? Math.round(perSecond).toLocaleString('en') : perSecond.toFixed(1);
}

const WIDTH = 100;
const HEIGHT = 26;

function Spark({ values, label, bad = false }: { values: readonly number[]; label: string; bad?: boolean }) {
  const most = Math.max(...values, 0);
  const step = WIDTH / Math.max(1, KEPT - 2);
  const x = (at: number) => WIDTH - (values.length - 1 - at) * step;
  const y = (value: number) => HEIGHT - 2 - (most === 0 ? 0 : (value / most) * (HEIGHT - 5));
  const points = values.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`);
  return (
    <svg
      class={bad ? 'spark bad' : 'spark'}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={`${label}, at most ${rate(most)}`}
    >
      <path class="floor" d={`M0 ${HEIGHT - 1.5}H${WIDTH}`} />
      {points.length > 1 && <polyline points={points.join(' ')} />}
    </svg>
  );
}
