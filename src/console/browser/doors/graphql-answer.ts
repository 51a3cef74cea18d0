/** What comes back through the GraphQL door, as an answer in the values of REST. */

import { type Answer, type Ask, type Change, isMany } from '../ask.ts';
import {
  type Column,
  type Resource,
  type Row,
  referencesOf,
  type Schema,
  type Wanted,
} from '../schema/types.ts';
import { isObject } from '../where.ts';
import { Fault, type FieldFault } from './wire.ts';

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
  if (ask.do === 'act') return { value: restoredValue(value, ask.action.graphql?.wanted, schema) };
  const { resource } = ask;
  if (ask.do === 'delete') return {};
  if (isMany(ask)) return { rows: (value as Row[]).map((row) => restored(row, resource, schema)) };
  if (ask.do === 'changes') {
    const was = (row: Row | null) => row && restored(row, resource, schema);
    const changes = value as Change[];
    return {
      changes: changes.map((change) => ({
        ...change,
        ...(change.before !== undefined && { before: was(change.before) }),
        after: was(change.after),
      })),
    };
  }
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
  const [, variable, inside = '', why = ''] =
    /^Variable "\$(\w+)" has invalid value( at [^:]*)?: (.*)$/s.exec(message) ?? [];
  if (variable !== undefined)
    return [{ pointer: `#/${variable}`, code, detail: `${inside && `${inside.trim()}: `}${why}` }];
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

function restoredValue(value: unknown, wanted: Wanted, schema: Schema): unknown {
  if (Array.isArray(value)) return value.map((each) => restoredValue(each, wanted, schema));
  if (!wanted || !isObject(value)) return value;
  if ('columns' in wanted) return restored(value, wanted, schema);
  const fields = wanted.map(({ name, wanted: of }) => [name, restoredValue(value[name], of, schema)]);
  return Object.fromEntries(fields);
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
