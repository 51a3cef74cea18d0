/** The panel in which a filter is built, or written as JSON; what the service does not take stays in it. */

import { useSignal } from '@preact/signals';
import { go, leave } from '../address.ts';
import type { ListAsk } from '../ask.ts';
import { send } from '../doors/send.ts';
import type { Fault } from '../doors/wire.ts';
import { emptyIn, type Group, groupOf, spoken, whereOf } from '../filter-tree.ts';
import type { Schema } from '../schema/types.ts';
import { door } from '../session.ts';
import { readJson, unreadable } from '../typed.ts';
import { isObject, type Where } from '../where.ts';
import { begun, GroupEditor } from './filter-parts.tsx';
import { listLink, operand } from './list-place.ts';
import { focusFirst } from './parts.tsx';

interface Draft {
  readonly group: Group;
  readonly json: string;
  readonly written: boolean;
}

/** What was built and not applied, by the list that it is for: a look at another page loses none of it. */
const drafts = new Map<string, Draft>();

export function Filter({ ask, schema, onClose }: { ask: ListAsk; schema: Schema; onClose: () => void }) {
  const { resource } = ask;
  const shown = groupOf(ask.where, resource, schema);
  const place = JSON.stringify([resource.name, ask.where]);
  const { group, json, written } = drafts.get(place) ?? {
    group: shown && shown.parts.length > 0 ? shown : begun(resource, schema),
    json: JSON.stringify(ask.where ?? {}, null, 2),
    written: shown === undefined,
  };
  const faults = useSignal<readonly string[]>([]);
  const set = (next: Partial<Draft>) => {
    drafts.set(place, { group, json, written, ...next });
    // What was wrong is not what is there now; and this draws the panel anew.
    faults.value = [];
  };

  /** What is written; told, where it is no filter. */
  const parsed = (): Where | undefined => {
    const read = readJson(json);
    const why = unreadable(read)?.why ?? (isObject(read) ? '' : 'This is not a JSON object.');
    faults.value = why ? [why] : [];
    return why ? undefined : (read as Where);
  };
  const apply = async (event: Event) => {
    event.preventDefault();
    faults.value = [];
    const where = written ? parsed() : whereOf(group, resource, schema, operand);
    const open = written ? undefined : emptyIn(group);
    if (open) faults.value = [`${open.path} ${spoken(open.operator)}: give a text, or remove the condition`];
    if (faults.value.length > 0) return;
    const filtered = { ...ask, where: where && Object.keys(where).length > 0 ? where : undefined };
    try {
      // What the service does not take stays here, to be mended.
      await send({ ...filtered, limit: 1, related: false }, door.value, schema);
      void leave(() => {
        drafts.delete(place);
        go(listLink(filtered));
        onClose();
      });
    } catch (error) {
      const { message, errors } = error as Fault;
      const details = errors?.map(({ detail }) =>
        detail
          // The operator stands in the panel; and whoever writes JSON knows nothing of a path.
          .replace(/^(\S+) \w+ (?=must )/, '$1 ')
          .replace(
            /^"(.+)\[\w+\]" is no parameter .*having,/,
            `"$1" is no field of ${resource.name}. There are:`,
          ),
      );
      faults.value = details?.length ? details : [message];
    }
  };
  const turn = () => {
    if (!written) {
      set({ written: true, json: JSON.stringify(whereOf(group, resource, schema, operand) ?? {}, null, 2) });
      return;
    }
    const read = groupOf(parsed(), resource, schema);
    if (read && faults.value.length === 0) set({ written: false, group: read });
    else if (!read) faults.value = ['The builder cannot show this filter. It can be applied as it is.'];
  };
  return (
    <form ref={focusFirst} class="filter" aria-label="Filter" onSubmit={apply}>
      {written ? (
        <label class="written">
          The filter as JSON, as REST and GraphQL accept it
          <textarea
            class="mono"
            rows={6}
            spellcheck={false}
            value={json}
            onInput={(event) => set({ json: event.currentTarget.value })}
          />
        </label>
      ) : (
        <GroupEditor
          group={group}
          resource={resource}
          schema={schema}
          onChange={(next) => set({ group: next })}
        />
      )}
      {faults.value.length > 0 && (
        <ul class="fault" role="alert">
          {faults.value.map((each) => (
            <li key={each}>{each}</li>
          ))}
        </ul>
      )}
      <div class="tools">
        <button type="submit" class="primary">
          Apply
        </button>
        <button type="button" onClick={onClose}>
          Close
        </button>
        <button type="button" class="plain" onClick={turn}>
          {written ? 'Use the builder' : 'Edit as JSON'}
        </button>
      </div>
    </form>
  );
}
