/** The console at `/` and the files it is made of, as `build.ts` left them. */

import { brotliDecompressSync } from 'node:zlib';
import { DuetError } from '../base/errors.ts';
import { preferredCoding } from '../http/accept.ts';
import type { Exchange, Route } from '../http/exchange.ts';
import { problem } from '../http/problem.ts';
import type { Model } from '../schema/model.ts';
import { SCRIPT_HASH, withFirstScreen } from './first-screen.ts';

/** As small as can be, which takes five times as long: so each file is compressed once. */
const ZIPPED = { level: 12, library: 'libdeflate' } as const;

/** Files as they go to those who take no Brotli, by their addresses. */
const zipped = new Map<string, Uint8Array<ArrayBuffer>>();

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
  [
    '/',
    {
      file: `${PREFIX}index.html`,
      policy: { ...STRICT, 'script-src': `${STRICT['script-src']} '${SCRIPT_HASH}'` },
    },
  ],
  [`${PREFIX}graphiql`, { file: `${PREFIX}graphiql.html`, policy: FRAMED }],
  [`${PREFIX}reference`, { file: `${PREFIX}reference.html`, policy: FRAMED }],
]);

/** What finds them; undefined for paths that are not the console's. Without a model, there is nothing to show before the script does. */
export function consoleRoutes(model: Model | undefined): (path: string) => Route | undefined {
  /** Made when somebody asks for it. */
  let first: Uint8Array<ArrayBuffer> | undefined;
  const firstScreen = async (file: BuiltFile) => {
    first ??= Buffer.from(withFirstScreen((await plain(file)).toString(), model));
    return first;
  };
  return (path) => {
    const document = documents.get(path);
    if (document) {
      const policy = Object.entries(document.policy).map(([name, value]) => `${name} ${value}`);
      const headers = { 'Content-Security-Policy': policy.join('; '), 'Cache-Control': 'private, no-cache' };
      const make = path === '/' ? firstScreen : undefined;
      return answering(path, (exchange) => served(document.file, exchange, headers, make));
    }
    if (!path.startsWith(PREFIX) || path.endsWith('.html')) return undefined;
    // The names of files say what is in them.
    const headers = { 'Cache-Control': 'public, max-age=31536000, immutable' };
    return answering(`${PREFIX}{file}`, (exchange) => served(path, exchange, headers));
  };
}

function answering(template: string, handler: (exchange: Exchange) => Promise<Response>): Route {
  return { template, methods: new Map([['GET', handler]]), failed: problem };
}

/** `make`: what is sent instead of the file, made of it. */
async function served(
  url: string,
  { request }: Exchange,
  headers: Record<string, string>,
  make?: (file: BuiltFile) => Promise<Uint8Array<ArrayBuffer>>,
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
  // Over plain HTTP, browsers take no Brotli but from the machine itself.
  const coding = preferredCoding(request, make ? ['gzip'] : [file.coding, 'gzip']);
  if (coding === file.coding && !make)
    return new Response(Bun.file(file.path), { headers: { ...told, 'Content-Encoding': coding } });
  const known = coding && zipped.get(url);
  const bytes = known ?? (await (make ?? plain)(file));
  if (!coding) return new Response(bytes, { headers: told });
  const body = known ?? Bun.gzipSync(bytes, ZIPPED);
  if (!make) zipped.set(url, body);
  return new Response(body, { headers: { ...told, 'Content-Encoding': coding } });
}

async function plain({ coding, path }: BuiltFile): Promise<Buffer<ArrayBuffer>> {
  const bytes = await Bun.file(path).bytes();
  return coding === 'br' ? brotliDecompressSync(bytes) : Buffer.from(Bun.gunzipSync(bytes));
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
