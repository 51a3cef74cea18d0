/** A table from the keyboard: the arrows go from cell to cell, Enter edits, Space chooses the row. */

import type { Signal } from '@preact/signals';
import { go } from '../address.ts';
import { isList, type Shown } from '../columns.ts';
import { dataLink } from '../links.ts';
import type { Column, Resource, Row } from '../schema/types.ts';
import { may } from '../session.ts';
import type { Selection } from './selection.ts';

/** A cell, by its row and its column. */
export interface At {
  readonly at: number;
  readonly column: number;
}

export interface Grid {
  onKeyDown(event: KeyboardEvent): void;
  isEditable(shown: Shown, row: Row): boolean;
  /** Whether a click is on the pencil that an editable cell shows at its end. */
  isPencil(event: MouseEvent, cell: HTMLTableCellElement): boolean;
  edit(at: number, column: number): void;
  saved(row: Row, column: Column, step: number): void;
  close(step: number): void;
}

interface Props {
  resource: Resource;
  rows: readonly Row[];
  columns: readonly Shown[];
  section: { readonly current: HTMLElement | null };
  drawn: { readonly height: number; readonly look: () => void };
  editing: Signal<At | undefined>;
  selection?: Selection;
  onChanged?: (row: Row, column: Column) => void;
}

/** In pixels, as the style sheet has it. */
const PENCIL = 26;

export function useGrid(props: Props): Grid {
  const { resource, rows, columns, section, drawn, editing, selection, onChanged } = props;
  const writable = new Set(may(resource, 'UPDATE') ? resource.update.map(({ name }) => name) : []);
  const isEditable = ({ name, of }: Shown, row: Row) =>
    onChanged !== undefined && !isList(of) && writable.has(name) && row[name] !== undefined;
  const focus = (at: number, column: number) => {
    const row = Math.max(0, Math.min(rows.length - 1, at));
    const cell = () =>
      section.current?.querySelector<HTMLTableRowElement>(`tr[aria-rowindex="${row + 2}"]`)?.cells[
        Math.max(0, Math.min(columns.length - 1, column))
      ];
    if (!cell() && section.current) {
      section.current.scrollTop = row * drawn.height;
      drawn.look();
    }
    if (cell() && !editing.value) cell()?.focus();
    // Once it is drawn, and the editor that was in it is gone.
    else setTimeout(() => cell()?.focus());
  };
  const edit = (at: number, column: number) => {
    const [shown, row] = [columns[column], rows[at]];
    if (shown && row && isEditable(shown, row)) editing.value = { at, column };
    else if (row && resource.operations.has('GET'))
      go(dataLink(resource.name, 'record', row[resource.key.name]));
  };
  const close = (step: number) => {
    const { at = 0, column = 0 } = editing.value ?? {};
    const row = rows[at] ?? {};
    const next = columns.findIndex((shown, each) => each > column && isEditable(shown, row));
    const before = columns.findLastIndex((shown, each) => each < column && isEditable(shown, row));
    const to = step > 0 ? next : step < 0 ? before : -1;
    if (to === -1) focus(at, column);
    editing.value = to === -1 ? undefined : { at, column: to };
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    if (!onChanged || editing.value || target.closest('thead')) return;
    const cell = target.closest('td');
    const row = cell?.closest('tr')?.getAttribute('aria-rowindex');
    const at = row ? Number(row) - 2 : Math.ceil((section.current?.scrollTop ?? 0) / (drawn.height || 1)) - 1;
    const column = cell?.cellIndex ?? 0;
    const isOnCell = target === cell;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const aside = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) {
      if (event.shiftKey && cell) {
        if (!selection?.keys.value.has(rows[at]?.[resource.key.name])) selection?.choose(at, false);
        selection?.choose(Math.max(0, Math.min(rows.length - 1, at + step)), true);
      }
      focus(at + step, column);
    } else if (aside && cell) focus(at, column + aside);
    else if ((event.key === 'Enter' || event.key === 'F2') && isOnCell) edit(at, column);
    else if (event.key === ' ' && isOnCell) selection?.choose(at, event.shiftKey);
    else if (event.key === 'a' && (event.ctrlKey || event.metaKey)) selection?.all(true);
    else if (event.key === 'Escape' && selection && selection.keys.value.size > 0) selection.all(false);
    else return;
    event.preventDefault();
  };
  return {
    onKeyDown,
    isEditable,
    isPencil: (event, cell) =>
      cell.classList.contains('editable') && cell.getBoundingClientRect().right - event.clientX < PENCIL,
    edit,
    saved(row, column, step) {
      onChanged?.(row, column);
      close(step);
    },
    close,
  };
}
