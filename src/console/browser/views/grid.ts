/** A table in use: the arrows go from cell to cell, Enter and a double-click edit, a click and `o` open the record, Space selects the row. */

import type { Signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { go, leave } from '../address.ts';
import { isList, type Shown } from '../columns.ts';
import { dataLink } from '../links.ts';
import type { Column, Resource, Row } from '../schema/types.ts';
import { may } from '../session.ts';
import type { Selection } from './selection.ts';

/** The cell that is edited, wherever its record and its column are by now. */
export interface Edited {
  readonly key: unknown;
  readonly name: string;
  /** Whether it is edited from its end, as F2 does in spreadsheets. */
  readonly atEnd?: boolean;
}

export interface Grid {
  readonly mayEdit: boolean;
  /** Of the links in its cells: where the arrows go from cell to cell, Tab leads on instead of through all of them. */
  readonly tabIndex: number | undefined;
  onKeyDown(event: KeyboardEvent): void;
  isEditable(shown: Shown, row: Row): boolean;
  onMouseDown(event: MouseEvent): void;
  /** `link` leads to the record of the row. */
  onClick(event: MouseEvent, at: number, link: string | undefined): void;
  onDoubleClick(event: MouseEvent, at: number): void;
  saved(row: Row, column: Column, step: number | undefined): void;
  close(step: number): void;
}

interface Props {
  resource: Resource;
  rows: readonly Row[];
  columns: readonly Shown[];
  section: { readonly current: HTMLElement | null };
  drawn: { readonly height: number; readonly look: () => void };
  editing: Signal<Edited | undefined>;
  /** Where that is; below zero where it is not. */
  at: number;
  column: number;
  selection?: Selection | undefined;
  onChanged?: (row: Row, column: Column) => void;
}

/** In pixels, as the style sheet has it. */
const PENCIL = 26;

/** In cells that can be edited, a click waits this long for a second one; longer would be felt. */
const SECOND_CLICK_MS = 250;

/** What does something of its own when it is clicked. */
const OWN = 'button, input, select, textarea, label, form';

/** Not by its place among those that are drawn. */
function columnOf(cell: HTMLTableCellElement): number {
  return Number(cell.getAttribute('aria-colindex')) - 1;
}

export function useGrid(props: Props): Grid {
  const { resource, rows, columns, section, drawn, editing, selection, onChanged } = props;
  const mayEdit = onChanged !== undefined && may(resource, 'UPDATE');
  const writable = new Set(mayEdit ? resource.update.map(({ name }) => name) : []);
  const isEditable = ({ name, of }: Shown, row: Row) =>
    !isList(of) && writable.has(name) && row[name] !== undefined;
  const focus = (at: number, column: number) => {
    const row = Math.max(0, Math.min(rows.length - 1, at));
    const index = Math.max(0, Math.min(columns.length - 1, column));
    const line = () => section.current?.querySelector(`tr[aria-rowindex="${row + 2}"]`);
    const cell = () => line()?.querySelector<HTMLElement>(`[aria-colindex="${index + 1}"]`);
    if (!cell() && section.current) {
      if (!line()) section.current.scrollTop = row * drawn.height;
      section.current.querySelectorAll('th')[index]?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
      drawn.look();
    }
    if (cell() && !editing.value) return cell()?.focus();
    const { activeElement } = document;
    // Once it is drawn, and the editor that was in it is gone; whoever has gone elsewhere meanwhile stays there.
    setTimeout(() => {
      if ([activeElement, document.body].includes(document.activeElement as HTMLElement)) cell()?.focus();
    });
  };
  const open = (at: number) => {
    if (resource.operations.has('GET')) go(dataLink(resource.name, 'record', rows[at]?.[resource.key.name]));
  };
  const edit = (at: number, column: number, atEnd = false) => {
    const [shown, row] = [columns[column], rows[at]];
    if (shown && row && isEditable(shown, row))
      void leave(() => {
        editing.value = { key: row[resource.key.name], name: shown.name, atEnd };
      });
    else if (!atEnd) open(at);
  };
  const close = (step: number) => {
    const { at, column } = props;
    const row = rows[at] ?? {};
    const next = columns.find((shown, each) => each > column && isEditable(shown, row));
    const before = columns.findLast((shown, each) => each < column && isEditable(shown, row));
    const to = step > 0 ? next : step < 0 ? before : undefined;
    // Whoever is elsewhere by now stays there.
    const { activeElement } = document;
    if (!to && (activeElement === document.body || activeElement?.closest('form.cell'))) focus(at, column);
    editing.value = to && { key: row[resource.key.name], name: to.name };
  };
  const opening = useRef<ReturnType<typeof setTimeout>>(undefined);
  const wasEditing = useRef(false);
  useEffect(() => () => clearTimeout(opening.current), []);
  // Not on another record, nor in another column.
  useLayoutEffect(() => {
    if (props.at < 0 || props.column < 0) editing.value = undefined;
  });
  const editableAt = (event: MouseEvent) => {
    const target = event.target as Element;
    return target.closest(OWN) ? null : target.closest<HTMLTableCellElement>('td.editable');
  };
  const onMouseDown = (event: MouseEvent) => {
    wasEditing.current = editing.value !== undefined;
    // It would mark the word under the pointer.
    if (event.detail > 1 && editableAt(event)) event.preventDefault();
  };
  const onClick = (event: MouseEvent, at: number, link: string | undefined) => {
    const target = event.target as Element;
    // Whoever marks a text wants to copy it.
    if (target.closest(OWN) || getSelection()?.isCollapsed === false) return;
    // A click that ends an edit does nothing else.
    if (wasEditing.current && event.detail > 0) return event.preventDefault();
    const editable = editableAt(event);
    const own = target.closest('a')?.getAttribute('href');
    const isElsewhere = event.ctrlKey || event.metaKey;
    // What browsers do with a link, they do; that of a cell that can be edited waits for a second click.
    if (own && (isElsewhere || event.shiftKey || event.altKey || event.detail === 0 || !editable)) return;
    event.preventDefault();
    clearTimeout(opening.current);
    const to = own ?? link;
    if (!own && editable && editable.getBoundingClientRect().right - event.clientX < PENCIL)
      edit(at, columnOf(editable));
    else if (selection && event.shiftKey) selection.choose(at, true);
    else if (!to) return;
    else if (isElsewhere) window.open(to);
    else if (!editable || event.detail === 0) go(to);
    else if (event.detail === 1) opening.current = setTimeout(go, SECOND_CLICK_MS, to);
  };
  const onDoubleClick = (event: MouseEvent, at: number) => {
    const cell = editableAt(event);
    if (!cell) return;
    clearTimeout(opening.current);
    edit(at, columnOf(cell));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    if (!onChanged || editing.value || target.closest('thead')) return;
    const cell = target.closest('td');
    const row = cell?.closest('tr')?.getAttribute('aria-rowindex');
    const at = row ? Number(row) - 2 : Math.ceil((section.current?.scrollTop ?? 0) / (drawn.height || 1)) - 1;
    const column = cell ? columnOf(cell) : 0;
    const isOnCell = target === cell;
    const isControl = event.ctrlKey || event.metaKey;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const page = Math.floor((section.current?.clientHeight ?? 0) / (drawn.height || 1)) - 1;
    const place = {
      Home: [isControl ? 0 : at, 0],
      End: [isControl ? rows.length : at, columns.length],
      PageUp: [at - page, column],
      PageDown: [at + page, column],
    }[event.key] as [number, number] | undefined;
    const aside = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) {
      if (event.shiftKey && cell) {
        if (!selection?.keys.value.has(rows[at]?.[resource.key.name])) selection?.choose(at, false);
        selection?.choose(Math.max(0, Math.min(rows.length - 1, at + step)), true);
      }
      focus(at + step, column);
    } else if (aside && cell) focus(at, column + aside);
    else if (cell && place) focus(...place);
    else if ((event.key === 'Enter' || event.key === 'F2') && isOnCell) edit(at, column, event.key === 'F2');
    else if (event.key === ' ' && isOnCell) selection?.choose(at, event.shiftKey);
    else if (event.key === 'o' && isOnCell && !isControl) open(at);
    else if (event.key === 'a' && isControl && selection) selection.all(true);
    else if (event.key === 'Escape' && selection && selection.keys.value.size > 0) selection.all(false);
    else return;
    event.preventDefault();
  };
  return {
    mayEdit,
    tabIndex: onChanged && -1,
    onKeyDown,
    isEditable,
    onMouseDown,
    onClick,
    onDoubleClick,
    saved(row, column, step) {
      onChanged?.(row, column);
      if (step !== undefined) close(step);
    },
    close,
  };
}
