/** `POST /transaction`: several writes, as REST would send them one by one, all of them or none. */

import type { Engine } from '../engine/execute.ts';
import type { Input, Write } from '../engine/operation.ts';
import { failedAt, type NamedWrite, ResultOf, WriteFailed } from '../engine/transaction.ts';
import { DuetError, type Fault, pointer, validationFailed } from '../errors.ts';
import { type BodyLimits, parseJsonObject, readBody } from '../http/body.ts';
import { JSON_TYPE, type Route } from '../http/exchange.ts';
import { idempotencyOf } from '../http/idempotency.ts';
import { problem } from '../http/problem.ts';
import { readKey } from '../schema/keys.ts';
import type { OperationKind } from '../schema/model.ts';
import { keptAs } from '../schema/values.ts';
import { versionsOf } from './etag.ts';
import type { Collection } from './parse.ts';
import { readPath } from './paths.ts';
import { created, deleted, updated } from './respond.ts';

export const kinds: Readonly<Record<string, OperationKind>> = {
  POST: 'CREATE',
  PUT: 'UPDATE',
  DELETE: 'DELETE',
};

export function transactionRoute(
  engine: Engine,
  collections: ReadonlyMap<string, Collection>,
  limits: BodyLimits,
): Route {
  return {
    failed: problem,
    methods: {
      POST: async (exchange) => {
        const { request, caller } = exchange;
        const bytes = await readBody(request, limits);
        const body = parseJsonObject(request, bytes, limits);
        const steps = readSteps(body, collections);
        const nodes = await engine
          .transact(caller, steps, idempotencyOf(exchange, 'transaction', bytes))
          .catch((error) => {
            if (error instanceof WriteFailed && error.reason instanceof DuetError)
              throw failedAt(error.index, error.reason);
            throw error;
          });
        const results = await Promise.all(nodes.map((node, index) => resultOf(steps[index], node)));
        return new Response(JSON.stringify({ results }), { headers: { 'Content-Type': JSON_TYPE } });
      },
    },
  };
}

interface Step extends NamedWrite {
  readonly from: Collection;
}

/** What the write would have answered alone. */
async function resultOf(step: Step | undefined, node: Record<string, unknown>) {
  if (!step) throw new Error('a result without its operation');
  const { operation, from } = step;
  const response =
    operation.do === 'create'
      ? created(from, node)
      : operation.do === 'update'
        ? updated(from, node)
        : deleted();
  const names = ['Location', 'ETag'].filter((name) => response.headers.has(name));
  const headers = Object.fromEntries(names.map((name) => [name, response.headers.get(name)]));
  const text = await response.text();
  return { status: response.status, headers, ...(text !== '' && { body: JSON.parse(text) }) };
}

function readSteps({ operations, ...others }: Input, collections: ReadonlyMap<string, Collection>): Step[] {
  const faults: Fault[] = [];
  for (const name of Object.keys(others).slice(0, 100))
    faults.push({
      pointer: pointer(name.slice(0, 100)),
      code: 'UNKNOWN',
      detail: 'the body holds only operations',
    });
  if (!Array.isArray(operations) || operations.length === 0)
    faults.push({
      pointer: '#/operations',
      code: 'REQUIRED',
      detail: 'operations must be a list of at least one',
    });
  const names = new Map<string, Collection>();
  const steps = (Array.isArray(operations) ? operations : []).flatMap((each, index) => {
    const reader = new StepReader(index, names, collections, faults);
    return reader.read(each) ?? [];
  });
  if (faults.length > 0) throw validationFailed(faults.slice(0, 100));
  return steps;
}

class StepReader {
  readonly #index: number;
  readonly #names: Map<string, Collection>;
  readonly #collections: ReadonlyMap<string, Collection>;
  readonly #faults: Fault[];

  constructor(
    index: number,
    names: Map<string, Collection>,
    collections: ReadonlyMap<string, Collection>,
    faults: Fault[],
  ) {
    this.#index = index;
    this.#names = names;
    this.#collections = collections;
    this.#faults = faults;
  }

  #report(at: readonly string[], code: Fault['code'], detail: string): undefined {
    this.#faults.push({ pointer: pointer('operations', this.#index, ...at), code, detail });
    return undefined;
  }

  read(step: unknown): Step | undefined {
    if (!isObject(step)) return this.#report([], 'TYPE', 'an operation must be an object');
    const { method, path, body, as, ifMatch, ...others } = step;
    for (const name of Object.keys(others).slice(0, 100))
      this.#report([name.slice(0, 100)], 'UNKNOWN', 'an operation has method, path, body, as and ifMatch');
    const kind = typeof method === 'string' && Object.hasOwn(kinds, method) ? kinds[method] : undefined;
    if (!kind) return this.#report(['method'], 'ENUM', 'method must be POST, PUT or DELETE');
    const found = typeof path === 'string' ? readPath(path) : undefined;
    const from = found && this.#collections.get(found.segment);
    if (
      !found ||
      !from ||
      (kind === 'CREATE') !== (found.key === undefined) ||
      !from.resource.operations.has(kind)
    )
      return this.#report(['path'], 'UNKNOWN', `path must be one that answers ${method}`);
    if (
      as !== undefined &&
      (typeof as !== 'string' || !/^[A-Za-z_]\w{0,99}$/.test(as) || this.#names.has(as))
    )
      return this.#report(['as'], 'FORMAT', 'as must be a name of its own, of letters, digits and _');
    if (ifMatch !== undefined && typeof ifMatch !== 'string')
      return this.#report(['ifMatch'], 'TYPE', 'ifMatch must be a string');
    const input = kind === 'DELETE' ? {} : this.#input(from, body);
    if (!input) return undefined;
    const name = typeof as === 'string' ? as : undefined;
    if (name !== undefined && kind !== 'DELETE') this.#names.set(name, from);
    return { operation: this.#write(from, kind, found.key ?? '', input, ifMatch), as: name, from };
  }

  #write(
    { resource, one: selection, fingerprint }: Collection,
    kind: OperationKind,
    text: string,
    input: Input,
    ifMatch: string | undefined,
  ): Write {
    if (kind === 'CREATE') return { do: 'create', resource, selection, input };
    const ifVersion = versionsOf(ifMatch ?? null, fingerprint);
    const on = { resource, selection, key: readKey(resource.key, text), ifVersion, refusal: undefined };
    return kind === 'DELETE' ? { do: 'delete', ...on } : { do: 'update', ...on, input };
  }

  /** `{"$ref": "u.id"}` is a value of an earlier result, except where any JSON may stand. */
  #input({ resource }: Collection, body: unknown): Input | undefined {
    if (!isObject(body)) return this.#report(['body'], 'REQUIRED', 'body must be an object');
    let fine = true;
    const entries = Object.entries(body).map(([name, value]) => {
      const column = resource.columns.find((each) => each.name === name);
      const isReference =
        isObject(value) && Object.hasOwn(value, '$ref') && column && keptAs(column) !== 'json';
      if (!isReference) return [name, value];
      const [write = '', field = ''] = String(value['$ref']).split('.');
      const target = this.#names.get(write)?.resource;
      if (!target?.columns.some((each) => each.name === field)) {
        fine = false;
        const known = [...this.#names.keys()].join(', ') || 'none';
        this.#report(
          ['body', name],
          'UNKNOWN',
          `$ref must be NAME.FIELD of an earlier operation; the names are ${known}`,
        );
      }
      return [name, new ResultOf(write, field)];
    });
    return fine ? Object.fromEntries(entries) : undefined;
  }
}

function isObject(value: unknown): value is Input {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
