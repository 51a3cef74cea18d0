/** Runs all tests, several files side by side, with one PostgreSQL for all of them; with arguments, what `bun test` makes of those. */

import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { BUILT } from './console/build.ts';
import durations from './durations.json' with { type: 'json' };
import { dropAll, endAll, Postgres, RUN, SERVER } from './postgres.ts';

/** What something costs, in time or in calls, decides in these, and whatever uses the same processors adds to it. */
const alone = [
  'test/graphql/worst.test.ts',
  'test/http/system-calls.test.ts',
  'test/storage/batched-finder.test.ts',
  'test/storage/list-bounds.test.ts',
  'test/storage/scans-rules.test.ts',
];

/** These take a processor for less than half of their time, and wait for clocks and processes otherwise. The longest first. */
const waiting = [
  'test/conformance/jobs.test.ts',
  'test/cli/jobs.test.ts',
  'test/conformance/webhooks.test.ts',
  'test/engine/constant.test.ts',
  'test/cli/webhook.test.ts',
  'test/http/told.test.ts',
  'test/http/rim.test.ts',
  'test/conformance/journal-streams.test.ts',
];

/** Most files wait at times: for a database, a browser, a process that starts. */
const LANES = availableParallelism() + 1;

const project = join(import.meta.dir, '..');
const bun = [process.execPath, '--no-env-file'];
/** Nothing that a test has started outlives it, even when all of this is killed. */
const bunTest = [...bun, 'test', '--no-orphans', '--timeout', '60000'];

/**
 * The highest tier of the compiler takes more than it gives back within minutes; what is started by tests, see process.ts, has it.
 */
const COMPILER = { BUN_JSC_useFTLJIT: '0' };

/** How every run ends: what came of its tests, line by line, then how many there were. */
const SUMMARY = /\n((?: *\d+ [a-z() ]+\n)+)Ran (\d+) tests? across \d+ files?\. \[[^\n]*\n$/;
const BANNER = /^bun test v[^\n]*\n/;

/** In seconds. */
const measured: Record<string, number> = {};
const FEW = 3;

/** The files that take more than a few seconds, the longest first. */
function longest(): Record<string, number> {
  const long = Object.entries(measured).filter(([, seconds]) => seconds > FEW);
  return Object.fromEntries(long.toSorted(([, one], [, other]) => other - one));
}

const counts = new Map([
  ['pass', 0],
  ['fail', 0],
]);
let tests = 0;
/** Files that failed, and what they told besides what passed. */
const failed = new Map<string, string>();

function count(what: string, more: number): void {
  counts.set(what, (counts.get(what) ?? 0) + more);
}

let isStopping = false;

async function run(
  command: string[],
  env: Record<string, string | undefined> = process.env,
  output: 'inherit' | number = 'inherit',
): Promise<number | NodeJS.Signals> {
  const child = Bun.spawn(command, { cwd: project, env, stdin: 'inherit', stdout: output, stderr: output });
  const exit = await child.exited;
  // Nothing is told and nothing begun any more.
  if (isStopping) await new Promise(() => {});
  return child.signalCode ?? exit;
}

/**
 * Runs files one after another in one process, which loads what they share, and makes it fast, once for all of them.
 * What they tell is printed when the last is done, in one piece; what they counted is added up.
 */
async function runFiles(files: readonly string[], env: Record<string, string | undefined>, folder: string) {
  const log = join(folder, `${files[0]?.replaceAll('/', '-')}`);
  // Both streams end in the same, in the order in which they were written.
  const output = openSync(log, 'a');
  const begun = performance.now();
  const exit = await run([...bunTest, ...files.map((file) => `./${file}`)], env, output);
  closeSync(output);
  for (const file of files) measured[file] = Math.round((performance.now() - begun) / 1000);
  const told = readFileSync(log, 'utf8').replace(BANNER, '');
  const [summary, lines, ran] = SUMMARY.exec(told) ?? [];
  const rest = summary === undefined ? told : told.slice(0, -summary.length);
  process.stderr.write(rest);
  for (const [, number, what = ''] of lines?.matchAll(/(\d+) (.+)/g) ?? []) count(what, Number(number));
  tests += Number(ran ?? 0);
  if (exit === 0 && summary !== undefined) return;
  const bad = blamed(files, rest, summary !== undefined);
  for (const [file, of] of bad) failed.set(file, of.replace(/^\(pass\) .*\n/gm, ''));
  if (/^ *[1-9]\d* fail$/m.test(lines ?? '')) return;
  // What is cut short has counted no failure.
  count('fail', bad.size);
  for (const file of bad.keys()) process.stderr.write(`(fail) ${file} ended with ${exit}\n`);
}

/** The files of a run that failed of which nothing shows that they are good, and what they told. */
function blamed(files: readonly string[], told: string, isWhole: boolean): Map<string, string> {
  // At the end failures are told once more, whosever they are.
  const [own = ''] = told.split(/^\d+ tests failed:\n/m);
  const [, ...parts] = own.split(/^(test\/\S+\.test\.ts):\n/m);
  const sections = new Map(
    files.map((file) => [
      file,
      parts.includes(file) ? (parts[parts.indexOf(file) + 1] ?? '') : 'It never began.\n',
    ]),
  );
  const isGood = (file: string) =>
    parts.includes(file) &&
    // The last that began may have ended the process; those behind it never began.
    (isWhole || parts.at(-2) !== file) &&
    !/^(\(fail\)|error:|# Unhandled error)/m.test(sections.get(file) ?? '');
  const bad = [...sections].filter(([file]) => !isGood(file));
  return new Map(parts.length > 0 && bad.length > 0 ? bad : files.map((file) => [file, told]));
}

const known = (file: string) => (durations as Record<string, number>)[file] ?? 0;

/** Seconds: what takes no longer shares a process with its neighbours, as to begin, and to become fast, takes most of its time. */
const SHORT = 7;
/** Seconds: how long all of them take that share one. */
const TOGETHER = 24;
/** Seconds: what a file takes, or one of those of which it is not known. */
const weight = (file: string) => known(file) || 1.7;

/** Seconds: how long all of them take that share a browser, which takes two to start and to load the console once. */
const BROWSING = 120;

/** Files in their order, as many to a process as take so many seconds. */
function filled(files: readonly string[], seconds: number): string[][] {
  const all: string[][] = [];
  let left = 0;
  for (const file of files) {
    left -= weight(file);
    if (left < 0) {
      all.push([]);
      left = seconds - weight(file);
    }
    all.at(-1)?.push(file);
  }
  return all;
}

/** The longest first, so that none is left over when all others are done; then the short ones, several at a time. */
function batches(files: readonly string[]): string[][] {
  const isBrowsing = (file: string) => file.startsWith('test/console/');
  const browsing = files.filter(isBrowsing).toSorted((one, other) => known(other) - known(one));
  const others = files.filter((file) => !isBrowsing(file));
  const long = others.filter((file) => known(file) > SHORT).map((file) => [file]);
  const seconds = (batch: readonly string[]) => batch.reduce((sum, file) => sum + weight(file), 0);
  const short = others.filter((file) => known(file) <= SHORT);
  return [
    ...[...long, ...filled(browsing, BROWSING)].toSorted((one, other) => seconds(other) - seconds(one)),
    ...filled(
      short.filter((file) => known(file) > 0),
      TOGETHER,
    ),
    ...filled(
      short.filter((file) => known(file) === 0),
      TOGETHER,
    ),
  ];
}

async function runAll(): Promise<boolean> {
  // Tests start the command as it is installed: without this, each would load the sources, which takes three times as long.
  const exits = await Promise.all(['console', 'bundle'].map((script) => run([...bun, 'run', script])));
  if (exits.some((exit) => exit !== 0)) return false;
  const begun = performance.now();
  const server = process.env[SERVER] ?? (await Postgres.start()).url();
  const id = `duet_test_${crypto.randomUUID().slice(0, 8)}`;
  const folder = mkdtempSync(join(tmpdir(), 'duet-tests-'));
  process.on('exit', () => rmSync(folder, { recursive: true }));
  const files = [...new Bun.Glob('test/**/*.test.ts').scanSync(project)].sort();
  let begins = 0;
  const runBatch = async (batch: readonly string[], more: Record<string, string> = {}) => {
    const own = `${id}_${++begins}`;
    const env = { ...process.env, [SERVER]: server, [RUN]: own, [BUILT]: 'yes', ...more };
    await runFiles(batch, env, folder);
    // Thousands of databases would take more room than there is in memory, and somebody else's server is left as it was.
    await dropAll(server, own);
  };
  const eachBySelf = (some: readonly string[]) => some.map((file) => [file]);
  const shared = files.filter((file) => !alone.includes(file) && !waiting.includes(file));
  const work = isMeasured ? eachBySelf(shared) : batches(shared);
  const lane = async (queue: string[][]) => {
    for (let batch = queue.shift(); batch; batch = queue.shift()) await runBatch(batch, COMPILER);
  };
  const working = Array.from({ length: LANES }, () => lane(work));
  // Beside them, one after another.
  await Promise.all([...working, lane(eachBySelf(waiting))]);
  for (const file of alone) await runBatch([file]);

  const lines = [...counts].map(([what, number]) => ` ${number} ${what}\n`).join('');
  const took = Math.round((performance.now() - begun) / 1000);
  // Told once more where nobody has to look for it among thousands.
  for (const [file, told] of failed) process.stderr.write(`\nFailed: ${file}\n${told}`);
  process.stderr.write(`\n${lines}Ran ${tests} tests across ${files.length} files. [${took}s]\n`);
  return failed.size === 0;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, async () => {
    isStopping = true;
    await endAll();
    process.exit(1);
  });

const args = process.argv.slice(2);
const isMeasured = args.join() === '--measure';
const isGood = args.length === 0 || isMeasured ? await runAll() : (await run([...bunTest, ...args])) === 0;
await endAll();
if (isMeasured)
  await Bun.write(join(import.meta.dir, 'durations.json'), `${JSON.stringify(longest(), null, 2)}\n`);
process.exit(isGood ? 0 : 1);
