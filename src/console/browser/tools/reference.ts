/** The API reference, made from the OpenAPI document, in a document of its own. */

import { createApiReference } from '@scalar/api-reference';
import '@scalar/api-reference/style.css';
import { headers } from './headers.ts';

const send: typeof fetch = (input, init) => {
  const request = new Request(input, init);
  for (const [name, value] of Object.entries(headers())) request.headers.set(name, value);
  return fetch(request);
};

createApiReference('#reference', {
  url: '/openapi.json',
  theme: 'default',
  fetch: send,
} as never);
