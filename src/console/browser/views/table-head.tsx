/** The head of a column: what it is called, the order of the rows, and its edge, which is dragged. */

import { go } from '../address.ts';
import type { ListAsk } from '../ask.ts';
import { isList, type Shown } from '../columns.ts';
import { type Row, type Schema, sortOf } from '../schema/types.ts';
import { listLink } from './list-place.ts';
import { Icon } from './parts.tsx';
import type { Selection } from './selection.ts';

interface HeadProps {
  shown: Shown;
  at: number;
  ask: ListAsk | undefined;
  schema: Schema;
  onResize: (name: string, width: number, isDone: boolean) => void;
  /** Selects all rows. */
  all?: preact.ComponentChildren;
}

export function Head({
  shown: { name, title: called, type, of },
  at: column,
  ask,
  schema,
  onResize,
  all,
}: HeadProps) {
  const sort = isList(of) ? undefined : sortOf(of, schema);
  const at = sort && ask?.sort.find((each) => each.replace(/^-/, '') === sort);
  const descending = at?.startsWith('-') ?? false;
  // Told once: in each row it would take the room of what differs.
  const zone = !isList(of) && of.kind === 'datetime' ? ' UTC' : '';
  const title = (
    <>
      <span class={of.deprecated ? 'deprecated' : ''}>{called}</span>
      {/* In place of the type: there is room for one of them. */}
      {at ? <Icon name={descending ? 'down' : 'up'} /> : <span class="type">{type + zone}</span>}
    </>
  );
  const order = at === undefined ? 'none' : descending ? 'descending' : 'ascending';
  return (
    <th
      scope="col"
      aria-colindex={column + 1}
      class={isList(of) ? '' : of.kind}
      title={of.description ?? called}
      // Not also by the box that selects all rows.
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

export function ChooseAll({ selection, rows }: { selection: Selection; rows: readonly Row[] }) {
  const { size } = selection.keys.value;
  return (
    <input
      type="checkbox"
      class="choose"
      aria-label="Select all rows"
      checked={size > 0 && size === rows.length}
      onChange={(event) => selection.all(event.currentTarget.checked)}
    />
  );
}
