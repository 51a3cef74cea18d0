/** Model → the typed client: one TypeScript file, its types written out and the runtime below them. */

import { catalogue } from '../base/errors.ts';
import type { ActionField, Model, Resource } from '../schema/model.ts';
import { ActionTypes } from '../typescript/actions.ts';
import { literals } from '../typescript/print.ts';
import { ModelTypes } from '../typescript/types.ts';
// @ts-expect-error Read as text, so it exports nothing; it is a file of its own to be checked as code.
import runtime from './runtime.ts' with { type: 'text' };

const HEAD = '// Written by `duet client` from the schema file: run it again when that has changed.\n';

/** Why a model has no client, and what to do about it. */
export function clientFault({ actions, resources }: Model): string | undefined {
  const own = actions.length > 0 ? ['actions', 'transaction'] : ['transaction'];
  const clash = resources.find(({ rest, plural }) => rest && own.includes(plural));
  return (
    clash &&
    `the client has ${clash.plural} of its own, which is the plural of ${clash.name}. Choose another: @resource(plural: "…")`
  );
}

export function clientText(model: Model): string {
  return [...clientPieces(model)].join('');
}

/** The same in pieces: of hundreds of types it is long, and whoever puts it together can let others have their turn in between. */
export function* clientPieces(model: Model): Generator<string> {
  const types = new ModelTypes(model, { keys: 'number', sees: ({ rest }) => rest, throughReferences: true });
  // Before those that are derived: these are written into a text that is there already.
  const [call, options, table, step] = ['Call', 'DuetOptions', 'Tables', 'Action'].map((name) =>
    types.names.of(name),
  );
  for (const name of declared) types.names.of(name);
  const actions = new ActionTypes(types, 'client');
  const api = types.names.of('Duet');
  const inTransaction = types.names.of('Transaction');
  const { resources } = types;
  yield `${HEAD}\nexport interface ${api} {\n`;
  for (const each of resources) yield `  readonly ${each.plural}: {\n${methodsOf(types, each)}  };\n`;
  if (model.actions.length > 0) {
    const acting = model.actions.map(
      (action) =>
        `    ${action.name}(args${action.arguments.length === 0 ? '?' : ''}: ${actions.arguments(action)}, call?: ${call}): Promise<${answerOf(actions, action)}>;\n`,
    );
    yield `  readonly actions: {\n${acting.join('')}  };\n`;
  }
  yield `  /** All that \`build\` says happens, or nothing. A new record can be used in what follows: its fields stand for what they will be. */
  transaction<R>(build: (t: ${inTransaction}) => R, call?: ${call}): Promise<R>;
}

export interface ${inTransaction} {\n`;
  for (const each of resources) yield `  readonly ${each.plural}: {\n${stepsOf(types, each)}  };\n`;
  yield `}

export function duet(url: string, options: ${options} = {}): ${api} {
  return clientOf(url, options, tables, actions) as ${api};
}

const tables: ${table} = {\n`;
  for (const each of resources) yield `  ${each.plural}: ${JSON.stringify(tableOf(types, each))},\n`;
  const paths = model.actions.map(
    ({ name, path, root }) => `  ${name}: { path: '/actions/${path}', reads: ${root === 'Query'} },\n`,
  );
  yield `};

const actions: Readonly<Record<string, ${step}>> = {\n${paths.join('')}};\n\n${actions.all(model)}\n`;
  for (const declaration of types.each()) yield `${declaration}\n`;
  yield named(types, runtime);
}

/** Actions answer with plain records, so these cannot guard a write. */
function answerOf(types: ActionTypes, action: ActionField): string {
  const { answer } = action;
  if (answer.is !== 'record') return types.answer(action);
  const record = `Omit<${answer.resource.name}, '${answer.resource.version.name}'>`;
  return `${record}${answer.list ? '[]' : ''}${answer.required ? '' : ' | null'}`;
}

/** What the runtime declares; a type of the file that is called so keeps its name. */
const declared = [...runtime.matchAll(/^(?:export )?(?:interface|class|type|const) (\w+)/gm)].map(
  ([, name = '']: RegExpMatchArray) => name,
);

/** The text below the types, or one that uses it, with names that are free. The runtime is checked with any text as a code. */
function named(types: ModelTypes, text: string): string {
  const coded = text.replace(
    'type DuetCode = string;',
    `type DuetCode = ${literals(Object.keys(catalogue))};`,
  );
  return declared.reduce((made, name) => {
    const free = types.names.of(name);
    return free === name ? made : made.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), free);
  }, coded);
}

function tableOf(types: ModelTypes, resource: Resource) {
  const { path, key, fields } = resource;
  const related = fields.flatMap((field) =>
    field.kind === 'column' || !field.target.rest ? [] : [[field.name, field.target.plural]],
  );
  return {
    path,
    key: key.name,
    fields: types.recordOf(resource).map(({ name }) => name),
    related: Object.fromEntries(related),
  };
}

/** What can be asked of a resource; only what its routes answer. */
function methodsOf(types: ModelTypes, resource: Resource): string {
  const named = (part: Parameters<ModelTypes['named']>[1]) => types.named(resource, part);
  const [asked, chosen, call] = ['Asked', 'Chosen', 'Call'].map((name) => types.names.of(name));
  const generic = `<const S extends ${named('Select')} | undefined = undefined, const I extends ${named('Include')} | undefined = undefined>`;
  const options = `${asked}<${named('Graph')}, S, I> & ${call}`;
  const answer = `${chosen}<${named('Graph')}, S, I>`;
  const which = `${named('Guarded')} | ${named('Key')}`;
  const guard = '    /** Given a record, it is guarded by its `_version`; given a key, it is not. */\n';
  const live = resource.journal
    ? `    /** Now, and again whenever it is another; until what it returns is called. */\n    live${generic}(query: ${named('Page')} & ${asked}<${named('Graph')}, S, I>, show: (rows: ${answer}[]) => void, failed?: (error: ${types.names.of('DuetError')}) => void): () => void;\n`
    : '';
  const methods = {
    GET: `    get${generic}(key: ${named('Key')}, options?: ${options}): Promise<${answer} | null>;\n`,
    LIST: `    list${generic}(query?: ${named('Page')} & ${options}): Promise<${answer}[]>;\n    /** Page by page, to the end. */\n    all${generic}(query?: ${named('Page')} & ${options}): AsyncGenerator<${answer}, void>;\n${live}`,
    CREATE: `    create${generic}(input: ${named('Input')}, options?: ${options}): Promise<${answer}>;\n`,
    UPDATE: `${guard}    update${generic}(record: ${which}, changes: ${named('Changes')}, options?: ${options}): Promise<${answer}>;\n`,
    DELETE: `${guard}    delete(record: ${which}, call?: ${call}): Promise<void>;\n`,
  };
  return [...resource.operations].map((operation) => methods[operation]).join('');
}

function stepsOf(types: ModelTypes, resource: Resource): string {
  const { name } = resource;
  const which = `${types.named(resource, 'Guarded')} | ${types.named(resource, 'Key')}`;
  const steps = {
    GET: '',
    LIST: '',
    CREATE: `    create(input: ${types.named(resource, 'Input')}): ${name};\n`,
    UPDATE: `    update(record: ${which}, changes: ${types.named(resource, 'Changes')}): ${name};\n`,
    DELETE: `    delete(record: ${which}): void;\n`,
  };
  return [...resource.operations].map((operation) => steps[operation]).join('');
}
