/** The API reference, made from the OpenAPI document, in a document of its own. */

import { createApiReference } from '@scalar/api-reference';
// As it is: the bundler's reader of styles is stricter than browsers are.
import styles from '@scalar/api-reference/style.css' with { type: 'file' };
import { headers, isDark } from './frame.ts';

const bare = window.fetch.bind(window);

/** Calls are made for whoever uses the console; this document makes no others. */
function fetchAsCaller(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init);
  for (const [name, value] of Object.entries(headers())) request.headers.set(name, value);
  return bare(request);
}

window.fetch = fetchAsCaller;

const sheet = document.createElement('link');
sheet.rel = 'stylesheet';
sheet.href = styles;
document.head.append(sheet);

createApiReference('#reference', {
  url: '/openapi.json',
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
  // Whoever is signed in to the console is so here; commands that are copied have the place of the token, not the token.
  ...(headers()['Authorization'] !== undefined && {
    authentication: {
      preferredSecurityScheme: 'bearer',
      securitySchemes: { bearer: { token: '$TOKEN' } },
    },
  }),
  hideDarkModeToggle: true,
  forceDarkModeState: isDark() ? 'dark' : 'light',
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  onLoaded: () => document.querySelector('.opening')?.remove(),
});
