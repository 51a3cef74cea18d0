/** Two states of a record side by side: the fields in which they differ, and what of each. */

import type { ComponentChildren } from 'preact';
import type { Column, Row, Schema } from '../schema/types.ts';
import { Name } from './parts.tsx';
import { shownValue } from './value.tsx';

interface Props {
  columns: readonly Column[];
  schema: Schema;
  /** Both, by what they are called; one that there is none of is left out. */
  sides: Readonly<Record<string, Row | null | undefined>>;
}

export function Differences({ columns, schema, sides }: Props) {
  const all = Object.values(sides);
  const there = Object.entries(sides).flatMap(([name, row]) => (row ? [{ name, row }] : []));
  if (there.length === 0) return <p class="quiet">The values are not kept, or not visible to you.</p>;
  const isSame = ({ name }: Column) => new Set(all.map((row) => JSON.stringify(row?.[name]))).size === 1;
  const differing = columns.filter((column) => !isSame(column));
  if (differing.length === 0) return <p class="quiet">No field was changed.</p>;
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">field</th>
            {there.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {differing.map((column) => (
            <tr key={column.name}>
              <th scope="row">
                <Name text={column.reference?.name ?? column.name} />
              </th>
              {there.map(({ name, row }, at) => (
                <td key={name} data-of={name}>
                  {there.length === 1
                    ? shownValue(column, row, schema)
                    : marked(column, row, there[1 - at]?.row ?? {}, at === 0 ? 'del' : 'ins', schema)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Of two texts, the words between those with which both begin and end; any other value is marked whole. */
function marked(
  column: Column,
  row: Row,
  other: Row,
  Mark: 'del' | 'ins',
  schema: Schema,
): ComponentChildren {
  const [text, against] = [textOf(column, row), textOf(column, other)];
  if (text === undefined || against === undefined) return <Mark>{shownValue(column, row, schema)}</Mark>;
  const least = Math.min(text.length, against.length);
  let start = 0;
  while (start < least && text[start] === against[start]) start++;
  let end = 0;
  while (end < least - start && text.at(-1 - end) === against.at(-1 - end)) end++;
  // Whole words are read more easily than parts of them.
  const before = text.slice(0, start).replace(/\S+$/, '');
  const after = text.slice(text.length - end).replace(/^\S+/, '');
  const between = text.slice(before.length, text.length - after.length);
  const parts = (
    <>
      {before}
      {between && <Mark>{between}</Mark>}
      {after}
    </>
  );
  return column.kind === 'json' ? <code class="json">{parts}</code> : parts;
}

function textOf({ kind, list, name, reference }: Column, row: Row): string | undefined {
  const value = row[name];
  if (value === null || value === undefined || value === '' || reference || list) return undefined;
  if (kind === 'json') return JSON.stringify(value, null, 2);
  return kind === 'text' ? String(value) : undefined;
}
