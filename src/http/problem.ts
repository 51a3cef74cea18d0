/** An error as the JSON of RFC 9457, which every path but GraphQL's answers with. */

import { STATUS_CODES } from 'node:http';
import type { DuetError } from '../errors.ts';
import { type Exchange, JSON_TYPE } from './exchange.ts';

export function problem(error: DuetError, { requestId }: Exchange): Response {
  return new Response(JSON.stringify(problemBody(error, requestId)), {
    status: error.status,
    headers: { ...error.headers, 'Content-Type': JSON_TYPE },
  });
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
