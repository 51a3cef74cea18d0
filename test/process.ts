/** Runs the real command in a folder of its own, for tests of what only a process can show. */

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { JSON_HEADERS, shipped } from './app.ts';

/** The command as `npm start` runs it. */
export const source = [process.execPath, '--no-env-file', join(import.meta.dir, '../src/cli/start.ts')];

/** Most of these processes end within seconds: what JavaScriptCore compiles of them takes more of the processor than it gives back. */
export const COMPILER = { BUN_JSC_thresholdForJITAfterWarmUp: '20000' };

export class Folder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'duet-'));

  constructor(files: Record<string, string> = {}) {
    const all = { 'schema.graphql': shipped.sdl, 'data.json': JSON.stringify(shipped.data), ...files };
    for (const [name, text] of Object.entries(all)) {
      mkdirSync(dirname(join(this.path, name)), { recursive: true });
      writeFileSync(join(this.path, name), text);
    }
  }

  static empty(): Folder {
    const folder = new Folder();
    for (const name of readdirSync(folder.path)) rmSync(folder.file(name));
    return folder;
  }

  file(name: string): string {
    return join(this.path, name);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

function spawn(
  folder: Folder,
  args: readonly string[],
  env: Record<string, string | undefined>,
  duet: readonly string[] = source,
) {
  return Bun.spawn([...duet, ...args], {
    cwd: folder.path,
    env: { PORT: '0', ...COMPILER, ...env },
    stdout: 'pipe',
    stderr: 'pipe',
  });
}

/** Runs a command to its end. */
export async function command(
  folder: Folder,
  args: readonly string[],
  env: Record<string, string | undefined> = {},
) {
  return ended(spawn(folder, args, env));
}

/** Starts a line of the shell, in which `"$@"` is the command. */
export function inShell(folder: Folder, line: string, args: readonly string[]) {
  return Bun.spawn(['bash', '-c', line, 'bash', ...source, ...args], {
    cwd: folder.path,
    env: { PORT: '0', ...COMPILER, PATH: process.env['PATH'] ?? '' },
    stdout: 'pipe',
    stderr: 'pipe',
  });
}

export async function ended(child: ReturnType<typeof spawn>) {
  const [stdout, stderr, exit] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { stdout, stderr, exit };
}

/** On a machine that has much else to do, a service would turn away what only its tests ask of it. */
const PATIENCE_MS = '60000';

export class Server implements AsyncDisposable {
  readonly #child: ReturnType<typeof spawn>;
  readonly #finished: Promise<void>;
  log: any[] = [];

  private constructor(
    child: ReturnType<typeof spawn>,
    url: (url: string) => void,
    ended: (why: Error) => void,
  ) {
    this.#child = child;
    this.#finished = this.#follow(url).then(async () => ended(new Error(await child.stderr.text())));
  }

  static async start(
    folder: Folder,
    env: Record<string, string> = {},
    duet: readonly string[] = source,
  ): Promise<Server & { readonly url: string }> {
    return Server.begin(folder, env, duet).started;
  }

  /** One whose log can be read before it has started. */
  static begin(folder: Folder, env: Record<string, string> = {}, duet: readonly string[] = source) {
    const child = spawn(folder, ['serve'], { LIMIT_LAG: PATIENCE_MS, ...env }, duet);
    const { promise, resolve, reject } = Promise.withResolvers<Server & { readonly url: string }>();
    const server: Server = new Server(child, (url) => resolve(Object.assign(server, { url })), reject);
    return { server, started: promise };
  }

  async #follow(started: (url: string) => void): Promise<void> {
    let rest = '';
    for await (const chunk of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const entry = JSON.parse(line);
        this.log.push(entry);
        if (entry.event === 'started') started(entry.url);
      }
    }
  }

  get pid(): number {
    return this.#child.pid;
  }

  signal(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL' | 'SIGHUP'): void {
    this.#child.kill(signal);
  }

  /** The exit code, once everything it logged was read. */
  async exited(): Promise<number> {
    const code = await this.#child.exited;
    await this.#finished;
    return code;
  }

  /** Waits for a log entry, the first of its kind or a later one, at most twenty seconds. */
  async logged(event: string, count = 1): Promise<any> {
    for (let tries = 0; tries < 2000; tries++) {
      const entry = this.log.filter((each) => each.event === event)[count - 1];
      if (entry) return entry;
      await Bun.sleep(10);
    }
    throw new Error(`"${event}" was not logged ${count} times`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#child.exited;
  }
}

/** A connection that sends exactly what it is told to. */
export async function connect(url: string) {
  const { hostname, port } = new URL(url);
  const socket = net.connect(Number(port), hostname);
  let received = '';
  const begun = new Promise<void>((resolve) => {
    socket.on('data', (chunk) => {
      received += chunk;
      resolve();
    });
  });
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => resolve());
    socket.on('error', () => resolve());
  });
  await new Promise<void>((resolve) => socket.on('connect', () => resolve()));
  return {
    send: (text: string) => socket.write(text),
    end: () => socket.end(),
    destroy: () => socket.destroy(),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    /** The first of an answer has come. */
    begun: () => begun,
    /** The other side has read what was sent; where the system does not tell, it had a moment for it. */
    async taken() {
      await new Promise<void>((resolve) => socket.write('', () => resolve()));
      if (process.platform !== 'linux') return Bun.sleep(100);
      for (let tries = 0; tries < 2000 && unread(Number(port), socket.localPort ?? 0); tries++)
        await Bun.sleep(10);
    },
    /** Everything that came until the server closed the connection. */
    answer: async () => {
      await closed;
      return received;
    },
  };
}

/** Whether a socket of this machine has got something from another that its process has not read. */
function unread(port: number, from: number): boolean {
  const lines = ['tcp', 'tcp6'].flatMap((name) => readFileSync(`/proc/net/${name}`, 'utf8').split('\n'));
  const portOf = (address = '') => Number.parseInt(address.split(':')[1] ?? '', 16);
  const found = lines
    .map((line) => line.trim().split(/\s+/))
    .find(([, local, remote]) => portOf(local) === port && portOf(remote) === from);
  return found !== undefined && !found[4]?.endsWith(':00000000');
}

/** Whether a process runs. Orphans that nobody collects stay in the table of processes as zombies, and do not. */
export function alive(pid: number): boolean {
  try {
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** The processes that a process has started with this word among their arguments. */
export function childrenOf(pid: number, word: string): number[] {
  const { stdout } = Bun.spawnSync(['ps', '-A', '-o', 'pid=,ppid=,args=']);
  return stdout
    .toString()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, parent, ...args]) => Number(parent) === pid && args.includes(word))
    .map(([own]) => Number(own));
}

/** What a server answers to a write through each door. */
export async function throughBothDoors({ url }: { readonly url: string }): Promise<unknown[]> {
  const post = (path: string, body: unknown) =>
    fetch(url + path, { method: 'POST', headers: JSON_HEADERS, body: JSON.stringify(body) });
  const rest = await post('/notes', { title: 'by REST' });
  const query = 'mutation { createNote(title: "by GraphQL") { title } }';
  const graphql = await post('/graphql', { query });
  return [rest.status, await graphql.json()];
}

export const written = [201, { data: { createNote: { title: 'by GraphQL' } } }];
