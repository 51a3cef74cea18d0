/** A Redis of a test's own, which can be stopped, frozen and started again. */

import net from 'node:net';
import { RedisClient } from 'bun';

export const hasRedis = Bun.which('redis-server') !== null;

export class Redis implements AsyncDisposable {
  readonly port: number;
  #process: Bun.Subprocess | undefined;

  private constructor(port: number) {
    this.port = port;
  }

  static async start(): Promise<Redis> {
    const redis = new Redis(freePort());
    await redis.start();
    return redis;
  }

  get url(): string {
    return `redis://:hush@127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const options = { port: this.port, bind: '127.0.0.1', save: '', appendonly: 'no', requirepass: 'hush' };
    const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
    this.#process = Bun.spawn(['redis-server', ...flags], { stdout: 'ignore', stderr: 'ignore' });
    for (let tries = 0; tries < 500 && !(await listens(this.port)); tries++) await Bun.sleep(10);
  }

  /** How often a limit was asked for, or charged, since it started. */
  async asked(): Promise<number> {
    const client = new RedisClient(this.url);
    try {
      const told = String(await client.send('INFO', ['commandstats']));
      return Number(/cmdstat_evalsha:calls=(\d+)/.exec(told)?.[1] ?? 0);
    } finally {
      client.close();
    }
  }

  /** It neither answers nor hangs up. */
  freeze(): void {
    this.#process?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process?.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    this.#process?.kill('SIGKILL');
    await this.#process?.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

function freePort(): number {
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  probe.stop();
  return probe.port;
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.on('connect', () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}
