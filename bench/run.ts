/** `npm run bench`: the comparison, growth and overload in one run; all of it, or what is named. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientBench } from './client.ts';
import { compare, type Effort } from './compare.ts';
import { compressBench } from './compress.ts';
import { installPeers } from './contenders.ts';
import { evolution } from './evolution.ts';
import { firstBench } from './first.ts';
import { growth } from './growth.ts';
import { guard } from './guard.ts';
import { journalBench } from './journal.ts';
import { requireWrk } from './load.ts';
import { logicBench } from './logic.ts';
import { thisMachine } from './machine.ts';
import { million } from './million.ts';
import { overload } from './overload.ts';
import { pgbenchBench } from './pgbench.ts';
import { Databases } from './postgres.ts';
import { markdown, report } from './report.ts';
import { keep, publish } from './results.ts';
import { rowNames } from './rows.ts';
import type { Results } from './targets.ts';
import { versus } from './versus.ts';

const parts = [
  ...rowNames,
  'million',
  'growth',
  'first',
  'guard',
  'logic',
  'journal',
  'pgbench',
  'compress',
  'client',
  'overload',
  'evolution',
];
const flags = ['--quick', '--alone'];

function refuse(message: string): never {
  console.error(`bench: ${message}`);
  process.exit(2);
}

function whole(name: string, otherwise: number): number {
  const text = process.env[name] ?? String(otherwise);
  return /^[1-9]\d*$/.test(text)
    ? Number(text)
    : refuse(`${name} must be a whole number from 1, not "${text}"`);
}

const args = process.argv.slice(2);
if (args[0] === 'publish') {
  publish();
  process.exit();
}
if (args[0] === 'versus' && args.length === 1)
  refuse('name the commit: npm run bench -- versus main~3 keyed create');
const against = args[0] === 'versus' ? args.splice(0, 2)[1] : undefined;
const [quick, alone] = flags.map((flag) => args.includes(flag)) as [boolean, boolean];
const named = args.filter((word) => !flags.includes(word));
const unknown = named.find((word) => !parts.includes(word));
if (unknown !== undefined)
  refuse(
    `there is no "${unknown}". What can be named: ${parts.join(', ')}; --quick is a short check of it, --alone leaves the peers out`,
  );
const effort: Effort = {
  seconds: whole('BENCH_SECONDS', quick ? 1 : 3),
  rounds: whole('BENCH_ROUNDS', quick ? 1 : 5),
  quick,
  alone,
};
const wanted = (part: string) => named.length === 0 || named.includes(part);

requireWrk();
if (!alone && against === undefined) await installPeers();
const databases = await Databases.start();
const folder = mkdtempSync(join(tmpdir(), 'duet-bench-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));
try {
  const asked = rowNames.filter(wanted);
  if (against !== undefined) {
    console.log(markdown(await versus(against, asked, effort, folder, databases)));
    process.exit();
  }
  const written = wanted('pgbench') ? await pgbenchBench(effort, folder, databases) : undefined;
  const results: Results = {
    machine: thisMachine(),
    ...(asked.length > 0 && { comparison: await compare(asked, effort, folder, databases) }),
    ...(wanted('million') && { million: await million(effort, folder, databases) }),
    ...(wanted('growth') && { growth: await growth({ effort, folder, databases }) }),
    ...(wanted('first') && { first: await firstBench(effort, folder, databases) }),
    ...(wanted('guard') && { guard: await guard(effort, folder, databases) }),
    ...(wanted('logic') && { logic: await logicBench(effort, folder, databases) }),
    ...(wanted('journal') && { journal: await journalBench(effort, folder, databases) }),
    ...(written && { written }),
    ...(wanted('compress') && { compressed: await compressBench(effort, folder, databases) }),
    ...(wanted('client') && { client: await clientBench(effort, folder, databases) }),
    // Only where it is named, as it takes half an hour.
    ...(named.includes('evolution') && { evolution: await evolution(quick, folder, databases) }),
    ...(wanted('overload') && { overload: await overload(folder, databases, quick) }),
  };
  const text = report(results, effort);
  console.log(text);
  // Results are what the README shows: only of whole runs.
  if (named.length === 0 && !quick && !alone && results.comparison) {
    keep({ effort, ...results });
    publish();
  }
} finally {
  await databases.end();
}
