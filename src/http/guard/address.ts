/** The address of a client, behind whatever proxies the operator trusts. */

import { BlockList, isIP } from 'node:net';
import type { Attendant } from '../sockets.ts';

export interface Network {
  readonly address: string;
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** `10.0.0.0/8, ::1`; undefined when any of them is none. */
export function readNetworks(text: string): readonly Network[] | undefined {
  const networks = text.split(',').map((part) => readNetwork(part.trim()));
  return networks.every((network) => network !== undefined) ? networks : undefined;
}

function readNetwork(text: string): Network | undefined {
  const [address = '', bits, ...more] = text.split('/');
  const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
  const longest = family === 'ipv4' ? 32 : 128;
  const prefix = bits === undefined ? longest : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
  return isIP(address) !== 0 && more.length === 0 && prefix <= longest
    ? { address, prefix, family }
    : undefined;
}

/** What `Bun.serve` hands to its handler beside the request. */
export interface Connections {
  requestIP(request: Request): { readonly address: string } | null;
  /** Takes a request for a WebSocket on. */
  upgrade?(
    request: Request,
    options: { readonly data: Attendant; readonly headers: Readonly<Record<string, string>> },
  ): boolean;
}

/** Tells whom a request comes from; `''` when nobody can. */
export function addressReader(
  proxies: readonly Network[],
): (request: Request, connections: Connections | undefined) => string {
  const trusted = new BlockList();
  for (const { address, prefix, family } of proxies) trusted.addSubnet(address, prefix, family);
  const isTrusted = (address: string) => trusted.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
  // Requests come in a row from one place, above all where that is a proxy.
  let [lastSeen, lastNear] = ['', ''];
  const neighbour = (seen: string): string => {
    if (seen !== lastSeen) [lastSeen, lastNear] = [seen, plain(seen)];
    return lastNear;
  };
  return (request, connections) => {
    const near = neighbour(connections?.requestIP(request)?.address ?? '');
    if (proxies.length === 0) return near;
    const told = request.headers.get('X-Forwarded-For');
    if (told === null || near === '' || !isTrusted(near)) return near;
    // Each proxy adds whom it has seen on the right: what stands left of the first stranger, the stranger has made up.
    let client = near;
    for (const hop of told.split(',').reverse()) {
      const address = plain(hop.trim());
      if (address === '') break;
      client = address;
      if (!isTrusted(address)) break;
    }
    return client;
  };
}

/** Without port, brackets and zone, IPv4 as itself; `''` when it is no address. */
function plain(text: string): string {
  const bare = text.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1');
  const address = bare.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  return isIP(address) === 0 ? '' : address;
}

/** Who counts as one: a network of IPv6 gives each of its customers at least 2^64 addresses, a /64. */
export function grouped(address: string): string {
  if (isIP(address) !== 6) return address;
  // The URL parser writes every address in one way only.
  const canonical = URL.parse(`http://[${address}]`)?.hostname.slice(1, -1) ?? address;
  const [before = '', after] = canonical.split('::');
  const left = before === '' ? [] : before.split(':');
  const right = after ? after.split(':') : [];
  const groups =
    after === undefined ? left : [...left, ...Array(8 - left.length - right.length).fill('0'), ...right];
  return `${groups.slice(0, 4).join(':')}::/64`;
}
