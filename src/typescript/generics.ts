/** The generic types that all others are written in terms of: what is asked for, and what an answer has by that. */

import type { Names } from './print.ts';

export function genericTypes(names: Names): string {
  const [order, asked, chosen, picked, related, known, only, aggregated, one] = [
    'SortOrder',
    'Asked',
    'Chosen',
    'Picked',
    'Related',
    'Known',
    'Only',
    'Aggregated',
    'OneOf',
  ].map((name) => names.of(name));
  const graph = '{ fields: object; related: object }';
  return `export type ${order} = 'ASC' | 'DESC';

/** \`select\`: these fields and related records alone. \`include\`: related records beside all fields. */
export interface ${asked}<G extends ${graph}, S, I> {
  select?: S & ${known}<G, S>;
  include?: I & ${known}<G, I>;
}

/** What an answer has, by what was asked for. */
export type ${chosen}<G extends ${graph}, S, I> = [S] extends [object]
  ? ${picked}<G, S> & ([I] extends [object] ? ${picked}<G, I> : unknown)
  : G['fields'] & ([I] extends [object] ? ${picked}<G, I> : unknown);

export type ${picked}<G extends ${graph}, S> = {
  [K in keyof S as S[K] extends false | undefined ? never : K]: K extends keyof G['fields']
    ? G['fields'][K]
    : K extends keyof G['related']
      ? ${related}<G['related'][K], S[K]>
      : never;
};

export type ${related}<R, O> = R extends [infer G extends ${graph}]
  ? ${chosen}<G, O extends { select: infer S } ? S : undefined, O extends { include: infer I } ? I : undefined>[]
  : R extends ${graph}
    ? ${chosen}<R, O extends { select: infer S } ? S : undefined, O extends { include: infer I } ? I : undefined>
    : R;

/** Makes an error of names that there are not. */
export type ${known}<G extends ${graph}, S> = {
  [K in keyof S]: K extends keyof G['fields']
    ? unknown
    : K extends keyof G['related']
      ? S[K] extends object
        ? {
            [O in keyof S[K]]: O extends 'select' | 'include'
              ? ${known}<${one}<G['related'][K]>, S[K][O]>
              : O extends 'where' | 'orderBy' | 'first' | 'offset'
                ? unknown
                : never;
          }
        : unknown
      : never;
};

export type ${one}<R> = R extends [infer G extends ${graph}] ? G : R extends ${graph} ? R : never;

export type ${only}<A, O> = { [K in keyof O]: K extends keyof A ? unknown : never };

/** One row of an aggregate, by what was asked for. */
export type ${aggregated}<N extends { by: object; count: number }, O> = {
  [K in keyof O & keyof N]: K extends 'count'
    ? number
    : { [F in (O[K] extends readonly (infer L)[] ? L : O[K]) & keyof N[K]]: N[K][F] };
} & (O extends { groupBy: infer B }
  ? { by: { [F in (B extends readonly (infer L)[] ? L : B) & keyof N['by']]: N['by'][F] } }
  : unknown);
`;
}
