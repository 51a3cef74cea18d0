/** The table of a resource: its columns, its filter, its order, its pages. */

import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { go } from '../address.ts';
import type { ListAsk } from '../ask.ts';
import { isAway } from '../doors/wire.ts';
import { dataLink } from '../links.ts';
import { isGone } from '../presence.ts';
import type { Resource, Row, Schema } from '../schema/types.ts';
import { isRefused, may, token } from '../session.ts';
import { askKey, useAnswer } from './answer.ts';
import { countAsk, useTotal } from './count.tsx';
import { DeletedHere } from './deleted.tsx';
import { type Shown, useDock } from './dock.tsx';
import { Download } from './download.tsx';
import { FilterChips, filterSaid, partsOf } from './filter-chips.tsx';
import { Refresh, useFollowed } from './following.tsx';
import { Heading } from './heading.tsx';
import { later, opened } from './later.tsx';
import { listAsk, listLink } from './list-place.ts';
import { Pager } from './pager.tsx';
import { Empty, FaultNotice, Icon, Loading, Name, SignIn } from './parts.tsx';
import { ReadOnly } from './read-only.tsx';
import { Search } from './search.tsx';
import { SelectedRows } from './selected-rows.tsx';
import { useSelection } from './selection.ts';
import { Table } from './table.tsx';

const Filter = later(opened, 'Filter');
const ColumnChooser = later(opened, 'ColumnChooser');
const Views = later(opened, 'Views');

interface Props {
  schema: Schema;
  resource: Resource;
  query: URLSearchParams;
}

export function List({ schema, resource, query }: Props) {
  if (!resource.operations.has('LIST')) return <NoList resource={resource} />;
  return <Listed schema={schema} resource={resource} query={query} />;
}

function Listed({ schema, resource, query }: Props) {
  const ask = listAsk(resource, query, schema);
  const { answer, fault, pending, isCurrent, again } = useAnswer(ask, schema);
  const panel = useSignal<Panel>(undefined);
  const counting = countAsk(ask);
  const round = useSignal(0);
  const total = useTotal(counting, schema, answer !== undefined, round.value);
  const isNarrowed = Boolean(ask.where ?? ask.search ?? ask.find);
  const everything = { ...counting, where: undefined, search: undefined, find: undefined };
  const all = useTotal(everything, schema, isNarrowed && answer !== undefined, round.value);
  const filters = partsOf(ask.where).length;
  useDock([
    // What was asked before says nothing of what is asked now.
    { title: 'This list', ask, answer: isCurrent ? answer : undefined },
    { title: 'Count', ask: counting },
    ...files(ask),
  ]);
  /** Records that were changed here, as the service has answered: they stay where they are. */
  const changed = useSignal<ReadonlyMap<unknown, Row>>(new Map());
  useEffect(() => {
    if (changed.value.size > 0) changed.value = new Map();
  }, [answer]);
  const keyName = resource.key.name;
  const rows = useMemo(
    () =>
      (answer?.rows ?? []).map((row) => {
        const now = changed.value.get(row[keyName]);
        return now ? { ...row, ...now } : row;
      }),
    [answer, changed.value],
  );
  const selection = useSelection(resource, rows);
  /** Rows are selected for something. */
  const canDo = may(resource, 'DELETE') || (may(resource, 'UPDATE') && resource.update.length > 0);
  useEffect(selection.keepShown, [answer]);
  const refresh = () => {
    again();
    round.value++;
  };
  const isLive = useFollowed(resource, undefined, refresh);
  const first = { ...ask, after: undefined, before: undefined };
  /** The order of the rows that are shown, which another one was asked for in vain. */
  const order = useRef(ask.sort);
  if (isCurrent) order.current = ask.sort;
  /** Nothing here can be read: nothing is offered that reads. */
  const isClosed = fault?.status === 401 || fault?.status === 403 || isRefused(resource, 'LIST');
  const close = () => {
    panel.value = undefined;
  };
  useEffect(() => {
    if (!panel.value) return;
    const onKey = (event: KeyboardEvent) => {
      // What is open in it, such as a list of references, is closed first.
      if (event.key !== 'Escape' || event.defaultPrevented) return;
      document.querySelector<HTMLElement>('.heading [aria-expanded="true"]')?.focus();
      close();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [panel.value]);
  return (
    <>
      <Heading
        title={<Name text={resource.name} />}
        about={resource.description}
        deprecated={resource.deprecated}
        count={total}
        of={isNarrowed ? all : undefined}
      >
        <SelectedRows
          ask={first}
          schema={schema}
          selection={selection}
          total={total}
          rows={rows}
          onDone={refresh}
        />
        {!isClosed && (
          <>
            <Search ask={first} />
            {panels.map(([name, icon, shortcut]) => (
              <button
                key={name}
                aria-keyshortcuts={shortcut}
                type="button"
                aria-expanded={panel.value === name}
                onClick={() => {
                  panel.value = panel.value === name ? undefined : name;
                }}
              >
                <Icon name={icon} /> <span class="label">{name}</span>
                {name === 'Filter' && filters > 0 && <span class="tag">{filters}</span>}
              </button>
            ))}
            <Refresh isLive={isLive} refresh={refresh} />
            {resource.rest && <Download ask={first} schema={schema} />}
          </>
        )}
        {may(resource, 'CREATE') && <Import resource={resource} />}
        <New resource={resource} isClosed={isClosed} />
      </Heading>
      {panel.value === 'Filter' ? (
        <Filter key={JSON.stringify(ask.where)} ask={first} schema={schema} onClose={close} />
      ) : (
        <FilterChips ask={first} schema={schema} />
      )}
      {panel.value === 'Views' && <Views ask={ask} onClose={close} />}
      {panel.value === 'Columns' && <ColumnChooser ask={ask} rows={rows} onClose={close} />}
      {fault && <FaultNotice fault={fault} again={again} say={(text) => filterSaid(text, resource)} />}
      {fault && !isAway(fault) && (ask.after ?? ask.before) && (
        <p>
          <a href={listLink(first)}>Back to the first page</a>
        </p>
      )}
      {!answer && isGone.value && <p class="empty">Not read yet</p>}
      {!answer && !isGone.value && (!fault || isAway(fault)) && <Loading />}
      {answer && rows.length > 0 && (
        <Table
          resource={resource}
          rows={rows}
          schema={schema}
          ask={fault ? { ...first, sort: order.current } : first}
          page={askKey({ ...ask, sort: [] })}
          pending={pending}
          isCurrent={isCurrent}
          selection={canDo ? selection : undefined}
          onChanged={(row, column) => {
            // What a reference leads to is not in the answer.
            if (column.reference) again();
            else changed.value = new Map([...changed.value, [row[keyName], row]]);
          }}
        />
      )}
      {answer && rows.length === 0 && <NoRows ask={ask} schema={schema} />}
      {answer && (rows.length > 0 || ask.after || ask.before) && (
        <Pager ask={ask} {...answer} total={total} shown={rows.length} isCurrent={isCurrent} />
      )}
      <DeletedHere resource={resource} />
    </>
  );
}

type Panel = 'Filter' | 'Columns' | 'Views' | undefined;

/** With their icons and the keys that open them. */
const panels = [
  ['Filter', 'filter', 'f'],
  ['Columns', 'columns', 'c'],
  ['Views', 'star', 'v'],
] as const;

function files(ask: ListAsk): Shown[] {
  if (!ask.resource.rest) return [];
  const whole = {
    ...ask,
    limit: undefined,
    after: undefined,
    before: undefined,
    count: false,
    related: false,
  };
  return [
    { title: 'CSV', ask: { ...whole, as: 'text/csv' } },
    { title: 'NDJSON', ask: { ...whole, as: 'application/x-ndjson' } },
  ];
}

function Import({ resource }: { resource: Resource }) {
  return (
    <a class="button" href={dataLink(resource.name, 'import')}>
      <Icon name="upload" /> <span class="label">Import</span>
    </a>
  );
}

function New({ resource, isClosed = false }: { resource: Resource; isClosed?: boolean }) {
  return (
    <>
      {!isClosed && <ReadOnly resource={resource} writes={['CREATE', 'UPDATE', 'DELETE']} />}
      {may(resource, 'CREATE') && (
        <a class="button primary" aria-keyshortcuts="n" href={dataLink(resource.name, 'new')}>
          <Icon name="plus" /> <span class="label">New</span>
        </a>
      )}
    </>
  );
}

function NoList({ resource }: { resource: Resource }) {
  const key = useSignal('');
  const open = (event: Event) => {
    event.preventDefault();
    if (key.value !== '') go(dataLink(resource.name, 'record', key.value));
  };
  useDock([]);
  return (
    <>
      <Heading
        title={<Name text={resource.name} />}
        about={resource.description}
        deprecated={resource.deprecated}
      >
        <New resource={resource} />
      </Heading>
      {resource.operations.has('GET') ? (
        <form class="lookup" onSubmit={open}>
          <p class="quiet">This type has no list: look up a record by its key.</p>
          <label>
            {resource.key.name}
            <input
              value={key.value}
              onInput={(event) => {
                key.value = event.currentTarget.value;
              }}
            />
          </label>
          <button type="submit" class="primary">
            Look up
          </button>
        </form>
      ) : (
        <Empty icon="plus" title="Records of this type can be created, but not read" />
      )}
    </>
  );
}

function NoRows({ ask, schema }: { ask: ListAsk; schema: Schema }) {
  const { plural } = ask.resource;
  if (ask.after || ask.before) return <Empty icon="table" title="This page is empty" />;
  if (ask.search || ask.find)
    return (
      <Empty icon="search" title="No matches">
        <a class="button" href={listLink({ ...ask, search: undefined, find: undefined, sort: [] })}>
          Show all
        </a>
      </Empty>
    );
  if (ask.where)
    return (
      <Empty icon="filter" title="No records match the filter">
        <a class="button" href={listLink({ ...ask, where: undefined })}>
          Show all
        </a>
      </Empty>
    );
  return (
    <Empty
      icon="table"
      title={schema.hasCallers ? `No ${plural} are visible to you` : `There are no ${plural} yet`}
    >
      {schema.hasCallers && (
        <span>
          {token.value === ''
            ? 'Some may be visible after you sign in.'
            : 'There are none, or the access rules do not let you read them.'}
        </span>
      )}
      {schema.hasCallers && token.value === '' && <SignIn />}
      {may(ask.resource, 'CREATE') && (
        <div class="tools">
          <a class="button" href={dataLink(ask.resource.name, 'new')}>
            <Icon name="plus" /> New {ask.resource.name}
          </a>
          <Import resource={ask.resource} />
        </div>
      )}
    </Empty>
  );
}
