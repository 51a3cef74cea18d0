/** Whether the service is there: asked now and then while somebody looks, and at once where a request has found nobody. */

import { signal } from '@preact/signals';

/** Nobody answers, and not just for a moment, as while a service is started again. What was read and typed stays. */
export const isGone = signal(false);
/** How often it has answered again after it had not. */
export const returns = signal(0);

/** Seldom: most of the time something else is asked, and tells it first. */
const EVERY_MS = 10_000;
/** Somebody is waiting for it; after some time, less impatiently. */
const AGAIN_MS = 1000;
/** One that takes connections and never answers is gone, too. */
const LONGEST_MS = 10_000;

let timer: ReturnType<typeof setTimeout> | undefined;
let looking: Promise<void> | undefined;
/** How often nobody has answered, one time after the other. */
let failures = 0;

export function look(): Promise<void> {
  looking ??= ask().finally(() => {
    looking = undefined;
  });
  return looking;
}

async function ask(): Promise<void> {
  clearTimeout(timer);
  if (await isThere()) {
    if (failures > 0) returns.value++;
    failures = 0;
  } else failures++;
  isGone.value = failures > 1;
  timer = setTimeout(lookWhereSeen, failures > 0 ? AGAIN_MS * Math.min(5, failures) : EVERY_MS);
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
