/** Below a table: which of the records it shows, and the way to the others. */

import { useRef } from 'preact/hooks';
import { go } from '../address.ts';
import { counted, numbered } from '../amounts.ts';
import type { ListAsk } from '../ask.ts';
import { listLink, PAGE_SIZES } from './list-place.ts';
import { Icon } from './parts.tsx';

interface PagerProps {
  ask: ListAsk;
  next?: string | undefined;
  previous?: string | undefined;
  total: number | undefined;
  shown: number;
  /** Whether the rows are those of the address: until then it is told which they are. */
  isCurrent: boolean;
}

export function Pager({ ask, next, previous, total, shown, isCurrent }: PagerProps) {
  const page = (turn: Partial<ListAsk>) => listLink({ ...ask, after: undefined, before: undefined, ...turn });
  const from = ask.after || ask.before ? ask.from : 1;
  const isWhole = total === shown || (total === undefined && from === 1 && !next);
  const which =
    from && shown > 0 && !isWhole
      ? `${numbered(from)}–${numbered(from + shown - 1)}`
      : counted(shown, 'record');
  const told = useRef(which);
  if (isCurrent) told.current = which;
  return (
    <nav class="pager" aria-label="Pages">
      <Turn label="First" icon="first" link={ask.after || ask.before ? page({}) : undefined} />
      <Turn
        label="Previous"
        icon="left"
        link={
          previous
            ? page({ before: previous, from: from && Math.max(1, from - (ask.limit ?? 0)) })
            : undefined
        }
      />
      <Turn
        label="Next"
        icon="right"
        link={next ? page({ after: next, from: from && from + shown }) : undefined}
      />
      <span class="quiet">
        {told.current}
        {total !== undefined && total !== shown && ` of ${numbered(total)}`}
      </span>
      <label class="size">
        <span class="quiet">Rows</span>
        <select
          value={String(ask.limit)}
          onChange={(event) => go(page({ limit: Number(event.currentTarget.value) }))}
        >
          {[...new Set([...PAGE_SIZES, ask.limit ?? 0])].map((size) => (
            <option key={size}>{size}</option>
          ))}
        </select>
      </label>
    </nav>
  );
}

function Turn({
  label,
  icon,
  link,
}: {
  label: string;
  icon: 'first' | 'left' | 'right';
  link: string | undefined;
}) {
  return (
    <button type="button" disabled={link === undefined} onClick={() => link && go(link)}>
      {icon !== 'right' && <Icon name={icon} />} {label} {icon === 'right' && <Icon name={icon} />}
    </button>
  );
}
