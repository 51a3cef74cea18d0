/** One record: its fields, what it refers to, and those that refer to it. */

import { useEffect } from 'preact/hooks';
import { go } from '../address.ts';
import { type Ask, type DeleteAsk, SHOWN_INVERSES, type UpdateAsk } from '../ask.ts';
import { wasDeleted } from '../deleted.ts';
import { takesVersion } from '../doors/graphql.ts';
import { send } from '../doors/send.ts';
import type { Fault } from '../doors/wire.ts';
import { dataLink, to } from '../links.ts';
import { type Inverse, labelled, type Resource, type Row, type Schema } from '../schema/types.ts';
import { door, may, mayLookBack, mayUndelete, viewing } from '../session.ts';
import { tell } from '../told.ts';
import { useAnswer } from './answer.ts';
import { Confirm, Undone } from './confirm.tsx';
import { useDock } from './dock.tsx';
import { Fields } from './fields.tsx';
import { Refresh, useFollowed } from './following.tsx';
import { Heading } from './heading.tsx';
import { allLink } from './list-place.ts';
import { AllOf, Empty, FaultNotice, Icon, Loading } from './parts.tsx';
import { ReadOnly } from './read-only.tsx';
import { Table } from './table.tsx';
import { undoing } from './undo.ts';
import { CopyKey, shortened } from './value.tsx';

export function Record({ schema, resource, id }: { schema: Schema; resource: Resource; id: string }) {
  const ask = { do: 'get', resource, key: id, related: true } as const;
  const removal: DeleteAsk = { do: 'delete', resource, key: id };
  const { answer, fault, again } = useAnswer(ask, schema);
  const isLive = useFollowed(resource, id, again);
  useDock([
    { title: 'This record', ask, answer },
    ...(resource.operations.has('DELETE') ? [{ title: 'Delete', ask: removal }] : []),
  ]);
  const row = answer?.row;
  useEffect(() => {
    if (viewing.value && row) tryWrites(resource, row, schema);
  }, [row]);
  const past = mayLookBack(resource) && (
    <a class="button" href={dataLink(resource.name, 'record', id, 'history')}>
      History
    </a>
  );
  if (fault?.status === 404)
    return (
      <Empty icon="search" title={`There is no ${resource.name} ${id}`}>
        <span>
          It never was there, was deleted, or is not visible to you.
          {past && ' If it was deleted, its history can bring it back.'}
        </span>
        {resource.operations.has('LIST') && <AllOf {...resource} />}
        {past}
      </Empty>
    );
  const notice = fault && <FaultNotice fault={fault} again={again} />;
  if (!row) return notice ?? <Loading />;
  return (
    <>
      {notice}
      <Heading
        title={labelled(resource, row)}
        type={resource.name}
        crumbs={
          <>
            <span class="quiet">{id}</span>
            <CopyKey text={id} />
          </>
        }
      >
        {may(resource, 'UPDATE', id) && resource.update.length > 0 && (
          <a
            class="button primary"
            aria-keyshortcuts="e"
            href={dataLink(resource.name, 'record', id, 'edit')}
          >
            Edit
          </a>
        )}
        {past}
        <Refresh isLive={isLive} refresh={again} />
        {may(resource, 'DELETE', id) && (
          <Delete ask={removal} schema={schema} name={labelled(resource, row)} />
        )}
        <ReadOnly resource={resource} writes={['UPDATE', 'DELETE']} id={id} />
      </Heading>
      <Fields resource={resource} row={row} schema={schema} />
      {resource.inverses.map((inverse) => (
        <InverseList key={inverse.name} inverse={inverse} row={row} resource={resource} schema={schema} />
      ))}
    </>
  );
}

/** No record has it: what is written to this version is never done. */
const NO_VERSION = 0;

/**
 * A rule may tell one record from another, and of a single record only trying tells: whoever looks with the eyes of another is
 * shown what that one may do with it. What is refused is remembered by `send`.
 */
function tryWrites(resource: Resource, row: Row, schema: Schema): void {
  const to = { resource, key: row[resource.key.name], version: NO_VERSION } as const;
  const { name = '' } = resource.update.find(({ name }) => row[name] !== undefined) ?? {};
  const asks: (UpdateAsk | DeleteAsk)[] = [
    ...(name ? [{ ...to, do: 'update', changes: { [name]: row[name] } } as const] : []),
    { ...to, do: 'delete' },
  ];
  // Not by REST: were `If-Match` lost on the way, it would be done. Here the version is part of what is asked.
  for (const ask of asks) if (takesVersion(ask)) send(ask, 'graphql', schema).catch(() => {});
}

interface InverseProps {
  inverse: Inverse;
  row: Row;
  resource: Resource;
  schema: Schema;
}

function InverseList({ inverse, row, resource, schema }: InverseProps) {
  const target = schema.byName.get(inverse.target);
  const rows = row[inverse.name];
  if (!target || !Array.isArray(rows)) return null;
  const key = row[resource.key.name];
  const { via } = inverse;
  return (
    <section class="inverse" aria-label={inverse.name}>
      <header>
        <h2>
          <span class={inverse.deprecated ? 'deprecated' : ''}>{inverse.name}</span>{' '}
          <span class="type">[{target.name}!]!</span>
        </h2>
        {via && target.operations.has('LIST') && <a href={allLink(target, via, key)}>Open in table</a>}
        {inverse.linkedBy.includes('UPDATE') && may(resource, 'UPDATE', key) && (
          <a class="button" href={dataLink(resource.name, 'record', key, 'edit')}>
            Add or remove
          </a>
        )}
        {via && target.create.some(({ name }) => name === via) && may(target, 'CREATE') && (
          <a class="button" href={to(['data', target.name, 'new'], { [via]: String(key) })}>
            <Icon name="plus" /> Add
          </a>
        )}
      </header>
      {rows.length === 0 ? (
        <p class="quiet">None.</p>
      ) : (
        <Table resource={target} rows={rows.slice(0, SHOWN_INVERSES)} schema={schema} without={via} />
      )}
      {rows.length > SHOWN_INVERSES && <p class="quiet">The first {SHOWN_INVERSES}; there are more.</p>}
    </section>
  );
}

function Delete({ ask, schema, name }: { ask: DeleteAsk; schema: Schema; name: string }) {
  const { resource, key } = ask;
  const remove = async () => {
    await send(ask, door.value, schema);
    wasDeleted(resource, key, name);
    const restore: Ask = { do: 'restore', resource, key, version: undefined };
    const undo = undoing(restore, schema, `Restored ${shortened(name)}`, () =>
      go(dataLink(resource.name, 'record', key)),
    );
    tell(`Deleted ${shortened(name)}`, mayUndelete(resource) ? undo : undefined);
    go(dataLink(resource.name));
  };
  return (
    <Confirm
      button="Delete"
      danger
      title={`Delete ${resource.name} ${key}?`}
      yes="Delete it"
      onYes={remove}
      refused={(fault) => referring(fault, ask, schema)}
    >
      <p>
        “<bdi>{shortened(name)}</bdi>” will be deleted for everybody.{' '}
        <Undone resource={resource} schema={schema} it="it" />
      </p>
    </Confirm>
  );
}

/** `An orderLine still refers to this order as its order`, with a way to those that do. */
function referring({ errors }: Fault, { resource, key }: DeleteAsk, schema: Schema) {
  const [, owner, name] = /^\w+ (\w+) still refers .+ as its (\w+)$/.exec(errors[0]?.detail ?? '') ?? [];
  const target = schema.resources.find((each) => each.name.toLowerCase() === owner?.toLowerCase());
  const via = target?.columns.find(
    ({ reference }) => reference?.name === name && reference?.target === resource.name,
  );
  if (!via || !target?.operations.has('LIST')) return undefined;
  return (
    <div class="notice bad" role="alert">
      It cannot be deleted: {target.name} still refers to it as {name}.{' '}
      <a href={allLink(target, via.name, key)}>Show those records</a>
    </div>
  );
}
