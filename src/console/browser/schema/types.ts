/** What the console knows of the running schema; it comes from the API's own descriptions and from nowhere else. */

export type Kind =
  | 'id'
  | 'int'
  | 'float'
  | 'bigint'
  | 'decimal'
  | 'boolean'
  | 'text'
  | 'datetime'
  | 'date'
  | 'uuid'
  | 'enum'
  | 'json';

/** The last two where changes are kept. */
export type Operation = 'LIST' | 'GET' | 'CREATE' | 'UPDATE' | 'DELETE' | 'CHANGES' | 'RESTORE';

/** The same of many records at once. */
export type ManyOperation = 'CREATE_MANY' | 'UPDATE_MANY' | 'DELETE_MANY';

export interface Described {
  readonly name: string;
  readonly description?: string | undefined;
  readonly deprecated?: boolean | undefined;
}

export interface Bounds {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  /** Where there is a pattern: a text that it matches. */
  readonly example?: unknown;
}

export interface Column extends Described {
  readonly kind: Kind;
  /** Its name in the schema file: `Int`, `Color`. */
  readonly type: string;
  readonly list: boolean;
  readonly required: boolean;
  /** The values of an enum; those that are deprecated come last. */
  readonly choices: readonly string[];
  /** Why some of them are. */
  readonly outdated?: Readonly<Record<string, string>> | undefined;
  readonly bounds: Bounds;
  /** As the grammar of filters has them for this column. */
  readonly operators: readonly string[];
  readonly sortable: boolean;
  /** Whether the caller may never read it, so that nobody asks for it. */
  readonly isClosed?: boolean;
  /** The reference whose key this is. */
  readonly reference?: Reference | undefined;
  /** What an input of an action is made of, or each of a list of them; an input that holds itself is JSON from there on. */
  readonly fields?: readonly FormField[] | undefined;
}

export interface Reference extends Described {
  readonly target: string;
  readonly required: boolean;
  /** Through which doors the record itself can be read along. */
  readonly doors: readonly Door[];
}

export interface Inverse extends Described {
  readonly target: string;
  /** The column of the target that points back; undefined where the API does not tell. */
  readonly via: string | undefined;
  readonly doors: readonly Door[];
  /** The field of a new record that has the keys of all that are in it: `tagIds`. */
  readonly ids?: string | undefined;
  /** The operations that say which records are in it: a list through a join type. */
  readonly linkedBy: readonly Operation[];
}

/** The lists through join types, which belong to what a person would call the record. */
export function linkedLists({ inverses }: Resource, door: Door): Inverse[] {
  return inverses.filter(({ linkedBy, doors }) => linkedBy.length > 0 && doors.includes(door));
}

/** What adds records to such a list, and removes them: `_tags`. */
export function linksName({ name }: Inverse): string {
  return `_${name}`;
}

export type Door = 'rest' | 'graphql';

/** A field that a body may have. */
export interface Input {
  readonly name: string;
  readonly required: boolean;
  readonly default?: unknown;
}

/** A place in a form. */
export interface FormField {
  readonly input: Input;
  readonly column: Column;
}

interface RestSide {
  readonly path: string;
  readonly operations: ReadonlySet<Operation>;
}

/** The names and types that an operation on the resource is written with. */
export interface GraphqlSide {
  readonly roots: Readonly<Partial<Record<Operation | ManyOperation, string>>>;
  readonly connection: string | undefined;
  /** The fields that are kept of a record as it was. */
  readonly kept: readonly string[];
  /** `where` → `BookWhere`, `id` → `ID!`, by operation. */
  readonly arguments: Readonly<
    Partial<Record<Operation | ManyOperation | 'CONNECTION', Readonly<Record<string, string>>>>
  >;
}

export interface Resource extends Described {
  readonly plural: string;
  readonly key: Column;
  readonly columns: readonly Column[];
  readonly inverses: readonly Inverse[];
  readonly operations: ReadonlySet<Operation>;
  readonly create: readonly Input[];
  readonly update: readonly Input[];
  readonly rest: RestSide | undefined;
  readonly graphql: GraphqlSide | undefined;
  /** What a person calls a record by. */
  readonly label: Column;
  /** Whether records are found by their words. */
  readonly searchable: boolean;
  /** The names of fields of which no two records have the same, each alone or several as `product_place`. */
  readonly uniques?: readonly string[] | undefined;
}

/** A root field of the schema file that a function carries out. */
export interface Action extends Described {
  readonly root: 'Query' | 'Mutation';
  readonly path: string;
  readonly arguments: readonly FormField[];
  /** What it answers with, as if it were a field. */
  readonly answer: Column;
  readonly graphql: { readonly types: Readonly<Record<string, string>>; readonly wanted: Wanted } | undefined;
}

/** What GraphQL is to be asked for: nothing more of a value, all columns of a resource, or these fields of a plain type. */
export type Wanted = undefined | Resource | readonly WantedField[];

export interface WantedField {
  readonly name: string;
  readonly wanted: Wanted;
}

/** What lists that are searched can be sorted by; the most relevant come first, unless it is turned around. */
export const RELEVANCE = '_relevance';

export interface Schema {
  readonly resources: readonly Resource[];
  readonly byName: ReadonlyMap<string, Resource>;
  readonly actions: readonly Action[];
  /** Stands in every entity tag, after the version. */
  readonly fingerprint: string;
  /** Whether the service looks at who is asking. */
  readonly hasCallers: boolean;
  readonly hasRest: boolean;
  readonly hasGraphql: boolean;
}

export type Allowed = Readonly<Record<string, readonly string[]>>;

export type Row = Readonly<Record<string, unknown>>;

/** The names of what the caller may read of some records at least. */
export function readable({ columns }: Pick<Resource, 'columns'>): string[] {
  return columns.filter(({ isClosed }) => !isClosed).map(({ name }) => name);
}

/** `Int!`, `[Color!]`: as the schema file would write it. */
export function typeOf({ type, list, required }: Column): string {
  return `${list ? `[${type}!]` : type}${required ? '!' : ''}`;
}

/** The type of a column as a person knows it: of the record, where it is shown for its key; an argument is the key itself. */
export function shownType(column: Column): string {
  const { name, reference } = column;
  return typeOf(
    reference && reference.name !== name
      ? { ...column, type: reference.target, required: reference.required }
      : column,
  );
}

export function referencesOf({ columns }: Resource): Reference[] {
  return columns.flatMap(({ reference }) => (reference ? [reference] : []));
}

/** The types of which records go along when one of these is deleted: descriptions tell it, and they alone. */
export function goingAlong(resource: Resource, schema: Schema): Resource[] {
  const going = new Set([resource]);
  for (const { name } of going)
    for (const other of schema.resources)
      if (
        referencesOf(other).some(
          ({ target, description = '' }) => target === name && /^Deleted together/m.test(description),
        )
      )
        going.add(other);
  return [...going].slice(1);
}

/** What else the records of a list refer to, beside the record whose list it is. */
export function furtherOf({ target, via }: Inverse, door: Door, { byName }: Schema): Reference[] {
  const columns = byName.get(target)?.columns.filter(({ name }) => name !== via) ?? [];
  return columns.flatMap(({ reference }) => (reference?.doors.includes(door) ? [reference] : []));
}

/** What a person would look for in a record, to tell it from others. */
export function labelOf(columns: readonly Column[], key: Column): Column {
  const texts = columns.filter(
    (column) => column.kind === 'text' && !column.list && !column.deprecated && !column.reference,
  );
  const named = ['name', 'title', 'label', 'subject'].flatMap(
    (name) => texts.find((column) => column.name === name) ?? [],
  );
  // A remark that some records have is not what they are called by.
  const own = texts.find(({ name }) => !PROSE.test(name));
  return named[0] ?? texts.find(({ required }) => required) ?? own ?? key;
}

/** How people call texts that have more than a line. */
export const PROSE =
  /(abstract|about|answer|bio|body|comment|content|description|detail|excerpt|html|instruction|markdown|message|note|question|reason|remark|story|summary|text)s?$/i;

/** `Visit 7` is one without a name of its own: a bare key would be taken for one. */
export function labelled(resource: Resource, row: Row): string {
  const key = row[resource.key.name] ?? '';
  const isName = resource.label === resource.key && typeof key === 'string';
  return nameOf(resource, row) ?? (isName ? key : `${resource.name} ${key}`);
}

export function nameOf({ label }: Resource, row: Row): string | undefined {
  const text = row[label.name];
  return typeof text === 'string' && text !== '' ? text : undefined;
}

/** What a column is sorted by: a reference by what it shows. Undefined where it cannot be sorted. */
export function sortOf({ name, sortable, reference }: Column, schema: Schema): string | undefined {
  const label = reference && schema.byName.get(reference.target)?.label;
  if (reference && label?.sortable) return `${reference.name}.${label.name}`;
  return sortable ? name : undefined;
}

/** The places of a form for these inputs. */
export function fieldsOf({ columns }: Resource, inputs: readonly Input[]): FormField[] {
  return inputs.flatMap((input) => {
    const column = columns.find(({ name }) => name === input.name);
    return column ? [{ input, column }] : [];
  });
}
