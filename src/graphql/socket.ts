/** GraphQL over WebSocket (`graphql-transport-ws`): each operation is a request like any other, answered over SSE. */

import { DuetError } from '../base/errors.ts';
import { rewritten } from '../base/rewritten.ts';
import type { Soon } from '../base/soon.ts';
import { anonymous } from '../engine/caller.ts';
import { answerWithoutBody, isStreamed, JSON_TYPE } from '../http/answer.ts';
import type { BodyLimits } from '../http/body.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Connections } from '../http/guard/address.ts';
import type { Authenticate } from '../http/guard/authenticate.ts';
import { isForeign } from '../http/guard/cors.ts';
import { POSITION } from '../http/position.ts';
import { type Attendant, admitHandshake, type Socket } from '../http/sockets.ts';
import { EVENT_TYPE, isRefused, STALLED_MS, type Streams } from '../http/streams.ts';
import { credentialsIn, isHeader, type Message, messagesOf, parsed } from './socket-messages.ts';
import { SocketQueue } from './socket-queue.ts';

const PROTOCOL = 'graphql-transport-ws';
/** How long to wait for `connection_init`. */
const INIT_MS = 3000;
/** How long a client may take to say goodbye. */
const GOODBYE_MS = 1000;
const MOST_OPERATIONS = 1000;
const LONGEST_ID = 1000;
const UNREAD = [1013, 'Too much waits: read answers before asking for more'] as const;

export interface SocketOptions {
  readonly fetch: (request: Request, connections: Connections) => Soon<Response>;
  readonly authenticate: Authenticate | undefined;
  readonly streams: Streams;
  /** Whose pages may open one, beside those of the same host; null for no others. */
  readonly origins: readonly string[] | null;
}

/** Without the option of `Connection`, `Upgrade` says nothing (RFC 9110, section 7.8): a proxy would take what follows for answers. */
export function wantsSocket({ method, headers }: Request): boolean {
  const options = headers
    .get('Connection')
    ?.toLowerCase()
    .split(/[\s,]+/);
  const isMeant = method === 'GET' && options?.includes('upgrade') === true;
  return isMeant && headers.get('Upgrade')?.toLowerCase() === 'websocket';
}

/** Answers who wants a socket; the runtime has then begun to speak by itself. */
export function openSocket(
  options: SocketOptions,
  limits: BodyLimits,
  { request, connections }: Exchange,
): Response {
  // A page of any origin can open one, and CORS does not keep it from reading what comes.
  if (isForeign(request, options.origins))
    throw new DuetError('FORBIDDEN', 'Pages of this origin may not call: CORS_ORIGINS names those that may.');
  admitHandshake(request, PROTOCOL);
  const attendant = new GraphqlSocket(options, limits, request, connections?.requestIP(request)?.address);
  const headers = { 'Sec-WebSocket-Protocol': PROTOCOL };
  if (!upgraded(connections, request, { data: attendant, headers })) {
    attendant.closed();
    throw new DuetError(
      'UNAVAILABLE',
      'This server takes no WebSockets: its program must hand `websocket` to Bun.serve, and `server` to fetch. GraphQL over SSE does the same.',
    );
  }
  return answerWithoutBody(101);
}

/** The runtime throws where nobody is there to take sockets on. */
function upgraded(
  connections: Connections | undefined,
  request: Request,
  options: Parameters<NonNullable<Connections['upgrade']>>[1],
): boolean {
  try {
    return connections?.upgrade?.(request, options) ?? false;
  } catch {
    return false;
  }
}

class GraphqlSocket implements Attendant {
  readonly #options: SocketOptions;
  readonly #limits: BodyLimits;
  readonly #address: string | undefined;
  readonly #headers: Record<string, string>;
  /** Until it ends, for whatever reason. */
  readonly #stopped = new AbortController();
  readonly #operations = new Map<string, AbortController>();
  #socket: Socket | undefined;
  #isClosing = false;
  #state: 'new' | 'introducing' | 'acknowledged' = 'new';
  #introduction: Timer | undefined;
  /** Set while the client does not keep up. */
  #full: PromiseWithResolvers<void> | undefined;
  #stalled: Timer | undefined;
  /** Whether what it has yet to take counts as events. */
  #isBehind = false;
  readonly #drop = () => this.#socket?.terminate();
  readonly #queue: SocketQueue;
  /** When its token does, in milliseconds. */
  #expires = Number.POSITIVE_INFINITY;

  constructor(options: SocketOptions, limits: BodyLimits, { headers }: Request, address: string | undefined) {
    this.#options = options;
    this.#limits = limits;
    this.#queue = new SocketQueue(limits, () => this.#close(...UNREAD));
    this.#address = address;
    this.#headers = { 'Content-Type': JSON_TYPE, Accept: EVENT_TYPE };
    for (const name of ['Authorization', 'X-Forwarded-For', POSITION]) {
      const value = headers.get(name);
      if (value !== null) this.#headers[name] = value;
    }
    options.streams.open(this.#stopped, anonymous, null);
    options.streams.rest(this.#stopped, true);
    this.#stopped.signal.addEventListener('abort', () => this.#end(), { once: true });
  }

  opened(socket: Socket): void {
    this.#socket = socket;
    if (this.#stopped.signal.aborted) this.#end();
    this.#introduction = setTimeout(() => this.#close(4408, 'Connection initialisation timeout'), INIT_MS);
  }

  /** Only who has taken all of it keeps up: with every part that is taken another long answer would be handed over, uncounted. */
  drained(): void {
    clearTimeout(this.#stalled);
    const left = this.#socket?.getBufferedAmount() ?? 0;
    if (this.#isBehind) this.#options.streams.unread.note(this.#drop, left);
    if (left > 0) {
      this.#wait();
      return;
    }
    this.#isBehind = false;
    this.#full?.resolve();
    this.#full = undefined;
    this.#queue.resume();
  }

  closed(): void {
    clearTimeout(this.#introduction);
    this.#socket = undefined;
    this.drained();
    this.#stopped.abort();
    for (const operation of this.#operations.values()) operation.abort();
  }

  message(text: string): void {
    const { load } = this.#limits;
    const now = performance.now();
    load.arrive(now);
    if (!this.#queue.isBehind && load.hasTime(now)) this.#read(text);
    else this.#queue.later(text, () => this.#read(text));
  }

  #read(text: string): void {
    if (!this.#socket || this.#isClosing) return;
    const message = parsed(text, this.#limits.jsonDepth);
    switch (message?.type) {
      case 'connection_init':
        this.#introduce(message).catch(() => this.#close(1011, 'Internal error'));
        return;
      case 'ping':
        // Who sends these and reads nothing is not answered either.
        if (!this.#full) this.#send('{"type":"pong"}');
        return;
      case 'pong':
        return;
      case 'subscribe':
        this.#subscribe(message);
        return;
      case 'complete': {
        const { id = '' } = message;
        this.#operations.get(id)?.abort();
        // One that waits for its turn ends later.
        this.#operations.delete(id);
        return;
      }
      default:
        this.#close(4400, 'Invalid message');
    }
  }

  async #introduce({ payload }: Message): Promise<void> {
    if (this.#state !== 'new') return this.#close(4429, 'Too many initialisation requests');
    this.#state = 'introducing';
    clearTimeout(this.#introduction);
    const credentials = credentialsIn(payload);
    if (credentials !== undefined && !isHeader(credentials)) return this.#close(4403, 'Forbidden');
    if (credentials !== undefined) this.#headers['Authorization'] = credentials;
    // A request like any other, so that guesses at credentials are counted.
    const { status } = await this.#ask('{"query":"{ __typename }"}', new AbortController());
    if (status === 401 || status === 403) return this.#close(4403, 'Forbidden');
    if (status === 429 || status >= 500) return this.#close(1013, 'Try again later');
    try {
      const { Authorization = null } = this.#headers;
      const headers = new Headers(Authorization === null ? {} : { Authorization });
      const caller = (await this.#options.authenticate?.({ headers })) ?? anonymous;
      if (this.#stopped.signal.aborted) return;
      this.#options.streams.belong(this.#stopped, caller, Authorization);
      this.#expires = Number(caller.claims['exp'] ?? Number.POSITIVE_INFINITY) * 1000;
    } catch {
      return this.#close(4403, 'Forbidden');
    }
    this.#state = 'acknowledged';
    this.#send('{"type":"connection_ack"}');
  }

  #subscribe(message: Message): void {
    const { id = '' } = message;
    const fault = this.#faultOf(message);
    if (fault) {
      this.#close(...fault);
      return;
    }
    const operation = new AbortController();
    this.#operations.set(id, operation);
    this.#options.streams.rest(this.#stopped, false);
    this.#carryOut(id, rewritten(message.payload), operation)
      .catch(() => this.#close(1011, 'Internal error'))
      .finally(() => {
        operation.abort();
        if (this.#operations.get(id) === operation) this.#operations.delete(id);
        if (this.#operations.size === 0) this.#options.streams.rest(this.#stopped, true);
      });
  }

  #faultOf({ id = '', payload }: Message): [code: number, reason: string] | undefined {
    if (this.#state !== 'acknowledged') return [4401, 'Unauthorized'];
    const isNamed = id !== '' && id.length <= LONGEST_ID;
    if (!isNamed || typeof payload !== 'object' || payload === null) return [4400, 'Invalid message'];
    if (this.#operations.has(id)) return [4409, `Subscriber for ${id.slice(0, 80)} already exists`];
    return this.#operations.size < MOST_OPERATIONS ? undefined : [1013, 'Too many operations at once'];
  }

  /** Nothing is read for a client that does not keep up. */
  async #carryOut(id: string, body: string, operation: AbortController): Promise<void> {
    const leave = this.#queue.enter() ?? (await this.#queue.wait(body, operation.signal));
    try {
      // A database in this process answers at once: nothing else would have its turn.
      await this.#options.streams.turns.next();
      if (operation.signal.aborted) return;
      const response = await this.#ask(body, operation);
      if (isStreamed(response)) leave();
      await this.#pass(id, response, operation);
    } finally {
      leave();
    }
  }

  /** Sends what is answered, for as long as that goes on. */
  async #pass(id: string, response: Response, operation: AbortController): Promise<void> {
    const about = `{"id":${JSON.stringify(id)},"type":`;
    const isEvent = isStreamed(response);
    const send = async (rest: string, isWhole = false) => {
      while (this.#full && !isWhole) await this.#full.promise;
      if (!operation.signal.aborted) this.#send(about + rest, isEvent);
    };
    if (response.headers.get('Content-Type') !== EVENT_TYPE) {
      const { errors } = (await response.json()) as { readonly errors: unknown };
      return send(`"error","payload":${JSON.stringify(errors)}}`);
    }
    const begin = isEvent ? () => this.#whole() : undefined;
    for await (const { event, data, isWhole } of messagesOf(response, begin)) {
      if (event === 'next') await send(`"next","payload":${data}}`, isWhole);
      if (event !== 'complete') continue;
      // Its id can be used again by whoever reads this.
      this.#operations.delete(id);
      return send('"complete"}');
    }
    // Cut off: what the client has is no longer kept up to date. Its token may end it a moment before it ends the socket.
    if (operation.signal.aborted) return;
    if (this.#expires <= Date.now()) this.#close(4403, 'Forbidden');
    else this.#stopped.abort();
  }

  /** As if it had been sent by itself, from the same place. */
  async #ask(body: string, { signal }: AbortController): Promise<Response> {
    const { fetch } = this.#options;
    const length = { 'Content-Length': String(Buffer.byteLength(body)) };
    const headers = { ...this.#headers, ...length };
    const request = new Request('http://localhost/graphql', { method: 'POST', headers, body, signal });
    const address = this.#address;
    const place = address === undefined ? null : { address };
    // Once it is over, what is unsent of its answer counts no more.
    const response = await fetch(request, { requestIP: () => (signal.aborted ? null : place) });
    // What was written here is shown here from now on, by whichever server reads.
    const position = response.headers.get(POSITION);
    if (position !== null) this.#headers[POSITION] = position;
    return response;
  }

  /** A long message is sent as a whole, and so it is put together only for who keeps up, and before any other is. */
  async #whole(): Promise<() => void> {
    for (;;) {
      while (this.#full) await this.#full.promise;
      const leave = await this.#options.streams.whole();
      if (!this.#full) return leave;
      leave();
    }
  }

  /** `isEvent`: nothing else counts it until the client has taken it. */
  #send(text: string, isEvent = false): void {
    const socket = this.#socket;
    if (!socket) return;
    const sent = socket.send(text);
    // Whoever has lost an answer must not be told that it is complete.
    if (sent === 0) socket.terminate();
    if (sent >= 0) return;
    if (isEvent) {
      this.#isBehind = true;
      this.#options.streams.unread.note(this.#drop, socket.getBufferedAmount());
    }
    if (this.#full) return;
    this.#full = Promise.withResolvers();
    this.#queue.pause();
    this.#wait();
  }

  /** For a while: who takes nothing meanwhile is gone. */
  #wait(): void {
    this.#stalled = setTimeout(() => this.#socket?.terminate(), STALLED_MS);
  }

  /** By whoever ends streams: a client that may come back does. */
  #end(): void {
    if (isRefused(this.#stopped.signal)) this.#close(4403, 'Forbidden');
    else this.#close(1012, 'Service restart');
  }

  #close(code: number, reason: string): void {
    const socket = this.#socket;
    if (!socket || this.#isClosing) return;
    this.#isClosing = true;
    socket.close(code, reason);
    setTimeout(() => {
      if (this.#socket) socket.terminate();
    }, GOODBYE_MS).unref();
  }
}
