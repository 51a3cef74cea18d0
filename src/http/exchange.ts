/** A request on its way through the server, and the table of methods that a path answers. */

import { DuetError } from '../base/errors.ts';
import type { Soon } from '../base/soon.ts';
import type { Caller } from '../engine/caller.ts';
import type { Gone } from '../engine/gone.ts';
import type { Seat } from '../engine/journal/live.ts';
import { answerWithoutBody } from './answer.ts';
import type { Connections } from './guard/address.ts';

export interface Exchange {
  readonly request: Request;
  /** Tells where the request comes from, to those who ask; undefined where nobody can. */
  readonly connections?: Connections | undefined;
  readonly requestId: string;
  readonly caller: Caller;
  /** The decoded path parameter, where the path has one. */
  readonly key: string;
  /** Told what was really wrong where an answer cannot or must not say it. */
  readonly failed: (cause: unknown) => void;
  /** Everything after the `?`, or an empty string. */
  readonly query: string;
  /** Told what the request costs beyond its first unit, where somebody counts. */
  readonly spend?: ((units: number) => void) | undefined;
  /** Takes an answer that is kept up to date, where it shares a stream with others. */
  readonly seated?: ((seat: Seat) => Response) | undefined;
}

/** Whether the client has hung up, or was hung up on. */
export function goneOf({ request }: Exchange): Gone {
  return () => request.signal.aborted;
}

export type Handler = (exchange: Exchange) => Soon<Response>;

export interface Route {
  /** The path, with the names of parameters in braces. */
  readonly template: string;
  readonly methods: ReadonlyMap<string, Handler>;
  /** What a refused method is told of others, where one of them answers only part of what can be asked here. */
  readonly allow?: string;
  /** How errors look here. */
  readonly failed: (error: DuetError, exchange: Exchange) => Response;
  /** Nobody's credentials are looked at, good or bad: those who watch over a service have none. */
  readonly open?: true;
  /** Answered however much there is to do. */
  readonly spared?: true;
  /** Its answers are sent as they were made: they may be written for as long as somebody listens, or hold what must not be compressed. */
  readonly asMade?: true;
}

/** A path that was recognised, with its parameter. */
export interface Found {
  readonly route: Route;
  readonly key: string;
}

/** Who answers a method here, before anybody asks who is asking. */
export function handlerOf(route: Route, method: string): Handler {
  // A HEAD is answered as a GET; its body is taken away at the very end, from errors too.
  const registered = method === 'HEAD' ? 'GET' : method;
  const handler = route.methods.get(registered);
  if (handler) return handler;
  if (method === 'OPTIONS') return () => answerWithoutBody(204, { Allow: allowed(route) });
  const allow = route.allow ?? allowed(route);
  throw new DuetError('METHOD_NOT_ALLOWED', `${method} is not answered here; ${allow} are.`, {
    headers: { Allow: allow },
  });
}

function allowed({ methods }: Route): string {
  return [...methods.keys()]
    .flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    .concat('OPTIONS')
    .join(', ');
}

/** The same answer without its body (RFC 9110, section 9.3.2). */
export async function withoutBody(response: Response): Promise<Response> {
  const body = await response.arrayBuffer();
  const headers = new Headers(response.headers);
  if (body.byteLength > 0) headers.set('Content-Length', String(body.byteLength));
  return new Response(null, { status: response.status, headers });
}
