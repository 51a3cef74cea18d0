/** What signals mean to a process: to stop, to read its files again, or to end with the one that started it. */

import type { Observe } from '../base/observe.ts';
import { hasHungUp } from './reload.ts';
import type { Running } from './serve.ts';

export type Apply = Running['reload'];

/** `onHangup`: what SIGHUP does, given how to apply what the files say now. */
export async function untilStopped(
  observe: Observe,
  start: () => Promise<Running>,
  onHangup?: (apply: Apply) => () => void,
): Promise<Running> {
  const hadTerminal = process.stdin.isTTY === true;
  // Until there is a handler, the signal would end the process that it asks to go on.
  let hangup = () => {};
  if (onHangup) process.on('SIGHUP', () => hangup());
  // A worker whose parent was killed would keep the port for ever, and it may be killed while this one starts.
  let orphaned: () => unknown = () => process.exit(1);
  process.on('disconnect', () => orphaned());
  const running = await start();
  // Handlers catch their own failures; whatever else goes wrong is logged and must not end the service.
  process.on('uncaughtException', (cause) => observe({ event: 'failure', cause }));
  process.on('unhandledRejection', (cause) => observe({ event: 'failure', cause }));
  let stopping = false;
  const stop = async (signal: string) => {
    // A terminal, npm and a service manager may each pass on the same wish: only the first one counts.
    if (stopping) return;
    stopping = true;
    observe({ event: 'stopping', signal });
    await running.stop(signal === 'SIGTERM' ? signal : 'SIGINT');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop);
  orphaned = () => stop('disconnect');
  const reload = onHangup?.((config) => running.reload(config));
  hangup = () => {
    if (hasHungUp(hadTerminal)) void stop('SIGHUP');
    else if (!stopping) reload?.();
  };
  return running;
}

/** The server that started this one has its own signals; and whoever is gone needs nothing any more. */
export function endWithParent(): void {
  process.on('SIGTERM', () => process.exit(143));
  process.on('SIGINT', () => process.exit(130));
  process.on('disconnect', () => process.exit(1));
}
