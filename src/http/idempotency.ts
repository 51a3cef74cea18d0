/** The `Idempotency-Key` header of a request, with what the request is. */

import { type Fault, validationFailed } from '../base/errors.ts';
import type { Keyed } from '../engine/write/idempotency.ts';
import type { Exchange } from './exchange.ts';

/** Undefined when the client asks for no such care. */
export function idempotencyOf(
  { request, query }: Exchange,
  path: string,
  body: Uint8Array,
): Keyed | undefined {
  const key = request.headers.get('Idempotency-Key');
  if (key === null) return undefined;
  const refusal = /^[\x21-\x7e]{1,255}$/.test(key) ? undefined : validationFailed([UNUSABLE]);
  const hash = new Bun.CryptoHasher('sha256');
  // A natural key may have a line break, which would end its part.
  const named = path.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  for (const part of [request.method, named, query, request.headers.get('If-Match') ?? ''])
    hash.update(`${part}\n`);
  const excluded = request.headers.get('If-None-Match');
  if (excluded !== null) hash.update(`not ${excluded}\n`);
  hash.update(body);
  return { key, request: hash.digest('base64url'), refusal };
}

const UNUSABLE: Fault = {
  parameter: 'Idempotency-Key',
  code: 'FORMAT',
  detail: 'Idempotency-Key must be 1 to 255 visible ASCII characters',
};
