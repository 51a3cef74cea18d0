/** REST and GraphQL side by side: what is on the screen as a command and as an operation, with what each of them took. */

import { signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { bytes, counted, milliseconds } from '../amounts.ts';
import { type Answer, type Ask, isRead, type RecordAsk } from '../ask.ts';
import { type Cost, costKey, costs, doorFor, lastWrite, send, wireOf } from '../doors/send.ts';
import { curlOf, type Wire } from '../doors/wire.ts';
import { to } from '../links.ts';
import { descriptions } from '../schema/load.ts';
import { type Door, type Resource, type Row, referencesOf, type Schema } from '../schema/types.ts';
import { dockHeight, dockOpen, door, foldDock, snippet, token } from '../session.ts';
import { LANGUAGES, type Language, snippetOf } from '../snippets.ts';
import { askKey, hasBothDoors } from './answer.ts';
import { Copy, Icon } from './parts.tsx';

export type Shown = Asked | Sent;

interface Asked {
  readonly title: string;
  readonly ask: Ask;
  /** What the view itself was answered; undefined as long as it has not asked. */
  readonly answer?: Answer | undefined;
}

/** What is not about records: how each door is asked for it, where it can be. */
interface Sent {
  readonly title: string;
  readonly wires: Partial<Readonly<Record<Door, Wire>>>;
}

/** What the view on the screen asks, and what its buttons would. */
const shown = signal<readonly Shown[]>([]);

export function useDock(entries: readonly Shown[]): void {
  useEffect(
    () => {
      shown.value = entries;
      // The next view may have come to show its own before this one is gone.
      return () => {
        if (shown.value === entries) shown.value = [];
      };
    },
    // A new schema file has other fields under the same names.
    entries.flatMap((entry) =>
      'ask' in entry
        ? [askKey(entry.ask), entry.answer, 'resource' in entry.ask ? entry.ask.resource : entry.ask.action]
        : entry.title,
    ),
  );
}

/** What a view of the whole schema asks: how each door describes itself. */
export function useSchemaDock({ hasGraphql }: Schema): void {
  const { rest, graphql } = descriptions;
  useDock([{ title: 'The schema', wires: { rest, ...(hasGraphql && { graphql }) } }]);
}

export function Dock({ schema }: { schema: Schema }) {
  const chosen = useSignal('');
  const written: Shown[] = lastWrite.value ? [{ title: 'Last change', ask: lastWrite.value }] : [];
  const entries = [...shown.value, ...written];
  const entry = entries.find(({ title }) => title === chosen.value) ?? entries[0];
  if (!entry) return null;
  const { rest, graphql } = 'ask' in entry ? wiresOf(entry.ask, schema) : entry.wires;
  const name = graphql || 'ask' in entry ? 'REST and GraphQL' : 'REST';
  return (
    <section
      class="dock"
      aria-label={name}
      style={dockHeight.value ? { '--dock': `${dockHeight.value}px` } : {}}
    >
      {dockOpen.value && <Edge />}
      <div class="bar">
        <button type="button" class="plain" aria-expanded={dockOpen.value} onClick={foldDock}>
          <Icon name={dockOpen.value ? 'down' : 'up'} />
          {name}
        </button>
        {/* What was done before is never taken for what this page would do. */}
        {dockOpen.value && (lastWrite.value ?? entries[1]) && (
          <select
            aria-label="What to show"
            value={entry.title}
            onChange={(event) => {
              chosen.value = event.currentTarget.value;
            }}
          >
            {entries.map(({ title }) => (
              <option key={title}>{title}</option>
            ))}
          </select>
        )}
        {dockOpen.value && 'ask' in entry && <Agreement {...entry} schema={schema} />}
      </div>
      {dockOpen.value && (
        <div class="doors">
          {(rest || 'ask' in entry) && (
            <RestDoor wire={rest} ask={'ask' in entry ? entry.ask : undefined} schema={schema} />
          )}
          {(graphql || 'ask' in entry) && (
            <GraphqlDoor
              wire={graphql}
              isFile={'ask' in entry && entry.ask.do === 'list' && !!entry.ask.as}
            />
          )}
        </div>
      )}
    </section>
  );
}

const LEAST_HEIGHT = 48;
const STEP = 24;

/** The upper edge of the panel: dragged, or moved with the arrows. */
function Edge() {
  const height = () => document.querySelector<HTMLElement>('.dock pre')?.offsetHeight ?? 0;
  const put = (to: number) => {
    dockHeight.value = Math.round(Math.max(LEAST_HEIGHT, Math.min(innerHeight * 0.6, to)));
  };
  const drag = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    const { currentTarget: edge, clientY, pointerId } = event;
    const before = height();
    edge.setPointerCapture(pointerId);
    const onMove = (move: PointerEvent) => put(before + clientY - move.clientY);
    edge.addEventListener('pointermove', onMove);
    edge.addEventListener('pointerup', () => edge.removeEventListener('pointermove', onMove), { once: true });
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a line that is drawn does not move
    <div
      class="edge"
      role="separator"
      tabIndex={0}
      aria-label="Height of the panel"
      aria-orientation="horizontal"
      aria-valuenow={dockHeight.value || 100}
      onPointerDown={drag}
      onKeyDown={(event) => {
        const step = { ArrowUp: STEP, ArrowDown: -STEP }[event.key];
        if (step === undefined) return;
        event.preventDefault();
        put(height() + step);
      }}
    />
  );
}

function wiresOf(ask: Ask, schema: Schema) {
  return { rest: wireOf(ask, 'rest', schema), graphql: wireOf(ask, 'graphql', schema) };
}

/** Reads through the door that the console does not use, and holds the two answers against each other. */
function Agreement({ ask, answer, schema }: Asked & { schema: Schema }) {
  const verdict = useSignal('');
  useEffect(() => {
    verdict.value = '';
    // An action may be anything but cheap: it is run when somebody says so.
    if (!answer || ask.do === 'act' || !isRead(ask) || !hasBothDoors(ask, schema)) return;
    let current = true;
    const other = doorFor(ask, door.value, schema) === 'rest' ? 'graphql' : 'rest';
    send(ask, other, schema).then(
      (theirs) => {
        if (current)
          verdict.value =
            comparable(theirs, ask, schema) === comparable(answer, ask, schema)
              ? 'Both have the same records.'
              : 'The answers differ: data has changed.';
      },
      // What it is told in place of an answer stands beside the door.
      () => {},
    );
    return () => {
      current = false;
    };
  }, [answer]);
  return (
    <span class="agree small quiet" aria-live="polite">
      {verdict.value}
    </span>
  );
}

function comparable({ rows, row, total, changes }: Answer, ask: RecordAsk, schema: Schema): string {
  if (changes)
    return JSON.stringify(
      changes.map(({ at, kind, version, caller, before, after }) => [
        [at, kind, version, caller],
        [before, after].map((each) => each && shared(each, ask.resource, schema)),
      ]),
    );
  const all = rows ?? (row ? [row] : []);
  return JSON.stringify([all.map((each) => shared(each, ask.resource, schema, !rows)), total]);
}

/** GraphQL was asked for the key and the label of what is referred to, and of what is listed in a row, REST answers it whole. */
function shared(row: Row, resource: Resource, schema: Schema, isWhole = true): Row {
  const narrowed = referencesOf(resource).map(({ name, target, doors }) => {
    const of = schema.byName.get(target);
    const value = row[name];
    if (doors.length < 2) return [name, undefined];
    return [name, of && typeof value === 'object' && value !== null ? named(value as Row, of) : value];
  });
  const lists = resource.inverses.map(({ name, target, doors }) => {
    const of = schema.byName.get(target);
    const rows = doors.length < 2 ? undefined : row[name];
    if (!of || !Array.isArray(rows)) return [name, rows];
    return [name, rows.map((each) => (isWhole ? shared(each, of, schema) : named(each, of)))];
  });
  const names = [...resource.columns, ...referencesOf(resource), ...resource.inverses].map(
    ({ name }) => name,
  );
  const all = { ...row, ...Object.fromEntries([...narrowed, ...lists]) };
  return Object.fromEntries(names.map((name) => [name, all[name]]));
}

function named(record: Row, { key, label }: Resource): unknown {
  return [record[key.name], record[label.name]];
}

interface RestProps {
  wire: Wire | undefined;
  ask?: Ask | undefined;
  schema: Schema;
}

export function RestDoor({ wire, ask, schema }: RestProps) {
  if (!wire) return <Closed door="rest" />;
  const written = (language: Language) =>
    snippetOf(language, wire, location.origin, token.value !== '', ask, schema);
  const shown = written(snippet.value) === undefined ? 'curl' : snippet.value;
  const text = written(shown) ?? '';
  return (
    <article class="door" aria-label="REST">
      <header>
        <span class="tag rest">REST</span>
        <CostOf wire={wire} />
        <select
          class="small"
          aria-label="Language"
          value={shown}
          onChange={(event) => {
            snippet.value = event.currentTarget.value as Language;
          }}
        >
          {LANGUAGES.filter((each) => written(each) !== undefined).map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <Copy text={() => text} what={shown} />
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable from the keyboard */}
      <pre tabIndex={0}>{cut(text)}</pre>
    </article>
  );
}

export function GraphqlDoor({ wire, isFile = false }: { wire: Wire | undefined; isFile?: boolean }) {
  if (!wire?.graphql) return <Closed door="graphql" />;
  const { query, variables } = wire.graphql;
  const json = Object.keys(variables).length > 0 ? JSON.stringify(variables, null, 2) : '';
  return (
    <article class="door" aria-label="GraphQL">
      <header>
        <span class="tag graphql">GraphQL</span>
        {isFile ? (
          <span class="cost quiet small">the same list: only REST exports files</span>
        ) : (
          <CostOf wire={wire} />
        )}
        <Copy text={() => query} what="query" />
        <Copy text={() => curlOf(wire, location.origin, token.value !== '')} label="curl" what="curl" />
        <a
          class="button plain small"
          title="Open in GraphiQL"
          aria-label="Open in GraphiQL"
          href={to(['graphiql'], { query, ...(json && { variables: json }) })}
        >
          GraphiQL
        </a>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable from the keyboard */}
      <pre tabIndex={0}>
        {query}
        {json && <span class="variables">{`\n\n# variables\n${cut(json)}`}</span>}
      </pre>
    </article>
  );
}

/** More than anybody reads, and less than keeps a browser busy while somebody types. */
const READ = 10_000;

/** What is copied is whole. */
function cut(text: string): string {
  return text.length > READ
    ? `${text.slice(0, READ)}…\n# and ${counted(text.length - READ, 'more character')}`
    : text;
}

function Closed({ door: name }: { door: Door }) {
  return (
    <article class="door">
      <header>
        <span class={`tag ${name}`}>{name === 'rest' ? 'REST' : 'GraphQL'}</span>
        <span class="quiet small">does not offer this</span>
      </header>
    </article>
  );
}

function CostOf({ wire }: { wire: Wire }) {
  const cost = costs.value.get(costKey(wire));
  const text = cost ? told(cost) : 'not sent yet';
  return (
    <span class="cost quiet small" title={text}>
      {text}
    </span>
  );
}

function told({ status, ms, bytes: size, statements }: Cost): string {
  const parts = [...(status >= 400 ? [String(status)] : []), milliseconds(ms), bytes(size)];
  if (statements !== undefined) parts.push(counted(statements, 'statement'));
  return parts.join(' · ');
}
