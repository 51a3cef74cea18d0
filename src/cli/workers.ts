/** Several processes behind one port: starts them, starts a lost one again, and stops them together. */

import type { Subprocess } from 'bun';
import { StartFault } from '../app/deployment.ts';
import type { Offer, Peers } from '../app/options.ts';
import type { Observe } from '../base/observe.ts';
import type { Config } from '../config/config.ts';
import { cannotListen, type Running, type StopSignal, urlOf } from './serve.ts';
import { flagsOf, Turn, type TurnMessage } from './write-turns.ts';

/** A worker that cannot stay up is not started again in a tight circle. */
const PAUSE_MS = 500;

/** A worker that does not tell its numbers by then is left out. */
const TELL_MS = 1000;

/** What a worker and its parent say to each other. */
export type Message =
  | TurnMessage
  | { readonly say: 'ready' }
  /** From the server of `duet dev`: the files cannot be served, and it serves the console alone. */
  | { readonly say: 'waiting' }
  /** To a worker, or to the server of `duet dev`: take up what the files say now. */
  | { readonly say: 'reload' }
  /** To the parent: what does everybody tell about this? To a worker: what do you? */
  | { readonly say: 'ask'; readonly id: string; readonly about: keyof Offer }
  | { readonly say: 'tell'; readonly id: string; readonly own: unknown }
  | { readonly say: 'told'; readonly id: string; readonly all: readonly [string, unknown][] };

/** `command` runs one worker; it tells its parent when it is ready, and says on standard error why it cannot be. */
export async function superviseWorkers(
  config: Config,
  command: readonly string[],
  observe: Observe,
): Promise<Running> {
  const port = freePort(config);
  const workers = new Map<Subprocess, string>();
  const enquiries = new Map<string, Enquiry>();
  const flags = config.database.kind === 'sqlite' ? flagsOf(config.workers) : undefined;
  let stopping = false;

  /** Asks every worker on behalf of one. */
  const enquire = (asker: Subprocess, id: string, about: keyof Offer) => {
    const told = new Map<string, unknown>();
    const finish = () => {
      clearTimeout(timer);
      if (enquiries.delete(id) && workers.has(asker)) tell(asker, { say: 'told', id, all: [...told] });
    };
    const timer = setTimeout(finish, TELL_MS);
    const expected = workers.size;
    enquiries.set(id, (worker, own) => {
      told.set(workers.get(worker) ?? '', own);
      if (told.size >= expected) finish();
    });
    for (const worker of workers.keys()) tell(worker, { say: 'ask', id, about });
  };

  const letGo = (who: number) => {
    for (const [worker, name] of workers) if (name === String(who + 1)) tell(worker, { say: 'go' });
  };

  const start = (name: string) =>
    new Promise<boolean>((resolve) => {
      const worker = Bun.spawn([...command, `--port=${port}`], {
        stdio: ['ignore', 'inherit', 'inherit'],
        // Several times as quick as what Bun has for all kinds of values.
        serialization: 'json',
        ipc: (message: Message) => {
          if (message.say === 'next') letGo(message.who);
          else if (message.say === 'ready') resolve(true);
          else if (message.say === 'ask') enquire(worker, message.id, message.about);
          else if (message.say === 'tell') enquiries.get(message.id)?.(worker, message.own);
        },
        onExit: (_, code) => {
          workers.delete(worker);
          flags?.lower(Number(name) - 1);
          resolve(false);
          if (stopping) return;
          observe({ event: 'failure', cause: new Error(`a worker ended with code ${code}`) });
          setTimeout(() => {
            if (!stopping) void start(name);
          }, PAUSE_MS);
        },
      });
      workers.set(worker, name);
      if (flags) tell(worker, { say: 'flags', file: flags.file, own: Number(name) - 1 });
    });

  const stop = async (signal: StopSignal) => {
    stopping = true;
    for (const worker of workers.keys()) worker.kill(signal);
    await Promise.all([...workers.keys()].map((worker) => worker.exited));
  };

  const ready = await Promise.all(
    Array.from({ length: config.workers }, (_, index) => start(String(index + 1))),
  );
  if (ready.includes(false)) {
    await stop('SIGINT');
    throw new StartFault('a worker could not start; it has said why');
  }
  const url = urlOf(config.host, port);
  observe({ event: 'supervising', url, workers: config.workers });
  const reload = async () => {
    for (const worker of workers.keys()) tell(worker, { say: 'reload' });
  };
  return { url, reload, stop };
}

type Enquiry = (worker: Subprocess, own: unknown) => void;

/** One that has just ended cannot be told anything, which is known to the system before it is told here. */
function tell(worker: Subprocess, message: Message): void {
  try {
    worker.send(message);
  } catch {
    // Its end is told by itself.
  }
}

/** The other side: what a worker needs of its parent. */
export function workerPeers(): Peers {
  const waiting = new Map<string, (all: ReadonlyMap<string, never>) => void>();
  const send = (message: Message) => process.send?.(message);
  const writers = new Turn(send);
  let offer: Offer | undefined;
  process.on('message', (message: Message) => {
    if (message.say === 'flags' || message.say === 'go') writers.heard(message);
    else if (message.say === 'ask') send({ say: 'tell', id: message.id, own: offer?.[message.about]() });
    // What was asked for is what was told.
    else if (message.say === 'told') waiting.get(message.id)?.(new Map(message.all as [string, never][]));
  });
  return {
    writers,
    offer(own) {
      offer = own;
    },
    collect(about) {
      const id = crypto.randomUUID();
      const { promise, resolve, reject } = Promise.withResolvers<ReadonlyMap<string, never>>();
      const late = setTimeout(reject, 2 * TELL_MS, new Error('the parent of the workers does not answer'));
      waiting.set(id, resolve);
      send({ say: 'ask', id, about });
      return promise.finally(() => {
        clearTimeout(late);
        waiting.delete(id);
      });
    },
  };
}

export function tellParent(say: 'ready' | 'waiting'): void {
  process.send?.({ say } satisfies Message);
}

/** Calls back when the parent wants a reload. */
export function onReload(reload: () => void): void {
  process.on('message', (message: Message) => {
    if (message.say === 'reload') reload();
  });
}

/** Workers share a port, and would share it with those of a stranger too: so the port must be nobody's before. */
function freePort({ host, port }: Config): number {
  try {
    const probe = Bun.listen({ hostname: host, port, socket: { data() {} } });
    probe.stop();
    return probe.port;
  } catch (error) {
    throw cannotListen(host, port, error);
  }
}
