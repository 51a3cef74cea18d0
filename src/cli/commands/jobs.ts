/** `duet jobs`: lists what after-hooks, schedules and webhooks are still to do, has it tried again, or drops it. */

import { faulting, openDeployment, StartFault } from '../../app/deployment.ts';
import type { Observe } from '../../base/observe.ts';
import type { Config } from '../../config/config.ts';
import { type Chosen, dropJobs, type JobEntry, listJobs, retryJobs } from '../../engine/jobs/operator.ts';

const USAGE = 'use `jobs [--failed]`, `jobs retry ID …|--failed` or `jobs drop ID …|--failed`';
const FAILED = '--failed';
/** More than anybody reads. */
const MOST_LISTED = 1000;
const PATIENCE_MS = 30_000;

/** Our own words, and the options of every command. */
export function splitJobsArguments(args: readonly string[]): { own: string[]; rest: string[] } {
  const isOwn = (word: string, at: number) =>
    word === FAILED || args.slice(0, at + 1).every((each) => !each.startsWith('-') || each === FAILED);
  return { own: args.filter(isOwn), rest: args.filter((word, at) => !isOwn(word, at)) };
}

export async function jobsCommand(
  own: readonly string[],
  config: Config,
  observe: Observe,
  { write, tell }: { readonly write: (line: string) => void; readonly tell: (line: string) => void },
): Promise<void> {
  const [action = 'list', ...ids] = own.filter((word) => word !== FAILED);
  const failed = own.includes(FAILED);
  const isSound = action === 'list' ? ids.length === 0 : failed !== ids.length > 0;
  if (!['list', 'retry', 'drop'].includes(action) || !isSound) throw new StartFault(USAGE);
  if (config.database.kind === 'sqlite' && config.database.path === ':memory:')
    throw new StartFault('a database in memory keeps no jobs: DATABASE_URL names another');
  const { database } = await openDeployment(config, observe);
  try {
    // Makes the table where no server has yet.
    await faulting(() => database.exclusively(async () => {}));
    const deadline = performance.now() + PATIENCE_MS;
    if (action === 'list') {
      const found = await database.read(() => listJobs(failed, MOST_LISTED + 1), 'many', deadline);
      for (const job of found.slice(0, MOST_LISTED)) write(lineOf(job));
      if (found.length > MOST_LISTED) tell(`There are more than ${MOST_LISTED}; these are the oldest.`);
      return;
    }
    const chosen: Chosen = failed ? 'failed' : ids;
    const { count } = await (action === 'retry' ? retryJobs : dropJobs)(database, chosen);
    if (count < ids.length)
      throw new StartFault(
        `${count} of ${ids.length} ${action === 'retry' ? 'wait or have failed' : 'are there'}. \`duet jobs\` lists them`,
      );
    const what = count === 1 ? '1 job' : `${count} jobs`;
    tell(action === 'retry' ? `${what} to be tried again at once.` : `Dropped ${what}.`);
  } finally {
    await database.close();
  }
}

function lineOf({ id, of, state, attempt, at, next, behind, error }: JobEntry): string {
  const when = behind ? `behind ${behind}` : next === undefined ? `since ${at}` : `next ${next}`;
  return [id, of, state, `attempt ${attempt}`, when, ...(error === undefined ? [] : [oneLine(error)])].join(
    '\t',
  );
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}
