/** Looks whether this process can still open a file: who cannot accept a connection is not told so by the runtime. */

import { closeSync, openSync } from 'node:fs';
import type { Observe } from '../base/observe.ts';

const LOOK_MS = 2000;

export function watchDescriptors(observe: Observe): () => void {
  const timer = setInterval(() => {
    try {
      closeSync(openSync('/dev/null', 'r'));
    } catch (cause) {
      const message =
        'all file descriptors are in use: new connections wait until others are closed. Raise the limit (`ulimit -n`, LimitNOFILE)';
      observe({ event: 'failure', cause: new Error(message, { cause }) });
    }
  }, LOOK_MS).unref();
  return () => clearInterval(timer);
}
