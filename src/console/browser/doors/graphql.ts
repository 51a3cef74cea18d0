/** The GraphQL door: an ask as an operation with variables, a response as an answer. */

import { type Answer, type Ask, type GetAsk, type ListAsk, SHOWN_INVERSES, SHOWN_LINKS } from '../ask.ts';
import {
  type Column,
  type Inverse,
  linkedLists,
  RELEVANCE,
  type Resource,
  type Row,
  referencesOf,
  type Schema,
} from '../schema/types.ts';
import { isObject } from '../where.ts';
import { Fault, type FieldFault, type Wire } from './wire.ts';

interface Call {
  readonly kind: 'query' | 'mutation';
  readonly field: string;
  readonly types: Readonly<Record<string, string>>;
  readonly given: Readonly<Record<string, unknown>>;
  readonly selection: string;
}

/** The name under which an argument that is no field of the resource stands among the variables. */
const VERSION = 'ifVersion';

export function graphqlWire(ask: Ask, schema: Schema): Wire | undefined {
  const call = callOf(ask, schema);
  if (!call) return undefined;
  const given = Object.entries(call.given).filter(
    ([name, value]) => value !== undefined && name in call.types,
  );
  const declared = given.map(([name]) => `$${name}: ${call.types[name]}`).join(', ');
  const passed = given.map(([name]) => `${name}: $${name}`).join(', ');
  const name = call.field[0]?.toUpperCase() + call.field.slice(1);
  const query = `${call.kind} ${name}${declared && `(${declared})`} {\n${indented(`${call.field}${passed && `(${passed})`} ${call.selection}`)}\n}`;
  const variables = Object.fromEntries(given);
  return {
    door: 'graphql',
    method: 'POST',
    path: '/graphql',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(given.length > 0 ? { query, variables } : { query }),
    graphql: { query, variables },
  };
}

function callOf(ask: Ask, schema: Schema): Call | undefined {
  const { resource } = ask;
  const side = resource.graphql;
  if (!side) return undefined;
  const { roots, arguments: types } = side;
  const columns = resource.columns.map(({ name }) => name);
  switch (ask.do) {
    case 'list': {
      const paged = ask.limit !== undefined && side.connection !== undefined;
      const field = paged ? side.connection : roots.LIST;
      const selection = paged ? connection(ask, rowSelection(ask, schema)) : rowSelection(ask, schema);
      return field === undefined
        ? undefined
        : {
            kind: 'query',
            field,
            types: types[paged ? 'CONNECTION' : 'LIST'] ?? {},
            given: listArguments(ask),
            selection,
          };
    }
    case 'get':
      return roots.GET === undefined
        ? undefined
        : {
            kind: 'query',
            field: roots.GET,
            types: types.GET ?? {},
            given: { [resource.key.name]: keyValue(ask) },
            selection: block([...columns, '_version', ...(ask.related ? relations(ask, schema) : [])]),
          };
    case 'create':
      return roots.CREATE === undefined
        ? undefined
        : {
            kind: 'mutation',
            field: roots.CREATE,
            types: types.CREATE ?? {},
            given: ask.values,
            selection: block([...columns, '_version']),
          };
    case 'update':
      return roots.UPDATE === undefined
        ? undefined
        : {
            kind: 'mutation',
            field: roots.UPDATE,
            types: types.UPDATE ?? {},
            given: { [resource.key.name]: keyValue(ask), ...ask.changes, [VERSION]: ask.version },
            selection: block([...columns, '_version']),
          };
    case 'delete':
      return roots.DELETE === undefined
        ? undefined
        : {
            kind: 'mutation',
            field: roots.DELETE,
            types: types.DELETE ?? {},
            given: { [resource.key.name]: keyValue(ask) },
            selection: block([resource.key.name]),
          };
  }
}

/** A path of the address is text; an ID may be that too. */
function keyValue({ resource, key }: { resource: Resource; key: unknown }): unknown {
  return resource.key.kind === 'id' ? String(key) : key;
}

function listArguments(ask: ListAsk): Record<string, unknown> {
  const orderBy = ask.sort.map((name) => {
    const turned = name.startsWith('-');
    const field = turned ? name.slice(1) : name;
    return { [field]: turned === (field === RELEVANCE) ? 'ASC' : 'DESC' };
  });
  const backward = ask.before !== undefined;
  return {
    where: ask.where,
    search: ask.search,
    orderBy: orderBy.length > 0 ? orderBy : undefined,
    first: backward ? undefined : ask.limit,
    after: ask.after,
    last: backward ? ask.limit : undefined,
    before: ask.before,
  };
}

function rowSelection({ resource, related }: ListAsk, schema: Schema): string {
  return block([
    ...resource.columns.map(({ name }) => name),
    ...(related ? referenceSelections(resource, schema) : []),
    ...(related ? linkedSelections(resource, schema) : []),
  ]);
}

function connection({ count }: ListAsk, node: string): string {
  return block([
    `edges ${block([`node ${node}`])}`,
    `pageInfo ${block(['hasNextPage', 'hasPreviousPage', 'startCursor', 'endCursor'])}`,
    ...(count ? ['totalCount'] : []),
  ]);
}

function relations({ resource, related }: GetAsk, schema: Schema): string[] {
  const isForm = related === 'links';
  const lists = inversesHere(resource).filter(({ linkedBy }) => !isForm || linkedBy.includes('UPDATE'));
  const most = isForm ? SHOWN_LINKS : SHOWN_INVERSES + 1;
  return [
    ...referenceSelections(resource, schema),
    ...lists.map(
      ({ name, target }) =>
        `${name}(first: ${most}) ${block(schema.byName.get(target)?.columns.map((column) => column.name) ?? [])}`,
    ),
  ];
}

function inversesHere({ inverses }: Resource): Inverse[] {
  return inverses.filter(({ doors }) => doors.includes('graphql'));
}

function referenceSelections(resource: Resource, schema: Schema): string[] {
  return referencesOf(resource)
    .filter(({ doors }) => doors.includes('graphql'))
    .map(({ name, target }) => {
      return `${name} ${named(schema.byName.get(target))}`;
    });
}

function linkedSelections(resource: Resource, schema: Schema): string[] {
  return linkedLists(resource, 'graphql').map(
    ({ name, target }) => `${name}(first: ${SHOWN_INVERSES + 1}) ${named(schema.byName.get(target))}`,
  );
}

/** What a person calls a record by. */
function named(of: Resource | undefined): string {
  return block([...new Set(of ? [of.key.name, of.label.name] : [])]);
}

/** Plain fields stand together in lines, what has fields of its own begins a line. */
function block(fields: readonly string[]): string {
  const lines: string[] = [];
  for (const field of fields) {
    const last = lines.at(-1);
    const joins = last !== undefined && !last.includes('{') && !field.includes('{');
    if (joins && last.length + field.length < LINE) lines[lines.length - 1] = `${last} ${field}`;
    else lines.push(field);
  }
  return `{\n${indented(lines.join('\n'))}\n}`;
}

const LINE = 46;

function indented(text: string): string {
  return text.replace(/^/gm, '  ');
}

interface GraphqlError {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions?: {
    readonly code?: string;
    readonly requestId?: string;
    readonly errors?: FieldFault[];
  };
}

interface Result {
  readonly data?: Record<string, unknown> | null;
  readonly errors?: readonly GraphqlError[];
}

/** Codes that the console acts on, with the status that REST has for them. */
const statuses: Readonly<Record<string, number>> = {
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  VERSION_CONFLICT: 412,
  VALIDATION_FAILED: 400,
};

export async function graphqlAnswer(ask: Ask, response: Response, schema: Schema): Promise<Answer> {
  const result = await graphqlResult(response);
  const value = Object.values(result)[0];
  const { resource } = ask;
  if (ask.do === 'delete') return {};
  if (ask.do !== 'list') {
    if (!isObject(value)) throw new Fault('NOT_FOUND', 404, `There is no ${resource.name} with this key.`);
    const { _version, ...row } = value;
    return { row: restored(row, resource, schema), version: Number(_version) };
  }
  if (Array.isArray(value)) return { rows: value.map((row) => restored(row, resource, schema)) };
  const { edges, pageInfo, totalCount } = value as {
    edges: { node: Row }[];
    pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string; endCursor: string };
    totalCount?: number;
  };
  return {
    rows: edges.map(({ node }) => restored(node, resource, schema)),
    next: pageInfo.hasNextPage ? pageInfo.endCursor : undefined,
    previous: pageInfo.hasPreviousPage ? pageInfo.startCursor : undefined,
    total: totalCount,
  };
}

export async function graphqlResult(response: Response): Promise<Record<string, unknown>> {
  const result = (await response.json().catch(() => ({}))) as Result;
  const error = result.errors?.find((each) => !leftOut(each, result));
  if (error) {
    const { code = 'UNKNOWN', ...more } = error.extensions ?? {};
    const errors = result.errors?.flatMap(atVariable) ?? [];
    throw new Fault(code, statuses[code] ?? response.status, error.message, { errors, ...more });
  }
  if (!result.data) throw new Fault('UNKNOWN', response.status, response.statusText);
  return result.data;
}

/** What GraphQL itself refuses never reaches the rules of the fields; but it names the variable or the argument. */
function atVariable({ message, extensions: { code = 'UNKNOWN' } = {} }: GraphqlError): FieldFault[] {
  const [, variable, why = ''] = /^Variable "\$(\w+)" has invalid value: (.*)$/s.exec(message) ?? [];
  if (variable !== undefined) return [{ pointer: `#/${variable}`, code, detail: why }];
  const [, argument] = /^Argument "\w+\.\w+\((\w+):\)" .* is required/.exec(message) ?? [];
  return argument === undefined
    ? []
    : [{ pointer: `#/${argument}`, code, detail: `${argument} is required` }];
}

/** A field that the rules hide is null, with an error of its own, beside what is shown; as in REST it is left out then. */
function leftOut({ path, extensions }: GraphqlError, { data }: Result): boolean {
  const field = path?.at(-1);
  if (extensions?.code !== 'FORBIDDEN' || field === undefined) return false;
  const record = path?.slice(0, -1).reduce<unknown>((at, step) => (at as Row | null)?.[step], data);
  if (!isObject(record) || record === data) return false;
  return delete record[field];
}

/** Keys are text in GraphQL and numbers in REST. */
function restored(row: Row, resource: Resource, schema: Schema): Row {
  const columns = new Map(resource.columns.map((column) => [column.name, column]));
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      const column = columns.get(name);
      if (column) return [name, number(column, value)];
      const target = targetOf(resource, name, schema);
      if (!target) return [name, value];
      if (Array.isArray(value)) return [name, value.map((each) => restored(each, target, schema))];
      return [name, isObject(value) ? restored(value, target, schema) : value];
    }),
  );
}

function number({ kind }: Column, value: unknown): unknown {
  return kind === 'id' && typeof value === 'string' ? Number(value) : value;
}

function targetOf(resource: Resource, name: string, schema: Schema): Resource | undefined {
  const relation = [...referencesOf(resource), ...resource.inverses].find((each) => each.name === name);
  return relation && schema.byName.get(relation.target);
}
