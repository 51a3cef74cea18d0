/** Functions of a deployment that run outside of any transaction: after a commit, by the clock, or when another service calls. */

import { readCron } from '../jobs/cron.ts';
import type { Slot } from '../jobs/queue.ts';
import { isObject, kindOf } from './kinds.ts';

export const afterNames = ['afterCreate', 'afterUpdate', 'afterDelete'] as const;
export type AfterName = (typeof afterNames)[number];

/** A function that may wait for anything. */
export interface Outside {
  readonly run: (...given: readonly unknown[]) => unknown;
  /** How many milliseconds it may take before somebody else may begin it again. */
  readonly timeout: number;
}

export type AfterLogic = Readonly<Partial<Record<AfterName, Outside>>>;

export interface Schedule extends Slot, Outside {}

export interface HookRoute {
  readonly method: string;
  /** Below `/hooks/`. */
  readonly path: string;
  readonly run: (request: Request, given: object) => unknown;
}

const TIMEOUT_MS = 5 * 60_000;
/** What `setTimeout` can wait for. */
const MOST_TIMEOUT_MS = 2 ** 31 - 1;

/** `async afterCreate({ record }) { … }`, or `{ timeout, run }` where it may take more or less than usual. */
export function readAfter(type: string, value: unknown, faults: string[]): Map<AfterName, Outside> {
  const found = new Map<AfterName, Outside>();
  for (const name of afterNames) {
    if (!isObject(value) || !Object.hasOwn(value, name)) continue;
    const written = `async ${name}({ record, api }) { … }`;
    const given = value[name];
    const outside = isObject(given)
      ? readOutside(`${type}.${name}`, given, ['timeout', 'run'], written, faults)
      : readRun(`${type}.${name}`, given, value, written, faults);
    if (outside) found.set(name, outside);
  }
  return found;
}

function readRun(
  where: string,
  given: unknown,
  self: object,
  written: string,
  faults: string[],
  timeout = TIMEOUT_MS,
): Outside | undefined {
  const kind = kindOf(given);
  const cure = `Write: ${written}`;
  if (kind === 'other') faults.push(`"${where}" must be a function. ${cure}`);
  else if (kind === 'generator')
    faults.push(
      `"${where}" is a generator, but runs outside of any transaction, where nothing is yielded to. ${cure}, and await api.… instead of yield* tx.…`,
    );
  else return { run: (given as Outside['run']).bind(self), timeout };
  return undefined;
}

function readOutside(
  where: string,
  given: Readonly<Record<string, unknown>>,
  known: readonly string[],
  written: string,
  faults: string[],
): Outside | undefined {
  const before = faults.length;
  for (const name of Object.keys(given))
    if (!known.includes(name))
      faults.push(`"${where}.${name}" is not known. There are: ${known.join(', ')}.`);
  const { timeout = TIMEOUT_MS, run } = given;
  if (typeof timeout !== 'number' || !(timeout >= 1 && timeout <= MOST_TIMEOUT_MS))
    faults.push(`"${where}.timeout" must be a number of milliseconds. Write: timeout: 60_000`);
  const outside = readRun(`${where}.run`, run, given, written, faults, Number(timeout));
  return faults.length === before ? outside : undefined;
}

/** `schedule: { nightly: { cron: '0 3 * * *', async run({ api }) { … } } }` */
export function readSchedules(value: unknown, faults: string[]): Schedule[] {
  if (value === undefined) return [];
  const written = "nightly: { cron: '0 3 * * *', async run({ api }) { … } }";
  if (!isObject(value)) {
    faults.push(`"schedule" must be an object of schedules. Write: schedule: { ${written} }`);
    return [];
  }
  return Object.entries(value).flatMap(([name, given]): Schedule[] => {
    const where = `schedule.${name}`;
    if (!isObject(given)) {
      faults.push(`"${where}" must be an object. Write: ${written}`);
      return [];
    }
    const { next, fault } = readCron(given['cron']);
    if (fault !== undefined)
      faults.push(`"${where}.cron": ${fault}. Write: cron: '0 3 * * *', which is every day at 3:00 UTC`);
    const outside = readOutside(where, given, ['cron', 'timeout', 'run'], 'async run({ api }) { … }', faults);
    return next && outside ? [{ ...outside, name: where, cron: String(given['cron']), after: next }] : [];
  });
}

const ROUTE = /^(GET|POST|PUT|PATCH|DELETE) (\/hooks\/[\w.~-]+(?:\/[\w.~-]+)*)$/;

/** `routes: { 'POST /hooks/payments': async (request, { api }) => new Response() }` */
export function readRoutes(value: unknown, faults: string[]): HookRoute[] {
  if (value === undefined) return [];
  const written = "'POST /hooks/payments': async (request, { api }) => new Response(null, { status: 204 })";
  if (!isObject(value)) {
    faults.push(`"routes" must be an object of functions. Write: routes: { ${written} }`);
    return [];
  }
  return Object.entries(value).flatMap(([name, given]): HookRoute[] => {
    const [, method, path] = ROUTE.exec(name) ?? [];
    if (method === undefined || path === undefined) {
      faults.push(`"routes['${name}']" is no method and path below /hooks/. Write: ${written}`);
      return [];
    }
    const outside = readRun(`routes['${name}']`, given, value, written, faults);
    return outside ? [{ method, path, run: outside.run as HookRoute['run'] }] : [];
  });
}
