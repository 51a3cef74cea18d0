/** A button that asks before it does anything, and what can be undone of a delete. */

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Fault } from '../doors/wire.ts';
import { goingAlong, type Resource, type Schema } from '../schema/types.ts';
import { mayUndelete } from '../session.ts';
import { Dialog, FaultNotice } from './parts.tsx';

interface ConfirmProps {
  /** What the button says, and what it is called where several say the same. */
  button: string;
  label?: string;
  /** Whether something is lost by it. */
  danger?: boolean;
  disabled?: boolean;
  title: string;
  /** Whether what happens is shown by a table. */
  isWide?: boolean;
  /** What happens then. */
  children: ComponentChildren;
  yes: string;
  /** Throws a Fault. */
  onYes: () => Promise<unknown>;
  /** What there is to say when it was refused, where that is more than the service says. */
  refused?: (fault: Fault) => ComponentChildren;
}

export function Confirm({
  button,
  label,
  danger,
  disabled,
  title,
  isWide,
  children,
  yes,
  onYes,
  refused,
}: ConfirmProps) {
  const asking = useSignal(false);
  const fault = useSignal<Fault | undefined>(undefined);
  const close = () => {
    asking.value = false;
    fault.value = undefined;
  };
  const confirm = async () => {
    try {
      await onYes();
      close();
    } catch (error) {
      fault.value = error as Fault;
    }
  };
  return (
    <>
      <button
        type="button"
        class={danger ? 'danger' : ''}
        aria-label={label}
        disabled={disabled}
        onClick={() => {
          asking.value = true;
        }}
      >
        {button}
      </button>
      {asking.value && (
        <Dialog title={title} isWide={isWide} onClose={close}>
          {children}
          {fault.value && (refused?.(fault.value) ?? <FaultNotice fault={fault.value} />)}
          <div class="actions">
            <button type="button" onClick={close}>
              Cancel
            </button>
            <button type="button" class={danger ? 'danger' : 'primary'} onClick={confirm}>
              {yes}
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** What `@onDelete` takes along has a history of its own, or none. */
export function Undone({ resource, schema, it }: { resource: Resource; schema: Schema; it: string }) {
  const along = goingAlong(resource, schema).map(({ name }) => name);
  return (
    <>
      {along.length > 0 && `Records that belong to ${it} are deleted too: ${along.join(', ')}. `}
      {mayUndelete(resource)
        ? `You can bring ${it} back for as long as the history is kept${along.length > 0 ? `, but not what belongs to ${it}` : ''}.`
        : 'This cannot be undone.'}
    </>
  );
}
