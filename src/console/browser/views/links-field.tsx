/** Which records are in a list through a join type: those that are, as chips that can be taken away, and a search for more. */

import { useSignal } from '@preact/signals';
import { SHOWN_LINKS } from '../ask.ts';
import type { FieldFault } from '../doors/wire.ts';
import { dataLink } from '../links.ts';
import { type Inverse, labelled, linksName, type Resource, type Row, type Schema } from '../schema/types.ts';
import { may } from '../session.ts';
import { Unreadable } from '../typed.ts';
import { isObject } from '../where.ts';
import { Icon, Prose } from './parts.tsx';
import { ReferenceInput } from './reference-input.tsx';

interface Props {
  schema: Schema;
  list: Inverse;
  target: Resource;
  /** `{ add, remove }`, or what was typed and not chosen; undefined as long as nothing changes. */
  value: unknown;
  /** The records that are in the list, as they were read. */
  before: unknown;
  wrong: string | undefined;
  faults: readonly FieldFault[];
  onChange: (value: unknown) => void;
}

export function LinksField({ schema, list, target, value, before, wrong, faults, onChange }: Props) {
  const id = `field-${linksName(list)}`;
  const { key } = target;
  // By which type records are linked, the service says to those who write programs.
  const about = list.description?.replace(/\s*By way of \w+\.$/, '');
  const keyOf = (row: Row) => row[key.name];
  const linked: readonly Row[] = Array.isArray(before) ? before : [];
  const given = isObject(value) && !(value instanceof Unreadable) ? value : {};
  const added = useSignal<readonly Row[]>(rowsOf(given['add'], key.name));
  const removed = useSignal<readonly unknown[]>(Array.isArray(given['remove']) ? given['remove'] : []);
  const shown = [...linked.filter((row) => !removed.value.includes(keyOf(row))), ...added.value];
  const change = () => {
    const add = added.value.map(keyOf);
    const remove = removed.value;
    const isNone = add.length + remove.length === 0;
    onChange(isNone ? undefined : { ...(add.length > 0 && { add }), ...(remove.length > 0 && { remove }) });
  };
  const choose = (row: Row) => {
    const isLinked = linked.some((each) => keyOf(each) === keyOf(row));
    removed.value = removed.value.filter((each) => each !== keyOf(row));
    if (!isLinked && !added.value.some((each) => keyOf(each) === keyOf(row)))
      added.value = [...added.value, row];
    change();
  };
  const remove = (row: Row) => {
    if (added.value.includes(row)) added.value = added.value.filter((each) => each !== row);
    else removed.value = [...removed.value, keyOf(row)];
    change();
  };
  const told = wrong !== undefined ? [wrong] : faults.map(({ detail }) => detail);
  return (
    <div class="field" data-name={linksName(list)}>
      <div class="label">
        <label for={id}>
          <span class={list.deprecated ? 'deprecated' : ''}>{list.name}</span>
        </label>
        {may(target, 'CREATE') && (
          <a class="small" href={dataLink(target.name, 'new')} target="_blank" rel="noreferrer">
            New {target.name}
          </a>
        )}
        <span class="type">[{target.name}!]!</span>
      </div>
      {shown.length > 0 && (
        <ul class="chips" aria-label={list.name}>
          {shown.map((row) => (
            <li key={String(keyOf(row))}>
              <a
                dir="auto"
                href={dataLink(target.name, 'record', keyOf(row))}
                target="_blank"
                rel="noreferrer"
              >
                {labelled(target, row)}
              </a>
              <button
                type="button"
                class="plain"
                aria-label={`Remove ${labelled(target, row)}`}
                onClick={() => remove(row)}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      {linked.length >= SHOWN_LINKS && (
        <p class="quiet small">Only the first {SHOWN_LINKS} are shown; the others stay.</p>
      )}
      <ReferenceInput
        common={{ id, 'aria-invalid': told.length > 0 } as { id: string }}
        column={key}
        target={target}
        value={value instanceof Unreadable ? value : undefined}
        was={undefined}
        known={undefined}
        placeholder={`Add ${target.plural}`}
        schema={schema}
        onChange={(typed) => (typed instanceof Unreadable ? onChange(typed) : change())}
        onChoose={choose}
      />
      {about && (
        <p class="quiet small" id={`${id}-about`}>
          <Prose text={about} />
        </p>
      )}
      {told.map((detail) => (
        <p key={detail} class="fault" id={`${id}-fault`} role="alert">
          {detail}
        </p>
      ))}
    </div>
  );
}

/** What a form that comes back knows of records that were chosen in it. */
function rowsOf(keys: unknown, name: string): Row[] {
  return Array.isArray(keys) ? keys.map((key) => ({ [name]: key })) : [];
}
