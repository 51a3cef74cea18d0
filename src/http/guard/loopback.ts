/** Whether a request comes from a person or program on this very machine, and not from a page that uses one as its way in. */

import type { Exchange } from '../exchange.ts';
import { addressReader } from './address.ts';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Names that cannot be anybody else's: any other could be made to lead to this machine. `hostname` is that of a URL. */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.test(hostname);
}

const neighbour = addressReader([]);

/** A proxy on this machine asks on behalf of everybody. Each has its own word for whom: X-Real-IP, CF-Connecting-IP, X-Envoy-External-Address. */
const FORWARDED = /^(via|cdn-loop|(x-.*)?forwarded.*|.*-(client)?(ip|addr|address))$/i;

/**
 * By its address, by the name that it asks for (a page of a name that was made to lead here names itself in `Host`), and by
 * whose page it comes from, if it does from one. Where nobody can tell, it does not. A host in the target itself, as proxies are
 * asked, would go before `Host` (RFC 9112, section 3.2.2), but the runtime does not tell it. Browsers name the same in both.
 */
export function isFromHere({ request, connections }: Pick<Exchange, 'request' | 'connections'>): boolean {
  const { url, headers } = request;
  const own = URL.parse(url);
  const address = neighbour(request, connections);
  const isNear = isLoopback(address.includes(':') ? `[${address}]` : address);
  if (
    !own ||
    !isNear ||
    !isLoopback(own.hostname) ||
    [...headers.keys()].some((name) => FORWARDED.test(name))
  )
    return false;
  const origin = headers.get('Origin');
  const site = headers.get('Sec-Fetch-Site');
  return (origin === null || origin === own.origin) && (site === null || SAME.has(site));
}

/** `none`: somebody has typed the address. */
const SAME = new Set(['same-origin', 'none']);
