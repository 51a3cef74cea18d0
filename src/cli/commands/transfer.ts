/** Moves everything out of a database and into another, as NDJSON: a line for each record, id and version to keep. */

import { readFileSync } from 'node:fs';
import { evolveDeployment, faulting, openDeployment, StartFault } from '../../app/deployment.ts';
import type { Observe } from '../../base/observe.ts';
import type { Config } from '../../config/config.ts';
import { dump } from '../../engine/transfer/dump.ts';
import { type Entry, loadingEntries } from '../../engine/transfer/load.ts';
import type { Remains } from '../../engine/write/remains.ts';
import type { Resource } from '../../schema/model.ts';
import { MAX_KEY } from '../../schema/scalars.ts';
import { evolve, load } from '../../storage/evolve/evolve.ts';

/** Long work says where it stands this often. */
const PROGRESS_MS = 1000;
const MOST_FAULTS = 20;
/** A version is an Int of GraphQL. */
const MAX_VERSION = 2 ** 31 - 1;

export interface Streams {
  /** Takes lines of a file. */
  readonly write: (text: string) => void;
  /** Takes lines for the operator. */
  readonly tell: (line: string) => void;
}

export async function exportRecords(config: Config, observe: Observe, streams: Streams): Promise<void> {
  const { model, database } = await openDeployment(config, observe);
  try {
    await evolveDeployment(config, model, database);
    const counted = counter('exported', streams);
    await faulting(async () => {
      const snapshot = await database.snapshot();
      const line = ({ plural }: Resource, rest: object) =>
        streams.write(`${JSON.stringify({ resource: plural, ...rest })}\n`);
      await dump(model, snapshot, {
        record(resource, { [resource.version.name]: version, ...record }) {
          line(resource, { version, record });
          counted();
        },
        remains: line,
      });
      await snapshot.close();
    });
    counted.done();
  } finally {
    await database.close();
  }
}

export async function importRecords(
  config: Config,
  file: string,
  observe: Observe,
  streams: Streams,
): Promise<void> {
  const entries = readLines(file);
  const { model, database } = await openDeployment(config, observe);
  try {
    const counted = counter('imported', streams);
    const { program, faults } = loadingEntries(model, entries, counted);
    if (!program) throw new StartFault(shortened(faults.map((fault) => `${file}: ${fault}`)));
    // A database that is made for this has no records of its own.
    await faulting(() => evolve(database, model, function* () {}));
    await faulting(() => load(database, program)).catch((error) => {
      throw new StartFault(`${file}: ${error.message}`);
    });
    counted.done();
  } finally {
    await database.close();
  }
}

function readLines(file: string): Entry[] {
  let text: string;
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new StartFault(`cannot read ${file} (${error instanceof Error ? error.message : error})`);
  }
  const faults: string[] = [];
  const entries = text.split('\n').flatMap((line, index): Entry[] => {
    if (line.trim() === '') return [];
    const where = `line ${index + 1}`;
    const entry = readLine(line, where);
    if (entry) return [entry];
    faults.push(`${file}: ${where} is none of ${forms.join(', ')}`);
    return [];
  });
  if (faults.length > 0) throw new StartFault(shortened(faults));
  return entries;
}

const forms = [
  '{"resource": …, "version": …, "record": {…}}',
  '{"resource": …, "lastId": …}',
  '{"resource": …, "buried": {"key": …, "version": …}}',
];

function readLine(line: string, where: string): Entry | undefined {
  let parsed: Partial<Record<'resource' | 'record' | 'version' | 'lastId' | 'buried', unknown>> | null;
  try {
    parsed = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof parsed?.resource !== 'string') return undefined;
  const { resource: plural, record, version, lastId, buried } = parsed;
  // A line that is two things at once is neither.
  if ([record, lastId, buried].filter((each) => each !== undefined).length !== 1) return undefined;
  if (record !== undefined) {
    if (typeof record !== 'object' || !(version === undefined || isUpTo(MAX_VERSION, version)))
      return undefined;
    return version === undefined ? { where, plural, record } : { where, plural, record, version };
  }
  const remains = lastId === undefined ? readBuried(buried) : isUpTo(MAX_KEY, lastId) && { lastId };
  return remains ? { where, plural, remains } : undefined;
}

function readBuried(buried: unknown): Remains | undefined {
  const { key, version } = (buried ?? {}) as { key?: unknown; version?: unknown };
  return typeof key === 'string' && isUpTo(MAX_VERSION, version) ? { buried: { key, version } } : undefined;
}

function isUpTo(most: number, value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most;
}

function shortened(faults: readonly string[]): string {
  const shown = faults.slice(0, MOST_FAULTS);
  if (faults.length > shown.length) shown.push(`and ${faults.length - shown.length} more`);
  return shown.join('\n');
}

function counter(verb: string, { tell }: Streams) {
  let count = 0;
  let told = Date.now();
  const counted = () => {
    count++;
    if (count % 100 !== 0 || Date.now() - told < PROGRESS_MS) return;
    told = Date.now();
    tell(`${verb} ${count} records …`);
  };
  return Object.assign(counted, { done: () => tell(`${verb} ${count} records`) });
}
