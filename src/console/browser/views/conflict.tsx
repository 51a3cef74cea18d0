/** Somebody else has saved in between: both sides, and a decision for each field. */

import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Change } from '../ask.ts';
import { type Column, fieldsOf, labelled, type Resource, type Row, type Schema } from '../schema/types.ts';
import { useReferred } from './referred.ts';
import { moment } from './value.tsx';

interface Props {
  schema: Schema;
  resource: Resource;
  /** What the person had before them. */
  before: Row;
  mine: Row;
  /** What is stored now. */
  theirs: Row;
  /** Who wrote that, and when, where it is known. */
  change: Change | undefined;
  /** The fields of which the person's own value is kept. */
  kept: Signal<ReadonlySet<string>>;
  /** Called with what is left to change in their version. */
  onDecide: (changes: Row) => void;
}

/** What the person has changed and would change in their version, too. */
export function changedIn(mine: Row, theirs: Row): ReadonlySet<string> {
  return new Set(Object.keys(mine).filter((name) => name in theirs && !same(mine[name], theirs[name])));
}

export function keptOf(mine: Row, kept: ReadonlySet<string>): Row {
  return Object.fromEntries([...kept].map((name) => [name, mine[name]]));
}

const OPENED = 'as you opened it';
const YOURS = 'yours';
const THEIRS = 'theirs, stored now';

export function Conflict({ schema, resource, before, mine, theirs, change, kept, onDecide }: Props) {
  const referred = useReferred(resource, [before, mine, theirs], schema);
  const shown = (column: Column, row: Row) => shownIn(column, referred(row), schema);
  // What the service sets is nobody's choice.
  const columns = fieldsOf(resource, resource.update).map(({ column }) => column);
  const differing = columns.filter(({ name }) => name in mine || !same(before[name], theirs[name]));
  const changed = changedIn(mine, theirs);
  const isChanged = ({ name }: Column) => changed.has(name);
  const isDisputed = (column: Column) => isChanged(column) && !same(before[column.name], theirs[column.name]);
  const notice = useRef<HTMLDivElement>(null);
  // It takes the place of a form that may be scrolled to its end.
  useLayoutEffect(() => notice.current?.scrollIntoView({ block: 'center' }), []);
  const decide = (event: Event) => {
    event.preventDefault();
    onDecide(keptOf(mine, kept.value));
  };
  const choose = (name: string, isMine: boolean) => {
    const next = new Set(kept.value);
    if (isMine) next.add(name);
    else next.delete(name);
    kept.value = next;
  };
  return (
    <form class="conflict" onSubmit={decide}>
      <div ref={notice} class="notice warn" role="alert">
        {change?.caller ?? 'Somebody'} has changed this record since you opened it
        {change && `, at ${moment(change.at)}`}. Your changes are not saved yet
        {differing.some(isDisputed)
          ? ': where both of you changed a field, choose which value to keep.'
          : ', and no field was changed by both of you.'}
      </div>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">field</th>
              <th scope="col">{OPENED}</th>
              <th scope="col">{YOURS}</th>
              <th scope="col">{THEIRS}</th>
            </tr>
          </thead>
          <tbody>
            {differing.map((column) => (
              <tr key={column.name}>
                <th scope="row">{column.reference?.name ?? column.name}</th>
                <td data-of={OPENED}>{shown(column, before)}</td>
                {isDisputed(column) ? (
                  <>
                    <Side
                      column={column}
                      side="yours"
                      of={YOURS}
                      value={shown(column, mine)}
                      checked={kept.value.has(column.name)}
                      onChoose={() => choose(column.name, true)}
                    />
                    <Side
                      column={column}
                      side="theirs"
                      of={THEIRS}
                      value={shown(column, theirs)}
                      checked={!kept.value.has(column.name)}
                      onChoose={() => choose(column.name, false)}
                    />
                  </>
                ) : (
                  <>
                    <td data-of={YOURS} class={isChanged(column) ? 'chosen' : 'quiet'}>
                      {column.name in mine ? shown(column, mine) : 'not changed'}
                    </td>
                    <td data-of={THEIRS} class={isChanged(column) ? 'quiet' : 'chosen'}>
                      {isChanged(column)
                        ? 'not changed'
                        : column.name in mine
                          ? 'the same'
                          : shown(column, theirs)}
                    </td>
                  </>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="tools">
        <button type="submit" class="primary">
          {kept.value.size === 0 ? 'Keep theirs' : 'Save selected values'}
        </button>
        <button type="button" onClick={() => onDecide({})}>
          Discard mine
        </button>
      </div>
    </form>
  );
}

interface SideProps {
  column: Column;
  side: string;
  /** The title of its column. */
  of: string;
  value: ComponentChildren;
  checked: boolean;
  onChoose: () => void;
}

function Side({ column, side, of, value, checked, onChoose }: SideProps) {
  return (
    <td data-of={of} class={checked ? 'chosen' : ''}>
      <label>
        <input
          type="radio"
          name={column.name}
          checked={checked}
          aria-label={`${column.name}: ${side}`}
          onChange={onChoose}
        />{' '}
        {value}
      </label>
    </td>
  );
}

/** A record by its name and its key: two may have the same name. */
function shownIn({ name, kind, reference }: Column, row: Row, { byName }: Schema): ComponentChildren {
  const value = row[name];
  const target = reference && byName.get(reference.target);
  const record = reference && row[reference.name];
  if (target && record)
    return (
      <>
        {labelled(target, record as Row)} <span class="quiet small">{String(value)}</span>
      </>
    );
  if (kind === 'datetime' && typeof value === 'string') return moment(value);
  if (value === null) return <span class="null">null</span>;
  if (value === '') return <span class="null">empty</span>;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
