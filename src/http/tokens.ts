/** Bearer tokens: proves a JWT and makes a caller of it. */

import { errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose';
import type { Caller } from '../engine/caller.ts';
import { KEY_SUBJECT } from '../engine/keys.ts';
import { unauthenticated } from './challenge.ts';
import { KeySet } from './key-set.ts';

/**
 * Fixed by what the operator has set up and never by the token: a key that is published must not be taken for the
 * secret of an HMAC, and `none` is no signature (RFC 8725, section 3.1).
 */
const PUBLISHED = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const SHARED = ['HS256'];
/** Seconds that clocks may differ by. */
const CLOCK_TOLERANCE = 5;

export interface TokenOptions {
  readonly trust: { readonly jwksUrl: string } | { readonly secret: string };
  readonly issuer: string | null;
  readonly audience: string | null;
}

export interface Proven {
  readonly caller: Caller;
  /** Milliseconds since 1970. */
  readonly expires: number;
}

/** Fails with UNAUTHENTICATED, or with UNAVAILABLE while nobody can tell. */
export type ProveToken = (token: string) => Promise<Proven>;

export function tokenProver({ trust, issuer, audience }: TokenOptions): ProveToken {
  const options: JWTVerifyOptions = {
    algorithms: 'secret' in trust ? SHARED : PUBLISHED,
    clockTolerance: CLOCK_TOLERANCE,
    requiredClaims: ['exp', 'sub'],
    ...(issuer !== null && { issuer }),
    ...(audience !== null && { audience }),
  };
  const verify = verifier(trust, options);
  return async (token) => {
    try {
      const { payload } = await verify(token);
      return { caller: callerOf(payload), expires: (payload.exp ?? 0) * 1000 };
    } catch (error) {
      throw error instanceof errors.JOSEError ? unauthenticated(reasonOf(error)) : error;
    }
  };
}

function verifier(trust: TokenOptions['trust'], options: JWTVerifyOptions) {
  if ('secret' in trust) {
    const secret = new TextEncoder().encode(trust.secret);
    return (token: string) => jwtVerify(token, secret, options);
  }
  const { keyOf } = new KeySet(trust.jwksUrl);
  return (token: string) => jwtVerify(token, keyOf, options);
}

function callerOf(claims: JWTPayload): Caller {
  const { sub } = claims;
  // What no database can keep can be nobody's name; and nobody is to pass for the holder of a key.
  if (!sub || sub.includes('\0') || !sub.isWellFormed() || sub.startsWith(KEY_SUBJECT))
    throw unauthenticated('The sub of the token is not acceptable');
  return { subject: sub, roles: rolesOf(claims), claims };
}

/** `roles`, or else `role`: an array, or names with spaces between them. */
function rolesOf(claims: JWTPayload): string[] {
  const said = claims['roles'] ?? claims['role'];
  const names = typeof said === 'string' ? said.split(' ') : said;
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string' && name !== '') : [];
}

/** In our own words: those of the token belong neither in headers nor in logs. */
function reasonOf(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'The token has expired';
  if (error instanceof errors.JWTClaimValidationFailed) {
    const known = ['iss', 'aud', 'exp', 'nbf', 'sub'].includes(error.claim) ? error.claim : 'content';
    return `The ${known} of the token is not acceptable`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return 'The algorithm of the token is not accepted';
  if (
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys
  )
    return 'The token is not signed with a known key';
  return 'The token is not a sound JWT';
}
