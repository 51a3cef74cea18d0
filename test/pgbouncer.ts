/** Debian's PgBouncer in transaction mode before a PostgreSQL, so that sessions of the server are shared for real. */

import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, isRoot, NOBODY, unprivileged } from './postgres.ts';

/** Where Debian has it, which is not on everybody's path. */
const program = Bun.which('pgbouncer', { PATH: `${process.env['PATH']}:/usr/sbin` });

export const hasPgBouncer = program !== null;

export interface PoolerOptions {
  /** Sessions of the server, for each database. */
  readonly sessions: number;
  /** Parameters that it neither refuses nor passes on. */
  readonly ignored?: string;
  readonly mode?: 'transaction' | 'session' | 'statement';
}

export class PgBouncer implements AsyncDisposable {
  readonly #folder: string;
  readonly #process: Bun.Subprocess;
  readonly port: number;

  private constructor(folder: string, port: number, process: Bun.Subprocess) {
    this.#folder = folder;
    this.port = port;
    this.#process = process;
  }

  static async start(
    target: number,
    { sessions, ignored = '', mode = 'transaction' }: PoolerOptions,
  ): Promise<PgBouncer> {
    if (program === null) throw new Error('install pgbouncer: these tests need it');
    const folder = mkdtempSync(join(tmpdir(), 'duet-pgbouncer-'));
    if (isRoot) chownSync(folder, NOBODY, NOBODY);
    const port = freePort();
    const settings = [
      '[databases]',
      `* = host=127.0.0.1 port=${target}`,
      '[pgbouncer]',
      `listen_port = ${port}`,
      'listen_addr = 127.0.0.1',
      'unix_socket_dir =',
      'auth_type = trust',
      `auth_file = ${join(folder, 'users')}`,
      `pool_mode = ${mode}`,
      `default_pool_size = ${sessions}`,
      'max_client_conn = 500',
      ...(ignored === '' ? [] : [`ignore_startup_parameters = ${ignored}`]),
    ];
    writeFileSync(join(folder, 'users'), '"duet" ""\n');
    writeFileSync(join(folder, 'settings'), settings.join('\n'));
    const child = Bun.spawn(unprivileged([program, join(folder, 'settings')]), {
      stdout: 'ignore',
      stderr: Bun.file(join(folder, 'log')),
    });
    const bouncer = new PgBouncer(folder, port, child);
    running.add(bouncer);
    for (let tries = 0; tries < 300; tries++) {
      const socket = await Bun.connect({ hostname: '127.0.0.1', port, socket: { data() {} } }).catch(
        () => {},
      );
      if (socket) {
        socket.end();
        return bouncer;
      }
      await Bun.sleep(20);
    }
    throw new Error(await Bun.file(join(folder, 'log')).text());
  }

  /** The same database, reached through it. */
  through(url: string): string {
    return url.replace(/:\d+\//, `:${this.port}/`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    running.delete(this);
    this.#process.kill('SIGKILL');
    await this.#process.exited;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const running = new Set<PgBouncer>();

/** Ends every one that is still there. */
export async function endAllPoolers(): Promise<void> {
  for (const pooler of [...running]) await pooler[Symbol.asyncDispose]();
}
