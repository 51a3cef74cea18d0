/** Statements that were slow, by their texts. */

import { useTold, wireTo } from '../../operate.ts';
import { Copy, counted, Empty, milliseconds } from '../parts.tsx';
import { Id, Page, Time } from './page.tsx';

interface Statement {
  readonly fingerprint: string;
  readonly sql: string;
  readonly count: number;
  readonly ms: number;
  readonly longest: number;
  readonly at: string;
  readonly requestId?: string;
}

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
      {({ from, statements }) =>
        from === null ? (
          <Empty icon="code" title="Slow statements are not recorded">
            <span>
              Start the service with <code>LOG_SLOW=500</code> to record statements that take 500 ms or more.
            </span>
          </Empty>
        ) : statements.length === 0 ? (
          <Empty icon="code" title="No slow statements" />
        ) : (
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
                    {requestId && <Id of={requestId} />}
                    <Copy text={() => sql} label="Copy the SQL" />
                  </header>
                  {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable from the keyboard */}
                  <pre tabIndex={0}>{sql}</pre>
                </li>
              ))}
          </ul>
        )
      }
    </Page>
  );
}
