/** A request as it goes out, as a command to paste, and what is wrong when it fails. */

import type { Door } from '../schema/types.ts';

export interface Wire {
  readonly door: Door;
  readonly method: string;
  /** From the root of the origin. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly graphql?: { readonly query: string; readonly variables: Readonly<Record<string, unknown>> };
}

export interface FieldFault {
  readonly pointer?: string;
  readonly parameter?: string;
  /** Which of many records it is about. */
  readonly key?: string;
  readonly code: string;
  readonly detail: string;
}

/** An answer that is not what was asked for. */
export class Fault extends Error {
  readonly code: string;
  readonly status: number;
  readonly requestId: string | undefined;
  readonly errors: readonly FieldFault[];

  constructor(
    code: string,
    status: number,
    detail: string,
    more: { requestId?: string; errors?: readonly FieldFault[] } = {},
  ) {
    super(detail);
    this.code = code;
    this.status = status;
    this.requestId = more.requestId;
    this.errors = more.errors ?? [];
  }
}

/** Whether the service cannot answer just now: what it has answered before still holds. */
export function isAway({ status }: Fault): boolean {
  return status === 0 || status === 429 || status >= 500;
}

export function curlOf({ method, path, headers, body }: Wire, origin: string, token: boolean): string {
  const parts = [`curl${/[[\]{}]/.test(path) ? ' -g' : ''} ${quoted(origin + path)}`];
  const implied = body === undefined ? 'GET' : 'POST';
  if (method !== implied) parts.push(`-X ${method}`);
  // The token stays where it is: in the shell of whoever pastes this.
  if (token) parts.push('-H "Authorization: Bearer $TOKEN"');
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body !== undefined) parts.push(`-d ${quoted(body)}`);
  return parts.join(' \\\n  ');
}

/** Ends the shell's quote, adds a quoted quote, and begins again. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
