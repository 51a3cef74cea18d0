/** What can be done to selected rows: changed or deleted in one transaction, after a look at exactly what is sent. */

import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { hold, leave } from '../address.ts';
import { counted } from '../amounts.ts';
import type { Ask, DeleteManyAsk, UpdateManyAsk } from '../ask.ts';
import { wasDeleted } from '../deleted.ts';
import { send, wireOf } from '../doors/send.ts';
import type { Fault } from '../doors/wire.ts';
import { dataLink } from '../links.ts';
import { fieldsOf, labelled, type Resource, type Row, type Schema } from '../schema/types.ts';
import { door, mayUndelete } from '../session.ts';
import { tell } from '../told.ts';
import { wrongIn } from '../typed.ts';
import type { Where } from '../where.ts';
import { Undone } from './confirm.tsx';
import { GraphqlDoor, RestDoor } from './dock.tsx';
import { Field } from './field.tsx';
import { Dialog, FaultNotice, Icon } from './parts.tsx';
import { useReferred } from './referred.ts';
import { shortened, shownValue } from './value.tsx';

export interface ManyProps {
  resource: Resource;
  schema: Schema;
  /** What the records match, and how many they are. */
  where: Where;
  count: number;
  /** The records as they are, or the first of them. */
  rows: readonly Row[];
  onDone: () => void;
  onClose: () => void;
}

export function ChangeMany({ resource, schema, where, count, rows, onDone, onClose }: ManyProps) {
  const fields = fieldsOf(resource, resource.update);
  /** By the fields that were chosen, in their order; undefined as long as nothing is typed. */
  const given = useSignal<Row>({});
  const names = Object.keys(given.value);
  const changes = Object.fromEntries(Object.entries(given.value).filter(([, value]) => value !== undefined));
  const ask: UpdateManyAsk = { do: 'updateMany', resource, where, changes, atMost: count };
  const wrongAt = (name: string) => {
    const column = fields.find((field) => field.column.name === name)?.column;
    const isShared = count > 1 && resource.uniques?.includes(name) && changes[name] != null;
    if (isShared) return `${name} is unique: only one record can have this value`;
    return column && wrongIn(column, changes[name]);
  };
  const isWrong = names.some(wrongAt);
  const isReady = Object.keys(changes).length > 0 && !isWrong;
  const referred = useReferred(resource, isWrong ? [] : [changes], schema);
  const submit = `Change ${counted(count, 'record')}`;
  const fresh = useRef<HTMLDivElement>(null);
  useLayoutEffect(
    () => hold({ is: () => Object.values(given.value).some((value) => value !== undefined) }),
    [],
  );
  // Whoever has chosen a field is going to fill it in.
  useLayoutEffect(
    () => fresh.current?.querySelector<HTMLElement>('input, select, textarea')?.focus(),
    [names.length],
  );
  return (
    <Confirmed
      ask={ask}
      schema={schema}
      rows={rows}
      title={submit}
      isReady={isReady}
      done="Changed"
      onDone={() => {
        given.value = {};
        onDone();
      }}
      onClose={() => leave(onClose)}
    >
      <Named {...{ resource, schema, rows, count }} changes={isWrong ? {} : referred(changes)} />
      {names.map((name) => {
        const field = fields.find(({ column }) => column.name === name);
        return (
          field && (
            <div key={name} ref={name === names.at(-1) ? fresh : null} class="changed">
              <Field
                schema={schema}
                input={{ name, required: false }}
                column={field.column}
                value={given.value[name]}
                before={{}}
                wrong={wrongAt(name)}
                tried={false}
                faults={[]}
                onChange={(value) => {
                  given.value = { ...given.value, [name]: value };
                }}
              />
              <button
                type="button"
                class="plain"
                title="Leave it as it is"
                aria-label={`Leave ${name} as it is`}
                onClick={() => {
                  const { [name]: _, ...others } = given.value;
                  given.value = others;
                }}
              >
                <Icon name="close" />
              </button>
            </div>
          )
        );
      })}
      <select
        aria-label="Field to change"
        value=""
        onChange={(event) => {
          given.value = { ...given.value, [event.currentTarget.value]: undefined };
        }}
      >
        <option value="">{names.length === 0 ? 'Field to change…' : 'Another field…'}</option>
        {fields
          .filter(({ column }) => !names.includes(column.name))
          .map(({ column }) => (
            <option key={column.name} value={column.name}>
              {column.reference?.name ?? column.name}
            </option>
          ))}
      </select>
    </Confirmed>
  );
}

export function DeleteMany({ resource, schema, where, count, rows, onDone, onClose }: ManyProps) {
  const ask: DeleteManyAsk = { do: 'deleteMany', resource, where, atMost: count };
  return (
    <Confirmed
      ask={ask}
      schema={schema}
      rows={rows}
      title={`Delete ${counted(count, 'record')}`}
      isReady
      done="Deleted"
      {...{ onDone, onClose }}
    >
      <Named {...{ resource, schema, rows, count }} />
      <p>
        <Undone resource={resource} schema={schema} it={count === 1 ? 'it' : 'them'} />
      </p>
    </Confirmed>
  );
}

const NAMED = 5;

interface NamedProps {
  resource: Resource;
  schema: Schema;
  rows: readonly Row[];
  count: number;
  /** What they are given. */
  changes?: Row;
}

/** Which records they are, and what becomes of them, as far as anybody reads it. */
function Named({ resource, schema, rows, count, changes = {} }: NamedProps) {
  const first = rows.slice(0, NAMED);
  const changed = resource.columns.filter(({ name }) => name in changes);
  const otherwise = (row: Row) =>
    changed.filter(({ name }) => JSON.stringify(row[name]) !== JSON.stringify(changes[name]));
  return (
    <ul class="named">
      {first.map((row) => (
        <li key={String(row[resource.key.name])}>
          <bdi>{shortened(labelled(resource, row))}</bdi>
          {otherwise(row).map((column) => (
            <span key={column.name} class="quiet">
              {' '}
              · {column.reference?.name ?? column.name} {shownValue(column, row, schema, true)} →{' '}
              {shownValue(column, changes, schema, true)}
            </span>
          ))}
          {changed.length > 0 && otherwise(row).length === 0 && <span class="quiet"> · is so already</span>}
        </li>
      ))}
      {count > first.length && <li class="quiet">and {(count - first.length).toLocaleString('en')} more</li>}
    </ul>
  );
}

interface ConfirmedProps {
  ask: UpdateManyAsk | DeleteManyAsk;
  schema: Schema;
  rows: readonly Row[];
  title: string;
  isReady: boolean;
  done: string;
  onDone: () => void;
  onClose: () => void;
  children: preact.ComponentChildren;
}

function Confirmed({ ask, schema, rows, title, isReady, done, onDone, onClose, children }: ConfirmedProps) {
  const fault = useSignal<Fault | undefined>(undefined);
  const sending = useSignal(false);
  const cancel = useRef<HTMLButtonElement>(null);
  const refusal = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => refusal.current?.scrollIntoView({ block: 'nearest' }), [fault.value]);
  // What was refused is not what stands there now.
  useLayoutEffect(() => {
    fault.value = undefined;
  }, [JSON.stringify([ask.where, 'changes' in ask && ask.changes])]);
  // Enter does nothing that is not meant.
  useLayoutEffect(() => {
    if (ask.do === 'deleteMany') cancel.current?.focus();
  }, []);
  const { resource } = ask;
  /** The records for which it was refused. */
  const stuck = [...new Set(fault.value?.errors.flatMap(({ key }) => key ?? []))];
  const nameOf = (key: string) => {
    const row = rows.find((each) => String(each[resource.key.name]) === key);
    return row ? shortened(labelled(resource, row)) : key;
  };
  const run = async () => {
    sending.value = true;
    try {
      const { rows: written = [] } = await send(ask, door.value, schema);
      if (ask.do === 'deleteMany')
        for (const row of written) wasDeleted(resource, row[resource.key.name], labelled(resource, row));
      const back = ask.do === 'deleteMany' ? restoring(resource, written) : unchanging(ask, rows);
      tell(
        `${done} ${counted(written.length, 'record')}`,
        back.length > 0 ? () => takeBack(back, written.length, schema, onDone) : undefined,
      );
      onDone();
      onClose();
    } catch (error) {
      fault.value = error as Fault;
    } finally {
      sending.value = false;
    }
  };
  return (
    <Dialog title={`${title}?`} onClose={onClose} isWide>
      <div class="many">
        {children}
        <p>
          {!isByKeys(ask) && `If more records match when it runs, nothing is ${done.toLowerCase()}. `}
          {ask.atMost > 1 && 'All of them or none: '}
          {ask.atMost > 1 ? 'this' : 'This'} request is sent, in one transaction.
        </p>
        <div class="doors">
          <RestDoor wire={wireOf(ask, 'rest', schema)} ask={ask} schema={schema} />
          <GraphqlDoor wire={wireOf(ask, 'graphql', schema)} />
        </div>
      </div>
      {fault.value && (
        <div ref={refusal}>
          <FaultNotice fault={fault.value} />
          {stuck.length > 0 && (
            <p class="fault">
              Refused for{' '}
              {stuck.slice(0, NAMED).map((key, at) => (
                <span key={key}>
                  {at > 0 && ', '}
                  {/* Elsewhere: what is chosen here would be lost. */}
                  <a href={dataLink(resource.name, 'record', key)} target="_blank" rel="noreferrer">
                    {nameOf(key)}
                  </a>
                </span>
              ))}
              {stuck.length > NAMED && ` and ${counted(stuck.length - NAMED, 'other')}`}.
            </p>
          )}
        </div>
      )}
      <div class="actions">
        <button ref={cancel} type="button" onClick={onClose}>
          Cancel
        </button>
        <button
          type="button"
          class={ask.do === 'deleteMany' ? 'danger' : 'primary'}
          disabled={!isReady || sending.value}
          onClick={run}
        >
          {title}
        </button>
      </div>
    </Dialog>
  );
}

/** Whether rows were chosen one by one; all that a list has may have become more. */
function isByKeys({ resource, where }: UpdateManyAsk | DeleteManyAsk): boolean {
  return resource.key.name in where;
}

function restoring(resource: Resource, deleted: readonly Row[]): Ask[] {
  if (!mayUndelete(resource)) return [];
  return deleted.map((row) => ({ do: 'restore', resource, key: row[resource.key.name], version: undefined }));
}

/** What gives records their values back, those that had the same together; not to what somebody has changed since. */
function unchanging({ resource, changes, atMost }: UpdateManyAsk, rows: readonly Row[]): Ask[] {
  const columns = resource.columns.filter(({ name }) => name in changes);
  const had = (row: Row) => Object.fromEntries(columns.map(({ name }) => [name, row[name]]));
  // On other pages nobody knows what there was.
  if (rows.length < atMost || rows.some((row) => columns.some(({ name }) => row[name] === undefined)))
    return [];
  const still = columns
    .filter(({ operators }) => operators.includes('eq'))
    .map(({ name }) => [name, changes[name] === null ? { isNull: true } : { eq: changes[name] }]);
  return [...Map.groupBy(rows, (row) => JSON.stringify(had(row))).values()].map((group) => ({
    do: 'updateMany',
    resource,
    where: {
      ...Object.fromEntries(still),
      [resource.key.name]: { in: group.map((row) => row[resource.key.name]) },
    },
    changes: had(group[0] ?? {}),
    atMost: group.length,
  }));
}

async function takeBack(
  asks: readonly Ask[],
  count: number,
  schema: Schema,
  onDone: () => void,
): Promise<void> {
  let restored = 0;
  let why = '';
  try {
    for (const ask of asks) restored += (await send(ask, door.value, schema)).rows?.length ?? 1;
  } catch (error) {
    why = `: ${(error as Fault).message}`;
  }
  tell(`Restored ${restored < count ? `${restored} of ` : ''}${counted(count, 'record')}${why}`);
  onDone();
}
