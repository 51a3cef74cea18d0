/** Which of the two media types of GraphQL over HTTP a client prefers (RFC 9110, section 12.5.1). */

import { JSON_TYPE } from '../http/exchange.ts';

export const GRAPHQL_TYPE = 'application/graphql-response+json';

export type MediaType = typeof JSON_TYPE | typeof GRAPHQL_TYPE;

/** Undefined when neither is acceptable. */
export function preferredType(accept: string | null): MediaType | undefined {
  if (accept === null || accept.trim() === '') return JSON_TYPE;
  const ranges = accept.split(',').map(readRange);
  const json = weigh(JSON_TYPE, ranges);
  const graphql = weigh(GRAPHQL_TYPE, ranges);
  if (json.quality === 0 && graphql.quality === 0) return undefined;
  if (graphql.quality !== json.quality) return graphql.quality > json.quality ? GRAPHQL_TYPE : JSON_TYPE;
  // Equal weights: named beats matched by a wildcard, then the one that is named first.
  return graphql.named && (!json.named || graphql.position < json.position) ? GRAPHQL_TYPE : JSON_TYPE;
}

interface Range {
  readonly type: string;
  readonly quality: number;
}

function readRange(text: string): Range {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith('q='));
  const quality = weight === undefined ? 1 : Number(weight.slice(2));
  return { type, quality: quality >= 0 && quality <= 1 ? quality : 0 };
}

/** The most specific range decides, whatever its place. */
function weigh(type: MediaType, ranges: readonly Range[]) {
  for (const pattern of [type, 'application/*', '*/*']) {
    const position = ranges.findIndex((range) => range.type === pattern);
    const range = ranges[position];
    if (range) return { quality: range.quality, named: pattern === type, position };
  }
  return { quality: 0, named: false, position: -1 };
}
