/** The catalogue: every error code Duet answers with, its HTTP status and its meaning; nothing else is thrown on purpose. */

interface Entry {
  readonly status: number;
  readonly meaning: string;
}

export const catalogue = {
  VALIDATION_FAILED: {
    status: 400,
    meaning: 'The input is readable but breaks a rule of the schema. `errors` names every fault at once.',
  },
  MALFORMED_BODY: {
    status: 400,
    meaning: 'The request body is absent, is not UTF-8 JSON, or is not a JSON object.',
  },
  UNSUPPORTED_CONTENT_TYPE: {
    status: 400,
    meaning: 'A body was sent without `Content-Type: application/json`.',
  },
  JSON_TOO_DEEP: {
    status: 400,
    meaning: 'The JSON body nests deeper than `LIMIT_JSON_DEPTH`.',
  },
  TOO_MANY_OBJECTS: {
    status: 400,
    meaning:
      'The answer would hold, or the request write, more objects than `LIMIT_OBJECTS`, nested ones included. Ask for fewer, or send fewer.',
  },
  ANSWER_TOO_LARGE: {
    status: 400,
    meaning:
      'The answer would have more bytes than `LIMIT_BYTES`, or than 100 KB at `/mcp`. Ask for pages of it, or for fewer fields.',
  },
  WRITE_TOO_LARGE: {
    status: 400,
    meaning:
      'One value for many records, or what the journal and after hooks keep of a transaction, is too long. Write fewer records at once.',
  },
  TOO_MANY_OPERATIONS: {
    status: 400,
    meaning: 'The transaction has more operations than `LIMIT_OPERATIONS`.',
  },
  TOO_MANY_TOKENS: {
    status: 400,
    meaning: 'GraphQL: the document has more tokens than `LIMIT_TOKENS`. Send long values as variables.',
  },
  QUERY_TOO_DEEP: {
    status: 400,
    meaning:
      'A GraphQL operation, or the `include` and `fields` of a read, nests fields deeper than `LIMIT_DEPTH`.',
  },
  INTROSPECTION_TOO_DEEP: {
    status: 400,
    meaning: 'GraphQL: `__schema` or `__type` nests fields deeper than `LIMIT_INTROSPECTION_DEPTH`.',
  },
  TOO_MANY_ALIASES: {
    status: 400,
    meaning: 'GraphQL: an operation has more aliases than `LIMIT_ALIASES`.',
  },
  TOO_MANY_ROOT_FIELDS: {
    status: 400,
    meaning: 'GraphQL: an operation has more root fields than `LIMIT_ROOT_FIELDS`.',
  },
  TOO_MANY_FIELDS: {
    status: 400,
    meaning: 'GraphQL: an operation has more fields on all levels than `LIMIT_FIELDS`.',
  },
  TOO_MANY_DIRECTIVES: {
    status: 400,
    meaning: 'GraphQL: an operation has more directives than `LIMIT_DIRECTIVES`.',
  },
  TOO_MANY_VALUES: {
    status: 400,
    meaning:
      'GraphQL: variables or fragments that are used in several places have more than 50,000 values again there. Send shorter lists and texts.',
  },
  NOT_LIVE: {
    status: 400,
    meaning:
      'The live answer would look at a type without `@journal`. Add it to that type, or ask for the plain answer.',
  },
  UNAUTHENTICATED: {
    status: 401,
    meaning:
      'The token or API key is not valid, or the operation needs one that says more; `WWW-Authenticate` tells why.',
  },
  FORBIDDEN: {
    status: 403,
    meaning: 'The caller is known, and may not do this.',
  },
  NOT_FOUND: {
    status: 404,
    meaning: 'No such path, or no record with this key.',
  },
  POSITION_EXPIRED: {
    status: 410,
    meaning:
      'Changes since this position are no longer kept (`@journal(keep:)`). Read the records again, and go on from now.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    meaning: 'The path exists but does not answer this method; the `Allow` header lists those that it does.',
  },
  NOT_ACCEPTABLE: {
    status: 406,
    meaning: 'The `Accept` header admits none of the media types that the endpoint can produce.',
  },
  BODY_TOO_SLOW: {
    status: 408,
    meaning: 'The request body did not arrive within `LIMIT_BODY_TIME` milliseconds.',
  },
  CONFLICT: {
    status: 409,
    meaning:
      'The write contradicts stored data (a taken value, a missing reference, records that point here), a newer schema, or a database trigger.',
  },
  IDEMPOTENCY_IN_PROGRESS: {
    status: 409,
    meaning: 'A request with the same `Idempotency-Key` is still under way; ask again later.',
  },
  TOO_MANY_MATCHES: {
    status: 409,
    meaning: 'A write on many records matches more of them than its `atMost` allows; none was touched.',
  },
  TOO_FEW_MATCHES: {
    status: 409,
    meaning: 'A write on many records matches fewer of them than its `atLeast` demands; none was touched.',
  },
  VERSION_CONFLICT: {
    status: 412,
    meaning:
      'The record has another version than `If-Match` or `ifVersion` states, or one that `If-None-Match` excludes: read it again, then write.',
  },
  BODY_TOO_LARGE: {
    status: 413,
    meaning: 'The request body is larger than `LIMIT_BODY` bytes.',
  },
  URL_TOO_LONG: {
    status: 414,
    meaning: 'The URL is longer than `LIMIT_URL` bytes.',
  },
  IDEMPOTENCY_MISMATCH: {
    status: 422,
    meaning: 'The `Idempotency-Key` was used within the last 24 hours for another request.',
  },
  RATE_LIMITED: {
    status: 429,
    meaning: 'The rate limit of the address or the caller is exceeded; retry after `Retry-After` seconds.',
  },
  INTERNAL: {
    status: 500,
    meaning:
      'An unexpected failure. The cause is in the server log under the request id, never in the answer.',
  },
  UNAVAILABLE: {
    status: 503,
    meaning:
      'The service cannot take the request now, and nothing was changed; try again after `Retry-After` seconds.',
  },
  DEADLINE_EXCEEDED: {
    status: 503,
    meaning:
      'The work took longer than `LIMIT_DEADLINE` and was ended, and nothing was changed. Ask for less, or by an indexed field.',
  },
  WRITE_HOLD_EXCEEDED: {
    status: 503,
    meaning:
      'On SQLite the write blocked others for longer than `LIMIT_WRITE_HOLD` and was ended; nothing was changed. Write less, or use an index.',
  },
  SCHEMA_OUTDATED: {
    status: 503,
    meaning:
      'The schema of this node is older than the database: it asks for what is gone, or knows too little to write. Another node may answer.',
  },
  OUTCOME_UNKNOWN: {
    status: 503,
    meaning:
      'The connection or the disk failed during a commit: the write may have happened. Retry with the same `Idempotency-Key`, or read first.',
  },
  KEYS_EXHAUSTED: {
    status: 507,
    meaning: 'The collection has assigned its last id (2^53-1) and can take no further record.',
  },
  GRAPHQL_PARSE_FAILED: {
    status: 400,
    meaning: 'GraphQL: the document is not valid GraphQL syntax.',
  },
  GRAPHQL_VALIDATION_FAILED: {
    status: 400,
    meaning: 'GraphQL: the document does not fit the schema.',
  },
  BAD_USER_INPUT: {
    status: 400,
    meaning: 'GraphQL: a variable or argument does not fit its declared type.',
  },
  OPERATION_RESOLUTION_FAILURE: {
    status: 400,
    meaning:
      'GraphQL: `operationName` names no operation of the document, or is missing where there are several.',
  },
  DOCUMENT_NOT_FOUND: {
    status: 400,
    meaning: 'GraphQL: `documentId` names no trusted document.',
  },
  DOCUMENT_NOT_TRUSTED: {
    status: 400,
    meaning: 'GraphQL: only trusted documents are carried out here; name one by `documentId`.',
  },
} as const satisfies Record<string, Entry>;

export type Code = keyof typeof catalogue;

/** What can be wrong with one field or parameter; these are the codes inside `errors`. */
export const faultCodes = {
  REQUIRED: 'A required value is missing or null.',
  TYPE: 'The value has the wrong JSON type; nothing is coerced.',
  OUT_OF_RANGE: 'The number is outside of what the type or a `@constraint` allows.',
  LENGTH: 'The text is shorter or longer than a `@constraint` allows.',
  PATTERN: 'The text does not match the pattern of a `@constraint`.',
  FORMAT: 'The text does not have the format that its type or a `@constraint` demands.',
  ENUM: 'The value is not one of the enum.',
  TEXT: 'The text holds a NUL character or half of a surrogate pair, which no database can keep.',
  UNKNOWN: 'There is no such field, parameter or operator here, or it does not go with another.',
  CURSOR: 'The text is not a cursor of this query: one belongs to its filter and order.',
  FORBIDDEN: 'The rules of the schema do not let the caller use this field so.',
  READ_ONLY: 'The server sets this field; clients cannot.',
  EMPTY: 'An update must change at least one field.',
  NOT_UNIQUE: 'Another record has this value, and it must be unique.',
  REFERENCE_NOT_FOUND: 'The record that this field refers to does not exist.',
  CHECK_FAILED: 'The record would break a `@check` of its type, whose message is told.',
  TRANSITION_NOT_ALLOWED:
    'The `@transitions` of the field do not let it go there from where it is, or start there.',
  STILL_REFERENCED: 'Other records refer to this one.',
  REFUSED: 'A function of the deployment (`logic.ts`) refuses this, and says why.',
} as const;

export type FaultCode = keyof typeof faultCodes;

/** One fault inside an error: `pointer` (RFC 6901, into the body) or `parameter` says where. */
export interface Fault {
  readonly pointer?: string;
  readonly parameter?: string;
  /** Which of many records it is about, as its path spells it. */
  readonly key?: string;
  readonly code: FaultCode;
  readonly detail: string;
}

interface Extras {
  readonly errors?: readonly Fault[];
  /** Which operation of a transaction it was. */
  readonly operation?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export class DuetError extends Error {
  override readonly name = 'DuetError';
  readonly code: Code;
  readonly errors: readonly Fault[] | undefined;
  readonly operation: number | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;

  constructor(code: Code, detail: string, extras: Extras = {}) {
    super(detail);
    this.code = code;
    this.errors = extras.errors?.slice(0, MOST_FAULTS);
    this.operation = extras.operation;
    this.headers = extras.headers;
  }

  get status(): number {
    return catalogue[this.code].status;
  }
}

/** What may be over when it is tried again. */
export function isPassing(error: unknown): boolean {
  return error instanceof DuetError && error.status === 503;
}

/** A body of a megabyte can hold a hundred thousand faults; nobody reads more than this many. */
const MOST_FAULTS = 100;

/** Whether there are more than anybody is told of: to go on looking for others would be work for nobody. */
export function isFull(faults: readonly unknown[]): boolean {
  return faults.length > MOST_FAULTS;
}

const LONGEST_CITATION = 100;

/** A client's own text inside of a message: a megabyte of it helps nobody. */
export function cited(text: string): string {
  return text.length > LONGEST_CITATION ? `${text.slice(0, LONGEST_CITATION).toWellFormed()}…` : text;
}

/** The same fault, told of a value inside of another. */
export function nested(fault: Fault, ...path: readonly (string | number)[]): Fault {
  return { ...fault, pointer: `${pointer(...path)}${(fault.pointer ?? '#').slice(1)}` };
}

/** The same fault, told of one of many records that are written alike. */
export function ofRecord(fault: Fault, key: unknown): Fault {
  return { ...fault, key: String(key) };
}

export function validationFailed(faults: readonly Fault[]): DuetError {
  const [first] = faults;
  const alone = first && (/[.?]$/.test(first.detail) ? first.detail : `${first.detail}.`);
  // What is wrong with each of many records is one thing.
  const things = new Set(
    faults.map(({ key, pointer, detail }, index) => (key === undefined ? index : `${pointer} ${detail}`)),
  );
  const count = isFull(faults) ? `More than ${MOST_FAULTS}` : things.size;
  const detail = things.size === 1 && alone ? alone : `${count} fields are invalid.`;
  return new DuetError('VALIDATION_FAILED', detail, { errors: faults });
}

/**
 * A JSON Pointer in URI fragment form (RFC 6901, section 6) would percent-encode too; readers of errors want the plain form. Names
 * that the client has made up are cited: no field has such a long one.
 */
export function pointer(...path: readonly (string | number)[]): string {
  const parts = path.map((part) => `/${cited(String(part)).replaceAll('~', '~0').replaceAll('/', '~1')}`);
  return `#${parts.join('')}`;
}
