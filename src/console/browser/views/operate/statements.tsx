/** Statements that were slow, by their texts. */

import { signal } from '@preact/signals';
import { counted, milliseconds } from '../../amounts.ts';
import { useTold, wireTo } from '../../operate.ts';
import { Copy, Empty } from '../parts.tsx';
import { Check, Id, Page, Time } from './page.tsx';

interface Statement {
  readonly fingerprint: string;
  readonly sql: string;
  readonly count: number;
  readonly ms: number;
  readonly longest: number;
  readonly at: string;
  readonly requestId?: string;
}

/** No type begins with what Duet keeps for itself; a text that was cut may go on with one. */
function isOwn({ sql }: Statement): boolean {
  return !/\b(?:FROM|INTO|UPDATE|JOIN) "(?!_|sqlite_)|…$/.test(sql);
}

/** Its bookkeeping runs all the time, and pushes what requests have asked out of sight. */
const showsOwn = signal(false);

export function Statements() {
  const wire = wireTo('GET', 'statements');
  const told = useTold<{ readonly from: number | null; readonly statements: readonly Statement[] }>(wire);
  const { value } = told;
  return (
    <Page
      title="Slow statements"
      about={
        value && value.from !== null
          ? `Database statements that took ${value.from} ms or more, since the server started.`
          : 'Slow database statements.'
      }
      wire={wire}
      told={told}
    >
      {({ from, statements: all }) => {
        if (from === null)
          return (
            <Empty icon="drum" title="Slow statements are not recorded">
              <span>
                Start the service with <code>LOG_SLOW=500</code> to record statements that take 500 ms or
                more.
              </span>
            </Empty>
          );
        const statements = all.filter((each) => showsOwn.value || !isOwn(each));
        return (
          <>
            {all.some(isOwn) && (
              <div class="tools">
                <Check of={showsOwn}>Show those of Duet itself, too ({all.filter(isOwn).length})</Check>
              </div>
            )}
            {statements.length === 0 && <Empty icon="drum" title="No slow statements" />}
            <ul class="statements">
              {statements
                .toSorted((one, other) => other.ms - one.ms)
                .map(({ fingerprint, sql, count, ms, longest, at, requestId }) => (
                  <li key={fingerprint} class="card">
                    <header class="tools">
                      <strong>{counted(count, 'time')}</strong>
                      <span>
                        {milliseconds(ms / count)} on average, {milliseconds(longest)} at most
                      </span>
                      <span class="quiet">
                        last <Time at={at} /> UTC
                      </span>
                      {requestId && (
                        <span class="quiet tools">
                          in request <Id of={requestId} />
                        </span>
                      )}
                      <Copy text={() => sql} label="Copy the SQL" />
                    </header>
                    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable from the keyboard */}
                    <pre tabIndex={0}>{sql}</pre>
                  </li>
                ))}
            </ul>
          </>
        );
      }}
    </Page>
  );
}
