/** What can be asked of one resource inside of a transaction: `get list aggregate create update delete upsert`. */

import { validationFailed } from '../../base/errors.ts';
import { handed } from '../../base/passed.ts';
import {
  type AggregateFunction,
  aggregateFits,
  aggregateFunctions,
  answerOf,
  measuresOf,
  type Wanted,
} from '../../query/aggregates.ts';
import { filterOf, groupQueryOf, listOf, type Reading, searchOf, spelt } from '../../query/arguments.ts';
import { all } from '../../query/filter.ts';
import type { ListQuery } from '../../query/list.ts';
import { groupable } from '../../query/parts.ts';
import { SEARCH } from '../../query/search.ts';
import { readKey } from '../../schema/keys.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { didYouMean } from '../../schema/suggest.ts';
import { computedOf, storedColumns } from '../../schema/values.ts';
import type { Program } from '../../storage/storage.ts';
import type { Get, Input, List, Relation, Selection } from '../operation.ts';
import { type Node, relationKey } from '../read/read.ts';
import type { Acting } from './acting.ts';

type Options = Readonly<Record<string, unknown>>;

/** What says which fields and related records are wanted. */
const SHAPE = ['select', 'include'] as const;
const LIST = ['where', SEARCH, 'orderBy', 'first', 'after', 'last', 'before', 'offset'] as const;
const GROUPS = ['where', SEARCH, 'groupBy', 'having', 'orderBy', 'first', 'offset'] as const;

/** The records of one resource. Mistakes in how it is called are those of the function, and no fault of the client. */
export class Records {
  readonly #resource: Resource;
  readonly #acting: Acting;

  constructor(resource: Resource, acting: Acting) {
    this.#resource = resource;
    this.#acting = acting;
  }

  /** Null where there is none, or none that the caller may see. */
  *get(key: unknown, options: Options = {}): Program<Node | null> {
    const resource = this.#resource;
    this.#refuseUnknown('get', options, SHAPE);
    const selection = this.#selection(options);
    const operation: Get = { do: 'get', resource, key: this.#key(key), selection, refusal: undefined };
    const found = yield* this.#acting.get(operation);
    return found && recordOf(selection, found);
  }

  *list(options: Options = {}): Program<Node[]> {
    const resource = this.#resource;
    const selection = this.#selection(options);
    const list = this.#query(options);
    const operation: List = { do: 'list', resource, selection, list, places: false, count: false };
    const nodes = yield* this.#acting.list(operation);
    return nodes.map((node) => recordOf(selection, node));
  }

  #query(options: Options, isNested = false): ListQuery {
    this.#refuseUnknown('list', options, [...LIST, ...SHAPE]);
    return listOf(this.#resource, options, this.#reading('list'), isNested);
  }

  /** Cursors and what is searched for come from clients: what is wrong with them is theirs to know. */
  #reading(method: string): Reading {
    return {
      most: this.#acting.most,
      sees: () => true,
      report: (path, code, detail) => {
        if (code === 'CURSOR' || path[0] === SEARCH) throw validationFailed([{ pointer: '#', code, detail }]);
        throw new Error(`${this.#name(method)}: ${path.join('.')}: ${detail}`);
      },
    };
  }

  /** `select: { name: true, posts: { select: { title: true } } }`, or whole records and `include: { posts: true }`. */
  #selection({ select, include }: Options): Selection {
    const resource = this.#resource;
    if (select === undefined && include === undefined) return whole(resource);
    const all = whole(resource);
    const asked = Object.entries({ ...(select as Options), ...(include as Options) });
    const wanted = asked.filter(([, value]) => value !== false && value !== undefined);
    const relations = wanted.flatMap(([name, value]) => this.#relation(name, value) ?? []);
    if (select === undefined) return { ...all, relations };
    const names = new Set(wanted.map(([name]) => name));
    const computed = all.computed?.filter(({ column }) => names.has(column.name));
    const columns = all.columns.filter(({ name }) => names.has(name));
    const known = [...columns.map(({ name }) => name), ...(computed ?? []).map(({ column }) => column.name)];
    for (const name of names)
      if (!known.includes(name) && !relations.some(({ as }) => as === name))
        this.#column('select', name, all.columns);
    return { columns, relations, computed: computed && computed.length > 0 ? computed : undefined };
  }

  #relation(name: string, value: unknown): Relation | undefined {
    const field = this.#resource.fieldByName.get(name);
    if (!field || field.kind === 'column') return undefined;
    const options = typeof value === 'object' && value !== null ? (value as Options) : {};
    const related = new Records(field.target, this.#acting);
    if (field.kind === 'reference') related.#refuseUnknown('get', options, SHAPE);
    const list = field.kind === 'reference' ? undefined : related.#query(options, true);
    return { as: name, field, selection: related.#selection(options), list };
  }

  /** `{ groupBy: ['author'], count: true, sum: ['pages'] }` → `[{ by: { author }, count, sum: { pages } }]` */
  *aggregate(options: Options): Program<Record<string, unknown>[]> {
    const resource = this.#resource;
    this.#refuseUnknown('aggregate', options, [...GROUPS, ...aggregateFunctions]);
    const reading = this.#reading('aggregate');
    const where = all([filterOf(resource, 'where', options, reading), searchOf(resource, options, reading)]);
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
      ...groupQueryOf(resource, by, options, reading),
    });
    return rows.map((row) => answerOf(row, by, wanted));
  }

  /** Generators within generators cost: what need not be one is none. */
  create(input: Input): Program<Node> {
    const resource = this.#resource;
    const selection = whole(resource);
    const given = this.#input(input);
    return this.#acting.write({ do: 'create', resource, input: given, selection, through: 'rest' });
  }

  /** By a key; or of a record that was read before, and then only if it has not changed since. */
  update(of: unknown, input: Input): Program<Node> {
    const resource = this.#resource;
    const selection = whole(resource);
    const { key, ifVersion } = this.#addressed(of);
    const given = this.#input(input);
    return this.#acting.write({
      do: 'update',
      resource,
      selection,
      refusal: undefined,
      key,
      ifVersion,
      input: given,
    });
  }

  /** The record as it was. */
  delete(of: unknown): Program<Node> {
    const resource = this.#resource;
    const selection = whole(resource);
    const { key, ifVersion } = this.#addressed(of);
    return this.#acting.write({ do: 'delete', resource, selection, refusal: undefined, key, ifVersion });
  }

  /** Changes the record that has the same values in the fields `by`, or creates it. */
  upsert(by: string | readonly string[], input: Input): Program<Node> {
    const resource = this.#resource;
    const columns = names(by).map((name) => this.#column('upsert', name, resource.columns));
    const sets = [[resource.key], ...resource.uniques.map((unique) => unique.columns)];
    const isUnique = (set: readonly Column[]) =>
      set.length === columns.length && set.every((each) => columns.includes(each));
    if (!sets.some(isUnique))
      throw new Error(
        `${this.#name('upsert')} needs fields that are @unique together, not ${names(by).join(', ') || 'none'}`,
      );
    const given = this.#input(input);
    return this.#acting.write({
      do: 'upsert',
      resource,
      by: columns,
      input: given,
      selection: whole(resource),
    });
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
    const { name } = this.#resource.key;
    const { [name]: key, _version: version } = of as Options;
    // Who gives a record means it as it was read: without its version, whatever has come since would be overwritten.
    if (typeof version !== 'number')
      throw new Error(
        `tx.${this.#resource.plural}: the record has no _version; read it with its _version, or give its ${name} alone`,
      );
    return { key: this.#key(key), ifVersion: [version] };
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

/** A node as functions get to see it: its fields, and what is related to it, under their names. */
function recordOf({ columns, computed, relations }: Selection, node: Node): Node {
  const record: Node = {};
  for (const { name } of columns) record[name] = handed(node[name]);
  for (const { column } of computed ?? []) record[column.name] = node[column.name];
  for (const { as, selection } of relations) {
    const related = node[relationKey(as)] as Node | Node[] | null | undefined;
    record[as] = Array.isArray(related)
      ? related.map((each) => recordOf(selection, each))
      : related && recordOf(selection, related);
  }
  return record;
}

function names(given: unknown): readonly string[] {
  return given === undefined ? [] : Array.isArray(given) ? given.map(String) : [String(given)];
}
