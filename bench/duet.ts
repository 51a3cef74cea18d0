/** Duet as it ships: the real command, its defaults, its log on. */

import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Ask, get } from './load.ts';
import type { Command } from './process.ts';

/** What `npm start` runs in a checkout. */
export function startOf(project: string): string {
  const { scripts } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
  return join(project, /\S+\.ts/.exec(scripts.start)?.[0] ?? '');
}

const start = startOf(join(import.meta.dir, '..'));

interface Deployment {
  /** The folder in which every deployment gets one of its own. */
  readonly folder: string;
  readonly schema?: string;
  /** The text of `logic.ts`. */
  readonly logic?: string;
  readonly data?: string;
  /** A PostgreSQL; without one it is SQLite. */
  readonly url?: string | undefined;
  /** What starts it, if not this code. */
  readonly program?: string;
  /** Processes behind its port. */
  readonly workers?: number;
  /** Settings besides these. */
  readonly env?: Readonly<Record<string, string>>;
  readonly ready?: Ask;
}

export function duet(deployment: Deployment): Command {
  const { folder, schema, logic, data, url, program = start, workers = 1, env } = deployment;
  const { ready = get('/books?limit=1') } = deployment;
  const cwd = mkdtempSync(join(folder, 'duet-'));
  if (schema === undefined) cpSync(join(import.meta.dir, 'schema.graphql'), join(cwd, 'schema.graphql'));
  else writeFileSync(join(cwd, 'schema.graphql'), schema);
  if (logic !== undefined) writeFileSync(join(cwd, 'logic.ts'), logic);
  if (data !== undefined) cpSync(data, join(cwd, 'data.json'));
  return {
    run: [process.execPath, '--no-env-file', program, 'serve'],
    env: { WORKERS: String(workers), ...(url !== undefined && { DATABASE_URL: url }), ...env },
    cwd,
    ready,
  };
}
