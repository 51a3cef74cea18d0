/** `POST /live`: several reads that are kept up to date, all of them on one stream. */

import { cited, DuetError, type Fault, pointer, validationFailed } from '../base/errors.ts';
import { SharedTurns } from '../base/turns.ts';
import type { Seat } from '../engine/journal/live.ts';
import { Waiting } from '../engine/journal/waiting.ts';
import { answerWithoutBody } from '../http/answer.ts';
import { type BodyLimits, parseJsonObject, readBody } from '../http/body.ts';
import type { Exchange, Found, Route } from '../http/exchange.ts';
import { problem, problemBody } from '../http/problem.ts';
import { EVENT_TYPE, type Events, type Streams } from '../http/streams.ts';
import { LIVE_PATH } from '../schema/names.ts';
import { admitUrl } from './links.ts';
import { QueryParameters } from './parameters.ts';

/** More than a page shows at once; what costs more than the bytes that ask for it must not be asked for by the thousand. */
export const MOST_QUERIES = 100;
/** So many of a stream wait for their first answers: others who begin come in between, and one that is slow holds up no other. */
const BEGUN_TOGETHER = 4;

export function liveRoute(
  find: (path: string) => Found | undefined,
  streams: Streams,
  limits: BodyLimits & { readonly url: number },
): Route {
  const turns = new SharedTurns();
  const seatOf = async (exchange: Exchange, query: string, stopped: AbortSignal): Promise<Seat> => {
    await turns.next();
    admitUrl(query, limits.url);
    return seatBefore(find, exchange, query, stopped);
  };
  const open = (exchange: Exchange, bytes: Uint8Array): Response => {
    const queries = queriesIn(parseJsonObject(exchange.request, bytes, limits));
    new QueryParameters(exchange.query).finish([], undefined);
    exchange.spend?.(queries.length - 1);
    const events: Events = (stopped, rest) => together(seatOf, exchange, queries, stopped, rest);
    return streams.answer(exchange, events, bytes.length);
  };
  return {
    template: `/${LIVE_PATH}`,
    failed: problem,
    methods: new Map([
      ['POST', (exchange) => readBody(exchange.request, limits, (bytes) => open(exchange, bytes))],
    ]),
  };
}

function queriesIn({ queries, ...others }: Record<string, unknown>): readonly string[] {
  const faults = Object.keys(others).map(
    (name): Fault => ({
      pointer: pointer(name),
      code: 'UNKNOWN',
      detail: 'the body holds only queries',
    }),
  );
  const isList = Array.isArray(queries) && queries.length > 0 && queries.length <= MOST_QUERIES;
  if (isList && faults.length === 0 && queries.every((each) => typeof each === 'string')) return queries;
  if (!isList || faults.length === 0)
    faults.push({
      pointer: '#/queries',
      code: 'TYPE',
      detail: `queries must be a list of 1 to ${MOST_QUERIES} paths with their parameters, such as "/books?limit=10"`,
    });
  throw validationFailed(faults);
}

/**
 * The events of all of them, each named by the place of its query. Of each the latest waits to be sent, and no more:
 * every answer is whole. When one of them ends, all do, so that the client asks again. Where all are refused, `rest` is told so.
 */
async function* together(
  seatOf: (exchange: Exchange, query: string, stopped: AbortSignal) => Promise<Seat>,
  exchange: Exchange,
  queries: readonly string[],
  stopped: AbortSignal,
  rest: (isIdle: boolean) => void,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const waiting = new Waiting();
  const latest = new Map<number, string | Uint8Array>();
  let hasEnded = false;
  const tell = (place: number, events: string | Uint8Array) => {
    latest.set(place, events);
    waiting.wake();
  };
  const end = () => {
    hasEnded = true;
    waiting.wake();
  };
  const failed = (error: unknown) => {
    exchange.failed(error);
    end();
  };
  const follow = async (seat: Seat, place: number) => {
    for await (const events of seat.follow(stopped)) tell(place, events);
    end();
  };
  const left = queries.entries();
  let seats = 0;
  const begin = async () => {
    for (const [place, query] of left) {
      const seat = await seatOf(exchange, query, stopped).catch((error) =>
        tell(place, refused(exchange, error)),
      );
      if (stopped.aborted) return;
      if (!seat) continue;
      seats++;
      follow(seat, place).catch(failed);
    }
  };
  Promise.all(Array.from({ length: BEGUN_TOGETHER }, begin)).then(() => rest(seats === 0), failed);
  while (!stopped.aborted && !hasEnded) {
    for (const [place, events] of latest) {
      latest.delete(place);
      // Not sooner: until it is sent, all who look at an answer share it.
      yield named(place, typeof events === 'string' ? events : decoder.decode(events));
    }
    await waiting.until(() => latest.size > 0 || hasEnded, stopped);
  }
}

/** As a request for it alone would have, until the stream has ended. */
async function seatBefore(
  find: (path: string) => Found | undefined,
  exchange: Exchange,
  text: string,
  stopped: AbortSignal,
): Promise<Seat> {
  const [, path = '', query = ''] = /^([^?]*)\??(.*)$/s.exec(text) ?? [];
  const { route, key = '' } = find(path.replace(/(?<=.)\/$/, '')) ?? {};
  const get = route?.methods.get('GET');
  if (!get) throw new DuetError('NOT_FOUND', `There is nothing to read at ${cited(path)}.`);
  const { promise, resolve } = Promise.withResolvers<Seat>();
  const request = new Request('http://localhost', { headers: { Accept: EVENT_TYPE }, signal: stopped });
  await get({
    ...exchange,
    request,
    key,
    query,
    seated: (seat) => {
      exchange.spend?.(seat.units);
      resolve(seat);
      return answerWithoutBody(200);
    },
  });
  return promise;
}

/** What is wrong with a query from the beginning; the others go on without it. */
function refused({ failed, requestId }: Exchange, error: unknown): string {
  const isTold = error instanceof DuetError;
  if (!isTold || error.cause !== undefined) failed(error);
  const told = isTold ? error : new DuetError('INTERNAL', 'Internal server error');
  return `event: refused\ndata: ${JSON.stringify(problemBody(told, requestId))}\n\n`;
}

/** Events of the query at this place: `0`, `0.headers`, `0.problem`, `0.refused`. JSON has no line breaks of its own. */
function named(place: number, events: string): string {
  return events.replaceAll(
    /^(?:event: (\w+)\n)?data: /gm,
    (_, name?: string) => `event: ${name === undefined ? place : `${place}.${name}`}\ndata: `,
  );
}
