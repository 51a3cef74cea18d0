/** `duet backup`: everything that is stored at one moment, while the service goes on, read back before it counts. */

import { createReadStream, createWriteStream, rmSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, promises } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import { faulting, openDeployment, StartFault } from '../../app/deployment.ts';
import type { Observe } from '../../base/observe.ts';
import type { Config } from '../../config/config.ts';
import { readDuration } from '../../config/setting-kinds.ts';
import { preview } from '../../storage/evolve/evolve.ts';
import { type Ending, hashOf, nameAt, type Place, placeOf, timeOf } from '../backups.ts';
import { takeOption } from '../options.ts';
import { type Audience, Progress } from '../progress.ts';
import { checkSqlite, copySqlite } from '../sqlite-copies.ts';
import { writeRecords } from './transfer.ts';

export const BACKUP_USAGE = 'backup TO [--every 15m] [--keep 96]';
/** The fastest that is fast: what is small need not be smaller. */
const LEVEL = 1;
const MEGABYTE = 1024 * 1024;

export interface BackupOptions {
  /** Milliseconds. */
  readonly every: number | undefined;
  readonly keep: number | undefined;
}

export function splitBackupArguments(args: readonly string[]): { own: string[]; rest: string[] } {
  const every = takeOption('--every', args);
  const keep = takeOption('--keep', every.rest);
  return { own: [every.own.at(-1) ?? '', keep.own.at(-1) ?? ''], rest: keep.rest };
}

export function readBackupOptions([every = '', keep = '']: readonly string[]): BackupOptions {
  const ms = every === '' ? undefined : readDuration(every);
  if (every !== '' && ms === undefined)
    throw new StartFault(`--every must be a time such as 90s, 15m, 6h or 1d, not "${every}"`);
  if (keep !== '' && !/^[1-9]\d{0,5}$/.test(keep))
    throw new StartFault(`--keep must be how many backups to keep, 1 or more, not "${keep}"`);
  return { every: ms, keep: keep === '' ? undefined : Number(keep) };
}

export interface Backing {
  readonly config: Config;
  readonly observe: Observe;
  readonly audience: Audience;
  /** Takes the names of backups. */
  readonly print: (line: string) => void;
  /** Hears of those that failed. */
  readonly warn: (line: string) => void;
}

export async function backup(
  target: string,
  { every, keep }: BackupOptions,
  backing: Backing,
): Promise<void> {
  const place = placeOf(target);
  if (place.file !== undefined && (every ?? keep) !== undefined)
    throw new StartFault(
      `--every and --keep need a folder for many backups, not the file ${target}: end its name with a slash`,
    );
  if (every === undefined) return backUp(place, keep, backing);
  // The first shows whether all is well; later ones may fail, and are tried again.
  for (let isFirst = true; ; isFirst = false) {
    try {
      await untilDue(place, every);
      await backUp(place, keep, backing);
    } catch (error) {
      if (isFirst || !(error instanceof StartFault)) throw error;
      backing.warn(`the backup failed and is tried again in ${every / 1000} s: ${error.message}`);
      await Bun.sleep(every);
    }
  }
}

/** By the newest that there is: who starts often does not make more of them, nor do several with one folder. */
async function untilDue(place: Place, every: number): Promise<void> {
  for (;;) {
    const newest = (await place.names()).at(-1);
    const left = newest === undefined ? 0 : timeOf(newest) + every - Date.now();
    if (left <= 0) return;
    await Bun.sleep(Math.min(left, every));
  }
}

async function backUp(place: Place, keep: number | undefined, backing: Backing): Promise<void> {
  const { config, audience, print } = backing;
  const ending: Ending = config.database.kind === 'sqlite' ? 'db' : 'ndjson.gz';
  const name = place.file ?? nameAt(new Date(), ending);
  if (await place.has(name))
    throw new StartFault(`${place.title(name)} is there already. Name another file, or a folder`);
  const folder = await faulting(async () => place.workspace());
  const clear = () => rmSync(folder, { recursive: true, force: true });
  process.on('exit', clear);
  try {
    const made = join(folder, name);
    if (config.database.kind === 'sqlite') await makeCopy(config.database.path, made, audience);
    else await makeExport(made, backing);
    const hash = await hashOf(Bun.file(made).stream());
    const size = Bun.file(made).size;
    await faulting(() => place.store(made, name));
    if ((await faulting(() => hashOf(place.read(name)))) !== hash)
      throw new StartFault(`${place.title(name)} is not what was written there. Do not rely on it`);
    audience.tell(`backed up ${megabytes(size)} and read them back`);
    print(place.title(name));
    if (keep === undefined) return;
    for (const old of (await place.names()).slice(0, -keep)) await place.remove(old);
  } finally {
    process.off('exit', clear);
    clear();
  }
}

async function makeCopy(path: string, made: string, audience: Audience): Promise<void> {
  if (path === ':memory:')
    throw new StartFault('a database in memory has nothing to back up: DATABASE_URL names another');
  const progress = new Progress(audience, (bytes) => `copied ${megabytes(bytes)}`);
  await faulting(() => copySqlite(path, made, (bytes, all) => progress.reached(bytes, all)));
  progress.done(Bun.file(made).size);
  await checkSqlite(made);
}

/** Gzipped, so that a copy that is cut short or damaged is found out by whoever unpacks it. */
async function makeExport(made: string, { config, observe, audience }: Backing): Promise<void> {
  const { model, database } = await openDeployment(config, observe);
  try {
    // As the database is, not as the file wants it: this may be the backup before a migration.
    const { before } = await faulting(() => preview(database, model));
    if (!before) throw new StartFault('the database is new: there is nothing to back up');
    const written = new Bun.CryptoHasher('sha256');
    const lines = new PassThrough();
    lines.on('data', (chunk: Uint8Array) => written.update(chunk));
    const packed = promises.pipeline(lines, createGzip({ level: LEVEL }), createWriteStream(made));
    await faulting(async () => {
      await Promise.all([writeRecords(before, database, lines, audience).then(() => lines.end()), packed]);
      const unpacked = createReadStream(made).pipe(createGunzip());
      if ((await hashOf(unpacked)) !== written.digest('hex'))
        throw new StartFault(`${made} is not what was written there`);
    });
  } finally {
    await database.close();
  }
}

function megabytes(bytes: number): string {
  return `${(bytes / MEGABYTE).toFixed(1)} MB`;
}
