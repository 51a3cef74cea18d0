/** Asks for the token that the service wants; it stays in this page's memory. */

import { useSignal } from '@preact/signals';
import { me } from '../operate.ts';
import { takeToken, token, tokenWanted } from '../session.ts';
import { Dialog } from './parts.tsx';
import { moment } from './value.tsx';

export function TokenDialog({ onClose }: { onClose: () => void }) {
  const text = useSignal(token.value);
  const wanted = tokenWanted.value;
  const save = (event: Event) => {
    event.preventDefault();
    takeToken(text.value.trim().replace(/^Bearer\s+/i, ''));
    onClose();
  };
  return (
    <Dialog title="Sign in" onClose={onClose}>
      <form class="token" onSubmit={save}>
        <p class="quiet">
          {wanted
            ? 'The service did not answer without a valid token. '
            : 'Sent as a bearer token with every request. '}
          It is kept in this tab alone, and is gone when you close it.
        </p>
        <Who />
        <label>
          Token
          <input
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={text.value}
            onInput={(event) => {
              text.value = event.currentTarget.value;
            }}
          />
        </label>
        <div class="actions">
          {token.value !== '' && (
            <button
              type="button"
              class="danger"
              onClick={() => {
                takeToken('');
                onClose();
              }}
            >
              Sign out
            </button>
          )}
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Use it
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** As the service knows the caller. */
function Who() {
  const known = me.value;
  if (!known || known.subject === null) return null;
  const { subject, roles, until } = known;
  return (
    <p>
      You are <strong>{subject}</strong>
      {roles.length > 0 ? `, with the roles ${roles.join(', ')}` : ', without roles'}
      {until !== null && `, until ${moment(until)}`}.
    </p>
  );
}
