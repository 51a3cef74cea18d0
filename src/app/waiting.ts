/** What `duet dev` serves of files that cannot be served yet: the console, which tells why and how to go on. */

import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { DuetError } from '../base/errors.ts';
import type { Config } from '../config/config.ts';
import { consoleRoutes, FILE_STATE } from '../console/routes.ts';
import { anonymous } from '../engine/caller.ts';
import { answer } from '../http/answer.ts';
import { type Exchange, handlerOf, type Route, withoutBody } from '../http/exchange.ts';
import { problem } from '../http/problem.ts';
import { requestIdOf, split } from '../http/request.ts';
import type { Dev } from './options.ts';
import { ownName } from './self.ts';

/** What the console is told of the schema file. Nobody's secret: only before the developer's own eyes is there something to tell. */
export function fileRoute({ schema }: Pick<Config, 'schema'>, dev: Dev | undefined): Route {
  const told = () => {
    if (!dev) return {};
    const { faults, loads } = dev;
    if (faults.length === 0) return { faults, loads };
    const text = existsSync(schema) ? readFileSync(schema, 'utf8') : undefined;
    return { faults, loads, path: resolve(schema), file: schema, text, command: ownName() };
  };
  return fixed(FILE_STATE, () => JSON.stringify(told()));
}

function fixed(template: string, body: () => string): Route {
  return { template, methods: new Map([['GET', () => answer(200, body())]]), failed: problem, open: true };
}

/** Answers like an application, with the console and nothing else. */
export function waiting(config: Config, dev: Dev): (request: Request) => Promise<Response> {
  const routes = new Map(
    [fileRoute(config, dev), fixed('/healthz', () => '{"status":"ok"}')].map((route) => [
      route.template,
      route,
    ]),
  );
  const page = consoleRoutes(undefined);
  const answered = async (exchange: Exchange, path: string): Promise<Response> => {
    const { request } = exchange;
    try {
      const route = routes.get(path) ?? page(path);
      if (!route)
        throw new DuetError(
          'UNAVAILABLE',
          'The schema file cannot be served yet. The console, at /, shows what is wrong with it.',
        );
      return await handlerOf(route, request.method)(exchange);
    } catch (error) {
      if (error instanceof DuetError) return problem(error, exchange);
      throw error;
    }
  };
  return async (request) => {
    const { path, query } = split(request.url);
    const requestId = requestIdOf(request);
    const exchange: Exchange = { request, requestId, caller: anonymous, key: '', failed: () => {}, query };
    const response = await answered(exchange, path);
    response.headers.set('X-Request-Id', requestId);
    return request.method === 'HEAD' ? withoutBody(response) : response;
  };
}
