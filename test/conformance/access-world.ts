/** A small world with rules of every kind, and, in plain words, what they mean: who sees and may do what in it. */

export const sdl = `
type Person @resource(plural: "people")
  @allow(to: [READ], where: { public: { eq: true } })
  @allow(to: [READ, UPDATE], where: { handle: { eq: { claim: "sub" } } })
  @allow(to: [READ, CREATE, UPDATE, DELETE], role: "admin")
{
  id: ID!
  handle: String! @unique
  public: Boolean! @default(value: false)
  bio: String
  email: String
    @allow(to: [READ], where: { handle: { eq: { claim: "sub" } } })
    @allow(to: [READ], role: "editor")
  salary: Decimal @decimal(scale: 2) @allow(to: [READ, CREATE, UPDATE], role: "admin")
  rank: BigInt! @default(value: "1") @allow(to: [CREATE, UPDATE], role: "admin")
  mentor: Person
  posts: [Post!]! @inverse(of: "author")
  reviews: [Post!] @inverse(of: "reviewer") @allow(to: [READ], role: "editor")
  projects: [Project!]! @through(type: "Badge")
}
type Post @resource
  @allow(to: [READ], where: { published: { eq: true } })
  @allow(to: [READ, CREATE, UPDATE, DELETE], where: { author: { handle: { eq: { claim: "sub" } } } })
  @allow(to: [READ, UPDATE], role: "editor")
  @allow(to: [DELETE], role: "admin")
{
  id: ID!
  title: String!
  slug: String @unique
  published: Boolean! @default(value: false)
  author: Person
  note: String @allow(to: [READ, UPDATE], role: "editor")
  reviewer: Person @allow(to: [READ, CREATE, UPDATE], role: "editor")
  comments: [Comment!]!
}
type Comment @resource
  @allow(to: [READ], where: { post: { published: { eq: true } } })
  @allow(to: [CREATE], role: "authenticated")
  @allow(to: [UPDATE, DELETE], where: { owner: { eq: { claim: "sub" } } })
{
  id: ID!
  body: String!
  owner: String @set(claim: "sub")
  post: Post!
}
type Project @resource
  @allow(to: [READ, UPDATE], where: { team: { in: { claim: "teams" } } })
  @allow(to: [READ, CREATE, DELETE], role: "admin", where: { not: { team: { in: { claim: "blocked" } } } })
{
  code: ID! @key
  team: String!
  secret: String
  badges: [Badge!]!
  people: [Person!]! @through(type: "Badge")
}
type Badge @resource
  @allow(to: [READ], role: "authenticated")
  @allow(to: [CREATE, UPDATE, DELETE], role: "editor", where: { person: { public: { eq: true } } })
{
  id: ID!
  label: String!
  person: Person
  project: Project
    @allow(to: [READ], role: "editor")
    @allow(to: [READ], where: { person: { handle: { eq: { claim: "sub" } } } })
}
type Vault @resource { id: ID!  secret: String!  keeper: Person }
`;

export type Name = 'people' | 'posts' | 'comments' | 'projects' | 'badges' | 'vaults';
export type Row = Record<string, unknown>;
export type Action = 'READ' | 'CREATE' | 'UPDATE' | 'DELETE';

export interface Shape {
  readonly type: string;
  readonly key: string;
  readonly columns: readonly string[];
  /** The column of a reference → its name and where it leads. */
  readonly references: Readonly<Record<string, readonly [string, Name]>>;
  /** A list → whose it is, and by which column. */
  readonly lists: Readonly<Record<string, readonly [Name, string]>>;
  /** A list through a join type → where it leads, whose records lead there, and by which column they do. */
  readonly throughs?: Readonly<Record<string, readonly [Name, Name, string]>>;
  readonly text: string;
}

export const shapes: Readonly<Record<Name, Shape>> = {
  people: {
    type: 'Person',
    key: 'id',
    columns: ['id', 'handle', 'public', 'bio', 'email', 'salary', 'rank', 'mentorId'],
    references: { mentorId: ['mentor', 'people'] },
    lists: { posts: ['posts', 'authorId'], reviews: ['posts', 'reviewerId'] },
    throughs: { projects: ['projects', 'badges', 'projectId'] },
    text: 'bio',
  },
  posts: {
    type: 'Post',
    key: 'id',
    columns: ['id', 'title', 'slug', 'published', 'authorId', 'note', 'reviewerId'],
    references: { authorId: ['author', 'people'], reviewerId: ['reviewer', 'people'] },
    lists: { comments: ['comments', 'postId'] },
    text: 'title',
  },
  comments: {
    type: 'Comment',
    key: 'id',
    columns: ['id', 'body', 'owner', 'postId'],
    references: { postId: ['post', 'posts'] },
    lists: {},
    text: 'body',
  },
  projects: {
    type: 'Project',
    key: 'code',
    columns: ['code', 'team', 'secret'],
    references: {},
    lists: { badges: ['badges', 'projectId'] },
    throughs: { people: ['people', 'badges', 'personId'] },
    text: 'secret',
  },
  badges: {
    type: 'Badge',
    key: 'id',
    columns: ['id', 'label', 'personId', 'projectId'],
    references: { personId: ['person', 'people'], projectId: ['project', 'projects'] },
    lists: {},
    text: 'label',
  },
  vaults: {
    type: 'Vault',
    key: 'id',
    columns: ['id', 'secret', 'keeperId'],
    references: { keeperId: ['keeper', 'people'] },
    lists: {},
    text: 'secret',
  },
};

export const names = Object.keys(shapes) as Name[];
/** Integers in REST, strings in GraphQL. */
export const serial = new Set(['id', 'mentorId', 'authorId', 'reviewerId', 'postId', 'personId', 'keeperId']);

export type World = Record<Name, Row[]>;

/** Values that are nowhere else, so that a leak can be told from an accident. */
export function newWorld(): World {
  const person = (id: number, handle: string, isPublic: boolean, mentorId: number | null) => ({
    id,
    handle,
    public: isPublic,
    bio: `<bio ${id}>`,
    email: `<email ${id}>`,
    salary: `${7_100_000 + id}.50`,
    rank: '1',
    mentorId,
  });
  const post = (id: number, published: boolean, authorId: number | null, reviewerId: number | null) => ({
    id,
    title: `<title ${id}>`,
    slug: `<slug ${id}>`,
    published,
    authorId,
    note: `<note ${id}>`,
    reviewerId,
  });
  const comment = (id: number, postId: number, owner: string) => ({
    id,
    body: `<body ${id}>`,
    owner,
    postId,
  });
  const project = (code: string, team: string) => ({ code, team, secret: `<secret ${code}>` });
  const badge = (id: number, personId: number | null, projectId: string | null) => ({
    id,
    label: `<label ${id}>`,
    personId,
    projectId,
  });
  return {
    people: [
      person(1, 'ann', true, 2),
      person(2, 'bob', false, 1),
      person(3, 'cid', true, null),
      person(4, 'dora', false, null),
    ],
    posts: [
      post(1, true, 1, 2),
      post(2, false, 1, 1),
      post(3, true, 2, null),
      post(4, false, 2, 1),
      post(5, true, null, null),
      post(6, false, 1, null),
    ],
    comments: [comment(1, 1, 'ann'), comment(2, 1, 'bob'), comment(3, 2, 'ann'), comment(4, 3, 'bob')],
    projects: [project('<code a>', 'red'), project('<code b>', 'blue'), project('<code c>', 'red')],
    badges: [badge(1, 1, '<code a>'), badge(2, 2, '<code b>'), badge(3, null, null), badge(4, 3, '<code b>')],
    vaults: [{ id: 1, secret: '<vault 1>', keeperId: 1 }],
  };
}

export interface Who {
  readonly name: string;
  /** Undefined for the anonymous. */
  readonly claims: { readonly sub: string; readonly [claim: string]: unknown } | undefined;
}

export const callers: readonly Who[] = [
  { name: 'anonymous', claims: undefined },
  { name: 'ann', claims: { sub: 'ann', teams: ['red'] } },
  { name: 'bob', claims: { sub: 'bob', teams: 'blue' } },
  { name: 'eve', claims: { sub: 'eve', role: 'visitor' } },
  { name: 'editor', claims: { sub: 'ed', roles: ['editor', 'visitor'], teams: ['red', 'blue'] } },
  { name: 'admin', claims: { sub: 'root', roles: ['admin'], teams: [], blocked: ['blue'] } },
  // The claim that the rule asks for is missing, inside of a "not".
  { name: 'admin without a claim', claims: { sub: 'amy', roles: ['admin'] } },
];

interface Meaning {
  readonly to: readonly Action[];
  readonly role?: string;
  /** Nothing matches it without a claim. */
  readonly claim?: true;
  readonly on?: (row: Row, who: Who, world: World) => boolean;
}

const everyAction: readonly Action[] = ['READ', 'CREATE', 'UPDATE', 'DELETE'];
const byKey = (world: World, name: Name, key: unknown) =>
  world[name].find((row) => row[shapes[name].key] === key);
const listOf = (claim: unknown): unknown[] | undefined =>
  claim === undefined ? undefined : Array.isArray(claim) ? claim : [claim];

/** Written from the documentation, not from the code: what each rule of the file above means. */
const ofTypes: Readonly<Record<Name, readonly Meaning[]>> = {
  people: [
    { to: ['READ'], on: (row) => row['public'] === true },
    { to: ['READ', 'UPDATE'], claim: true, on: (row, who) => row['handle'] === who.claims?.sub },
    { to: everyAction, role: 'admin' },
  ],
  posts: [
    { to: ['READ'], on: (row) => row['published'] === true },
    {
      to: everyAction,
      claim: true,
      on: (row, who, world) =>
        who.claims !== undefined && byKey(world, 'people', row['authorId'])?.['handle'] === who.claims.sub,
    },
    { to: ['READ', 'UPDATE'], role: 'editor' },
    { to: ['DELETE'], role: 'admin' },
  ],
  comments: [
    { to: ['READ'], on: (row, _, world) => byKey(world, 'posts', row['postId'])?.['published'] === true },
    { to: ['CREATE'], role: 'authenticated' },
    {
      to: ['UPDATE', 'DELETE'],
      claim: true,
      on: (row, who) => who.claims !== undefined && row['owner'] === who.claims.sub,
    },
  ],
  projects: [
    {
      to: ['READ', 'UPDATE'],
      claim: true,
      on: (row, who) => listOf(who.claims?.['teams'])?.includes(row['team']) ?? false,
    },
    {
      to: ['READ', 'CREATE', 'DELETE'],
      role: 'admin',
      on: (row, who) => {
        const blocked = listOf(who.claims?.['blocked']);
        return blocked !== undefined && !blocked.includes(row['team']);
      },
    },
  ],
  badges: [
    { to: ['READ'], role: 'authenticated' },
    {
      to: ['CREATE', 'UPDATE', 'DELETE'],
      role: 'editor',
      on: (row, _, world) => byKey(world, 'people', row['personId'])?.['public'] === true,
    },
  ],
  vaults: [],
};

const ofFields: Readonly<Record<string, readonly Meaning[]>> = {
  'people.email': [
    { to: ['READ'], on: (row, who) => row['handle'] === who.claims?.sub },
    { to: ['READ'], role: 'editor' },
  ],
  'people.salary': [{ to: ['READ', 'CREATE', 'UPDATE'], role: 'admin' }],
  'people.rank': [{ to: ['CREATE', 'UPDATE'], role: 'admin' }],
  'people.reviews': [{ to: ['READ'], role: 'editor' }],
  'posts.note': [{ to: ['READ', 'UPDATE'], role: 'editor' }],
  // Nobody reads it off the project's own list of badges either.
  'badges.projectId': [
    { to: ['READ'], role: 'editor' },
    {
      to: ['READ'],
      on: (row, who, world) =>
        who.claims !== undefined && byKey(world, 'people', row['personId'])?.['handle'] === who.claims.sub,
    },
  ],
  'posts.reviewerId': [{ to: ['READ', 'CREATE', 'UPDATE'], role: 'editor' }],
};

/** What one caller sees of a world, and may do there. */
export class Eyes {
  readonly who: Who;
  readonly world: World;
  readonly #roles: readonly unknown[];

  constructor(who: Who, world: World) {
    this.who = who;
    this.world = world;
    const { claims } = who;
    this.#roles = claims ? [...(listOf(claims['roles'] ?? claims['role']) ?? []), 'authenticated'] : [];
  }

  #applies(meaning: Meaning, action: Action): boolean {
    return meaning.to.includes(action) && (!meaning.role || this.#roles.includes(meaning.role));
  }

  #holds(meanings: readonly Meaning[], action: Action, row: Row): boolean {
    return meanings.some(
      (each) => this.#applies(each, action) && (each.on?.(row, this.who, this.world) ?? true),
    );
  }

  /** Whether there is any rule at all that could allow it: who is not known has no claims, now or later. */
  couldEver(name: Name, action: Action): boolean {
    return [action, 'READ' as const].every((each) =>
      ofTypes[name].some(
        (meaning) => this.#applies(meaning, each) && !(meaning.claim && this.who.claims === undefined),
      ),
    );
  }

  may(action: Action, name: Name, row: Row): boolean {
    return this.#holds(ofTypes[name], action, row);
  }

  mayField(action: Action, name: Name, field: string, row: Row): boolean {
    const meanings = ofFields[`${name}.${field}`] ?? [];
    return !meanings.some(({ to }) => to.includes(action)) || this.#holds(meanings, action, row);
  }

  /** Whether a field could be used in an order, a filter or an aggregate: one has to be able to read all of it. */
  usable(name: Name, field: string): boolean {
    const meanings = ofFields[`${name}.${field}`]?.filter(({ to }) => to.includes('READ')) ?? [];
    return meanings.length === 0 || meanings.some((each) => this.#applies(each, 'READ') && !each.on);
  }

  seesAll(name: Name): boolean {
    return ofTypes[name].some((each) => this.#applies(each, 'READ') && !each.on);
  }

  visible(name: Name): Row[] {
    return this.world[name].filter((row) => this.may('READ', name, row));
  }

  find(name: Name, key: unknown): Row | undefined {
    return this.visible(name).find((row) => row[shapes[name].key] === key);
  }

  /** The record as it is shown: without what is forbidden, and without references to what is not seen. */
  show(name: Name, row: Row, columns: readonly string[] = shapes[name].columns): Row {
    const shown: Row = {};
    for (const column of columns) {
      if (!this.mayField('READ', name, column, row)) continue;
      const [, target] = shapes[name].references[column] ?? [];
      shown[column] = target && !this.find(target, row[column]) ? null : row[column];
    }
    return shown;
  }

  /** What `include` adds. */
  showRelated(name: Name, row: Row): Row {
    const { references, lists, key } = shapes[name];
    const related: Row = {};
    for (const [column, [field, target]] of Object.entries(references)) {
      if (!this.mayField('READ', name, column, row)) continue;
      const found = this.find(target, row[column]);
      related[field] = found ? this.show(target, found) : null;
    }
    for (const [list, [target, column]] of Object.entries(lists))
      if (this.mayField('READ', name, list, row))
        related[list] = this.members(target, column, row[key]).map((each) => this.show(target, each));
    return related;
  }

  members(target: Name, column: string, key: unknown): Row[] {
    return this.visible(target).filter(
      (each) => each[column] === key && this.mayField('READ', target, column, each),
    );
  }

  /** Texts and numbers that this caller must never be sent. */
  secrets(): string[] {
    return names.flatMap((name) =>
      this.world[name].flatMap((row) => {
        const shown = this.may('READ', name, row) ? this.show(name, row) : {};
        return shapes[name].columns.flatMap((column) => {
          const value = row[column];
          const isOwn = !shapes[name].references[column];
          const isCanary = Number(value) > 7_000_000 || String(value).startsWith('<');
          return isOwn && isCanary && !Object.hasOwn(shown, column) ? [String(value)] : [];
        });
      }),
    );
  }
}
