/** Which columns a table shows, in which order and how wide: as the address says, as this browser remembers, or all. */

import { type Column, type Inverse, type Resource, type Row, shownType } from './schema/types.ts';

/** A column of a table: a field, or the list through a join type. */
export interface Shown {
  readonly name: string;
  /** As a person calls it: a reference by its own name, and not by that of its key. */
  readonly title: string;
  readonly type: string;
  readonly of: Column | Inverse;
  /** In pixels, where somebody has said so. */
  readonly width: number | undefined;
}

export function isList(of: Column | Inverse): of is Inverse {
  return 'linkedBy' in of;
}

/** What people call a record by comes first, then its key, then the rest as the file has it. */
export function allColumns({ columns, inverses, label, key }: Resource, rows: readonly Row[]): Shown[] {
  const first = [...new Set([label, key])];
  const fields = [...first, ...columns.filter((column) => !first.includes(column))];
  const lists = inverses.filter(
    ({ name, linkedBy }) => linkedBy.length > 0 && rows.some((row) => Array.isArray(row[name])),
  );
  return [
    ...fields.map((of) => ({
      name: of.name,
      title: of.reference?.name ?? of.name,
      type: shownType(of),
      of,
      width: undefined,
    })),
    ...lists.map((of) => ({
      name: of.name,
      title: of.name,
      type: `[${of.target}!]!`,
      of,
      width: undefined,
    })),
  ];
}

/** `title:240,pages`; what is not known, or known no more, is left out. */
export function chosenColumns(all: readonly Shown[], choice: string | null | undefined): Shown[] {
  const chosen = (choice ?? '').split(',').flatMap((part): Shown[] => {
    const [name, width] = part.split(':');
    const column = all.find((each) => each.name === name);
    return column ? [{ ...column, width: Number(width) || undefined }] : [];
  });
  return chosen.length > 0 ? chosen : [...all];
}

export function writtenColumns(columns: readonly Shown[]): string {
  return columns
    .map(({ name, width }) => (width === undefined ? name : `${name}:${Math.round(width)}`))
    .join(',');
}
