/** The messages of a socket: what clients send, and the events of an answer, each of which is sent as a whole. */

import { PART } from '../base/parts.ts';
import { nestsDeeperThan } from '../http/body.ts';

export interface Message {
  readonly type?: unknown;
  readonly id?: string;
  readonly payload?: unknown;
}

/** What nests deep takes seconds to be written out again. */
export function parsed(text: string, depth: number): Message | undefined {
  if (nestsDeeperThan(text, 1 + depth)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return undefined;
    // An object can be one of which no text can be made.
    return !('id' in value) || typeof value.id === 'string' ? (value as Message) : undefined;
  } catch {
    return undefined;
  }
}

/** As a header would have them; browsers can send none with a socket. Null is how clients say that they have none. */
export function credentialsIn(payload: unknown): unknown {
  if (typeof payload !== 'object' || payload === null) return undefined;
  const [, value] = Object.entries(payload).find(([name]) => name.toLowerCase() === 'authorization') ?? [];
  return value ?? undefined;
}

/** Nobody has a token of other characters, and no header can. */
export function isHeader(value: unknown): value is string {
  return typeof value === 'string' && /^[\t\x20-\x7e]*$/.test(value);
}

interface SocketMessage {
  readonly event: string;
  readonly data: string;
  /** Whether it is long, and it was waited for that it may be put together. */
  readonly isWhole: boolean;
}

/** `begin` waits until a long one may be put together, and answers what is called when it was sent. */
export async function* messagesOf(
  response: Response,
  begin: (() => Promise<() => void>) | undefined,
): AsyncGenerator<SocketMessage> {
  const decoder = new TextDecoder();
  let text = '';
  let leave: (() => void) | undefined;
  try {
    for await (const bytes of response.body ?? []) {
      const part = decoder.decode(bytes, { stream: true });
      // A long event comes in many parts: all of it is looked through once, when its end is there.
      const hasEnd = part.includes('\n\n') || (part.startsWith('\n') && text.endsWith('\n'));
      text += part;
      if (!hasEnd) {
        if (text.length >= PART) leave ??= await begin?.();
        continue;
      }
      for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
        const [, event = '', data = ''] = /^event: (.*)\ndata: ?(.*)$/s.exec(text.slice(0, end)) ?? [];
        text = text.slice(end + 2);
        if (event !== '') yield { event, data, isWhole: leave !== undefined };
      }
      leave?.();
      leave = undefined;
    }
  } catch {
    // Broken off; the application has told why.
  } finally {
    leave?.();
  }
}
