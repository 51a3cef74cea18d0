/** `POST /transaction`: several writes, as REST would send them one by one, all of them or none. */

import { DuetError, validationFailed } from '../base/errors.ts';
import { Turns } from '../base/turns.ts';
import type { Engine } from '../engine/engine.ts';
import type { Selection, WriteRecords } from '../engine/operation.ts';
import type { Node } from '../engine/read/read.ts';
import type { Written } from '../engine/write/perform.ts';
import { failedAt, WriteFailed } from '../engine/write/transaction.ts';
import { answer } from '../http/answer.ts';
import { type BodyLimits, parseJsonObject, readBody } from '../http/body.ts';
import { type Exchange, goneOf, type Route } from '../http/exchange.ts';
import { WRITE_COST } from '../http/guard/rate-limits.ts';
import { idempotencyOf } from '../http/idempotency.ts';
import { problem } from '../http/problem.ts';
import type { ActionField } from '../schema/model.ts';
import { answered, pathTo } from './actions.ts';
import type { Collection } from './collection.ts';
import { deprecationOf } from './deprecation.ts';
import { refuseIfMatch } from './etag.ts';
import { created, deleted, paid, shown, updated, upserted, wholeOf } from './respond.ts';
import { readSteps, type Step } from './steps.ts';

export function transactionRoute(
  engine: Engine,
  collections: ReadonlyMap<string, Collection>,
  actions: readonly ActionField[],
  limits: BodyLimits & { readonly url: number },
): Route {
  const byPath = new Map(
    actions.filter(({ root }) => root === 'Mutation').map((action) => [pathTo(action), action]),
  );
  const perform = async (exchange: Exchange, bytes: Uint8Array): Promise<Response> => {
    const { request, caller } = exchange;
    const body = parseJsonObject(request, bytes, limits);
    if (exchange.query !== '')
      throw validationFailed([
        {
          parameter: exchange.query.slice(0, 100),
          code: 'UNKNOWN',
          detail: 'this path takes no parameters',
        },
      ]);
    refuseIfMatch(request, 'Give ifMatch to the operations that it is about.');
    const excess = Array.isArray(body['operations']) && engine.tooMany(body['operations'].length);
    if (excess) throw excess;
    const steps = readSteps(body, collections, byPath, limits.url);
    exchange.spend?.((steps.length - 1) * WRITE_COST);
    const nodes = await engine
      .transact(caller, steps, idempotencyOf(exchange, 'transaction', bytes), undefined, goneOf(exchange))
      .catch((error) => {
        if (error instanceof WriteFailed && error.reason instanceof DuetError)
          throw failedAt(error.index, error.reason);
        throw error;
      });
    const results: string[] = [];
    const dates: string[] = [];
    const turns = new Turns();
    for (const [index, node] of nodes.entries()) {
      const { headers, body, ...result } = await resultOf(steps[index], node, exchange.spend, turns);
      if (headers['Deprecation'] !== undefined) dates.push(headers['Deprecation']);
      const told = JSON.stringify({ ...result, headers });
      // Read once more, to be written with all the others, it would take three times as long.
      results.push(body === undefined ? told : `${told.slice(0, -1)},"body":${body}}`);
      await turns.next();
    }
    const deprecation = dates.length > 0 ? { Deprecation: dates.toSorted()[0] ?? '' } : {};
    return answer(200, `{"results":[${results.join()}]}`, deprecation);
  };
  return {
    template: '/transaction',
    failed: problem,
    methods: new Map([
      ['POST', (exchange) => readBody(exchange.request, limits, (bytes) => perform(exchange, bytes))],
    ]),
  };
}

interface Result {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** As JSON. */
  readonly body?: string;
}

/** What the write would have answered alone; one on many answers with their records. */
async function resultOf(
  step: Step | undefined,
  written: Written,
  spend: Exchange['spend'],
  turns: Turns,
): Promise<Result> {
  if (!step) throw new Error('a result without its operation');
  const { operation, from, shape } = step;
  if (operation.do === 'act' || !from) {
    const body = operation.do === 'act' ? answered(operation.action, written) : null;
    return { status: 200, headers: {}, body: paid(body, spend) };
  }
  if (Array.isArray(written)) {
    const selection = shape ?? wholeOf(from.resource);
    const status = operation.do === 'create many' ? 201 : 200;
    const headers = shape ? deprecationOf(from.resource, shape, from.deprecatedSince) : from.headers;
    const body: object[] = [];
    for (const node of written) {
      body.push(shown(selection, node));
      const wait = turns.next();
      if (wait) await wait;
    }
    return { status, headers, body: paid(body, spend) };
  }
  const response = responseTo(operation, from, written, shape, spend);
  const names = ['Location', 'ETag', 'Deprecation'].filter((name) => response.headers.has(name));
  const headers = Object.fromEntries(names.map((name) => [name, response.headers.get(name) ?? '']));
  const body = await response.text();
  return { status: response.status, headers, ...(body !== '' && { body }) };
}

function responseTo(
  operation: WriteRecords,
  from: Collection,
  node: Node,
  shape: Selection | undefined,
  spend: Exchange['spend'],
): Response {
  switch (operation.do) {
    case 'create':
      return created(from, node, shape, spend);
    case 'upsert':
      return upserted(from, node, shape, spend);
    case 'update':
    case 'restore':
      return updated(from, node, shape, spend);
    default:
      return deleted();
  }
}
