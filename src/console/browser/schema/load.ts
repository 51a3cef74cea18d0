/** Asks both doors to describe themselves, and what the caller may do. */

import { graphqlResult } from '../doors/graphql.ts';
import { restFault } from '../doors/rest.ts';
import { request } from '../doors/send.ts';
import { type Allowed, takeAllowed } from '../session.ts';
import { type Introspection, introspectionQuery } from './introspection.ts';
import { readSchema } from './merge.ts';
import type { OpenApi } from './openapi.ts';
import type { Schema } from './types.ts';

export async function loadSchema(): Promise<Schema> {
  const [document, introspection, allowed] = await Promise.all([
    described<OpenApi>('/openapi.json'),
    introspected(),
    described<Allowed>('/access.json'),
  ]);
  takeAllowed(allowed);
  return readSchema(document, introspection);
}

async function described<T>(path: string): Promise<T> {
  const response = await request({ door: 'rest', method: 'GET', path, headers: {} });
  if (!response.ok) throw await restFault(response);
  return (await response.json()) as T;
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
