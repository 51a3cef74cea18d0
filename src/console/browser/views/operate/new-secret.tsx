/** Something new that comes with a secret: a form for it, and then the secret, which is shown this once. */

import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Fault } from '../../doors/wire.ts';
import { Dialog, FaultNotice, Icon } from '../parts.tsx';
import { Once } from './once.tsx';
import { namesIn } from './page.tsx';

interface Props {
  /** What the button and the dialog say. */
  title: string;
  submit: string;
  /** What is to be filled in; `wrong` tells what the service says of a field. */
  children: (wrong: (field: string) => string | undefined) => ComponentChildren;
  /** Those of the body that have a line. */
  fields: readonly string[];
  /** Makes it, and has its secret; throws a Fault. */
  make: () => Promise<string>;
  /** What is said of the secret. */
  once: { readonly title: () => string; readonly about: string; readonly copy: string };
  onDone: () => void;
}

export function NewSecret({ title, submit, children, fields, make, once, onDone }: Props) {
  const isOpen = useSignal(false);
  const made = useSignal<{ readonly title: string; readonly secret: string } | undefined>(undefined);
  const fault = useSignal<Fault | undefined>(undefined);
  const close = () => {
    isOpen.value = false;
    made.value = undefined;
    fault.value = undefined;
  };
  const create = async (event: Event) => {
    event.preventDefault();
    try {
      const secret = await make();
      made.value = { title: once.title(), secret };
      // What stands behind the secret has it by now.
      onDone();
    } catch (error) {
      fault.value = error as Fault;
    }
  };
  const errors = fault.value?.errors ?? [];
  const at = (field: string) => errors.filter(({ pointer = '' }) => pointer.split('/')[1] === field);
  const wrong = (field: string) =>
    at(field)
      .map(({ detail }) => `${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`)
      .join(' ') || undefined;
  const others = errors.filter((each) => !fields.some((field) => at(field).includes(each)));
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
      {made.value ? (
        <Once {...once} {...made.value} onClose={close} />
      ) : (
        isOpen.value && (
          <Dialog title={title} onClose={close}>
            <form class="token" onSubmit={create}>
              {children(wrong)}
              {fault.value && (errors.length === 0 || others.length > 0) && (
                <FaultNotice fault={fault.value} errors={others} />
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

/** Those that rules name, but for the one that everybody has who is known, and the two that the service asks for: given, and taken back, by a click. */
export function Roles({
  value,
  known,
  wrong,
}: {
  value: Signal<string>;
  known: readonly string[];
  wrong?: string | undefined;
}) {
  const given = namesIn(value.value);
  const offered = [...new Set([...known, 'admin', 'metrics'])].filter((role) => role !== 'authenticated');
  return (
    <div class="roles">
      <Line
        label="Roles, separated by commas"
        value={value}
        placeholder={`for example ${offered[0]}`}
        wrong={wrong}
      />
      <p class="items">
        {offered.map((role) => (
          <button
            key={role}
            type="button"
            class="small"
            aria-pressed={given.includes(role)}
            aria-label={`Role ${role}`}
            onClick={() => {
              const others = given.filter((each) => each !== role);
              value.value = [...others, ...(others.length < given.length ? [] : [role])].join(', ');
            }}
          >
            {role}
          </button>
        ))}
      </p>
    </div>
  );
}

interface LineProps {
  label: string;
  value: Signal<string>;
  placeholder: string;
  required?: boolean;
  wrong?: string | undefined;
}

/** A line of text that no browser completes or corrects. */
export function Line({ label, value, placeholder, required = false, wrong }: LineProps) {
  return (
    <label>
      {label}
      <input
        value={value.value}
        required={required}
        autocomplete="off"
        spellcheck={false}
        placeholder={placeholder}
        // Without what is wrong, which stands in the label, too.
        aria-label={label}
        aria-invalid={wrong !== undefined}
        onInput={(event) => {
          value.value = event.currentTarget.value;
        }}
      />
      {wrong !== undefined && (
        <span class="fault" role="alert">
          {wrong}
        </span>
      )}
    </label>
  );
}
