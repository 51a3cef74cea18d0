/** Reads a request body within bounds and makes a JSON object of it. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { afterArrivals, inBatch } from '../base/batch.ts';
import { DuetError } from '../base/errors.ts';
import type { Soon } from '../base/soon.ts';
import { JSON_TYPE } from './answer.ts';
import type { Load } from './guard/load.ts';

export interface BodyLimits {
  /** Bytes. */
  readonly body: number;
  /** Milliseconds for all of it to arrive. */
  readonly bodyTime: number;
  readonly jsonDepth: number;
  readonly load: Load;
  readonly waits: BodyWaits;
}

/** What is still arriving past the limit is read and thrown away up to here, so that the client can read the answer. */
const DISCARD_LIMIT = 8 * 1024 * 1024;

/** Reads the body and uses it: at once where it came along with its request, as short ones do. */
export function readBody<T>(
  request: Request,
  limits: BodyLimits,
  use: (bytes: Uint8Array) => Soon<T>,
): Soon<T> {
  const reading = readWithin(request, limits.body);
  const body = Bun.peek(reading);
  if (body instanceof Uint8Array) return use(body);
  return waitedFor(request, reading, limits, use);
}

/** However slowly the client sends, the wait ends. It is no work either: slow clients must not shut others out. */
function waitedFor<T>(
  request: Request,
  reading: Promise<Uint8Array>,
  limits: BodyLimits,
  use: (bytes: Uint8Array) => Soon<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const { load, waits } = limits;
    const isOver = () => {
      if (!waits.delete(wait)) return false;
      load.inFlight++;
      return true;
    };
    const end = (error: unknown) => {
      if (!isOver()) return;
      reject(
        request.signal.aborted
          ? new DuetError('MALFORMED_BODY', 'The body ended early; send it again.')
          : error,
      );
    };
    const waiting = (bytes: number): Wait => ({
      limits,
      bytes,
      until: performance.now() + limits.bodyTime,
      end,
    });
    let wait = waiting(Math.min(announced(request), limits.body));
    load.inFlight--;
    waits.add(wait);
    reading.then((bytes) => {
      if (!waits.delete(wait)) return;
      // Bodies of many end in one turn, and what each asks for may take long. What waits for its batch still takes memory.
      wait = waiting(bytes.byteLength);
      waits.add(wait);
      const now = performance.now();
      const inItsName = AsyncLocalStorage.snapshot();
      inBatch(() => {
        if (!isOver()) return;
        try {
          // Who has waited is admitted anew.
          load.admit(now);
          resolve(inItsName(use, bytes));
        } catch (error) {
          reject(error);
        }
      });
      load.arrive(now);
    }, end);
  });
}

/** A body that is not worked on yet: it arrives, or its client has yet to read what was sent before. */
interface Wait {
  readonly limits: BodyLimits;
  /** What is kept of it at most meanwhile: the runtime does not tell how much has come. */
  readonly bytes: number;
  readonly until: number;
  /** Has to delete it. */
  readonly end: (error: DuetError) => void;
}

const TICK_MS = 100;

/** Those of one application, in the order of their ends, as all wait equally long; one clock costs less than one for each. */
export class BodyWaits {
  readonly #waits = new Set<Wait>();
  #clock: Timer | undefined;

  add(wait: Wait): void {
    const { load } = wait.limits;
    this.#waits.add(wait);
    load.arriving += wait.bytes;
    // Whoever has waited longest goes: bodies that are sent at once get through, however many are held back.
    for (const each of this.#waits) {
      if (!load.isCrowded) break;
      each.end(load.crowdOut());
    }
    this.#clock ??= setInterval(() => {
      const now = performance.now();
      for (const each of this.#waits) {
        if (each.until > now) return;
        each.end(tooSlow(each.limits));
      }
      clearInterval(this.#clock);
      this.#clock = undefined;
    }, TICK_MS);
  }

  /** Whether it was still waited for. */
  delete(wait: Wait): boolean {
    if (!this.#waits.delete(wait)) return false;
    wait.limits.load.arriving -= wait.bytes;
    return true;
  }
}

function tooSlow({ bodyTime }: BodyLimits): DuetError {
  // What is still to come of the body must not be taken for the next request (RFC 9110, section 15.5.9).
  return new DuetError('BODY_TOO_SLOW', `The body did not arrive within ${bodyTime} milliseconds.`, {
    headers: { Connection: 'close' },
  });
}

function readWithin(request: Request, limit: number): Promise<Uint8Array> {
  return announced(request) <= limit ? request.bytes() : readChunks(request, limit);
}

/** Bytes; a chunked body can have any number. */
function announced(request: Request): number {
  return Number(request.headers.get('Content-Length') ?? Number.POSITIVE_INFINITY);
}

async function readChunks(request: Request, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // A chunked body says nothing of its size beforehand: it is counted as it comes.
  for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size <= limit) chunks.push(chunk);
    else chunks.length = 0;
    if (size > Math.max(limit, DISCARD_LIMIT)) break;
    // Each chunk would be handed over on its own, however short it is; what else arrives in this turn comes as one.
    await afterArrivals();
  }
  if (size > limit) throw new DuetError('BODY_TOO_LARGE', `The body is larger than ${limit} bytes.`);
  return Buffer.concat(chunks);
}

/**
 * Reads what nobody has read of a body, and throws it away. When a connection is closed before that, the system tells the
 * client so at once, and what it has not yet received of the answer is lost.
 */
export async function discardBody(request: Request, bodyTime: number): Promise<void> {
  if (!request.body || request.bodyUsed) return;
  const reading = readChunks(request, 0).catch(() => {});
  let timer: Timer | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, bodyTime);
  });
  await Promise.race([reading, late]);
  clearTimeout(timer);
}

/** Throws MALFORMED_BODY and its kin; `bytes` may be anything. */
export function parseJsonObject(
  request: Request,
  bytes: Uint8Array,
  { jsonDepth }: BodyLimits,
): Record<string, unknown> {
  if (bytes.byteLength === 0)
    throw new DuetError('MALFORMED_BODY', `Send a JSON object as the body, with Content-Type: ${JSON_TYPE}.`);
  const type = request.headers.get('Content-Type') ?? '';
  if (mediaType(type) !== JSON_TYPE)
    throw new DuetError(
      'UNSUPPORTED_CONTENT_TYPE',
      `The body must be sent with Content-Type: ${JSON_TYPE}${type === '' ? '' : `, not ${type.slice(0, 100)}`}.`,
    );
  // What a body unpacks to has no bound, and one read as it is would be another than the client meant.
  const coding = request.headers.get('Content-Encoding') ?? 'identity';
  if (coding.toLowerCase() !== 'identity')
    throw new DuetError('UNSUPPORTED_CONTENT_TYPE', 'The body must be sent without Content-Encoding.');
  const text = decode(bytes);
  // Before JSON.parse: it takes any depth, and what it returns could then not be written out again.
  if (nestsDeeperThan(text, jsonDepth))
    throw new DuetError('JSON_TOO_DEEP', `The body nests deeper than ${jsonDepth} levels.`);
  const value = parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new DuetError('MALFORMED_BODY', 'The body must be a JSON object.');
  return value as Record<string, unknown>;
}

/** `Application/JSON; charset=utf-8` → `application/json`. */
function mediaType(header: string): string {
  if (header === JSON_TYPE) return header;
  return (header.split(';', 1)[0] ?? '').trim().toLowerCase();
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new DuetError('MALFORMED_BODY', 'The body is not UTF-8.');
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, which belongs neither in answers nor in logs.
    throw new DuetError('MALFORMED_BODY', 'The body is not valid JSON.');
  }
}

export function nestsDeeperThan(text: string, limit: number): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (inString) {
      if (char === 92) at++;
      else if (char === 34) inString = false;
    } else if (char === 34) inString = true;
    else if (char === 123 || char === 91) {
      depth++;
      if (depth > limit) return true;
    } else if (char === 125 || char === 93) depth--;
  }
  return false;
}
