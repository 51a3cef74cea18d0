/** What is promised of a run, and whether this one keeps it. */

import type { ClientResult } from './client.ts';
import type { Comparison } from './compare.ts';
import type { Compressed } from './compress.ts';
import { type Column, columns, peerNames } from './contenders.ts';
import type { Evolved } from './evolution.ts';
import type { First } from './first.ts';
import type { Growth } from './growth.ts';
import type { Guard } from './guard.ts';
import type { JournalResults } from './journal.ts';
import { median } from './load.ts';
import type { LogicResults } from './logic.ts';
import type { Architecture, Machine } from './machine.ts';
import { type Base, type Million, type Question, questions } from './million.ts';
import type { Overload } from './overload.ts';
import type { Written } from './pgbench.ts';
import { type Row, rowNames, rows } from './rows.ts';

export interface Results {
  readonly machine: Machine;
  readonly comparison?: Comparison;
  readonly million?: Million;
  readonly growth?: Growth;
  readonly first?: readonly First[];
  readonly guard?: Guard;
  readonly logic?: LogicResults;
  readonly journal?: JournalResults;
  readonly written?: readonly Written[];
  readonly compressed?: readonly Compressed[];
  readonly client?: readonly ClientResult[];
  readonly overload?: Overload;
  readonly evolution?: readonly Evolved[];
}

export interface Verdict {
  readonly target: string;
  readonly asked: string;
  readonly found: string;
  /** What the limit reaches, where that tells how far the target is from what can be had at all. */
  readonly limit?: string;
  readonly held: boolean;
}

/** The same on both: there the handler by hand waits for PostgreSQL as well. */
const onPostgres: Partial<Record<Row, number>> = {
  'pg-keyed': 0.8,
  'pg-list': 0.85,
  'pg-book': 0.8,
  'pg-nested': 0.8,
};
/** Of what a person gets by hand, how much at least. */
export const ofLimit: Readonly<Record<Architecture, Partial<Record<Row, number>>>> = {
  arm64: { keyed: 0.85, list: 0.85, book: 0.85, nested: 0.9, create: 0.85, ...onPostgres },
  'x86-64': { keyed: 0.8, list: 0.8, book: 0.8, nested: 0.85, create: 0.8, ...onPostgres },
};
/** Of what `pgbench` writes, how much at least. */
const OF_PGBENCH = 0.7;
/** How much longer than the hundredth the first request may take. */
const FIRST_MS = 5;
/** Of creates in the same run, how much at least. */
const ofCreates: Partial<Record<Row, number>> = { _inc: 0.8, upsert: 0.7 };
const TIMES_BEST_PEER = 1.7;
const TIMES_GENERATED = 5;
const TIMES_COMMIT_PER_WRITE = 3;
const RARE_P99_MS = 20;
const START_MS: Record<number, number> = { 5: 150, 500: 1000 };
const MEMORY_MB = 120;
/** Of creates with one process, how much two of them do at least. */
const WORKERS_SHARE = 1;
const GUARDED_SHARE = 0.9;
/** Of the journal: creates with it, of those without; milliseconds to a listener, and to each of a crowd; a stream that is idle. */
const JOURNALED_SHARE = { SQLite: 0.6, PostgreSQL: 0.65 };
const TOLD_MS = { SQLite: 5, PostgreSQL: 60 };
const CROWD_MS = 250;
const STREAM_KB = 20;
const HOOK_SHARE = 0.85;
const GENERATOR_TIMES = 1.2;
/** Of the handler by hand; the first may be made up for by so many a second. */
const ACTION_SHARE = { SQLite: 0.6, PostgreSQL: 0.8 };
const ACTIONS = 5_000;
const JOBS = { SQLite: 5_000, PostgreSQL: 3_000 };
const HERE_MS = { SQLite: 10, PostgreSQL: 50 };
const ELSEWHERE_MS = 50;
const OVERLOADED_SHARE = 0.8;
const RECOVERY_MS = 2000;

export function verdicts(results: Results): Verdict[] {
  return [
    ...(results.comparison ? ofComparison(results.comparison, results.machine) : []),
    ...(results.million ? ofMillion(results.million) : []),
    ...(results.growth ? ofGrowth(results.growth) : []),
    ...(results.first ?? []).map(ofFirst),
    ...(results.guard ? ofGuard(results.guard) : []),
    ...(results.logic ? ofLogic(results.logic) : []),
    ...(results.journal ? ofJournal(results.journal) : []),
    ...(results.written ?? []).map(ofWritten),
    ...(results.overload ? ofOverload(results.overload) : []),
  ];
}

/** The median of the ratios of each round: what disturbs a machine disturbs neighbours in a round alike. */
export function ratio({ cells }: Comparison, row: Row, of: Column, to: Column): number | undefined {
  const [above, below] = [cells[row]?.[of], cells[row]?.[to]];
  if (!above || !below) return undefined;
  return median(above.map(({ perSecond }, round) => perSecond / (below[round]?.perSecond ?? Number.NaN)));
}

function ofComparison(comparison: Comparison, { architecture }: Machine): Verdict[] {
  const found: Verdict[] = [];
  const times = (row: Row, target: string, asked: number | undefined, to: Column, isCapped = false) => {
    const value = ratio(comparison, row, 'duet', to);
    if (value === undefined || asked === undefined) return;
    const limit = to === 'limit' ? undefined : ratio(comparison, row, 'limit', to);
    // Nobody can ask for more than is to be had at all.
    const isBeyond = isCapped && limit !== undefined && limit < asked;
    found.push({
      target: `${rows[row].title}: ${target}`,
      asked: `≥ ${asked} ×${isBeyond ? ', if the limit does' : ''}`,
      found: `${value.toFixed(2)} ×`,
      ...(limit !== undefined && { limit: `${limit.toFixed(2)} ×` }),
      held: value >= asked || isBeyond,
    });
  };
  for (const row of rowNames) {
    times(row, 'of the limit', ofLimit[architecture][row], 'limit');
    const best = bestPeer(comparison, row);
    if (best) times(row, `the best peer, ${columns[best]}`, TIMES_BEST_PEER, best);
    for (const peer of ['platformatic', 'postgraphile'] as const)
      times(row, columns[peer], TIMES_GENERATED, peer, true);
    found.push(...latency(comparison, row));
    found.push(...besideCreates(comparison, row));
  }
  times('create', 'Fastify, one commit per write', TIMES_COMMIT_PER_WRITE, 'fastify');
  return found;
}

function besideCreates({ cells }: Comparison, row: Row): Verdict[] {
  const asked = ofCreates[row];
  const [own, creates] = [cells[row]?.duet, cells.create?.duet];
  if (asked === undefined || !own || !creates) return [];
  const rate = (outcomes: typeof own) => median(outcomes.map(({ perSecond }) => perSecond));
  const value = rate(own) / rate(creates);
  return [
    {
      target: `${rows[row].title}: of creates`,
      asked: `≥ ${asked} ×`,
      found: `${value.toFixed(2)} ×`,
      held: value >= asked,
    },
  ];
}

function bestPeer({ cells }: Comparison, row: Row): Column | undefined {
  const rate = (column: Column) => median((cells[row]?.[column] ?? []).map(({ perSecond }) => perSecond));
  const present = peerNames.filter((peer) => cells[row]?.[peer]);
  return present.toSorted((a, b) => rate(b) - rate(a))[0];
}

function latency({ cells }: Comparison, row: Row): Verdict[] {
  const p99 = (column: Column) => {
    const rounds = cells[row]?.[column];
    return rounds && median(rounds.map((outcome) => outcome.p99));
  };
  const own = p99('duet');
  const peers = peerNames.flatMap((peer) => p99(peer) ?? []);
  if (own === undefined || peers.length === 0) return [];
  const best = Math.min(...peers);
  return [
    {
      target: `${rows[row].title}: p99 below every peer's`,
      asked: `< ${best.toFixed(1)} ms`,
      found: `${own.toFixed(1)} ms`,
      held: own < best,
    },
  ];
}

function ofMillion({ found }: Million): Verdict[] {
  return (Object.keys(found) as Base[]).flatMap((base) => {
    const ratios = (Object.keys(questions) as Question[]).map((name) => {
      const { title, most } = questions[name];
      const { ratio: value } = found[base][name];
      return {
        target: `${base}, ${title}: of the time of SQL by hand`,
        asked: `≤ ${most} ×`,
        found: `${value.toFixed(2)} ×`,
        held: value <= most,
      };
    });
    const { p99 } = found[base].rare;
    const rare = `${base}, ${questions.rare.title}: p99`;
    const asked = `< ${RARE_P99_MS} ms`;
    return [...ratios, { target: rare, asked, found: `${p99.toFixed(1)} ms`, held: p99 < RARE_P99_MS }];
  });
}

function ofGrowth({ schemas, creates }: Growth): Verdict[] {
  const starts = schemas.flatMap(({ resources, firstAnswerMs }) => {
    const most = START_MS[resources];
    const found = `${Math.round(firstAnswerMs)} ms`;
    return most === undefined
      ? []
      : [
          {
            target: `start to first answer, ${resources} resources`,
            asked: `< ${most} ms`,
            found,
            held: firstAnswerMs < most,
          },
        ];
  });
  const byWorkers: Verdict = {
    target: 'creates with `WORKERS=2`, of those with one process',
    asked: `≥ ${WORKERS_SHARE} ×`,
    found: `${creates.toFixed(2)} ×`,
    held: creates >= WORKERS_SHARE,
  };
  const [smallest] = schemas;
  if (!smallest) return [...starts, byWorkers];
  const held = smallest.memory < MEMORY_MB;
  const found = `${Math.round(smallest.memory)} MB`;
  return [
    ...starts,
    { target: 'resident memory at rest', asked: `< ${MEMORY_MB} MB`, found, held },
    byWorkers,
  ];
}

function ofFirst({ database, title, first, hundredth }: First): Verdict {
  const more = first - hundredth;
  return {
    target: `${database}, ${title}: the first after a start, more than the hundredth`,
    asked: `≤ ${FIRST_MS} ms`,
    found: `${more.toFixed(1)} ms`,
    held: more <= FIRST_MS,
  };
}

function ofWritten({ title, share }: Written): Verdict {
  return {
    target: `PostgreSQL: durable ${title}, of those of pgbench`,
    asked: `≥ ${OF_PGBENCH} ×`,
    found: `${share.toFixed(2)} ×`,
    held: share >= OF_PGBENCH,
  };
}

function ofGuard({ share }: Guard): Verdict[] {
  return [
    {
      target: 'authentication and rules: keyed reads, of those without',
      asked: `> ${GUARDED_SHARE * 100} %`,
      found: `${(share * 100).toFixed(1)} %`,
      held: share > GUARDED_SHARE,
    },
  ];
}

function ofLogic(results: LogicResults): Verdict[] {
  return (['SQLite', 'PostgreSQL'] as const).flatMap((on) => {
    const { hook, generator, action, jobs, here, elsewhere } = results[on];
    const rate = (value: number) => `${Math.round(value)}/s`;
    const times = 1 / generator.share;
    const share = ACTION_SHARE[on];
    const verdict = (target: string, asked: string, found: string, held: boolean): Verdict => ({
      target: `${on}: ${target}`,
      asked,
      found,
      held,
    });
    return [
      verdict(
        'creates with a plain beforeCreate, of those without',
        `≥ ${HOOK_SHARE} ×`,
        `${hook.share.toFixed(2)} ×`,
        hook.share >= HOOK_SHARE,
      ),
      verdict(
        'a generator that reads and updates: of the time of the same statements by POST /transaction',
        `≤ ${GENERATOR_TIMES} ×`,
        `${times.toFixed(2)} ×`,
        times <= GENERATOR_TIMES,
      ),
      verdict(
        'an action of three statements: of the handler by hand',
        on === 'SQLite' ? `≥ ${share} ×, or ${ACTIONS}/s` : `≥ ${share} ×`,
        `${action.share.toFixed(2)} ×, ${rate(action.perSecond)}`,
        action.share >= share || (on === 'SQLite' && action.perSecond >= ACTIONS),
      ),
      verdict('jobs', `≥ ${JOBS[on]}/s`, rate(jobs), jobs >= JOBS[on]),
      verdict(
        'from the answer to a write to the start of its job, p50',
        `< ${HERE_MS[on]} ms`,
        `${here.toFixed(1)} ms`,
        here < HERE_MS[on],
      ),
      verdict(
        'the same in another process, while the writer has no hands left',
        `< ${ELSEWHERE_MS} ms`,
        `${elsewhere.toFixed(1)} ms`,
        elsewhere < ELSEWHERE_MS,
      ),
    ];
  });
}

function ofJournal(results: JournalResults): Verdict[] {
  return (['SQLite', 'PostgreSQL'] as const).flatMap((on) => {
    const { creates, here, elsewhere, crowd, kilobytes } = results[on];
    const below = (target: string, most: number, unit: string, found: number): Verdict => ({
      target: `${on}: ${target}`,
      asked: `< ${most} ${unit}`,
      found: `${found.toFixed(1)} ${unit}`,
      held: found < most,
    });
    return [
      {
        target: `${on}: durable creates with @journal, of those without`,
        asked: `≥ ${JOURNALED_SHARE[on]} ×`,
        found: `${creates.share.toFixed(2)} ×`,
        held: creates.share >= JOURNALED_SHARE[on],
      },
      below('from the answer to a write to a listener, p50', TOLD_MS[on], 'ms', here.p50),
      // On SQLite it is the process that writes which tells at once.
      ...(on === 'PostgreSQL'
        ? [below('the same at another process, p50', TOLD_MS[on], 'ms', elsewhere.p50)]
        : []),
      below(`${crowd.listeners} listeners of one type at 100 writes/s, p99`, CROWD_MS, 'ms', crowd.p99),
      below('an idle stream', STREAM_KB, 'KB', kilobytes),
    ];
  });
}

function ofOverload({ peak, completed, recoveryMs }: Overload): Verdict[] {
  const share = completed / peak;
  return [
    {
      target: 'ten times the capacity: completed, of the peak',
      asked: `≥ ${OVERLOADED_SHARE * 100} %`,
      found: `${Math.round(share * 100)} %`,
      held: share >= OVERLOADED_SHARE,
    },
    {
      target: 'latency back to normal after it',
      asked: `≤ ${RECOVERY_MS} ms`,
      found: recoveryMs === null ? 'not within 5 s' : `${recoveryMs} ms`,
      held: recoveryMs !== null && recoveryMs <= RECOVERY_MS,
    },
  ];
}
