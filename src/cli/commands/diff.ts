/** What a change of the file means, in one report: tables, REST, GraphQL, and who may do what. */

import { BreakingChangeType, findSchemaChanges, type GraphQLSchema } from 'graphql';
import { ruleChanges } from '../../access/changes.ts';
import { faulting, openDeployment } from '../../app/deployment.ts';
import { readStoring } from '../../app/logic.ts';
import type { Observe } from '../../base/observe.ts';
import type { Config } from '../../config/config.ts';
import { graphqlDoor } from '../../graphql/schema.ts';
import { checksOf } from '../../query/checks.ts';
import { canonical } from '../../query/filter.ts';
import { admitSame, admitsAll } from '../../schema/admits.ts';
import type { Column, Model, OperationKind, Resource } from '../../schema/model.ts';
import { linkFields } from '../../schema/through.ts';
import { passesAll, passSame } from '../../schema/transitions.ts';
import { creatable, graphqlTypeName, neededOnCreate, scaleOf } from '../../schema/values.ts';
import type { Comparison } from '../../storage/evolve/compare.ts';
import { preview } from '../../storage/evolve/evolve.ts';
import { describe } from '../../storage/evolve/steps.ts';

/** Destructive: data is lost. Breaking: something that worked does so no more. */
export type Mark = 'safe' | 'breaking' | 'destructive';

export interface Change {
  readonly mark: Mark;
  readonly text: string;
}

export interface Report {
  readonly Tables: readonly Change[];
  readonly REST: readonly Change[];
  readonly GraphQL: readonly Change[];
  readonly Rules: readonly Change[];
}

export async function diff(config: Config, observe: Observe, print: (line: string) => void): Promise<void> {
  const { model, database } = await openDeployment(config, observe, {
    readOnly: true,
    model: await readStoring(config),
  });
  try {
    const { before, ...comparison } = await faulting(() => preview(database, model));
    const report = reportOf(before, model, comparison);
    for (const [surface, changes] of Object.entries(report)) {
      print(surface);
      for (const { mark, text } of changes) print(`  ${mark.padEnd(12)}${text}`);
      if (changes.length === 0) print('  no change');
    }
  } finally {
    await database.close();
  }
}

export function reportOf(before: Model | undefined, model: Model, comparison: Comparison): Report {
  return {
    Tables: tableChanges(comparison),
    REST: restChanges(before, model),
    GraphQL: graphqlChanges(before && schemaOf(before), schemaOf(model)),
    Rules: ruleChanges(before, model).map(({ narrows, text }) => ({
      mark: narrows ? 'breaking' : 'safe',
      text,
    })),
  };
}

function tableChanges({ steps, held, rewrites, refusals, prunable }: Comparison): Change[] {
  return [
    ...steps.map((step): Change => ({ mark: 'safe', text: describe(step) })),
    ...held.map(
      (step): Change => ({
        mark: 'safe',
        text: `only with \`duet migrate\`: ${describe(step)}, which another schema gave up`,
      }),
    ),
    ...rewrites.map(
      (step): Change => ({
        mark: 'safe',
        text: `only with \`duet migrate\`: ${describe(step)}, which rewrites the table`,
      }),
    ),
    ...refusals.map(
      ({ what, why, how }): Change => ({ mark: 'breaking', text: `refused: ${what}, but ${why}. ${how}.` }),
    ),
    ...prunable.map(
      (name): Change => ({
        mark: 'destructive',
        text: `only with --prune: drop ${name}, which is kept until then`,
      }),
    ),
  ];
}

function schemaOf(model: Model): GraphQLSchema | undefined {
  return graphqlDoor(model)?.schema;
}

function graphqlChanges(before: GraphQLSchema | undefined, after: GraphQLSchema | undefined): Change[] {
  if (!before || !after) {
    if (before === after) return [];
    return [after ? { mark: 'safe', text: 'new: /graphql' } : { mark: 'breaking', text: 'gone: /graphql' }];
  }
  return findSchemaChanges(before, after).map(({ type, description }) => ({
    mark: breakingTypes.has(type) ? 'breaking' : 'safe',
    text: description.replace(/\.$/, ''),
  }));
}

/** Additions, and what graphql-js calls dangerous, break no document that was valid. */
const breakingTypes: ReadonlySet<string> = new Set(Object.values(BreakingChangeType));

const methods: Record<OperationKind, (resource: Resource) => string> = {
  LIST: ({ path }) => `GET /${path}`,
  CREATE: ({ path }) => `POST /${path}`,
  GET: ({ path, key }) => `GET /${path}/{${key.name}}`,
  UPDATE: ({ path, key }) => `PUT /${path}/{${key.name}}`,
  DELETE: ({ path, key }) => `DELETE /${path}/{${key.name}}`,
};

function restChanges(before: Model | undefined, after: Model): Change[] {
  const old = routesOf(before);
  const now = routesOf(after);
  const changes: Change[] = [];
  for (const route of old.keys())
    if (!now.has(route)) changes.push({ mark: 'breaking', text: `gone: ${route}` });
  for (const route of now.keys()) if (!old.has(route)) changes.push({ mark: 'safe', text: `new: ${route}` });
  const seen = new Set<Resource>();
  for (const [route, resource] of now) {
    const was = old.get(route);
    if (!was || seen.has(resource)) continue;
    seen.add(resource);
    changes.push(...recordChanges(was, resource));
  }
  return changes;
}

function routesOf(model: Model | undefined): Map<string, Resource> {
  const routes = new Map<string, Resource>();
  for (const resource of model?.resources ?? [])
    if (resource.rest)
      for (const operation of resource.operations) routes.set(methods[operation](resource), resource);
  return routes;
}

function recordChanges(was: Resource, now: Resource): Change[] {
  const changes: Change[] = [];
  const say = (mark: Mark, column: Column, text: string) =>
    changes.push({ mark, text: `/${now.path} ${column.name}: ${text}` });
  const find = (resource: Resource, name: string) => resource.columns.find((column) => column.name === name);
  for (const column of was.columns) if (!find(now, column.name)) say('breaking', column, 'is gone');
  for (const column of now.columns) {
    const old = find(was, column.name);
    if (!old) {
      if (neededOnCreate(column)) say('breaking', column, 'is new and must be given on create');
      else say('safe', column, 'is new');
      continue;
    }
    if (typeOf(old) !== typeOf(column))
      say('breaking', column, `was ${typeOf(old)} and is ${typeOf(column)}`);
    else if (scaleOf(old) !== scaleOf(column))
      say(
        scaleOf(old) < scaleOf(column) ? 'safe' : 'breaking',
        column,
        `had ${scaleOf(old)} digits behind the point and has ${scaleOf(column)}`,
      );
    if (old.required && !column.required) say('breaking', column, 'can now be null in answers');
    if (!neededOnCreate(old) && neededOnCreate(column))
      say('breaking', column, 'must now be given on create');
    if (creatable(was).includes(old) && !creatable(now).includes(column))
      say('breaking', column, 'can no longer be written');
    if (!admitSame(old, column))
      say(admitsAll(old, column) ? 'safe' : 'breaking', column, 'admits other values');
    if ((old.folded === undefined) !== (column.folded === undefined))
      say('breaking', column, `is compared ${column.folded ? 'without' : 'with'} letter case`);
    if (!passSame(old, column))
      say(passesAll(old, column) ? 'safe' : 'breaking', column, 'changes in other ways');
    if (old.deprecated === undefined && column.deprecated !== undefined) say('safe', column, 'is deprecated');
  }
  const [links, linked] = [linkFields(now), linkFields(was)].map((fields) => fields.map(({ name }) => name));
  for (const name of linked ?? [])
    if (!links?.includes(name))
      changes.push({ mark: 'breaking', text: `/${now.path} ${name}: can no longer be written` });
  for (const name of links ?? [])
    if (!linked?.includes(name)) changes.push({ mark: 'safe', text: `/${now.path} ${name}: can be written` });
  const [checks, before] = [now, was].map(
    (resource) => new Map(checksOf(resource).map(({ where, message }) => [canonical(where), message])),
  ) as [Map<string, string>, Map<string, string>];
  const check = (mark: Mark, of: Map<string, string>, known: Map<string, string>, text: string) => {
    for (const [where, message] of of)
      if (!known.has(where)) changes.push({ mark, text: `/${now.path}: ${text} @check: ${message}` });
  };
  changes.push(...journalChanges(was, now));
  check('safe', before, checks, 'gone:');
  check('breaking', checks, before, 'new:');
  return changes;
}

/** What is kept for less long is dropped, as soon as somebody sweeps. */
function journalChanges({ journal: was }: Resource, { journal: now, path }: Resource): Change[] {
  if (!was || !now) {
    if (was) return [{ mark: 'breaking', text: `gone: GET /changes/${path}; what was kept stays, unseen` }];
    return now ? [{ mark: 'safe', text: `new: GET /changes/${path}` }] : [];
  }
  const [before, after] = [was, now].map(({ keepMs = Number.POSITIVE_INFINITY }) => keepMs) as [
    number,
    number,
  ];
  if (before === after) return [];
  return after < before
    ? [{ mark: 'destructive', text: `/changes/${path}: changes are kept for less long` }]
    : [{ mark: 'safe', text: `/changes/${path}: changes are kept for longer` }];
}

function typeOf(column: Column): string {
  return column.list ? `[${graphqlTypeName(column)}]` : graphqlTypeName(column);
}
