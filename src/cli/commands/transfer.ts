/** Moves everything out of a database and into another, as NDJSON: a line for each record, id and version to keep, and key. */

import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { evolveDeployment, faulting, openDeployment, StartFault } from '../../app/deployment.ts';
import { readStoring } from '../../app/logic.ts';
import type { Observe } from '../../base/observe.ts';
import type { Config } from '../../config/config.ts';
import { dump } from '../../engine/transfer/dump.ts';
import { type IsKnown, importing } from '../../engine/transfer/import.ts';
import { BatchRefused, FileFault } from '../../engine/transfer/store.ts';
import type { Model } from '../../schema/model.ts';
import { evolve, load } from '../../storage/evolve/evolve.ts';
import type { Database } from '../../storage/open.ts';
import type { Program } from '../../storage/storage.ts';
import { Lines } from '../input-lines.ts';
import { type Audience, Progress } from '../progress.ts';

/** How often a record is looked for that was refused: others may change the database meanwhile. */
const LOOKS = 3;

export async function exportRecords(
  config: Config,
  observe: Observe,
  to: Writable,
  audience: Audience,
): Promise<void> {
  const { model, database } = await openDeployment(config, observe, { model: await readStoring(config) });
  try {
    await evolveDeployment(config, model, database);
    await faulting(() => writeRecords(model, database, to, audience));
  } finally {
    await database.close();
  }
}

/** Everything of one snapshot; how many records that was. */
export async function writeRecords(
  model: Model,
  database: Database,
  to: Writable,
  audience: Audience,
): Promise<void> {
  const progress = new Progress(audience, (done) => `exported ${done} records`);
  let count = 0;
  const line = (value: object) => `${JSON.stringify(value)}\n`;
  const snapshot = await database.snapshot();
  await dump(model, snapshot, {
    async records(resource, rows) {
      const { plural, version: column } = resource;
      const lines = rows.map(({ [column.name]: version, ...record }) =>
        line({ resource: plural, version, record }),
      );
      count += rows.length;
      progress.reached(count);
      // Whoever reads slowly is waited for: what they have not taken would fill the memory.
      if (!to.write(lines.join(''))) await once(to, 'drain');
    },
    remains: ({ plural }, remains) => void to.write(line({ resource: plural, ...remains })),
    key: (apiKey) => void to.write(line({ apiKey })),
  });
  await snapshot.close();
  progress.done(count);
}

export async function importRecords(
  config: Config,
  file: string,
  observe: Observe,
  audience: Audience,
): Promise<void> {
  using lines = await Lines.open(file).catch((error) => {
    throw new StartFault(`cannot read ${file} (${error.message})`);
  });
  const { model, database } = await openDeployment(config, observe, { model: await readStoring(config) });
  try {
    const carryOut = async (program: () => Program<void>) => {
      let isNew = false;
      await evolve(database, model, function* () {
        isNew = true;
        yield* program();
      });
      if (!isNew) await load(database, program);
    };
    await faulting(() => readRecords(model, lines, file, audience, carryOut));
  } finally {
    await database.close();
  }
}

/** `carryOut` runs a program that stores all that the lines have. A database that is made for this has no records of its own. */
export async function readRecords(
  model: Model,
  lines: Lines,
  file: string,
  audience: Audience,
  carryOut: (program: () => Program<void>) => Promise<void>,
): Promise<void> {
  const progress = new Progress(audience, (done) => `imported ${done} records`);
  let count = 0;
  const source = {
    lines: (isKnown?: IsKnown) => lines.all(isKnown),
    progress: (stored: number, all: number) => {
      count = stored;
      progress.reached(stored, all);
    },
  };
  let singly: string | undefined;
  for (let looks = 1; ; looks++)
    try {
      await carryOut(() => importing(model, source, singly));
      return progress.done(count);
    } catch (error) {
      if (error instanceof BatchRefused && looks < LOOKS) singly = error.first.where;
      else if (error instanceof FileFault || error instanceof BatchRefused)
        throw new StartFault(error.message.replaceAll(/^/gm, `${file}: `));
      else throw error;
    }
}
