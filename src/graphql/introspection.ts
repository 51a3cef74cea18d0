/** Introspection of a schema with thousands of types: made and written in turns, so that nobody waits for all of it. */

import { type GraphQLNamedType, type GraphQLSchema, isInterfaceType, isObjectType } from 'graphql';
import { Turns } from '../base/turns.ts';
import { costOfAnswer } from '../http/guard/rate-limits.ts';

/** More fields than that are told in turns too: the root types have some of each type. */
const MANY_FIELDS = 100;

/** Whether a document asks for the whole schema, which is long and says the same in many places. */
export function describes(text: string): boolean {
  return text.includes('__schema');
}

/**
 * The same schema, as the executor is to describe it: its types are promises, which are kept in turns. Everything but
 * `__schema { types }` sees the schema itself.
 */
export function inTurns(schema: GraphQLSchema): GraphQLSchema {
  return Object.create(schema, {
    getType: { value: (name: string) => schema.getType(name) },
    getTypeMap: {
      value: () => {
        const turns = new Turns();
        const types = Object.values(schema.getTypeMap());
        return promised(turns, types, (type) => withPromisedFields(turns, type));
      },
    },
  });
}

function withPromisedFields(turns: Turns, type: GraphQLNamedType): GraphQLNamedType {
  if (!isObjectType(type) && !isInterfaceType(type)) return type;
  const fields = Object.values(type.getFields());
  if (fields.length <= MANY_FIELDS) return type;
  return Object.create(type, { getFields: { value: () => promised(turns, fields, (field) => field) } });
}

/** Kept one after another. Whether one is deprecated is asked before that. */
function promised<T extends object>(turns: Turns, values: readonly T[], made: (value: T) => T): Promise<T>[] {
  const all = values.map((value) => {
    const { promise, resolve } = Promise.withResolvers<T>();
    const deprecationReason = 'deprecationReason' in value ? value.deprecationReason : undefined;
    return { promise: Object.assign(promise, { deprecationReason }), resolve: () => resolve(made(value)) };
  });
  void (async () => {
    for (const { resolve } of all) {
      resolve();
      // The executor completes it before this goes on.
      await undefined;
      await turns.next();
    }
  })();
  return all.map(({ promise }) => promise);
}

/** The levels of an answer above single types: `data`, `__schema`, `types`. */
const LEVELS = 3;

/** The data of a long answer as JSON, and what it costs. */
export async function written(data: unknown): Promise<{ json: string; units: number }> {
  const turns = new Turns();
  const pieces: string[] = [];
  let units = 0;
  const write = async (value: unknown, levels: number): Promise<void> => {
    if (levels === 0 || typeof value !== 'object' || value === null) {
      pieces.push(JSON.stringify(value));
      units += costOfAnswer(value);
      return turns.next();
    }
    const isList = Array.isArray(value);
    if (!isList) units += costOfAnswer({});
    pieces.push(isList ? '[' : '{');
    let separator = '';
    for (const [name, inner] of Object.entries(value)) {
      pieces.push(isList ? separator : `${separator}${JSON.stringify(name)}:`);
      await write(inner, levels - 1);
      separator = ',';
    }
    pieces.push(isList ? ']' : '}');
  };
  await write(data, LEVELS);
  const json = pieces.join('');
  await turns.next();
  return { json, units };
}
