/** The table of a resource: its columns, its filter, its order, its pages. */

import { useSignal } from '@preact/signals';
import { go } from '../address.ts';
import { type ListAsk, SHOWN_INVERSES } from '../ask.ts';
import { dataLink, to } from '../links.ts';
import {
  type Column,
  type Inverse,
  labelled,
  RELEVANCE,
  type Resource,
  type Row,
  type Schema,
  typeOf,
} from '../schema/types.ts';
import { may } from '../session.ts';
import { useAnswer } from './answer.ts';
import { type Shown, useDock } from './dock.tsx';
import { Download } from './download.tsx';
import { Filter } from './filter.tsx';
import { FilterChips } from './filter-chips.tsx';
import { listAsk, listLink, PAGE_SIZES } from './list-place.ts';
import { counted, Empty, FaultNotice, Icon, Prose } from './parts.tsx';
import { ReadOnly } from './read-only.tsx';
import { directionOf, Value } from './value.tsx';

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
  const { answer, fault, pending, again } = useAnswer(ask, schema);
  const filtering = useSignal(false);
  useDock([{ title: 'This list', ask, answer }, ...files(ask)]);
  const rows = answer?.rows ?? [];
  const first = { ...ask, after: undefined, before: undefined };
  return (
    <>
      <Heading resource={resource}>
        {resource.searchable && <Search key={ask.search} ask={first} />}
        <button
          type="button"
          aria-expanded={filtering.value}
          onClick={() => {
            filtering.value = !filtering.value;
          }}
        >
          <Icon name="filter" /> Filter
        </button>
        <button
          type="button"
          aria-pressed={ask.count}
          onClick={() => go(listLink({ ...ask, count: !ask.count }))}
        >
          Count
        </button>
        {resource.rest && <Download ask={first} schema={schema} />}
        <New resource={resource} />
      </Heading>
      {filtering.value ? (
        <Filter
          key={JSON.stringify(ask.where)}
          ask={first}
          schema={schema}
          onClose={() => {
            filtering.value = false;
          }}
        />
      ) : (
        <FilterChips ask={first} />
      )}
      {fault && <FaultNotice fault={fault} again={again} />}
      {fault && (ask.after ?? ask.before) && (
        <p>
          <a href={listLink(first)}>Back to the first page</a>
        </p>
      )}
      {answer && rows.length > 0 && (
        <Table resource={resource} rows={rows} schema={schema} ask={first} pending={pending} />
      )}
      {answer && rows.length === 0 && <NoRows ask={ask} />}
      {answer && (rows.length > 0 || ask.after || ask.before) && (
        <Pager
          ask={ask}
          next={answer.next}
          previous={answer.previous}
          total={answer.total}
          shown={rows.length}
        />
      )}
    </>
  );
}

/** The most relevant come first, until another order is chosen. */
function Search({ ask }: { ask: ListAsk }) {
  const words = useSignal(ask.search ?? '');
  const search = (event: Event) => {
    event.preventDefault();
    const others = ask.sort.filter((each) => each.replace(/^-/, '') !== RELEVANCE);
    const wanted = words.value.trim() || undefined;
    go(listLink({ ...ask, search: wanted, sort: wanted ? [RELEVANCE] : others }));
  };
  return (
    <form onSubmit={search}>
      <input
        type="search"
        aria-label={`Search ${ask.resource.plural}`}
        placeholder={`Search ${ask.resource.plural}`}
        value={words.value}
        onInput={(event) => {
          words.value = event.currentTarget.value;
        }}
      />
    </form>
  );
}

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
    { title: 'As CSV', ask: { ...whole, as: 'text/csv' } },
    { title: 'As NDJSON', ask: { ...whole, as: 'application/x-ndjson' } },
  ];
}

function Heading({ resource, children }: { resource: Resource; children?: preact.ComponentChildren }) {
  return (
    <div class="heading">
      <div>
        <h1>
          {resource.name} {resource.deprecated && <span class="tag">deprecated</span>}
        </h1>
        {resource.description && (
          <p class="quiet">
            <Prose text={resource.description} />
          </p>
        )}
      </div>
      <div class="tools">{children}</div>
    </div>
  );
}

function New({ resource }: { resource: Resource }) {
  return (
    <>
      <ReadOnly resource={resource} writes={['CREATE', 'UPDATE', 'DELETE']} />
      {may(resource, 'CREATE') && (
        <a class="button primary" href={dataLink(resource.name, 'new')}>
          <Icon name="plus" /> New
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
      <Heading resource={resource}>
        <New resource={resource} />
      </Heading>
      {resource.operations.has('GET') ? (
        <form class="lookup" onSubmit={open}>
          <p class="quiet">There is no list of these: a record is looked up by its key.</p>
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
        <Empty icon="plus" title="These can be created, but not read" />
      )}
    </>
  );
}

function NoRows({ ask }: { ask: ListAsk }) {
  if (ask.after || ask.before) return <Empty icon="table" title="This page is empty" />;
  if (ask.search)
    return (
      <Empty icon="search" title="Nothing has these words">
        <a class="button" href={listLink({ ...ask, search: undefined, sort: [] })}>
          Show all
        </a>
      </Empty>
    );
  if (ask.where)
    return (
      <Empty icon="filter" title="Nothing fits the filter">
        <a class="button" href={listLink({ ...ask, where: undefined })}>
          Show all
        </a>
      </Empty>
    );
  return (
    <Empty icon="table" title={`There is no ${ask.resource.name} yet`}>
      {may(ask.resource, 'CREATE') && (
        <a class="button" href={dataLink(ask.resource.name, 'new')}>
          Make the first one
        </a>
      )}
    </Empty>
  );
}

interface TableProps {
  resource: Resource;
  rows: readonly Row[];
  schema: Schema;
  /** The first page: a new order begins there. Without it, the columns cannot be sorted. */
  ask?: ListAsk;
  pending?: boolean;
  without?: string | undefined;
}

export function Table({ resource, rows, schema, ask, pending = false, without }: TableProps) {
  const columns = resource.columns.filter(({ name }) => name !== without);
  const { key } = resource;
  const opens = resource.operations.has('GET');
  const lists = resource.inverses.filter(
    ({ name, linkedBy }) => linkedBy.length > 0 && rows.some((row) => Array.isArray(row[name])),
  );
  return (
    <section
      class={rows.length > FEW ? 'scroll tall' : 'scroll'}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable from the keyboard
      tabIndex={0}
      aria-label={`${resource.name} table`}
      aria-busy={pending}
    >
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.name} column={column} ask={ask} />
            ))}
            {lists.map(({ name, description, deprecated, target }) => (
              <th key={name} scope="col" title={description}>
                <span class={deprecated ? 'deprecated' : ''}>{name}</span>
                <span class="type">[{target}!]!</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={String(row[key.name])}>
              {columns.map((column) => (
                <td key={column.name} class={column.kind} dir={directionOf(column)}>
                  {column === key && opens ? (
                    <a class={key.kind} href={dataLink(resource.name, 'record', row[key.name])}>
                      {String(row[key.name])}
                    </a>
                  ) : (
                    <Value column={column} row={row} schema={schema} short />
                  )}
                </td>
              ))}
              {lists.map((list) => (
                <td key={list.name}>
                  <Linked list={list} row={row} schema={schema} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The first records of a list through a join type, by what people call them. */
function Linked({ list, row, schema }: { list: Inverse; row: Row; schema: Schema }) {
  const target = schema.byName.get(list.target);
  const rows = row[list.name];
  if (!target || !Array.isArray(rows)) return <span class="null">hidden</span>;
  return (
    <span class="items">
      {rows.length === 0 && <span class="null">none</span>}
      {rows.slice(0, SHOWN_INVERSES).map((each) => (
        <span class="tag" dir="auto" key={String(each[target.key.name])}>
          {labelled(target, each)}
        </span>
      ))}
      {rows.length > SHOWN_INVERSES && <span class="quiet">…</span>}
    </span>
  );
}

/** More rows than these may move under the head of their table. */
const FEW = 8;

function Head({ column, ask }: { column: Column; ask: ListAsk | undefined }) {
  const { name, description, deprecated, sortable, kind } = column;
  const at = ask?.sort.find((each) => each.replace(/^-/, '') === name);
  const descending = at?.startsWith('-') ?? false;
  const title = (
    <>
      <span class={deprecated ? 'deprecated' : ''}>{name}</span>
      {at && <Icon name={descending ? 'down' : 'up'} />}
      <span class="type">{typeOf(column)}</span>
    </>
  );
  const order = at === undefined ? 'none' : descending ? 'descending' : 'ascending';
  return (
    <th scope="col" class={kind} title={description} aria-sort={ask && sortable ? order : undefined}>
      {ask && sortable ? (
        <button
          type="button"
          class="head"
          onClick={(event) => go(listLink({ ...ask, sort: turned(ask.sort, name, event.shiftKey) }))}
        >
          {title}
        </button>
      ) : (
        <span class="head">{title}</span>
      )}
    </th>
  );
}

/** Up, then down, then not at all; with Shift beside the other columns, otherwise in their place. */
function turned(sort: readonly string[], name: string, keep: boolean): string[] {
  const at = sort.findIndex((each) => each.replace(/^-/, '') === name);
  const next = at === -1 ? [name] : sort[at]?.startsWith('-') ? [] : [`-${name}`];
  if (!keep) return next;
  return at === -1 ? [...sort, ...next] : sort.toSpliced(at, 1, ...next);
}

interface PagerProps {
  ask: ListAsk;
  next: string | undefined;
  previous: string | undefined;
  total: number | undefined;
  shown: number;
}

function Pager({ ask, next, previous, total, shown }: PagerProps) {
  const page = (turn: Partial<ListAsk>) => listLink({ ...ask, after: undefined, before: undefined, ...turn });
  return (
    <nav class="pager" aria-label="Pages">
      <Turn label="First" icon="up" link={ask.after || ask.before ? page({}) : undefined} />
      <Turn label="Previous" icon="left" link={previous ? page({ before: previous }) : undefined} />
      <Turn label="Next" icon="right" link={next ? page({ after: next }) : undefined} />
      <span class="quiet">
        {counted(shown, 'record')} here{total !== undefined && `, ${total.toLocaleString('en')} in all`}
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
  icon: 'up' | 'left' | 'right';
  link: string | undefined;
}) {
  return (
    <button type="button" disabled={link === undefined} onClick={() => link && go(link)}>
      {icon !== 'right' && <Icon name={icon} />} {label} {icon === 'right' && <Icon name={icon} />}
    </button>
  );
}

/** The list of all that point to a record. */
export function allLink(target: Resource, via: string, key: unknown): string {
  return to(['data', target.name], { [`${via}[eq]`]: String(key) });
}
