/** View as: what the rules let somebody do, and the data as they see it. */

import { useSignal } from '@preact/signals';
import { go } from '../../address.ts';
import type { Fault } from '../../doors/wire.ts';
import { actionLink, to } from '../../links.ts';
import { ask, me, useTold, wireTo } from '../../operate.ts';
import { schema } from '../../schema/load.ts';
import { viewAs } from '../../session.ts';
import { FaultNotice, Icon } from '../parts.tsx';
import { Line, Roles } from './new-secret.tsx';
import { namesIn, Page, Sheet } from './page.tsx';

interface Explanation {
  readonly actions: readonly string[];
  readonly rows: readonly { readonly of: string; readonly cells: readonly string[] }[];
  readonly conditions: readonly string[];
  readonly runs: readonly { readonly of: string; readonly may: boolean }[];
  readonly roles: readonly string[];
}

/** Who is looked at, as the address has it. */
interface Somebody {
  readonly subject: string;
  readonly roles: readonly string[];
  /** JSON. */
  readonly claims: string;
}

function somebodyIn(query: URLSearchParams): Somebody {
  return {
    subject: query.get('subject') ?? '',
    roles: query.getAll('role'),
    claims: query.get('claims') ?? '',
  };
}

/** Undefined where it is no object. */
function claimsIn(text: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(text.trim() === '' ? '{}' : text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function wireOf({ subject, roles, claims }: Somebody) {
  const query = new URLSearchParams(roles.map((role) => ['role', role]));
  const given = { ...(subject !== '' && { sub: subject }), ...claimsIn(claims) };
  // Without claims, conditions name those that they ask for.
  if (Object.keys(given).length > 0) query.set('claims', JSON.stringify(given));
  const text = query.toString();
  return wireTo('GET', text === '' ? 'access' : `access?${text}`);
}

export function Access({ query }: { query: URLSearchParams }) {
  const somebody = somebodyIn(query);
  const wire = wireOf(somebody);
  const told = useTold<Explanation>(wire);
  const { subject, roles } = somebody;
  const whose =
    subject !== ''
      ? subject
      : roles.length > 0
        ? `the role ${roles.join(', ')}`
        : 'somebody who is not signed in';
  return (
    <Page
      title="View as"
      about="What the access rules let a caller do, and the data as that caller sees it."
      wire={wire}
      told={told}
    >
      {({ actions, rows, conditions, runs, roles: named }) => (
        <>
          <Who key={query.toString()} somebody={somebody} named={named} />
          {me.value?.authentication === false && (
            <div class="notice warn">
              Authentication is off: everybody may do everything. These rules apply once it is on.
            </div>
          )}
          {![...rows.flatMap(({ cells }) => cells), ...runs.map(({ may }) => (may ? 'all' : 'no'))].some(
            (cell) => !['no', '-', 'hidden'].includes(cell),
          ) && (
            <div class="notice warn">
              No rule (@allow in the schema file) lets {whose} do anything, and what no rule allows is denied.
            </div>
          )}
          <h2>What {whose} may do</h2>
          <Sheet
            label={`What ${whose} may do`}
            rows={rows}
            keyOf={({ of }) => of}
            cells={[
              { head: 'type or field', of: ({ of }) => of },
              ...actions.map((action, at) => ({
                head: action.toLowerCase(),
                of: ({ of, cells }: Explanation['rows'][number]) => (
                  <May cell={action === 'HISTORY' && keepsNone(of) ? 'none kept' : (cells[at] ?? '-')} />
                ),
              })),
            ]}
          />
          {conditions.length > 0 && (
            <ol class="conditions">
              {conditions.map((condition) => (
                <li key={condition}>
                  <code>{condition}</code>
                </li>
              ))}
            </ol>
          )}
          {runs.length > 0 && (
            <Sheet
              label={`Which actions ${whose} may run`}
              rows={runs}
              keyOf={({ of }) => of}
              cells={[
                { head: 'action', of: ({ of }) => <a href={actionLink(of)}>{of}</a> },
                { head: 'run', of: ({ may }) => <May cell={may ? 'yes' : 'no'} /> },
              ]}
            />
          )}
        </>
      )}
    </Page>
  );
}

/** A type without a journal has no past that anybody could read. */
function keepsNone(type: string): boolean {
  return schema.value?.byName.get(type)?.operations.has('CHANGES') === false;
}

function May({ cell }: { cell: string }) {
  const said = { '-': 'same as the type', hidden: 'hidden from them', 'none kept': 'none kept' }[cell];
  if (said) return <span class="quiet">{said}</span>;
  return <span class={cell === 'all' ? 'yes' : cell}>{cell}</span>;
}

function Who({ somebody, named }: { somebody: Somebody; named: readonly string[] }) {
  const subject = useSignal(somebody.subject);
  const roles = useSignal(somebody.roles.join(', '));
  const claims = useSignal(somebody.claims);
  const fault = useSignal<Fault | undefined>(undefined);
  const wrong = claimsIn(claims.value) === undefined ? 'This is not a JSON object.' : undefined;
  const explain = (event: Event) => {
    event.preventDefault();
    if (wrong) return;
    const query = new URLSearchParams(namesIn(roles.value).map((role) => ['role', role]));
    if (subject.value.trim() !== '') query.set('subject', subject.value.trim());
    if (claims.value.trim() !== '') query.set('claims', claims.value.trim());
    go(to(['operate', 'access'], query));
  };
  const look = async () => {
    const body = {
      subject: subject.value.trim(),
      roles: namesIn(roles.value),
      claims: claimsIn(claims.value),
    };
    try {
      const { token, until } = await ask<{ token: string; until: string }>(wireTo('POST', 'tokens', body));
      viewAs(token, { subject: body.subject, roles: body.roles, until });
      go(to([]));
    } catch (error) {
      fault.value = error as Fault;
    }
  };
  const unknown = namesIn(roles.value).filter((role) => role !== 'authenticated' && !named.includes(role));
  return (
    <form class="who card" onSubmit={explain}>
      <Line label="Subject" value={subject} placeholder="for example ann" />
      <Roles value={roles} known={named} />
      <Line
        label="Other claims, as JSON"
        value={claims}
        placeholder={'for example {"team": 3}'}
        wrong={wrong}
      />
      <div class="tools">
        <button type="submit" class="primary">
          Show what they may do
        </button>
        {me.value?.signsTokens && (
          <button type="button" disabled={subject.value.trim() === '' || wrong !== undefined} onClick={look}>
            <Icon name="eye" /> See the data as they do
          </button>
        )}
        {me.value?.signsTokens && subject.value.trim() === '' && (
          <span class="quiet">To see the data, name a subject.</span>
        )}
        {unknown.length > 0 && <span class="quiet">No rule names {unknown.join(', ')}.</span>}
      </div>
      {me.value?.authentication && !me.value.signsTokens && (
        <p class="quiet small">
          To see the data as they do, sign in with a token of theirs: this service cannot sign one.
        </p>
      )}
      {fault.value && <FaultNotice fault={fault.value} />}
    </form>
  );
}
