/** GraphQL over SSE, a connection for each operation: changes as they are committed, answers that are kept up to date, and others. */

import type { ExecutionResult, GraphQLObjectType, ValidatedExecutionArgs } from 'graphql';
import { DuetError, isPassing } from '../base/errors.ts';
import { type LongText, written } from '../base/parts.ts';
import { jsonOf } from '../base/passed.ts';
import type { ChangesRead } from '../engine/journal/changes-operation.ts';
import type { Told } from '../engine/journal/feed.ts';
import type { Change } from '../engine/journal/showing.ts';
import type { Watched } from '../engine/journal/view.ts';
import type { Exchange } from '../http/exchange.ts';
import { costOfAnswer } from '../http/guard/rate-limits.ts';
import { answerEvents, joined, type Streams } from '../http/streams.ts';
import type { Context } from './context.ts';
import { formatted, formattedAlone } from './errors.ts';
import { execute } from './execute.ts';
import { answeredFields, argumentsOf, type Given } from './fields.ts';
import { planner } from './plan.ts';

const COMPLETE = 'event: complete\ndata:\n\n';
const BEFORE_JSON = 'event: next\ndata: ';
const AFTER_JSON = '\n\n';

function nextOf(result: unknown): string {
  return nextText(jsonOf(result));
}

function nextText(json: string): string {
  return BEFORE_JSON + json + AFTER_JSON;
}

/** A long one is written as its client takes it: as many as listen may ask for as many others, of the same few records. */
function eventOf(result: ExecutionResult, exchange: Exchange): string | LongText {
  return written(BEFORE_JSON, answered(result, exchange), AFTER_JSON);
}

/** A query or a mutation: one answer, and that is all. What is done by now must be told, however many streams are open. */
export function streamedOnce(json: string): Response {
  return answerEvents(nextText(json) + COMPLETE);
}

interface Event {
  readonly result: ExecutionResult;
  /** Undefined where it has errors, which name the request. */
  readonly text: string | LongText | undefined;
}

/** What was made of changes, by what was asked for: all who may see the same of them are shown the same change. */
const made = new WeakMap<Change, Map<string, Promise<Event>>>();

/**
 * What is wrong with the subscription itself is thrown before its stream begins. `asked`: what tells it from others;
 * `sent`: bytes of the body that asks for it.
 */
export async function subscribed(
  streams: Streams,
  exchange: Exchange,
  args: ValidatedExecutionArgs,
  context: Context,
  asked: readonly unknown[],
  sent: number,
): Promise<Response> {
  const { engine, caller } = context;
  const { name, operation } = planned(args, context);
  const follow = await engine.follow(caller, operation);
  // What is denied is told otherwise to whom nobody knows.
  const named = JSON.stringify([asked, caller.subject === undefined]);
  const own = new Bun.CryptoHasher('sha256').update(named).digest('base64url');
  const makeOf = async (change: Change): Promise<Event> => {
    const result = await execute(args, context, new Map([[name, change]]));
    return { result, text: result.errors ? undefined : eventOf(result, exchange) };
  };
  const told = async ({ change }: Told) => {
    const known = made.get(change) ?? new Map<string, Promise<Event>>();
    made.set(change, known);
    const making = known.get(own) ?? makeOf(change);
    known.set(own, making);
    const { result, text } = await making;
    return text ?? eventOf(result, exchange);
  };
  const events = async function* (stopped: AbortSignal) {
    for await (const changes of follow(stopped))
      if ('reset' in changes) yield nextOf({ data: null, errors: [expired(exchange)] });
      else yield* joined(changes.values().map(told));
    yield COMPLETE;
  };
  return streams.answer(exchange, events, sent);
}

/** A query whose answer is told again whenever it is another; one that never will be is complete at once. `asked`: the same. */
export async function kept(
  streams: Streams,
  exchange: Exchange,
  args: ValidatedExecutionArgs,
  context: Context,
  asked: readonly unknown[],
  sent: number,
): Promise<Response> {
  const { engine, caller } = context;
  const watched: Watched = {
    make: async (noteRead) => {
      const result = await execute(args, { ...context, deadline: engine.deadline(), noteRead });
      // What cannot be read for now is tried again.
      for (const { originalError } of result.errors ?? []) if (isPassing(originalError)) throw originalError;
      return { text: nextOf(answered(result, exchange)), units: costOfAnswer(result.data) };
    },
    failed: (error) => {
      exchange.failed(error);
      const told = new DuetError('INTERNAL', 'Internal server error');
      return nextOf({ data: null, errors: [formattedAlone(told, exchange.requestId)] });
    },
  };
  const name = JSON.stringify(['graphql', ...asked]);
  const seat = await engine.live(caller, name, watched, exchange.request.signal);
  const { fixed, units, leave } = seat;
  if (!fixed) return streams.answerLive(exchange, seat, sent);
  // Nobody needs an account to ask for what is denied to all: it must take no stream's place.
  leave();
  exchange.spend?.(units);
  return answerEvents(new TextDecoder().decode(fixed) + COMPLETE);
}

/** A subscription has one root field, which validation has seen to. */
function planned(args: ValidatedExecutionArgs, { engine, bindings }: Context) {
  const { schema, operation, fragmentDefinitions: fragments, variableValues } = args;
  const given: Given = { schema, fragments, variableValues, most: engine.limits.objects };
  const type = schema.getSubscriptionType() as GraphQLObjectType;
  const [[name, nodes] = ['', []]] = answeredFields(operation.selectionSet.selections, given);
  const [node] = nodes;
  const binding = bindings.get(`${type.name}.${node?.name.value}`);
  if (!binding || !node || binding.operation === 'NODE')
    throw new Error(`nothing is bound to ${node?.name.value}`);
  const { operation: read } = planner(binding, nodes, given)(argumentsOf(type, node, given));
  return { name, operation: read as ChangesRead };
}

function answered({ data, errors }: ExecutionResult, { requestId }: Exchange): unknown {
  const told = errors?.map((error) => formatted(error, 'BAD_USER_INPUT', requestId));
  return told ? { errors: told, data } : { data };
}

function expired({ requestId }: Exchange) {
  const detail =
    'Changes since this position are no longer kept. Read the records again; the subscription goes on from now.';
  return formattedAlone(new DuetError('POSITION_EXPIRED', detail), requestId);
}
