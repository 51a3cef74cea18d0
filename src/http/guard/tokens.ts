/** Bearer tokens: proves a JWT and makes a caller of it. */

import { errors, type JWTPayload, type JWTVerifyOptions, jwtVerify, SignJWT } from 'jose';
import { KEY_SUBJECT } from '../../engine/api-keys.ts';
import type { Caller } from '../../engine/caller.ts';
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
  readonly closed: AbortSignal;
}

export interface Proven {
  readonly caller: Caller;
  /** Milliseconds since 1970. */
  readonly expires: number;
}

/** Fails with UNAUTHENTICATED, or with UNAVAILABLE while nobody can tell. */
export type ProveToken = (token: string) => Promise<Proven>;

export function tokenProver(given: TokenOptions): ProveToken {
  const { trust, issuer, audience } = given;
  const options: JWTVerifyOptions = {
    algorithms: 'secret' in trust ? SHARED : PUBLISHED,
    clockTolerance: CLOCK_TOLERANCE,
    requiredClaims: ['exp', 'sub'],
    ...(issuer !== null && { issuer }),
    ...(audience !== null && { audience }),
  };
  const verify = verifier(given, options);
  return async (token) => {
    if (!token.split('.').every(isCanonical)) throw unauthenticated(UNSOUND);
    try {
      const { payload } = await verify(token);
      return { caller: callerOf(payload), expires: (payload.exp ?? 0) * 1000 };
    } catch (error) {
      throw error instanceof errors.JOSEError ? unauthenticated(reasonOf(error)) : error;
    }
  };
}

function verifier({ trust, closed }: TokenOptions, options: JWTVerifyOptions) {
  if ('secret' in trust) {
    const secret = new TextEncoder().encode(trust.secret);
    return (token: string) => jwtVerify(token, secret, options);
  }
  const { keyOf } = new KeySet(trust.jwksUrl, closed);
  return (token: string) => jwtVerify(token, keyOf, options);
}

/**
 * Without padding, and with zeros in the bits that no byte needs (RFC 7515, section 2; RFC 4648, section 3.5): a token that
 * can be spelt in many ways gets past whoever keeps a list of those that were withdrawn.
 */
function isCanonical(part: string): boolean {
  return Buffer.from(part, 'base64url').toString('base64url') === part;
}

/** The library judges `exp`, `nbf` and `iat`, and that `iss` and `aud` name who is expected. */
function callerOf(claims: JWTPayload): Caller {
  // An issuer can sign any JSON, whatever the types of the library say.
  const { sub, aud }: { sub?: unknown; aud?: unknown } = claims;
  if (!isSubject(sub)) throw unacceptable('sub');
  if (Array.isArray(aud) && !aud.every(isText)) throw unacceptable('aud');
  // JSON can say 1e300, which is no date.
  if (Number.isNaN(new Date(Number(claims.exp) * 1000).getTime())) throw unacceptable('exp');
  return { subject: sub, roles: rolesOf(claims), claims };
}

/** What no database can keep can be nobody's name; and nobody is to pass for the holder of a key. */
export function isSubject(sub: unknown): sub is string {
  return (
    isText(sub) && sub !== '' && !sub.includes('\0') && sub.isWellFormed() && !sub.startsWith(KEY_SUBJECT)
  );
}

export type SignToken = (claims: JWTPayload, expires: Date) => Promise<string>;

/** Makes tokens that `tokenProver` takes, where the secret is at hand. */
export function tokenSigner(
  secret: string,
  { issuer, audience }: Pick<TokenOptions, 'issuer' | 'audience'>,
): SignToken {
  const key = new TextEncoder().encode(secret);
  return (claims, expires) => {
    const whole = {
      ...claims,
      ...(issuer !== null && { iss: issuer }),
      ...(audience !== null && { aud: audience }),
    };
    return new SignJWT(whole).setProtectedHeader({ alg: 'HS256' }).setExpirationTime(expires).sign(key);
  };
}

/** `roles`, or else `role`: an array, or names with spaces between them. Null is none. */
function rolesOf(claims: JWTPayload): string[] {
  const names = ['roles', 'role'].map((claim) => {
    const said = claims[claim] ?? undefined;
    const list = isText(said) ? said.split(' ') : said;
    if (list === undefined || (Array.isArray(list) && list.every(isText))) return list;
    throw unacceptable(claim);
  });
  return (names[0] ?? names[1] ?? []).filter((name) => name !== '');
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function unacceptable(claim: string) {
  return unauthenticated(`The ${claim} of the token ${claim === 'roles' ? 'are' : 'is'} not acceptable`);
}

const UNSOUND = 'The token is not a valid JWT';

/** In our own words: those of the token belong neither in headers nor in logs. */
function reasonOf(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'The token has expired';
  if (error instanceof errors.JWTClaimValidationFailed) {
    const known = ['iss', 'aud', 'exp', 'nbf', 'iat', 'sub'].includes(error.claim) ? error.claim : 'content';
    return `The ${known} of the token is not acceptable`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return 'The algorithm of the token is not accepted';
  if (
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys
  )
    return 'The token is not signed with a known key';
  return UNSOUND;
}
