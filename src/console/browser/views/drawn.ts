/** Which rows and columns of a table are in sight, and a few beyond: no others are drawn. */

import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { type Section, shade, useLook } from './edges.ts';

export interface Drawn {
  readonly first: number;
  readonly last: number;
  /** Of one row, in pixels. */
  readonly height: number;
  /** The columns that are drawn, beside the first, which stays in sight. */
  readonly from: number;
  readonly until: number;
  readonly look: () => void;
}

/** Tables with no more rows, and no more columns, are drawn whole. */
const ROWS = 60;
const COLUMNS = 12;
/** How many are drawn beyond the edges, for whoever scrolls. */
const ROWS_BEYOND = 8;
const COLUMNS_BEYOND = 2;

/** `widths`: of the columns, once they are known; `row` and `column`: of a cell that is drawn in any case; below zero: of none. */
export function useDrawn(
  section: Section,
  count: number,
  columns: number,
  widths: readonly number[] | undefined,
  row: number,
  column: number,
): Drawn {
  const height = useRef(36);
  const rowRange = useSignal<readonly [number, number]>([0, ROWS]);
  const columnRange = useSignal<readonly [number, number] | undefined>(undefined);
  const look = () => {
    const { current } = section;
    if (!current) return;
    shade(section);
    if (count > ROWS) {
      const [one, other] = current.querySelectorAll<HTMLElement>('tbody tr[aria-rowindex]');
      if (one && other) height.current = other.offsetTop - one.offsetTop;
      const first = Math.floor(current.scrollTop / height.current) - ROWS_BEYOND;
      const last = first + Math.ceil(current.clientHeight / height.current) + 2 * ROWS_BEYOND;
      const [from, until] = rowRange.value;
      // Nothing is drawn for every pixel.
      if (Math.abs(first - from) >= ROWS_BEYOND / 2 || last > until) rowRange.value = [first, last];
    }
    if (widths && columns > COLUMNS) {
      const { scrollLeft, clientWidth } = current;
      const [first, last] = between(widths, scrollLeft, scrollLeft + clientWidth);
      const [from, until] = columnRange.value ?? [columns, 0];
      if (first < from || last > until) columnRange.value = [first - COLUMNS_BEYOND, last + COLUMNS_BEYOND];
    }
  };
  // A window that is made larger shows more.
  useLook(section, look);
  const isCut = count > ROWS;
  const least = isCut ? Math.min(Math.max(0, rowRange.value[0]), count - 1) : 0;
  const last = isCut ? Math.min(count, Math.max(rowRange.value[1], least + 1, row + 1)) : count;
  const [from, until] = (widths && columns > COLUMNS && columnRange.value) || [1, columns];
  return {
    first: row < 0 ? least : Math.min(least, row),
    last,
    height: isCut ? height.current : 0,
    from: Math.max(1, column < 0 ? from : Math.min(from, column)),
    until: Math.min(columns, Math.max(until, column + 1)),
    look,
  };
}

/** The columns of which something is between these edges. */
function between(widths: readonly number[], left: number, right: number): [number, number] {
  let [first, last, edge] = [0, 0, 0];
  for (const [at, width] of widths.entries()) {
    if (edge < right) last = at + 1;
    edge += width;
    if (edge <= left) first = at + 1;
  }
  return [first, last];
}
