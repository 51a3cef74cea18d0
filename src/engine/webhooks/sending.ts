/** One attempt to tell a receiver of an event, as Standard Webhooks has it: signed, to an address that is allowed. */

import { createHmac } from 'node:crypto';
import { isIP } from 'node:net';
import packageFile from '../../../package.json' with { type: 'json' };
import { jsonOf } from '../../base/passed.ts';
import { allowedAddresses, NotAllowed } from './addresses.ts';
import { CLOUD_EVENT_TYPE, type CloudEvent } from './events.ts';

const SECRET_PREFIX = 'whsec_';
const SECRET_BYTES = 32;
const GONE = 410;
const DAY_MS = 86_400_000;

/** Whom to tell. */
export interface Receiver {
  readonly url: string;
  /** The newest first; each of them signs. */
  readonly secrets: readonly string[];
  readonly allowsPrivate: boolean;
}

/** Why an attempt has failed. What it says names no address of the receiver, which may hold a secret. */
export class Undelivered extends Error {
  readonly status: number | undefined;
  /** How many milliseconds the receiver asks to be left alone. */
  readonly retryAfter: number | undefined;

  constructor(message: string, status?: number, retryAfter?: number) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }

  /** It wants to be told nothing any more. */
  get isGone(): boolean {
    return this.status === GONE;
  }
}

export function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  return `${SECRET_PREFIX}${Buffer.from(bytes).toString('base64')}`;
}

/** Answers with the status, which is one of 2xx. Another address is tried with each attempt. */
export async function send(
  receiver: Receiver,
  event: CloudEvent,
  attempt: number,
  signal: AbortSignal,
): Promise<number> {
  const url = new URL(receiver.url);
  const addresses = await resolved(url, receiver.allowsPrivate);
  const address = addresses[(attempt - 1) % addresses.length] ?? '';
  const isNamed = isIP(url.hostname) === 0 && !url.hostname.startsWith('[');
  const { host, hostname } = url;
  url.hostname = isIP(address) === 6 ? `[${address}]` : address;
  const body = jsonOf(event);
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      Host: host,
      'Content-Type': `${CLOUD_EVENT_TYPE}; charset=utf-8`,
      'User-Agent': `Duet/${packageFile.version}`,
      ...signed(receiver.secrets, event.id, body),
    },
    body,
    redirect: 'manual',
    // Nobody reads what it says: neither is it asked to send it so, nor is a kilobyte made into a megabyte.
    decompress: false,
    // A connection that is kept for an address may be that of another name.
    keepalive: false,
    // The certificate must be that of the name, although the connection is to the address.
    ...(isNamed && url.protocol === 'https:' && { tls: { serverName: hostname } }),
    signal,
  }).catch((error) => {
    throw new Undelivered(`the receiver could not be reached (${codeOf(error)})`);
  });
  const { status, headers } = response;
  // What it says beyond the status is of no use, and may be endless.
  await response.body?.cancel().catch(() => {});
  if (response.ok) return status;
  const why = status >= 300 && status < 400 ? ', and redirects are not followed' : '';
  throw new Undelivered(`the receiver answered ${status}${why}`, status, readRetryAfter(headers));
}

async function resolved(url: URL, allowsPrivate: boolean): Promise<string[]> {
  try {
    return await allowedAddresses(url, allowsPrivate);
  } catch (error) {
    if (error instanceof NotAllowed) throw new Undelivered(error.message);
    throw new Undelivered(`the name of the receiver leads nowhere (${codeOf(error)})`);
  }
}

/** The message of the runtime would repeat the URL. */
function codeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return String(code ?? name);
}

function signed(secrets: readonly string[], id: string, body: string): Record<string, string> {
  const timestamp = Math.floor(Date.now() / 1000);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  };
}

/** Seconds or a date (RFC 9110, section 10.2.3); no longer than a day, or a receiver could hold its events back for ever. */
function readRetryAfter(headers: Headers): number | undefined {
  const text = headers.get('Retry-After')?.trim() ?? '';
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return ms > 0 ? Math.min(ms, DAY_MS) : undefined;
}
