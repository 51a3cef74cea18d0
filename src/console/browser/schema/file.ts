/** The schema file that somebody is working on under `duet dev`: what is wrong with it, and when it was taken up. */

import { computed, signal } from '@preact/signals';
import { look } from '../presence.ts';
import { refresh } from './load.ts';

/** Soon enough for somebody who has just saved a file. */
const LOOK_MS = 1000;
/** How often nobody has answered, one time after the other: then less and less often. */
let misses = 0;

/** Empty where nobody is working on it. */
export interface FileState {
  readonly faults?: readonly string[];
  /** 0 while there was none yet that could be served. */
  readonly loads?: number;
  /** The rest is told while there are faults: where it is, how faults name it, and what is in it, if it is there. */
  readonly path?: string;
  readonly file?: string;
  readonly text?: string;
  /** What its command is called here. */
  readonly command?: string;
}

export const file = signal<FileState>({});

/** Nothing is served but this page. */
export const isWaiting = computed(() => file.value.loads === 0);

/** Asks once, and again and again where there is something to be told. */
export async function followFile(): Promise<void> {
  const state = await readFile();
  if (state && state.loads === undefined) return;
  misses = state ? 0 : misses + 1;
  setTimeout(followFile, LOOK_MS * Math.min(8, 1 + misses));
}

/** Takes up what is so now; undefined where nobody says. */
export async function readFile(): Promise<FileState | undefined> {
  const state = await fileState();
  if (!state) return undefined;
  const before = file.value.loads;
  file.value = state;
  if (before !== undefined && state.loads && before !== state.loads) void refresh();
  return state;
}

/** Undefined when the service cannot be reached, or is busy: it may be starting again. */
async function fileState(): Promise<FileState | undefined> {
  try {
    const response = await fetch('/_console/file.json');
    if (response.status === 503) return undefined;
    return response.ok ? await response.json() : {};
  } catch {
    void look();
    return undefined;
  }
}
