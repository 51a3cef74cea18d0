/** `/_duet/me`, `/_duet/access` and `/_duet/tokens`: who one is, what others may do, and a way to look with their eyes. */

import type { Claims } from '../access/claims.ts';
import { explain } from '../access/explain.ts';
import type { Observe } from '../base/observe.ts';
import type { Caller } from '../engine/caller.ts';
import { answer } from '../http/answer.ts';
import { type BodyLimits, nestsDeeperThan } from '../http/body.ts';
import type { Exchange } from '../http/exchange.ts';
import { isSubject, type SignToken } from '../http/guard/tokens.ts';
import type { Model } from '../schema/model.ts';
import type { Input } from './input.ts';

/** Tells nothing that the caller does not know: it is what a page asks before it offers anything. */
export function tellCaller({ subject, roles, claims }: Caller, more: object): Response {
  const { exp } = claims;
  // An API key ends when it is revoked.
  const until = typeof exp === 'number' ? new Date(exp * 1000).toISOString() : null;
  return answer(200, JSON.stringify({ subject: subject ?? null, roles, until, ...more }));
}

/** `?role=editor&role=writer&claims={"sub":"ann"}`; without both, of somebody whom nobody knows. */
export function explainAccess(model: Model, { jsonDepth }: BodyLimits, input: Input): Response {
  const roles = input.texts('role');
  const text = input.text('claims');
  const claims = text === undefined || nestsDeeperThan(text, jsonDepth) ? undefined : objectIn(text);
  if (text !== undefined && !claims)
    input.fault('claims', 'TYPE', `claims must be a JSON object of at most ${jsonDepth} levels`);
  if (roles.includes('')) input.fault('role', 'FORMAT', 'role must name one');
  input.end();
  return answer(200, JSON.stringify(explain(model, roles, claims && { ...claims, roles })));
}

function objectIn(text: string): Claims | undefined {
  try {
    const value = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Long enough to look at something, too short to be worth keeping. */
const TOKEN_MS = 10 * 60 * 1000;
/** What is longer is not taken back as a token. */
const LONGEST_CLAIMS = 4000;
/** What says whose token it is and how long it holds (RFC 7519, section 4.1; RFC 8693, section 4.1). */
const OWN = ['iss', 'aud', 'sub', 'exp', 'nbf', 'iat', 'jti', 'act', 'roles', 'role'];

/** A token of somebody else, no longer than one's own, which names in `act` who asked for it; the log does too. */
export async function signToken(
  sign: SignToken,
  { caller, requestId }: Exchange,
  observe: Observe,
  input: Input,
): Promise<Response> {
  const subject = input.value('subject');
  const roles = input.texts('roles');
  const claims = input.value('claims') ?? {};
  if (subject === undefined) input.fault('subject', 'REQUIRED', 'subject is required');
  else if (!isSubject(subject))
    input.fault('subject', 'FORMAT', 'subject must be a text, and not that of an API key');
  if (!isObject(claims)) input.fault('claims', 'TYPE', 'claims must be an object');
  else if (OWN.some((name) => Object.hasOwn(claims, name)))
    input.fault('claims', 'UNKNOWN', `claims must not have ${OWN.join(', ')}`);
  else if (JSON.stringify([claims, roles, subject]).length > LONGEST_CLAIMS)
    input.fault(
      'claims',
      'LENGTH',
      `claims, roles and subject must have ${LONGEST_CLAIMS} characters at the most`,
    );
  input.end();
  const { exp } = caller.claims;
  const until = new Date(Math.min(Date.now() + TOKEN_MS, typeof exp === 'number' ? exp * 1000 : Infinity));
  const act = { sub: caller.subject };
  const token = await sign({ ...(claims as Claims), sub: String(subject), roles, act }, until);
  const whose = `${JSON.stringify(subject)} with the roles ${JSON.stringify(roles)}`;
  observe({
    event: 'notice',
    message: `${JSON.stringify(caller.subject)} was given a token of ${whose} until ${until.toISOString()} (request ${requestId})`,
  });
  return answer(201, JSON.stringify({ token, until: until.toISOString() }));
}

function isObject(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
