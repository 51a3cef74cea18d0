/** Something new that comes with a secret: a form for it, and then the secret, which is shown this once. */

import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Fault } from '../../doors/wire.ts';
import { Dialog, FaultNotice, Icon } from '../parts.tsx';
import { Once } from './once.tsx';

interface Props {
  /** What the button and the dialog say. */
  title: string;
  submit: string;
  /** What is to be filled in. */
  children: ComponentChildren;
  /** Makes it, and has its secret; throws a Fault. */
  make: () => Promise<string>;
  /** What is said of the secret. */
  once: { readonly title: () => string; readonly about: string; readonly copy: string };
  onDone: () => void;
}

export function NewSecret({ title, submit, children, make, once, onDone }: Props) {
  const isOpen = useSignal(false);
  const secret = useSignal('');
  const fault = useSignal<Fault | undefined>(undefined);
  const close = () => {
    isOpen.value = false;
    secret.value = '';
    fault.value = undefined;
    onDone();
  };
  const create = async (event: Event) => {
    event.preventDefault();
    try {
      secret.value = await make();
    } catch (error) {
      fault.value = error as Fault;
    }
  };
  return (
    <>
      <button
        type="button"
        class="primary"
        onClick={() => {
          isOpen.value = true;
        }}
      >
        <Icon name="plus" /> {title}
      </button>
      {secret.value !== '' ? (
        <Once {...once} title={once.title()} secret={secret.value} onClose={close} />
      ) : (
        isOpen.value && (
          <Dialog title={title} onClose={close}>
            <form class="token" onSubmit={create}>
              {children}
              {fault.value && <FaultNotice fault={fault.value} />}
              {fault.value && fault.value.errors.length > 1 && (
                <ul class="fault">
                  {fault.value.errors.map(({ detail }) => (
                    <li key={detail}>{detail}</li>
                  ))}
                </ul>
              )}
              <div class="actions">
                <button type="button" onClick={close}>
                  Cancel
                </button>
                <button type="submit" class="primary">
                  {submit}
                </button>
              </div>
            </form>
          </Dialog>
        )
      )}
    </>
  );
}

interface LineProps {
  label: string;
  value: Signal<string>;
  placeholder: string;
  required?: boolean;
  isWrong?: boolean;
}

/** A line of text that no browser completes or corrects. */
export function Line({ label, value, placeholder, required = false, isWrong = false }: LineProps) {
  return (
    <label>
      {label}
      <input
        value={value.value}
        required={required}
        autocomplete="off"
        spellcheck={false}
        placeholder={placeholder}
        aria-invalid={isWrong}
        onInput={(event) => {
          value.value = event.currentTarget.value;
        }}
      />
    </label>
  );
}
