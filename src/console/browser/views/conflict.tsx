/** Somebody else has saved in between: both sides, and a decision for each field. */

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Column, Resource, Row } from '../schema/types.ts';

interface Props {
  resource: Resource;
  /** What the person had before them. */
  before: Row;
  mine: Row;
  /** What is stored now. */
  theirs: Row;
  /** Called with what is left to change in their version. */
  onDecide: (changes: Row) => void;
}

const OPENED = 'as you opened it';
const YOURS = 'yours';
const THEIRS = 'theirs, stored now';

export function Conflict({ resource, before, mine, theirs, onDecide }: Props) {
  const differing = resource.columns.filter(({ name }) => name in mine || !same(before[name], theirs[name]));
  const isOpen = ({ name }: Column) => name in mine && !same(mine[name], theirs[name]);
  const chosen = useSignal(new Set(differing.filter(isOpen).map(({ name }) => name)));
  const decide = (event: Event) => {
    event.preventDefault();
    onDecide(Object.fromEntries([...chosen.value].map((name) => [name, mine[name]])));
  };
  const choose = (name: string, isMine: boolean) => {
    const next = new Set(chosen.value);
    if (isMine) next.add(name);
    else next.delete(name);
    chosen.value = next;
  };
  return (
    <form class="conflict" onSubmit={decide}>
      <div class="notice warn" role="alert">
        Somebody has changed this record since you opened it. Your changes are not saved yet: choose which
        values to keep.
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
                <th scope="row">{column.name}</th>
                <td data-of={OPENED}>{shown(before[column.name])}</td>
                {isOpen(column) ? (
                  <>
                    <Side
                      column={column}
                      side="yours"
                      of={YOURS}
                      value={mine[column.name]}
                      checked={chosen.value.has(column.name)}
                      onChoose={() => choose(column.name, true)}
                    />
                    <Side
                      column={column}
                      side="theirs"
                      of={THEIRS}
                      value={theirs[column.name]}
                      checked={!chosen.value.has(column.name)}
                      onChoose={() => choose(column.name, false)}
                    />
                  </>
                ) : (
                  <>
                    <td data-of={YOURS} class="quiet">
                      {column.name in mine ? 'the same' : 'not changed'}
                    </td>
                    <td data-of={THEIRS}>{shown(theirs[column.name])}</td>
                  </>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="tools">
        <button type="submit" class="primary">
          {chosen.value.size === 0 ? 'Keep theirs' : 'Save selected values'}
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
  value: unknown;
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
        {shown(value)}
      </label>
    </td>
  );
}

function shown(value: unknown): ComponentChildren {
  if (value === null) return <span class="null">null</span>;
  if (value === '') return <span class="null">empty</span>;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
