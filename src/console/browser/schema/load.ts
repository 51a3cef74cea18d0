/** Asks both doors to describe themselves, and what the caller may do. */

import { signal } from '@preact/signals';
import { graphqlResult } from '../doors/graphql-answer.ts';
import { restFault } from '../doors/rest.ts';
import { exchange, patiently } from '../doors/send.ts';
import { type Fault, isAway, type Wire } from '../doors/wire.ts';
import { takeAllowed } from '../session.ts';
import { type Introspection, introspectionQuery } from './introspection.ts';
import { readSchema } from './merge.ts';
import type { OpenApi } from './openapi.ts';
import type { Allowed, Door, Schema } from './types.ts';

/** What each door says of itself. */
export const descriptions: Readonly<Record<Door, Wire>> = {
  rest: { door: 'rest', method: 'GET', path: '/openapi.json', headers: {} },
  graphql: {
    door: 'graphql',
    method: 'POST',
    path: '/graphql',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: introspectionQuery }),
    graphql: { query: introspectionQuery, variables: {} },
  },
};

async function loadSchema(): Promise<Schema> {
  const [document, introspection, allowed] = await Promise.all([
    patiently(() => described<OpenApi>(descriptions.rest)),
    patiently(introspected),
    patiently(() => described<Allowed>({ door: 'rest', method: 'GET', path: '/access.json', headers: {} })),
  ]);
  takeAllowed(allowed);
  return readSchema(document, introspection, allowed);
}

async function described<T>(wire: Wire): Promise<T> {
  const response = await exchange(wire);
  if (!response.ok) throw await restFault(response);
  return (await response.json()) as T;
}

/** A deployment may have closed this door. */
async function introspected(): Promise<Introspection | undefined> {
  const response = await exchange(descriptions.graphql);
  if (response.status === 404) return undefined;
  return (await graphqlResult(response)) as unknown as Introspection;
}

/** What is served, as it was told last; undefined at first. */
export const schema = signal<Schema | undefined>(undefined);
export const schemaFault = signal<Fault | undefined>(undefined);

const AGAIN_MS = 5000;

export async function refresh(): Promise<void> {
  try {
    schema.value = await loadSchema();
    schemaFault.value = undefined;
  } catch (error) {
    schemaFault.value = error as Fault;
    // Without it there is nothing to see: what was away, such as the database that knows the caller's key, may be back.
    if (!schema.value && isAway(error as Fault)) setTimeout(refresh, AGAIN_MS);
  }
}
