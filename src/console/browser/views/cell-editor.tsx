/** A cell of a table as an input: Enter saves, Escape gives up, Tab saves and goes on; never over what somebody else has written. */

import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { hold } from '../address.ts';
import type { Answer, Ask } from '../ask.ts';
import { send } from '../doors/send.ts';
import { Fault } from '../doors/wire.ts';
import { type Column, labelled, type Resource, type Row, type Schema } from '../schema/types.ts';
import { door } from '../session.ts';
import { tell } from '../told.ts';
import { Unreadable, wrongIn } from '../typed.ts';
import { incompleteIn } from './draft.ts';
import { FieldInput } from './field-input.tsx';
import { LINE } from './typed-input.tsx';
import { undoing } from './undo.ts';

export interface CellProps {
  resource: Resource;
  column: Column;
  row: Row;
  schema: Schema;
  /** Whether somebody goes on writing behind what is there; otherwise the first letter takes its place. */
  atEnd: boolean | undefined;
  /** The record as it is now, and where to go on: to the next cell, the one before, or nowhere; not at all where it was taken back. */
  onSaved: (row: Row, step?: number) => void;
  onClose: (step: number) => void;
}

export function CellEditor({ resource, column, row, schema, atEnd, onSaved, onClose }: CellProps) {
  const value = useSignal<unknown>(row[column.name]);
  const fault = useSignal('');
  const saving = useRef<Promise<void>>(undefined);
  /** What cannot be saved: it is not tried again before it is another. */
  const refused = useRef<unknown>({});
  const isOver = useRef(false);
  const form = useRef<HTMLFormElement>(null);
  /** What the cell showed, or what somebody else has written by now and was told. */
  const seen = useRef(row[column.name]);
  const key = row[resource.key.name];
  const read = () => send({ do: 'get', resource, key, related: false }, door.value, schema);
  const record = useRef<Promise<Answer>>(undefined);

  // Before the next key comes: no letter is lost.
  useLayoutEffect(() => {
    // Its version, while somebody types.
    record.current = read();
    record.current.catch(() => {});
    const input = form.current?.querySelector<HTMLInputElement>('input, select, textarea, button');
    input?.focus();
    // Of a reference, the choices are in sight at once, as if somebody had clicked on it.
    if (column.reference) input?.click();
    if (!input || !('select' in input)) return;
    input.select();
    // Pickers of days have no place to write at.
    if (atEnd && input.selectionEnd) input.selectionStart = input.selectionEnd;
    // The next key would replace all of it.
    else if (input.value.length > LINE) input.selectionEnd = 0;
  }, []);

  const isChanged = () => JSON.stringify(value.value) !== JSON.stringify(row[column.name]);
  const isIncomplete = () => incompleteIn(form.current).length > 0;
  useLayoutEffect(() =>
    hold({
      is: () => !isOver.current && (isChanged() || isIncomplete()),
      save: leave,
      drop: () => onClose(0),
    }),
  );

  useLayoutEffect(() => {
    const told = form.current?.querySelector<HTMLElement>('.fault');
    if (told) placed(told);
    // In the last row, a list may end below the table.
    else form.current?.scrollIntoView({ block: 'nearest' });
  }, [fault.value, value.value]);

  /** Twice at the most: where another field was changed meanwhile, this one is written to the newer record. */
  const write = async (tries = 2): Promise<Answer | undefined> => {
    const { row: now, version } = (await record.current) ?? (await read());
    if (JSON.stringify(now?.[column.name]) !== JSON.stringify(seen.current)) {
      seen.current = now?.[column.name];
      fault.value = `Somebody else has changed it to ${JSON.stringify(seen.current)}. Press Enter to overwrite it.`;
      return undefined;
    }
    const changes = { [column.name]: value.value };
    try {
      return await send({ do: 'update', resource, key, changes, version }, door.value, schema);
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'VERSION_CONFLICT' || tries === 1) throw error;
      record.current = read();
      return write(tries - 1);
    }
  };
  const saved = async (step: number) => {
    const wrong = isIncomplete() ? 'This is not complete.' : isChanged() && wrongIn(column, value.value);
    refused.current = value.value;
    if (wrong) fault.value = wrong;
    else if (!isChanged()) onClose(step);
    else
      try {
        const { row: written, version } = (await write()) ?? {};
        if (!written) return;
        const back: Ask = {
          do: 'update',
          resource,
          key,
          changes: { [column.name]: seen.current },
          version,
        };
        tell(
          `Saved ${column.name} of ${labelled(resource, row)}`,
          undoing(back, schema, `${column.name} is as it was`, ({ row: now }) => now && onSaved(now)),
        );
        isOver.current = true;
        onSaved(written, step);
      } catch (error) {
        const { message, errors } = error as Fault;
        fault.value = errors?.map(({ detail }) => detail).join(' ') || message;
      }
  };
  const save = (step: number) => {
    saving.current ??= saved(step).finally(() => {
      saving.current = undefined;
    });
    return saving.current;
  };
  /** Whoever goes elsewhere saves, but nothing that was refused as it is. */
  const leave = async () => saving.current ?? (value.value === refused.current ? undefined : save(0));
  const onKeyDown = (event: KeyboardEvent) => {
    const target = event.target as Element;
    const isSave = event.key === 'Enter' && !event.shiftKey && !event.isComposing;
    // Among the choices of a reference keys choose; those that end an edit do so until something is typed, or one of them stands out.
    const isEnd = isSave || event.key === 'Tab' || event.key === 'Escape';
    const isBegun =
      value.value instanceof Unreadable ||
      (event.key !== 'Escape' && target.hasAttribute('aria-activedescendant'));
    const isChoosing = target.getAttribute('aria-expanded') === 'true' && (isBegun || !isEnd);
    // A button that says null, or a new item, is pressed.
    if (isChoosing || (isSave && target instanceof HTMLButtonElement)) return;
    if (isSave) void save(0);
    else if (event.key === 'Tab') void save(event.shiftKey ? -1 : 1);
    else if (event.key === 'Escape') onClose(0);
    else return event.stopPropagation();
    event.preventDefault();
    event.stopPropagation();
  };
  const onFocusOut = (event: FocusEvent) => {
    if (event.relatedTarget && !form.current?.contains(event.relatedTarget as Node)) void leave();
  };
  return (
    <form
      ref={form}
      class="cell"
      data-name={column.name}
      aria-label={`Edit ${column.name}`}
      onSubmit={(event) => event.preventDefault()}
      onKeyDownCapture={onKeyDown}
      onFocusOut={onFocusOut}
    >
      <FieldInput
        id="cell"
        label={column.name}
        column={column}
        value={value.value}
        was={row[column.name]}
        schema={schema}
        before={row}
        fallback={undefined}
        invalid={fault.value !== ''}
        onChange={(next) => {
          value.value = next;
        }}
      />
      {fault.value && (
        <p class="fault" id="cell-fault" role="alert">
          {fault.value}
        </p>
      )}
    </form>
  );
}

/** What is told of a cell stands below it, or above it, and as far to the left as it must: the table does not scroll for it. */
function placed(told: HTMLElement): void {
  const table = told.closest('.scroll');
  if (!table) return;
  const { style } = told;
  const { x, y } = table.getBoundingClientRect();
  style.inset = '100% auto auto 0';
  style.left = `${Math.min(0, x + table.clientWidth - told.getBoundingClientRect().right)}px`;
  const { top, bottom, height } = told.getBoundingClientRect();
  const cell = told.parentElement?.offsetHeight ?? 0;
  if (bottom > y + table.clientHeight && top - cell - height >= y) style.top = `${-height}px`;
  // Where there is no room at all, it is read all the same.
  told.scrollIntoView({ block: 'nearest' });
}
