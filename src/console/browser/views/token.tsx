/** Who is asking: a token is checked before it is used, and stays in this page's memory. */

import { useSignal } from '@preact/signals';
import type { Fault } from '../doors/wire.ts';
import { me, signIn } from '../operate.ts';
import { signingIn, takeToken, token } from '../session.ts';
import { tell } from '../told.ts';
import { Check } from './operate/page.tsx';
import { Dialog } from './parts.tsx';
import { moment } from './value.tsx';

function close(): void {
  signingIn.value = '';
}

export function TokenDialog() {
  if (token.value === '')
    return (
      <Dialog title="Sign in" onClose={close}>
        {signingIn.value === 'writing' && <p>You have to sign in for this.</p>}
        <TokenForm />
      </Dialog>
    );
  return (
    <Dialog title="Account" onClose={close}>
      <Who />
      <details open={signingIn.value === 'another'}>
        <summary>Sign in as somebody else</summary>
        <TokenForm />
      </details>
      <div class="actions">
        <button type="button" onClick={close}>
          Close
        </button>
        <button
          type="button"
          class="danger"
          onClick={() => {
            takeToken('');
            tell('Signed out');
          }}
        >
          Sign out
        </button>
      </div>
    </Dialog>
  );
}

function TokenForm() {
  const text = useSignal('');
  const isShown = useSignal(false);
  const fault = useSignal('');
  const submit = async (event: Event) => {
    event.preventDefault();
    fault.value = '';
    try {
      await signIn(text.value.trim().replace(/^Bearer\s+/i, ''));
    } catch (error) {
      fault.value = inWords((error as Fault).message);
    }
  };
  return (
    <form class="token" onSubmit={submit}>
      <label>
        Token or API key
        <input
          {...(isShown.value ? { type: 'text' } : { type: 'password' })}
          required
          autocomplete="off"
          spellcheck={false}
          aria-invalid={fault.value !== ''}
          aria-describedby="token-about"
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
        />
      </label>
      <Check of={isShown}>Show</Check>
      {fault.value && (
        <p class="fault" role="alert">
          {fault.value}
        </p>
      )}
      <p class="quiet small" id="token-about">
        Paste the token that your identity provider has given you, or an API key. It is sent with every
        request, and forgotten when you close this tab. Operators make API keys on the page API keys or with{' '}
        <code>npx duet key create --name NAME --role ROLE</code>
      </p>
      <div class="actions">
        {token.value === '' && (
          <button type="button" onClick={close}>
            Cancel
          </button>
        )}
        <button type="submit" class="primary" disabled={text.value.trim() === ''}>
          Sign in
        </button>
      </div>
    </form>
  );
}

/** Whoever has pasted an API key, or half of one, does not know what a JWT is. */
function inWords(message: string): string {
  return /JWT|^Authorization must/.test(message)
    ? 'This is neither a token nor an API key that this service accepts. Was all of it pasted?'
    : message;
}

/** As the service knows the caller. */
function Who() {
  const { subject = null, roles = [], until = null } = me.value ?? {};
  return (
    <dl class="account">
      <dt>Signed in as</dt>
      <dd>{subject ?? 'somebody without a name'}</dd>
      <dt>Roles</dt>
      <dd>{roles.length > 0 ? roles.join(', ') : 'none'}</dd>
      <dt>Until</dt>
      <dd>{until === null ? 'you sign out or close this tab' : moment(until)}</dd>
    </dl>
  );
}
