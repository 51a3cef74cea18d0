/** The paths beside the resources, as the API description tells them. */

import type { Code } from '../../base/errors.ts';
import { JSON_TYPE } from '../../http/answer.ts';
import { EVENT_TYPE } from '../../http/streams.ts';
import type { JsonSchema } from '../../schema/scalars.ts';
import { list } from './json-schema.ts';
import {
  byStatus,
  descriptionOf,
  type Failures,
  headersOf,
  idempotencyKey,
  stored,
  withHeaders,
} from './responses.ts';
import type { Schemas } from './schemas.ts';
import { guarded } from './security.ts';

export function servicePaths(
  schemas: Schemas,
  failures: Failures,
  graphql: boolean,
  trusted: Trusting,
  isGuarded: boolean,
): Record<string, JsonSchema> {
  const get = (
    operationId: string,
    summary: string,
    type: string,
    schema: JsonSchema,
    unguarded?: readonly Code[],
    headers = withHeaders([]),
  ): JsonSchema => ({
    get: {
      operationId,
      summary,
      tags: [SERVICE],
      responses: {
        200: { description: 'OK', headers, content: { [type]: { schema } } },
        ...(unguarded
          ? failures.unguarded([...unguarded, 'URL_TOO_LONG', 'INTERNAL'])
          : failures.of(['URL_TOO_LONG', 'INTERNAL'])),
      },
    },
  });
  const text = { type: 'string' };
  const compressed = withHeaders(['Vary']);
  const status = (word: string, more: JsonSchema = {}) => ({
    type: 'object',
    properties: { status: { const: word }, ...more },
    required: ['status'],
  });
  const replicas = { ...text, description: 'How many replicas can be used, where there are any.' };
  return {
    ...(graphql && {
      '/graphql': graphqlPath(schemas, trusted, failures.guard),
      '/schema.graphql': get('sdl', 'The GraphQL schema', 'text/plain', text, undefined, compressed),
    }),
    '/openapi.json': described(
      get('openapi', 'This description', JSON_TYPE, { type: 'object' }, undefined, compressed),
      failures,
    ),
    '/access.json': get('access', 'What the caller may do, by type and action', JSON_TYPE, {
      type: 'object',
      additionalProperties: list({ enum: ['READ', 'CREATE', 'UPDATE', 'DELETE', 'HISTORY', 'RUN'] }),
    }),
    '/': get(
      'console',
      'The console: the data and both doors, for people',
      'text/html',
      text,
      undefined,
      compressed,
    ),
    '/healthz': get('health', 'Whether the process lives', JSON_TYPE, status('ok'), []),
    '/readyz': get(
      'ready',
      'Whether the service can take requests',
      JSON_TYPE,
      status('ready', { replicas }),
      stored,
    ),
    '/metrics': guarded(
      get('metrics', 'Numbers about the service, for Prometheus', METRICS, text),
      isGuarded ? [] : undefined,
    ),
  };
}

function described({ get }: JsonSchema, failures: Failures): JsonSchema {
  const operation = get as { readonly responses: JsonSchema };
  const profile = {
    name: 'profile',
    in: 'query',
    description:
      'With `client`, only plain records are described, without what changes the shape of an answer, for code that is generated.',
    schema: { enum: ['client'] },
  };
  const responses = { ...operation.responses, ...failures.unguarded(['VALIDATION_FAILED']) };
  return { get: { ...operation, parameters: [profile], responses } };
}

type Trusting = 'no' | 'too' | 'only';

const METRICS = 'text/plain; version=0.0.4';

export const SERVICE = 'Service';

const graphqlTypes = [JSON_TYPE, 'application/graphql-response+json'];

const events = {
  type: 'string',
  description:
    'GraphQL over SSE, with a connection for each operation: an event `next` for each answer, and `complete`.',
};

function graphqlPath(schemas: Schemas, trusted: Trusting, guard: readonly Code[]): JsonSchema {
  const content = (schema: JsonSchema) => Object.fromEntries(graphqlTypes.map((type) => [type, { schema }]));
  const both: Code[] = [
    'VALIDATION_FAILED',
    'GRAPHQL_PARSE_FAILED',
    'GRAPHQL_VALIDATION_FAILED',
    'BAD_USER_INPUT',
    'OPERATION_RESOLUTION_FAILURE',
    'NOT_ACCEPTABLE',
    'URL_TOO_LONG',
    'INTERNAL',
    ...(trusted === 'no' ? [] : (['DOCUMENT_NOT_FOUND'] as const)),
    ...(trusted === 'only' ? (['DOCUMENT_NOT_TRUSTED'] as const) : []),
    ...guard,
  ];
  const body: Code[] = [
    'MALFORMED_BODY',
    'UNSUPPORTED_CONTENT_TYPE',
    'JSON_TOO_DEEP',
    'BODY_TOO_LARGE',
    'BODY_TOO_SLOW',
  ];
  const responses = (codes: readonly Code[]) => ({
    200: {
      description: 'The answer; errors that happened on the way to it are in it.',
      headers: withHeaders([]),
      content: { ...content(schemas.ref('GraphqlResponse')), [EVENT_TYPE]: { schema: events } },
    },
    ...Object.fromEntries(
      [...byStatus(codes)].map(([status, same]) => [
        status,
        {
          description: descriptionOf(status, same),
          headers: headersOf(status),
          content: content(schemas.ref('GraphqlResponse')),
        },
      ]),
    ),
  });
  const parameter = (name: string, description: string, more = {}) => ({
    name,
    in: 'query',
    description,
    schema: { type: 'string' },
    ...more,
  });
  const example = '{ __typename }';
  return {
    get: {
      operationId: 'graphqlQuery',
      summary: 'Run a GraphQL query',
      tags: [SERVICE],
      parameters: [
        ...(trusted === 'only'
          ? []
          : [parameter('query', 'The document.', { required: trusted === 'no', example })]),
        ...(trusted === 'no'
          ? []
          : [parameter('documentId', 'The id of a trusted document.', { required: trusted === 'only' })]),
        parameter('variables', 'A JSON object.'),
        parameter('operationName', 'Which operation of the document.'),
        parameter('extensions', 'A JSON object.'),
      ],
      responses: responses([...both, 'METHOD_NOT_ALLOWED']),
    },
    post: {
      operationId: 'graphql',
      summary: 'Run a GraphQL query or mutation',
      tags: [SERVICE],
      parameters: [idempotencyKey],
      requestBody: {
        required: true,
        content: {
          [JSON_TYPE]: {
            schema: schemas.ref('GraphqlRequest'),
            ...(trusted !== 'only' && { example: { query: example } }),
          },
        },
      },
      responses: responses([...both, ...body]),
    },
  };
}

export function serviceSchemas(schemas: Schemas, trusted: Trusting): Record<string, JsonSchema> {
  const map = { type: 'object' };
  const orNull = (type: string) => ({ type: [type, 'null'] });
  const error = {
    type: 'object',
    properties: {
      message: { type: 'string' },
      locations: list({
        type: 'object',
        properties: { line: { type: 'integer' }, column: { type: 'integer' } },
        required: ['line', 'column'],
      }),
      path: list({ type: ['string', 'integer'] }),
      extensions: map,
    },
    required: ['message'],
  };
  return {
    [schemas.name('GraphqlRequest')]: {
      type: 'object',
      properties: {
        ...(trusted !== 'only' && { query: { type: 'string' } }),
        ...(trusted !== 'no' && { documentId: { type: 'string' } }),
        variables: orNull('object'),
        operationName: orNull('string'),
        extensions: orNull('object'),
      },
      ...(trusted === 'too'
        ? { oneOf: [{ required: ['query'] }, { required: ['documentId'] }] }
        : { required: [trusted === 'only' ? 'documentId' : 'query'] }),
    },
    [schemas.name('GraphqlResponse')]: {
      type: 'object',
      properties: { data: orNull('object'), errors: { ...list(error), minItems: 1 }, extensions: map },
      anyOf: [{ required: ['data'] }, { required: ['errors'] }],
      additionalProperties: false,
    },
  };
}
