/** Chooses the columns of a table and their order. */

import { leave } from '../address.ts';
import type { ListAsk } from '../ask.ts';
import { allColumns, type Shown } from '../columns.ts';
import type { Row } from '../schema/types.ts';
import { focusFirst, Icon, Name } from './parts.tsx';
import { chooseColumns, columnsOf } from './table.tsx';

interface Props {
  ask: ListAsk;
  rows: readonly Row[];
  onClose: () => void;
}

export function ColumnChooser({ ask, rows, onClose }: Props) {
  const chosen = columnsOf(ask, rows);
  const others = allColumns(ask.resource, rows).filter(
    ({ name }) => !chosen.some((each) => each.name === name),
  );
  const choose = (columns: readonly Shown[]) => leave(() => chooseColumns(ask, columns));
  const move = (at: number, by: number) => {
    const column = chosen[at];
    if (column) choose(chosen.toSpliced(at, 1).toSpliced(at + by, 0, column));
  };
  return (
    <fieldset ref={focusFirst} class="filter columns">
      <legend class="sr">Columns</legend>
      <ul>
        {chosen.map((column, at) => (
          <li key={column.name}>
            <label>
              <input
                type="checkbox"
                checked
                disabled={chosen.length === 1}
                onChange={() => choose(chosen.toSpliced(at, 1))}
              />
              <Name text={column.title} />
            </label>
            <button
              type="button"
              class="plain"
              aria-label={`Move ${column.title} to the left`}
              disabled={at === 0}
              onClick={() => move(at, -1)}
            >
              <Icon name="left" />
            </button>
            <button
              type="button"
              class="plain"
              aria-label={`Move ${column.title} to the right`}
              disabled={at === chosen.length - 1}
              onClick={() => move(at, 1)}
            >
              <Icon name="right" />
            </button>
          </li>
        ))}
        {others.map((column) => (
          <li key={column.name}>
            <label>
              <input type="checkbox" onChange={() => choose([...chosen, column])} />
              <span class="quiet">
                <Name text={column.title} />
              </span>
            </label>
          </li>
        ))}
      </ul>
      <div class="tools">
        <button type="button" onClick={onClose}>
          Close
        </button>
        <button type="button" class="plain" onClick={() => choose([])}>
          Show all columns
        </button>
        <button type="button" class="plain" onClick={() => choose(chosen.slice(0, 1))}>
          Hide all but {chosen[0]?.title}
        </button>
      </div>
    </fieldset>
  );
}
