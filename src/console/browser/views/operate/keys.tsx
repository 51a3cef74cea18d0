/** API keys: who has which, a new one, and the end of one. */

import { useSignal } from '@preact/signals';
import type { Fault } from '../../doors/wire.ts';
import { ask, me, useTold, wireTo } from '../../operate.ts';
import { Confirm } from '../confirm.tsx';
import { Dialog, Empty, FaultNotice, Icon } from '../parts.tsx';
import { Once } from './once.tsx';
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
  const making = useSignal(false);
  const revoke = async ({ name }: Key) => {
    await ask(wireTo('DELETE', `keys/${encodeURIComponent(name)}`));
    told.again();
  };
  return (
    <>
      <Page
        title="API keys"
        about="For programs that call this service: each key has a name and roles. Of the key itself only a hash is kept."
        wire={wire}
        told={told}
        tools={
          <button
            type="button"
            class="primary"
            onClick={() => {
              making.value = true;
            }}
          >
            <Icon name="plus" /> New key
          </button>
        }
      >
        {(keys) => (
          <>
            {me.value?.authentication === false && (
              <div class="notice warn">
                Authentication is off, so nobody needs a key: set AUTH_KEYS=on, AUTH_SECRET or AUTH_JWKS_URL.
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
                        <span class="yes">in use</span>
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
                          no="Keep it"
                          yes="Revoke it"
                          onYes={() => revoke(key)}
                        >
                          <p>
                            Whoever uses it is refused within a few seconds. It cannot be taken back; a new
                            key can have the same name.
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
      {making.value && (
        <NewKey
          onClose={() => {
            making.value = false;
            told.again();
          }}
        />
      )}
    </>
  );
}

function inUseFirst(keys: readonly Key[]): readonly Key[] {
  return keys.toSorted((one, other) => Number(one.revoked !== null) - Number(other.revoked !== null));
}

function NewKey({ onClose }: { onClose: () => void }) {
  const name = useSignal('');
  const roles = useSignal('');
  const made = useSignal('');
  const fault = useSignal<Fault | undefined>(undefined);
  const create = async (event: Event) => {
    event.preventDefault();
    try {
      const body = { name: name.value.trim(), roles: namesIn(roles.value) };
      const { key } = await ask<{ key: string }>(wireTo('POST', 'keys', body));
      fault.value = undefined;
      made.value = key;
    } catch (error) {
      fault.value = error as Fault;
    }
  };
  if (made.value !== '')
    return (
      <Once
        title={`The key "${name.value.trim()}"`}
        about="Programs send it as a bearer token."
        secret={made.value}
        copy="Copy the key"
        onClose={onClose}
      />
    );
  return (
    <Dialog title="New API key" onClose={onClose}>
      <form class="token" onSubmit={create}>
        <label>
          Name
          <input
            value={name.value}
            required
            autocomplete="off"
            spellcheck={false}
            placeholder="ci"
            onInput={(event) => {
              name.value = event.currentTarget.value;
            }}
          />
        </label>
        <label>
          Roles, with commas between them
          <input
            value={roles.value}
            autocomplete="off"
            spellcheck={false}
            placeholder="editor, metrics"
            onInput={(event) => {
              roles.value = event.currentTarget.value;
            }}
          />
        </label>
        {fault.value && <FaultNotice fault={fault.value} />}
        <div class="actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Create it
          </button>
        </div>
      </form>
    </Dialog>
  );
}
