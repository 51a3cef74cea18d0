/** What an agent can do here: tools that lead to the same handlers as the other doors. */

import { DuetError, type Fault, isFull, pointer, validationFailed } from '../base/errors.ts';
import type { Soon } from '../base/soon.ts';
import type { Caller } from '../engine/caller.ts';
import type { Engine } from '../engine/engine.ts';
import { answer, takeLong } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { problemBody } from '../http/problem.ts';
import type { ActionField, Model } from '../schema/model.ts';
import type { JsonSchema } from '../schema/scalars.ts';
import { argumentsSchema } from './arguments.ts';
import { described, mayDo, names } from './describe.ts';
import type { Values } from './message.ts';

/** What the other doors do, as it is asked for here. */
export interface Doors {
  /** Undefined where GraphQL does not take just any query. */
  readonly query: ((exchange: Exchange, envelope: object) => Soon<Response>) | undefined;
  readonly transact: (exchange: Exchange, body: object, key: string) => Soon<Response>;
  readonly run: (exchange: Exchange, action: ActionField, args: Values) => Soon<Response>;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly annotations: JsonSchema;
  readonly offered: (caller: Caller) => boolean;
  readonly call: (exchange: Exchange, args: Values) => Soon<Response>;
  /** What to do about an answer that is too long. */
  readonly shorter: string;
}

/** Bytes of a whole answer: more would fill the memory of a model with what it hardly asked for. */
export const MOST_BYTES = 100 * 1024;
/** How many records a list has that does not say how many. */
export const PAGE = 50;

const READS = { readOnlyHint: true, destructiveHint: false };
const WRITES = { readOnlyHint: false, destructiveHint: true };

/** In the order in which they are listed: what is always there, then the actions as the file has them. */
export function toolsOf(model: Model, engine: Engine, doors: Doors, writes: boolean): readonly Tool[] {
  const actions = model.actions.filter(({ root }) => writes || root === 'Query');
  const { query, transact } = doors;
  const mayWrite = (caller: Caller) =>
    actions.some((action) => action.root === 'Mutation' && engine.mayRun(caller, action)) ||
    model.resources.some((each) => each.rest && mayDo(engine, caller, each).some((may) => may !== 'READ'));
  const own: Tool[] = [
    describeTool(model, engine),
    ...(query ? [queryTool(query)] : []),
    ...(writes ? [transactTool(transact, mayWrite)] : []),
  ];
  const taken = new Set(own.map(({ name }) => name));
  return [...own, ...actions.map((action) => actionTool(action, engine, doors, taken))];
}

function describeTool(model: Model, engine: Engine): Tool {
  return {
    name: 'describe',
    description:
      'Tells the types of this API, their fields, and what you may do with them. "list" and "get" are fields of query, "path" is for transact. Call it first; with "types" it tells more of those.',
    inputSchema: objectOf({
      types: { type: 'array', items: { type: 'string' }, description: 'Names of types; without it, all.' },
    }),
    annotations: READS,
    offered: () => true,
    call: ({ caller }, args) => {
      refuseOthers(args, ['types']);
      const text = JSON.stringify(described(model, engine, caller, args));
      if (args['types'] !== undefined || fits(text)) return answer(200, text);
      return answer(200, JSON.stringify(names(model, engine, caller)));
    },
    shorter: 'Name fewer types in "types".',
  };
}

function queryTool(query: NonNullable<Doors['query']>): Tool {
  return {
    name: 'query',
    description: `Reads by a GraphQL query, such as { books(where: { pages: { gte: 300 } }, orderBy: [{ title: ASC }], first: 10) { id title author { name } } }. A list without "first" has ${PAGE} records. booksConnection has pages with cursors and totalCount; booksAggregate counts and sums.`,
    inputSchema: objectOf(
      {
        query: { type: 'string', description: 'A GraphQL document with a query.' },
        variables: { type: 'object', description: 'The values of its variables.' },
        operationName: { type: 'string', description: 'Which of several queries.' },
      },
      ['query'],
    ),
    annotations: READS,
    offered: () => true,
    call: (exchange, args) => {
      refuseOthers(args, ['query', 'variables', 'operationName']);
      return query(exchange, args);
    },
    shorter: 'Ask for fewer fields, or for shorter pages by "first" and "after".',
  };
}

const OPERATION = {
  type: 'object',
  properties: {
    method: { type: 'string', enum: ['POST', 'PUT', 'DELETE'], description: 'Create, change or delete.' },
    path: {
      type: 'string',
      description: '/books to create; /books/1 to change or delete; /actions/place-order to run an action.',
    },
    body: { description: 'The fields of the record, or a list of new records.' },
    ifMatch: { type: 'string', description: 'The version of the record that is meant, such as "5".' },
    as: {
      type: 'string',
      description: 'A name for the result: {"$ref": "NAME.id"} in a later body is its id.',
    },
    where: { type: 'object', description: 'Instead of a key: which records, with atMost.' },
    atMost: { type: 'integer', description: 'The most records that "where" may match.' },
    atLeast: { type: 'integer', description: 'The fewest that it must match.' },
  },
  required: ['method', 'path'],
};

function transactTool(transact: Doors['transact'], offered: Tool['offered']): Tool {
  return {
    name: 'transact',
    description:
      'Writes in one transaction: all of the operations happen, or none. With the same key and the same operations it happens once, however often it is called: call it again with them when the outcome is not known.',
    inputSchema: objectOf(
      {
        key: { type: 'string', minLength: 1, maxLength: 255, description: 'New for each write: a UUID.' },
        operations: { type: 'array', items: OPERATION, minItems: 1 },
      },
      ['key', 'operations'],
    ),
    annotations: { ...WRITES, idempotentHint: true },
    offered,
    call: (exchange, { key, ...body }) => {
      if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key))
        throw validationFailed([
          {
            pointer: '#/key',
            code: key === undefined ? 'REQUIRED' : 'FORMAT',
            detail: 'key must be 1 to 255 visible ASCII characters, new for each write, such as a UUID',
          },
        ]);
      return transact(exchange, body, key);
    },
    shorter: 'The transaction has happened all the same: read what you need of it by query.',
  };
}

function actionTool(action: ActionField, engine: Engine, { run }: Doors, taken: ReadonlySet<string>): Tool {
  const { name, description, root } = action;
  const isRead = root === 'Query';
  return {
    // No name of GraphQL has a hyphen.
    name: taken.has(name) ? `action-${name}` : name,
    description: description ?? `Runs the action ${name}.`,
    inputSchema: argumentsSchema(action),
    annotations: isRead ? READS : WRITES,
    offered: (caller) => engine.mayRun(caller, action),
    call: (exchange, args) => run(exchange, action, args),
    shorter: isRead ? 'Ask for less by its arguments.' : 'The action has happened all the same.',
  };
}

function refuseOthers(args: Values, known: readonly string[]): void {
  const faults: Fault[] = [];
  for (const name of Object.keys(args)) {
    if (isFull(faults)) break;
    if (known.includes(name)) continue;
    faults.push({
      pointer: pointer(name),
      code: 'UNKNOWN',
      detail: `the arguments are ${known.join(', ')}`,
    });
  }
  if (faults.length > 0) throw validationFailed(faults);
}

function objectOf(properties: Values, required: readonly string[] = []): JsonSchema {
  return {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

/** As the protocol tells what a tool has answered. */
export interface ToolResult {
  readonly content: readonly { readonly type: 'text'; readonly text: string }[];
  readonly isError: boolean;
}

/** Throws what is not for the model to mend: that the caller has to log in, or that there is too much to do. */
export async function callTool(tool: Tool, exchange: Exchange, args: Values): Promise<ToolResult> {
  try {
    const response = await tool.call(exchange, args);
    const bytes = takeLong(response) ?? 0;
    const text = bytes > MOST_BYTES ? undefined : await response.text();
    if (text === undefined || !fits(text))
      throw new DuetError('ANSWER_TOO_LARGE', `The answer is longer than 100 KB. ${tool.shorter}`);
    const isError = response.status >= 400 || failedQuery(tool, text);
    return { content: [{ type: 'text', text }], isError };
  } catch (error) {
    if (!(error instanceof DuetError) || isForClient(error)) throw error;
    if (error.cause !== undefined) exchange.failed(error);
    const text = JSON.stringify(problemBody(error, exchange.requestId));
    return { content: [{ type: 'text', text }], isError: true };
  }
}

/** What a message has beside the text. */
const AROUND = 1024;

/** Every quote inside of it takes two characters in the message. */
function fits(text: string): boolean {
  return Buffer.byteLength(JSON.stringify(text)) <= MOST_BYTES - AROUND;
}

function isForClient({ status }: DuetError): boolean {
  return status === 401 || status === 429 || status >= 500;
}

/** A query is answered 200 with its errors; that one must log in is told as everywhere else. */
function failedQuery({ name }: Tool, text: string): boolean {
  if (name !== 'query') return false;
  const { errors } = JSON.parse(text) as { errors?: { message: string; extensions?: Values }[] };
  const unknown = errors?.find(({ extensions }) => extensions?.['code'] === 'UNAUTHENTICATED');
  if (unknown) throw new DuetError('UNAUTHENTICATED', unknown.message);
  return errors !== undefined;
}
