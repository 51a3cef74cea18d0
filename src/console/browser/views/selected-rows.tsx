/** How many rows of a table are selected and what can be done to them, in the place of its tools: the table stays where it is. */

import { useSignal } from '@preact/signals';
import { counted } from '../amounts.ts';
import type { ListAsk } from '../ask.ts';
import { filterOf } from '../found.ts';
import type { Row, Schema } from '../schema/types.ts';
import { may } from '../session.ts';
import { later, opened } from './later.tsx';
import type { ManyProps } from './many.tsx';
import type { Selection } from './selection.ts';

const ChangeMany = later(opened, 'ChangeMany');
const DeleteMany = later(opened, 'DeleteMany');

interface Props {
  ask: ListAsk;
  schema: Schema;
  selection: Selection;
  /** How many there are in all. */
  total: number | undefined;
  rows: readonly Row[];
  onDone: () => void;
}

export function SelectedRows({ ask, schema, selection, total, rows, onDone }: Props) {
  const doing = useSignal<'change' | 'delete' | undefined>(undefined);
  /** All that the list has, on other pages too. */
  const isAll = useSignal(false);
  const { resource } = ask;
  const keys = [...selection.keys.value];
  const shown = rows.length;
  if (keys.length === 0) return null;
  const all = isAll.value && total !== undefined && keys.length === shown;
  const count = all ? total : keys.length;
  const props: ManyProps = {
    resource,
    schema,
    where: all ? (filterOf(ask) ?? {}) : { [resource.key.name]: { in: keys } },
    count,
    rows: rows.filter((row) => selection.keys.value.has(row[resource.key.name])),
    onDone() {
      selection.all(false);
      onDone();
    },
    onClose() {
      doing.value = undefined;
    },
  };
  const open = (what: 'change' | 'delete') => () => {
    doing.value = what;
  };
  return (
    <section class="selected" aria-label="Selected rows">
      <strong role="status">{counted(count, 'row')} selected</strong>
      {may(resource, 'UPDATE') && resource.update.length > 0 && (
        <button type="button" onClick={open('change')}>
          Change…
        </button>
      )}
      {may(resource, 'DELETE') && (
        <button type="button" class="danger" onClick={open('delete')}>
          Delete…
        </button>
      )}
      {!all && keys.length === shown && (total ?? 0) > shown && !ask.search && (
        <button
          type="button"
          class="plain"
          onClick={() => {
            isAll.value = true;
          }}
        >
          Select all {total?.toLocaleString('en')}
        </button>
      )}
      <button
        type="button"
        class="plain"
        onClick={() => {
          isAll.value = false;
          selection.all(false);
        }}
      >
        Clear selection
      </button>
      {doing.value === 'change' && <ChangeMany {...props} />}
      {doing.value === 'delete' && <DeleteMany {...props} />}
    </section>
  );
}
