/** A list or a record that is kept up to date: the plain answer as an event, and again whenever it is another. */

import { DuetError } from '../base/errors.ts';
import type { Soon } from '../base/soon.ts';
import type { Engine } from '../engine/engine.ts';
import { notLive } from '../engine/journal/sources.ts';
import type { Watched } from '../engine/journal/view.ts';
import type { Read } from '../engine/operation.ts';
import { preferredType } from '../http/accept.ts';
import { JSON_TYPE } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { problemBody } from '../http/problem.ts';
import { EVENT_TYPE, type Streams } from '../http/streams.ts';
import type { Resource } from '../schema/model.ts';

/** What a plain answer says beside its body. */
const TOLD = ['ETag', 'Link', 'X-Total-Count'];

/** Whether a record is wanted so; of a list, there are other types to choose from. */
export function wantsEvents({ request }: Exchange): boolean {
  const accept = request.headers.get('Accept');
  return (
    accept?.includes(EVENT_TYPE) === true && preferredType(accept, [JSON_TYPE, EVENT_TYPE]) === EVENT_TYPE
  );
}

/** `respond`: the plain answer of now. */
export async function live(
  engine: Engine,
  streams: Streams,
  resource: Resource,
  exchange: Exchange,
  operation: Read,
  respond: (exchange: Exchange) => Soon<Response>,
): Promise<Response> {
  const { caller, key, query, request, requestId } = exchange;
  if (!resource.journal) {
    // That it is closed to the caller is told first, as by a plain request.
    engine.permit(caller, operation);
    throw notLive([resource]);
  }
  const watched: Watched = {
    make: async (noteRead) => {
      let units = 0;
      const spend = (cost: number) => {
        units += cost;
      };
      noteRead(engine.permit(caller, operation), operation);
      const text = await eventOf(await respond({ ...exchange, spend: exchange.spend && spend }));
      return { text, units };
    },
    failed: (error) => {
      const isTold = error instanceof DuetError;
      if (!isTold || error.cause !== undefined) exchange.failed(error);
      const told = isTold ? error : new DuetError('INTERNAL', 'Internal server error');
      return `event: problem\ndata: ${JSON.stringify(problemBody(told, requestId))}\n\n`;
    },
  };
  const name = JSON.stringify(['rest', resource.path, key, query]);
  const seat = await engine.live(caller, name, watched, request.signal);
  return exchange.seated?.(seat) ?? streams.answerLive(exchange, seat);
}

async function eventOf(response: Response): Promise<string> {
  const { headers } = response;
  const told = TOLD.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  const head = told.length > 0 ? `event: headers\ndata: ${JSON.stringify(Object.fromEntries(told))}\n\n` : '';
  return `${head}data: ${await response.text()}\n\n`;
}
