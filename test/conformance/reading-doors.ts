/** One query as both doors take it, and their answers in one form. */

import { groupable, spelt } from '../../src/query/parts.ts';
import type { Column, Inverse, Resource } from '../../src/schema/model.ts';
import { Serial } from '../../src/schema/scalars.ts';
import type { AppUnderTest } from '../app.ts';
import {
  type Aggregates,
  isWanted,
  type Part,
  type Shape,
  type Sort,
  type Wanted,
  type Where,
} from './reading-plain.ts';
import type { Row } from './reading-schemas.ts';

export interface ListRequest extends Part {
  readonly resource: Resource;
  readonly shape: Shape;
  readonly count: boolean;
  readonly brackets: boolean;
  readonly after?: string | undefined;
  readonly before?: string | undefined;
}

export interface Page {
  readonly rows: readonly Row[];
  /** The cursors that lead on, where there is more. */
  readonly next: string | null;
  readonly previous: string | null;
  readonly total: number | undefined;
}

export interface NestedRequest {
  readonly resource: Resource;
  readonly field: Inverse;
  readonly keys: readonly unknown[];
  readonly page: Omit<ListRequest, 'resource'>;
  readonly numbers: Aggregates;
}

export interface NestedPage extends Page {
  readonly numbers: readonly Row[];
}

export interface Failure {
  readonly code: string;
  readonly faults: readonly string[];
}

export interface Door {
  readonly name: 'REST' | 'GraphQL';
  list(app: AppUnderTest, request: ListRequest): Promise<Page | Failure>;
  one(app: AppUnderTest, resource: Resource, key: unknown, shape: Shape): Promise<Row | null | Failure>;
  aggregate(
    app: AppUnderTest,
    resource: Resource,
    asked: Aggregates,
    brackets: boolean,
  ): Promise<readonly Row[] | Failure>;
  /** A page of the list of each record with one of these keys, and numbers about it. */
  nested(app: AppUnderTest, request: NestedRequest): Promise<readonly NestedPage[] | Failure>;
  /** What the last answer was asked with, for people to read. */
  readonly asked: string;
}

const wholly = { sort: [], limit: undefined, offset: undefined };

export class Rest implements Door {
  readonly name = 'REST';
  asked = '';

  async list(app: AppUnderTest, request: ListRequest): Promise<Page | Failure> {
    const { resource, shape, count, brackets, after, before } = request;
    const parameters = parametersOf(request, '', brackets);
    if (after !== undefined) parameters.push(['after', after]);
    if (before !== undefined) parameters.push(['before', before]);
    if (count) parameters.push(['count', 'true']);
    const answer = await this.#get(app, `/${resource.path}`, [...parameters, ...shapeParameters(shape)]);
    if (answer.status !== 200) return failure(answer.body);
    const cursor = (rel: string, name: string) => {
      const [, url] = new RegExp(`<([^>]*)>; rel="${rel}"`).exec(answer.headers.get('Link') ?? '') ?? [];
      return url === undefined ? null : new URL(url, 'http://duet.test').searchParams.get(name);
    };
    const total = answer.headers.get('X-Total-Count');
    return {
      rows: answer.body,
      next: cursor('next', 'after'),
      previous: cursor('prev', 'before'),
      total: total === null ? undefined : Number(total),
    };
  }

  async one(app: AppUnderTest, resource: Resource, key: unknown, shape: Shape) {
    const path = `/${resource.path}/${encodeURIComponent(String(key))}`;
    const { status, body } = await this.#get(app, path, shapeParameters(shape));
    if (status === 200) return body;
    return body.code === 'NOT_FOUND' ? null : failure(body);
  }

  async aggregate(app: AppUnderTest, resource: Resource, asked: Aggregates, brackets: boolean) {
    const { by, wanted, having, sort, include, ...part } = asked;
    const word = ({ of, column }: Wanted) => (column ? `${of}(${column.name})` : of);
    const parameters = parametersOf({ ...part, sort: [] }, '', false);
    if (by.length > 0) parameters.push(['groupBy', by.map(spelt).join()]);
    parameters.push(['aggregate', wanted.map(word).join()]);
    const left = having && brackets ? compared(having, parameters) : having;
    if (left) parameters.push(['having', JSON.stringify(left)]);
    const words = sort.map(({ by: each, descending }) => {
      const name = isWanted(each) ? word(each) : spelt(each);
      return descending ? `-${name}` : name;
    });
    if (words.length > 0) parameters.push(['sort', words.join()]);
    const shape = {
      columns: undefined,
      include: include.map((each) => ({ ...each, ...wholly, where: undefined, after: undefined })),
    };
    parameters.push(...shapeParameters(shape));
    const { status, body } = await this.#get(app, `/${resource.path}`, parameters);
    return status === 200 ? body : failure(body);
  }

  /** By itself, as the list of all that refer to the record. */
  async nested(app: AppUnderTest, { field, keys, page, numbers }: NestedRequest) {
    const { target, reference } = field;
    const pages: NestedPage[] = [];
    for (const key of keys) {
      const own = { [reference.column.name]: { eq: key } };
      const of = (where: Where | undefined) => (where ? { and: [own, where] } : own);
      const read = await this.list(app, { ...page, resource: target, where: of(page.where) });
      if ('code' in read) return read;
      const asked = { ...numbers, where: of(numbers.where) };
      const summed = await this.aggregate(app, target, asked, page.brackets);
      if ('code' in summed) return summed;
      pages.push({ ...read, numbers: summed });
    }
    return pages;
  }

  #get(app: AppUnderTest, path: string, parameters: readonly [string, string][]) {
    const query = new URLSearchParams([...parameters]).toString();
    const url = query === '' ? path : `${path}?${query}`;
    const readable = parameters.map(([name, value]) => `${name}=${value}`).join(' & ');
    this.asked = `GET ${url}\n     ${readable}`;
    return app.rest('GET', url);
  }
}

function parametersOf(
  { where, sort, limit, offset }: Part,
  prefix: string,
  brackets: boolean,
): [string, string][] {
  const named = (name: string) => (prefix === '' ? name : `${prefix}[${name}]`);
  const parameters: [string, string][] = [];
  const left = where && brackets && prefix === '' ? written(where, '', parameters) : where;
  if (left && (!brackets || Object.keys(left).length > 0))
    parameters.push([named('where'), JSON.stringify(left)]);
  if (sort.length > 0)
    parameters.push([
      named('sort'),
      sort
        .map(({ through = [], column, descending }) => {
          const path = [...through, column].map(({ name }) => name).join('.');
          return `${descending ? '-' : ''}${path}`;
        })
        .join(),
    ]);
  if (limit !== undefined) parameters.push([named('limit'), String(limit)]);
  if (offset !== undefined) parameters.push([named('offset'), String(offset)]);
  return parameters;
}

/** Adds the parameters that say the same as `where`, and returns what only `where` can say. */
function written(where: Where, path: string, parameters: [string, string][]): Where {
  const left: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(where)) {
    const at = path + name;
    const entries = typeof inner === 'object' && !Array.isArray(inner) ? Object.entries<any>(inner) : [];
    const [[operator, operand] = ['', undefined]] = entries;
    const lone = entries.length === 1;
    const plain =
      typeof operand !== 'object' ||
      (Array.isArray(operand) && ['in', 'hasSome', 'hasEvery'].includes(operator));
    const exact = !Array.isArray(operand) || !operand.some((each) => each === '' || /,/.test(String(each)));
    if (name !== 'not' && lone && plain && exact) parameters.push([`${at}[${operator}]`, String(operand)]);
    else if (name !== 'not' && lone && typeof operand === 'object' && /^ref/.test(name)) {
      // Two conditions on one reference are one filter in `where` and two as parameters.
      const deeper = written(inner, `${at}.`, parameters);
      if (Object.keys(deeper).length > 0) left[name] = deeper;
    } else left[name] = inner;
  }
  return left;
}

/** Adds the parameter that says the same as `having`, where there is one. */
function compared(having: Where, parameters: [string, string][]): Where | undefined {
  const [[of, inner] = ['', undefined]] = Object.entries<any>(having);
  if (['and', 'or', 'not'].includes(of)) return having;
  const [[field, operators] = ['', undefined]] = of === 'count' ? [['', inner]] : Object.entries<any>(inner);
  const [[operator, operand] = ['', undefined]] = Object.entries<any>(operators);
  if (Array.isArray(operand) && operand.some((each) => each === '' || /,/.test(String(each)))) return having;
  parameters.push([`having[${field === '' ? of : `${of}(${field})`}][${operator}]`, String(operand)]);
  return undefined;
}

function shapeParameters(shape: Shape): [string, string][] {
  const fields: string[] = [];
  const includes: string[] = [];
  const parts: [string, string][] = [];
  const visit = ({ columns, include }: Shape, prefix: string) => {
    for (const { name } of columns ?? []) fields.push(prefix + name);
    for (const { field, shape: inner, after, ...part } of include) {
      const at = prefix + field.name;
      includes.push(at);
      parts.push(...parametersOf(part, at, false));
      if (after) parts.push([`${at}[after]`, after.cursor]);
      visit(inner, `${at}.`);
    }
  };
  visit(shape, '');
  return [
    ...(includes.length > 0 ? [['include', includes.join()] as [string, string]] : []),
    ...(fields.length > 0 ? [['fields', fields.join()] as [string, string]] : []),
    ...parts,
  ];
}

export class Graphql implements Door {
  readonly name = 'GraphQL';
  asked = '';

  /** A connection, and the plain list beside it where that can say the same. */
  async list(app: AppUnderTest, request: ListRequest): Promise<Page | Failure> {
    const { resource, limit, shape, count, after, before } = request;
    const document = new Document();
    const part = document.part(resource, { ...request, limit: undefined });
    const backwards = before !== undefined;
    const size = document.argument(backwards ? 'last' : 'first', 'Int', limit);
    const from = document.argument('after', 'String', after);
    const to = document.argument('before', 'String', before);
    const nodes = document.selection(resource, shape);
    const connection = `${resource.plural}Connection${listOf([...part, ...size, ...from, ...to])}`;
    const pageInfo = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor }';
    const total = count ? 'totalCount' : '';
    const plain = backwards ? '' : `plain: ${resource.plural}${listOf([...part, ...size, ...from])} ${nodes}`;
    const { data, errors } = await this.#send(
      app,
      document,
      `it: ${connection} { ${total} edges { cursor node ${nodes} } ${pageInfo} } ${plain}`,
    );
    if (errors) return failure(errors[0].extensions);
    const page = pageOf(resource, shape, data.it);
    if (
      plain !== '' &&
      !Bun.deepEquals(
        data.plain.map((node: Row) => restored(resource, shape, node)),
        page.rows,
      )
    )
      throw new Error('the list and the connection differ');
    return page;
  }

  async nested(app: AppUnderTest, { resource, field, keys, page, numbers }: NestedRequest) {
    const { target, name } = field;
    const document = new Document();
    const backwards = page.before !== undefined;
    const args = [
      ...document.part(target, { ...page, limit: undefined }),
      ...document.argument(backwards ? 'last' : 'first', 'Int', page.limit),
      ...document.argument('after', 'String', page.after),
      ...document.argument('before', 'String', page.before),
    ];
    const pageInfo = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor }';
    const nodes = document.selection(target, page.shape);
    const total = page.count ? 'totalCount' : '';
    const among = document.argument('where', `${resource.name}Where`, {
      [resource.key.name]: { in: keys.map((key) => (resource.key.type === Serial ? String(key) : key)) },
    });
    const { data, errors } = await this.#send(
      app,
      document,
      `it: ${resource.plural}${listOf(among)} {
        page: ${name}Connection${listOf(args)} { ${total} edges { cursor node ${nodes} } ${pageInfo} }
        ${document.numbers(target, `${name}Aggregate`, numbers)}
      }`,
    );
    if (errors) return failure(errors[0].extensions);
    return data.it.map((record: any) => ({
      ...pageOf(target, page.shape, record.page),
      numbers: numbersOf(target, numbers, record.numbers),
    }));
  }

  async one(app: AppUnderTest, resource: Resource, key: unknown, shape: Shape) {
    const document = new Document();
    const type = resource.key.type.name === 'Serial' ? 'ID!' : `${resource.key.type.name}!`;
    const argument = document.argument(resource.key.name, type, String(key));
    const selection = document.selection(resource, shape);
    const { data, errors } = await this.#send(
      app,
      document,
      `it: ${resource.singular}${listOf(argument)} ${selection}`,
    );
    if (errors) return failure(errors[0].extensions);
    return data.it && restored(resource, shape, data.it);
  }

  async aggregate(app: AppUnderTest, resource: Resource, asked: Aggregates) {
    const document = new Document();
    const field = document.numbers(resource, `${resource.plural}Aggregate`, asked);
    const { data, errors } = await this.#send(app, document, field);
    return errors ? failure(errors[0].extensions) : numbersOf(resource, asked, data.numbers);
  }

  #send(app: AppUnderTest, document: Document, fields: string) {
    const query = `query${listOf(document.declared)} { ${fields.replaceAll(/ +/g, ' ').trim()} }`;
    this.asked = `${query}\n        ${JSON.stringify(document.variables)}`;
    return app.graphql(query, document.variables);
  }
}

class Document {
  readonly declared: string[] = [];
  readonly variables: Record<string, unknown> = {};

  argument(name: string, type: string, value: unknown): string[] {
    if (value === undefined) return [];
    const variable = `v${this.declared.length}`;
    this.declared.push(`$${variable}: ${type}`);
    this.variables[variable] = value;
    return [`${name}: $${variable}`];
  }

  part(resource: Resource, { where, sort, limit, offset }: Part): string[] {
    const orders = sort.map(({ through = [], column, descending }: Sort) =>
      [...through, column].reduceRight<unknown>(
        (inner, { name }) => ({ [name]: inner }),
        descending ? 'DESC' : 'ASC',
      ),
    );
    return [
      ...this.argument('where', `${resource.name}Where`, where),
      ...this.argument('orderBy', `[${resource.name}Order!]`, orders.length > 0 ? orders : undefined),
      ...this.argument('first', 'Int', limit),
      ...this.argument('offset', 'Int', offset),
    ];
  }

  numbers(resource: Resource, field: string, asked: Aggregates): string {
    const { by, wanted, having, sort, include, ...part } = asked;
    const groups = this.argument(
      'groupBy',
      `[${resource.name}Group!]`,
      by.map(({ name }) => name),
    );
    const filter = [
      ...this.part(resource, { ...part, sort: [] }),
      ...this.argument('having', `${resource.name}Having`, having),
      ...this.argument(
        'orderBy',
        `[${resource.name}AggregateOrder!]`,
        sort.map(({ by: each, descending }) => {
          const direction = descending ? 'DESC' : 'ASC';
          if (!isWanted(each)) return { by: { [each.name]: direction } };
          return { [each.of]: each.column ? { [each.column.name]: direction } : direction };
        }),
      ),
    ];
    const fields = wanted.map(({ of, column }) => (column ? `${of} { ${column.name} }` : of));
    const related = include.map(
      (each) => `${each.field.name} ${this.selection(each.field.target, each.shape)}`,
    );
    const common = [...by.map(({ name }) => name), ...related];
    if (by.length > 0) fields.push(`by { ${common.join(' ')} }`);
    return `numbers: ${field}${listOf([...filter, ...groups])} { ${fields.join(' ')} }`;
  }

  selection(resource: Resource, { columns, include }: Shape): string {
    const fields = (columns ?? resource.columns).map(({ name }) => name);
    for (const { field, shape, after, ...part } of include) {
      const own = field.kind === 'reference' ? [] : this.part(field.target, part);
      const from = this.argument('after', 'String', after?.cursor);
      fields.push(`${field.name}${listOf([...own, ...from])} ${this.selection(field.target, shape)}`);
    }
    return `{ ${fields.join(' ')} }`;
  }
}

function pageOf(resource: Resource, shape: Shape, { edges, pageInfo: info, totalCount }: any): Page {
  if (info.startCursor !== (edges[0]?.cursor ?? null) || info.endCursor !== (edges.at(-1)?.cursor ?? null))
    throw new Error('pageInfo names other cursors than the edges');
  return {
    rows: edges.map(({ node }: { node: Row }) => restored(resource, shape, node)),
    next: info.hasNextPage ? info.endCursor : null,
    previous: info.hasPreviousPage ? info.startCursor : null,
    total: totalCount,
  };
}

function numbersOf(resource: Resource, { include }: Aggregates, rows: readonly Row[]): Row[] {
  const values = (record: Row) =>
    Object.fromEntries(
      Object.entries(record).map(([name, value]) => {
        const reference = include.find(({ field }) => field.name === name);
        if (reference)
          return [name, value && restored(reference.field.target, reference.shape, value as Row)];
        return [name, restoredValue(columnOf(resource, name), value)];
      }),
    );
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        name.startsWith('count') ? value : values(value as Row),
      ]),
    ),
  );
}

function listOf(parts: readonly string[]): string {
  return parts.length > 0 ? `(${parts.join(', ')})` : '';
}

/** GraphQL writes the keys that the server counts up as text; REST writes them as numbers. */
function restored(resource: Resource, { columns, include }: Shape, node: Row): Row {
  const record: Record<string, unknown> = {};
  for (const column of columns ?? resource.columns)
    record[column.name] = restoredValue(column, node[column.name]);
  for (const { field, shape } of include) {
    const value = node[field.name];
    record[field.name] = Array.isArray(value)
      ? value.map((each) => restored(field.target, shape, each))
      : value && restored(field.target, shape, value as Row);
  }
  return record;
}

function restoredValue(column: Column, value: unknown): unknown {
  return column.type === Serial && typeof value === 'string' ? Number(value) : value;
}

function columnOf(resource: Resource, name: string): Column {
  const column = [...resource.columns, ...groupable(resource)].find((each) => each.name === name);
  if (!column) throw new Error(`there is no ${name}`);
  return column;
}

function failure({ code, errors }: { code: string; errors?: { code: string }[] }): Failure {
  return { code, faults: (errors ?? []).map((error) => error.code).sort() };
}
