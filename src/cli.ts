#!/usr/bin/env bun
/** The `duet` command: the only reader of arguments and environment. */

import packageFile from '../package.json' with { type: 'json' };
import { flagOf, readConfig, settings } from './config.ts';
import { dev } from './dev.ts';
import { logger, type Observe } from './observe.ts';
import { StartFault, serve } from './serve.ts';

const WRONG_USE = 2;

const commands = {
  serve: 'serve the schema file over REST and GraphQL',
  dev: 'serve, and start again when the schema, the data file or the code changes',
} as const;

function help(): string {
  const row = ([left, right]: readonly [string, string]) => `  ${left.padEnd(22)} ${right}`;
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
    ...Object.entries(commands).map(row),
    '',
    'Options (each can be set in the environment too; those in capitals only there):',
    ...options.map(row),
    '',
    'docs/settings.md has them all with their environment names.',
    '',
  ].join('\n');
}

function refuse(message: string): never {
  for (const line of message.split('\n')) process.stderr.write(`duet: ${line}\n`);
  process.exit(WRONG_USE);
}

async function main([command, ...args]: readonly string[]): Promise<void> {
  if (command === undefined || command === 'help' || [command, ...args].includes('--help')) {
    process.stdout.write(help());
    return;
  }
  if (command === '--version') {
    process.stdout.write(`${packageFile.version}\n`);
    return;
  }
  if (!Object.hasOwn(commands, command)) refuse(`unknown command "${command}". \`duet --help\` lists them`);
  const { config, fault } = readConfig(args, process.env);
  if (!config) refuse(fault);
  if (command === 'dev') return dev([config.schema, config.data], ['serve', ...args]);
  await run(logger(config.logLevel, lineWriter()), async (observe) => serve(config, observe));
}

async function run(observe: Observe, start: (observe: Observe) => ReturnType<typeof serve>): Promise<void> {
  const running = await start(observe).catch((error) => {
    if (error instanceof StartFault) refuse(error.message);
    throw error;
  });
  // Handlers catch their own failures; whatever else goes wrong is logged and must not end the service.
  process.on('uncaughtException', (cause) => observe({ event: 'failure', cause }));
  process.on('unhandledRejection', (cause) => observe({ event: 'failure', cause }));
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, async () => {
      // A terminal, npm and a service manager may each pass on the same wish: only the first one counts.
      if (stopping) return;
      stopping = true;
      observe({ event: 'stopping', signal });
      await running.stop();
      process.exit(0);
    });
}

/** Lines that are written in one turn of the event loop go out with one system call. */
function lineWriter(): (line: string) => void {
  let pending = '';
  const flush = () => {
    const text = pending;
    pending = '';
    if (text !== '') process.stdout.write(text);
  };
  process.on('exit', flush);
  return (line) => {
    if (pending === '') setImmediate(flush);
    pending += line;
  };
}

await main(process.argv.slice(2));
