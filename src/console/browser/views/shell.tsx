/** The frame around every view. */

import { signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { place } from '../address.ts';
import { underWay } from '../doors/send.ts';
import { actionLink, dataLink, to } from '../links.ts';
import { me } from '../operate.ts';
import { isWaiting } from '../schema/file.ts';
import type { Door, Schema } from '../schema/types.ts';
import { useKeptScroll } from '../scroll.ts';
import { door, isRefused, mayRun, signingIn, theme, token } from '../session.ts';
import { onShortcut, summoned } from '../shortcuts.ts';
import { beside } from './beside.ts';
import { Dock } from './dock.tsx';
import { later } from './later.tsx';
import { LeaveDialog } from './leave.tsx';
import { offered } from './operate/places.ts';
import { Icon, Name } from './parts.tsx';
import { Toast } from './toast.tsx';
import { tools } from './tools.ts';

const Summoned = later(beside, 'Summoned');
const TokenDialog = later(beside, 'TokenDialog');

addEventListener('keydown', onShortcut);

const menuOpen = signal(false);
addEventListener('hashchange', () => {
  menuOpen.value = false;
});
addEventListener('keydown', ({ key }) => {
  if (key !== 'Escape' || !menuOpen.value) return;
  menuOpen.value = false;
  document.querySelector<HTMLElement>('.menu')?.focus();
});

/** There is no room at the top then: settings are in the menu, after the places. */
const small = matchMedia('(max-width: 760px)');
const isSmall = signal(small.matches);
small.addEventListener('change', () => {
  isSmall.value = small.matches;
});

export function Shell({ schema, children }: { schema: Schema | undefined; children: ComponentChildren }) {
  const [area] = place.value.path;
  const full = area === 'graphiql' || area === 'reference' || area === 'schema';
  const main = useRef<HTMLElement>(null);
  const keep = useKeptScroll(main, 'main', underWay.value === 0);
  const toMain = () => document.getElementById('main')?.focus();
  return (
    <>
      <button type="button" class="skip" onClick={toMain}>
        Skip to the content
      </button>
      <Top schema={schema} />
      <Side schema={schema} />
      {isSmall.value && menuOpen.value && <Settings schema={schema} />}
      <div class="stage">
        <main
          ref={main}
          id="main"
          tabIndex={-1}
          class={full ? 'full' : ''}
          aria-busy={underWay.value > 0}
          onScroll={keep}
        >
          {children}
        </main>
        <Toast />
        {schema && area !== 'graphiql' && area !== 'reference' && <Dock schema={schema} />}
      </div>
      <LeaveDialog />
      {schema && summoned.value && <Summoned schema={schema} />}
    </>
  );
}

function Top({ schema }: { schema: Schema | undefined }) {
  return (
    <header class="top">
      <button
        type="button"
        class="menu plain"
        aria-label="Menu"
        aria-expanded={menuOpen.value}
        onClick={() => {
          menuOpen.value = !menuOpen.value;
        }}
      >
        <Icon name="menu" />
      </button>
      <a class="brand" href={to([])}>
        <Logo />
        Duet
      </a>
      {!isWaiting.value && (
        <button
          type="button"
          class="goto"
          aria-label="Go to Ctrl K"
          onClick={() => {
            summoned.value = 'palette';
          }}
        >
          <Icon name="search" />
          <span class="wide">
            Go to <kbd>Ctrl K</kbd>
          </span>
        </button>
      )}
      {(schema?.hasCallers || token.value !== '') && <Account />}
      {!isSmall.value && <Settings schema={schema} />}
      <Progress />
      {signingIn.value && <TokenDialog />}
    </header>
  );
}

function Settings({ schema }: { schema: Schema | undefined }) {
  return (
    <div class="settings">
      {schema?.hasRest && schema.hasGraphql && <DoorSwitch />}
      <label>
        <span class="quiet small">Theme</span>{' '}
        <select
          title="As your system has it, light or dark"
          value={theme.value}
          onChange={(event) => {
            theme.value = event.currentTarget.value;
          }}
        >
          <option value="auto">Auto</option>
          <option value="light">Light</option>
          <option value="dark">Dark</option>
        </select>
      </label>
    </div>
  );
}

function Account() {
  const who = token.value === '' ? 'Sign in' : (me.value?.subject ?? 'Account');
  return (
    <button
      type="button"
      class="caller"
      aria-label={token.value === '' ? who : `Account: ${who}`}
      onClick={() => {
        signingIn.value = 'asked';
      }}
    >
      <Icon name="key" />
      <span>{who}</span>
    </button>
  );
}

const doors: readonly [Door, string][] = [
  ['rest', 'REST'],
  ['graphql', 'GraphQL'],
];

function DoorSwitch() {
  return (
    <fieldset>
      <legend class="sr">Requests by</legend>
      <span class="quiet small" aria-hidden="true">
        Requests by
      </span>
      <span class="segmented">
        {doors.map(([name, label]) => (
          <label key={name} title={`The console sends its requests by ${label}`}>
            <input
              type="radio"
              name="door"
              checked={door.value === name}
              onChange={() => {
                door.value = name;
              }}
            />
            {label}
          </label>
        ))}
      </span>
    </fieldset>
  );
}

/** Shown when something takes longer than half a second. */
function Progress() {
  const late = useSignal(false);
  const busy = underWay.value > 0;
  useEffect(() => {
    if (!busy) return;
    const timer = setTimeout(() => {
      late.value = true;
    }, 500);
    return () => {
      clearTimeout(timer);
      late.value = false;
    };
  }, [busy]);
  return (
    <div
      class={late.value ? 'progress shown' : 'progress'}
      {...(late.value && { role: 'progressbar', 'aria-label': 'Waiting for the service' })}
    />
  );
}

function Side({ schema }: { schema: Schema | undefined }) {
  const [area, name] = place.value.path;
  // There is nowhere to go yet.
  if (isWaiting.value) return null;
  return (
    <nav class={menuOpen.value ? 'side open' : 'side'} aria-label="Places">
      <h2>Data</h2>
      <ul>
        {schema?.resources.map((resource) => (
          <li key={resource.name}>
            <a
              href={dataLink(resource.name)}
              aria-current={area === 'data' && name === resource.name ? 'page' : undefined}
            >
              <Icon name={isRefused(resource, 'LIST') ? 'lock' : 'table'} />
              <Name text={resource.name} />
              {resource.deprecated && <span class="tag">deprecated</span>}
            </a>
          </li>
        ))}
      </ul>
      {schema && schema.actions.length > 0 && (
        <>
          <h2>Actions</h2>
          <ul>
            {schema.actions.map((action) => (
              <li key={action.name}>
                <a
                  href={actionLink(action.name)}
                  aria-current={area === 'actions' && name === action.name ? 'page' : undefined}
                >
                  <Icon name={mayRun(action) ? 'play' : 'lock'} />
                  <Name text={action.name} />
                  {action.deprecated && <span class="tag">deprecated</span>}
                </a>
              </li>
            ))}
          </ul>
        </>
      )}
      {offered().length > 0 && <h2>Operate</h2>}
      <ul>
        {offered().map((each) => (
          <li key={each.name}>
            <a
              href={to(['operate', each.name])}
              aria-current={area === 'operate' && name === each.name ? 'page' : undefined}
            >
              <Icon name={each.icon} />
              {each.label}
            </a>
          </li>
        ))}
      </ul>
      <h2>Tools</h2>
      <ul>
        {tools
          .filter((tool) => tool.area !== 'graphiql' || (schema?.hasGraphql ?? true))
          .map((tool) => (
            <li key={tool.area}>
              <a href={to([tool.area])} aria-current={area === tool.area ? 'page' : undefined}>
                <Icon name={tool.icon} />
                {tool.label}
              </a>
            </li>
          ))}
      </ul>
    </nav>
  );
}

function Logo() {
  return (
    <svg width="22" height="22" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="var(--accent)" />
      <path
        d="M9 8v16M9 8h3a8 8 0 0 1 0 16H9M23 8v16M23 8h-3a8 8 0 0 0 0 16h3"
        fill="none"
        stroke="var(--accent-ink)"
        stroke-width="2.4"
        stroke-linecap="round"
      />
    </svg>
  );
}
