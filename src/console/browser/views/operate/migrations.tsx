/** Schema files that were applied to the database, and what each has changed. */

import { useTold, wireTo } from '../../operate.ts';
import { Empty } from '../parts.tsx';
import { Id, Page, Time } from './page.tsx';

interface Migration {
  readonly at: string;
  readonly fingerprint: string;
  readonly steps: readonly string[];
}

export function Migrations() {
  const wire = wireTo('GET', 'migrations');
  const told = useTold<readonly Migration[]>(wire);
  return (
    <Page
      title="Migrations"
      about="The schema files that were applied to this database, newest first, and what each has changed. Files that mean the same have the same fingerprint."
      wire={wire}
      told={told}
    >
      {(migrations) =>
        migrations.length === 0 ? (
          <Empty icon="steps" title="No migrations yet" />
        ) : (
          <ol class="migrations">
            {migrations.map(({ at, fingerprint, steps }, index) => (
              <li key={`${at} ${fingerprint}`} class="card">
                <h2>
                  <Time at={at} /> UTC {index === 0 && <span class="tag">newest</span>}
                </h2>
                <p class="quiet tools">
                  Fingerprint <Id of={fingerprint} />
                </p>
                {steps.length === 0 ? (
                  <p class="quiet">No change to the database.</p>
                ) : (
                  <ul>
                    {steps.map((step) => (
                      <li key={step}>{inWords(step)}</li>
                    ))}
                  </ul>
                )}
              </li>
            ))}
          </ol>
        )
      }
    </Page>
  );
}

/** `_f_email` is where the service keeps an email without its letter case. */
function inWords(step: string): string {
  return step.replace(/\b_f_(\w+)/g, '$1 without letter case');
}
