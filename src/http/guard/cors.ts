/** Which pages of other origins may call (the CORS protocol of the Fetch standard). */

const REQUEST_HEADERS =
  'Authorization, Content-Type, Duet-Position, If-Match, If-None-Match, Idempotency-Key, X-Request-Id';
const EXPOSED_HEADERS =
  'Deprecation, Duet-Position, ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id, X-Total-Count';
/** How long a browser may go by a preflight: seconds. */
const MAX_AGE = '600';

/** Whether a page of another origin asks that nobody has named. Behind a proxy that ends TLS, only the scheme is another. */
export function isForeign({ headers }: Request, origins: readonly string[] | null): boolean {
  const origin = headers.get('Origin');
  if (origin === null || origins?.includes('*') || origins?.includes(origin)) return false;
  return URL.parse(origin)?.host !== headers.get('Host');
}

/** `more` headers than the usual ones may be sent. Adds to an answer what lets the page read it. Nobody is refused here: it is the browser that keeps pages apart. */
export function cors(
  origins: readonly string[],
  more: readonly string[],
): (request: Request, response: Response) => void {
  const everybody = origins.includes('*');
  const allowed = new Set(origins);
  const requestHeaders = [REQUEST_HEADERS, ...more].join(', ');
  return ({ method, headers: asked }, { headers, status }) => {
    // What is kept for one origin must not be given to another.
    if (!everybody) headers.append('Vary', 'Origin');
    const origin = asked.get('Origin');
    if (origin === null || !(everybody || allowed.has(origin))) return;
    headers.set('Access-Control-Allow-Origin', everybody ? '*' : origin);
    if (method !== 'OPTIONS' || status !== 204 || !asked.has('Access-Control-Request-Method')) {
      headers.set('Access-Control-Expose-Headers', EXPOSED_HEADERS);
      return;
    }
    headers.set('Access-Control-Allow-Methods', headers.get('Allow') ?? '');
    headers.set('Access-Control-Allow-Headers', requestHeaders);
    headers.set('Access-Control-Max-Age', MAX_AGE);
  };
}
