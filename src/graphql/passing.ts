/** Lists of values that are passed on as their text: the executor would take them apart, and look at every item. */

import {
  type ExecutionResult,
  type GraphQLResolveInfo,
  getNullableType,
  isListType,
  responsePathAsArray,
} from 'graphql';
import { PassedJson } from '../base/passed.ts';

/** Part of the context of an execution: the lists, and where the answer has them. */
export interface Passing {
  readonly lists: { readonly at: GraphQLResolveInfo['path']; readonly list: PassedJson }[];
}

/** The value of a field as the executor takes it: an empty list stands for one that is passed on. */
export function taken(value: unknown, context: unknown, { path, returnType }: GraphQLResolveInfo): unknown {
  if (!(value instanceof PassedJson) || !isListType(getNullableType(returnType))) return value;
  (context as Passing).lists.push({ at: path, list: value });
  return [];
}

/** The answer with all of them in their places; one whose parent is null has none. */
export function withLists(result: ExecutionResult, { lists }: Passing): ExecutionResult {
  for (const { at, list } of lists) {
    const path = responsePathAsArray(at);
    const last = path.pop() ?? '';
    let parent: unknown = result.data;
    for (const key of path) parent = (parent as Record<string, unknown> | null | undefined)?.[key];
    if (parent) (parent as Record<string, unknown>)[last] = list;
  }
  return result;
}
