/** The schema file that somebody is working on under `duet dev`: what is wrong with it, and when it was taken up. */

import { signal } from '@preact/signals';
import { refresh } from './load.ts';

/** Soon enough for somebody who has just saved a file. */
const LOOK_MS = 1000;

/** Undefined where nobody is working on it. */
interface FileState {
  readonly faults?: readonly string[];
  readonly loads?: number;
}

/** An earlier file is served as long as there are any. */
export const fileFaults = signal<readonly string[]>([]);

let loads: number | undefined;

/** Asks once, and again and again where there is something to be told. */
export async function followFile(): Promise<void> {
  const state = await fileState();
  if (state && state.loads === undefined) return;
  if (state) {
    fileFaults.value = state.faults ?? [];
    if (loads !== undefined && loads !== state.loads) void refresh();
    loads = state.loads;
  }
  setTimeout(followFile, LOOK_MS);
}

/** Undefined when the service cannot be reached: it may be starting again. */
async function fileState(): Promise<FileState | undefined> {
  try {
    const response = await fetch('/_console/file.json');
    return response.ok ? await response.json() : {};
  } catch {
    return undefined;
  }
}
