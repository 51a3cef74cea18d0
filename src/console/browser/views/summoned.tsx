/** What a key brings up: the palette, in which everything is found by its name, and the page of all keys. */

import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { go } from '../address.ts';
import { send } from '../doors/send.ts';
import { actionLink, dataLink, to } from '../links.ts';
import { labelled, RELEVANCE, type Resource, type Row, type Schema } from '../schema/types.ts';
import { door, may, signingIn, theme, token } from '../session.ts';
import { press, summoned, takeEarly } from '../shortcuts.ts';
import { listAsk, listLink } from './list-place.ts';
import { offered } from './operate/places.ts';
import { Dialog } from './parts.tsx';
import { recordSearch } from './reference-input.tsx';
import { savedViews } from './saved-views.tsx';
import { tools } from './tools.ts';
import { shortKey } from './value.tsx';

export function Summoned({ schema }: { schema: Schema }) {
  return summoned.value === 'help' ? <Help /> : <Palette schema={schema} />;
}

function close(): void {
  summoned.value = undefined;
}

const keys: readonly (readonly [string, string])[] = [
  ['Ctrl K', 'go to a type, a record, an action or a page'],
  ['?', 'keyboard shortcuts'],
  ['/', 'search the table'],
  ['f', 'filter'],
  ['c', 'columns'],
  ['v', 'saved views'],
  ['r', 'refresh'],
  ['n', 'new record'],
  ['e', 'edit the record'],
  ['u', 'undo what was just done, as long as that is offered'],
  ['↑ ↓ ← →', 'move between the cells of a table; so do Home, End, Page Up and Page Down'],
  ['o', 'open the record of the cell; so does Enter on a cell that cannot be edited, such as the id'],
  ['Enter, F2', 'edit the cell: Enter saves, Escape cancels, Tab saves and goes to the next'],
  ['Double-click', 'edit the cell; a single click opens the record'],
  ['Space', 'select the row, where something can be done to it; with Shift, all rows up to it'],
  ['Shift ↑ ↓', 'extend the selection'],
  ['Ctrl A', 'select all rows'],
  ['Escape, Tab', 'leave an editor of GraphiQL'],
  ['Alt ← →', 'on a column header: make it narrower or wider'],
];

function Help() {
  return (
    <Dialog title="Keyboard shortcuts" onClose={close}>
      <dl class="keys">
        {keys.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <div class="actions">
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

interface Entry {
  readonly name: string;
  readonly about: string;
  readonly link: string;
  /** What is done, where it leads nowhere. */
  readonly run?: () => void;
}

/** Types whose records are looked through at a time, and records that are shown: of all, and of each type at least. */
const LOOKED_THROUGH = 12;
const OF_ALL = 9;
const OF_EACH = 3;
const PAUSE_MS = 150;
const SHOWN = 99;

function Palette({ schema }: { schema: Schema }) {
  const text = useSignal(useMemo(takeEarly, []));
  const records = useSignal<readonly Entry[]>([]);
  const active = useSignal(0);
  const list = useRef<HTMLDivElement>(null);
  const wanted = text.value.trim().toLowerCase();
  const isIn = ({ name }: Entry, words: string) => name.toLowerCase().includes(words);
  const isWanted = (entry: Entry) => wanted.split(/\s+/).every((word) => isIn(entry, word));
  // What has the words as they were typed comes first.
  const named = [true, false].flatMap((is) =>
    places(schema).filter((entry) => isWanted(entry) && isIn(entry, wanted) === is),
  );
  const all = [...named, ...records.value];
  const entries = all.slice(0, SHOWN);
  const listed = schema.resources.filter((resource) => may(resource, 'LIST'));

  useEffect(() => {
    // What still fits stays until the answer, so that the list does not jump.
    records.value = wanted.length < 2 ? [] : records.value.filter(isWanted);
    if (wanted.length < 2) return;
    let current = true;
    const timer = setTimeout(async () => {
      const found = await Promise.all(
        listed
          .slice(0, LOOKED_THROUGH)
          .map(async (resource) => ({ resource, rows: await rowsOf(resource, text.value.trim(), schema) })),
      );
      if (!current) return;
      const types = found.filter(({ rows }) => rows.length > 0);
      const most = Math.max(OF_EACH, Math.floor(OF_ALL / types.length));
      records.value = types.flatMap(({ resource, rows }) =>
        recordsOf(resource, rows, text.value.trim(), most),
      );
    }, PAUSE_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [wanted]);
  useEffect(() => {
    list.current?.children[active.value]?.scrollIntoView({ block: 'nearest' });
  }, [active.value]);

  const open = (entry: Entry | undefined) => {
    if (!entry) return;
    close();
    if (entry.run) entry.run();
    else if (entry.link.startsWith('#')) go(entry.link);
    else window.open(entry.link);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) active.value = Math.max(0, Math.min(entries.length - 1, active.value + step));
    else if (event.key === 'Enter') open(entries[active.value]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to" onClose={close}>
      <input
        class="palette"
        role="combobox"
        aria-label="Go to"
        aria-expanded="true"
        aria-controls="palette"
        aria-autocomplete="list"
        aria-activedescendant={entries.length > 0 ? `palette-${active.value}` : undefined}
        autocomplete="off"
        placeholder="A type, record, action or page"
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          active.value = 0;
        }}
        onKeyDown={onKeyDown}
      />
      <div ref={list} id="palette" class="palette" role="listbox" aria-label="Results">
        {entries.map((entry, at) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the arrows and Enter of the input choose
          <div
            key={entry.link + entry.name}
            id={`palette-${at}`}
            role="option"
            tabIndex={-1}
            aria-selected={at === active.value}
            onClick={() => open(entry)}
          >
            <span dir="auto">{entry.name}</span> <span class="quiet small">{entry.about}</span>
          </div>
        ))}
        {entries.length === 0 && (
          <div role="option" aria-selected="false" tabIndex={-1} class="quiet">
            No results
          </div>
        )}
      </div>
      <p class="quiet small">
        {all.length > SHOWN && `The first ${SHOWN} of ${all.length}. `}
        {wanted.length > 1 &&
          listed.length > LOOKED_THROUGH &&
          `Records of the first ${LOOKED_THROUGH} of ${listed.length} types. `}
        ↑ ↓ to choose, Enter to open, Escape to close.
      </p>
    </Dialog>
  );
}

/** As the search of its own page finds them, in the same order; by the key, where that finds nothing. */
async function rowsOf(resource: Resource, text: string, schema: Schema): Promise<readonly Row[]> {
  if (!resource.operations.has('GET')) return [];
  const plain = { ...recordSearch(resource, text), limit: OF_ALL + 1 };
  const searched = { ...plain, where: undefined, search: text, sort: [RELEVANCE] };
  for (const ask of resource.searchable ? [searched, plain] : plain.where ? [plain] : []) {
    const { rows = [] } = await send(ask, door.value, schema).catch(() => ({ rows: [] }));
    if (rows.length > 0) return rows;
  }
  return [];
}

function recordsOf(resource: Resource, rows: readonly Row[], text: string, most: number): Entry[] {
  const found = rows.slice(0, most).map((row) => ({
    name: labelled(resource, row),
    about: `${resource.name} ${shortKey(String(row[resource.key.name]))}`,
    link: dataLink(resource.name, 'record', row[resource.key.name]),
  }));
  if (rows.length <= most) return found;
  const all = {
    ...listAsk(resource, new URLSearchParams()),
    [resource.searchable ? 'search' : 'find']: text,
  };
  return [...found, { name: `More ${resource.plural} with “${text}”`, about: 'data', link: listLink(all) }];
}

function places(schema: Schema): Entry[] {
  const creatable = schema.resources.filter((resource) => may(resource, 'CREATE'));
  return [
    ...schema.resources.map(({ name }) => ({ name, about: 'data', link: dataLink(name) })),
    ...savedViews.value.map(({ type, name, link }) => ({ name, about: `view of ${type}`, link })),
    ...schema.actions.map(({ name }) => ({ name, about: 'action', link: actionLink(name) })),
    ...creatable.map(({ name }) => ({ name: `New ${name}`, about: 'create', link: dataLink(name, 'new') })),
    ...creatable.map(({ name }) => ({
      name: `Import into ${name}`,
      about: 'CSV, TSV, JSON, NDJSON',
      link: dataLink(name, 'import'),
    })),
    ...offered().map(({ label, name }) => ({ name: label, about: 'operate', link: to(['operate', name]) })),
    ...tools.map(({ label, area }) => ({ name: label, about: 'tool', link: to([area]) })),
    { name: 'OpenAPI document', about: 'docs', link: '/openapi.json' },
    { name: 'GraphQL schema', about: 'docs', link: '/schema.graphql' },
    ...commands(schema),
  ];
}

/** What the page before which this stands can do, and what can be done everywhere. */
function commands({ hasCallers }: Schema): Entry[] {
  const named = document.querySelectorAll<HTMLElement>('.stage :is(button, input)[aria-keyshortcuts]');
  const here = [...named].map((each) => ({
    name: each.ariaLabel ?? (each.querySelector('.label') ?? each).textContent,
    about: `this page, ${each.getAttribute('aria-keyshortcuts')}`,
    link: '',
    run: () => press(each),
  }));
  const set = <T,>(of: { value: T }, value: T) => ({
    link: '',
    run: () => {
      of.value = value;
    },
  });
  return [
    ...here,
    { name: 'Keyboard shortcuts', about: '?', ...set(summoned, 'help' as const) },
    ...['auto', 'light', 'dark'].map((look) => ({
      name: `Theme: ${look}`,
      about: 'setting',
      ...set(theme, look),
    })),
    ...(hasCallers
      ? [
          {
            name: token.value === '' ? 'Sign in' : 'Account',
            about: 'who you are',
            ...set(signingIn, 'asked' as const),
          },
        ]
      : []),
  ];
}
