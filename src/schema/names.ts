/** Every name that is derived from a type's name, in one place. */

/** `BlogPost` → `blogPost`, `URLRule` → `urlRule`, `MP3File` → `mp3File`. */
export function singularOf(typeName: string): string {
  return typeName.replace(/^[A-Z]+(?=[A-Z][a-z]|\d|$)|^[A-Z]/, (head) => head.toLowerCase());
}

/** `story` → `stories`, `box` → `boxes`, `book` → `books`. */
export function pluralOf(singular: string): string {
  if (/[^aeiouAEIOU]y$/.test(singular)) return `${singular.slice(0, -1)}ies`;
  return /(?:s|x|ch|sh)$/.test(singular) ? `${singular}es` : `${singular}s`;
}

/** `blogPosts` → `blog-posts`, `blogURLs` → `blog-urls`. */
export function pathOf(plural: string): string {
  return plural
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/([A-Z])([A-Z](?!s$)[a-z])/g, '$1-$2')
    .toLowerCase();
}

/** The column, and the field of both doors, that holds the key of a referenced record. */
export function keyFieldOf(reference: string): string {
  return `${reference}Id`;
}

/** The hidden column that has the text of another without letter case. Names of columns have 60 characters at the most, and PostgreSQL's 63. */
export function foldedNameOf(stored: string): string {
  return `_f_${stored}`;
}

interface Named {
  readonly name: string;
  readonly singular: string;
  readonly plural: string;
}

export const rootFieldName = {
  GET: (resource: Named) => resource.singular,
  LIST: (resource: Named) => resource.plural,
  CREATE: (resource: Named) => `create${resource.name}`,
  UPDATE: (resource: Named) => `update${resource.name}`,
  DELETE: (resource: Named) => `delete${resource.name}`,
} as const;

/** The mutations on many records: `createBooks`, `updateBooks`, `deleteBooks`. */
export const bulkFieldName = {
  CREATE: (resource: Named) => `create${capitalised(resource.plural)}`,
  UPDATE: (resource: Named) => `update${capitalised(resource.plural)}`,
  DELETE: (resource: Named) => `delete${capitalised(resource.plural)}`,
} as const;

/** `upsertBook`, `upsertBooks`. */
export const upsertFieldName = {
  ONE: (resource: Named) => `upsert${resource.name}`,
  MANY: (resource: Named) => `upsert${capitalised(resource.plural)}`,
} as const;

function capitalised(name: string): string {
  return `${name[0]?.toUpperCase()}${name.slice(1)}`;
}

export function connectionName({ plural }: Pick<Named, 'plural'>): string {
  return `${plural}Connection`;
}

export function aggregateName({ plural }: Pick<Named, 'plural'>): string {
  return `${plural}Aggregate`;
}

/** What a type has in GraphQL beside each of its lists. */
export const besideList = {
  connection: ({ name }: { readonly name: string }) => connectionName({ plural: name }),
  aggregate: ({ name }: { readonly name: string }) => aggregateName({ plural: name }),
} as const;

/** Taken by derived root fields, including those of connections and aggregates. */
export function reservedRootFields(resource: Named): { query: string[]; mutation: string[] } {
  return {
    query: [
      rootFieldName.GET(resource),
      rootFieldName.LIST(resource),
      connectionName(resource),
      aggregateName(resource),
    ],
    mutation: [
      ...[rootFieldName, bulkFieldName].flatMap((names) => [
        names.CREATE(resource),
        names.UPDATE(resource),
        names.DELETE(resource),
      ]),
      upsertFieldName.ONE(resource),
      upsertFieldName.MANY(resource),
    ],
  };
}

/** `PostInputWithoutAuthor`: of a new post that is nested in its author. */
export function nestedTypeName(type: string, reference: string): string {
  return `${type}Without${reference[0]?.toUpperCase()}${reference.slice(1)}`;
}

/** Taken by derived GraphQL types, so that a file written today keeps its names. */
export function reservedTypes(
  resource: Named & { readonly references: readonly { readonly name: string }[] },
): string[] {
  const suffixes = [
    'Where',
    'ListWhere',
    'Order',
    'Connection',
    'Edge',
    'Group',
    'Groups',
    'Aggregate',
    'Values',
    'Counts',
    'Numbers',
    'Averages',
    'Having',
    ...['Counts', 'Numbers', 'Averages', 'Values'].flatMap((each) => [`${each}Having`, `${each}Order`]),
    'GroupsOrder',
    'AggregateOrder',
    'Input',
    'Changes',
    'Increments',
    'By',
    'Upsert',
    ...resource.references.map(({ name }) => nestedTypeName('Input', name)),
  ];
  return suffixes.map((suffix) => resource.name + suffix);
}

/** What `@journal` adds to GraphQL: taken only where the type has it. */
export const journalNames = {
  change: ({ name }: Pick<Named, 'name'>) => `${name}Change`,
  image: ({ name }: Pick<Named, 'name'>) => `${name}Fields`,
  query: ({ singular }: Pick<Named, 'singular'>) => `${singular}Changes`,
  restore: ({ name }: Pick<Named, 'name'>) => `restore${name}`,
} as const;

/** Of every type that keeps its changes together; names of Duet's where there is one. */
export const CHANGES = 'changes';
export const CHANGES_POSITION = 'changesPosition';
export const changeTypes: readonly string[] = ['Change', 'ChangeKind'];

/** The changes of a record, beside its fields. */
export const OWN_CHANGES = '_changes';

/** The input that holds the operators of a type; what cannot be compared can only be there or not. */
export function filterTypeName(type: string, operators: readonly string[]): string {
  if (operators.length === 1) return 'PresenceFilter';
  if (operators.includes('has')) return `${type}ListFilter`;
  // An ID that the server counts up is a number at heart; one that clients give is text.
  return type === 'ID' && operators.includes('contains') ? 'IDTextFilter' : `${type}Filter`;
}

/** The input that adds records with such keys to a list, and removes them. */
export function linksTypeName(key: string): string {
  return `${key}Links`;
}

/** Types that are Duet's or GraphQL's own. */
export const ownTypes: readonly string[] = [
  'Query',
  'Mutation',
  'Subscription',
  'PageInfo',
  'SortOrder',
  'PresenceFilter',
  'IDTextFilter',
  ...['ID', 'String', 'Int', 'BigInt', 'Decimal', 'Float', 'Boolean', 'DateTime', 'Date', 'UUID'].flatMap(
    (scalar) => [`${scalar}Filter`, `${scalar}ListFilter`],
  ),
  ...['ID', 'String', 'UUID'].map(linksTypeName),
];

/** The argument of updates and deletes that states the expected version. */
export const VERSION_ARGUMENT = 'ifVersion';

/** What an update has beside the fields of the resource: numbers that are added to those that are stored. */
export const INCREMENTS = '_inc';

/** Arguments of derived mutations that are not fields of the resource. */
export const ownArguments: readonly string[] = [VERSION_ARGUMENT];

/** The argument of an upsert that says by what the record is looked up. */
export const BY_ARGUMENT = 'by';

/** What filters have beside the fields of the resource. */
export const ownFilters: readonly string[] = ['and', 'or', 'not'];

/** Below it are the actions, where there are some. */
export const ACTIONS_PATH = 'actions';

/** Below it are the changes of each type that keeps them, where there is one. */
export const CHANGES_PATH = 'changes';

/** Where several live answers share a stream, if a type keeps changes. */
export const LIVE_PATH = 'live';

/** First path segments that are not free for resources. */
export const ownPaths: readonly string[] = [
  'graphql',
  'mcp',
  'transaction',
  'healthz',
  'readyz',
  'metrics',
  'openapi.json',
  'access.json',
  'schema.graphql',
];

/** What begins with a vowel, but is not spoken so, and the reverse. */
const SPOKEN_LIKE_A_CONSONANT =
  /^(?:eu|ewe|onc?e(?![a-z])|u(?:bi|fo|ku|ni(?!n|m)|ra|re|ri|rl|sa|sb|se|su(?!r)|tc|ti|to|ui))/i;
const SILENT_H = /^h(?:eir|onest|onou?r|our)/i;

/** `a book`, `an order line`: for a name of the file inside of a sentence. */
export function withArticle(name: string): string {
  const isVowel = SILENT_H.test(name) || (/^[aeiou]/i.test(name) && !SPOKEN_LIKE_A_CONSONANT.test(name));
  return `${isVowel ? 'an' : 'a'} ${name}`;
}

/** The same at the beginning of one. */
export function withCapitalArticle(name: string): string {
  return `A${withArticle(name).slice(1)}`;
}
