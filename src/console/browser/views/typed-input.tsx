/** Inputs that people type into: what they typed stays, whatever is read from it. */

import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { type Column, PROSE } from '../schema/types.ts';
import { emptied, isOfOneLine, readJson, readNumber, readText, shownText, Unreadable } from '../typed.ts';

export interface TypedProps {
  common: { id: string };
  column: Column;
  value: unknown;
  /** What is stored; undefined where nothing is. */
  was: unknown;
  placeholder: string;
  onChange: (value: unknown) => void;
}

/** The longest text that is certainly a line. */
export const LINE = 500;

/** Keys, texts in a format or a pattern that has no break, and those that are too short for more. */
function isLine({ bounds, kind, type }: Column): boolean {
  return (
    kind === 'uuid' ||
    type === 'ID' ||
    bounds.format !== undefined ||
    (bounds.maxLength ?? LINE + 1) <= LINE ||
    (bounds.pattern !== undefined && isOfOneLine(bounds.pattern))
  );
}

/** Nothing says how long it is: it begins as a line, and Shift+Enter makes it more. */
export function mayHaveLines(column: Column): boolean {
  return column.kind === 'text' && !column.list && !column.reference && !isLine(column) && !isProse(column);
}

function isProse({ name, bounds }: Column): boolean {
  return bounds.maxLength !== undefined || PROSE.test(name);
}

/** What the schema file says of the field, and what it must look like. */
export function aboutOf({ description = '', kind, bounds }: Column): string {
  const { pattern, example, minimum, maximum } = bounds;
  const parts = [description];
  if (kind === 'text' && pattern)
    parts.push(example ? `For example: \`${example}\`` : `Format: \`${pattern}\``);
  const least = minimum !== undefined && Math.abs(minimum) < INT ? minimum : undefined;
  const most = maximum !== undefined && maximum < INT ? maximum : undefined;
  if (least !== undefined && most !== undefined) parts.push(`From ${least} to ${most}.`);
  else if (least !== undefined) parts.push(`${least} or more.`);
  else if (most !== undefined) parts.push(`${most} or less.`);
  return parts.filter(Boolean).join(' ');
}

/** What every `Int` is within, and nobody needs to be told. */
const INT = 2 ** 31 - 1;

export function TextInput({ common, column, value, was, placeholder, onChange }: TypedProps) {
  const text = typeof value === 'string' ? shownText(value) : '';
  // Decided once: another element would take the focus from whoever deletes the last break.
  const line = useRef(isLine(column) && !text.includes('\n')).current;
  const given = {
    ...common,
    dir: 'auto',
    placeholder,
    value: text,
    onInput: ({ currentTarget }: { currentTarget: { value: string } }) =>
      onChange(currentTarget.value === '' ? emptied(column, was) : readText(currentTarget.value, was)),
  } as const;
  if (line) return <input {...given} />;
  const hasLines = (shown: string) => isProse(column) || shown.includes('\n') || shown.length > LINE;
  const onKeyDown = (event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }) => {
    const { value: shown, form } = event.currentTarget;
    // While a word is composed, Enter ends that.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing || hasLines(shown)) return;
    event.preventDefault();
    form?.requestSubmit();
  };
  return <textarea {...given} class={hasLines(text) ? 'prose' : ''} rows={1} onKeyDown={onKeyDown} />;
}

export function NumberInput({ common, column, value, was, placeholder, onChange }: TypedProps) {
  const read = (text: string) => (text === '' ? emptied(column, was) : readNumber(column, text));
  const [text, type] = useTyped(value, read, String, onChange);
  return (
    <input
      {...common}
      inputMode={column.kind === 'float' || column.kind === 'decimal' ? 'decimal' : 'numeric'}
      placeholder={placeholder}
      value={text}
      onInput={type}
    />
  );
}

export function JsonInput({ common, column, value, was, placeholder, onChange }: TypedProps) {
  const read = (text: string) => (text.trim() === '' ? emptied(column, was) : readJson(text));
  const [text, type] = useTyped(value, read, (json) => JSON.stringify(json, null, 2), onChange);
  return (
    <textarea
      {...common}
      class="mono"
      rows={1}
      spellcheck={false}
      placeholder={placeholder}
      value={text}
      onInput={type}
    />
  );
}

/** A value can be written in more than one way: it is shown as it was typed, for as long as it is the value. */
function useTyped(
  value: unknown,
  read: (text: string) => unknown,
  write: (value: unknown) => string,
  onChange: (value: unknown) => void,
): [string, (event: { currentTarget: { value: string } }) => void] {
  const typed = useSignal<{ text: string; value: unknown } | undefined>(undefined);
  const type = ({ currentTarget }: { currentTarget: { value: string } }) => {
    const text = currentTarget.value;
    typed.value = { text, value: read(text) };
    onChange(typed.value.value);
  };
  if (value instanceof Unreadable) return [value.text, type];
  if (typed.value && JSON.stringify(typed.value.value) === JSON.stringify(value))
    return [typed.value.text, type];
  return [value === null || value === undefined ? '' : write(value), type];
}
