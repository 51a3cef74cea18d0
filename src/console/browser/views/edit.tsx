/** Changes to a record that is there: told at once where somebody else changes it meanwhile, and decided field by field. */

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Answer, Ask, Change } from '../ask.ts';
import { computedOf } from '../computed.ts';
import { send } from '../doors/send.ts';
import { Fault, isAway } from '../doors/wire.ts';
import { dataLink } from '../links.ts';
import { refresh, schema as served } from '../schema/load.ts';
import { fieldsOf, labelled, linksName, type Resource, type Row, type Schema } from '../schema/types.ts';
import { door, isRefused, mayLookBack } from '../session.ts';
import { tell } from '../told.ts';
import { Conflict, changedIn, keptOf } from './conflict.tsx';
import { type Shown, useDock } from './dock.tsx';
import { useDraft } from './draft.ts';
import { Fields } from './fields.tsx';
import { useFollowed } from './following.tsx';
import { Form } from './form.tsx';
import { Heading } from './heading.tsx';
import { AllOf, Empty, FaultNotice } from './parts.tsx';
import { Refused } from './read-only.tsx';

export function Edit({ schema, resource, id }: { schema: Schema; resource: Resource; id: string }) {
  const read: Ask = { do: 'get', resource, key: id, related: 'links' };
  const plain: Ask = { ...read, related: false };
  const before = useSignal<Answer | undefined>(undefined);
  const related = useSignal<Row>({});
  const theirs = useSignal<Answer | undefined>(undefined);
  /** The record as somebody else has left it while this one typed; null where it is gone. */
  const news = useSignal<Answer | null | undefined>(undefined);
  /** What the journal has of their change. */
  const told = useSignal<Change | undefined>(undefined);
  const kept = useSignal<ReadonlySet<string>>(new Set());
  const draft = useDraft({});
  const { given, fault } = draft;
  const link = dataLink(resource.name, 'record', id);
  const updating = (changes: Row, version: number | undefined): Ask => ({
    do: 'update',
    resource,
    key: id,
    changes,
    version,
  });
  const entries: Shown[] = [
    {
      title: 'Save',
      ask: theirs.value
        ? updating(keptOf(given.value, kept.value), theirs.value.version)
        : updating(draft.readable(), before.value?.version),
    },
    { title: 'This record', ask: plain, answer: before.value },
  ];
  useDock(before.value ? entries : []);

  const open = () =>
    Promise.all([send(plain, door.value, schema), send(read, door.value, schema)]).then(
      ([found, along]) => {
        before.value = found;
        related.value = along.row ?? {};
        fault.value = undefined;
      },
      (error) => {
        fault.value = error;
      },
    );
  // A service that was away is back when it has told of the schema again.
  useEffect(() => {
    if (!before.value) void open();
  }, [schema]);

  /** Both sides, to be decided; nothing of what was typed is lost. */
  const meet = (now: Answer) => {
    theirs.value = now;
    news.value = undefined;
    told.value = undefined;
    if (mayLookBack(resource))
      send({ do: 'changes', resource, key: id, after: undefined }, door.value, schema).then(
        ({ changes }) => {
          told.value = changes?.find((change) => change.version === now.version);
        },
        () => {},
      );
    kept.value = changedIn(given.value, now.row ?? {});
  };
  useFollowed(resource, id, () =>
    send(plain, door.value, schema).then(
      (now) => {
        if (!before.value || theirs.value || draft.saving.value || now.version === before.value.version)
          return;
        if (draft.isChanged()) news.value = now;
        else {
          void open();
          tell('Somebody else has changed this record: this is what it is now.');
        }
      },
      ({ status }: Fault) => {
        if (status === 404 && before.value) news.value = null;
      },
    ),
  );

  const update = async (changes: Row, version: number | undefined) => {
    if (Object.keys(changes).length === 0) {
      // While the service is away the form stays: the page of the record would be empty.
      await send(plain, door.value, schema);
      return link;
    }
    const ask = updating(changes, version);
    try {
      await send(ask, door.value, schema);
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'VERSION_CONFLICT') throw error;
      // By now it may be gone; then the fault is all there is to tell.
      const now = await send(plain, door.value, schema).catch(() => undefined);
      if (now?.version !== version) {
        if (now) meet(now);
        throw error;
      }
      // Nobody has changed it: the tag named a schema file that is no longer served.
      await refresh();
      await send(ask, door.value, served.value ?? schema);
    }
    tell('Saved');
    return link;
  };

  const row = before.value?.row;
  if (isRefused(resource, 'UPDATE') && !draft.isChanged())
    return <Refused to={`change ${resource.plural}`} resource={resource} />;
  if (!row) {
    if (fault.value && isAway(fault.value)) return <FaultNotice fault={fault.value} again={open} />;
    return fault.value ? (
      <Empty icon="search" title={fault.value.message}>
        <AllOf {...resource} />
      </Empty>
    ) : null;
  }
  const computed = computedOf(resource);
  const shown = [...resource.create, ...resource.update, ...computed.map(({ column }) => column)];
  const filled = resource.columns.filter((column) => !shown.some(({ name }) => name === column.name));
  return (
    <>
      <Heading title={labelled(resource, row)} type={resource.name} crumbs={<a href={link}>{id}</a>} />
      {news.value !== undefined && <News now={news.value} {...{ resource, row, meet }} />}
      {theirs.value?.row ? (
        <Conflict
          {...{ schema, resource }}
          before={row}
          mine={given.value}
          theirs={theirs.value.row}
          change={told.value}
          kept={kept}
          onDecide={(chosen) => {
            const decided = theirs.value;
            // What comes to a list and what goes is what it was, whatever else has changed of it.
            const lists = resource.inverses.map(linksName).filter((name) => name in given.value);
            const changes = {
              ...chosen,
              ...Object.fromEntries(lists.map((name) => [name, given.value[name]])),
            };
            before.value = decided;
            given.value = changes;
            theirs.value = undefined;
            draft.save(() => update(changes, decided?.version));
          }}
        />
      ) : (
        <Form
          schema={schema}
          fields={fieldsOf(resource, resource.update).map(({ input, column }) => ({
            column,
            // What is there cannot be taken away; a list may be empty, and a switch is always either.
            input: { ...input, required: column.required && !column.list && column.kind !== 'boolean' },
          }))}
          computed={computed}
          lists={resource.inverses.filter(
            ({ name, linkedBy }) => linkedBy.includes('UPDATE') && Array.isArray(related.value[name]),
          )}
          draft={draft}
          before={{ ...related.value, ...row }}
          cancel={link}
          submit="Save"
          onSave={() => draft.save(() => update(given.value, before.value?.version))}
        >
          {filled.length > 0 && (
            <section class="filled">
              <h2>Read-only</h2>
              <Fields {...{ resource, schema }} row={{ ...related.value, ...row }} columns={filled} />
            </section>
          )}
        </Form>
      )}
    </>
  );
}

interface NewsProps {
  now: Answer | null;
  resource: Resource;
  /** As it was opened. */
  row: Row;
  meet: (now: Answer) => void;
}

function News({ now, resource, row, meet }: NewsProps) {
  const changed = now && changedIn(now.row ?? {}, row);
  const names = resource.update.flatMap(({ name }) => (changed?.has(name) ? name : []));
  return (
    <div class="notice warn" role="alert">
      <span>
        Somebody has {now ? `changed ${names.join(', ') || 'this record'}` : 'deleted this record'} meanwhile.
        What you have typed is still here{now && ', and saving lets you choose'}.
      </span>
      {now && (
        <button type="button" onClick={() => meet(now)}>
          Compare
        </button>
      )}
    </div>
  );
}
