/** Where a name leads, so that webhooks reach nothing on the inside of a network by mistake or by malice. */

import { promises as dns } from 'node:dns';
import { BlockList, isIP } from 'node:net';

/** As the special-purpose registries of IANA have them: private, shared, link-local (where clouds tell secrets), and the like. */
const special = new BlockList();
for (const network of [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15'],
  ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  // Those that stand for an address of the other kind, and what is for documents.
  ...['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
]) {
  const [address = '', bits] = network.split('/');
  special.addSubnet(address, Number(bits), isIP(address) === 4 ? 'ipv4' : 'ipv6');
}
/** All of IPv6 that is given to anybody. */
const global = new BlockList();
global.addSubnet('2000::', 3, 'ipv6');

export function isPublic(address: string): boolean {
  if (isIP(address) === 4) return !special.check(address, 'ipv4');
  return global.check(address, 'ipv6') && !special.check(address, 'ipv6');
}

/**
 * The addresses that one may connect to. The connection must be made to one of these, not to the name: that could lead
 * elsewhere a moment later.
 */
export async function allowedAddresses({ hostname }: URL, allowsPrivate: boolean): Promise<string[]> {
  const name = hostname.replace(/^\[|\]$/g, '');
  const found = (await dns.lookup(name, { all: true })).map(({ address }) => address);
  const allowed = allowsPrivate ? found : found.filter(isPublic);
  if (allowed.length === 0) throw new NotAllowed(name, found);
  return allowed;
}

export class NotAllowed extends Error {
  constructor(name: string, found: readonly string[]) {
    // Not which: names of a network are known to those within.
    const where = found.includes(name) ? `${name} is` : `${name} leads to`;
    super(`${where} no public address, and the webhook is not for a receiver inside this network`);
  }
}
