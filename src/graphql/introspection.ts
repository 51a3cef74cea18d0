/** Introspection: who asks for nothing else, and what is told of it written in turns, so that nobody waits for all of it. */

import { Kind, type OperationDefinitionNode } from 'graphql';
import { hasParts, memberOf } from '../base/parts.ts';
import { jsonOf } from '../base/passed.ts';
import { Turns } from '../base/turns.ts';
import { costOfAnswer } from '../http/guard/rate-limits.ts';

/** Whether a document asks for the schema, which is long and says the same in many places. */
export function describes(text: string): boolean {
  return /__(?:schema|type)\b/.test(text);
}

/** Whether it asks for nothing else: what it is answered with is the same for every caller. */
export function onlyDescribes({ operation, selectionSet }: OperationDefinitionNode): boolean {
  const isOfSchema = /^__(?:schema|type|typename)$/;
  return (
    operation === 'query' &&
    selectionSet.selections.every((each) => each.kind === Kind.FIELD && isOfSchema.test(each.name.value))
  );
}

/** The levels of an answer above single fields: `data`, `__schema`, `types`, one of them, `fields`. */
const LEVELS = 5;

/** The data of a long answer as JSON, and what it costs; undefined where that takes too long. */
export async function written(
  data: unknown,
  deadline: number,
): Promise<{ json: string; units: number } | undefined> {
  const turns = new Turns();
  const pieces: string[] = [];
  let units = 0;
  function* write(value: object, levels: number): Generator<string> {
    const isList = Array.isArray(value);
    if (!isList) units += costOfAnswer({});
    yield isList ? '[' : '{';
    let separator = '';
    for (const [name, inner] of isList ? value.entries() : Object.entries(value)) {
      if (levels > 1 && hasParts(inner)) {
        yield isList ? separator : `${separator}${JSON.stringify(name)}:`;
        yield* write(inner, levels - 1);
      } else {
        units += costOfAnswer(inner);
        const member = memberOf(isList, name, inner);
        if (member === '') continue;
        yield separator + member;
      }
      separator = ',';
    }
    yield isList ? ']' : '}';
  }
  for (const piece of hasParts(data) ? write(data, LEVELS) : [jsonOf(data)]) {
    pieces.push(piece);
    const wait = turns.next();
    if (wait) await wait;
    if (wait && performance.now() > deadline) return undefined;
  }
  const json = pieces.join('');
  await turns.next();
  return { json, units };
}
