/** GraphiQL with the explorer and the docs, in a document of its own. */

import { explorerPlugin } from '@graphiql/plugin-explorer';
import { GraphiQL, HISTORY_PLUGIN } from 'graphiql';
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';
import 'graphiql/style.css';
import '@graphiql/plugin-explorer/style.css';
import type { Fetcher } from '@graphiql/toolkit';
import { headers, isDark, send } from './frame.ts';

/** Where each worker of the editor is, by its label; the build knows. */
declare const WORKERS: Readonly<Record<string, string>>;

Object.assign(globalThis, {
  MonacoEnvironment: {
    getWorker: (_: string, label: string) =>
      new Worker(WORKERS[label] ?? WORKERS['editorWorkerService'] ?? '', { type: 'module' }),
  },
});

/** Its editors keep Tab for themselves: after Escape it leads on. */
let isLeaving = false;
addEventListener(
  'keydown',
  (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      // The palette of the console around it.
      const { key, ctrlKey, metaKey } = event;
      window.parent.dispatchEvent(new KeyboardEvent('keydown', { key, ctrlKey, metaKey }));
      event.preventDefault();
      event.stopImmediatePropagation();
    } else if (isLeaving && event.key === 'Tab') event.stopImmediatePropagation();
    if (event.key !== 'Shift') isLeaving = event.key === 'Escape' || (isLeaving && event.key === 'Tab');
  },
  true,
);

const fetcher: Fetcher = async (parameters, options) => {
  const response = await send('/graphql', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers(), ...options?.headers },
    body: JSON.stringify(parameters),
  });
  return response.json();
};

/** Nobody guesses how the keyboard leaves an editor. */
const KEYS = 'In the editors: Ctrl Enter runs the query, Ctrl Space suggests; Escape and then Tab leaves.';

const given = new URLSearchParams(location.hash.slice(1));
const query = given.get('query');
const example = given.get('example');
const variables = given.get('variables') ?? '';
const root = document.getElementById('graphiql');
if (root)
  createRoot(root).render(
    createElement(
      GraphiQL,
      {
        fetcher,
        forcedTheme: isDark() ? 'dark' : 'light',
        plugins: [HISTORY_PLUGIN, explorerPlugin()],
        ...(query !== null && { initialQuery: query, initialVariables: variables }),
        ...(example !== null && { defaultTabs: [{ query: example, variables }] }),
      },
      createElement(GraphiQL.Footer, null, KEYS),
    ),
  );
