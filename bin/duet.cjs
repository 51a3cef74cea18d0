#!/usr/bin/env node
/** The `duet` command for whoever has Node: hands over to the Bun that was installed with it. */
'use strict';

const { spawn } = require('node:child_process');
const { existsSync, statSync } = require('node:fs');
const { createRequire } = require('node:module');
const { constants } = require('node:os');
const { dirname, join } = require('node:path');

/** Until its install script has run, the package `bun` has a note of a few hundred bytes in the place of the program. */
const LEAST_BYTES = 1_000_000;

/** The program in the package `bun`; or, where install scripts are not allowed, in the package for this platform. */
function findBun() {
  const manifest = require.resolve('bun/package.json');
  const beside = createRequire(manifest);
  const { bin, optionalDependencies } = require(manifest);
  const files = [join(dirname(manifest), bin.bun)];
  for (const name of Object.keys(optionalDependencies))
    try {
      const found = beside.resolve(`${name}/package.json`);
      const { os, cpu } = require(found);
      if (os.includes(process.platform) && cpu.includes(process.arch))
        files.push(join(dirname(found), 'bin', process.platform === 'win32' ? 'bun.exe' : 'bun'));
    } catch {
      // It is for another platform, and was not installed.
    }
  return files.find((file) => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > LEAST_BYTES);
}

function refuse(why) {
  process.stderr.write(`duet: ${why}\n`);
  process.exit(1);
}

let bun;
try {
  bun = findBun();
} catch {
  refuse('the package "bun", which it runs on, is not installed. `npm install duet-server` brings it along');
}
if (!bun)
  refuse(
    'the package "bun" has no program for this platform. Install without --omit=optional, or run `npm rebuild bun`',
  );

// In the repository the sources count; a package has built files only.
const sources = join(__dirname, '../src/cli/start.ts');
const command = existsSync(sources) ? sources : join(__dirname, '../dist/server/cli.js');
// The channel tells a server when this process is killed: nobody could stop it then.
const child = spawn(bun, ['--no-env-file', command, ...process.argv.slice(2)], {
  stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
});

// Who stops this process means the other, which may still have requests to answer.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => refuse(`cannot start Bun (${error.message})`));
child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
