/** What a function asks of Duet inside of its transaction: `yield* tx.books.get(1)`. */

import { DuetError, type Fault } from '../../base/errors.ts';
import {
  type AggregateFunction,
  aggregateFits,
  aggregateFunctions,
  answerOf,
  measuresOf,
  type Wanted,
} from '../../query/aggregates.ts';
import { everything, type Filter } from '../../query/filter.ts';
import { type ListQuery, wholeList } from '../../query/list.ts';
import { isSortable } from '../../query/operators.ts';
import { type OrderBy, totalOrder } from '../../query/order.ts';
import { groupable } from '../../query/parts.ts';
import { orderOfGroups } from '../../query/results.ts';
import { WhereReader } from '../../query/where.ts';
import { integerFrom, readKey } from '../../schema/keys.ts';
import type { Column, Model, Resource } from '../../schema/model.ts';
import { Serial } from '../../schema/scalars.ts';
import { didYouMean } from '../../schema/suggest.ts';
import { computedOf, storedColumns } from '../../schema/values.ts';
import type { Program } from '../../storage/storage.ts';
import { type AnswerLimits, Budget } from '../budget.ts';
import type { Aggregate, Get, Input, List, Selection, WriteOne } from '../operation.ts';
import type { Access } from '../policy/access.ts';
import { Policy } from '../policy/policy.ts';
import { aggregate, get, list, type Node } from '../read/read.ts';
import { Collision } from '../write/collision.ts';
import { perform } from '../write/perform.ts';

/** What has become of the transaction in the hands of one function. */
export class Ledger {
  hasWritten = false;
  /** Why the transaction cannot go on. */
  failure: unknown;
  readonly isReadOnly: boolean;

  constructor(isReadOnly = false) {
    this.isReadOnly = isReadOnly;
  }
}

/** Every resource under the name of its list, and all of them again without rules. */
export interface Tx {
  readonly system: Tx;
  readonly [plural: string]: unknown;
}

/** Makes what functions get to see. */
export function txOf(
  model: Model,
  policy: Policy,
  { objects, bytes }: AnswerLimits,
): (access: Access, ledger: Ledger) => Tx {
  const free = new Policy(model, false);
  const limits = { objects, bytes };
  class Resources {
    readonly acting: Acting;
    constructor(acting: Acting) {
      this.acting = acting;
    }
    get system(): Resources {
      const { access, ledger } = this.acting;
      return access.isSystem ? this : new Resources(new Acting(access.system(), free, ledger, limits));
    }
  }
  for (const resource of model.resources)
    Object.defineProperty(Resources.prototype, resource.plural, {
      get(this: Resources) {
        return new Records(resource, this.acting);
      },
    });
  return (access, ledger) => new Resources(new Acting(access, policy, ledger, limits)) as object as Tx;
}

/** On whose behalf something is asked. */
class Acting {
  readonly access: Access;
  readonly ledger: Ledger;
  readonly #policy: Policy;
  readonly #limits: AnswerLimits;

  constructor(access: Access, policy: Policy, ledger: Ledger, limits: AnswerLimits) {
    this.access = access;
    this.ledger = ledger;
    this.#policy = policy;
    this.#limits = limits;
  }

  *get(operation: Get): Program<Node | null> {
    this.#goOn();
    return yield* get(this.#policy.permit(this.access.caller, operation), new Budget(this.#limits));
  }

  *list(operation: List): Program<Node[]> {
    this.#goOn();
    const permitted = this.#policy.permit(this.access.caller, operation);
    return (yield* list(permitted, new Budget(this.#limits))).nodes;
  }

  *aggregate(operation: Aggregate): Program<Node[]> {
    this.#goOn();
    return yield* aggregate(this.#policy.permit(this.access.caller, operation), new Budget(this.#limits));
  }

  *write(operation: WriteOne): Program<Node> {
    this.#goOn();
    if (this.ledger.isReadOnly)
      throw new Error(
        `an action of Query only reads, so it cannot ${operation.do} ${operation.resource.plural}`,
      );
    try {
      const permitted = this.#policy.permit(this.access.caller, operation);
      const written = yield* perform(this.access, permitted, new Budget(this.#limits));
      this.ledger.hasWritten = true;
      return written as Node;
    } catch (error) {
      const told = elsewhere(error);
      // Nothing was begun: whoever expects that can go on.
      if (!(told instanceof DuetError && told.code === 'NOT_FOUND')) this.ledger.failure = told;
      throw told;
    }
  }

  #goOn(): void {
    if (this.ledger.failure !== undefined) throw this.ledger.failure;
  }
}

/** What is wrong with a record that a function writes has no place in what the client sent. */
function elsewhere(error: unknown): unknown {
  if (error instanceof Collision) return error.at([]);
  if (!(error instanceof DuetError) || !error.errors) return error;
  const errors = error.errors.map(
    (fault): Fault => ({ code: fault.code, detail: fault.detail, pointer: '#' }),
  );
  return new DuetError(error.code, error.message, { errors });
}

type Options = Readonly<Record<string, unknown>>;

/** The records of one resource. Mistakes in how it is called are those of the function, and no fault of the client. */
class Records {
  readonly #resource: Resource;
  readonly #acting: Acting;

  constructor(resource: Resource, acting: Acting) {
    this.#resource = resource;
    this.#acting = acting;
  }

  /** Null where there is none, or none that the caller may see. */
  *get(key: unknown): Program<Node | null> {
    const resource = this.#resource;
    const operation: Get = {
      do: 'get',
      resource,
      key: this.#key(key),
      selection: whole(resource),
      refusal: undefined,
    };
    const found = yield* this.#acting.get(operation);
    return found && { ...found };
  }

  *list(options: Options = {}): Program<Node[]> {
    const resource = this.#resource;
    this.#refuseUnknown('list', options, ['where', 'orderBy', 'first', 'offset']);
    const query: ListQuery = {
      ...wholeList(resource),
      where: this.#where('list', options['where']),
      order: totalOrder(resource, this.#order(options['orderBy'])),
      limit: this.#count('first', options['first']),
      offset: this.#count('offset', options['offset']) ?? 0,
    };
    const selection = whole(resource);
    const nodes = yield* this.#acting.list({
      do: 'list',
      resource,
      selection,
      list: query,
      places: false,
      count: false,
    });
    return nodes.map((node) => ({ ...node }));
  }

  /** `{ groupBy: ['author'], count: true, sum: ['pages'] }` → `[{ by: { author }, count, sum: { pages } }]` */
  *aggregate(options: Options): Program<Record<string, unknown>[]> {
    const resource = this.#resource;
    this.#refuseUnknown('aggregate', options, ['where', 'groupBy', ...aggregateFunctions]);
    const where = this.#where('aggregate', options['where']);
    const by = names(options['groupBy']).map((name) => this.#column('groupBy', name, groupable(resource)));
    const wanted = aggregateFunctions.flatMap((of): Wanted[] => {
      if (of === 'count') return options[of] ? [{ of, column: undefined }] : [];
      return names(options[of]).map((name) => ({ of, column: this.#measured(of, name) }));
    });
    const measures = measuresOf(wanted);
    const rows = yield* this.#acting.aggregate({
      do: 'aggregate',
      resource,
      where,
      by,
      measures,
      relations: [],
      having: everything,
      order: orderOfGroups(by, []),
      limit: undefined,
      offset: 0,
    });
    return rows.map((row) => answerOf(row, by, wanted));
  }

  *create(input: Input): Program<Node> {
    const resource = this.#resource;
    const selection = whole(resource);
    return {
      ...(yield* this.#acting.write({
        do: 'create',
        resource,
        input: this.#input(input),
        selection,
        through: 'rest',
      })),
    };
  }

  /** By a key; or of a record that was read before, and then only if it has not changed since. */
  *update(of: unknown, input: Input): Program<Node> {
    const resource = this.#resource;
    const selection = whole(resource);
    const one = { resource, selection, refusal: undefined, ...this.#addressed(of) };
    return { ...(yield* this.#acting.write({ do: 'update', ...one, input: this.#input(input) })) };
  }

  /** The record as it was. */
  *delete(of: unknown): Program<Node> {
    const resource = this.#resource;
    const selection = whole(resource);
    const one = { resource, selection, refusal: undefined, ...this.#addressed(of) };
    return { ...(yield* this.#acting.write({ do: 'delete', ...one })) };
  }

  /** Changes the record that has the same values in the fields `by`, or creates it. */
  *upsert(by: string | readonly string[], input: Input): Program<Node> {
    const resource = this.#resource;
    const columns = names(by).map((name) => this.#column('upsert', name, resource.columns));
    const sets = [[resource.key], ...resource.uniques.map((unique) => unique.columns)];
    const isUnique = (set: readonly Column[]) =>
      set.length === columns.length && set.every((each) => columns.includes(each));
    if (!sets.some(isUnique))
      throw new Error(
        `${this.#name('upsert')} needs fields that are @unique together, not ${names(by).join(', ') || 'none'}`,
      );
    const selection = whole(resource);
    return {
      ...(yield* this.#acting.write({
        do: 'upsert',
        resource,
        by: columns,
        input: this.#input(input),
        selection,
      })),
    };
  }

  #name(method: string): string {
    return `tx.${this.#resource.plural}.${method}`;
  }

  #key(key: unknown): string | number | undefined {
    return typeof key === 'string' || typeof key === 'number'
      ? readKey(this.#resource.key, String(key))
      : undefined;
  }

  #addressed(of: unknown): { key: string | number | undefined; ifVersion: readonly number[] | undefined } {
    if (typeof of !== 'object' || of === null) return { key: this.#key(of), ifVersion: undefined };
    const { [this.#resource.key.name]: key, _version: version } = of as Options;
    return { key: this.#key(key), ifVersion: typeof version === 'number' ? [version] : undefined };
  }

  /** Integer keys may be written as text, as GraphQL hands them out. */
  #input(input: Input): Input {
    if (typeof input !== 'object' || input === null)
      throw new Error(`${this.#name('…')} needs an object of fields`);
    const spelled = { ...input };
    for (const column of this.#resource.columns)
      if (Object.hasOwn(spelled, column.name)) spelled[column.name] = spelt(column, spelled[column.name]);
    return spelled;
  }

  #where(method: string, where: unknown): Filter {
    if (where === undefined) return everything;
    const report = (path: readonly (string | number)[], _: unknown, detail: string): never => {
      throw new Error(`${this.#name(method)}: where.${path.join('.')}: ${detail}`);
    };
    return new WhereReader(spelt, report, () => true).read(this.#resource, where);
  }

  #order(orderBy: unknown): OrderBy[] {
    const given = Array.isArray(orderBy) ? orderBy : orderBy === undefined ? [] : [orderBy];
    return given.flatMap((each) =>
      Object.entries(each as Options).map(([name, direction]): OrderBy => {
        const column = this.#column('orderBy', name, this.#resource.columns.filter(isSortable));
        if (direction !== 'ASC' && direction !== 'DESC')
          throw new Error(`${this.#name('list')}: orderBy ${name} must be 'ASC' or 'DESC'`);
        return { column, descending: direction === 'DESC' };
      }),
    );
  }

  #count(name: string, value: unknown): number | undefined {
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
    throw new Error(`${this.#name('list')}: ${name} must be a whole number, 0 or more`);
  }

  #measured(of: AggregateFunction, name: string): Column {
    return this.#column(
      of,
      name,
      this.#resource.columns.filter((column) => aggregateFits(of, column)),
    );
  }

  #column(where: string, name: string, columns: readonly Column[]): Column {
    const column = columns.find((each) => each.name === name);
    if (column) return column;
    const options = columns.map((each) => each.name);
    const cure = didYouMean(name, options) || ` There are: ${options.join(', ')}.`;
    throw new Error(`"${name}" cannot stand in ${where} of tx.${this.#resource.plural}.${cure}`);
  }

  #refuseUnknown(method: string, options: Options, known: readonly string[]): void {
    const unknown = Object.keys(options).find((name) => !known.includes(name));
    if (unknown === undefined) return;
    const cure = didYouMean(unknown, known) || ` It takes: ${known.join(', ')}.`;
    throw new Error(`${this.#name(method)} takes no "${unknown}".${cure}`);
  }
}

const selections = new WeakMap<Resource, Selection>();

function whole(resource: Resource): Selection {
  let selection = selections.get(resource);
  if (!selection) {
    selection = { columns: storedColumns(resource), relations: [], computed: computedOf(resource) };
    selections.set(resource, selection);
  }
  return selection;
}

function spelt(column: Column, value: unknown): unknown {
  return column.type === Serial && typeof value === 'string' ? integerFrom(value) : value;
}

function names(given: unknown): readonly string[] {
  return given === undefined ? [] : Array.isArray(given) ? given.map(String) : [String(given)];
}
