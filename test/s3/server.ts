/** A server of the S3 protocol from npm, which is installed beside this file when it is first needed. */

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const here = import.meta.dir;

const program = `
  const S3rver = require('s3rver');
  const [directory, name] = process.argv.slice(1);
  const options = { address: '127.0.0.1', port: 0, silent: true, directory, configureBuckets: [{ name }] };
  new S3rver(options).run().then(({ port }) => console.log(port));
  process.stdin.on('end', () => process.exit()).resume();
`;

export class S3 implements AsyncDisposable {
  /** What a client needs to know. */
  readonly env: Record<string, string>;
  readonly #folder: string;
  readonly #child: Bun.Subprocess<'pipe', 'pipe', 'inherit'>;

  private constructor(folder: string, child: Bun.Subprocess<'pipe', 'pipe', 'inherit'>, port: string) {
    this.#folder = folder;
    this.#child = child;
    // The one account that it has.
    const account = { S3_ACCESS_KEY_ID: 'S3RVER', S3_SECRET_ACCESS_KEY: 'S3RVER' };
    this.env = { S3_ENDPOINT: `http://127.0.0.1:${port}`, S3_REGION: 'us-east-1', ...account };
  }

  static async start(bucket: string): Promise<S3> {
    if (!existsSync(join(here, 'node_modules/s3rver'))) {
      const { exitCode, stderr } = Bun.spawnSync(
        ['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund'],
        {
          cwd: here,
        },
      );
      if (exitCode !== 0) throw new Error(`s3rver cannot be installed: ${stderr}`);
    }
    const folder = mkdtempSync(join(tmpdir(), 'duet-s3-'));
    const stdio = ['pipe', 'pipe', 'inherit'] as const;
    const child = Bun.spawn(['node', '-e', program, folder, bucket], { cwd: here, stdio: [...stdio] });
    for await (const chunk of child.stdout)
      return new S3(folder, child, Buffer.from(chunk).toString().trim());
    throw new Error('s3rver did not start');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill();
    await this.#child.exited;
    rmSync(this.#folder, { recursive: true });
  }
}
