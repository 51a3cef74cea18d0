/** Request → Caller: by a token, by an API key, or anonymous. */

import { DuetError } from '../../base/errors.ts';
import { Lru } from '../../base/lru.ts';
import type { Metrics } from '../../base/metrics.ts';
import { type ApiKeys, KEY_PREFIX } from '../../engine/api-keys.ts';
import { anonymous, type Caller } from '../../engine/caller.ts';
import { CHALLENGE, unauthenticated } from './challenge.ts';
import type { ProveToken } from './tokens.ts';

/** To prove a signature costs more than to read a record, and clients send the same token again and again. */
const KEPT_CALLERS = 1000;
/** A key that its issuer has withdrawn must not live on in here. */
const TOKEN_TRUST_MS = 60_000;
/** How long a revoked key may still work, on any node. */
const KEY_TRUST_MS = 2000;
/** Longer ones are nobody's: they would only fill the memory. */
const LONGEST_TOKEN = 8192;

export type Authenticate = (request: Pick<Request, 'headers'>) => Caller | Promise<Caller>;

interface Known {
  readonly caller: Caller;
  /** Milliseconds since 1970. */
  readonly until: number;
}

/** `proveToken` is undefined where API keys alone are accepted. */
export function authenticator(
  keys: ApiKeys,
  proveToken: ProveToken | undefined,
  metrics: Metrics,
): Authenticate {
  const known = new Lru<string, Known>(KEPT_CALLERS);
  metrics.addCache('callers', known);

  const prove = async (header: string): Promise<Caller> => {
    const credential = credentialOf(header);
    const found = credential.startsWith(KEY_PREFIX)
      ? await proveKey(keys, credential)
      : await provenToken(proveToken, credential);
    // Only what was proven is kept, so nobody can push others out without credentials of his own.
    known.set(header, found);
    return found.caller;
  };

  return ({ headers }) => {
    const header = headers.get('Authorization');
    if (header === null) return anonymous;
    const found = known.get(header);
    if (found && found.until > Date.now()) return found.caller;
    return prove(header);
  };
}

async function proveKey(keys: ApiKeys, key: string): Promise<Known> {
  const caller = await keys.holder(key);
  if (!caller) throw unauthenticated('The API key is not known');
  return { caller, until: Date.now() + KEY_TRUST_MS };
}

async function provenToken(prove: ProveToken | undefined, token: string): Promise<Known> {
  if (!prove) throw unauthenticated('Only API keys are accepted');
  const { caller, expires } = await prove(token);
  return { caller, until: Math.min(expires, Date.now() + TOKEN_TRUST_MS) };
}

/** Several headers arrive as one with commas, which no credential has. */
function credentialOf(header: string): string {
  if (header.length > LONGEST_TOKEN) throw unauthenticated(`The token is longer than ${LONGEST_TOKEN} bytes`);
  if (!/^bearer\b/i.test(header))
    throw new DuetError('UNAUTHENTICATED', 'Authorization must be Bearer, with a token or an API key.', {
      headers: { [CHALLENGE]: 'Bearer' },
    });
  const [, credential] = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i.exec(header) ?? [];
  if (credential === undefined) throw unauthenticated('Authorization must be Bearer and one token');
  return credential;
}
