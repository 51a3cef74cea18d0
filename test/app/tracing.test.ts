/** What an operator sees of requests: slow statements in the log, and spans at a collector of OpenTelemetry. */

import { describe, expect, test } from 'bun:test';
import { databases, JSON_HEADERS, openApp, sharedPostgres, shipped } from '../app.ts';
import { hasPgBouncer, PgBouncer } from '../pgbouncer.ts';
import { Folder, Server } from '../process.ts';
import { Wire } from '../wire.ts';

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  traceState?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: { stringValue?: string; intValue?: string } }[];
  status: { code?: number };
}

/** Takes spans by OTLP over HTTP, as JSON. */
class Collector implements Disposable {
  readonly posts: { readonly headers: Headers; readonly body: any }[] = [];
  status = 200;
  readonly #server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      if (new URL(request.url).pathname !== '/v1/traces') return new Response(null, { status: 404 });
      this.posts.push({ headers: request.headers, body: await request.json() });
      return Response.json({ partialSuccess: {} }, { status: this.status });
    },
  });

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  get spans(): Span[] {
    return this.posts.flatMap(({ body }) => body.resourceSpans[0].scopeSpans[0].spans);
  }

  /** The spans of a trace, once that of the request is among them. */
  async trace(traceId: string): Promise<Span[]> {
    for (let tries = 0; tries < 1000; tries++) {
      const spans = this.spans.filter((span) => span.traceId === traceId);
      if (spans.some(({ kind }) => kind === 2)) return spans;
      await Bun.sleep(10);
    }
    throw new Error(`no span of ${traceId}`);
  }

  [Symbol.dispose](): void {
    this.#server.stop(true);
  }
}

const attributes = (span: Span | undefined) =>
  Object.fromEntries(
    span?.attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]) ?? [],
  );

const traceId = (index: number) => `${index}`.padStart(32, 'a');
const PARENT = 'b7ad6b7169203331';
const traced = (index: number, more: Record<string, string> = {}) => ({
  ...JSON_HEADERS,
  traceparent: `00-${traceId(index)}-${PARENT}-01`,
  ...more,
});

const urlOf = async (kind: string) =>
  kind === 'sqlite' ? 'sqlite:duet.db' : (await sharedPostgres()).database();

describe.each(databases)('spans, on %s', (kind) => {
  test('have the names and attributes of the semantic conventions', async () => {
    using folder = new Folder();
    using collector = new Collector();
    await using server = await Server.start(folder, {
      DATABASE_URL: await urlOf(kind),
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20let-me-in,x-tenant=a',
      OTEL_SERVICE_NAME: 'books',
      OTEL_TRACES_SAMPLER_ARG: '0',
    });
    const { port } = new URL(server.url);
    const ask = (path: string, init: RequestInit) => fetch(server.url + path, init);
    await ask('/books?x=secret-4711', { headers: traced(1, { tracestate: 'a=1', 'User-Agent': 'me/1' }) });
    await ask('/books/1', { headers: traced(2) });
    const body = (query: string, variables = {}) => JSON.stringify({ query, variables });
    await ask('/graphql', {
      method: 'POST',
      headers: traced(3),
      body: body('query Two { books { id } users { id } }'),
    });
    await ask('/notes', {
      method: 'POST',
      headers: traced(4, { 'X-Request-Id': 'my-id' }),
      body: '{"title":"secret-4711"}',
    });
    await ask('/nowhere', { headers: traced(5) });
    // Whoever began the trace has decided, or nobody; or what was sent is no traceparent.
    for (const parent of [
      `00-${traceId(6)}-${PARENT}-00`,
      '00-x',
      `00-${'0'.repeat(32)}-${PARENT}-01`,
      undefined,
    ])
      await ask('/books/2', { headers: parent === undefined ? {} : { traceparent: parent } });

    const [refused] = await collector.trace(traceId(1));
    expect([
      refused?.name,
      refused?.kind,
      refused?.parentSpanId,
      refused?.traceState,
      refused?.status,
    ]).toEqual(['GET /books', 2, PARENT, 'a=1', {}]);
    expect(attributes(refused)).toEqual({
      'http.request.method': 'GET',
      'http.route': '/books',
      'http.response.status_code': 400,
      'url.scheme': 'http',
      'url.path': '/books',
      'server.address': '127.0.0.1',
      'server.port': Number(port),
      'client.address': '127.0.0.1',
      'user_agent.original': 'me/1',
    });

    const keyed = await collector.trace(traceId(2));
    const request = keyed.find(({ kind }) => kind === 2);
    const [statement, ...others] = keyed.filter(({ kind }) => kind === 3);
    expect([statement?.name, statement?.parentSpanId, others]).toEqual(['SELECT Book', request?.spanId, []]);
    expect(attributes(statement)).toEqual({
      'db.system.name': kind === 'sqlite' ? 'sqlite' : 'postgresql',
      'db.operation.name': 'SELECT',
      'db.collection.name': 'Book',
      'db.query.summary': 'SELECT Book',
      'db.query.text': expect.stringContaining('FROM "Book"'),
    });
    for (const { startTimeUnixNano, endTimeUnixNano } of keyed) {
      expect(BigInt(endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(startTimeUnixNano));
      expect(BigInt(startTimeUnixNano)).toBeGreaterThan(BigInt(Date.now() - 600_000) * 1_000_000n);
    }

    const graphql = await collector.trace(traceId(3));
    expect(graphql.map(({ name }) => name).sort()).toEqual(
      ['POST /graphql', 'SELECT Book', 'SELECT User', 'query'].sort(),
    );
    expect(attributes(graphql.find(({ name }) => name === 'query'))).toEqual({
      'graphql.operation.type': 'query',
      'graphql.operation.name': 'Two',
    });

    const created = await collector.trace(traceId(4));
    expect(created.map(({ name }) => name).sort()).toEqual(['INSERT Note', 'POST /notes']);
    expect((await collector.trace(traceId(5))).map(({ name }) => name)).toEqual(['GET']);

    // The rest was not to be traced, and nothing that was sent is in it.
    await Bun.sleep(1500);
    expect(new Set(collector.spans.map((span) => span.traceId))).toEqual(
      new Set([1, 2, 3, 4, 5].map(traceId)),
    );
    const [post] = collector.posts;
    expect(post?.headers.get('authorization')).toBe('Bearer let-me-in');
    expect(post?.headers.get('x-tenant')).toBe('a');
    expect(attributes(post?.body.resourceSpans[0].resource)['service.name']).toBe('books');
    expect(JSON.stringify(collector.posts)).not.toContain('secret-4711');
    const line = server.log.find(({ requestId }) => requestId === 'my-id');
    expect(line.traceId).toBe(traceId(4));
  }, 60_000);
});

test('a share of what nobody has decided about is traced: all of it', async () => {
  using folder = new Folder();
  using collector = new Collector();
  await using server = await Server.start(folder, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  for (let count = 0; count < 20; count++) await fetch(`${server.url}/books/1`);
  // What has not been sent yet goes out with the last.
  server.signal('SIGTERM');
  expect(await server.exited()).toBe(0);
  const requests = collector.spans.filter(({ kind }) => kind === 2);
  expect(new Set(requests.map((span) => span.traceId)).size).toBe(20);
  expect(requests.every((span) => span.parentSpanId === undefined)).toBe(true);
});

test('a collector that fails or is gone makes nobody wait, and is complained of once', async () => {
  using folder = new Folder();
  using collector = new Collector();
  collector.status = 500;
  await using server = await Server.start(folder, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  for (let round = 0; round < 3; round++) {
    for (let count = 0; count < 400; count++) expect((await fetch(`${server.url}/books/1`)).status).toBe(200);
    if (round === 1) collector[Symbol.dispose]();
  }
  for (let tries = 0; tries < 500; tries++) {
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    if (/^duet_spans_dropped_total [1-9]/m.test(metrics)) break;
    await Bun.sleep(10);
  }
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).toMatch(/^duet_spans_dropped_total [1-9]/m);
  expect(metrics).toMatch(/^duet_spans_sent_total 0$/m);
  server.signal('SIGTERM');
  expect(await server.exited()).toBe(0);
  const complaints = server.log.filter(({ message }) => message?.startsWith('spans are dropped'));
  expect(complaints.length).toBe(1);
}, 60_000);

describe('the comment of a traced request', () => {
  const write = JSON.stringify({
    operations: [1, 2].map(() => ({ method: 'POST', path: '/notes', body: { title: 'x' } })),
  });

  async function sentBy(server: Server & { url: string }, wire: Wire): Promise<string> {
    wire.sent = '';
    for (const headers of [traced(1, { 'X-Request-Id': 'of-mine' }), JSON_HEADERS])
      await fetch(`${server.url}/transaction`, { method: 'POST', headers, body: write });
    await fetch(`${server.url}/books/1`, { headers: traced(2, { 'X-Request-Id': 'of-another' }) });
    return wire.sent;
  }
  const comment = (index: number, id: string) =>
    new RegExp(`/\\*request_id='${id}',traceparent='00-${traceId(index)}-[0-9a-f]{16}-01'\\*/`);

  test('is at the beginning of its transaction, and no statement is prepared twice for it', async () => {
    using folder = new Folder();
    using collector = new Collector();
    const url = new URL(await (await sharedPostgres()).database());
    using wire = await Wire.start(Number(url.port));
    url.port = String(wire.port);
    const env = { DATABASE_URL: url.href, OTEL_TRACES_SAMPLER_ARG: '0' };
    {
      await using server = await Server.start(folder, {
        ...env,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      });
      const sent = await sentBy(server, wire);
      expect(sent).toMatch(new RegExp(`BEGIN ${comment(1, 'of-mine').source}`));
      expect(sent.match(/request_id/g)?.length).toBe(1);
      expect(sent).toContain('FROM "Book"');
    }
    // Without a collector there is none.
    await using server = await Server.start(folder, env);
    const sent = await sentBy(server, wire);
    expect([sent.includes('INSERT INTO "Note"'), sent.includes('request_id')]).toEqual([true, false]);
  }, 60_000);

  test.skipIf(!hasPgBouncer)(
    'is on every statement behind a pooler, where none is prepared',
    async () => {
      using folder = new Folder();
      using collector = new Collector();
      const url = new URL(await (await sharedPostgres()).database());
      using wire = await Wire.start(Number(url.port));
      await using pooler = await PgBouncer.start(wire.port, { sessions: 4 });
      await using server = await Server.start(folder, {
        DATABASE_URL: pooler.through(url.href),
        DATABASE_POOLER: 'transaction',
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_TRACES_SAMPLER_ARG: '0',
      });
      const sent = await sentBy(server, wire);
      expect(sent).toMatch(new RegExp(`FROM "Book"[^;]*${comment(2, 'of-another').source}`));
    },
    60_000,
  );
});

test('connections to PostgreSQL say whose they are', async () => {
  const url = await (await sharedPostgres()).database();
  const named = `${url}${url.includes('?') ? '&' : '?'}application_name=shop`;
  using folder = new Folder();
  const admin = new Bun.SQL(url, { max: 1 });
  for (const [given, expected] of [
    [url, 'duet'],
    [named, 'shop'],
  ] as const) {
    await using server = await Server.start(folder, { DATABASE_URL: given });
    await fetch(`${server.url}/books/1`);
    const rows = await admin.unsafe(
      'SELECT DISTINCT application_name AS name FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    expect(rows.map((row: { name: string }) => row.name)).toEqual([expected]);
    server.signal('SIGTERM');
    await server.exited();
  }
  await admin.close();
});

describe.each(databases)('slow statements, on %s', (kind) => {
  test('have a line with the request and a fingerprint, and no values', async () => {
    const app = await openApp(kind, { ...shipped, env: { LOG_SLOW: '0' } });
    const slow = () => app.observations.filter((each) => each.event === 'slow');
    const id = (name: string) => ({ 'X-Request-Id': name });
    const fingerprints: Record<string, Set<string>> = {};
    const asks: [name: string, () => Promise<unknown>, sql: RegExp][] = [
      ['keyed', () => app.rest('GET', '/books/1', undefined, id('keyed')), /FROM "Book"/],
      ['keyed', () => app.rest('GET', '/books/2', undefined, id('keyed')), /FROM "Book"/],
      ['keyed-2', () => app.graphql('{ book(id: 1) { title } }', {}, id('keyed-2')), /FROM "Book"/],
      ['keyed-3', () => app.rest('GET', '/books/1?fields=title', undefined, id('keyed-3')), /FROM "Book"/],
      ['list', () => app.rest('GET', '/books?pages[gte]=4711', undefined, id('list')), /FROM "Book"/],
      ['list', () => app.rest('GET', '/books?pages[gte]=4712', undefined, id('list')), /FROM "Book"/],
      ['tree', () => app.rest('GET', '/users?include=posts', undefined, id('tree')), /FROM "User"/],
      ['write', () => app.rest('POST', '/notes', { title: 'canary' }, id('write')), /INTO "Note"/],
      ['update', () => app.rest('PUT', '/notes/1', { title: 'canary' }, id('update')), /"Note"/],
    ];
    for (const [name, ask, sql] of asks) {
      app.observations.length = 0;
      // In a turn of its own: what comes at the end of one that others share is not put off.
      await Bun.sleep(1);
      await ask();
      const lines = slow();
      expect([name, lines.length > 0]).toEqual([name, true]);
      for (const line of lines) {
        expect([name, line.requestId]).toEqual([name, name]);
        expect(line.fingerprint).toMatch(/^[0-9a-f]{16}$/);
        expect(line.sql).not.toMatch(/canary|4711|4712/);
      }
      expect(lines[0]?.sql).toMatch(sql);
      fingerprints[name] ??= new Set();
      fingerprints[name].add(lines.map(({ fingerprint }) => fingerprint).join());
    }
    expect([fingerprints['keyed']?.size, fingerprints['list']?.size]).toEqual([1, 1]);
    // Those who come together are told apart, or share a statement that is told as the first one's.
    app.observations.length = 0;
    const names = Array.from({ length: 10 }, (_, index) => `at-once-${index}`);
    await Promise.all(
      names.map((name, index) => app.rest('POST', '/notes', { title: `${index}` }, id(name))),
    );
    const told = slow()
      .filter(({ sql }) => sql.includes('INTO "Note"'))
      .map(({ requestId }) => requestId)
      .sort();
    // PostgreSQL is sent them in groups.
    expect(told).toEqual(kind === 'sqlite' ? names : names.filter((name) => told.includes(name)));
    expect(told).toContain('at-once-0');
    await app.close();
  });

  test('are those alone that take so long', async () => {
    for (const env of [{ LOG_SLOW: '600000' }, {}]) {
      const app = await openApp(kind, { ...shipped, env });
      await app.rest('GET', '/books');
      expect(app.observations.filter((each) => each.event === 'slow')).toEqual([]);
      await app.close();
    }
  });
});
