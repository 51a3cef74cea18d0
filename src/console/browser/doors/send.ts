/** Sends asks through a door, and measures what they took. */

import { signal } from '@preact/signals';
import { type Answer, type Ask, isRead } from '../ask.ts';
import { wasRestored } from '../deleted.ts';
import { look } from '../presence.ts';
import type { Door, Schema } from '../schema/types.ts';
import { signInToWrite, token, wantToken, wasRefused } from '../session.ts';
import { graphqlWire } from './graphql.ts';
import { graphqlAnswer } from './graphql-answer.ts';
import { restAnswer, restWire } from './rest.ts';
import { Fault, type Wire } from './wire.ts';

/** What a request took. */
export interface Cost {
  readonly status: number;
  readonly ms: number;
  readonly bytes: number;
  readonly statements: number | undefined;
}

/** What was sent last through each door, by the request itself. */
export const costs = signal<ReadonlyMap<string, Cost>>(new Map());

/** What was done last: its view is left by then, and what it took is still worth knowing. */
export const lastWrite = signal<Ask | undefined>(undefined);

/** The ids of what this page has sent last, by which operators tell it from what others do. */
export const ownRequests = new Set<string>();

const KEPT_IDS = 500;

/** By the answer, which has the id. */
export function wasSent({ headers }: Response): void {
  const [oldest] = ownRequests;
  if (ownRequests.size >= KEPT_IDS && oldest !== undefined) ownRequests.delete(oldest);
  ownRequests.add(headers.get('X-Request-Id') ?? '');
}

/** How many requests are under way, for the line at the top. */
export const underWay = signal(0);

const KEPT_COSTS = 200;

export function wireOf(ask: Ask, through: Door, schema: Schema): Wire | undefined {
  return through === 'rest' ? restWire(ask, schema) : graphqlWire(ask, schema);
}

/** The door that was wished for, or the only one that the resource has. */
export function doorFor(ask: Ask, wished: Door, schema: Schema): Door {
  if (ask.do === 'list' && ask.as) return 'rest';
  const other = wished === 'rest' ? 'graphql' : 'rest';
  return wireOf(ask, wished, schema) ? wished : other;
}

export function costKey({ method, path, headers, body }: Wire): string {
  return JSON.stringify([method, path, headers, body]);
}

export function send(ask: Ask, through: Door, schema: Schema): Promise<Answer> {
  const once = () => sendOnce(ask, through, schema);
  return isRead(ask) ? patiently(once) : once();
}

/** A service that is busy, as it is when it has just been started, asks to be asked again in a second. */
const RETRY_MS = 1000;
/** By then it is not busy for a moment: whoever waits is told. */
const MOST_TRIES = 6;

/** Why somebody waits who was asked to ask again: told from the second time on. */
export const waitsFor = signal('');

/** Reads; what the service had no time for, it is asked again. */
export async function patiently<T>(read: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++)
    try {
      const answer = await read();
      waitsFor.value = '';
      return answer;
    } catch (error) {
      waitsFor.value = '';
      if (tries === MOST_TRIES || (error as Fault).code !== 'UNAVAILABLE') throw error;
      if (tries > 1) waitsFor.value = (error as Fault).message;
      underWay.value++;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      underWay.value--;
    }
}

async function sendOnce(ask: Ask, through: Door, schema: Schema): Promise<Answer> {
  const wire = wireOf(ask, doorFor(ask, through, schema), schema);
  if (!wire)
    throw new Fault(
      'NOT_OFFERED',
      405,
      `${(ask.do === 'act' ? ask.action : ask.resource).name} does not offer this.`,
    );
  const used = token.value;
  const before = costs.value;
  try {
    const response = await exchange(wire);
    const answer =
      wire.door === 'rest' ? await restAnswer(ask, response) : await graphqlAnswer(ask, response, schema);
    if (!isRead(ask)) lastWrite.value = ask;
    if (ask.do === 'restore') wasRestored(ask.resource, ask.key);
    return answer;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    // What the other door had answered before this was asked says nothing of what there is now.
    const other = isRead(ask) && wireOf(ask, wire.door === 'rest' ? 'graphql' : 'rest', schema);
    const old = other && before.get(costKey(other));
    costs.value = new Map([...costs.value].filter(([, cost]) => cost !== old));
    // In GraphQL it is a code in an answer of status 200.
    if (error.status === 401) {
      wantAnother(used);
      if (!isRead(ask)) signInToWrite();
    }
    // Fields that may not be given are told at their places, and the rest of the record may be.
    const isOfRecord = error.status === 403 && error.errors.length === 0;
    if (isOfRecord && (ask.do === 'update' || ask.do === 'delete'))
      wasRefused(ask.resource, ask.do === 'update' ? 'UPDATE' : 'DELETE', ask.key);
    throw error;
  }
}

/** Sends it with the wish to be told what it took. */
export async function exchange(wire: Wire): Promise<Response> {
  const started = performance.now();
  const response = await request(wire);
  // The whole answer, so that the time is what a client waits.
  const bytes = await response.arrayBuffer();
  remember(wire, response, started, bytes.byteLength);
  const { status, statusText, headers } = response;
  return new Response(status === 204 || status === 304 ? null : bytes, { status, statusText, headers });
}

export async function request(wire: Wire, signal?: AbortSignal): Promise<Response> {
  underWay.value++;
  const used = token.value;
  try {
    const response = await fetch(wire.path, {
      method: wire.method,
      headers: { ...authorization(), ...wire.headers, 'Duet-Trace': '1' },
      ...(wire.body !== undefined && { body: wire.body }),
      ...(signal && { signal }),
    });
    wasSent(response);
    // Whoever sends another token than the page's own hears of it themselves.
    if (response.status === 401 && !wire.headers['Authorization']) wantAnother(used);
    return response;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    void look();
    throw new Fault('UNREACHABLE', 0, 'The service cannot be reached. Is it running?');
  } finally {
    underWay.value--;
  }
}

/** Nobody is asked for a token because of an answer to the one before. */
function wantAnother(used: string): void {
  if (token.value === used) wantToken();
}

export function authorization(): Record<string, string> {
  return token.value === '' ? {} : { Authorization: `Bearer ${token.value}` };
}

/** For the dock, once the whole answer is there. */
export function remember(wire: Wire, response: Response, started: number, bytes: number): void {
  const cost: Cost = {
    status: response.status,
    ms: performance.now() - started,
    bytes,
    statements: statementsOf(response),
  };
  const all = [...costs.value, [costKey(wire), cost] as const];
  costs.value = new Map(all.slice(-KEPT_COSTS));
}

/** `Server-Timing: total;dur=1.2, db;desc="2 statements"` */
function statementsOf(response: Response): number | undefined {
  const count = /db;desc="(\d+)/.exec(response.headers.get('Server-Timing') ?? '')?.[1];
  return count === undefined ? undefined : Number(count);
}
