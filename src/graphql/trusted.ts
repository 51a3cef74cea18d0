/** Trusted documents: known to the server beforehand, and named by clients (GraphQL over HTTP, appendix A). */

import type { Code } from '../base/errors.ts';
import type { Documents } from './documents.ts';

export interface Trusted {
  /** Texts by id. */
  readonly documents: ReadonlyMap<string, string>;
  /** Whether nothing else is carried out. */
  readonly only: boolean;
}

/** A hash can be named with its algorithm, and most tools write it without. */
const PREFIX = 'sha256:';

interface Refusal {
  readonly code: Code;
  readonly message: string;
}

/** The text of what a request asks for. */
export function textOf(
  { query, documentId }: { readonly query: string | undefined; readonly documentId: string | undefined },
  trusted: Trusted | undefined,
): string | Refusal {
  if (query !== undefined) {
    if (!trusted?.only) return query;
    return {
      code: 'DOCUMENT_NOT_TRUSTED',
      message: 'Only trusted documents are carried out here: send "documentId" instead of "query".',
    };
  }
  const id = documentId ?? '';
  const bare = id.startsWith(PREFIX) ? id.slice(PREFIX.length) : id;
  const text = trusted?.documents.get(id) ?? trusted?.documents.get(bare);
  return text ?? { code: 'DOCUMENT_NOT_FOUND', message: 'There is no trusted document with this id.' };
}

/** An object of texts by id, as Relay and most tools write it, or the manifest of Apollo's tools. */
export function readManifest(file: string, text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [id, body] of entriesOf(file, parsed(file, text))) {
    if (typeof id !== 'string' || typeof body !== 'string')
      throw new Error(`${file}: every document must have an id and a text`);
    if ((found.get(id) ?? body) !== body) throw new Error(`${file}: two documents have the id "${id}"`);
    found.set(id, body);
  }
  return found;
}

/** A document that the schema does not admit is told when the server starts, not when somebody needs it. */
export function refuseUnsound(file: string, documents: Trusted['documents'], checker: Documents): void {
  const faults = [...documents].flatMap(([id, text]) => {
    const { errors = [] } = checker.check(text);
    return errors.map(({ message }) => `${file}: document "${id}": ${message}`);
  });
  if (faults.length > 0) throw new Error(faults.join('\n'));
}

function parsed(file: string, text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`${file} is not valid JSON`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`${file} must be an object: of documents by id, or a persisted query manifest`);
  return value;
}

function entriesOf(file: string, manifest: object): [unknown, unknown][] {
  if (!('format' in manifest) || !('operations' in manifest)) return Object.entries(manifest);
  const { format, operations } = manifest;
  if (format !== 'apollo-persisted-query-manifest' || !Array.isArray(operations))
    throw new Error(`${file} has a format that is not known: apollo-persisted-query-manifest is`);
  return operations.map((operation) => [operation?.id, operation?.body]);
}
