/** SIGHUP: what the files say now is tried in a process of its own, and served when nothing is wrong with it. */

import { closeSync, openSync } from 'node:fs';
import { StartFault } from '../app/deployment.ts';
import { runApp } from '../app/running.ts';
import type { Observe } from '../base/observe.ts';
import { type Config, changedFixed } from '../config/config.ts';

interface Reloading {
  readonly config: Config;
  /** What the settings are now; throws a StartFault. */
  readonly reread: () => Config;
  /** Whether the functions of `logic.ts` are others by now: a process loads them once. */
  readonly isRecoded: (config: Config) => boolean;
  /** Runs `prepare`. */
  readonly command: readonly string[];
  readonly observe: Observe;
  /** Takes up what was found to be good. */
  readonly apply: (config: Config) => Promise<void>;
  /** Told what is wrong, or that nothing is; given by `duet dev`, which loses nothing that anybody needs. */
  readonly found?: ((faults: readonly string[]) => void) | undefined;
}

/** Reloads, one at a time: whoever asks while that is under way has asked for another behind it. */
export function reloader({
  config,
  reread,
  isRecoded,
  command,
  observe,
  apply,
  found,
}: Reloading): () => void {
  let [isUnderWay, isWanted] = [false, false];

  const once = async (): Promise<readonly string[]> => {
    try {
      if (isInMemory(config) && !found)
        return ['what is in sqlite::memory: would be lost: restart the server to begin anew'];
      const next = reread();
      const fixed = changedFixed(config, next);
      if (fixed.length > 0) return [`${fixed.join(', ')} cannot change while the server runs: restart it`];
      if (isRecoded(next))
        return ['logic.ts, or what it imports, has changed: restart the server to take it up'];
      const faults = await rehearsed(command);
      if (faults.length === 0) await apply(next);
      return faults;
    } catch (error) {
      if (error instanceof StartFault) return error.message.split('\n');
      throw error;
    }
  };

  const reload = async () => {
    if (isUnderWay) {
      isWanted = true;
      return;
    }
    isUnderWay = true;
    do {
      isWanted = false;
      const faults = await once().catch((cause) => {
        observe({ event: 'failure', cause });
        return [];
      });
      if (faults.length > 0) observe({ event: 'refused', faults });
      found?.(faults);
    } while (isWanted);
    isUnderWay = false;
  };
  return () => void reload();
}

/**
 * Apart from the server, because tables that are changed on SQLite would keep everybody waiting. What it says on standard
 * error are the faults.
 */
async function rehearsed(command: readonly string[]): Promise<readonly string[]> {
  const child = Bun.spawn([...command], { stdio: ['ignore', 'inherit', 'pipe'] });
  const [told, code] = await Promise.all([child.stderr.text(), child.exited]);
  if (code === 0) return [];
  const lines = told.trimEnd().split('\n');
  return lines.map((line) => line.replace(/^duet: /, ''));
}

function isInMemory({ database }: Config): boolean {
  return database.kind === 'sqlite' && database.path === ':memory:';
}

/** Does all that comes before serving. */
export async function prepare(config: Config, observe: Observe): Promise<void> {
  // Whoever serves tells the rest.
  const { close } = await runApp(config, (each) => each.event === 'migrated' && observe(each));
  await close();
}

/** Whether the terminal is gone that the process was started at: then SIGHUP asks it to end. */
export function hasHungUp(hadTerminal: boolean): boolean {
  if (!hadTerminal) return false;
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return false;
  } catch {
    return true;
  }
}
