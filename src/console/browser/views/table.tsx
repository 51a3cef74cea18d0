/** Records as a table: a name that opens each, columns to choose and to resize, and no more rows drawn than are seen. */

import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { go, retell } from '../address.ts';
import { type ListAsk, SHOWN_INVERSES } from '../ask.ts';
import { allColumns, chosenColumns, isList, type Shown, writtenColumns } from '../columns.ts';
import { dataLink } from '../links.ts';
import {
  type Column,
  type Inverse,
  labelled,
  type Resource,
  type Row,
  type Schema,
  sortOf,
} from '../schema/types.ts';
import { useKeptScroll } from '../scroll.ts';
import { remember, remembered } from '../session.ts';
import { CellEditor } from './cell-editor.tsx';
import { type At, type Grid, useGrid } from './grid.ts';
import { listLink } from './list-place.ts';
import { Icon } from './parts.tsx';
import type { Selection } from './selection.ts';
import { CopyKey, directionOf, shortKey, Value, wholeText } from './value.tsx';

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
  /** The rows that are chosen, where rows can be. */
  selection?: Selection;
  /** Cells are edited in place, and this is told what came of it. */
  onChanged?: (row: Row, column: Column) => void;
}

/** More rows than these may move under the head of their table. */
const FEW = 8;
/** Beyond these, only what is seen is drawn. */
const DRAWN = 60;
/** How many rows are drawn beyond the edges, for whoever scrolls. */
const BEYOND = 12;
const LEAST_WIDTH = 48;
const FRESH_MS = 2000;

export function Table(props: Props) {
  const { resource, rows, schema, ask, pending = false, isCurrent = true, without, selection } = props;
  const section = useRef<HTMLElement>(null);
  const head = useRef<HTMLTableRowElement>(null);
  const columns = ask
    ? columnsOf(ask, rows)
    : allColumns(resource, rows).filter(({ name }) => name !== without);
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
          {rows.slice(drawn.first, drawn.last).map((row, at) => (
            <RowOf
              key={String(row[resource.key.name])}
              at={drawn.first + at}
              row={row}
              columns={columns}
              resource={resource}
              schema={schema}
              selection={selection}
              editing={editing.value?.at === drawn.first + at ? editing.value : undefined}
              grid={grid}
            />
          ))}
          <Gap height={(rows.length - drawn.last) * drawn.height} />
        </tbody>
      </table>
    </section>
  );
}

/** As the address says, or this browser remembers. */
export function columnsOf({ resource, columns }: ListAsk, rows: readonly Row[]): Shown[] {
  return chosenColumns(allColumns(resource, rows), columns ?? remembered(`columns.${resource.name}`));
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
    const cells = [...head.current.cells].map((cell) => cell.offsetWidth);
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

interface RowProps {
  at: number;
  row: Row;
  columns: readonly Shown[];
  resource: Resource;
  schema: Schema;
  selection: Selection | undefined;
  editing: At | undefined;
  grid: Grid;
}

function RowOf({ at, row, columns, resource, schema, selection, editing, grid }: RowProps) {
  const link = resource.operations.has('GET')
    ? dataLink(resource.name, 'record', row[resource.key.name])
    : undefined;
  const open = (event: MouseEvent) => {
    const isTaken = (event.target as Element).closest('a, button, input, select, textarea, label');
    // Whoever marks a text wants to copy it.
    if (isTaken || getSelection()?.isCollapsed === false) return;
    const cell = (event.target as Element).closest('td');
    if (cell && grid.isPencil(event, cell)) return grid.edit(at, cell.cellIndex);
    if (selection && event.shiftKey) return selection.choose(at, true);
    if (!link) return;
    if (event.ctrlKey || event.metaKey) window.open(link);
    else go(link);
  };
  return (
    // From the keyboard, the link in the row does the same.
    <tr
      ref={useFresh(row)}
      aria-rowindex={at + 2}
      class={link && 'opens'}
      aria-selected={selection?.keys.value.has(row[resource.key.name])}
      onClick={open}
    >
      {columns.map((shown, column) => (
        <Cell
          key={shown.name}
          shown={shown}
          row={row}
          link={link}
          resource={resource}
          schema={schema}
          isEditable={grid.isEditable(shown, row)}
          choose={column === 0 && selection && <Choose {...{ selection, at, row, resource }} />}
          editor={
            editing?.column === column &&
            !isList(shown.of) && (
              <CellEditor
                key={shown.name}
                resource={resource}
                column={shown.of}
                row={row}
                schema={schema}
                onSaved={(next, step) => grid.saved(next, shown.of as Column, step)}
                onClose={grid.close}
              />
            )
          }
        />
      ))}
    </tr>
  );
}

/** A row that has other values than before is lit up for a moment: somebody else may have written them. */
function useFresh(row: Row) {
  const element = useRef<HTMLTableRowElement>(null);
  const text = JSON.stringify(row);
  const before = useRef(text);
  useEffect(() => {
    if (before.current === text) return;
    before.current = text;
    if (!matchMedia('(prefers-reduced-motion: reduce)').matches)
      element.current?.animate({ backgroundColor: ['var(--accent-wash)', 'transparent'] }, FRESH_MS);
  });
  return element;
}

interface CellProps {
  shown: Shown;
  row: Row;
  /** To the record. */
  link: string | undefined;
  resource: Resource;
  schema: Schema;
  isEditable: boolean;
  choose: preact.ComponentChildren;
  editor: preact.ComponentChildren;
}

function Cell({ shown: { of }, row, link, resource, schema, isEditable, choose, editor }: CellProps) {
  if (isList(of))
    return (
      <td tabIndex={-1}>
        {choose}
        <Linked list={of} row={row} schema={schema} />
      </td>
    );
  const { key, label } = resource;
  return (
    <td
      tabIndex={-1}
      class={`${of.kind}${isEditable ? ' editable' : ''}${editor ? ' editing' : ''}`}
      dir={directionOf(of)}
      title={editor ? undefined : wholeText(of, row)}
    >
      {choose}
      {editor}
      {of === label && link ? (
        <a class={`name ${of.kind}`} href={link}>
          {of === key ? shortKey(String(row[key.name])) : labelled(resource, row)}
        </a>
      ) : (
        <Value column={of} row={row} schema={schema} short />
      )}
      {of === key && <CopyKey text={String(row[key.name])} />}
    </td>
  );
}

interface ChooseProps {
  selection: Selection;
  at: number;
  row: Row;
  resource: Resource;
}

function Choose({ selection, at, row, resource }: ChooseProps) {
  const key = row[resource.key.name];
  return (
    <input
      type="checkbox"
      class="choose"
      tabIndex={-1}
      aria-label={`Choose ${labelled(resource, row)}`}
      checked={selection.keys.value.has(key)}
      onClick={(event) => selection.choose(at, event.shiftKey)}
    />
  );
}

function ChooseAll({ selection, rows }: { selection: Selection; rows: readonly Row[] }) {
  const { size } = selection.keys.value;
  return (
    <input
      type="checkbox"
      class="choose"
      aria-label="Choose all rows"
      checked={size > 0 && size === rows.length}
      onChange={(event) => selection.all(event.currentTarget.checked)}
    />
  );
}

/** The first records of a list through a join type, by what people call them. */
function Linked({ list, row, schema }: { list: Inverse; row: Row; schema: Schema }) {
  const target = schema.byName.get(list.target);
  const rows = row[list.name];
  if (!target || !Array.isArray(rows)) return <span class="null">hidden</span>;
  return (
    <span class="items">
      {rows.length === 0 && <span class="null">none</span>}
      {rows.slice(0, SHOWN_INVERSES).map((each) => (
        <span class="tag" dir="auto" key={String(each[target.key.name])}>
          {labelled(target, each)}
        </span>
      ))}
      {rows.length > SHOWN_INVERSES && <span class="quiet">…</span>}
    </span>
  );
}

interface HeadProps {
  shown: Shown;
  ask: ListAsk | undefined;
  schema: Schema;
  onResize: (name: string, width: number, isDone: boolean) => void;
  /** Chooses all rows. */
  all?: preact.ComponentChildren;
}

function Head({ shown: { name, title: called, type, of }, ask, schema, onResize, all }: HeadProps) {
  const sort = isList(of) ? undefined : sortOf(of, schema);
  const at = sort && ask?.sort.find((each) => each.replace(/^-/, '') === sort);
  const descending = at?.startsWith('-') ?? false;
  const title = (
    <>
      <span class={of.deprecated ? 'deprecated' : ''}>{called}</span>
      {at && <Icon name={descending ? 'down' : 'up'} />}
      <span class="type">{type}</span>
    </>
  );
  const order = at === undefined ? 'none' : descending ? 'descending' : 'ascending';
  return (
    <th
      scope="col"
      class={isList(of) ? '' : of.kind}
      title={of.description}
      // Not also by the box that chooses all rows.
      aria-label={all ? called : undefined}
      aria-sort={ask && sort ? order : undefined}
    >
      {all}
      {ask && sort ? (
        <button
          type="button"
          class="head"
          onClick={(event) => go(listLink({ ...ask, sort: turned(ask.sort, sort, event.shiftKey) }))}
          onKeyDown={(event) => {
            const step = event.altKey ? { ArrowLeft: -WIDER, ArrowRight: WIDER }[event.key] : undefined;
            if (step === undefined) return;
            event.preventDefault();
            onResize(name, (event.currentTarget.parentElement?.offsetWidth ?? 0) + step, true);
          }}
        >
          {title}
        </button>
      ) : (
        <span class="head">{title}</span>
      )}
      {ask && <Grip onResize={(width, isDone) => onResize(name, width, isDone)} />}
    </th>
  );
}

/** How much a key makes a column wider. */
const WIDER = 24;

/** The edge of a column, to be dragged. */
function Grip({ onResize }: { onResize: (width: number, isDone: boolean) => void }) {
  const drag = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    const { currentTarget: grip, clientX, pointerId } = event;
    const width = grip.parentElement?.offsetWidth ?? 0;
    event.preventDefault();
    grip.setPointerCapture(pointerId);
    const onMove = (move: PointerEvent) => onResize(width + move.clientX - clientX, false);
    const end = (last: PointerEvent) => {
      grip.removeEventListener('pointermove', onMove);
      onResize(width + last.clientX - clientX, true);
    };
    grip.addEventListener('pointermove', onMove);
    grip.addEventListener('pointerup', end, { once: true });
  };
  return <span class="grip" aria-hidden="true" onPointerDown={drag} />;
}

/** Up, then down, then not at all; with Shift beside the other columns, otherwise in their place. */
function turned(sort: readonly string[], name: string, keep: boolean): string[] {
  const at = sort.findIndex((each) => each.replace(/^-/, '') === name);
  const next = at === -1 ? [name] : sort[at]?.startsWith('-') ? [] : [`-${name}`];
  if (!keep) return next;
  return at === -1 ? [...sort, ...next] : sort.toSpliced(at, 1, ...next);
}
