/** `/hooks/…`: routes of the deployment's own, which other services call. */

import { DuetError } from '../base/errors.ts';
import { begun } from '../engine/gone.ts';
import type { Api } from '../engine/logic/api.ts';
import type { HookRoute } from '../engine/logic/outside.ts';
import { type BodyLimits, readBody } from '../http/body.ts';
import { type Exchange, goneOf, type Handler, type Route } from '../http/exchange.ts';
import { problem } from '../http/problem.ts';

/** Each path with all of its methods. `deadline`: how many milliseconds a request may take. */
export function hookRoutes(
  routes: readonly HookRoute[],
  api: (path: readonly string[]) => Api,
  limits: BodyLimits,
  deadline: number,
): Route[] {
  const byPath = Map.groupBy(routes, ({ path }) => path);
  return [...byPath].map(([template, each]) => ({
    template,
    failed: problem,
    asMade: true,
    methods: new Map(each.map((route) => [route.method, handlerOf(route, api, limits, deadline)])),
  }));
}

function handlerOf(
  { method, path, run }: HookRoute,
  api: (path: readonly string[]) => Api,
  limits: BodyLimits,
  deadline: number,
): Handler {
  const name = `${method} ${path}`;
  return (exchange) =>
    readBody(exchange.request, limits, async (bytes) => {
      const signal = AbortSignal.any([exchange.request.signal, AbortSignal.timeout(deadline)]);
      const given = { api: api([name]), caller: exchange.caller, requestId: exchange.requestId, signal };
      const answer = await begun(goneOf(exchange), () => within(signal, run(whole(exchange, bytes), given)));
      if (!(answer instanceof Response)) throw new Error(`routes['${name}'] must answer with a Response`);
      // One that was fetched elsewhere could not be given our headers.
      return new Response(answer.body, answer);
    });
}

/** With its body, which was read within the limits. */
function whole({ request }: Exchange, bytes: Uint8Array): Request {
  const { url, method, headers } = request;
  return new Request(url, { method, headers, ...(bytes.length > 0 && { body: bytes.slice() }) });
}

/** Whoever waits for an answer does not wait for ever; the function learns of it by the same signal. */
function within(signal: AbortSignal, answer: unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () =>
      reject(new DuetError('OUTCOME_UNKNOWN', 'It took too long; what it was to do may have happened.')),
    );
    Promise.resolve(answer).then(resolve, reject);
  });
}
