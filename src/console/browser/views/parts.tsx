/** Small pieces that many views are made of. */

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { entryNumber, place } from '../address.ts';
import type { Fault, FieldFault } from '../doors/wire.ts';
import { dataLink } from '../links.ts';
import { isGone } from '../presence.ts';
import type { Resource } from '../schema/types.ts';
import { signingIn, token } from '../session.ts';

const icons = {
  menu: 'M2 4h12M2 8h12M2 12h12',
  plus: 'M8 3v10M3 8h10',
  filter: 'M2 3h12l-4.5 5.5V13l-3-1.5v-3z',
  download: 'M8 2v8m0 0 3-3m-3 3L5 7M3 13h10',
  upload: 'M8 10V2m0 0 3 3M8 2 5 5M3 13h10',
  close: 'm4 4 8 8m0-8-8 8',
  up: 'm4 10 4-4 4 4',
  down: 'm4 6 4 4 4-4',
  left: 'm10 3-5 5 5 5',
  first: 'm12 3-5 5 5 5M4 3v10',
  right: 'm6 3 5 5-5 5',
  key: 'M8 11a3 3 0 1 1-6 0 3 3 0 0 1 6 0M7.2 8.8 13.5 2.5M11 5l2 2',
  copy: 'M6 6h7v8H6zM10 6V2H3v8h3',
  fit: 'M2 6V2h4M14 6V2h-4M2 10v4h4M14 10v4h-4',
  search: 'M11.5 7a4.5 4.5 0 1 1-9 0 4.5 4.5 0 0 1 9 0M10.3 10.3 14 14',
  lock: 'M4 7h8v7H4zM5.5 7V5a2.5 2.5 0 0 1 5 0v2',
  columns: 'M2 3h12v10H2zM6 3v10M10 3v10',
  refresh: 'M13 3v3.5H9.5M13 6.5A5.5 5.5 0 1 0 13.4 9.5',
  star: 'm8 1.8 1.9 4 4.3.5-3.2 3 .9 4.3L8 11.5l-3.9 2.1.9-4.3-3.2-3 4.3-.5z',
  table: 'M2 3h12v10H2zM2 6.5h12M6 6.5V13',
  graph: 'M2 3h5v4H2zM9 9h5v4H9zM7 5h4.5v4',
  play: 'm5 3 8 5-8 5z',
  pulse: 'M1.5 8.5h3l2-5 3 9 2-4h3',
  code: 'm5 4-4 4 4 4m6-8 4 4-4 4',
  book: 'M3 2.5h8.5a1.5 1.5 0 0 1 1.5 1.5v9.5H4.5A1.5 1.5 0 0 1 3 12zM3 12a1.5 1.5 0 0 1 1.5-1.5H13',
  clock: 'M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0M8 4.5V8l2.5 1.5',
  eye: 'M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8M10 8a2 2 0 1 1-4 0 2 2 0 0 1 4 0',
  lines: 'M2 4h1m3 0h8M2 8h1m3 0h8M2 12h1m3 0h8',
  steps: 'M2 13h4V9h4V5h4',
  drum: 'M2.5 4a5.5 2 0 1 0 11 0 5.5 2 0 1 0-11 0v8a5.5 2 0 0 0 11 0V4',
  send: 'M14 2 2 7l5 2 2 5zM7 9l3-3',
} as const;

export type IconName = keyof typeof icons;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <path
        d={icons[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}

/** More errors than anybody mends at once. */
const SAID = 20;

interface FaultNoticeProps {
  fault: Fault;
  /** Those that are told here; others have a place of their own. */
  errors?: readonly FieldFault[];
  again?: () => void;
  /** In the words of the page. */
  say?: (text: string) => string;
}

export function FaultNotice({ fault, errors = fault.errors, again, say = String }: FaultNoticeProps) {
  // That it is back does not send what was not sent.
  const wasGone = useRef(false);
  wasGone.current ||= isGone.value;
  // Whoever has signed in since can send it.
  if (fault.status === 401 && token.value !== '' && !again) return null;
  // A form has errors of its own, and little room beside it.
  if (fault.status === 401)
    return errors !== fault.errors ? (
      <p class="notice" role="alert">
        <span>This takes a token or an API key.</span> <SignIn />
      </p>
    ) : (
      <Empty icon="lock" title="You are not signed in">
        <span>This takes a token or an API key.</span>
        <SignIn />
      </Empty>
    );
  // What is read goes on by itself, as the line at the top says; what is written is somebody's to send again.
  if (fault.status === 0 && (again ? isGone.value : wasGone.current))
    return again ? null : (
      <p class="fault" role="alert">
        Not sent. Try again{isGone.value && ' when the service is back'}.
      </p>
    );
  // The console's own transactions have one operation, which nobody has numbered.
  const message = say(fault.message.replace(/^Operation 0: /, ''));
  const others = [...new Set(errors.map(({ detail }) => say(detail)))].filter(
    (detail) => !message.startsWith(detail),
  );
  // A sum of errors says less than they do.
  const isSum = others.length > 0 && /^\d+ fields are invalid\.$/.test(message);
  return (
    <div class="notice bad" role="alert">
      <span>
        {!isSum && `${message} `}
        {others.length > 0 && (
          <ul>
            {others.slice(0, SAID).map((detail) => (
              <li key={detail}>{detail}</li>
            ))}
            {others.length > SAID && <li>and {(others.length - SAID).toLocaleString('en')} more</li>}
          </ul>
        )}
        {fault.status !== 0 && <span class="quiet small">{fault.code}</span>}
      </span>
      {again && fault.status === 403 && <SignIn />}
      {again && fault.status !== 400 && fault.status !== 403 && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

export function SignIn() {
  return (
    <button
      type="button"
      class="primary"
      onClick={() => {
        signingIn.value = 'another';
      }}
    >
      <Icon name="key" /> {token.value === '' ? 'Sign in' : 'Sign in as somebody else'}
    </button>
  );
}

/** What the schema file says of something, with its `code` as code and its paragraphs under each other. */
export function Prose({ text }: { text: string }) {
  return (
    <>
      {text
        .split(/(`[^`]*`|\n\n)/)
        .map((part, at) =>
          part === '\n\n' ? (
            <br key={at} />
          ) : part[0] === '`' ? (
            <code key={at}>{part.slice(1, -1)}</code>
          ) : (
            part
          ),
        )}
    </>
  );
}

/** The name of a type or a field: too long for its place, it is broken where a word of it begins. */
export function Name({ text }: { text: string }) {
  return (
    <span>
      {text.split(/(?=[A-Z][a-z])|(?<=_)/).flatMap((word, at) => (at > 0 ? [<wbr key={at} />, word] : word))}
    </span>
  );
}

/** What stands where there is nothing to show, and what can be done about it. */
export function Empty({
  icon,
  title,
  children,
}: {
  icon: IconName;
  title: string;
  children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <strong>{title}</strong>
      {children}
    </div>
  );
}

/** To all records of a type. */
export function AllOf({ name, plural }: Pick<Resource, 'name' | 'plural'>) {
  return (
    <a class="button" href={dataLink(name)}>
      All {plural}
    </a>
  );
}

/** For what takes longer than a moment. */
export function Loading() {
  return (
    <p class="empty" role="status">
      Loading…
    </p>
  );
}

/** For what opens beside the data, as its `ref`: whoever has opened it goes on there. */
export function focusFirst(panel: HTMLElement | null): void {
  (panel?.querySelector<HTMLElement>('input, textarea') ?? panel?.querySelector('select'))?.focus();
}

/** `what`: what is copied, where the label alone does not say so. */
export function Copy({
  text,
  label = 'Copy',
  what,
  title = what && `Copy ${what}`,
  look = 'plain small',
}: {
  text: () => string;
  label?: string;
  what?: string;
  title?: string | undefined;
  look?: string;
}) {
  const told = useSignal('');
  const copy = async () => {
    told.value = (await toClipboard(text())) ? 'Copied' : 'Not copied';
    setTimeout(() => {
      told.value = '';
    }, 1500);
  };
  return (
    <button type="button" class={look} title={title} aria-label={what && `Copy ${what}`} onClick={copy}>
      <Icon name="copy" />
      <span aria-live="polite">{told.value || label}</span>
    </button>
  );
}

/**
 * False where it is not there afterwards. Where the origin is not secure, such as a host of the local network, or where somebody has
 * forbidden it, browsers have no clipboard for scripts; a selection may be copied all the same.
 */
export async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement('textarea');
    field.value = text;
    // Beside the button that was pressed: of a page below a dialog nothing can be selected.
    document.activeElement?.after(field);
    field.select();
    const isCopied = document.execCommand('copy');
    field.remove();
    return isCopied;
  }
}

/** A question that stands before everything else until it is answered. */
export function Dialog({
  title,
  onClose,
  onEscape = onClose,
  isWide = false,
  children,
}: {
  title: string;
  onClose: () => void;
  onEscape?: () => void;
  isWide?: boolean | undefined;
  children: ComponentChildren;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const step = place.value && entryNumber();
  const opened = useRef(step);
  // Nothing stands before a page that it was not opened on.
  useLayoutEffect(() => {
    if (step !== opened.current) onClose();
  }, [step]);
  // Before the next key comes: no letter is lost.
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    ref.current?.showModal();
    // What has the focus first may stand at its end.
    ref.current?.scrollTo(0, 0);
    // As long as the dialog is there, nothing behind it takes the focus; and by then somebody may be elsewhere.
    return () =>
      queueMicrotask(() => {
        if (document.activeElement === document.body) before?.focus();
      });
  }, []);
  return (
    <dialog
      ref={ref}
      class={isWide ? 'wide' : ''}
      aria-label={title}
      onClose={onClose}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.defaultPrevented) return;
        // Browsers close it first and tell of it later: what is asked meanwhile would be taken for answered.
        event.preventDefault();
        onEscape();
      }}
    >
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}
