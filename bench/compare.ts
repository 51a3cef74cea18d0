/** The comparison: everybody started, answers held against the data, then interleaved rounds of load. */

import { deepEquals } from 'bun';
import { type Column, type Contender, columns, contenders, peerNames } from './contenders.ts';
import { median, send } from './load.ts';
import type { Databases } from './postgres.ts';
import { type Pressed, Process } from './process.ts';
import { content, expected, type Row, rows, sampleIds } from './rows.ts';

/** How long, how often; `--quick` makes both small, and `--alone` leaves the peers out. */
export interface Effort {
  readonly seconds: number;
  readonly rounds: number;
  readonly quick: boolean;
  readonly alone: boolean;
}

export interface Standing {
  readonly column: Column;
  readonly database: Contender['database'];
  readonly firstAnswerMs: number;
  /** Resident memory before any load, in MB. */
  readonly memory: number;
}

export interface Comparison {
  /** The outcome of each round. */
  readonly cells: Partial<Record<Row, Partial<Record<Column, readonly Pressed[]>>>>;
  readonly standings: readonly Standing[];
  readonly absent: readonly { readonly column: Column; readonly why: string }[];
}

interface Runner extends Contender {
  readonly process: Process;
}

export async function compare(
  asked: readonly Row[],
  { seconds, rounds, quick, alone }: Effort,
  folder: string,
  databases: Databases,
): Promise<Comparison> {
  const absent: { column: Column; why: string }[] = [];
  const runners: Runner[] = [];
  const standings: Standing[] = [];
  const cells: Partial<Record<Row, Partial<Record<Column, Pressed[]>>>> = {};
  try {
    for (const contender of await contenders(folder, databases)) {
      const isPeer = (peerNames as readonly Column[]).includes(contender.column);
      if ((alone && isPeer) || !asked.some((row) => contender.asks[row])) continue;
      console.error(`bench: starting ${columns[contender.column]} on ${contender.database}`);
      try {
        const { process, firstAnswerMs } = await start(contender, quick ? 1 : 5, databases);
        runners.push({ ...contender, process });
        const { column, database } = contender;
        standings.push({ column, database, firstAnswerMs, memory: process.memory().now });
      } catch (error) {
        absent.push({
          column: contender.column,
          why: error instanceof Error ? error.message : String(error),
        });
      }
    }
    for (const row of asked) for (const runner of runners) await check(row, runner);
    for (const row of asked) {
      console.error(`bench: ${rows[row].title}`);
      const found: Partial<Record<Column, Pressed[]>> = {};
      cells[row] = found;
      for (let round = 0; round <= rounds; round++)
        for (const { column, asks, process } of rotated(runners, round)) {
          const ask = asks[row];
          if (!ask) continue;
          const outcome = await process.press(ask, { seconds });
          // The first round only warms up.
          if (round > 0) found[column] = [...(found[column] ?? []), outcome];
        }
    }
  } finally {
    for (const { process } of runners) await process.stop();
  }
  return { cells, standings, absent };
}

/** The first start makes the tables and loads the data, which is not what a start costs. */
async function start({ command }: Contender, times: number, databases: Databases) {
  await (await Process.start(command, databases)).stop();
  await databases.analyze();
  const taken: number[] = [];
  for (;;) {
    const process = await Process.start(command, databases);
    taken.push(process.firstAnswerMs);
    if (taken.length === times) {
      await Bun.sleep(500);
      return { process, firstAnswerMs: median(taken) };
    }
    await process.stop();
  }
}

/** Nobody is always the first after a pause. */
function rotated<T>(list: readonly T[], by: number): T[] {
  const at = by % list.length;
  return [...list.slice(at), ...list.slice(0, at)];
}

async function check(row: Row, { column, asks, process }: Runner): Promise<void> {
  const ask = asks[row];
  if (!ask) return;
  for (const id of sampleIds) {
    const answer = await (await send(process.url, ask, id)).json();
    if (!isRight(row, id, answer))
      throw new Error(
        `${column} does not answer ${row} with the data: ${JSON.stringify(answer).slice(0, 500)}`,
      );
  }
}

function isRight(row: Row, id: number, answer: unknown): boolean {
  try {
    return deepEquals(content(row, answer), expected(row, id));
  } catch {
    // Something else entirely, such as an error.
    return false;
  }
}
