/** What is asked, in the languages that people paste it into. */

import type { Ask, ListAsk } from './ask.ts';
import { graphqlWire } from './doors/graphql.ts';
import { curlOf, type Wire } from './doors/wire.ts';
import type { Schema } from './schema/types.ts';

export const LANGUAGES = ['curl', 'JavaScript', 'Python', 'Typed client'] as const;
export type Language = (typeof LANGUAGES)[number];

/** Undefined where the language has no word for it. `token`: whether one is sent; it stays with whoever pastes this. */
export function snippetOf(
  language: Language,
  wire: Wire,
  origin: string,
  token: boolean,
  ask: Ask | undefined,
  schema: Schema,
): string | undefined {
  switch (language) {
    case 'JavaScript':
      return javascript(wire, origin, token);
    case 'Python':
      return python(wire, origin, token);
    case 'Typed client':
      return ask && client(ask, wire, origin, token, schema);
    default:
      return curlOf(wire, origin, token);
  }
}

function javascript({ method, path, headers, body }: Wire, origin: string, token: boolean): string {
  const named = Object.entries(headers).map(([name, value]) => `    ${quoted(name)}: ${quoted(value)},`);
  if (token) named.unshift('    Authorization: "Bearer " + TOKEN,');
  const options = [
    ...(method === 'GET' ? [] : [`  method: ${quoted(method)},`]),
    ...(named.length > 0 ? ['  headers: {', ...named, '  },'] : []),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${JSON.stringify(JSON.parse(body))}),`]),
  ];
  const given = options.length > 0 ? `, {\n${options.join('\n')}\n}` : '';
  // A delete answers with nothing.
  const read = method === 'DELETE' ? '' : '\nconst data = await response.json();';
  return `const response = await fetch(${quoted(origin + path)}${given});${read}`;
}

/** With nothing to install. JSON's texts are texts of Python too. */
function python({ method, path, headers, body }: Wire, origin: string, token: boolean): string {
  const named = Object.entries(headers).map(
    ([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`,
  );
  if (token) named.unshift('"Authorization": "Bearer " + os.environ["TOKEN"]');
  return [
    `import json${token ? ', os' : ''}, urllib.request`,
    '',
    'request = urllib.request.Request(',
    `    ${JSON.stringify(origin + path)},`,
    `    method=${JSON.stringify(method)},`,
    ...(named.length > 0 ? [`    headers={${named.join(', ')}},`] : []),
    ...(body === undefined ? [] : [`    data=${JSON.stringify(body)}.encode(),`]),
    ')',
    method === 'DELETE'
      ? 'urllib.request.urlopen(request)'
      : 'data = json.load(urllib.request.urlopen(request))',
  ].join('\n');
}

/** As `duet client` has it. */
function client(ask: Ask, wire: Wire, origin: string, token: boolean, schema: Schema): string | undefined {
  const call =
    ask.do === 'act'
      ? `api.actions.${ask.action.name}(${values(ask.values)})`
      : recordCall(ask, includedBy(wire), schema);
  if (call === undefined) return undefined;
  const options = token ? ', { token: () => TOKEN }' : '';
  return [
    "import { duet } from './duet.ts'; // duet client > duet.ts",
    '',
    `const api = duet(${quoted(origin)}${options});`,
    ...(call.startsWith('const ') ? [call] : [`const data = await ${call};`]),
  ].join('\n');
}

function recordCall(ask: Exclude<Ask, { do: 'act' }>, included: object, schema: Schema): string | undefined {
  const type = `api.${ask.resource.plural}`;
  switch (ask.do) {
    case 'list':
      return ask.as ? undefined : `${type}.list(${options({ ...listed(ask, schema), ...included })})`;
    case 'get':
      return `${type}.get(${[key(ask), options(included)].filter(Boolean).join(', ')})`;
    case 'create':
      return `${type}.create(${values(ask.values)})`;
    case 'update':
      return `const record = await ${type}.get(${key(ask)});\nconst data = await ${type}.update(record, ${values(ask.changes)});`;
    case 'delete':
      return `${type}.delete(${key(ask)})`;
    default:
      return undefined;
  }
}

/** The client takes what GraphQL takes. */
function listed(ask: ListAsk, schema: Schema): object {
  return graphqlWire({ ...ask, after: undefined, before: undefined }, schema)?.graphql?.variables ?? {};
}

/** What is read along, as the request says: `include=museum,halls,halls.maker&halls[limit]=6`. */
function includedBy({ path }: Wire): object {
  const given = new URLSearchParams(path.split('?')[1]);
  const names = given.get('include')?.split(',') ?? [];
  const below = (before: string): object => {
    const own = names.filter((name) => name.startsWith(before) && !name.slice(before.length).includes('.'));
    if (own.length === 0) return {};
    return {
      include: Object.fromEntries(
        own.map((name) => {
          const most = given.get(`${name}[limit]`);
          const wanted = { ...(most && { first: Number(most) }), ...below(`${name}.`) };
          return [name.slice(before.length), Object.keys(wanted).length > 0 ? wanted : true];
        }),
      ),
    };
  };
  return below('');
}

function options(given: object): string {
  return Object.keys(given).length > 0 ? values(given) : '';
}

function key({ resource, key: of }: { resource: { key: { kind: string } }; key: unknown }): string {
  return resource.key.kind === 'id' ? String(of) : quoted(String(of));
}

/** As people write it: names that need no quotes have none. */
function values(of: unknown): string {
  return JSON.stringify(of, null, 2)
    .replace(/^(\s*)"([A-Za-z_]\w*)":/gm, '$1$2:')
    .replace(/"(?:[^"\\]|\\.)*"/g, (text) => quoted(JSON.parse(text)));
}

function quoted(text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}
