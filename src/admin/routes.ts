/** `/_duet/`: what operators do over HTTP, with the role `admin`; where nobody is known, only from this very machine. */

import { DuetError } from '../base/errors.ts';
import type { Observe } from '../base/observe.ts';
import type { Choice, Told } from '../base/recent.ts';
import type { Soon } from '../base/soon.ts';
import { requireRole } from '../engine/caller.ts';
import type { Operator } from '../engine/operator.ts';
import { answer } from '../http/answer.ts';
import { type BodyLimits, parseJsonObject, readBody } from '../http/body.ts';
import type { Exchange, Found, Handler, Route } from '../http/exchange.ts';
import { isFromHere } from '../http/guard/loopback.ts';
import type { SignToken } from '../http/guard/tokens.ts';
import { problem } from '../http/problem.ts';
import type { Model } from '../schema/model.ts';
import { explainAccess, signToken, tellCaller } from './access.ts';
import { Input } from './input.ts';
import { changeJobs, listJobs } from './jobs.ts';
import { createKey, listKeys, revokeKey } from './keys.ts';
import * as webhooks from './webhooks.ts';

/** No path of a resource begins with `_`. */
const PREFIX = '/_duet/';
const ADMIN_ROLE = 'admin';

export interface AdminOptions {
  readonly model: Model;
  readonly operator: Operator;
  readonly limits: BodyLimits;
  readonly observe: Observe;
  /** Undefined where nothing is journaled, so that there is nothing to tell of. */
  readonly webhooks: Pick<webhooks.WebhookOptions, 'journal' | 'timeout'> | undefined;
  /** Whether callers are known at all. */
  readonly authentication: boolean;
  /** Undefined where the secret that tokens are signed with is not at hand. */
  readonly sign: SignToken | undefined;
  /** Of all processes behind the port. */
  readonly recent: () => Soon<Told>;
  /** From how many milliseconds on statements are slow; null where nobody measures. */
  readonly slow: number | null;
}

/** Who is not an operator learns nothing here, not even what is wrong with what he sends. */
export function adminRoutes(options: AdminOptions): (path: string) => Found | undefined {
  const { model, operator, limits, observe, authentication, sign, recent, slow } = options;
  const { keys } = operator;
  const routes = new Map<string, Route>();
  const add = (template: string, methods: Readonly<Record<string, Handler>>) =>
    routes.set(template, { template, methods: new Map(Object.entries(methods)), failed: problem });

  const isOperator = (exchange: Exchange) =>
    authentication
      ? exchange.caller.roles.includes(ADMIN_ROLE) && !isLooking(exchange)
      : isFromHere(exchange);
  const guarded =
    (handler: Handler): Handler =>
    (exchange) => {
      if (authentication) {
        requireRole(exchange.caller, ADMIN_ROLE);
        // Otherwise it could make the next one, or a key, and nobody would know for whom at first.
        if (isLooking(exchange)) throw new DuetError('FORBIDDEN', LOOKING);
      } else if (!isOperator(exchange)) throw new DuetError('FORBIDDEN', ELSEWHERE);
      return handler(exchange);
    };
  /** With parameters, and without a body. */
  const asked = (handler: (input: Input, exchange: Exchange) => Soon<Response>) =>
    guarded((exchange) => handler(Input.ofQuery(exchange), exchange));
  /** With a body of JSON, which no page of another origin can send without having been asked for it. */
  const sent = (handler: (input: Input, exchange: Exchange) => Soon<Response>) =>
    guarded((exchange) =>
      readBody(exchange.request, limits, (bytes) => {
        Input.ofQuery(exchange).end();
        return handler(Input.ofBody(parseJsonObject(exchange.request, bytes, limits)), exchange);
      }),
    );
  const plain = (handler: (exchange: Exchange) => Soon<Response>) =>
    asked((input, exchange) => {
      input.end();
      return handler(exchange);
    });

  add('/_duet/me', {
    GET: (exchange) => {
      const operates = isOperator(exchange);
      const may = {
        operates,
        signsTokens: operates && sign !== undefined,
        webhooks: operates && options.webhooks !== undefined,
      };
      return tellCaller(exchange.caller, { authentication, ...may });
    },
  });
  add('/_duet/keys', {
    GET: plain(() => listKeys(keys)),
    POST: sent((input) => createKey(keys, input)),
  });
  add('/_duet/keys/{id}', { DELETE: plain((exchange) => revokeKey(keys, exchange)) });
  add('/_duet/jobs', { GET: asked((input) => listJobs(operator, input)) });
  add('/_duet/jobs/retry', { POST: sent((input) => changeJobs((jobs) => operator.retry(jobs), input)) });
  add('/_duet/jobs/drop', { POST: sent((input) => changeJobs((jobs) => operator.drop(jobs), input)) });
  add('/_duet/migrations', {
    GET: plain(async () => answer(200, JSON.stringify(await operator.migrations()))),
  });
  add('/_duet/requests', {
    GET: asked(async (input) => {
      const choice = choiceIn(input);
      return answer(200, JSON.stringify((await recent())[choice]));
    }),
  });
  add('/_duet/statements', {
    GET: plain(async () => {
      const { statements } = await recent();
      return answer(200, JSON.stringify({ from: slow, statements }));
    }),
  });
  add('/_duet/access', { GET: asked((input) => explainAccess(model, limits, input)) });
  if (sign)
    add('/_duet/tokens', { POST: sent((input, exchange) => signToken(sign, exchange, observe, input)) });

  if (options.webhooks) {
    // Without authentication, whoever is served is at the machine itself.
    const told = { model, ...options.webhooks, allowsPrivate: !authentication };
    add('/_duet/webhooks', {
      GET: plain(() => webhooks.list(told)),
      POST: sent((input) => webhooks.add(told, input)),
    });
    add('/_duet/webhooks/{id}', { DELETE: plain((exchange) => webhooks.remove(told, exchange)) });
    for (const [verb, work] of Object.entries({
      test: webhooks.test,
      rotate: webhooks.rotate,
      replay: webhooks.replay,
    }))
      add(`/_duet/webhooks/{id}/${verb}`, { POST: sent((input, exchange) => work(told, input, exchange)) });
  }

  return (path) => {
    if (!path.startsWith(PREFIX)) return undefined;
    const route = routes.get(path);
    if (route) return { route, key: '' };
    const [, part, key = '', ...verb] = path.slice(1).split('/');
    const keyed = key === '' ? undefined : routes.get([`${PREFIX}${part}`, '{id}', ...verb].join('/'));
    return keyed && { route: keyed, key: decoded(key) };
  };
}

/** With the eyes of somebody else. */
function isLooking({ caller }: Exchange): boolean {
  return caller.claims['act'] !== undefined;
}

const LOOKING = 'This token looks with the eyes of somebody else: sign in as yourself.';

const ELSEWHERE =
  'Without authentication, operators are served on this machine alone: ask for http://localhost or http://127.0.0.1 on it, directly and not from a page of another origin; or set AUTH_SECRET, AUTH_JWKS_URL or AUTH_KEYS, and give the role "admin".';

function choiceIn(input: Input): Choice {
  const only = input.text('only');
  const isKnown = only === undefined || only === 'failed' || only === 'slow';
  if (!isKnown)
    input.fault('only', 'ENUM', 'only must be failed or slow; without it, these are the last ones');
  input.end();
  return isKnown && only !== undefined ? only : 'last';
}

/** What is not percent-encoded UTF-8 names nothing. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '\0';
  }
}
