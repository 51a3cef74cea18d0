/** The `duet` command: the only reader of arguments and environment. */

import packageFile from '../../package.json' with { type: 'json' };
import { StartFault } from '../app/deployment.ts';
import type { Dev } from '../app/options.ts';
import { self } from '../app/self.ts';
import { Log } from '../base/log.ts';
import type { Observe } from '../base/observe.ts';
import { type Config, flagOf, readConfig } from '../config/config.ts';
import { settings } from '../config/settings.ts';
import { serveStatements } from '../storage/sqlite/statement-process.ts';
import { backingUp } from './backing.ts';
import { BACKUP_USAGE, backup, readBackupOptions, splitBackupArguments } from './commands/backup.ts';
import { check } from './commands/check.ts';
import { client, FROM_OPTION } from './commands/client.ts';
import { diff } from './commands/diff.ts';
import { explainAccess, ROLE_OPTION } from './commands/explain-access.ts';
import { EXAMPLE_OPTION, INIT_USAGE, init } from './commands/init.ts';
import { jobsCommand, splitJobsArguments } from './commands/jobs.ts';
import { JOURNAL_USAGE, journalCommand, splitJournalArguments } from './commands/journal.ts';
import { keyCommand, splitKeyArguments } from './commands/keys.ts';
import { migrate, migrateAndPrune, type Terminal } from './commands/migrate.ts';
import { recompute } from './commands/recompute.ts';
import { restore } from './commands/restore.ts';
import { exportRecords, importRecords } from './commands/transfer.ts';
import { followTypes, TYPES_CHECK, types } from './commands/types.ts';
import { splitWebhookArguments, webhookCommand } from './commands/webhook.ts';
import { dev } from './dev.ts';
import { takeOption } from './options.ts';
import { nobody, print, tell, terminal } from './output.ts';
import { prepare, reloader } from './reload.ts';
import { serve, serveWaiting } from './serve.ts';
import { type Apply, endWithParent, untilStopped } from './signals.ts';
import { digestOf, logicPlace, sourcesOf } from './sources.ts';
import { onReload, superviseWorkers, tellParent, workerPeers } from './workers.ts';

const WRONG_USE = 2;
/** As the shell reports a program that SIGPIPE has ended. */
const READER_LEFT = 141;

/** Those that log to standard output: the others have something else to write there. */
const SERVING: ReadonlySet<string> = new Set(['serve', 'worker', 'dev', 'dev-server', 'prepare']);

interface Command {
  readonly usage: string;
  /** Commands without one are Duet's own business. */
  readonly doc: string | undefined;
  /** Words that only this command takes. */
  readonly words?: readonly string[];
  readonly operand?: string;
  /** Takes its own words out of the arguments; what it leaves are settings. */
  readonly split?: (args: readonly string[]) => { readonly own: string[]; readonly rest: string[] };
  readonly run: (given: Given) => Promise<unknown>;
}

interface Given {
  readonly config: Config;
  readonly args: readonly string[];
  readonly words: ReadonlySet<string>;
  readonly operand: string;
  /** What `split` took. */
  readonly own: readonly string[];
  readonly observe: Observe;
  /** What the settings are now, and for the log from now on; throws a StartFault. */
  readonly reread: () => Config;
}

const commands: Readonly<Record<string, Command>> = {
  init: {
    usage: INIT_USAGE,
    doc: 'write schema.graphql, data.json and .gitignore to begin with, or a whole example',
    split: (args) => takeOption(EXAMPLE_OPTION, args),
    run: ({ own: [example] }) => init(example, print),
  },
  serve: {
    usage: 'serve',
    doc: 'serve the schema file over REST and GraphQL',
    run: (given) => {
      const { config, args, observe } = given;
      const start = async () => {
        const running =
          config.workers === 1
            ? await serve(config, observe)
            : await superviseWorkers(config, [...self(), 'worker', ...args], observe);
        return backingUp(running, config, self(), args, observe);
      };
      return untilStopped(observe, start, (apply) => reloading(given, apply));
    },
  },
  worker: {
    usage: 'worker',
    doc: undefined,
    run: async ({ config, observe, reread }) => {
      // Its parent, whom the signal is meant for, says when to reload.
      process.on('SIGHUP', () => {});
      const { reload } = await untilStopped(observe, () => serve(config, observe, { peers: workerPeers() }));
      onReload(() => reload(reread()).catch((cause) => observe({ event: 'failure', cause })));
      tellParent('ready');
    },
  },
  'dev-server': {
    usage: 'dev-server',
    doc: undefined,
    run: async (given) => {
      const { config, observe } = given;
      const dev: Dev = { faults: [], loads: 1 };
      const begin = async () => {
        try {
          return await serve(config, observe, { dev });
        } catch (error) {
          if (!(error instanceof StartFault) || config.introspection === 'off') throw error;
          dev.faults = error.message.split('\n');
          dev.loads = 0;
          const waiting = serveWaiting(config, observe, dev);
          for (const fault of dev.faults) tell(`duet: ${fault}`);
          tell(`duet: ${waiting.url} shows this, and how to go on`);
          return waiting;
        }
      };
      const { reload } = await untilStopped(observe, begin);
      // With the next change of a file it is started again.
      if (dev.loads === 0) return tellParent('waiting');
      onReload(
        reloading(given, reload, (faults) => {
          dev.faults = faults;
          if (faults.length === 0) dev.loads++;
          else for (const fault of faults) tell(`duet: ${fault}`);
        }),
      );
      tellParent('ready');
    },
  },
  prepare: {
    usage: 'prepare',
    doc: undefined,
    run: ({ config, observe }) => prepare(config, observe),
  },
  reader: {
    usage: 'reader FILE',
    doc: undefined,
    operand: 'FILE',
    run: async ({ operand }) => serveStatements(operand, 'reader'),
  },
  writer: {
    usage: 'writer FILE',
    doc: undefined,
    operand: 'FILE',
    run: async ({ operand }) => serveStatements(operand, 'writer'),
  },
  dev: {
    usage: 'dev',
    doc: 'serve, and follow the schema file and logic.ts; while they have faults, the last good ones are served',
    run: ({ config, args }) => {
      const logic = logicPlace(config);
      const files = [config.schema, config.data];
      const [code, digest] = [() => sourcesOf(logic), () => digestOf(config)];
      return dev({ files, logic, code, digest, generate: () => followTypes(config) }, args);
    },
  },
  check: {
    usage: 'check',
    doc: 'tell all that is wrong with the schema file and with logic.ts; no database is needed',
    run: ({ config }) => check(config, print),
  },
  types: {
    usage: `types [${TYPES_CHECK}]`,
    doc: 'write duet.gen.ts beside the schema file, the types of logic.ts; --check only says whether it is up to date',
    words: [TYPES_CHECK],
    run: ({ config, words }) => types(config, print, words.has(TYPES_CHECK)),
  },
  recompute: {
    usage: 'recompute TYPE.FIELD',
    doc: 'make a stored computed field anew in all records, in batches, after its function in logic.ts has changed',
    operand: 'TYPE.FIELD',
    run: ({ config, operand, observe }) =>
      recompute(operand, config, observe, { print, audience: terminal() }),
  },
  client: {
    usage: 'client [--from URL]',
    doc: 'print the typed client of the schema file, or of a server: duet client > duet.ts',
    split: (args) => takeOption(FROM_OPTION, args),
    run: ({ config, own }) => client(config, own, print),
  },
  diff: {
    usage: 'diff',
    doc: 'show what the schema file would change: tables, REST, GraphQL, rules',
    run: ({ config, observe }) => diff(config, observe, print),
  },
  migrate: {
    usage: 'migrate [--prune [--yes]]',
    doc: 'bring the tables to what the schema file asks for; --prune drops what it does not name, after asking',
    words: ['--prune', '--yes'],
    run: ({ config, words, observe }) => {
      const terminal: Terminal = { print, confirm: (question) => words.has('--yes') || confirm(question) };
      return (words.has('--prune') ? migrateAndPrune : migrate)(config, observe, terminal);
    },
  },
  export: {
    usage: 'export',
    doc: 'write every record and API key (as a hash) to standard output, as NDJSON; without the journal and webhooks',
    run: ({ config, observe }) => exportRecords(config, observe, process.stdout, terminal()),
  },
  import: {
    usage: 'import FILE',
    doc: 'store what is in such a file (- is standard input; it may be gzipped), all of it or nothing',
    operand: 'FILE',
    run: ({ config, operand, observe }) => importRecords(config, operand, observe, terminal()),
  },
  backup: {
    usage: BACKUP_USAGE,
    doc: 'copy everything to a file, a folder or s3://BUCKET/FOLDER/, while the service runs, and read it back',
    operand: 'TO',
    split: splitBackupArguments,
    run: ({ config, own, operand, observe }) => {
      endWithParent();
      // A server that started this wants to hear of failures alone.
      const audience = process.send ? nobody : terminal();
      return backup(operand, readBackupOptions(own), { config, observe, audience, print, warn: tell });
    },
  },
  restore: {
    usage: 'restore FROM [--yes]',
    doc: 'put a backup, or the newest of a folder, in place of the database; --yes where there are records',
    operand: 'FROM',
    words: ['--yes'],
    run: ({ config, operand, words, observe }) =>
      restore(operand, { config, observe, audience: terminal(), mayReplace: words.has('--yes') }),
  },
  'explain-access': {
    usage: 'explain-access [--role ROLE …]',
    doc: 'show what the schema file lets such a caller do; without a role, the anonymous',
    split: (args) => takeOption(ROLE_OPTION, args),
    run: ({ config, own }) => explainAccess(own, config, print),
  },
  journal: {
    usage: JOURNAL_USAGE,
    doc: 'take what a record was out of the journal: its changes stay, without the record before and after',
    split: splitJournalArguments,
    run: ({ config, own, observe }) => journalCommand(own, config, observe, tell),
  },
  webhook: {
    usage: 'webhook add|list|remove|rotate|test|replay',
    doc: "who is told of changes: add https://… --on Book.created --on 'Order.*' shows its secret, once; list; remove, rotate (another secret) or test ID; replay ID --after POSITION",
    split: splitWebhookArguments,
    run: ({ config, own, observe }) => webhookCommand(own, config, observe, { write: print, tell }),
  },
  key: {
    usage: 'key create|list|revoke',
    doc: 'API keys: create --name NAME [--role ROLE …] shows a new one, once; list; revoke NAME',
    split: splitKeyArguments,
    run: ({ config, own, observe }) => keyCommand(own, config, observe, { write: print, tell }),
  },
  jobs: {
    usage: 'jobs [--failed], jobs retry|drop',
    doc: 'what after-hooks, schedules and webhooks are to do; retry ID … or drop ID …; --failed: all that failed for good',
    split: splitJobsArguments,
    run: ({ config, own, observe }) => jobsCommand(own, config, observe, { write: print, tell }),
  },
};

function help(): string {
  const row = ([left, right]: readonly [string, string]) => `  ${left.padEnd(36)} ${right}`;
  const listed = Object.values(commands).flatMap(({ usage, doc }) => (doc ? [[usage, doc] as const] : []));
  const options = Object.values(settings).map(
    (setting) =>
      [setting.flag ? flagOf(setting) : setting.env, `${setting.doc} [${setting.default}]`] as const,
  );
  return [
    'duet: one SDL file, two APIs that agree',
    '',
    'Usage: duet <command> [options]',
    '',
    'Commands:',
    ...listed.map(row),
    row(['help, version', 'print this, or the version; --help and --version do so too']),
    '',
    'Options (each can be set in the environment too; those in capitals only there):',
    ...options.map(row),
    '',
    'docs/settings.md has them all with their environment names.',
    '',
  ].join('\n');
}

function refuse(message: string): never {
  for (const line of message.split('\n')) tell(`duet: ${line}`);
  process.exit(WRONG_USE);
}

/** A reader that leaves, such as `head`, ends a command without a word. A server goes on, though its log is unheard. */
function followReaders(serves: boolean): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (serves) return;
      if (error.code === 'EPIPE') process.exit(READER_LEFT);
      tell(`duet: cannot write (${error.message})`);
      process.exit(1);
    });
}

async function main([name, ...all]: readonly string[]): Promise<void> {
  const serves = SERVING.has(name ?? '');
  followReaders(serves);
  if (name === undefined || name === 'help' || [name, ...all].includes('--help'))
    return void process.stdout.write(help());
  if (name === 'version' || name === '--version') return print(packageFile.version);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) refuse(`unknown command "${name}". \`duet --help\` lists them`);
  const { own, rest } = command.split?.(all) ?? { own: [], rest: all };
  const words = new Set(rest.filter((word) => command.words?.includes(word)));
  const isOperand = (word: string, at: number) =>
    (word === '-' || !word.startsWith('-')) &&
    !Object.values(settings).some((each) => flagOf(each) === rest[at - 1]);
  const operands = command.operand ? rest.filter(isOperand) : [];
  const operand = operands.at(-1) ?? '';
  if (command.operand && operand === '') refuse(`${name} needs a ${command.operand}`);
  const args = rest.filter((word) => !words.has(word) && (!command.operand || word !== operand));
  const { config, fault } = readConfig(args, process.env);
  if (!config) refuse(fault);
  const stream = serves ? process.stdout : process.stderr;
  const log = new Log(config.logLevel, (lines) => stream.write(lines));
  process.on('exit', () => log.flush());
  const reread = () => {
    const { config: now, fault: wrong } = readConfig(args, process.env);
    if (!now) throw new StartFault(wrong);
    log.least = now.logLevel;
    return now;
  };
  try {
    await command.run({ config, args, words, operand, own, observe: log.observe, reread });
  } catch (error) {
    if (error instanceof StartFault) refuse(error.message);
    throw error;
  }
}

function reloading(
  { config, args, observe, reread }: Given,
  apply: Apply,
  found?: (faults: readonly string[]) => void,
): () => void {
  const loaded = digestOf(config);
  const isRecoded = (now: Config) => digestOf(now) !== loaded;
  const command = [...self(), 'prepare', ...args];
  return reloader({ config, reread, isRecoded, command, observe, apply, found });
}

/** The runtime ends a process whose work it does not count as such; files and pipes were among it. */
const unfinished = setInterval(() => {}, 60_000);
void main(process.argv.slice(2)).finally(() => clearInterval(unfinished));
