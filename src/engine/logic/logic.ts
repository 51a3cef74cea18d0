/** What a deployment's `logic.ts` exports → the functions of each type, or every fault of it at once. */

import type { ActionField, Computed, Model, Resource } from '../../schema/model.ts';
import { didYouMean } from '../../schema/suggest.ts';
import { isObject, kindOf } from './kinds.ts';
import {
  type AfterLogic,
  afterNames,
  type HookRoute,
  readAfter,
  readRoutes,
  readSchedules,
  type Schedule,
} from './outside.ts';

/** A function of the user: it runs inside of the transaction, so it is a generator or needs nothing but what it is given. */
export type Inside = (...given: readonly unknown[]) => unknown;

export const hookNames = ['beforeCreate', 'beforeUpdate', 'beforeDelete'] as const;
export type HookName = (typeof hookNames)[number];

/** The functions of one type. */
export type TypeLogic = Readonly<Partial<Record<HookName, Inside>>>;

export interface Logic {
  readonly types: ReadonlyMap<Resource, TypeLogic>;
  readonly after: ReadonlyMap<Resource, AfterLogic>;
  readonly actions: ReadonlyMap<ActionField, Inside>;
  readonly schedules: readonly Schedule[];
  readonly routes: readonly HookRoute[];
}

export type LogicReading =
  | { readonly logic: Logic; readonly faults?: never }
  | { readonly logic?: never; readonly faults: readonly string[] };

/** Without a Model, because its file has faults of its own, only what can be told without one is. */
export function readLogic(exported: unknown, model: Model | undefined): LogicReading {
  const faults: string[] = [];
  const types = new Map<Resource, TypeLogic>();
  const after = new Map<Resource, AfterLogic>();
  if (!isObject(exported))
    return { faults: ['It exports nothing to go by. Write: export default { Book: { … } }'] };
  const names = model?.resources.map(({ name }) => name) ?? [];
  const actions = readActions(exported, model, faults);
  for (const [name, value] of Object.entries(exported)) {
    if (name === 'Query' || name === 'Mutation') continue;
    const resource = model?.byType.get(name);
    if (!resource && (name === 'schedule' || name === 'routes')) continue;
    if (model && !resource) {
      const cure = didYouMean(name, names) || ` There are: ${names.join(', ')}.`;
      faults.push(`"${name}" is no type of the schema file.${cure}`);
    }
    const functions = readType(name, value, resource, faults);
    const later = readAfter(name, value, faults);
    if (resource && functions) types.set(resource, functions);
    if (resource && later.size > 0) after.set(resource, Object.fromEntries(later));
  }
  const schedules = model?.byType.has('schedule') ? [] : readSchedules(exported['schedule'], faults);
  const routes = model?.byType.has('routes') ? [] : readRoutes(exported['routes'], faults);
  const rival = routes.length > 0 && model?.resources.find(({ rest, path }) => rest && path === 'hooks');
  if (rival)
    faults.push(
      `"routes" and the type ${rival.name} are both at /hooks. Choose another path for the type: @resource(path: "…")`,
    );
  for (const resource of model?.resources ?? []) readComputed(resource, exported[resource.name], faults);
  if (faults.length > 0) return { faults };
  if (model) noteHooks(model, [types, after]);
  return { logic: { types, after, actions, schedules, routes } };
}

/** Which functions a type has: nodes without one of them must not write its records. What the functions do, nobody can tell. */
function noteHooks(model: Model, of: readonly ReadonlyMap<Resource, object>[]): void {
  for (const resource of model.resources)
    resource.hooks = of.flatMap((functions) => Object.keys(functions.get(resource) ?? {})).sort();
  const all = model.resources.flatMap(({ name, hooks }) => hooks.map((hook) => `${name}.${hook}`));
  if (all.length > 0) model.generation = `${model.fingerprint}-${Bun.hash(all.join()).toString(36)}`;
}

/** Every computed field has its function, which needs nothing but the values that it is given. */
function readComputed({ name: type, ...resource }: Resource, value: unknown, faults: string[]): void {
  for (const each of [...resource.computed, ...resource.recomputed]) {
    const { name } = each.column;
    const given = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    const written = `${type}: { ${name}: ({ ${each.from.map((column) => column.name).join(', ')} }) => … }`;
    if (given === undefined)
      faults.push(
        `"${type}.${name}" is @computed in the schema file, and has no function. Write: ${written}`,
      );
    else if (kindOf(given) !== 'plain')
      faults.push(`"${type}.${name}" must be a plain function of these fields. Write: ${written}`);
    else each.compute = (given as Computed['compute'] & object).bind(value);
  }
}

/** Every action has its function, and every function its action. */
function readActions(
  exported: Readonly<Record<string, unknown>>,
  model: Model | undefined,
  faults: string[],
): Map<ActionField, Inside> {
  const found = new Map<ActionField, Inside>();
  for (const root of ['Query', 'Mutation'] as const) {
    const declared = new Map(
      model?.actions.filter((each) => each.root === root).map((each) => [each.name, each]),
    );
    const value = Object.hasOwn(exported, root) ? exported[root] : {};
    if (!isObject(value)) {
      faults.push(
        `"${root}" must be an object of functions. Write: ${root}: { *placeOrder({ tx }, args) { … } }`,
      );
      continue;
    }
    for (const [name, given] of Object.entries(value)) {
      const action = declared.get(name);
      const fault = faultOf(`${root}.${name}`, name, given);
      if (model && !action) {
        const field = `${name}: Boolean @action`;
        const cure = didYouMean(name, declared.keys()) || ` Add to its type ${root}: ${field}`;
        faults.push(`"${root}.${name}" is no @action of the schema file.${cure}`);
      } else if (fault) faults.push(fault);
      else if (action) found.set(action, (given as Inside).bind(value));
    }
    for (const [name, { arguments: args }] of declared)
      if (!Object.hasOwn(value, name)) {
        const taken = args.length > 0 ? `, { ${args.map((each) => each.name).join(', ')} }` : '';
        faults.push(
          `"${root}.${name}" is an @action of the schema file, and has no function. Write: ${root}: { *${name}({ tx }${taken}) { … } }`,
        );
      }
  }
  return found;
}

/** The types whose new records have a function that can fill in what clients may not give. */
export function filledTypes(exported: unknown): (type: string) => boolean {
  const has = (value: unknown) => isObject(value) && typeof value['beforeCreate'] === 'function';
  return (type) => isObject(exported) && Object.hasOwn(exported, type) && has(exported[type]);
}

function readType(
  type: string,
  value: unknown,
  resource: Resource | undefined,
  faults: string[],
): TypeLogic | undefined {
  if (!isObject(value)) {
    faults.push(
      `"${type}" must be an object of functions. Write: ${type}: { *beforeCreate({ input }) { … } }`,
    );
    return undefined;
  }
  const functions: Partial<Record<HookName, Inside>> = {};
  const { computed: made = [], recomputed = [] } = resource ?? {};
  const computed = [...made, ...recomputed].map(({ column }) => column.name);
  for (const [name, given] of Object.entries(value)) {
    const hook = hookNames.find((each) => each === name);
    const where = `${type}.${name}`;
    if (computed.includes(name) || afterNames.some((each) => each === name)) continue;
    if (!hook) {
      const known = [...hookNames, ...afterNames, ...computed];
      const guess = didYouMean(name, known);
      // Of a file that has faults itself it is not known which fields are computed.
      if (resource || guess)
        faults.push(`"${where}" is not known.${guess || ` There are: ${known.join(', ')}.`}`);
      continue;
    }
    const fault = faultOf(where, name, given);
    if (fault) faults.push(fault);
    else functions[hook] = (given as Inside).bind(value);
  }
  return functions;
}

/** Why it cannot run inside of a transaction, if it cannot. */
function faultOf(where: string, name: string, given: unknown): string | undefined {
  const kind = kindOf(given);
  if (kind === 'other')
    return `"${where}" must be a function, not ${given === null ? 'null' : `a ${typeof given}`}. Write: *${name}({ tx }) { … }`;
  if (kind === 'async')
    return `"${where}" is async, but runs inside of the transaction, where nothing can be waited for. Write: *${name}({ tx }) { … }, and yield* tx.… instead of await`;
  return undefined;
}
