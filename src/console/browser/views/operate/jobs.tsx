/** Jobs: what after-hooks and schedules are still to do, and what has failed. */

import { counted, numbered } from '../../amounts.ts';
import { to } from '../../links.ts';
import { ask, useTold, wireTo } from '../../operate.ts';
import { tell } from '../../told.ts';
import { Confirm } from '../confirm.tsx';
import { Empty } from '../parts.tsx';
import { shortKey } from '../value.tsx';
import { Choice, Page, RecordId, Sheet, Time } from './page.tsx';

interface Job {
  readonly id: string;
  readonly of: string;
  readonly state: 'waiting' | 'running' | 'failed';
  readonly attempt: number;
  readonly at: string;
  readonly next?: string;
  /** The job that it waits for. */
  readonly behind?: string;
  readonly error?: string;
}

interface JobList {
  readonly waiting: number;
  readonly failed: number;
  readonly jobs: readonly Job[];
  readonly more: boolean;
}

type Chosen = { readonly ids: readonly string[] } | { readonly failed: true };

export function Jobs({ query }: { query: URLSearchParams }) {
  const failedOnly = query.get('state') === 'failed';
  const wire = wireTo('GET', failedOnly ? 'jobs?state=failed' : 'jobs');
  const told = useTold<JobList>(wire);
  const change = async (how: 'retry' | 'drop', chosen: Chosen) => {
    let count = 0;
    // Of very many, each answer tells of those for which there was time.
    for (let more = true; more; ) {
      const changed = await ask<{ count: number; more: boolean }>(wireTo('POST', `jobs/${how}`, chosen));
      count += changed.count;
      more = changed.more;
      tell(`${counted(count, 'job')} ${how === 'retry' ? 'will be retried now' : 'dropped'}.`);
      told.again();
    }
  };
  const failed = told.value?.failed ?? 0;
  return (
    <Page
      title="Jobs"
      about="What the service does after a commit or on a schedule. A job that fails is retried for about three days, and has then failed for good."
      wire={wire}
      told={told}
      tools={
        <>
          <Confirm
            button="Retry all failed"
            disabled={failed === 0}
            title={`Retry ${counted(failed, 'failed job')}?`}
            yes="Retry them"
            onYes={() => change('retry', { failed: true })}
          >
            <p>
              Hooks, schedules and webhook deliveries that have failed for good start at once, and are retried
              for about three days again. Jobs that are still retried go on as they are.
            </p>
          </Confirm>
          <Confirm
            button="Drop all failed"
            danger
            disabled={failed === 0}
            title={`Drop ${counted(failed, 'failed job')}?`}
            yes="Drop them"
            onYes={() => change('drop', { failed: true })}
          >
            <p>
              Hooks, schedules and webhook deliveries that have failed for good are deleted: they will never
              run, and their errors are gone. This cannot be undone. Jobs that are still retried stay.
            </p>
          </Confirm>
        </>
      }
    >
      {({ waiting, jobs, more }) => (
        <>
          <div class="tools">
            <Choice
              name="Which jobs"
              place="jobs"
              parameter="state"
              choices={{ '': 'All', failed: 'Failed for good' }}
              query={query}
            />
            <span class="quiet">
              {numbered(waiting)} waiting or retrying, {numbered(failed)} failed for good
            </span>
          </div>
          {jobs.length === 0 ? (
            <Empty icon="clock" title={failedOnly ? 'No job has failed for good' : 'No jobs are waiting'} />
          ) : (
            <Sheet
              label="Jobs"
              rows={jobs}
              keyOf={({ id }) => id}
              below={({ error }) => error}
              cells={[
                { head: 'job', of: ({ of }) => <Named of={of} /> },
                { head: 'state', of: (job) => <State {...job} /> },
                { head: 'attempts', kind: 'int', of: ({ attempt }) => attempt },
                { head: 'since (UTC)', of: ({ at }) => <Time at={at} /> },
                {
                  head: 'next attempt (UTC)',
                  of: ({ next, state, behind }) =>
                    next ? (
                      <Time at={next} />
                    ) : (
                      <span class="quiet">
                        {behind
                          ? 'after the earlier job of the same name'
                          : state === 'waiting'
                            ? 'when its turn comes'
                            : '–'}
                      </span>
                    ),
                },
                {
                  head: '',
                  kind: 'do',
                  of: ({ id, of, state }) =>
                    state !== 'running' && (
                      <span class="tools">
                        <button
                          type="button"
                          aria-label={`Retry ${of}`}
                          onClick={() => change('retry', { ids: [id] }).catch(told.again)}
                        >
                          Retry
                        </button>
                        <Confirm
                          button="Drop"
                          label={`Drop ${of}`}
                          danger
                          title="Drop this job?"
                          yes="Drop it"
                          onYes={() => change('drop', { ids: [id] })}
                        >
                          <p>
                            <code>{of}</code> will never run. This cannot be undone.
                          </p>
                        </Confirm>
                      </span>
                    ),
                },
              ]}
            />
          )}
          {more && <p class="quiet">There are more; these are the oldest.</p>}
        </>
      )}
    </Page>
  );
}

/** `Order.afterCreate 17` or `webhook:wh_5f0c9a1e77b2d340 Order 17`, with the way to the record. */
function Named({ of }: { of: string }) {
  const [, webhook, type, hook = '', key] = /^(?:webhook:(\w+) )?(\w+)(\.\w+)? (.+)$/.exec(of) ?? [];
  if (type === undefined || key === undefined) return <span title={of}>{of}</span>;
  return (
    <span>
      {webhook !== undefined && (
        <>
          <a href={to(['operate', 'webhooks'])} title={webhook}>
            webhook {shortKey(webhook)}
          </a>{' '}
        </>
      )}
      {type}
      {hook} <RecordId type={type} of={key} />
    </span>
  );
}

/** One that has failed and is tried again is not just waiting. */
function State({ state, error }: Job) {
  const isRetried = state === 'waiting' && error !== undefined;
  if (state === 'failed') return <span class="tag bad">failed for good</span>;
  return <span class={isRetried ? 'tag warn' : 'tag'}>{isRetried ? 'retrying' : state}</span>;
}
