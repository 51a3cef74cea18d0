/** What must hold for every answer, whatever was asked: described, in time, without a failure, and without a word of the inside. */

import { execute, type GraphQLSchema, parse } from 'graphql';
import { catalogue } from '../../../src/base/errors.ts';
import { type AppUnderTest, within } from '../../app.ts';
import type { Description } from '../../rest/described.ts';
import type { Shot } from './requests.ts';

/** How long anybody waits, on a machine that has much else to do. */
const PATIENCE_MS = 30_000;

/** SQL, the words of databases and of the runtime, files. What requests are made of has nothing of it. */
const INSIDE = new RegExp(
  [
    String.raw`\b(SELECT|INSERT INTO|DELETE FROM|UPDATE "|ON CONFLICT|COLLATE|PRAGMA|RETURNING)\b`,
    'SQLITE|sqlite|bun:|postgres(?!ql)|pg_|constraint failed|violates|syntax error at|no such (column|table)',
    String.raw`(Type|Range|Reference|Syntax|Internal)Error\b|is not a function|undefined is not|    at .{1,200}:\d+`,
    String.raw`node_modules|/src/|\.ts:\d|_duet_|hidden_(table|column)`,
  ].join('|'),
);

/** Pages for people name these things on purpose. */
const PROSE = new Set(['/', '/openapi.json', '/schema.graphql', '/metrics']);

const GRAPHQL_ERRORS = '#/paths/~1graphql/post/responses/414/content/application~1json/schema';

export interface Verdict {
  readonly status: number;
  readonly headers: Headers;
  /** The path, with the names of parameters in braces; `none` where there is nothing. */
  readonly route: string;
  readonly body: any;
}

export class Judge {
  readonly #app: AppUnderTest;
  readonly #described: Description;
  readonly #schema: GraphQLSchema;
  /** Where an error is described that can have any code: its name depends on those of the types. */
  readonly #problem: string;

  constructor(app: AppUnderTest, described: Description, schema: GraphQLSchema) {
    this.#app = app;
    const { $ref } = described.at('#/paths/~1transaction/post/responses/414');
    this.#problem = `${$ref}/content/application~1json/schema/allOf/0`;
    this.#described = described;
    this.#schema = schema;
  }

  /** Sends the request, and throws when its answer must not be; undefined when it is none that `fetch` would send. */
  async fire({ url, method, headers, body }: Shot): Promise<Verdict | undefined> {
    const isBodied = !/^(get|head)$/i.test(method) && body !== undefined;
    const init = { method, headers, ...(isBodied && { body }) };
    const sent = sendable(url, init);
    if (!sent) return undefined;
    const { response, text } = await within(
      PATIENCE_MS,
      this.#app.fetch(url, init).then(async (answer) => ({ response: answer, text: await answer.text() })),
    );
    try {
      const route = this.#observed(response.headers.get('X-Request-Id'));
      return await this.#judged(sent.method, route, response, text, isBodied ? body : '');
    } catch (error) {
      const told = error instanceof Error ? error.message : error;
      throw new Error(`${told}\n→ ${response.status} ${text.slice(0, 2000)}`);
    }
  }

  async #judged(
    method: string,
    route: string,
    { status, headers }: Response,
    text: string,
    sent: string,
  ): Promise<Verdict> {
    if (status >= 500 && !(status === 507 && text.includes('"KEYS_EXHAUSTED"')))
      throw new Error('it failed, or refused for no reason');
    const inside = PROSE.has(route) ? null : INSIDE.exec([text, ...headers.values()].join('\n'));
    if (inside) throw new Error(`it tells of its inside: ${inside[0]}`);
    const answer = new Response(text === '' ? null : text, { status, headers });
    const body = await this.#fitting(method, route, answer, text);
    if (route === '/graphql' && method === 'POST') await this.#graphql(sent, body);
    return { status, headers, route, body };
  }

  /** Which route the server says that it took. */
  #observed(requestId: string | null): string {
    const failure = this.#app.observations.find(({ event }) => event === 'failure');
    if (failure?.event === 'failure')
      throw new Error(`a failure was observed: ${Bun.inspect(failure.cause)}`);
    for (const each of this.#app.observations)
      if (each.event === 'request' && each.requestId === requestId) return each.route;
    throw new Error('no request was observed');
  }

  async #fitting(method: string, route: string, answer: Response, text: string): Promise<unknown> {
    const described = this.#described;
    const { status, headers } = answer;
    const find = (wanted: string) =>
      described.operations.find((each) => each.method === wanted && each.path === route);
    const operation = find(method);
    if (operation) return (await described.check(operation, answer, `${method} ${route}`)).body;
    if (method === 'HEAD' && text !== '') throw new Error('a body for HEAD');
    const get = find('GET');
    if (method === 'HEAD' && get) {
      const { responses } = get.operation;
      if (!(responses[status] ?? (status >= 400 && responses.default)))
        throw new Error('an undeclared status for HEAD');
      return undefined;
    }
    const wanted = route === 'none' ? [404, 414] : method === 'OPTIONS' ? [204, 401, 414] : [405, 414];
    if (!wanted.includes(status)) throw new Error(`not one of ${wanted}`);
    if (status === 405 && !headers.get('Allow')?.includes('OPTIONS')) throw new Error('405 without Allow');
    if (text === '') return undefined;
    const body = JSON.parse(text);
    described.fit(route === '/graphql' ? GRAPHQL_ERRORS : this.#problem, body, `${method} ${route}`);
    return body;
  }

  /** The data is what the schema says of the document; every error has a code, and what it speaks of is null. */
  async #graphql(sent: string, { data, errors }: any): Promise<void> {
    if (data === undefined && errors === undefined) throw new Error('neither data nor errors');
    for (const { extensions, path } of errors ?? []) {
      if (!Object.hasOwn(catalogue, extensions.code) || extensions.code === 'INTERNAL')
        throw new Error(`no code of the catalogue: ${extensions.code}`);
      let value = data;
      for (const step of path ?? []) value = value?.[step] ?? null;
      if (path && value !== null) throw new Error(`an error at ${path}, where there is something`);
    }
    if (data === undefined || data === null) return;
    // Without what every object inherits, which graphql-js would take for the value of a field named so.
    const bare = (_: string, value: unknown) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.assign(Object.create(null), value)
        : value;
    const { query, variables, operationName } = JSON.parse(sent, bare);
    const again = await execute({
      schema: this.#schema,
      document: parse(query),
      operationName,
      variableValues: variables ?? {},
      rootValue: data,
      fieldResolver: (source, _arguments, _context, { path }) => source[path.key],
    });
    if (!('data' in again) || JSON.stringify(again.data) !== JSON.stringify(data))
      throw new Error(`the data does not fit the document: ${JSON.stringify(again)}`);
  }
}

function sendable(url: string, init: RequestInit): Request | undefined {
  try {
    return new Request(`http://duet.test${url}`, init);
  } catch {
    return undefined;
  }
}
