/** What guards an application, as its settings say: who asks, what it costs, and how often that may be. */

import type { Metrics } from '../base/metrics.ts';
import { hasAuthentication } from '../config/config.ts';
import { ApiKeys } from '../engine/api-keys.ts';
import type { Found } from '../http/exchange.ts';
import { type Authenticate, authenticator } from '../http/guard/authenticate.ts';
import { RateLimits, WRITE_COST } from '../http/guard/rate-limits.ts';
import { SharedLimits } from '../http/guard/shared-limits.ts';
import { tokenProver } from '../http/guard/tokens.ts';
import type { AppOptions } from './options.ts';

/** Undefined when nothing is limited. */
export function rateLimits({ config, observe }: AppOptions, closed: AbortSignal): RateLimits | undefined {
  const { rateLimitAddress: address, rateLimitCaller: caller, redisUrl, workers: processes } = config;
  if (!address && !caller) return undefined;
  const tell = (message: string) => observe({ event: 'notice', message });
  const shared = redisUrl === null ? undefined : new SharedLimits(redisUrl, tell, closed);
  return new RateLimits({ address, caller, processes, shared });
}

/** Where a request tells later what it is. */
const told = new Set(['/graphql', '/mcp']);

/** What is known of the cost before anything is read. */
export function costOf({ method }: Request, found: Found | undefined): number {
  const writes = method === 'POST' || method === 'PUT' || method === 'DELETE';
  return writes && found && !told.has(found.route.template) ? WRITE_COST : 1;
}

/** Undefined when there is none: then everybody is anonymous. */
export function authentication(
  { config, storage }: AppOptions,
  closed: AbortSignal,
  metrics: Metrics,
): Authenticate | undefined {
  const { authJwksUrl: jwksUrl, authSecret: secret, authIssuer: issuer, authAudience: audience } = config;
  if (!hasAuthentication(config)) return undefined;
  const trust = jwksUrl !== null ? { jwksUrl } : secret !== null && { secret };
  return authenticator(
    new ApiKeys(storage),
    trust ? tokenProver({ trust, issuer, audience, closed }) : undefined,
    metrics,
  );
}
