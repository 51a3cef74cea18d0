/** The last requests: all of them, those that failed, and those that took long; those of this very page are marked. */

import { signal } from '@preact/signals';
import { milliseconds } from '../../amounts.ts';
import { ownRequests } from '../../doors/send.ts';
import { useTold, wireTo } from '../../operate.ts';
import { Empty } from '../parts.tsx';
import { Check, Choice, Id, Page, Sheet, Time } from './page.tsx';

interface Request {
  readonly at: string;
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly ms: number;
  /** Of GraphQL: `query Books`. */
  readonly operation?: string;
  readonly outcome?: 'ok' | 'error';
  readonly caller?: string;
  readonly address: string;
}

const choices = { '': 'All', failed: 'Failed', slow: 'Slow' };

/** Whoever looks for what others do need not see what they do here themselves. */
const hidesOwn = signal(false);

export function Requests({ query }: { query: URLSearchParams }) {
  const only = query.get('only') ?? '';
  const wire = wireTo('GET', only === '' ? 'requests' : `requests?only=${encodeURIComponent(only)}`);
  const told = useTold<readonly Request[]>(wire);
  return (
    <Page
      title="Requests"
      about="The last 200 since this server started, without bodies. Slow ones took half a second or more; failed ones show the address of the caller. The log has all of them."
      wire={wire}
      told={told}
    >
      {(all) => {
        const requests = all.filter(({ requestId }) => !hidesOwn.value || !ownRequests.has(requestId));
        return (
          <>
            <div class="tools">
              <Choice
                name="Which requests"
                place="requests"
                parameter="only"
                choices={choices}
                query={query}
              />
              <Check of={hidesOwn}>Hide those of this page</Check>
            </div>
            {requests.length === 0 ? (
              <Empty
                icon="lines"
                title={EMPTY[only] ?? (all.length > 0 ? 'All of them are of this page' : 'No requests yet')}
              />
            ) : (
              <Sheet
                label="Requests"
                rows={requests}
                keyOf={({ requestId, at }) => at + requestId}
                cells={[
                  {
                    head: 'request',
                    of: ({ method, path, operation = '', requestId }) => (
                      <>
                        <code>
                          {method} {path} {operation}
                        </code>{' '}
                        {ownRequests.has(requestId) && <span class="tag">this page</span>}
                      </>
                    ),
                  },
                  {
                    head: 'status',
                    kind: 'int',
                    of: ({ status, outcome }) => (
                      <span class={status >= 400 || outcome === 'error' ? 'fault' : ''}>
                        {status}
                        {status < 400 && outcome === 'error' && ' with errors'}
                      </span>
                    ),
                  },
                  { head: 'duration', kind: 'int', of: ({ ms }) => milliseconds(ms) },
                  { head: 'when (UTC)', of: ({ at }) => <Time at={at} /> },
                  {
                    head: 'caller',
                    of: ({ caller, address }) => (
                      <span>
                        {caller ?? <span class="quiet">anonymous</span>}{' '}
                        <span class="quiet small">{address}</span>
                      </span>
                    ),
                  },
                  {
                    head: 'request id',
                    of: ({ requestId }) => <Id of={requestId} />,
                  },
                ]}
              />
            )}
          </>
        );
      }}
    </Page>
  );
}

const EMPTY: Readonly<Record<string, string>> = {
  failed: 'No failed requests',
  slow: 'No requests took half a second or more',
};
