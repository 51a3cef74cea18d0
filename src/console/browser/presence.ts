/** Whether the service is there: asked now and then while somebody looks, and at once where a request has found nobody. */

import { signal } from '@preact/signals';

/** Nobody answers. What was read stays, and what was typed does too. */
export const isGone = signal(false);

/** Seldom: most of the time something else is asked, and tells it first. */
const EVERY_MS = 10_000;
/** Somebody is waiting for it. */
const AGAIN_MS = 1000;
/** One that takes connections and never answers is gone, too. */
const LONGEST_MS = 10_000;

let timer: ReturnType<typeof setTimeout> | undefined;
let looking: Promise<void> | undefined;

export function look(): Promise<void> {
  looking ??= ask().finally(() => {
    looking = undefined;
  });
  return looking;
}

async function ask(): Promise<void> {
  clearTimeout(timer);
  isGone.value = !(await isThere());
  timer = setTimeout(lookWhereSeen, isGone.value ? AGAIN_MS : EVERY_MS);
}

/** One single request that fails says little: others may be blocked on their way, and this one is answered by whatever lives. */
async function isThere(): Promise<boolean> {
  try {
    const { status } = await fetch('/healthz', { signal: AbortSignal.timeout(LONGEST_MS) });
    // A proxy tells of a service that is gone by 502 to 504.
    return status < 500;
  } catch {
    return false;
  }
}

function lookWhereSeen(): void {
  if (document.visibilityState === 'visible') void look();
}

/** From now on. */
export function watch(): void {
  timer = setTimeout(lookWhereSeen, EVERY_MS);
  document.addEventListener('visibilitychange', lookWhereSeen);
}
