/** Webhooks: who receives changes, how the last deliveries went, a new one, and the end of one. */

import { type Signal, useSignal } from '@preact/signals';
import { counted } from '../../amounts.ts';
import type { Fault } from '../../doors/wire.ts';
import { ask, me, useTold, wireTo } from '../../operate.ts';
import { schema } from '../../schema/load.ts';
import { Confirm } from '../confirm.tsx';
import { Empty } from '../parts.tsx';
import { Line, NewSecret } from './new-secret.tsx';
import { Once } from './once.tsx';
import { Check, Id, namesIn, Page, RecordId, Sheet, Tags, Time } from './page.tsx';

/** As the service tells it: of its own types, the console knows none. */
interface Delivery {
  readonly at: string;
  readonly event: string;
  readonly type: string;
  readonly record?: string;
  readonly attempt: number;
  readonly result: keyof typeof RESULTS;
  readonly status: number | null;
  readonly error: string | null;
}

interface Webhook {
  readonly id: string;
  readonly url: string;
  readonly on: readonly string[];
  readonly disabled: string | null;
  readonly rotatesUntil: string | null;
  readonly position: string;
  readonly waiting: number;
  readonly waitsSince: string | null;
  readonly deliveries: readonly Delivery[];
}

/** How each looks, and what it is called. */
const RESULTS = {
  delivered: ['good', 'delivered'],
  again: ['warn', 'will be retried'],
  failed: ['bad', 'failed for good'],
} as const;

/** Of the deliveries of each, so that all webhooks are in sight; the others are shown when they are asked for. */
const SHOWN = 3;

export function Webhooks() {
  const wire = wireTo('GET', 'webhooks');
  const told = useTold<readonly Webhook[]>(wire);
  if (me.value?.webhooks === false)
    return (
      <Empty icon="send" title="No type has a journal">
        Webhooks tell of changes. Give a type <code>@journal</code> in the schema file, and start again.
      </Empty>
    );
  return (
    <Page
      title="Webhooks"
      about="Other services that receive changes as they are committed: whole records, whatever the access rules say."
      wire={wire}
      told={told}
      tools={<NewWebhook onDone={told.again} />}
    >
      {(webhooks) =>
        webhooks.length === 0 ? (
          <Empty icon="send" title="There are no webhooks yet" />
        ) : (
          <ul class="webhooks">
            {webhooks.map((webhook) => (
              <li key={webhook.id} class="card">
                <Shown webhook={webhook} again={told.again} />
              </li>
            ))}
          </ul>
        )
      }
    </Page>
  );
}

function Shown({ webhook, again }: { webhook: Webhook; again: () => void }) {
  const { id, url, on, disabled, rotatesUntil, position, waiting, waitsSince, deliveries } = webhook;
  const outcome = useSignal({ look: '', text: '' });
  const secret = useSignal('');
  const showsAll = useSignal(false);
  const isFailing = deliveries[0] !== undefined && deliveries[0].result !== 'delivered';
  const test = async () => {
    outcome.value = { look: '', text: 'Sending a test…' };
    try {
      const wire = wireTo('POST', `webhooks/${id}/test`, {});
      const { status, error } = await ask<{ status: number | null; error: string | null }>(wire);
      const isGood = error === null;
      outcome.value = {
        look: isGood ? 'yes' : 'fault',
        text: isGood ? `The receiver answered the test with ${status}.` : `The test failed: ${error}.`,
      };
    } catch (error) {
      outcome.value = { look: 'fault', text: (error as Fault).message };
    }
  };
  const rotate = async () => {
    secret.value = (await ask<{ secret: string }>(wireTo('POST', `webhooks/${id}/rotate`, {}))).secret;
  };
  const resume = async () => {
    await ask(wireTo('POST', `webhooks/${id}/replay`, { after: position }));
    again();
  };
  const remove = async () => {
    await ask(wireTo('DELETE', `webhooks/${id}`));
    again();
  };
  return (
    <article aria-label={`${url} ${id}`}>
      <header class="tools">
        <h2>{url}</h2>
        <span class="tools">
          {disabled !== null && (
            <Confirm button="Resume" title="Resume deliveries?" yes="Resume" onYes={resume}>
              <p>Everything that has happened since it was disabled is delivered.</p>
            </Confirm>
          )}
          <button type="button" onClick={test}>
            Test
          </button>
          <Confirm button="New secret" title="Make a new secret?" yes="Make it" onYes={rotate}>
            <p>
              The current secret keeps signing for 24 hours, so that the receiver can be changed meanwhile.
            </p>
          </Confirm>
          <Confirm button="Remove" danger title="Remove this webhook?" yes="Remove it" onYes={remove}>
            <p>
              <code>{url}</code> receives nothing more, not even what is waiting. This cannot be undone.
            </p>
          </Confirm>
        </span>
      </header>
      <p class="items">
        <Tags of={on} none="nothing" />
        <Id of={id} />
        {disabled === null ? (
          <span class={isFailing ? 'fault' : 'yes'}>
            {isFailing ? 'active, but its last delivery failed' : 'active'}
          </span>
        ) : (
          <span class="fault">disabled: {disabled}</span>
        )}
        <span class="quiet">
          {counted(waiting, 'delivery', 'deliveries')} waiting
          {waitsSince !== null && (
            <>
              {' '}
              since <Time at={waitsSince} /> UTC
            </>
          )}
          {rotatesUntil !== null && (
            <>
              , two secrets until <Time at={rotatesUntil} /> UTC
            </>
          )}
        </span>
      </p>
      <p role="status" class={outcome.value.look}>
        {outcome.value.text}
      </p>
      {deliveries.length > 0 && (
        <Sheet
          label={`Last deliveries to ${url}`}
          rows={showsAll.value ? deliveries : deliveries.slice(0, SHOWN)}
          keyOf={({ event, attempt, at }) => `${event} ${attempt} ${at}`}
          cells={[
            { head: 'event', of: ({ type }) => type },
            { head: 'record', of: About },
            { head: 'when (UTC)', of: ({ at }) => <Time at={at} /> },
            { head: 'attempt', kind: 'int', of: ({ attempt }) => attempt },
            {
              head: 'result',
              of: ({ result }) => <span class={`tag ${RESULTS[result][0]}`}>{RESULTS[result][1]}</span>,
            },
            {
              head: 'answer',
              kind: 'text',
              of: ({ status, error }) => <span title={error ?? undefined}>{error ?? status}</span>,
            },
          ]}
        />
      )}
      {deliveries.length > SHOWN && (
        <p>
          <button
            type="button"
            class="plain small"
            aria-expanded={showsAll.value}
            onClick={() => {
              showsAll.value = !showsAll.value;
            }}
          >
            {showsAll.value ? `Show the last ${SHOWN}` : `Show the last ${deliveries.length} deliveries`}
          </button>
        </p>
      )}
      {secret.value !== '' && (
        <Once
          title="The new secret"
          about="The receiver verifies signatures with it."
          secret={secret.value}
          copy="Copy the secret"
          onClose={() => {
            secret.value = '';
            again();
          }}
        />
      )}
    </article>
  );
}

/** `Order.created` is about an Order. */
function About({ type, record }: Delivery) {
  const [resource = ''] = type.split('.');
  return record === undefined ? <span class="quiet">–</span> : <RecordId type={resource} of={record} />;
}

const KINDS = ['created', 'updated', 'deleted', '*'] as const;

/** One of what a webhook can be told of: it comes into the list, or goes. */
function Event({ name, on }: { name: string; on: Signal<string> }) {
  const names = namesIn(on.value);
  return (
    <label class="inside">
      <input
        type="checkbox"
        checked={names.includes(name)}
        onChange={(event) => {
          const others = names.filter((each) => each !== name);
          on.value = (event.currentTarget.checked ? [...others, name] : others).join(', ');
        }}
      />
      <code>{name}</code>
    </label>
  );
}

function NewWebhook({ onDone }: { onDone: () => void }) {
  const types = (schema.value?.resources ?? [])
    .filter(({ operations }) => operations.has('CHANGES'))
    .map(({ name }) => name);
  const url = useSignal('');
  const on = useSignal('');
  const isInside = useSignal(false);
  const make = async () => {
    const body = {
      url: url.value.trim(),
      on: namesIn(on.value),
      ...(isInside.value && { allowPrivate: true }),
    };
    return (await ask<{ secret: string }>(wireTo('POST', 'webhooks', body))).secret;
  };
  return (
    <NewSecret
      title="New webhook"
      submit="Add webhook"
      make={make}
      once={{
        title: () => 'The secret of the webhook',
        about: 'Give it to the receiver, which verifies signatures with it.',
        copy: 'Copy the secret',
      }}
      fields={['url', 'on']}
      onDone={() => {
        url.value = '';
        on.value = '';
        isInside.value = false;
        onDone();
      }}
    >
      {(wrong) => (
        <>
          <Line
            label="URL of the receiver"
            value={url}
            placeholder="https://shop.example/hooks"
            required
            wrong={wrong('url')}
          />
          <Line
            label="Events, separated by commas"
            value={on}
            placeholder={`for example ${types[0] ?? 'Book'}.created`}
            required
            wrong={wrong('on')}
          />
          <fieldset class="events">
            <legend class="quiet small">
              Types with @journal in the schema file have events; * is all of a type
            </legend>
            {types.flatMap((type) =>
              KINDS.map((kind) => <Event key={type + kind} name={`${type}.${kind}`} on={on} />),
            )}
          </fieldset>
          {me.value?.authentication === false ? (
            <Check of={isInside}>The receiver is inside this network</Check>
          ) : (
            <p class="quiet small">
              A receiver inside this network is added where the service runs:{' '}
              <code>npx duet webhook add … --allow-private</code>
            </p>
          )}
        </>
      )}
    </NewSecret>
  );
}
