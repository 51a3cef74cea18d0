/** What a request says of its own message, and what of that is refused before anything is done (RFC 9112). */

import { DuetError, type Fault, validationFailed } from '../base/errors.ts';

const HOST = /^(?:\[[\w.~!$&'()*+,;=:%-]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/;

/** As the last request had it: most come to the same name. */
let sound = '';

/** Whether the connection ends with this exchange, as the client wants it (RFC 9112, section 9.6). */
export function closes({ headers, url }: Request): boolean {
  const options = headers.get('Connection');
  if (options !== null && /(?:^|,)\s*close\s*(?:,|$)/i.test(options)) return true;
  // Only HTTP/1.0 does without a Host, and the runtime keeps none of its connections.
  return url.startsWith('/') && !headers.has('Host');
}

/** What was found out about the message before it was handled. */
interface Found {
  readonly closing: boolean;
  readonly hasTrailers: boolean;
}

export function refuseUnsound({ method, headers }: Request, { closing, hasTrailers }: Found): void {
  const host = headers.get('Host') ?? '';
  if (host !== sound) {
    // Two of them arrive as one with a comma and a space. Who looks at the first and who looks at the last would take
    // the request for two different ones (section 3.2).
    if (!HOST.test(host)) throw refused(HOSTS);
    sound = host;
  }
  if (hasTrailers) throw refused(TRAILERS);
  // The runtime hides such a body from us, and closes without having read it: the system then throws away what is still
  // on its way to the client, so that a long answer would break off.
  if (closing && method === 'GET' && announcesBody(headers)) throw refused(UNREADABLE);
}

function announcesBody(headers: Headers): boolean {
  return headers.has('Transfer-Encoding') || Number(headers.get('Content-Length') ?? 0) > 0;
}

/**
 * The runtime answers 400 by itself when trailers arrive, and by then the body has been read and acted upon. They come after
 * a body, of which a GET has none that is read.
 */
export function announcesTrailers({ method, headers }: Request): boolean {
  return method !== 'GET' && headers.has('Trailer');
}

const HOSTS: Fault = {
  parameter: 'Host',
  code: 'FORMAT',
  detail: 'Host must be there once, as a name or an address, with or without a port',
};
const TRAILERS: Fault = {
  parameter: 'Trailer',
  code: 'UNKNOWN',
  detail: 'trailers are not taken; send everything in the headers or in the body',
};
const UNREADABLE: Fault = {
  parameter: 'Connection',
  code: 'UNKNOWN',
  detail: 'Connection: close does not go with a GET that has a body; leave one of the two out',
};

/** What follows on such a connection is not to be trusted. */
function refused(fault: Fault): DuetError {
  const { code, message, errors } = validationFailed([fault]);
  return new DuetError(code, message, { ...(errors && { errors }), headers: { Connection: 'close' } });
}
