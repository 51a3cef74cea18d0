/** What the service is doing right now: rates, latencies and errors, by route and by GraphQL operation. */

import { signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { milliseconds } from '../../amounts.ts';
import { restFault } from '../../doors/rest.ts';
import { exchange } from '../../doors/send.ts';
import { type Fault, isAway, type Wire } from '../../doors/wire.ts';
import {
  type Flow,
  flows,
  operations,
  type Reading,
  readMetrics,
  requests,
  type Source,
} from '../../metrics.ts';
import { isGone } from '../../presence.ts';
import { token } from '../../session.ts';
import { useDock } from '../dock.tsx';
import { shade, useLook } from '../edges.ts';
import { Heading } from '../heading.tsx';
import { Empty, FaultNotice, SignIn } from '../parts.tsx';
import { type Line, Plot } from '../plot.tsx';

const EVERY_MS = 2000;
/** Two minutes are kept, so that a plot has something to show when one comes back to it. */
const KEPT = 60;
/** How far back the numbers in a row reach. */
const SPAN = 15;

const metrics: Wire = { door: 'rest', method: 'GET', path: '/metrics', headers: {} };

/** What changes by itself can be stopped, to be read. */
const isPaused = signal(false);

const readings = signal<readonly Reading[]>([]);
/** All requests, whichever their route. */
const everything: Source = { ...requests, nameOf: () => 'all' };

export function Metrics() {
  const fault = useSignal<Fault | undefined>(undefined);
  useDock([{ title: 'Metrics', wires: { rest: metrics } }]);
  useEffect(() => {
    if (isPaused.value) return;
    let current = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async () => {
      try {
        const told = await reading();
        if (!current) return;
        fault.value = undefined;
        readings.value = [...readings.value, told].slice(-KEPT);
      } catch (error) {
        if (!current) return;
        fault.value = error as Fault;
        // Who is asking does not change by asking again.
        if (!isAway(fault.value)) return;
      }
      timer = setTimeout(read, fault.value ? 5 * EVERY_MS : EVERY_MS);
    };
    read();
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [token.value, isPaused.value]);
  return (
    <>
      <Heading
        title="Metrics"
        about="Read from `/metrics` every two seconds, without pages of operators. Plots: two minutes; numbers: 30 seconds. p95: 95 of 100 took no longer. By route, whole requests; by operation, the execution alone; both estimated. Refused: 4xx; errors: 5xx."
      >
        {(!fault.value || isAway(fault.value)) && (
          <button
            type="button"
            onClick={() => {
              isPaused.value = !isPaused.value;
            }}
          >
            {isPaused.value ? 'Go on' : 'Pause'}
          </button>
        )}
      </Heading>
      {fault.value?.status === 401 ? (
        <FaultNotice fault={fault.value} />
      ) : fault.value && !isAway(fault.value) ? (
        <Empty icon="pulse" title="There are no metrics to show">
          {fault.value.message}
          {fault.value.status === 403 && <SignIn />}
        </Empty>
      ) : (
        <>
          {fault.value && !isGone.value && <FaultNotice fault={fault.value} />}
          <Summary />
          <Flows title="By route" source={requests} />
          <Flows title="By GraphQL operation" source={operations} />
        </>
      )}
    </>
  );
}

async function reading(): Promise<Reading> {
  const response = await exchange(metrics);
  if (!response.ok) throw await restFault(response);
  return { at: performance.now(), samples: readMetrics(await response.text()) };
}

/** What happened lately, and in each step before, busiest first. */
function observed(source: Source): { now: Flow[]; steps: ReadonlyMap<string, Flow>[] } {
  const all = readings.value;
  const last = all.at(-1);
  const before = all[Math.max(0, all.length - 1 - SPAN)];
  const now = last && before && before !== last ? flows(source, before, last) : [];
  const steps = all
    .slice(1)
    .map(
      (reading, at) => new Map(flows(source, all[at] ?? reading, reading).map((flow) => [flow.name, flow])),
    );
  return {
    now: now.toSorted((one, other) => other.perSecond - one.perSecond || one.name.localeCompare(other.name)),
    steps,
  };
}

function Summary() {
  const { now, steps } = observed(everything);
  const [all] = now;
  const past = steps.map((step) => step.get('all'));
  // Plots of nothing would say less.
  if (!all || !past.some((flow) => flow?.perSecond))
    return (
      <p class="quiet">
        {readings.value.length < 2
          ? 'Waiting for the second reading…'
          : 'No requests while this page has watched.'}
      </p>
    );
  const measured: Values = (of) => past.map((flow) => flow && of(flow));
  const values: Values = (of) => measured(of).map((value = 0) => value);
  return (
    <div class="cards figures">
      <Figure title="Requests per second" figures={[['', rate(all.perSecond)]]}>
        <Plot
          large
          label="Requests per second"
          written={rate}
          lines={[{ look: 'first', values: values((flow) => flow.perSecond) }]}
        />
      </Figure>
      <Figure
        title="Latency"
        figures={[
          ['p50', latency(all.p50)],
          ['p95', latency(all.p95)],
          ['p99', latency(all.p99)],
        ]}
      >
        <Plot
          large
          label="Latency: p50, p95 and p99"
          written={milliseconds}
          lines={[
            { look: 'third', values: measured((flow) => flow.p99) },
            { look: 'second', values: measured((flow) => flow.p95) },
            { look: 'first', values: measured((flow) => flow.p50) },
          ]}
        />
      </Figure>
      <Figure
        title="Errors and refused, per second"
        figures={[
          ['errors', rate(all.errorsPerSecond)],
          ['refused', rate(all.refusedPerSecond)],
        ]}
        looks={['bad', 'look2']}
      >
        <Plot large label="Errors and refused requests per second" written={rate} lines={failures(values)} />
      </Figure>
    </div>
  );
}

type Values = (of: (flow: Flow) => number | undefined) => (number | undefined)[];

/** What there is none of has no line. */
function failures(values: Values): readonly Line[] {
  const lines = [
    { look: 'second', values: values((flow) => flow.refusedPerSecond) },
    { look: 'bad', values: values((flow) => flow.errorsPerSecond) },
  ];
  return lines.filter((line) => line.values.some(Boolean));
}

interface FigureProps {
  title: string;
  figures: readonly (readonly [string, string])[];
  looks?: readonly string[];
  children: ComponentChildren;
}

function Figure({ title, figures, looks = ['', 'look2', 'look3'], children }: FigureProps) {
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      <p class="figure">
        {figures.map(([name, value], at) => (
          <span key={name}>
            {name && <span class={`quiet small ${looks[at]}`}>{name} </span>}
            {value}
          </span>
        ))}
      </p>
      {children}
    </section>
  );
}

function Flows({ title, source }: { title: string; source: Source }) {
  const { now, steps } = observed(source);
  const pastOf = ({ name }: Flow) => steps.map((step) => step.get(name));
  const busy = now.filter((flow) => pastOf(flow).some((step) => step && step.perSecond > 0));
  const idle = now.filter((flow) => !busy.includes(flow)).map(({ name }) => name);
  if (readings.value.length < 2) return null;
  return (
    <section class="inverse" aria-label={title}>
      <h2>{title}</h2>
      {busy.length > 0 && (
        <Live label={`${title}, table`}>
          {busy.map((flow) => (
            <FlowRow key={flow.name} flow={flow} past={pastOf(flow)} />
          ))}
        </Live>
      )}
      {idle.length > 0 && (
        <p class="quiet small names">Not called while this page has watched: {idle.join(', ')}.</p>
      )}
      {now.length === 0 && <p class="quiet">No requests yet.</p>}
    </section>
  );
}

function Live({ label, children }: { label: string; children: ComponentChildren }) {
  const section = useRef<HTMLElement>(null);
  const look = () => shade(section);
  useLook(section, look);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable from the keyboard
    <section ref={section} class="scroll" tabIndex={0} aria-label={label} onScroll={look}>
      <table class="live">
        <thead>
          <tr>
            {HEADS.map(([head, kind]) => (
              <th key={head} scope="col" class={kind}>
                <span class="head">{head}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

const HEADS = [
  ['name', ''],
  ['per second', 'int'],
  ['rate', ''],
  ['p50', 'int'],
  ['p95', 'int'],
  ['p99', 'int'],
  ['latency', ''],
  ['refused/s', 'int'],
  ['errors/s', 'int'],
] as const;

function FlowRow({ flow, past }: { flow: Flow; past: readonly (Flow | undefined)[] }) {
  const { name, perSecond, refusedPerSecond, errorsPerSecond, p50, p95, p99 } = flow;
  const values: Values = (of) => past.map((each) => each && of(each));
  return (
    <tr>
      <th scope="row" class="mono">
        {name}
      </th>
      <td class="int">{rate(perSecond)}</td>
      <td>
        <Plot
          label={`${name}: requests per second`}
          written={rate}
          lines={[{ look: 'first', values: values((each) => each.perSecond) }]}
        />
      </td>
      {[p50, p95, p99].map((value, at) => (
        <td key={at} class="int">
          {latency(value)}
        </td>
      ))}
      <td>
        <Plot
          label={`${name}: latency, 95th percentile`}
          written={milliseconds}
          lines={[{ look: 'first', values: values((each) => each.p95) }]}
        />
      </td>
      <td class="int">{rate(refusedPerSecond)}</td>
      <td class={errorsPerSecond > 0 ? 'int bad' : 'int'}>{rate(errorsPerSecond)}</td>
    </tr>
  );
}

function latency(ms: number | undefined): string {
  return ms === undefined ? '–' : milliseconds(ms);
}

function rate(perSecond: number): string {
  return perSecond >= 100 ? Math.round(perSecond).toLocaleString('en') : perSecond.toFixed(1);
}
