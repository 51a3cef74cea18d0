/** Who is asking: a token is checked before it is used, and stays in this page's memory. */

import { useSignal } from '@preact/signals';
import type { Fault } from '../doors/wire.ts';
import { me, signIn } from '../operate.ts';
import { signingIn, takeToken, token } from '../session.ts';
import { Dialog } from './parts.tsx';
import { moment } from './value.tsx';

const reasons = {
  '': '',
  asked: '',
  missing: 'The service answers this only to callers who are signed in.',
  rejected: 'Your token is no longer accepted: sign in again.',
};

export function TokenDialog() {
  const text = useSignal('');
  const fault = useSignal('');
  const isSignedIn = token.value !== '';
  const close = () => {
    signingIn.value = '';
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    fault.value = '';
    try {
      await signIn(text.value.trim().replace(/^Bearer\s+/i, ''));
    } catch (error) {
      fault.value = (error as Fault).message;
    }
  };
  const reason = reasons[signingIn.value];
  return (
    <Dialog title={isSignedIn ? 'Account' : 'Sign in'} onClose={close}>
      <form class="token" onSubmit={submit}>
        {reason && <p>{reason}</p>}
        <Who />
        <label>
          {isSignedIn ? 'Another token or API key' : 'Token or API key'}
          <input
            type="password"
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
        {fault.value && (
          <p class="fault" role="alert">
            {fault.value}
          </p>
        )}
        <p class="quiet small" id="token-about">
          Your identity provider issues tokens (<code>docs/login.md</code>). API keys are made by an operator,
          under Operate or with <code>duet key create --name NAME --role ROLE</code>. It is sent with every
          request, kept in this tab alone, and gone when you close it.
        </p>
        <div class="actions">
          {isSignedIn && (
            <button type="button" class="danger" onClick={() => takeToken('')}>
              Sign out
            </button>
          )}
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Sign in
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
