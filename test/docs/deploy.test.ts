/** What docs/deploy.md says to do on a bare machine, with programs in place of systemd, of the superuser and of what npm builds. */

import { expect, test } from 'bun:test';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import packageFile from '../../package.json' with { type: 'json' };
import { Folder, source } from '../process.ts';
import { carryOut, Reader, stepsOf } from './steps.ts';

const project = join(import.meta.dir, '../..');
const PATHS = ['/usr/local/bin', '/etc/systemd/system', '/etc/duet', '/var/lib/duet'];

/** They heed what the unit and the page use, and refuse to be told anything else. */
const programs = {
  npm: '[[ "$*" == install || "$*" == "run release" ]]',
  sudo: 'exec "$@"',
  systemctl: `
    unit() { sed -n "s/^$1=//p" "$ROOT/etc/systemd/system/duet.service" | sed -E "s#${PATHS.join('|')}#$ROOT&#g"; }
    start() {
      file=$(unit EnvironmentFile)
      set -a; . <(unit Environment); [ ! -f "\${file#-}" ] || . "\${file#-}"; set +a
      cd "$(unit WorkingDirectory)"
      $(unit ExecStart) >> "$ROOT/log" 2>&1 &
      echo $! > "$ROOT/pid"
      logged started
    }
    touch "$ROOT/log"
    lines=$(wc -l < "$ROOT/log")
    logged() {
      for tries in {1..400}; do ! tail -n "+$((lines + 1))" "$ROOT/log" | grep -q "\\"$1\\"" || return 0; sleep 0.05; done
      false
    }
    [[ "\${*: -1}" == duet || "$*" == daemon-reload ]]
    case $1 in
      daemon-reload) ;;
      enable | start) start ;;
      stop) kill "$(cat "$ROOT/pid")"; logged stopped ;;
      restart) "$0" stop duet; start ;;
      reload) MAINPID=$(cat "$ROOT/pid") bash -c "$(unit ExecReload)"; logged reloaded ;;
      *) false ;;
    esac`,
  'systemd-run': `
    while [[ $1 == -* ]]; do
      case "$1 \${2-}" in
        '-p WorkingDirectory='*) cd "\${2#*=}" ;;
        '-p Environment='*) export "\${2#*=}" ;;
        '-p EnvironmentFile='*) file=\${2#*=-}; [ ! -f "$file" ] || { set -a; . "$file"; set +a; } ;;
        '-p DynamicUser=yes' | '-p User=duet' | '-p StateDirectory=duet') ;;
        --pipe* | --wait* | --quiet*) shift; continue ;;
        *) exit 1 ;;
      esac
      shift 2
    done
    exec "$@"`,
};

test('a bare machine', async () => {
  using root = new Folder();
  const write = (path: string, text: string) => {
    mkdirSync(dirname(root.file(path)), { recursive: true });
    writeFileSync(root.file(path), text, { mode: 0o755 });
  };
  for (const path of PATHS) mkdirSync(root.file(path), { recursive: true });
  for (const [name, text] of Object.entries(programs))
    write(`bin/${name}`, `#!/bin/bash\nset -eu\n${text}\n`);
  const PATH = `${root.file('bin')}:${process.env['PATH']}`;
  const moved = Object.fromEntries(PATHS.map((path) => [path, root.file(path)]));
  await using reader = new Reader({ PATH, ROOT: root.path }, moved);
  for (const name of ['deploy', 'schema.graphql'])
    cpSync(join(project, name), join(reader.folder, name), { recursive: true });
  mkdirSync(join(reader.folder, 'dist/release'), { recursive: true });
  const executable = join(reader.folder, `dist/release/duet-${packageFile.version}-linux-${process.arch}`);
  writeFileSync(executable, `#!/bin/sh\nexec ${source.join(' ')} "$@"\n`);

  const page = readFileSync(join(project, 'docs/deploy.md'), 'utf8');
  const steps = (await stepsOf('docs/deploy.md')).filter(({ heading }) => heading === 'A bare machine');
  const [start, environment, command] = steps;
  if (!start || environment?.word !== '/etc/duet/environment' || !command)
    throw new Error('steps are missing');
  try {
    await carryOut(reader, start);
    write(environment.word, environment.text.replaceAll('/var/lib/duet', root.file('/var/lib/duet')));
    const key = (await reader.run(command.text)).trim();
    // What the table says, from row to row.
    const table = page.slice(page.indexOf('| to '), page.indexOf('## A container'));
    const todo = [...table.matchAll(/`((?:as_duet|sudo systemctl) [^`]+)`/g)].map(([, each = '']) => each);
    expect(todo.length).toBe(8);
    const [define = ''] = /^as_duet\(\) \{[\s\S]*?^\}/m.exec(command.text) ?? [];
    for (const each of todo) await reader.run(`${define}\n${each}\n`);
    await reader.run(start.text.slice(start.text.indexOf('curl ')));
    const status = async (headers: Record<string, string>) =>
      (await fetch(`${reader.url}/books`, { headers })).status;
    // The key is that of the database that is served, which the restore has brought back.
    expect([await status({}), await status({ Authorization: `Bearer ${key}` })]).toEqual([401, 403]);
    expect(readdirSync(root.file('/var/lib/duet/backups')).length).toBeGreaterThan(0);
  } finally {
    await reader.run('sudo systemctl stop duet');
  }
});
