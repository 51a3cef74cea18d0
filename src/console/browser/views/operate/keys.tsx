/** API keys: who has which, a new one, and the end of one. */

import { type Signal, useSignal } from '@preact/signals';
import { ask, me, useTold, wireTo } from '../../operate.ts';
import { Confirm } from '../confirm.tsx';
import { Empty } from '../parts.tsx';
import { Line, NewSecret, Roles } from './new-secret.tsx';
import { namesIn, Page, Sheet, Tags, Time } from './page.tsx';

interface Key {
  readonly name: string;
  readonly roles: readonly string[];
  readonly at: string;
  readonly revoked: string | null;
}

export function Keys() {
  const wire = wireTo('GET', 'keys');
  const told = useTold<readonly Key[]>(wire);
  const revoke = async ({ name }: Key) => {
    await ask(wireTo('DELETE', `keys/${encodeURIComponent(name)}`));
    told.again();
  };
  return (
    <Page
      title="API keys"
      about="For programs that call this service: each key has a name and roles. Only a hash of the key is stored."
      wire={wire}
      told={told}
      tools={me.value?.authentication !== false && <NewKey onDone={told.again} />}
    >
      {(keys) => (
        <>
          {me.value?.authentication === false && (
            <div class="notice warn">
              Authentication is off. To use keys, set AUTH_KEYS=on, AUTH_SECRET or AUTH_JWKS_URL.
            </div>
          )}
          {keys.length === 0 ? (
            <Empty icon="key" title="There are no API keys yet" />
          ) : (
            <Sheet
              label="API keys"
              rows={inUseFirst(keys)}
              keyOf={({ name }) => name}
              cells={[
                { head: 'name', of: ({ name }) => <code>{name}</code> },
                { head: 'roles', of: ({ roles }) => <Tags of={roles} none="none" /> },
                { head: 'created (UTC)', of: ({ at }) => <Time at={at} /> },
                {
                  head: 'state',
                  of: ({ revoked }) =>
                    revoked === null ? (
                      <span class="yes">active</span>
                    ) : (
                      <span class="quiet">
                        revoked <Time at={revoked} />
                      </span>
                    ),
                },
                {
                  head: '',
                  kind: 'do',
                  of: (key) =>
                    key.revoked === null && (
                      <Confirm
                        button="Revoke"
                        label={`Revoke ${key.name}`}
                        danger
                        title={`Revoke the key "${key.name}"?`}
                        yes="Revoke it"
                        onYes={() => revoke(key)}
                      >
                        <p>
                          Whoever uses it is refused within a few seconds. This cannot be undone; a new key
                          can have the same name.
                        </p>
                      </Confirm>
                    ),
                },
              ]}
            />
          )}
        </>
      )}
    </Page>
  );
}

function inUseFirst(keys: readonly Key[]): readonly Key[] {
  return keys.toSorted((one, other) => Number(one.revoked !== null) - Number(other.revoked !== null));
}

function NewKey({ onDone }: { onDone: () => void }) {
  const name = useSignal('');
  const roles = useSignal('');
  const make = async () => {
    const body = { name: name.value.trim(), roles: namesIn(roles.value) };
    return (await ask<{ key: string }>(wireTo('POST', 'keys', body))).key;
  };
  return (
    <NewSecret
      title="New key"
      submit="Create key"
      make={make}
      once={{
        title: () => `The key "${name.value.trim()}"`,
        about: 'Programs send it as a bearer token.',
        copy: 'Copy the key',
      }}
      fields={['name', 'roles']}
      onDone={() => {
        name.value = '';
        roles.value = '';
        onDone();
      }}
    >
      {(wrong) => (
        <>
          <Line label="Name" value={name} placeholder="for example ci" required wrong={wrong('name')} />
          <KnownRoles value={roles} wrong={wrong('roles')} />
        </>
      )}
    </NewSecret>
  );
}

/** Those that the rules name are asked for when the form is opened. */
function KnownRoles({ value, wrong }: { value: Signal<string>; wrong: string | undefined }) {
  const { roles = [] } = useTold<{ readonly roles: readonly string[] }>(wireTo('GET', 'access')).value ?? {};
  return <Roles value={value} known={roles} wrong={wrong} />;
}
