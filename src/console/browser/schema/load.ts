/** Asks both doors to describe themselves. */

import { graphqlResult } from '../doors/graphql.ts';
import { restFault } from '../doors/rest.ts';
import { request } from '../doors/send.ts';
import { type Introspection, introspectionQuery } from './introspection.ts';
import { readSchema } from './merge.ts';
import type { OpenApi } from './openapi.ts';
import type { Schema } from './types.ts';

export async function loadSchema(): Promise<Schema> {
  const [document, introspection] = await Promise.all([openapi(), introspected()]);
  return readSchema(document, introspection);
}

async function openapi(): Promise<OpenApi | undefined> {
  const response = await request({ door: 'rest', method: 'GET', path: '/openapi.json', headers: {} });
  if (!response.ok) throw await restFault(response);
  return (await response.json()) as OpenApi;
}

/** A deployment may have closed this door. */
async function introspected(): Promise<Introspection | undefined> {
  const response = await request({
    door: 'graphql',
    method: 'POST',
    path: '/graphql',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: introspectionQuery }),
  });
  if (response.status === 404) return undefined;
  return (await graphqlResult(response)) as unknown as Introspection;
}
