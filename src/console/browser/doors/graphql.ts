/** The GraphQL door: an ask as an operation with variables. */

import {
  type ActAsk,
  type Ask,
  type DeleteAsk,
  type GetAsk,
  type ListAsk,
  type ManyAsk,
  type RecordAsk,
  SHOWN_CHANGES,
  SHOWN_INVERSES,
  SHOWN_LINKS,
  type UpdateAsk,
} from '../ask.ts';
import { filterOf } from '../found.ts';
import {
  furtherOf,
  type Inverse,
  linkedLists,
  type ManyOperation,
  RELEVANCE,
  type Reference,
  type Resource,
  readable,
  referencesOf,
  type Schema,
  type Wanted,
} from '../schema/types.ts';
import type { Wire } from './wire.ts';

interface Call {
  readonly kind: 'query' | 'mutation';
  readonly field: string;
  readonly types: Readonly<Record<string, string>>;
  readonly given: Readonly<Record<string, unknown>>;
  readonly selection: string;
}

/** The name under which an argument that is no field of the resource stands among the variables. */
const VERSION = 'ifVersion';

/** Whether it is done to one version alone; what is given and not declared is left out. */
export function takesVersion(ask: UpdateAsk | DeleteAsk): boolean {
  const { arguments: types } = ask.resource.graphql ?? {};
  return VERSION in (types?.[ask.do === 'update' ? 'UPDATE' : 'DELETE'] ?? {});
}

export function graphqlWire(ask: Ask, schema: Schema): Wire | undefined {
  const call = ask.do === 'act' ? actCall(ask) : callOf(ask, schema);
  if (!call) return undefined;
  const given = Object.entries(call.given).filter(
    ([name, value]) => value !== undefined && name in call.types,
  );
  const declared = given.map(([name]) => `$${name}: ${call.types[name]}`).join(', ');
  const passed = given.map(([name]) => `${name}: $${name}`).join(', ');
  const name = call.field[0]?.toUpperCase() + call.field.slice(1);
  const query = `${call.kind} ${name}${declared && `(${declared})`} {\n${indented(`${call.field}${passed && `(${passed})`} ${call.selection}`.trimEnd())}\n}`;
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

function actCall({ action, values }: ActAsk): Call | undefined {
  const { name, root, graphql } = action;
  return (
    graphql && {
      kind: root === 'Query' ? 'query' : 'mutation',
      field: name,
      types: graphql.types,
      given: values,
      selection: wantedSelection(graphql.wanted),
    }
  );
}

function callOf(ask: RecordAsk, schema: Schema): Call | undefined {
  const { resource } = ask;
  const side = resource.graphql;
  if (!side) return undefined;
  const { roots, arguments: types } = side;
  const columns = readable(resource);
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
    case 'changes': {
      const kept = block(side.kept);
      return roots.CHANGES === undefined
        ? undefined
        : {
            kind: 'query',
            field: roots.CHANGES,
            types: types.CHANGES ?? {},
            given: { [resource.key.name]: keyValue(ask), first: SHOWN_CHANGES, after: ask.after },
            selection: block([...CHANGE_FIELDS, `before ${kept}`, `after ${kept}`]),
          };
    }
    case 'restore':
      return roots.RESTORE === undefined
        ? undefined
        : {
            kind: 'mutation',
            field: roots.RESTORE,
            types: types.RESTORE ?? {},
            given: { [resource.key.name]: keyValue(ask), version: ask.version },
            selection: block([...columns, '_version']),
          };
    case 'createMany':
      return manyCall(ask, 'CREATE_MANY', { records: ask.records });
    case 'updateMany':
      return manyCall(ask, 'UPDATE_MANY', { where: ask.where, set: ask.changes, atMost: ask.atMost });
    case 'deleteMany':
      return manyCall(ask, 'DELETE_MANY', { where: ask.where, atMost: ask.atMost });
    case 'delete':
      return roots.DELETE === undefined
        ? undefined
        : {
            kind: 'mutation',
            field: roots.DELETE,
            types: types.DELETE ?? {},
            given: { [resource.key.name]: keyValue(ask), [VERSION]: ask.version },
            selection: block([resource.key.name]),
          };
  }
}

function manyCall(
  { resource }: ManyAsk,
  root: ManyOperation,
  given: Readonly<Record<string, unknown>>,
): Call | undefined {
  const { roots, arguments: types } = resource.graphql ?? {};
  const field = roots?.[root];
  if (field === undefined) return undefined;
  return {
    kind: 'mutation',
    field,
    types: types?.[root] ?? {},
    given,
    selection: block([resource.key.name]),
  };
}

const CHANGE_FIELDS = ['position', 'at', 'kind', 'version', 'caller'];

/** A path of the address is text; an ID may be that too. */
function keyValue({ resource, key }: { resource: Resource; key: unknown }): unknown {
  return resource.key.kind === 'id' ? String(key) : key;
}

function listArguments(ask: ListAsk): Record<string, unknown> {
  const orderBy = ask.sort.map((name) => {
    const turned = name.startsWith('-');
    const field = turned ? name.slice(1) : name;
    const order: unknown = turned === (field === RELEVANCE) ? 'ASC' : 'DESC';
    return field.split('.').reduceRight((inner, name) => ({ [name]: inner }), order);
  });
  const backward = ask.before !== undefined;
  return {
    where: filterOf(ask),
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
    ...readable(resource),
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
    ...lists.map((list) => {
      const columns = readable(schema.byName.get(list.target) ?? { columns: [] });
      // A form shows those of a list by their names alone.
      const further = isForm ? [] : furtherOf(list, 'graphql', schema);
      return `${list.name}(first: ${most}) ${block([...columns, ...namedOf(further, schema)])}`;
    }),
  ];
}

function inversesHere({ inverses }: Resource): Inverse[] {
  return inverses.filter(({ doors }) => doors.includes('graphql'));
}

function referenceSelections(resource: Resource, schema: Schema): string[] {
  const here = referencesOf(resource).filter(({ doors }) => doors.includes('graphql'));
  return namedOf(here, schema);
}

function namedOf(references: readonly Reference[], { byName }: Schema): string[] {
  return references.map(({ name, target }) => `${name} ${named(byName.get(target))}`);
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

/** All that is wanted of what an action answers. */
function wantedSelection(wanted: Wanted): string {
  if (!wanted) return '';
  if ('columns' in wanted) return block(wanted.columns.map(({ name }) => name));
  return block(wanted.map((field) => `${field.name} ${wantedSelection(field.wanted)}`.trimEnd()));
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
