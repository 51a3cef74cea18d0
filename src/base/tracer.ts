/** Spans of requests, sent to a collector of OpenTelemetry: OTLP over HTTP, as JSON, in batches that nobody waits for. */

import type { Metrics } from './metrics.ts';
import type { Observe } from './observe.ts';

export interface TracerOptions {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly service: string;
  readonly version: string;
  /** Which share of the requests is traced whose callers have not decided that. */
  readonly share: number;
  readonly observe: Observe;
}

/** One request within a trace. */
export interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  /** The span of whoever asks. */
  readonly parentId: string | undefined;
  readonly state: string | undefined;
}

type Attributes = Readonly<Record<string, string | number | undefined>>;

export interface Span {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'internal';
  /** In the time of `performance.now()`. */
  readonly started: number;
  readonly ended: number;
  readonly isError?: boolean;
  readonly attributes: Attributes;
}

/** How long spans are gathered, and how many go together at the most. */
const GATHER_MS = 1000;
const MOST_TOGETHER = 512;
/** More than wait for a collector that is slow or gone are dropped. */
const MOST_WAITING = 4096;
const PATIENCE_MS = 5000;
/** How long the end of the process waits for it. */
const CLOSE_MS = 1000;
/** How often the log says that the collector takes none. */
const COMPLAIN_MS = 60_000;

const KINDS = { internal: 1, server: 2, client: 3 } as const;
const ERROR = 2;

export class Tracer {
  readonly #options: TracerOptions;
  readonly #url: string;
  #waiting: object[] = [];
  #timer: Timer | undefined;
  #sending: Promise<void> | undefined;
  #complained = Number.NEGATIVE_INFINITY;
  #sent = 0;
  #dropped = 0;

  constructor(options: TracerOptions) {
    this.#options = options;
    this.#url = `${options.endpoint.replace(/\/$/, '')}/v1/traces`;
  }

  tell(metrics: Metrics): void {
    metrics.add('counter', 'duet_spans_sent_total', 'Spans that the collector took.', () => this.#sent);
    metrics.add('counter', 'duet_spans_dropped_total', 'Spans that it did not.', () => this.#dropped);
  }

  /** Undefined for a request that is not traced: whoever began the trace decides, otherwise the dice. */
  begin(headers: Headers): SpanContext | undefined {
    const given = headers.get('traceparent');
    const parent = given === null ? undefined : readParent(given);
    if (parent ? !parent.isSampled : Math.random() >= this.#options.share) return undefined;
    const state = parent && headers.get('tracestate');
    return {
      traceId: parent?.traceId ?? random(16),
      spanId: random(8),
      parentId: parent?.spanId,
      state: state && state.length <= 512 ? state : undefined,
    };
  }

  /** The span of the request itself. */
  end(context: SpanContext, span: Span): void {
    this.#add(context, context.spanId, context.parentId, span);
  }

  /** One within it. */
  within(context: SpanContext, span: Span): void {
    this.#add(context, random(8), context.spanId, span);
  }

  #add({ traceId, state }: SpanContext, spanId: string, parentSpanId: string | undefined, span: Span): void {
    if (this.#waiting.length >= MOST_WAITING) {
      this.#dropped++;
      return;
    }
    this.#waiting.push({
      traceId,
      spanId,
      parentSpanId,
      traceState: state,
      name: span.name,
      kind: KINDS[span.kind],
      startTimeUnixNano: nanoseconds(span.started),
      endTimeUnixNano: nanoseconds(span.ended),
      attributes: attributesOf(span.attributes),
      status: span.isError ? { code: ERROR } : {},
    });
    if (this.#waiting.length >= MOST_TOGETHER) void this.#flush();
    else this.#timer ??= setTimeout(() => void this.#flush(), GATHER_MS).unref();
  }

  /** What is still waiting is sent, if the collector takes it soon. */
  async close(): Promise<void> {
    const sent = Promise.resolve(this.#sending).then(() => this.#flush());
    await Promise.race([sent, Bun.sleep(CLOSE_MS)]);
  }

  /** One batch after the other: a collector that is late is not sent more at once. */
  #flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, MOST_TOGETHER);
      const fault = await this.#send(batch);
      if (fault === undefined) this.#sent += batch.length;
      else this.#lose(batch.length, fault);
    }
  }

  /** What went wrong, or nothing. */
  async #send(spans: readonly object[]): Promise<string | undefined> {
    const { service, version, headers } = this.#options;
    const resource = { attributes: attributesOf({ 'service.name': service, 'service.version': version }) };
    const scopeSpans = [{ scope: { name: 'duet', version }, spans }];
    try {
      const answer = await fetch(this.#url, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] }),
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      await answer.arrayBuffer();
      return answer.ok ? undefined : `it answered ${answer.status}`;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  #lose(count: number, why: string): void {
    this.#dropped += count;
    const now = performance.now();
    if (now - this.#complained < COMPLAIN_MS) return;
    this.#complained = now;
    const message = `spans are dropped, because the collector at ${this.#url} does not take them: ${why}`;
    this.#options.observe({ event: 'notice', message });
  }
}

/** As the W3C writes it (Trace Context, section 3.2). */
export function traceparent({ traceId, spanId }: SpanContext): string {
  return `00-${traceId}-${spanId}-01`;
}

/** Undefined for what the W3C would have ignored: then a trace begins here. Later versions may have more behind. */
function readParent(text: string) {
  const [, version, traceId = '', spanId = '', flags = '', more] =
    /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/.exec(text) ?? [];
  const isSound =
    version !== undefined &&
    version !== 'ff' &&
    (version !== '00' || more === undefined) &&
    !/^0+$/.test(traceId) &&
    !/^0+$/.test(spanId);
  return isSound ? { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 } : undefined;
}

function random(bytes: number): string {
  return crypto.getRandomValues(new Uint8Array(bytes)).toHex();
}

/** More digits than a number of JavaScript has. */
function nanoseconds(time: number): string {
  const at = performance.timeOrigin + time;
  const whole = Math.floor(at);
  return `${whole}${String(Math.floor((at - whole) * 1e6)).padStart(6, '0')}`;
}

function attributesOf(attributes: Attributes): object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined
      ? []
      : [{ key, value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value } }],
  );
}
