/** What is looked at in every request: the parts of its URL, and its id. */

/** What URLs begin with, as the last one did: most are asked for by the same name. */
let origin = '';

const [SLASH, MARK, HASH] = ['/', '?', '#'].map((char) => char.charCodeAt(0));

/** The path without one trailing slash, and the query; by hand, because URL would also repair what is wrong. */
export function split(url: string): { path: string; query: string } {
  if (!(url.startsWith(origin) && url.charCodeAt(origin.length) === SLASH))
    // Without a sound Host header (HTTP/1.0 needs none) there is nothing before the path.
    origin = url.startsWith('/') ? '' : url.slice(0, url.indexOf('/', url.indexOf('://') + 3));
  const start = origin.length;
  let [mark, end] = [-1, start];
  for (; end < url.length; end++) {
    const char = url.charCodeAt(end);
    if (char === HASH) break;
    if (char === MARK && mark === -1) mark = end;
  }
  const pathEnd = mark === -1 ? end : mark;
  // `//` is not the root with a trailing slash: it has an empty segment.
  const isTrailing = pathEnd - start > 2 && url.charCodeAt(pathEnd - 1) === SLASH;
  const path = url.slice(start, isTrailing ? pathEnd - 1 : pathEnd);
  return { path, query: mark === -1 ? '' : url.slice(mark + 1, end) };
}

/** A client's own id is kept when it can do no harm in headers and logs. */
export function requestIdOf(request: Request): string {
  const given = request.headers.get('X-Request-Id');
  if (given !== null && /^[A-Za-z0-9._-]{1,128}$/.test(given)) return given;
  return PROCESS + ++requests;
}

/** Unlike those of other processes; what tells requests apart is their number. */
const PROCESS = `${crypto.randomUUID().replaceAll('-', '').slice(0, 16)}-`;
let requests = 0;
