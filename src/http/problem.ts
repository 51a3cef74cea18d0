/** An error as the JSON of RFC 9457, which every path but GraphQL's answers with. */

import { STATUS_CODES } from 'node:http';
import type { DuetError } from '../errors.ts';
import { answer } from './answer.ts';
import type { Exchange } from './exchange.ts';

export function problem(error: DuetError, { requestId }: Exchange): Response {
  return answer(error.status, JSON.stringify(problemBody(error, requestId)), error.headers);
}

export function problemBody(error: DuetError, requestId: string) {
  const { status, code, message: detail, operation, errors } = error;
  return {
    type: 'about:blank',
    title: STATUS_CODES[status],
    status,
    code,
    detail,
    requestId,
    operation,
    errors,
  };
}
