/** Asks for the token that the service wants; it stays in this page's memory. */

import { useSignal } from '@preact/signals';
import { takeToken, token, tokenWanted } from '../session.ts';
import { Dialog } from './parts.tsx';

export function TokenDialog({ onClose }: { onClose: () => void }) {
  const text = useSignal(token.value);
  const wanted = tokenWanted.value;
  const save = (event: Event) => {
    event.preventDefault();
    takeToken(text.value.trim().replace(/^Bearer\s+/i, ''));
    onClose();
  };
  return (
    <Dialog title="Who is asking" onClose={onClose}>
      <form class="token" onSubmit={save}>
        <p class="quiet">
          {wanted
            ? 'The service did not answer without a valid token. '
            : 'Sent as a bearer token with every request. '}
          It is kept in this page alone and is gone when you leave it.
        </p>
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
