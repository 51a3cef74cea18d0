/** `npm run bench -- versus <commit>`: this code beside that of a commit, at the same time and on the same core. */

import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Effort } from './compare.ts';
import { deployments } from './contenders.ts';
import { fillFile } from './data.ts';
import { startOf } from './duet.ts';
import type { Table } from './growth.ts';
import { median } from './load.ts';
import type { Databases } from './postgres.ts';
import { type Pressed, Process } from './process.ts';
import { type Row, rows } from './rows.ts';

const project = join(import.meta.dir, '..');
/** Both servers share the first core, so that each is disturbed by whatever disturbs the other; the load has the second. */
const [SERVERS, LOAD] = ['0', '1'];

function run(command: readonly string[], cwd: string): void {
  const { exitCode, stderr } = Bun.spawnSync([...command], { cwd, stdout: 'ignore', stderr: 'pipe' });
  if (exitCode !== 0) throw new Error(`${command.join(' ')} ends with ${exitCode}:\n${stderr}`);
}

/** The sources of a commit with the packages of this one, bundled as they were then. */
function checkout(commit: string, folder: string): string {
  const target = join(folder, 'base');
  mkdirSync(target);
  run(['sh', '-c', `git archive "$1" | tar -x -C "$2"`, 'sh', commit, target], project);
  symlinkSync(join(project, 'node_modules'), join(target, 'node_modules'));
  run(['npm', 'run', 'bundle'], target);
  return target;
}

/** What one pair came to in a round: how the other stands to the base. */
interface Ratios {
  /** Processor time for a request, of that of the base. */
  readonly processor: number;
  /** Requests in the same time, of those of the base. */
  readonly requests: number;
}

const ratios = (base: Pressed, other: Pressed): Ratios => ({
  processor: other.processor / base.processor,
  requests: other.perSecond / base.perSecond,
});

/** The base is measured twice, against this code and against itself: what differs in the second is noise. */
export async function versus(
  commit: string,
  asked: readonly Row[],
  { seconds, rounds }: Effort,
  folder: string,
  databases: Databases,
): Promise<Table> {
  const base = startOf(checkout(commit, folder));
  const file = join(folder, 'data.json');
  fillFile(file);
  const lines: string[][] = [];
  // One of them at a time, for each that runs takes from the others what they have in the caches of the core.
  for (const database of ['SQLite', 'PostgreSQL'] as const) {
    if (!asked.some((row) => rows[row].database === database)) continue;
    const running: Process[] = [];
    try {
      const start = async (program: string) => {
        const all = await deployments({ folder, file, databases, program });
        const { command, asks } = all[database];
        const process = await Process.start(
          { ...command, run: ['taskset', '-c', SERVERS, ...command.run] },
          databases,
        );
        running.push(process);
        return { process, asks };
      };
      const [one, control, other] = [await start(base), await start(base), await start(startOf(project))];
      await databases.analyze();
      const found = new Map(asked.map((row) => [row, { other: [] as Ratios[], control: [] as Ratios[] }]));
      // Rows take turns, as requests do: code that is quick for one kind alone is not what people get.
      for (let round = 0; round <= rounds; round++)
        for (const [row, outcomes] of found)
          for (const name of round % 2 === 0
            ? (['other', 'control'] as const)
            : (['control', 'other'] as const)) {
            const ask = one.asks[row];
            if (!ask) continue;
            const second = name === 'other' ? other : control;
            const [mine, theirs] = await Promise.all(
              [one, second].map(({ process }) => process.press(ask, { seconds, core: LOAD })),
            );
            // The first round only warms up.
            if (round > 0 && mine && theirs) outcomes[name].push(ratios(mine, theirs));
          }
      for (const [row, outcomes] of found)
        if (outcomes.other.length > 0)
          lines.push([
            rows[row].title,
            ...(['processor', 'requests'] as const).flatMap((what) =>
              (['other', 'control'] as const).map((name) =>
                spread(outcomes[name].map((ratio) => ratio[what])),
              ),
            ),
          ]);
    } finally {
      for (const process of running) await process.stop();
    }
  }
  return {
    title: `This code against ${commit}`,
    head: ['', 'processor time', 'control', 'requests', 'control'],
    rows: lines,
    note: `Median of ${rounds} rounds of ${seconds} s, with the least and the most. The control is the commit against itself: what is no further from 1 than that is noise.`,
  };
}

function spread(values: readonly number[]): string {
  const digits = (value: number) => value.toFixed(3);
  return `${digits(median(values))} (${digits(Math.min(...values))} to ${digits(Math.max(...values))})`;
}
