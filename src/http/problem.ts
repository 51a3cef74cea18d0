/** An error as the JSON of RFC 9457, which every path but GraphQL's answers with. */

import type { DuetError } from '../base/errors.ts';
import { answer } from './answer.ts';
import type { Exchange } from './exchange.ts';

/** Of RFC 9110 and its extensions, for the statuses of the catalogue; `node:http`, which has them too, is slow to load. */
export const phrases: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  412: 'Precondition Failed',
  413: 'Payload Too Large',
  414: 'URI Too Long',
  422: 'Unprocessable Entity',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
  507: 'Insufficient Storage',
};

export function problem(error: DuetError, { requestId }: Pick<Exchange, 'requestId'>): Response {
  return answer(error.status, JSON.stringify(problemBody(error, requestId)), error.headers);
}

export function problemBody(error: DuetError, requestId: string) {
  const { status, code, message: detail, operation, errors } = error;
  return {
    type: 'about:blank',
    title: phrases[status],
    status,
    code,
    detail,
    requestId,
    operation,
    errors,
  };
}
