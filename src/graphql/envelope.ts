/** What a GraphQL request asks to be carried out, from its body or from its URL. */

import { DuetError, type Fault, validationFailed } from '../base/errors.ts';
import { type BodyLimits, nestsDeeperThan } from '../http/body.ts';
import type { Trusted } from './trusted.ts';

export interface Envelope {
  /** One of the two is there. */
  readonly query: string | undefined;
  readonly documentId: string | undefined;
  readonly variables: Record<string, unknown> | undefined;
  readonly operationName: string | undefined;
}

export function readEnvelope(body: Record<string, unknown>, trusted: Trusted | undefined): Envelope {
  const { query, variables, operationName, extensions } = body;
  // Where there are no trusted documents, it is one of the keys that are ignored.
  const documentId = trusted ? (body['documentId'] ?? undefined) : undefined;
  if (documentId !== undefined && typeof documentId !== 'string')
    throw malformed('"documentId" must be a string');
  if (documentId !== undefined && query != null)
    throw malformed('"query" and "documentId" exclude each other');
  if (documentId === undefined && typeof query !== 'string')
    throw malformed('"query" must be a string with the operation');
  if (!isObjectOrAbsent(variables)) throw malformed('"variables" must be an object');
  if (!isObjectOrAbsent(extensions)) throw malformed('"extensions" must be an object');
  if (operationName != null && typeof operationName !== 'string')
    throw malformed('"operationName" must be a string');
  return {
    query: typeof query === 'string' ? query : undefined,
    documentId,
    variables: variables ?? undefined,
    operationName: operationName ?? undefined,
  };
}

/** Undefined where the URL names no document. An empty parameter is one that a client left empty: it says nothing. */
export function envelopeInUrl(
  search: string,
  trusted: Trusted | undefined,
  { jsonDepth }: BodyLimits,
): Envelope | undefined {
  const parameters = new URLSearchParams(search);
  const faults: Fault[] = [];
  const text = (name: string): string | undefined => {
    const [first, ...more] = parameters.getAll(name);
    if (more.length > 0)
      faults.push({ parameter: name, code: 'UNKNOWN', detail: `"${name}" is given twice` });
    return first === '' ? undefined : first;
  };
  const object = (name: string): Record<string, unknown> | undefined => {
    const json = text(name);
    const value = json === undefined ? undefined : parsed(json, jsonDepth);
    if (isObjectOrAbsent(value)) return value ?? undefined;
    const detail = `${name} must be a JSON object, nested at most ${jsonDepth} levels deep`;
    faults.push({ parameter: name, code: 'TYPE', detail });
    return undefined;
  };
  const query = text('query');
  const documentId = trusted && text('documentId');
  if (query === undefined && documentId === undefined) return undefined;
  if (query !== undefined && documentId !== undefined)
    faults.push({ parameter: 'documentId', code: 'UNKNOWN', detail: 'documentId does not go with query' });
  object('extensions');
  const envelope = {
    query,
    documentId,
    variables: object('variables'),
    operationName: text('operationName'),
  };
  if (faults.length > 0) throw validationFailed(faults);
  return envelope;
}

/** Whatever is no JSON is no object either. */
function parsed(json: string, depth: number): unknown {
  if (nestsDeeperThan(json, depth)) return json;
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

function isObjectOrAbsent(value: unknown): value is Record<string, unknown> | null | undefined {
  return value == null || (typeof value === 'object' && !Array.isArray(value));
}

function malformed(detail: string): DuetError {
  return new DuetError('MALFORMED_BODY', `In the body, ${detail}.`);
}
