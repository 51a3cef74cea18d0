/** The body of `POST /transaction` → the writes of it, with every fault reported; later ones may name results of earlier ones. */

import { cited, DuetError, type Fault, isFull, pointer, validationFailed } from '../base/errors.ts';
import type { Input, Selection, Write } from '../engine/operation.ts';
import { type NamedWrite, ResultOf } from '../engine/write/transaction.ts';
import { everything } from '../query/filter.ts';
import { readAtLeast, readAtMost } from '../query/list.ts';
import { WhereReader } from '../query/where.ts';
import { isRestorable } from '../schema/journal.ts';
import { readKey } from '../schema/keys.ts';
import type { ActionField, Column, OperationKind, Resource } from '../schema/model.ts';
import { INCREMENTS } from '../schema/names.ts';
import { linkFields } from '../schema/through.ts';
import { isScalar } from '../schema/values.ts';
import { actOf } from './actions.ts';
import type { Collection } from './collection.ts';
import { versionsOf } from './etag.ts';
import { isTooLong } from './links.ts';
import { parseOneParameters, readRestoredVersion, versionsToRestore } from './parse.ts';
import { readPath, readRestorePath } from './paths.ts';
import { type OneParameters, refuseParameters } from './query.ts';

type Path = readonly (string | number)[];

/** What an operation can have, by its method and by whether it is on one record or on many. */
const members: Readonly<Record<string, readonly string[]>> = {
  'CREATE one': ['body', 'as'],
  'UPDATE one': ['body', 'as', 'ifMatch'],
  'DELETE one': ['ifMatch'],
  'RESTORE one': ['body', 'as', 'ifMatch'],
  'CREATE many': ['body'],
  'UPDATE many': ['where', 'atMost', 'atLeast', 'body'],
  'DELETE many': ['where', 'atMost', 'atLeast'],
};

export const kinds: Readonly<Record<string, OperationKind>> = {
  POST: 'CREATE',
  PUT: 'UPDATE',
  DELETE: 'DELETE',
};

type StepKind = OperationKind | 'RESTORE';

function answers(resource: Resource, kind: StepKind, isOne: boolean): boolean {
  if (kind === 'RESTORE') return isRestorable(resource);
  return resource.operations.has(kind) && !(kind === 'CREATE' && isOne);
}

/** What is deleted alone is not answered with. */
const NOTHING: Selection = { columns: [], relations: [], rendered: { records: 0, columns: [], names: 0 } };

export interface Step extends NamedWrite {
  /** Undefined for an action. */
  readonly from: Collection | undefined;
  /** What is answered, where that is not the plain record. */
  readonly shape: Selection | undefined;
}

/** A result that later bodies can use, and the fields of it that were asked for. */
interface Named {
  readonly columns: readonly Column[];
}

export function readSteps(
  { operations, ...others }: Input,
  collections: ReadonlyMap<string, Collection>,
  actions: ReadonlyMap<string, ActionField>,
  longestPath: number,
): Step[] {
  const faults: Fault[] = [];
  for (const name of Object.keys(others)) {
    if (isFull(faults)) break;
    faults.push({ pointer: pointer(name), code: 'UNKNOWN', detail: 'the body holds only operations' });
  }
  if (!Array.isArray(operations) || operations.length === 0)
    faults.push({
      pointer: '#/operations',
      code: 'REQUIRED',
      detail: 'operations must be a list of at least one',
    });
  const names = new Map<string, Named>();
  const steps = (Array.isArray(operations) ? operations : []).flatMap((each, index) => {
    if (isFull(faults)) return [];
    const reader = new StepReader(index, names, collections, actions, longestPath, faults);
    return reader.read(each) ?? [];
  });
  if (faults.length > 0) throw validationFailed(faults);
  return steps;
}

class StepReader {
  readonly #index: number;
  readonly #names: Map<string, Named>;
  readonly #collections: ReadonlyMap<string, Collection>;
  readonly #actions: ReadonlyMap<string, ActionField>;
  readonly #longestPath: number;
  readonly #faults: Fault[];

  constructor(
    index: number,
    names: Map<string, Named>,
    collections: ReadonlyMap<string, Collection>,
    actions: ReadonlyMap<string, ActionField>,
    longestPath: number,
    faults: Fault[],
  ) {
    this.#index = index;
    this.#names = names;
    this.#collections = collections;
    this.#actions = actions;
    this.#longestPath = longestPath;
    this.#faults = faults;
  }

  #report(at: Path, code: Fault['code'], detail: string): undefined {
    if (isFull(this.#faults)) return undefined;
    this.#faults.push({ pointer: pointer('operations', this.#index, ...at), code, detail });
    return undefined;
  }

  read(step: unknown): Step | undefined {
    if (!isObject(step)) return this.#report([], 'TYPE', 'an operation must be an object');
    const { method, path, as } = step;
    if (typeof path === 'string' && isTooLong(path, this.#longestPath))
      return this.#report(['path'], 'LENGTH', `path must have ${this.#longestPath} characters at most`);
    const action = method === 'POST' && typeof path === 'string' ? this.#actions.get(path) : undefined;
    if (action) return this.#act(action, step);
    const [, plain = '', query = ''] = /^([^?]*)\??(.*)$/s.exec(typeof path === 'string' ? path : '') ?? [];
    const route = plain.replace(/(?<=.)\/$/, '');
    const restored = method === 'POST' ? readRestorePath(route) : undefined;
    const plainKind = typeof method === 'string' && Object.hasOwn(kinds, method) ? kinds[method] : undefined;
    const kind = restored ? 'RESTORE' : plainKind;
    if (!kind) return this.#report(['method'], 'ENUM', 'method must be POST, PUT or DELETE');
    const found = restored ?? readPath(route);
    const from = found && this.#collections.get(found.segment);
    if (!found || !from || !answers(from.resource, kind, found.key !== undefined))
      return this.#report(['path'], 'UNKNOWN', `path must be one that answers ${method}`);
    if (
      as !== undefined &&
      (typeof as !== 'string' || !/^[A-Za-z_]\w{0,99}$/.test(as) || this.#names.has(as))
    )
      return this.#report(['as'], 'FORMAT', 'as must be a name of its own, of letters, digits and _');
    const isMany = kind === 'CREATE' ? Array.isArray(step['body']) : found.key === undefined;
    const allowed = ['method', 'path', ...(members[`${kind} ${isMany ? 'many' : 'one'}`] ?? [])];
    for (const name of Object.keys(step)) {
      if (isFull(this.#faults)) break;
      if (!allowed.includes(name))
        this.#report([name], 'UNKNOWN', `this operation has ${allowed.join(', ')}`);
    }
    // Alone, a delete answers with nothing.
    const isPlain = kind === 'DELETE' && !isMany;
    const parameters = this.#parameters(from, kind, isPlain, query);
    if (!parameters) return undefined;
    const { shape } = parameters;
    if (isMany) {
      const operation = this.#many(from, kind, step, parameters);
      return operation && { operation, as: undefined, from, shape };
    }
    const operation = this.#one(from, kind, found.key ?? '', step, parameters);
    if (!operation) return undefined;
    if (typeof as === 'string' && kind !== 'DELETE')
      this.#names.set(as, { columns: shape?.columns ?? from.resource.columns });
    return { operation, as, from, shape };
  }

  #act(action: ActionField, step: Input): Step | undefined {
    for (const name of Object.keys(step))
      if (!['method', 'path', 'body'].includes(name))
        return this.#report([name], 'UNKNOWN', 'an action has only method, path and body');
    const { body = {} } = step;
    if (!isObject(body)) return this.#report(['body'], 'TYPE', 'body must be an object');
    const before = this.#faults.length;
    const args = Object.entries(body).map(([name, value]) => {
      const slot = action.arguments.find((each) => each.name === name);
      return [name, slot?.is === 'value' ? this.#scalar(slot.column, value, ['body', name]) : value];
    });
    if (this.#faults.length > before) return undefined;
    return {
      operation: actOf(action, Object.fromEntries(args)),
      as: undefined,
      from: undefined,
      shape: undefined,
    };
  }

  #parameters(from: Collection, kind: StepKind, isPlain: boolean, query: string): OneParameters | undefined {
    const { resource } = from;
    try {
      if (!isPlain) return parseOneParameters(from, query, kind === 'CREATE');
      refuseParameters(resource, query);
      return { shape: undefined, by: undefined };
    } catch (error) {
      if (!(error instanceof DuetError)) throw error;
      for (const { code, detail } of error.errors ?? []) this.#report(['path'], code, detail);
      if (!error.errors) throw error;
      return undefined;
    }
  }

  #one(
    from: Collection,
    kind: StepKind,
    text: string,
    { body, ifMatch }: Input,
    { shape, by }: OneParameters,
  ): Write | undefined {
    const { resource, fingerprint } = from;
    const selection = shape ?? from.one;
    if (ifMatch !== undefined && typeof ifMatch !== 'string')
      return this.#report(['ifMatch'], 'TYPE', 'ifMatch must be a string');
    if (kind === 'RESTORE') return this.#restore(from, text, body, ifMatch ?? null, selection);
    const input = kind === 'DELETE' ? {} : this.#input(from.resource, body, ['body']);
    if (!input) return undefined;
    if (by) return { do: 'upsert', resource, selection, by, input };
    if (kind === 'CREATE') return { do: 'create', resource, selection, input, through: 'rest' };
    const ifVersion = versionsOf(ifMatch ?? null, fingerprint);
    const on = { resource, selection, key: readKey(resource.key, text), ifVersion, refusal: undefined };
    return kind === 'DELETE' ? { do: 'delete', ...on, selection: NOTHING } : { do: 'update', ...on, input };
  }

  #restore(
    from: Collection,
    text: string,
    body: unknown = {},
    ifMatch: string | null,
    selection: Selection,
  ): Write | undefined {
    const { resource } = from;
    if (!isObject(body)) return this.#report(['body'], 'TYPE', 'body must be an object');
    const before = this.#faults.length;
    const version = readRestoredVersion(body, (name, ...told) => this.#report(['body', name], ...told));
    if (this.#faults.length > before) return undefined;
    const key = readKey(resource.key, text);
    const ifVersion = versionsToRestore(ifMatch, from);
    return { do: 'restore', resource, key, version, ifVersion, selection, refusal: undefined };
  }

  /** A list of new records, or a filter with the most that it may match. */
  #many(
    from: Collection,
    kind: StepKind,
    { body, where, atMost, atLeast }: Input,
    { shape, by }: OneParameters,
  ): Write | undefined {
    const { resource } = from;
    const selection = shape ?? from.one;
    if (kind === 'CREATE') {
      const inputs = (body as unknown[]).map((each, index) =>
        this.#input(from.resource, each, ['body', index]),
      );
      const sound = inputs.filter((input) => input !== undefined);
      if (sound.length < inputs.length) return undefined;
      if (by) return { do: 'upsert many', resource, selection, by, inputs: sound };
      return { do: 'create many', resource, selection, inputs: sound, through: 'rest' };
    }
    const before = this.#faults.length;
    const reader = new WhereReader(
      (_, value) => value,
      (path, code, detail) => this.#report(['where', ...path], code, detail),
      (target) => target.rest,
    );
    if (where === undefined)
      this.#report(['where'], 'REQUIRED', 'where must say which records; {} is all of them');
    const filter = where === undefined ? everything : reader.read(resource, where);
    const most = readAtMost(atMost, from.most, (code, detail) => this.#report(['atMost'], code, detail));
    const least = readAtLeast(atLeast, most, (code, detail) => this.#report(['atLeast'], code, detail));
    const input = kind === 'DELETE' ? {} : this.#input(from.resource, body, ['body']);
    if (!input || this.#faults.length > before) return undefined;
    const on = { resource, selection, where: filter, atMost: most, atLeast: least };
    return kind === 'DELETE' ? { do: 'delete many', ...on } : { do: 'update many', ...on, input };
  }

  /** `{"$ref": "u.id"}` is a value of an earlier result, except where any JSON may stand. */
  #input(resource: Resource, body: unknown, at: Path): Input | undefined {
    if (isFull(this.#faults)) return undefined;
    if (!isObject(body)) return this.#report(at, 'REQUIRED', 'body must be an object');
    const before = this.#faults.length;
    const entries = Object.entries(body).map(([name, value]) => [
      name,
      this.#value(resource, name, value, [...at, name]),
    ]);
    return this.#faults.length === before ? Object.fromEntries(entries) : undefined;
  }

  #value(resource: Resource, name: string, value: unknown, at: Path): unknown {
    if (name === INCREMENTS && isObject(value)) return this.#input(resource, value, at);
    const links = linkFields(resource).find((each) => each.name === name);
    if (links) return this.#keys(links.through.far.column, value, at);
    const field = resource.fieldByName.get(name);
    if (field?.kind === 'inverse' && Array.isArray(value))
      return value.map((each, index) =>
        isObject(each) ? this.#input(field.target, each, [...at, index]) : each,
      );
    return field?.kind === 'column' ? this.#scalar(field, value, at) : value;
  }

  /** The keys of a list, or of what is added to it and removed from it. */
  #keys(column: Column, value: unknown, at: Path): unknown {
    if (Array.isArray(value)) return value.map((each, index) => this.#scalar(column, each, [...at, index]));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [
        name,
        Array.isArray(each) ? this.#keys(column, each, [...at, name]) : each,
      ]),
    );
  }

  #scalar(column: Column, value: unknown, at: Path): unknown {
    if (isScalar(column.type) && column.type.stored === 'json') return value;
    return column.list && Array.isArray(value)
      ? value.map((each, index) => this.#result(each, [...at, index]))
      : this.#result(value, at);
  }

  /** The value of an earlier result, where that is meant. */
  #result(value: unknown, at: Path): unknown {
    if (!isObject(value) || !Object.hasOwn(value, '$ref')) return value;
    const { $ref: text } = value;
    const [, write = '', of = ''] = (typeof text === 'string' && /^(\w+)\.(\w+)$/.exec(text)) || [];
    const known = this.#names.get(write)?.columns.some((each) => each.name === of);
    if (known && Object.keys(value).length === 1) return new ResultOf(write, of);
    if (isFull(this.#faults)) return undefined;
    const names = cited([...this.#names.keys()].join(', ')) || 'none';
    return this.#report(
      at,
      'UNKNOWN',
      `$ref must be NAME.FIELD of an earlier operation; the names are ${names}`,
    );
  }
}

function isObject(value: unknown): value is Input {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
