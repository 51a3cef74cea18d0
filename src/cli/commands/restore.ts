/** `duet restore`: a backup in place of what there is, as a whole or not at all. */

import { copyFileSync, createWriteStream, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promises, Readable } from 'node:stream';
import { faulting, openDeployment, StartFault } from '../../app/deployment.ts';
import { readStoring } from '../../app/logic.ts';
import type { Observe } from '../../base/observe.ts';
import type { Config } from '../../config/config.ts';
import { evolve, NotEmpty, replaceAll } from '../../storage/evolve/evolve.ts';
import { type Place, placeOf } from '../backups.ts';
import { headOf, Lines } from '../input-lines.ts';
import type { Audience } from '../progress.ts';
import { checkSqlite, putInPlace, SQLITE_HEAD } from '../sqlite-copies.ts';
import { readRecords } from './transfer.ts';

interface Restoring {
  readonly config: Config;
  readonly observe: Observe;
  readonly audience: Audience;
  /** Whether what is there may go. */
  readonly mayReplace: boolean;
}

export async function restore(source: string, restoring: Restoring): Promise<void> {
  const { config, audience } = restoring;
  const folder = mkdtempSync(join(tmpdir(), 'duet-restore-'));
  try {
    const place = placeOf(source);
    const name = place.file ?? (await newest(place, source));
    const file = join(folder, 'backup');
    await faulting(() => fetched(place, name, file));
    const isCopy = headOf(file, SQLITE_HEAD.length).toString('latin1') === SQLITE_HEAD;
    const title = place.title(name);
    if (config.database.kind === 'sqlite')
      await intoFile(file, title, isCopy, config.database.path, restoring);
    else if (isCopy)
      throw new StartFault(
        `${title} is a SQLite file, and DATABASE_URL names PostgreSQL. \`DATABASE_URL=sqlite:FILE duet export > all.ndjson\` and \`duet import all.ndjson\` move it`,
      );
    else await intoServer(file, title, restoring);
    audience.tell(`restored ${title}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function newest(place: Place, source: string): Promise<string> {
  const name = (await place.names()).at(-1);
  if (name === undefined) throw new StartFault(`there is no backup in ${source}`);
  return name;
}

async function fetched(place: Place, name: string, file: string): Promise<void> {
  if (!(await place.has(name))) throw new StartFault(`there is no ${place.title(name)}`);
  await promises.pipeline(Readable.from(place.read(name)), createWriteStream(file));
}

/** Made beside the one that is there, which stays until then. */
async function intoFile(
  file: string,
  title: string,
  isCopy: boolean,
  path: string,
  { config, observe, audience, mayReplace }: Restoring,
): Promise<void> {
  if (path === ':memory:')
    throw new StartFault('a database in memory keeps nothing: DATABASE_URL names another');
  if (existsSync(path) && !mayReplace) throw new StartFault(replaces(path));
  const fresh = `${path}.restoring`;
  const clear = () => {
    for (const rest of ['', '-wal', '-shm']) rmSync(fresh + rest, { force: true });
  };
  clear();
  try {
    if (isCopy) {
      await faulting(async () => copyFileSync(file, fresh));
      await checkSqlite(fresh);
    } else {
      const own = { ...config, database: { kind: 'sqlite', path: fresh } } as const;
      const { model, database } = await openDeployment(own, observe, { model: await readStoring(own) });
      using lines = await linesOf(file, title);
      await faulting(() =>
        readRecords(
          model,
          lines,
          title,
          audience,
          async (program) => void (await evolve(database, model, program)),
        ),
      ).finally(() => database.close());
    }
    await faulting(async () => putInPlace(fresh, path));
  } finally {
    clear();
  }
}

async function intoServer(
  file: string,
  title: string,
  { config, observe, audience, mayReplace }: Restoring,
): Promise<void> {
  using lines = await linesOf(file, title);
  const { model, database } = await openDeployment(config, observe, { model: await readStoring(config) });
  try {
    await faulting(async () => {
      await evolve(database, model, function* () {});
      await readRecords(model, lines, title, audience, (program) =>
        replaceAll(database, model, program, mayReplace),
      );
    }).catch((error) => {
      throw error.cause instanceof NotEmpty ? new StartFault(replaces('the database')) : error;
    });
  } finally {
    await database.close();
  }
}

function replaces(what: string): string {
  return `${what} has records already. With --yes the backup takes their place, and they are lost`;
}

async function linesOf(file: string, title: string): Promise<Lines> {
  return Lines.open(file).catch((error) => {
    throw new StartFault(`${title} is damaged (${error.message})`);
  });
}
