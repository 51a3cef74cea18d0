/** What `npm run release` makes works on a machine that has Node and npm, and nothing else. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import packageFile from '../../package.json' with { type: 'json' };
import { JSON_HEADERS } from '../app.ts';
import { alive, childrenOf, Folder, Server, throughBothDoors, written } from '../process.ts';
import { Registry } from '../registry.ts';

const project = join(import.meta.dir, '../..');
/** A copy is packed: to pack builds the console and the bundle anew, from which other tests are served. */
const copy = mkdtempSync(join(tmpdir(), 'duet-release-'));
const release = join(copy, 'dist/release');
const tarball = join(release, `duet-server-${packageFile.version}.tgz`);

const home = mkdtempSync(join(tmpdir(), 'duet-home-'));
/** Folders of programs: Node alone, and what npm needs, which runs its scripts in a shell. */
const [withNode, withNpm] = [join(home, 'node'), join(home, 'npm')];
const registry = new Registry();
const env = {
  HOME: home,
  PATH: withNpm,
  npm_config_registry: registry.url,
  npm_config_cache: join(home, 'cache'),
  npm_config_audit: 'false',
  npm_config_fund: 'false',
};

async function run(command: string[], cwd: string, environment: Record<string, string>): Promise<string> {
  const child = Bun.spawn(command, { cwd, env: environment, stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr, exit] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (exit !== 0) throw new Error(`${command.join(' ')} ends with ${exit}:\n${stdout}${stderr}`);
  return stdout;
}

const MAKING_MS = 300_000;

beforeAll(async () => {
  for (const [folder, programs] of [
    [withNode, ['node']],
    [withNpm, ['node', 'npm', 'npx', 'sh']],
  ] as const) {
    mkdirSync(folder);
    for (const name of programs) symlinkSync(realpathSync(Bun.which(name) ?? name), join(folder, name));
  }
  const made = ['.git', 'dist', 'node_modules'].map((name) => join(project, name));
  // What the benchmark has installed is more than all the rest, and no part of a release.
  const isNeeded = (path: string) => path.startsWith(join(project, 'src')) || !path.endsWith('/node_modules');
  cpSync(project, copy, { recursive: true, filter: (path) => !made.includes(path) && isNeeded(path) });
  symlinkSync(join(project, 'node_modules'), join(copy, 'node_modules'));
  await run([process.execPath, 'run', 'release'], copy, process.env as Record<string, string>);
}, MAKING_MS);

afterAll(async () => {
  await registry[Symbol.asyncDispose]();
  for (const folder of [home, copy, installed.path]) rmSync(folder, { recursive: true });
});

/** Where it is installed for two tests: npm takes seconds to unpack the runtime. */
const installed = Folder.empty();
let installing: Promise<string> | undefined;

function install(): Promise<string> {
  installing ??= run(['npm', 'install', tarball], installed.path, env);
  return installing;
}

/** It serves both doors and the console, and writes more than is written in the process that serves. */
async function expectService(server: Server & { readonly url: string }): Promise<void> {
  // Long enough for whatever starts beside the first answers.
  for (let round = 0; round < 30; round++) {
    expect(await throughBothDoors(server)).toEqual(written);
    await Bun.sleep(10);
  }
  const html = await (await fetch(`${server.url}/`)).text();
  const files = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, file = '']) => file);
  expect(files.length).toBeGreaterThan(2);
  for (const file of [...files, '/_console/graphiql', '/openapi.json', '/schema.graphql'])
    expect([file, (await fetch(server.url + file)).status]).toEqual([file, 200]);
  const tasks = Array.from({ length: 2500 }, (_, index) => ({ title: `task ${index}` }));
  const ask = async (query: string, variables = {}) => {
    const body = JSON.stringify({ query, variables });
    return (await fetch(`${server.url}/graphql`, { method: 'POST', headers: JSON_HEADERS, body })).json();
  };
  await ask('mutation($tasks: [TaskInput!]!) { createTasks(records: $tasks) { id } }', { tasks });
  const { data } = (await ask('mutation { deleteTasks(where: {}, atMost: 10000) { id } }')) as any;
  expect(data.deleteTasks.length).toBeGreaterThan(2500);
  // In a process that is its writer, which stays for a while.
  expect(childrenOf((await server.logged('started')).pid, 'writer').length).toBe(1);
  server.signal('SIGTERM');
  expect(await server.exited()).toBe(0);
  expect(server.log.at(-1).event).toBe('stopped');
  expect(server.log.filter(({ level }) => level === 'error')).toEqual([]);
}

test('the checksums are those of the package and the executables', async () => {
  const told = await run(['sha256sum', '--check', 'SHA256SUMS'], release, {
    PATH: process.env['PATH'] ?? '',
  });
  const files = readdirSync(release).filter((file) => file !== 'SHA256SUMS');
  expect(files.length).toBeGreaterThan(1);
  expect(told).toBe(
    files
      .sort()
      .map((file) => `${file}: OK\n`)
      .join(''),
  );
});

test(
  'in an empty folder: npm install, npx duet init, npx duet serve',
  async () => {
    const folder = installed;
    await install();
    const modules = readdirSync(folder.file('node_modules')).filter((name) => !name.startsWith('.'));
    expect(modules.sort()).toEqual(['@oven', 'bun', 'duet-server', 'graphql', 'jose']);
    const shipped = [...new Bun.Glob('**/*').scanSync(folder.file('node_modules/duet-server'))];
    expect(shipped.filter((file) => /(?<!\.d)\.tsx?$/.test(file))).toEqual([]);
    expect(shipped).toContain('src/schema/directives.graphql');
    for (const word of ['version', '--version'])
      expect(await run(['npx', 'duet', word], folder.path, env)).toBe(`${packageFile.version}\n`);
    expect(await run(['npx', 'duet', 'init'], folder.path, env)).toContain('npx duet dev');

    await using server = await Server.start(folder, env, [join(withNpm, 'npx'), 'duet']);
    const ask = async (path: string) => (await fetch(server.url + path)).json();
    expect(await ask('/books/3')).toEqual({ id: 3, title: 'Dune', pages: 412, authorId: 2 });
    const query = encodeURIComponent('{ author(id: 2) { books { title } } }');
    expect(await ask(`/graphql?query=${query}`)).toEqual({
      data: { author: { books: [{ title: 'Dune' }] } },
    });
    expect(await (await fetch(server.url)).text()).toStartWith('<!');
    // npx does not pass on what kills it.
    process.kill((await server.logged('started')).pid, 'SIGTERM');
    expect(await server.exited()).toBe(0);
  },
  MAKING_MS,
);

/** A program of a user, of which the last line must not compile. */
const program = `
import { createDuet, type Duet } from 'duet-server';

const sdl = 'type Note @resource { id: ID!  title: String! }';
const open = (file: string): Promise<Duet> => createDuet({ schema: sdl, database: 'sqlite:' + file, limitBody: 100 });
const [one, other] = await Promise.all([open('one.db'), open('other.db')]);
const post = (body: string) =>
  one.fetch(new Request('http://x/notes', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }));
const statuses = [await post('{"title":"short"}'), await post(JSON.stringify({ title: 'x'.repeat(200) }))];
const get = async (duet: Duet, path: string) => (await duet.fetch(new Request('http://x' + path))).text();
console.log(JSON.stringify([
  statuses.map(({ status }) => status),
  JSON.parse(await get(one, '/notes')),
  JSON.parse(await get(other, '/notes')),
  (await get(one, '/')).slice(0, 2),
]));
await Promise.all([one.close(), other.close()]);
// @ts-expect-error
const wrong: Parameters<typeof createDuet>[0] = { schema: sdl, limitBody: 'many' };
`;

test(
  'a Bun program imports it, with its types; one in Node is told why it cannot',
  async () => {
    await install();
    using folder = Folder.empty();
    symlinkSync(installed.file('node_modules'), folder.file('node_modules'));
    await Bun.write(folder.file('program.ts'), program);
    await Bun.write(folder.file('program.mjs'), "import { createDuet } from 'duet-server'; createDuet({});");
    const node = { PATH: withNode };
    const [said, told] = [
      await run([folder.file('node_modules/.bin/bun'), 'program.ts'], folder.path, node),
      Bun.spawnSync([join(withNode, 'node'), 'program.mjs'], {
        cwd: folder.path,
        env: node,
      }).stderr.toString(),
    ];
    expect(JSON.parse(said)).toEqual([[201, 413], [{ id: 1, title: 'short' }], [], '<!']);
    expect(told).toContain('start this program with `bun`');
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'esnext', '--module', 'preserve'];
    const tsc = join(project, 'node_modules/.bin/tsc');
    await run([tsc, ...options, '--types', '', 'program.ts'], folder.path, { PATH: withNode });
  },
  MAKING_MS,
);

test(
  'a global install serves with Node alone in the PATH, even if install scripts are not run',
  async () => {
    using folder = new Folder();
    const prefix = folder.file('global');
    await run(
      ['npm', 'install', '--ignore-scripts', '--global', '--prefix', prefix, tarball],
      folder.path,
      env,
    );
    const duet = [join(prefix, 'bin/duet')];
    await using server = await Server.start(folder, { PATH: withNode }, duet);
    await expectService(server);
    await using several = await Server.start(folder, { PATH: withNode, WORKERS: '2' }, duet);
    expect(await throughBothDoors(several)).toEqual(written);
    // Nobody could stop a server whose starter was killed.
    await several.logged('started', 2);
    const workers: number[] = several.log.flatMap(({ event, pid }) => (event === 'started' ? [pid] : []));
    several.signal('SIGKILL');
    for (let tries = 0; tries < 1000 && workers.some(alive); tries++) await Bun.sleep(10);
    expect([workers.length, workers.filter(alive)]).toEqual([2, []]);
  },
  MAKING_MS,
);

test(
  'without its Bun it says what to do',
  async () => {
    using folder = new Folder();
    await run(['npm', 'install', '--ignore-scripts', '--omit=optional', tarball], folder.path, env);
    const command = () =>
      Bun.spawnSync([folder.file('node_modules/.bin/duet'), 'version'], { env: { PATH: withNode } });
    const told = () => [command().exitCode, command().stderr.toString()];
    expect(told()).toEqual([1, expect.stringContaining('npm rebuild bun')]);
    rmSync(folder.file('node_modules/bun'), { recursive: true });
    expect(told()).toEqual([1, expect.stringContaining('`npm install duet-server` brings it along')]);
  },
  MAKING_MS,
);

test('the executable serves with nothing beside it', async () => {
  const [file = ''] = readdirSync(release).filter((name) =>
    name.includes(`-${process.platform}-${process.arch}`),
  );
  expect(existsSync(join(release, file))).toBe(true);
  using folder = new Folder();
  await using server = await Server.start(folder, { PATH: '' }, [join(release, file)]);
  await expectService(server);
  using empty = Folder.empty();
  const init = Bun.spawnSync([join(release, file), 'init', '--example', 'shop'], { cwd: empty.path });
  expect(init.stdout.toString()).toContain('\n  duet dev\n');
  await using shop = await Server.start(empty, { PATH: '' }, [join(release, file)]);
  expect((await fetch(`${shop.url}/orders?include=lines.product`)).status).toBe(200);
});

const isRoot = process.platform === 'linux' && process.getuid?.() === 0;

test.skipIf(!isRoot)(
  'the executable serves in a root that has nothing but a schema, the libraries of C, /proc and /dev',
  async () => {
    using root = new Folder();
    const executable = join(release, `duet-${packageFile.version}-${process.platform}-${process.arch}`);
    cpSync(executable, root.file('duet'));
    const libraries =
      Bun.spawnSync(['ldd', executable])
        .stdout.toString()
        .match(/\/\S+\.so\S*/g) ?? [];
    for (const library of libraries) cpSync(realpathSync(library), root.file(library));
    for (const folder of ['proc', 'dev']) mkdirSync(root.file(folder));
    // In a namespace of its own: what is mounted goes when the server does.
    const inside =
      'mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && exec chroot "$0" /duet "$@"';
    const duet = ['unshare', '--mount', '--', 'sh', '-c', inside, root.path];
    const PATH = process.env['PATH'] ?? '';
    await using server = await Server.start(root, { PATH }, duet);
    await expectService(server);
    expect(readdirSync(root.path).sort()).toContain('duet.db');
  },
);
