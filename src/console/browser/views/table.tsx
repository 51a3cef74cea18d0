/** Records as a table: a name that opens each, columns to choose and to resize, and no more rows drawn than are seen. */

import { useSignal } from '@preact/signals';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { retell } from '../address.ts';
import type { ListAsk } from '../ask.ts';
import { allColumns, chosenColumns, type Shown, writtenColumns } from '../columns.ts';
import type { Column, Resource, Row, Schema } from '../schema/types.ts';
import { useKeptScroll } from '../scroll.ts';
import { remember, remembered } from '../session.ts';
import { type At, useGrid } from './grid.ts';
import { listLink } from './list-place.ts';
import type { Selection } from './selection.ts';
import { ChooseAll, Head } from './table-head.tsx';
import { RowOf } from './table-row.tsx';

interface Props {
  resource: Resource;
  rows: readonly Row[];
  schema: Schema;
  /** The first page: a new order begins there. Without it, the columns cannot be sorted, chosen or resized. */
  ask?: ListAsk;
  pending?: boolean;
  /** Whether the rows are those of the address; without a word they are. */
  isCurrent?: boolean;
  without?: string | undefined;
  /** The rows that are selected, where rows can be. */
  selection?: Selection;
  /** Cells are edited in place, and this is told what came of it. */
  onChanged?: (row: Row, column: Column) => void;
}

/** More rows than these may move under the head of their table. */
const FEW = 8;
/** Beyond these, only what is seen is drawn. */
const DRAWN = 60;
/** How many rows are drawn beyond the edges, for whoever scrolls. */
const BEYOND = 8;
const LEAST_WIDTH = 48;

export function Table(props: Props) {
  const { resource, rows, schema, ask, pending = false, isCurrent = true, without, selection } = props;
  const section = useRef<HTMLElement>(null);
  const head = useRef<HTMLTableRowElement>(null);
  const choice = ask && choiceOf(ask);
  const columns = useMemo(
    () => (ask ? columnsOf(ask, rows) : allColumns(resource, rows).filter(({ name }) => name !== without)),
    [resource, rows, choice, without],
  );
  const [widths, setWidths] = useFrozen(head, columns, ask !== undefined);
  const keep = useKeptScroll(section, 'table', ask !== undefined && isCurrent);
  const drawn = useDrawn(section, rows.length);
  const editing = useSignal<At | undefined>(undefined);
  const grid = useGrid({ ...props, section, drawn, columns, editing });
  const resize = (name: string, width: number, isDone: boolean) => {
    const wide = Math.max(LEAST_WIDTH, width);
    if (widths) setWidths({ ...widths, [name]: wide });
    if (isDone && ask)
      chooseColumns(
        ask,
        columns.map((each) => (each.name === name ? { ...each, width: wide } : each)),
      );
  };
  // Whatever else changes around them, such as what is under way: rows that are as they were are not drawn again.
  const body = useMemo(
    () =>
      rows.slice(drawn.first, drawn.last).map((row, at) => (
        <RowOf
          // By its place: in another order, cells get other texts, and none is made anew.
          key={drawn.first + at}
          at={drawn.first + at}
          row={row}
          columns={columns}
          resource={resource}
          schema={schema}
          selection={selection}
          editing={editing.value?.at === drawn.first + at ? editing.value : undefined}
          grid={grid}
        />
      )),
    [rows, columns, schema, drawn.first, drawn.last, editing.value, selection?.keys.value, grid.mayEdit],
  );
  const total = widths && columns.reduce((sum, { name }) => sum + (widths[name] ?? 0), 0);
  return (
    <section
      ref={section}
      class={rows.length > FEW ? 'scroll tall' : 'scroll'}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable from the keyboard
      tabIndex={0}
      aria-label={`${resource.name} table`}
      aria-busy={pending}
      onKeyDown={grid.onKeyDown}
      onScroll={() => {
        keep();
        drawn.look();
      }}
    >
      <table
        class={total === undefined ? '' : 'fixed'}
        style={total === undefined ? {} : { minWidth: `${total}px` }}
        aria-rowcount={rows.length + 1}
      >
        {total !== undefined && (
          <colgroup>
            {columns.map(({ name }, at) => (
              // The last takes what is left.
              <col key={name} style={at < columns.length - 1 ? { width: `${widths?.[name]}px` } : {}} />
            ))}
          </colgroup>
        )}
        <thead>
          <tr ref={head}>
            {columns.map((column) => (
              <Head
                key={column.name}
                shown={column}
                ask={ask}
                schema={schema}
                onResize={resize}
                {...(column === columns[0] && selection && { all: <ChooseAll {...{ selection, rows }} /> })}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          <Gap height={drawn.first * drawn.height} />
          {body}
          <Gap height={(rows.length - drawn.last) * drawn.height} />
        </tbody>
      </table>
    </section>
  );
}

export function columnsOf(ask: ListAsk, rows: readonly Row[]): Shown[] {
  return chosenColumns(allColumns(ask.resource, rows), choiceOf(ask));
}

/** As the address says, or this browser remembers. */
function choiceOf({ resource, columns }: ListAsk): string | null {
  return columns ?? remembered(`columns.${resource.name}`);
}

/** In the address, for whoever it is sent to, and in this browser. None: all of them again. */
export function chooseColumns(ask: ListAsk, columns: readonly Shown[]): void {
  const choice = writtenColumns(columns);
  remember(`columns.${ask.resource.name}`, choice);
  retell(listLink({ ...ask, columns: choice || undefined }));
}

type Widths = Readonly<Record<string, number>>;

/** The widths that the browser has found for the first rows: they stay, whatever rows come after them. */
function useFrozen(
  head: { readonly current: HTMLTableRowElement | null },
  columns: readonly Shown[],
  wanted: boolean,
): [Widths | undefined, (widths: Widths) => void] {
  const names = columns.map(({ name }) => name).join();
  const frozen = useSignal<{ readonly names: string; readonly widths: Widths } | undefined>(undefined);
  const widths = frozen.value?.names === names ? frozen.value.widths : undefined;
  useLayoutEffect(() => {
    if (!wanted || widths || !head.current) return;
    // A fraction less, and what just fits would be cut off.
    const cells = [...head.current.cells].map((cell) => Math.ceil(cell.getBoundingClientRect().width));
    const found = columns.map(({ name, width }, at): [string, number] => [name, width ?? cells[at] ?? 0]);
    frozen.value = { names, widths: Object.fromEntries(found) };
  });
  return [
    widths,
    (next) => {
      frozen.value = { names, widths: next };
    },
  ];
}

interface Drawn {
  readonly first: number;
  readonly last: number;
  /** Of one row, in pixels. */
  readonly height: number;
  readonly look: () => void;
}

/** Which rows are in sight, and a few beyond. */
function useDrawn(section: { readonly current: HTMLElement | null }, count: number): Drawn {
  const height = useRef(36);
  const range = useSignal<readonly [number, number]>([0, DRAWN]);
  const look = () => {
    const { current } = section;
    if (!current || count <= DRAWN) return;
    const [one, other] = current.querySelectorAll<HTMLElement>('tbody tr[aria-rowindex]');
    if (one && other) height.current = other.offsetTop - one.offsetTop;
    const first = Math.floor(current.scrollTop / height.current) - BEYOND;
    const last = first + Math.ceil(current.clientHeight / height.current) + 2 * BEYOND;
    const [from, until] = range.value;
    // Nothing is drawn for every pixel.
    if (Math.abs(first - from) >= BEYOND / 2 || last > until) range.value = [first, last];
  };
  useLayoutEffect(look);
  if (count <= DRAWN) return { first: 0, last: count, height: 0, look };
  const first = Math.min(Math.max(0, range.value[0]), count - 1);
  return { first, last: Math.min(count, Math.max(range.value[1], first + 1)), height: height.current, look };
}

/** In place of the rows that are not drawn. */
function Gap({ height }: { height: number }) {
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it can have the focus
  return height > 0 ? <tr aria-hidden="true" style={{ height: `${height}px` }} /> : null;
}
