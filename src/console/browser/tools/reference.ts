/** The API reference, made from the OpenAPI document, in a document of its own. */

import { createApiReference } from '@scalar/api-reference';
// As it is: the bundler's reader of styles is stricter than browsers are.
import styles from '@scalar/api-reference/style.css' with { type: 'file' };
import type { JsonSchema } from '../schema/values.ts';
import { headers, isDark, send } from './frame.ts';
import { samples } from './samples.ts';

/** What commands that are copied have in the place of the token. */
const PLACE = '$TOKEN';

const isKnown = () => headers()['Authorization'] !== undefined;

/** Calls are made for whoever uses the console; this document makes no others. */
function fetchAsCaller(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init);
  // Whoever has signed out since has nothing to put there.
  if (request.headers.get('Authorization') === `Bearer ${PLACE}`) request.headers.delete('Authorization');
  for (const [name, value] of Object.entries(headers())) request.headers.set(name, value);
  return send(request);
}

window.fetch = fetchAsCaller;

// The reference asks once who is signed in; where that has changed, it begins anew at the same place.
const wasKnown = isKnown();
addEventListener('storage', () => {
  if (isKnown() !== wasKnown) location.reload();
});

/** What all of its places begin with, here and in the address of the console. */
const HERE = '#/reference';

// Opened alone, as by a link that was copied from it, it leads to the console around it.
if (window.parent === window) location.replace(`/${location.hash || HERE}`);

const isShown = () => `${window.parent.location.hash}/`.startsWith(`${HERE}/`);
const replace = history.replaceState.bind(history);

// Where one is in it stands in the address of the console, whose history is the only one: a step here is one there.
history.replaceState = (state, unused, url) => {
  replace(state, unused, url);
  if (isShown()) window.parent.duetRetell?.(location.hash);
};
history.pushState = (state, unused, url) => {
  replace(state, unused, url);
  if (isShown()) window.parent.location.hash = location.hash;
};

/** Goes to where the address of the console says. */
function follow(): void {
  const { hash } = window.parent.location;
  if (!isShown() || hash === location.hash) return;
  replace(null, '', hash);
  if (hash === HERE) scrollTo(0, 0);
  else {
    dispatchEvent(new PopStateEvent('popstate'));
    for (const ms of DRAWN_MS) setTimeout(stay, ms, hash);
  }
}

/** What is drawn above a place only when it comes near pushes that place away again. */
const DRAWN_MS = [200, 600];

function stay(hash: string): void {
  const place = CSS.escape(hash.slice(HERE.length));
  if (location.hash === hash) document.querySelector(`section[id$="${place}"]`)?.scrollIntoView();
}

follow();
window.parent.addEventListener('popstate', follow);
addEventListener('pagehide', () => window.parent.removeEventListener('popstate', follow));

const sheet = document.createElement('link');
sheet.rel = 'stylesheet';
sheet.href = styles;
document.head.append(sheet);

interface Parameter {
  readonly in?: string;
  readonly required?: boolean;
  readonly schema?: {
    readonly $ref?: string;
    readonly default?: unknown;
    readonly enum?: readonly unknown[];
  };
  readonly content?: Readonly<Record<string, { example?: unknown }>>;
  example?: unknown;
  examples?: object;
}

/**
 * What has an example or a default, or is one of several values, is filled with it, and sent: then each list is cut and sorted, and each
 * create is an upsert. What is optional is off until somebody wants it.
 */
function leftOut(parameters: Readonly<Record<string, Parameter>> | readonly Parameter[] = {}): void {
  for (const each of Object.values<Parameter>(parameters))
    if (each.in && each.in !== 'path' && !each.required) {
      const { schema, content } = each;
      const told = content?.['application/json'] ?? each;
      // What a reference leads to may be several values, too.
      const value = told.example ?? schema?.default ?? schema?.enum?.[0] ?? (schema?.$ref && '');
      delete told.example;
      if (value !== undefined) each.examples = { default: { value, 'x-disabled': true } };
    }
}

/** What the reference would show as `1…`: that a list must have something in it; and as the type `and`: what is told by its place. */
function plainer(name: string, value: Combined | number | null): unknown {
  if (typeof value === 'number') return name === 'minItems' ? undefined : value;
  return value?.or?.$ref?.endsWith('/properties/and') ? { ...value, or: value.and } : value;
}

/** The properties of a filter; whatever else has no such. */
interface Combined {
  readonly and?: unknown;
  readonly or?: { readonly $ref?: string };
}

interface Described {
  readonly info: { version: string };
  readonly components: {
    readonly parameters?: Readonly<Record<string, Parameter>>;
    readonly schemas: Record<string, JsonSchema>;
    readonly securitySchemes?: { readonly bearer: { description: string } };
  };
  readonly paths: Readonly<Record<string, Operation & Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly parameters?: readonly Parameter[];
}

async function described(): Promise<Described> {
  const document: Described = JSON.parse(await (await fetch('/openapi.json')).text(), plainer);
  // What names the schema file says nothing to people.
  document.info.version = '';
  const { parameters, schemas, securitySchemes } = document.components;
  if (wasKnown && securitySchemes)
    securitySchemes.bearer.description = `You are signed in: requests are sent with your token in the place of ${PLACE}.`;
  leftOut(parameters);
  // Otherwise they would have everything in them that can be included.
  for (const [name, record] of samples(schemas)) schemas[name] = { ...schemas[name], examples: [record] };
  for (const item of Object.values(document.paths))
    for (const each of [item, ...Object.values(item)]) leftOut(each.parameters);
  return document;
}

createApiReference('#reference', {
  content: await described(),
  pathRouting: { basePath: HERE },
  // The document says `/`, which Scalar would put before paths that begin with one.
  servers: [{ url: location.origin }],
  // Everything that would talk to somebody else is off.
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
  persistAuth: false,
  // Whoever is signed in to the console is so here.
  ...(wasKnown && {
    authentication: {
      preferredSecurityScheme: 'bearer',
      securitySchemes: { bearer: { token: PLACE } },
    },
  }),
  hideDarkModeToggle: true,
  forceDarkModeState: isDark() ? 'dark' : 'light',
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  onLoaded: () => document.querySelector('.opening')?.remove(),
});
