/** One record in a table: its cells, the box that selects it, and the editor of the cell that is being edited. */

import { useEffect, useRef } from 'preact/hooks';
import { SHOWN_INVERSES } from '../ask.ts';
import { isList, type Shown } from '../columns.ts';
import { dataLink } from '../links.ts';
import {
  type Column,
  type Inverse,
  labelled,
  nameOf,
  type Resource,
  type Row,
  type Schema,
} from '../schema/types.ts';
import { CellEditor } from './cell-editor.tsx';
import type { Edited, Grid } from './grid.ts';
import type { Selection } from './selection.ts';
import { CopyKey, directionOf, shortKey, shownValue, wholeText } from './value.tsx';

const FRESH_MS = 2000;

interface RowProps {
  at: number;
  row: Row;
  columns: readonly Shown[];
  /** Of the columns after the first, those that are drawn. */
  from: number;
  until: number;
  resource: Resource;
  schema: Schema;
  selection: Selection | undefined;
  editing: Edited | undefined;
  grid: Grid;
}

export function RowOf(props: RowProps) {
  const { at, row, columns, from, until, resource, schema, selection, editing, grid } = props;
  const link = resource.operations.has('GET')
    ? dataLink(resource.name, 'record', row[resource.key.name])
    : undefined;
  return (
    // From the keyboard, the link in the row does the same.
    <tr
      ref={useFresh(row, resource)}
      aria-rowindex={at + 2}
      class={link && 'opens'}
      aria-selected={selection?.keys.value.has(row[resource.key.name])}
      onMouseDown={grid.onMouseDown}
      onClick={(event) => grid.onClick(event, at, link)}
      onDblClick={(event) => grid.onDoubleClick(event, at)}
    >
      {columns.map((shown, column) => {
        if (column === 1 && from > 1) return <td key="before" colSpan={from - 1} aria-hidden="true" />;
        if (column === until) return <td key="after" colSpan={columns.length - until} aria-hidden="true" />;
        if (column > 0 && (column < from || column > until)) return null;
        return cell({
          shown,
          column,
          row,
          link,
          resource,
          schema,
          isEditable: grid.isEditable(shown, row),
          tabIndex: grid.tabIndex,
          choose: column === 0 && selection && <Choose {...{ selection, at, row, resource }} />,
          editor: editing?.name === shown.name && !isList(shown.of) && (
            <CellEditor
              key={`${row[resource.key.name]} ${shown.name}`}
              resource={resource}
              column={shown.of}
              row={row}
              schema={schema}
              atEnd={editing.atEnd}
              onSaved={(next, step) => grid.saved(next, shown.of as Column, step)}
              onClose={grid.close}
            />
          ),
        });
      })}
    </tr>
  );
}

/** A record that has other values than before is lit up for a moment: somebody else may have written them. */
function useFresh(row: Row, { key }: Resource) {
  const element = useRef<HTMLTableRowElement>(null);
  const before = useRef(row);
  useEffect(() => {
    const was = before.current;
    before.current = row;
    if (row === was || row[key.name] !== was[key.name] || JSON.stringify(row) === JSON.stringify(was)) return;
    if (!matchMedia('(prefers-reduced-motion: reduce)').matches)
      element.current?.animate({ backgroundColor: ['var(--accent-wash)', 'var(--paper)'] }, FRESH_MS);
  });
  return element;
}

interface CellProps {
  shown: Shown;
  column: number;
  row: Row;
  /** To the record. */
  link: string | undefined;
  resource: Resource;
  schema: Schema;
  isEditable: boolean;
  tabIndex: number | undefined;
  choose: preact.ComponentChildren;
  editor: preact.ComponentChildren;
}

/** No component: of what a new order costs, a component for each cell and each value was a third. */
function cell(props: CellProps) {
  const { shown, column, row, link, resource, schema, isEditable, tabIndex, choose, editor } = props;
  const { name, of } = shown;
  if (isList(of))
    return (
      <td key={name} tabIndex={-1} aria-colindex={column + 1}>
        {choose}
        <Linked list={of} row={row} schema={schema} />
      </td>
    );
  const { key, label } = resource;
  return (
    <td
      key={name}
      tabIndex={-1}
      aria-colindex={column + 1}
      class={`${of.kind}${isEditable ? ' editable' : ''}${editor ? ' editing' : ''}`}
      dir={directionOf(of, row)}
      title={editor ? undefined : wholeText(of, row)}
    >
      {choose}
      {editor ||
        (of === label && link
          ? named(resource, row, link, schema, tabIndex)
          : shownValue(of, row, schema, true, tabIndex))}
      {of === key && <CopyKey text={String(row[key.name])} />}
    </td>
  );
}

/** What opens the record. One whose name is null is told by the end of its key, which does not look as if it were the name. */
function named(resource: Resource, row: Row, link: string, schema: Schema, tabIndex: number | undefined) {
  const { key, label } = resource;
  const short = shortKey(String(row[key.name]));
  const name = label === key ? short : nameOf(resource, row);
  if (name === undefined)
    return (
      <>
        {shownValue(label, row, schema, true)}{' '}
        <a href={link} tabIndex={tabIndex}>
          {resource.name} {short.replace(/.+…/, '…')}
        </a>
      </>
    );
  return (
    <a class={`name ${label.kind}`} href={link} tabIndex={tabIndex}>
      {name}
    </a>
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
      aria-label={`Select ${labelled(resource, row)}`}
      checked={selection.keys.value.has(key)}
      onClick={(event) => selection.choose(at, event.shiftKey)}
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
