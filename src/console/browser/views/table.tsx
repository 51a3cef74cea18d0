/** Records as a table: a name that opens each, columns to choose and to resize, and no more of it drawn than is seen. */

import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { retell } from '../address.ts';
import type { ListAsk } from '../ask.ts';
import { allColumns, chosenColumns, isList, type Shown, writtenColumns } from '../columns.ts';
import type { Column, Resource, Row, Schema } from '../schema/types.ts';
import { useKeptScroll } from '../scroll.ts';
import { remember, remembered } from '../session.ts';
import { useDrawn } from './drawn.ts';
import { type Edited, useGrid } from './grid.ts';
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
  /** Which rows of the type these are, in whichever order. */
  page?: string;
  pending?: boolean;
  /** Whether the rows are those of the address; without a word they are. */
  isCurrent?: boolean;
  without?: string | undefined;
  /** The rows that are selected, where rows can be. */
  selection?: Selection | undefined;
  /** Cells are edited in place, and this is told what came of it. */
  onChanged?: (row: Row, column: Column) => void;
}

/** More rows than these may move under the head of their table. */
const FEW = 8;
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
  const page = useRef(props.page);
  if (isCurrent) page.current = props.page;
  const [widths, setWidths] = useFrozen(section, head, columns, page.current);
  useRoomForNumbers(section, columns, rows, widths, setWidths);
  const keep = useKeptScroll(section, 'table', ask !== undefined && isCurrent);
  const editing = useSignal<Edited | undefined>(undefined);
  const at = rows.findIndex((row) => editing.value && row[resource.key.name] === editing.value.key);
  const column = columns.findIndex(({ name }) => name === editing.value?.name);
  const wide = widths && columns.map(({ name }) => widths[name] ?? 0);
  const drawn = useDrawn(section, rows.length, columns.length, wide, at, column);
  const grid = useGrid({ ...props, section, drawn, columns, editing, at, column });
  const resize = (name: string, width: number, isDone: boolean) => {
    const put = Math.max(LEAST_WIDTH, width);
    if (widths) setWidths({ ...widths, [name]: put });
    if (isDone && ask)
      chooseColumns(
        ask,
        columns.map((each) => (each.name === name ? { ...each, width: put } : each)),
      );
  };
  // Whatever else changes around them, such as what is under way: rows that are as they were are not drawn again.
  const body = useMemo(
    () =>
      rows.slice(drawn.first, drawn.last).map((row, each) => (
        <RowOf
          // By its place: in another order, cells get other texts, and none is made anew.
          key={drawn.first + each}
          at={drawn.first + each}
          row={row}
          columns={columns}
          from={drawn.from}
          until={drawn.until}
          resource={resource}
          schema={schema}
          selection={selection}
          editing={at === drawn.first + each ? editing.value : undefined}
          grid={grid}
        />
      )),
    [
      ...[rows, columns, schema, drawn.first, drawn.last, drawn.from, drawn.until],
      ...[editing.value, selection?.keys.value, grid.mayEdit],
    ],
  );
  const total = wide?.reduce((sum, width) => sum + width, 0);
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
        // In a table, screen readers keep the arrows for themselves.
        role={props.onChanged && 'grid'}
        aria-rowcount={rows.length + 1}
        aria-colcount={columns.length}
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
            {columns.map((column, at) => (
              <Head
                key={column.name}
                at={at}
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

/**
 * The widths that the browser has found for the rows of a page: they stay, whatever is edited and in which order they are, and are
 * found anew for another page and in a window of another width.
 */
function useFrozen(
  section: { readonly current: HTMLElement | null },
  head: { readonly current: HTMLTableRowElement | null },
  columns: readonly Shown[],
  page: string | undefined,
): [Widths | undefined, (widths: Widths) => void] {
  const of = [page, ...columns.map(({ name }) => name)].join();
  const frozen = useSignal<{ readonly of: string; readonly widths: Widths } | undefined>(undefined);
  const widths = frozen.value?.of === of ? frozen.value.widths : undefined;
  const put = (next: Widths) => {
    frozen.value = { of, widths: next };
  };
  /** How wide the window of the table was when they were found. */
  const foundAt = useRef(0);
  useLayoutEffect(() => {
    if (page === undefined || widths || !head.current) return;
    foundAt.current = section.current?.offsetWidth ?? 0;
    // A fraction less, and what just fits would be cut off.
    const cells = [...head.current.cells].map((cell) => Math.ceil(cell.getBoundingClientRect().width));
    const found = columns.map(({ name, width }, at): [string, number] => [name, width ?? cells[at] ?? 0]);
    put(fitted(Object.fromEntries(found), columns, section.current));
  });
  useEffect(() => {
    const { current } = section;
    if (!current) return;
    // What stands beside it may have come since they were found, before anybody looks.
    const observer = new ResizeObserver(() => {
      if (current.offsetWidth !== foundAt.current) frozen.value = undefined;
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return [widths, put];
}

/** A table that is wider than its window by less than this has no more to show at its side. */
const SLIGHT = 24;

/** What a table lacks to fit its window, where that is little, its widest text gives. */
function fitted(widths: Widths, columns: readonly Shown[], section: HTMLElement | null): Widths {
  const over = Object.values(widths).reduce((sum, width) => sum + width) - (section?.clientWidth ?? 0);
  const texts = columns.filter(({ width, of }) => !width && !NUMBER.test(isList(of) ? '' : of.kind));
  const [widest] = texts.toSorted((one, other) => (widths[other.name] ?? 0) - (widths[one.name] ?? 0));
  if (over <= 0 || over > SLIGHT || !widest) return widths;
  return { ...widths, [widest.name]: (widths[widest.name] ?? 0) - over };
}

/** Of a key or a number that is cut off, what is left looks like another one: such a column grows, unless somebody has said how wide it is. */
function useRoomForNumbers(
  section: { readonly current: HTMLElement | null },
  columns: readonly Shown[],
  rows: readonly Row[],
  widths: Widths | undefined,
  setWidths: (widths: Widths) => void,
): void {
  useLayoutEffect(() => {
    const wider: Record<string, number> = {};
    for (const cell of section.current?.querySelectorAll('td') ?? []) {
      const { className, clientWidth, scrollWidth, ariaColIndex } = cell;
      const { name = '', width } = columns[Number(ariaColIndex) - 1] ?? {};
      if (!width && scrollWidth > Math.max(clientWidth, wider[name] ?? 0) && NUMBER.test(className))
        wider[name] = scrollWidth;
    }
    if (widths && Object.keys(wider).length > 0)
      setWidths(fitted({ ...widths, ...wider }, columns, section.current));
  }, [rows, widths]);
}

const NUMBER = /^(id|int|float|bigint|decimal)\b/;

/** In place of the rows that are not drawn. */
function Gap({ height }: { height: number }) {
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it can have the focus
  return height > 0 ? <tr aria-hidden="true" style={{ height: `${height}px` }} /> : null;
}
