/** Brings a database to what the file asks for, outside of serving, and drops what it does not name when told to. */

import { evolveDeployment, faulting, openDeployment } from '../../app/deployment.ts';
import { readStoring } from '../../app/logic.ts';
import type { Observe } from '../../base/observe.ts';
import type { Config } from '../../config/config.ts';
import { preview } from '../../storage/evolve/evolve.ts';
import { prune } from '../../storage/evolve/prune.ts';

export interface Terminal {
  readonly print: (line: string) => void;
  /** Answers whether the operator agrees. */
  readonly confirm: (question: string) => boolean;
}

export async function migrate(config: Config, observe: Observe, terminal: Terminal): Promise<void> {
  const { model, database } = await openDeployment(config, observe, { model: await readStoring(config) });
  try {
    const { applied, surplus } = await evolveDeployment(config, model, database, { insists: true });
    for (const step of applied) terminal.print(step);
    if (applied.length === 0) terminal.print('nothing to do: the database is what the schema asks for');
    for (const name of surplus) terminal.print(`kept, though the schema does not name it: ${name}`);
  } finally {
    await database.close();
  }
}

export async function migrateAndPrune(config: Config, observe: Observe, terminal: Terminal): Promise<void> {
  await migrate(config, observe, terminal);
  const { model, database } = await openDeployment(config, observe, { model: await readStoring(config) });
  try {
    const { prunable } = await faulting(() => preview(database, model));
    if (prunable.length === 0) return terminal.print('nothing to drop');
    for (const name of prunable) terminal.print(`drop ${name}`);
    if (!terminal.confirm(`Drop these ${prunable.length} with all that is in them? This cannot be undone.`))
      return terminal.print('nothing was dropped');
    const dropped = await faulting(() => prune(database, model, prunable));
    terminal.print(`dropped ${dropped.length}`);
  } finally {
    await database.close();
  }
}
