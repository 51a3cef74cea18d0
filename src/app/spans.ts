/** Requests that are traced, and what is told of them: names and attributes of OpenTelemetry's semantic conventions. */

import packageFile from '../../package.json' with { type: 'json' };
import type { Observation, Observe } from '../base/observe.ts';
import { type SpanContext, Tracer, traceparent } from '../base/tracer.ts';
import type { Config } from '../config/config.ts';
import { currentScope } from '../storage/scopes.ts';

/** Undefined where nothing is traced. */
export function tracerOf(config: Config, observe: Observe): Tracer | undefined {
  const { otelExporterOtlpEndpoint: endpoint, otelExporterOtlpHeaders: headers } = config;
  if (endpoint === null) return undefined;
  const { otelServiceName: service, otelTracesSamplerArg: share } = config;
  return new Tracer({
    endpoint,
    headers: headers ?? {},
    service,
    version: packageFile.version,
    share,
    observe,
  });
}

/** What a transaction says in the log of the database, in the form of sqlcommenter; ids have nothing that could end a comment. */
export function commentOfScope(): string {
  const { requestId, span } = currentScope() ?? {};
  return span ? ` /*request_id='${requestId}',traceparent='${traceparent(span)}'*/` : '';
}

type Answered = Extract<Observation, { event: 'request' }>;

/** Methods that are not HTTP's own are not told, since anybody can make them up. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'CONNECT']);

export function endRequest(
  tracer: Tracer,
  span: SpanContext,
  request: Request,
  started: number,
  { method, path, route, status, caller, address }: Answered,
): void {
  const url = URL.parse(request.url);
  const isKnown = METHODS.has(method);
  const http = isKnown ? method : 'HTTP';
  tracer.end(span, {
    name: route === 'none' ? http : `${http} ${route}`,
    kind: 'server',
    started,
    ended: performance.now(),
    isError: status >= 500,
    attributes: {
      'http.request.method': isKnown ? method : '_OTHER',
      'http.route': route === 'none' ? undefined : route,
      'http.response.status_code': status,
      'url.scheme': url?.protocol.slice(0, -1),
      'url.path': path,
      'server.address': url?.hostname,
      'server.port': url?.port ? Number(url.port) : undefined,
      'client.address': address === '' ? undefined : address,
      'user_agent.original': request.headers.get('User-Agent') ?? undefined,
      'enduser.id': caller,
      'error.type': status >= 500 ? String(status) : undefined,
    },
  });
}

/** A GraphQL operation that has just ended. */
export function endOperation(
  tracer: Tracer,
  span: SpanContext,
  { name, type, outcome, ms }: Extract<Observation, { event: 'operation' }>,
): void {
  const ended = performance.now();
  const attributes = { 'graphql.operation.type': type, 'graphql.operation.name': name };
  const isError = outcome === 'error';
  tracer.within(span, { name: type, kind: 'internal', started: ended - ms, ended, isError, attributes });
}
