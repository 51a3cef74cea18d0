/** `/_duet/jobs`: what after-hooks and schedules are still to do, as `duet jobs` tells it and does. */

import type { Chosen } from '../engine/jobs/operator.ts';
import type { Changed } from '../engine/jobs/portions.ts';
import type { Operator } from '../engine/operator.ts';
import { answer } from '../http/answer.ts';
import type { Input } from './input.ts';

/** As many as one statement can name. */
const MOST_IDS = 500;

export async function listJobs(operator: Operator, input: Input): Promise<Response> {
  const state = input.text('state');
  if (state !== undefined && state !== 'failed')
    input.fault('state', 'ENUM', 'state must be failed; without it, all jobs are listed');
  input.end();
  return answer(200, JSON.stringify(await operator.jobs(state === 'failed')));
}

/** `{"ids": ["…"]}`, or `{"failed": true}` for all that have failed for good. */
export async function changeJobs(
  change: (chosen: Chosen) => Promise<Changed>,
  input: Input,
): Promise<Response> {
  const failed = input.value('failed') ?? false;
  const ids = input.texts('ids');
  if (typeof failed !== 'boolean') input.fault('failed', 'TYPE', 'failed must be true or false');
  else if (failed === ids.length > 0)
    input.fault('ids', 'REQUIRED', 'give the ids of jobs, or {"failed": true} for all that have failed');
  if (ids.length > MOST_IDS) input.fault('ids', 'LENGTH', `ids must be ${MOST_IDS} at the most`);
  input.end();
  return answer(200, JSON.stringify(await change(failed === true ? 'failed' : ids)));
}
