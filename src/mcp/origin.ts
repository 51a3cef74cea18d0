/** Whose pages may call, and where tokens come from: what a client must know before its first call. */

import { DuetError } from '../base/errors.ts';
import { answer } from '../http/answer.ts';
import type { Handler } from '../http/exchange.ts';
import { isLoopback } from '../http/guard/loopback.ts';

export const MCP_PATH = '/mcp';
export const METADATA_PATH = '/.well-known/oauth-protected-resource';

/**
 * Refuses pages that nobody has named. A name that an attacker owns can be made to lead to this machine, and then the
 * origin of his page is that of the server: its own origin does only where the name cannot be anybody's.
 */
export function refuseStrangers({ url, headers }: Request, origins: readonly string[] | null): void {
  const origin = headers.get('Origin');
  if (origin === null || origins?.includes('*') || origins?.includes(origin)) return;
  const own = URL.parse(url);
  if (own && own.origin === origin && isLoopback(own.hostname)) return;
  throw new DuetError('FORBIDDEN', 'Pages of this origin may not call: CORS_ORIGINS names those that may.');
}

/** As the client sees it: before a proxy that ends TLS, it is the scheme alone that differs. */
function originOf({ url, headers }: Request): string {
  // A client of HTTP/1.0 may name no host.
  const { origin = '' } = URL.parse(url) ?? {};
  return headers.get('X-Forwarded-Proto') === 'https' ? origin.replace(/^http:/, 'https:') : origin;
}

/** Adds to a challenge where the metadata is (RFC 9728, section 5.1). */
export function withMetadata(challenge: string | undefined, request: Request): string {
  const parameter = `resource_metadata="${originOf(request)}${METADATA_PATH}"`;
  return challenge === undefined || challenge === 'Bearer'
    ? `Bearer ${parameter}`
    : `${challenge}, ${parameter}`;
}

/** RFC 9728, section 2. */
export function metadata(issuer: string | null): Handler {
  return ({ request }) =>
    answer(
      200,
      JSON.stringify({
        resource: `${originOf(request)}${MCP_PATH}`,
        ...(issuer !== null && { authorization_servers: [issuer] }),
        bearer_methods_supported: ['header'],
      }),
    );
}
