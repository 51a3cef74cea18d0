/** The console at `/` and the files it is made of, as `build.ts` left them. */

import { DuetError } from '../base/errors.ts';
import { acceptsCoding } from '../http/accept.ts';
import type { Exchange, Route } from '../http/exchange.ts';
import { problem } from '../http/problem.ts';

/** No path of a resource begins with `_`. */
export const PREFIX = '/_console/';

/** What the page asks for the state of the schema file that is being worked on. */
export const FILE_STATE = `${PREFIX}file.json`;

/** Nothing comes from elsewhere, nothing goes elsewhere, and nothing that is written into a page runs. */
const STRICT = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self' data:",
  'font-src': "'self'",
  'connect-src': "'self'",
  'frame-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
};

/** GraphiQL and the API reference write styles into their pages: so they are documents of their own, in a frame. */
const FRAMED = {
  ...STRICT,
  'style-src': "'self' 'unsafe-inline'",
  'font-src': "'self' data:",
  'worker-src': "'self'",
  'frame-ancestors': "'self'",
};

const documents = new Map([
  ['/', { file: `${PREFIX}index.html`, policy: STRICT }],
  [`${PREFIX}graphiql`, { file: `${PREFIX}graphiql.html`, policy: FRAMED }],
  [`${PREFIX}reference`, { file: `${PREFIX}reference.html`, policy: FRAMED }],
]);

/** Undefined for paths that are not the console's. */
export function consoleRoute(path: string): Route | undefined {
  const document = documents.get(path);
  if (document) {
    const policy = Object.entries(document.policy).map(([name, value]) => `${name} ${value}`);
    const headers = { 'Content-Security-Policy': policy.join('; '), 'Cache-Control': 'private, no-cache' };
    return answering(path, (exchange) => served(document.file, exchange, headers));
  }
  if (!path.startsWith(PREFIX) || path.endsWith('.html')) return undefined;
  // The names of files say what is in them.
  const headers = { 'Cache-Control': 'public, max-age=31536000, immutable' };
  return answering(`${PREFIX}{file}`, (exchange) => served(path, exchange, headers));
}

function answering(template: string, handler: (exchange: Exchange) => Promise<Response>): Route {
  return { template, methods: new Map([['GET', handler]]), failed: problem };
}

async function served(
  url: string,
  { request }: Exchange,
  headers: Record<string, string>,
): Promise<Response> {
  const files = await built();
  const file = Object.hasOwn(files, url) ? files[url] : undefined;
  if (!file) throw new DuetError('NOT_FOUND', nothing(files));
  const told = {
    ...headers,
    'Content-Type': file.type,
    'Referrer-Policy': 'no-referrer',
    Vary: 'Accept-Encoding',
    'X-Content-Type-Options': 'nosniff',
  };
  const kept = Bun.file(file.path);
  if (acceptsCoding(request, 'gzip'))
    return new Response(kept, { headers: { ...told, 'Content-Encoding': 'gzip' } });
  return new Response(Bun.gunzipSync(await kept.bytes()), { headers: told });
}

function nothing(files: object): string {
  return Object.keys(files).length === 0
    ? 'The console is not built. `npm install && npm run console` builds it.'
    : 'There is nothing at this path.';
}

/** Read when somebody asks for it, so that it costs the start nothing. */
async function built() {
  try {
    return (await import('#console')).files;
  } catch {
    // Nobody has run the build here.
    return {};
  }
}
