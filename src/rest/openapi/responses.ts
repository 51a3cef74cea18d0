/** Answers as the API description tells them: headers, errors and the codes that each status can have. */

import {
  type Code,
  catalogue,
  DuetError,
  type Fault,
  faultCodes,
  validationFailed,
} from '../../base/errors.ts';
import { JSON_TYPE } from '../../http/answer.ts';
import { phrases, problemBody } from '../../http/problem.ts';
import type { Resource } from '../../schema/model.ts';
import type { JsonSchema } from '../../schema/scalars.ts';
import { list, object } from './json-schema.ts';
import type { Schemas } from './schemas.ts';

const REQUEST_ID = '6f1d2c1e-0f5b-4c60-9d0e-7d7b6a1c2f3a';

const text = { type: 'string' };

export const headers = {
  ETag: { description: 'The version of the record.', schema: text, example: '"1-2gf51tlcjlvq8"' },
  Location: {
    description: 'The path of the new record.',
    schema: { type: 'string', format: 'uri-reference' },
  },
  Link: {
    description: 'The next page (`rel="next"`), while there is one, and the page before (`rel="prev"`).',
    schema: text,
  },
  'Changes-Position': {
    description: 'Where to go on from: send it as `after`.',
    required: true,
    schema: text,
  },
  Vary: {
    description: 'What the answer depends on besides the path: `Accept`, `Accept-Encoding`.',
    required: true,
    schema: text,
  },
  'X-Total-Count': {
    description: 'With `count=true`: how many records match, whatever the page.',
    schema: { type: 'integer', minimum: 0 },
  },
  Deprecation: {
    description: 'Since when fields of these records are deprecated (RFC 9745).',
    schema: { type: 'string', pattern: '^@-?[0-9]+$' },
  },
  RateLimit: {
    description: 'What is left, and in how many seconds all of it is.',
    schema: text,
    example: '"caller";r=0;t=60',
  },
  'RateLimit-Policy': {
    description: 'How much there is, and for how many seconds.',
    schema: text,
    example: '"caller";q=600;w=60',
  },
  'WWW-Authenticate': {
    description: 'What credentials would do, and what is wrong with those that were sent (RFC 6750).',
    schema: text,
    example: 'Bearer error="invalid_token", error_description="The token has expired"',
  },
  'Retry-After': {
    description: 'After how many seconds to try again.',
    schema: { type: 'integer', minimum: 0 },
  },
} as const satisfies Record<string, JsonSchema>;

type HeaderName = keyof typeof headers;

/** The headers of an answer; `always` are in each such answer. */
export function withHeaders(
  always: readonly HeaderName[],
  sometimes: readonly HeaderName[] = [],
): JsonSchema {
  const ref = (name: HeaderName) => [name, { $ref: `#/components/headers/${name}` }];
  const own = always.map((name) =>
    'required' in headers[name] ? ref(name) : [name, { ...headers[name], required: true }],
  );
  return Object.fromEntries([...own, ...sometimes.map(ref)]);
}

export function errorSchemas(schemas: Schemas): Record<string, JsonSchema> {
  const fault = {
    description: 'What is wrong with one field or parameter.',
    ...object(
      [
        ['pointer', { type: 'string', description: 'Where in the body (RFC 6901).' }],
        ['parameter', { type: 'string', description: 'Which query parameter.' }],
        ['key', { type: 'string', description: 'Which of many records that are written alike.' }],
        ['code', { type: 'string', enum: Object.keys(faultCodes), description: listed(faultCodes) }],
        ['detail', text],
      ],
      { required: ['code', 'detail'] },
    ),
  };
  const meanings = Object.fromEntries(
    Object.entries(catalogue).map(([code, { meaning }]) => [code, meaning]),
  );
  const problem = {
    description: 'An error, with the members of RFC 9457.',
    ...object(
      [
        ['type', { type: 'string', format: 'uri' }],
        ['title', text],
        ['status', { type: 'integer' }],
        ['code', { type: 'string', enum: Object.keys(catalogue), description: listed(meanings) }],
        ['detail', text],
        ['requestId', text],
        [
          'operation',
          { type: 'integer', minimum: 0, description: 'Which operation of a transaction failed.' },
        ],
        ['errors', { ...list(schemas.ref('Fault')), minItems: 1 }],
      ],
      { required: ['type', 'title', 'status', 'code', 'detail', 'requestId'] },
    ),
  };
  return { [schemas.name('Fault')]: fault, [schemas.name('Problem')]: problem };
}

/** What any operation can answer; what any on records can; what any write can; what anything with a body can. */
export const always: readonly Code[] = ['URL_TOO_LONG', 'INTERNAL'];
export const stored: readonly Code[] = ['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'SCHEMA_OUTDATED'];
export const written: readonly Code[] = [
  ...stored,
  'OUTCOME_UNKNOWN',
  'IDEMPOTENCY_IN_PROGRESS',
  'IDEMPOTENCY_MISMATCH',
  'WRITE_TOO_LARGE',
];
const unreadable: readonly Code[] = [
  'MALFORMED_BODY',
  'UNSUPPORTED_CONTENT_TYPE',
  'JSON_TOO_DEEP',
  'BODY_TOO_LARGE',
  'BODY_TOO_SLOW',
];
export const bodied: readonly Code[] = ['VALIDATION_FAILED', ...unreadable];
const ofRecords: readonly Code[] = [
  ...bodied,
  ...always,
  ...written,
  'UNAUTHENTICATED',
  'NOT_FOUND',
  'CONFLICT',
  'VERSION_CONFLICT',
  'KEYS_EXHAUSTED',
  'TOO_MANY_OBJECTS',
  'ANSWER_TOO_LARGE',
  'QUERY_TOO_DEEP',
  'POSITION_EXPIRED',
];

export const idempotencyKey: JsonSchema = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'A name of this write: sent again with the same body, it is not done again but answered again.',
  schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
};

/** Whether only callers with a certain claim can create one. */
export function needsClaim({ columns }: Resource): boolean {
  return columns.some(({ origin, required }) => origin.by === 'claim' && required);
}

/** A response component for each set of codes that an operation can answer with under one status. */
export class Failures {
  /** What the guard at the door can answer, whatever is asked for. */
  readonly guard: readonly Code[];
  readonly #problem: JsonSchema;
  readonly #isPlain: boolean;
  readonly #named = new Map<string, string>();
  readonly #responses: Record<string, JsonSchema> = {};

  constructor(schemas: Schemas, guard: readonly Code[]) {
    this.#problem = schemas.ref('Problem');
    this.#isPlain = schemas.isPlain;
    this.guard = guard;
  }

  /** What has been referred to so far. */
  get all(): Readonly<Record<string, JsonSchema>> {
    return { ...this.#responses, [COMMON]: this.#ofRecords() };
  }

  of(codes: readonly Code[]): Record<string, JsonSchema> {
    return this.unguarded([...codes, ...this.guard]);
  }

  unguarded(codes: readonly Code[]): Record<string, JsonSchema> {
    return Object.fromEntries(
      [...byStatus(codes)].map(([status, same]) => [
        String(status),
        { $ref: `#/components/responses/${this.#name(status, same)}` },
      ]),
    );
  }

  /** `BadRequest`, `BadRequest2`. */
  #name(status: number, codes: readonly Code[]): string {
    const set = codes.join();
    let name = this.#named.get(set);
    if (name === undefined) {
      const wanted = (phrases[status] ?? String(status)).replaceAll(/\W/g, '');
      name = wanted;
      for (let next = 2; name in this.#responses; next++) name = `${wanted}${next}`;
      this.#named.set(set, name);
      this.#responses[name] = this.#response(status, codes);
    }
    return name;
  }

  /** There may be thousands of operations on records: what any of them can be answered with is said once. */
  #ofRecords(): JsonSchema {
    const codes = [...new Set([...ofRecords, ...this.guard])].sort();
    const schema = this.#isPlain
      ? this.#problem
      : { allOf: [this.#problem, { properties: { code: { enum: codes } } }] };
    return {
      description: [
        'An error.',
        ...[...byStatus(codes)].flatMap(([status, same]) => ['', `**${status}**`, '', ...meaningsOf(same)]),
      ].join('\n'),
      headers: withHeaders([], ['WWW-Authenticate', 'Retry-After', 'RateLimit', 'RateLimit-Policy']),
      content: { [JSON_TYPE]: { schema, examples: examplesOf(codes) } },
    };
  }

  #response(status: number, codes: readonly Code[]): JsonSchema {
    const narrowed = { properties: { status: { const: status }, code: { enum: codes } } };
    return {
      description: descriptionOf(status, codes),
      headers: headersOf(status),
      content: {
        [JSON_TYPE]: {
          schema: { allOf: [this.#problem, narrowed] },
          examples: examplesOf(codes),
        },
      },
    };
  }
}

const COMMON = 'Failure';

/** What operations on records, and actions, answer with whatever fails. */
export const FAILURE: JsonSchema = { $ref: `#/components/responses/${COMMON}` };

function examplesOf(codes: readonly Code[]): JsonSchema {
  return Object.fromEntries(codes.map((code) => [code, { value: problemBody(example(code), REQUEST_ID) }]));
}

export function byStatus(codes: readonly Code[]): Map<number, Code[]> {
  return Map.groupBy([...new Set(codes)].sort(), (code) => catalogue[code].status);
}

export function descriptionOf(status: number, codes: readonly Code[]): string {
  return [phrases[status], ...meaningsOf(codes)].join('\n');
}

function meaningsOf(codes: readonly Code[]): string[] {
  return codes.map((code) => `- \`${code}\`: ${catalogue[code].meaning}`);
}

export function headersOf(status: number): JsonSchema {
  if (status === catalogue.UNAUTHENTICATED.status) return withHeaders(['WWW-Authenticate']);
  if (status === catalogue.RATE_LIMITED.status)
    return withHeaders(['Retry-After', 'RateLimit', 'RateLimit-Policy']);
  return withHeaders([], status === catalogue.UNAVAILABLE.status ? ['Retry-After'] : []);
}

function example(code: Code): DuetError {
  const fault: Fault = {
    parameter: 'colour',
    code: 'UNKNOWN',
    detail: '"colour" is no parameter of this path.',
  };
  if (code === 'VALIDATION_FAILED') return validationFailed([fault]);
  return new DuetError(
    code,
    /^.*?[.:;](?= |$)/.exec(catalogue[code].meaning)?.[0].replace(/[:;]$/, '.') ?? code,
  );
}

function listed(meanings: Readonly<Record<string, string>>): string {
  return Object.entries(meanings)
    .map(([code, meaning]) => `- \`${code}\`: ${meaning}`)
    .join('\n');
}
