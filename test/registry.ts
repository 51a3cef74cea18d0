/** A registry on this machine, which has what the package needs as it is installed here: a test must not need the network. */

import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const modules = join(import.meta.dir, '../node_modules');

/** The package that has the program of this platform, which the install script of `bun` has moved out of it. */
const [platform = ''] = [...new Bun.Glob('bun-*/package.json').scanSync(join(modules, '@oven'))]
  .map(dirname)
  .filter((name) => !existsSync(join(modules, '@oven', name, 'bin/bun')));

export class Registry implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'duet-registry-'));
  readonly #server: Bun.Server<undefined>;
  /** As every registry tells them: npm then takes from its cache what it has fetched before. */
  readonly #integrity = new Map<string, string>();

  constructor() {
    for (const name of ['graphql', 'jose', 'bun', `@oven/${platform}`]) this.#pack(name);
    this.#server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: ({ url }) => this.#answer(decodeURIComponent(new URL(url).pathname.slice(1))),
    });
  }

  get url(): string {
    return this.#server.url.href;
  }

  /** The package as its authors have published it: the program has not been moved yet. */
  #pack(name: string): void {
    const copy = join(this.#folder, name, 'package');
    mkdirSync(dirname(copy), { recursive: true });
    cpSync(join(modules, name), copy, { recursive: true, filter: (path) => !path.endsWith('.exe') });
    if (name === 'bun')
      for (const program of ['bun.exe', 'bunx.exe'])
        writeFileSync(join(copy, 'bin', program), 'echo not installed yet\n');
    if (name.startsWith('@oven/')) symlinkSync(process.execPath, join(copy, 'bin/bun'));
    const { exitCode, stderr } = Bun.spawnSync(['tar', '-chf', '../package.tar', '.'], { cwd: copy });
    if (exitCode !== 0) throw new Error(stderr.toString());
    const packed = readFileSync(join(this.#folder, name, 'package.tar'));
    this.#integrity.set(name, `sha512-${new Bun.CryptoHasher('sha512').update(packed).digest('base64')}`);
  }

  async #answer(path: string): Promise<Response> {
    const name = path.replace(/\/package\.tar$/, '');
    const file = Bun.file(join(this.#folder, path));
    if (path !== name) return new Response(file);
    const manifest = Bun.file(join(this.#folder, name, 'package/package.json'));
    if (!(await manifest.exists())) return new Response('{}', { status: 404 });
    const { version, ...rest } = await manifest.json();
    const dist = { tarball: `${this.url}${name}/package.tar`, integrity: this.#integrity.get(name) };
    const versions = { [version]: { version, ...rest, dist } };
    return Response.json({ name, 'dist-tags': { latest: version }, versions });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
    rmSync(this.#folder, { recursive: true });
  }
}
