/** The results of a run as Markdown. */

import type { ClientResult } from './client.ts';
import type { Comparison, Effort } from './compare.ts';
import { type Compressed, codings } from './compress.ts';
import { columnNames, columns } from './contenders.ts';
import type { Evolved } from './evolution.ts';
import type { First } from './first.ts';
import type { Table } from './growth.ts';
import type { Guard } from './guard.ts';
import type { JournalResults } from './journal.ts';
import { CONNECTIONS, median } from './load.ts';
import type { LogicResults } from './logic.ts';
import { named } from './machine.ts';
import { type Base, type Million, type Question, questions } from './million.ts';
import type { Overload } from './overload.ts';
import type { Written } from './pgbench.ts';
import type { Pressed } from './process.ts';
import { type Row, rowNames, rows } from './rows.ts';
import { type Results, ratio, verdicts } from './targets.ts';

export const ABSENT = '–';
const thousands = (value: number) => Math.round(value).toLocaleString('en');

export function report(results: Results, { seconds, rounds }: Effort): string {
  const { machine, comparison, million, growth, guard, logic, journal, overload, evolution } = results;
  const { first, written, compressed, client } = results;
  return [
    `${named(machine)}; \`wrk\` with one thread beside the server, ${rounds} interleaved rounds of ${seconds} s.`,
    ...(comparison
      ? [throughput(comparison), latency(comparison), processor(comparison), standings(comparison)]
      : []),
    ...(million ? [markdown(ofMany(million))] : []),
    ...(growth?.tables ?? []).map(markdown),
    ...(first ? [markdown(ofFirst(first))] : []),
    ...(guard ? [markdown(guarded(guard))] : []),
    ...(logic ? [markdown(ofLogic(logic))] : []),
    ...(journal ? [markdown(ofJournal(journal))] : []),
    ...(written ? [markdown(ofWritten(written))] : []),
    ...(compressed ? [markdown(ofCompressed(compressed))] : []),
    ...(client ? [markdown(ofClient(client))] : []),
    ...(overload ? [markdown(overloaded(overload))] : []),
    ...(evolution ? [markdown(served(evolution))] : []),
    markdown(targets(results)),
  ].join('\n\n');
}

export function markdown({ title, head, rows: lines, note }: Table): string {
  const texts = [head, ...lines].map((cells) =>
    cells.map((cell) => (typeof cell === 'number' ? thousands(cell) : cell)),
  );
  const widths = head.map((_, at) => Math.max(3, ...texts.map((cells) => cells[at]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, at) => (at === 0 ? (cells[at] ?? '').padEnd(width) : (cells[at] ?? '').padStart(width))).join(' | ')} |`;
  const rule = widths.map((width, at) => (at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  const [first = [], ...rest] = texts;
  return [`### ${title}`, '', line(first), line(rule), ...rest.map(line), ...(note ? ['', note] : [])].join(
    '\n',
  );
}

function byRow(
  comparison: Comparison,
  cell: (outcomes: readonly Pressed[], row: Row) => string,
): (string | number)[][] {
  return rowNames.flatMap((row) => {
    const found = comparison.cells[row];
    if (!found) return [];
    return [
      [
        rows[row].title,
        ...columnNames.map((column) => {
          const outcomes = found[column];
          return outcomes ? cell(outcomes, row) : ABSENT;
        }),
      ],
    ];
  });
}

const heads = ['', ...columnNames.map((name) => columns[name])];

/** The median, and from the worst to the best round. */
function throughput(comparison: Comparison): string {
  const lines = byRow(comparison, (outcomes) => {
    const values = outcomes.map(({ perSecond }) => perSecond);
    return `${thousands(median(values))} (${thousands(Math.min(...values))}–${thousands(Math.max(...values))})`;
  }).map((line, at) => {
    const row = rowNames.filter((name) => comparison.cells[name])[at] ?? 'keyed';
    return [...line, ratio(comparison, row, 'duet', 'limit')?.toFixed(2) ?? ABSENT];
  });
  const missing = comparison.absent.map(({ column, why }) => `${columns[column]} is missing: ${why}.`);
  return markdown({
    title: `Requests/s, ${CONNECTIONS} connections: median (worst–best round)`,
    head: [...heads, 'Duet : limit'],
    rows: lines,
    note: [
      'Platformatic DB and PostGraphile are on PostgreSQL in every row, json-server on its file, which it rewrites without waiting for the disk. PostGraphile has GraphQL only. The limit answers these requests and nothing else: no validation, versions, limits or log.',
      ...missing,
    ].join(' '),
  });
}

function latency(comparison: Comparison): string {
  const lines = byRow(comparison, (outcomes) => median(outcomes.map(({ p99 }) => p99)).toFixed(1));
  return markdown({ title: `p99 latency, ${CONNECTIONS} connections: ms`, head: heads, rows: lines });
}

function processor(comparison: Comparison): string {
  const lines = byRow(comparison, (outcomes) => {
    const value = median(outcomes.map(({ processor: micros }) => micros));
    return Number.isFinite(value) ? thousands(value) : ABSENT;
  });
  return markdown({
    title: 'Processor time of the server for one request: µs',
    head: heads,
    rows: lines,
    note: 'That of PostgreSQL is not in it. It says the same as requests/s, but a busy machine disturbs it less.',
  });
}

function standings({ standings: found }: Comparison): string {
  return markdown({
    title: 'Start and memory, with this data',
    head: ['', 'start to first answer, ms', 'memory at rest, MB'],
    rows: found.map(({ column, database, firstAnswerMs, memory }) => [
      `${columns[column]}, ${database}`,
      Math.round(firstAnswerMs),
      Math.round(memory),
    ]),
  });
}

function ofMany({ records, found }: Million): Table {
  return {
    title: `${thousands(records)} records: ms for one request after the other`,
    head: ['', 'Duet', 'p99', 'a handler by hand', 'Duet : by hand'],
    rows: (Object.keys(found) as Base[]).flatMap((base) =>
      (Object.keys(questions) as Question[]).map((name) => {
        const { duet, hand, ratio: value, p99 } = found[base][name];
        const title = `${base}: ${questions[name].title}`;
        return [title, duet.toFixed(1), p99.toFixed(1), hand.toFixed(1), value.toFixed(2)];
      }),
    ),
  };
}

function served(steps: readonly Evolved[]): Table {
  return {
    title: `A new directive on ${thousands(steps[0]?.records ?? 0)} records, while clients read and write`,
    head: [
      '',
      'until it is served, s',
      'longest read, ms',
      'longest write, ms',
      'writes turned away, ms',
      'refused',
      'left behind',
    ],
    rows: steps.map(
      ({ database, what, taken, longestRead, longestWrite, turnedAway, refused, leftBehind }) => [
        `${database}: ${what}`,
        taken / 1000,
        longestRead,
        longestWrite,
        turnedAway,
        refused.length,
        leftBehind,
      ],
    ),
    note: 'Writes are turned away from when nodes of the old file may write no longer until the new one serves.',
  };
}

function ofFirst(found: readonly First[]): Table {
  return {
    title: 'The first request after a start: ms',
    head: ['', 'the first', 'the hundredth'],
    rows: found.map(({ database, title, first, hundredth }) => [
      `${database}: ${title}`,
      first.toFixed(1),
      hundredth.toFixed(1),
    ]),
  };
}

function ofWritten(found: readonly Written[]): Table {
  return {
    title: 'Durable writes on PostgreSQL beside `pgbench`: a second',
    head: ['', 'Duet', '`pgbench`', 'Duet : `pgbench`'],
    rows: found.map(({ title, duet, pgbench, share }) => [title, duet, pgbench, share.toFixed(2)]),
    note: '`pgbench` sends one prepared statement for each, over as many connections, and does nothing else.',
  };
}

function ofCompressed(found: readonly Compressed[]): Table {
  return {
    title: 'Compressed answers (`COMPRESS`), SQLite',
    head: ['', 'requests/s', 'processor time, µs', 'bytes of the body'],
    rows: found.flatMap(({ title, found: by }) =>
      codings.map((coding) => {
        const { perSecond, processor: micros, bytes } = by[coding];
        return [`${title}, ${coding}`, perSecond, micros, bytes];
      }),
    ),
  };
}

function ofClient(found: readonly ClientResult[]): Table {
  return {
    title: `The typed client in Bun, ${CONNECTIONS} calls at a time: a second`,
    head: ['', 'typed client', 'plain `fetch`', 'ratio'],
    rows: found.map(({ title, typed, plain, share }) => [title, typed, plain, share.toFixed(2)]),
    note: 'The load is made by one process, which is busier than the server.',
  };
}

function guarded({ open, guarded, share }: Guard): Table {
  return {
    title: 'Keyed reads with authentication and rules',
    head: ['without, requests/s', 'with, requests/s', 'share'],
    rows: [[open, guarded, share.toFixed(3)]],
  };
}

function ofLogic(results: LogicResults): Table {
  const titles = {
    hook: 'create with a plain beforeCreate : without',
    generator: 'beforeCreate that reads and updates : POST /transaction',
    action: 'action of three statements : by hand',
  };
  return {
    title: 'Functions of logic.ts, durable',
    head: ['', 'requests/s', 'of what it is beside', 'ratio', 'ratio of processor time'],
    rows: (['SQLite', 'PostgreSQL'] as const).flatMap((on) =>
      (['hook', 'generator', 'action'] as const).map((name) => {
        const { perSecond, against, share, processor: spent } = results[on][name];
        return [`${on}: ${titles[name]}`, perSecond, against, share.toFixed(2), spent.toFixed(2)];
      }),
    ),
  };
}

function ofJournal(results: JournalResults): Table {
  const delays = ({ p50, p99 }: { readonly p50: number; readonly p99: number }) =>
    `${p50.toFixed(1)} / ${p99.toFixed(1)}`;
  return {
    title: 'The journal, durable',
    head: [
      '',
      'creates/s with @journal',
      'without',
      'ratio',
      'to a listener, p50 / p99 ms',
      'at another process',
      'a live answer',
      'to a crowd',
      'KB of an idle stream',
    ],
    rows: (['SQLite', 'PostgreSQL'] as const).map((on) => {
      const { creates, here, elsewhere, live, crowd, kilobytes } = results[on];
      return [
        `${on}, a crowd of ${crowd.listeners}`,
        creates.perSecond,
        creates.against,
        creates.share.toFixed(2),
        delays(here),
        delays(elsewhere),
        delays(live),
        delays(crowd),
        kilobytes.toFixed(1),
      ];
    }),
  };
}

function overloaded(found: Overload): Table {
  const { peak, offered, completed, refused, normalMs, overloadedP99, recoveryMs } = found;
  return {
    title: 'Overload: ten times the capacity',
    head: [
      'capacity/s',
      'offered/s',
      'completed in time/s',
      'refused/s',
      'latency before, ms',
      'p99 of the completed, ms',
      'back to normal, ms',
    ],
    rows: [
      [
        peak,
        offered,
        completed,
        refused,
        normalMs.toFixed(1),
        overloadedP99.toFixed(0),
        recoveryMs === null ? 'not within 5 s' : recoveryMs,
      ],
    ],
  };
}

function targets(results: Results): Table {
  const found = verdicts(results);
  return {
    title: `Targets: ${found.filter(({ held }) => held).length} of ${found.length} held`,
    head: ['target', 'asked', 'found', 'the limit', 'held'],
    rows: found.map(({ target, asked, found: value, limit = '', held }) => [
      target,
      asked,
      value,
      limit,
      held ? 'yes' : '**no**',
    ]),
  };
}
