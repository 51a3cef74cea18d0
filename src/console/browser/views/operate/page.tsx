/** What the pages of operators have in common: a heading, the request in the dock, what is told or wrong, a way to ask again. */

import type { Signal } from '@preact/signals';
import { type ComponentChildren, Fragment } from 'preact';
import type { Wire } from '../../doors/wire.ts';
import { dataLink, to } from '../../links.ts';
import type { Told } from '../../operate.ts';
import { schema } from '../../schema/load.ts';
import { useDock } from '../dock.tsx';
import { Refresh } from '../following.tsx';
import { Heading } from '../heading.tsx';
import { Copy, FaultNotice } from '../parts.tsx';
import { moment, shortKey } from '../value.tsx';

interface PageProps<T> {
  title: string;
  about: string;
  /** What the page asks. */
  wire: Wire;
  told: Told<T>;
  /** Beside the button that asks again. */
  tools?: ComponentChildren;
  children: (value: T) => ComponentChildren;
}

export function Page<T>({ title, about, wire, told, tools, children }: PageProps<T>) {
  useDock([{ title: `${title}: ${wire.path}`, wires: { rest: wire } }]);
  const { value, fault, again } = told;
  return (
    <>
      <Heading title={title} about={about}>
        {tools}
        <Refresh isLive={false} refresh={again} />
      </Heading>
      {fault && <FaultNotice fault={fault} again={again} />}
      {value !== undefined && children(value)}
    </>
  );
}

/** A choice that stands in the address. */
export function Choice({
  name,
  place,
  parameter,
  choices,
  query,
}: {
  name: string;
  place: string;
  parameter: string;
  /** By the value of the parameter, which is left out where it is empty. */
  choices: Readonly<Record<string, string>>;
  query: URLSearchParams;
}) {
  const chosen = query.get(parameter) ?? '';
  return (
    <nav class="choices" aria-label={name}>
      {Object.entries(choices).map(([value, label]) => (
        <a
          key={value}
          class="button"
          href={to(['operate', place], value === '' ? {} : { [parameter]: value })}
          aria-current={chosen === value ? 'page' : undefined}
        >
          {label}
        </a>
      ))}
    </nav>
  );
}

/** A choice of this tab alone. */
export function Check({ of, children }: { of: Signal<boolean>; children: ComponentChildren }) {
  return (
    <label class="inside">
      <input
        type="checkbox"
        checked={of.value}
        onChange={(event) => {
          of.value = event.currentTarget.checked;
        }}
      />
      {children}
    </label>
  );
}

export interface Cell<T> {
  readonly head: string;
  /** `int` stands to the right. */
  readonly kind?: string;
  readonly of: (row: T) => ComponentChildren;
}

/** A table whose first column names the row. */
export function Sheet<T>({
  label,
  rows,
  keyOf,
  cells,
  below,
}: {
  label: string;
  rows: readonly T[];
  keyOf: (row: T) => string;
  cells: readonly Cell<T>[];
  /** What is longer than a cell. */
  below?: (row: T) => string | undefined;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable from the keyboard
    <section class="scroll sheet" tabIndex={0} aria-label={label}>
      <table>
        <thead>
          <tr>
            {cells.map(({ head, kind }) => (
              <th key={head} scope="col" class={kind}>
                <span class="head">{head}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Fragment key={keyOf(row)}>
              <tr>
                {cells.map(({ head, kind, of }, at) =>
                  at === 0 ? (
                    <th key={head} scope="row" class={kind}>
                      {of(row)}
                    </th>
                  ) : (
                    <td key={head} class={kind} data-of={head}>
                      {of(row)}
                    </td>
                  ),
                )}
              </tr>
              {below?.(row) !== undefined && (
                <tr class="below">
                  <td colSpan={cells.length}>{below(row)}</td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** To the second, in UTC; the whole of it is there when somebody points at it. */
export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={moment(at)}>
      {at.slice(0, 10)} {at.slice(11, 19)}
    </time>
  );
}

/** Short, and whole for whoever points at it or copies it. */
export function Id({ of }: { of: string }) {
  const short = shortKey(of);
  return <Copy text={() => of} label={short} what={short} title={of} />;
}

/** Short and whole as well; one that was deleted is found at its address, too. */
export function RecordId({ type, of }: { type: string; of: string }) {
  if (!schema.value?.byName.has(type)) return <span title={of}>{shortKey(of)}</span>;
  return (
    <a href={dataLink(type, 'record', of)} title={of}>
      {shortKey(of)}
    </a>
  );
}

export function Tags({ of, none }: { of: readonly string[]; none: string }) {
  if (of.length === 0) return <span class="null">{none}</span>;
  return (
    <span class="items">
      {of.map((each) => (
        <span class="tag" key={each}>
          {each}
        </span>
      ))}
    </span>
  );
}

/** `editor, admin` → what is between the commas. */
export function namesIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((each) => each !== '');
}
