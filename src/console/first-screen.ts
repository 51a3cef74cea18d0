/** The first screen before its script is there: whoever comes over a slow line reads what is served while the rest is on its way. */

import type { Model, Resource } from '../schema/model.ts';

/** At any other address of the console it is not the first screen that somebody waits for. */
const ELSEWHERE = `if(location.hash.length>2)document.querySelector('main').innerHTML='<p class="empty">Loading…</p>'`;

/** By which the page's policy lets it, and nothing else that is written into the page, run. */
export const SCRIPT_HASH = `sha256-${new Bun.CryptoHasher('sha256').update(ELSEWHERE).digest('base64')}`;

/** Puts it where `browser/index.html` leaves room for it. */
export function withFirstScreen(page: string, model: Model | undefined): string {
  if (!model) return page;
  const { resources, actions } = model;
  const shown = resources.filter(({ rest, graphql }) => rest || graphql);
  const places = shown.map(({ name }) => `<li>${link('data', name)}</li>`).join('');
  const acts = actions.map(({ name }) => `<li>${link('actions', name)}</li>`).join('');
  const side = `<h2>Data</h2><ul>${places}</ul>${acts && `<h2>Actions</h2><ul>${acts}</ul>`}`;
  const cards = shown.map((resource) => `<li><article class="card">${cardOf(resource)}</article></li>`);
  const main = `<div class="early"><h1>Resources</h1><ul class="cards">${cards.join('')}</ul></div>`;
  // By functions: in a text, `$` would have a meaning.
  return page
    .replace('<nav class="side"></nav>', () => `<nav class="side">${side}</nav>`)
    .replace('<p class="empty">Loading…</p></main>', () => `${main}</main><script>${ELSEWHERE}</script>`);
}

function cardOf(resource: Resource): string {
  const { name, description, columns, rest, graphql, path, plural, singular, operations } = resource;
  const about = description ?? columns.map((column) => column.name).join(', ');
  const doors = [
    rest ? `<span class="tag rest mono">/${path}</span>` : '',
    graphql ? `<span class="tag graphql mono">${operations.has('LIST') ? plural : singular}</span>` : '',
  ];
  return `<h2>${link('data', name)}</h2><p class="quiet">${escaped(about.replaceAll('`', ''))}</p><p class="doorways">${doors.join(' ')}</p>`;
}

/** Names of types and fields need nothing to be escaped. */
function link(area: string, name: string): string {
  return `<a href="#/${area}/${name}">${name}</a>`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
