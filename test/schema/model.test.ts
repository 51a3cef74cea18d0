/** What a sound schema file means: the resources, fields, names and root fields that are read from it. */

import { describe, expect, test } from 'bun:test';
import { buildSchema } from 'graphql';
import definitions from '../../src/schema/directives.graphql' with { type: 'text' };
import type { Column, Field, Model, Resource } from '../../src/schema/model.ts';
import { pathOf, pluralOf, singularOf } from '../../src/schema/names.ts';
import { readSchema } from '../../src/schema/read.ts';

function modelOf(sdl: string): Model {
  const { model, faults } = readSchema(sdl);
  if (!model) throw new Error(faults.map(({ line, message }) => `${line}: ${message}`).join('\n'));
  return model;
}

function resourceOf(sdl: string, name: string): Resource {
  const resource = modelOf(sdl).byType.get(name);
  if (!resource) throw new Error(`no resource ${name}`);
  return resource;
}

function fieldOf<K extends Field['kind']>(resource: Resource, name: string, kind: K) {
  const field = resource.fieldByName.get(name);
  if (field?.kind !== kind) throw new Error(`${resource.name}.${name} is ${field?.kind}, not ${kind}`);
  return field as Extract<Field, { kind: K }>;
}

function columnNames(columns: readonly Column[]): string[] {
  return columns.map(({ name }) => name);
}

test('the directives themselves are sound', () => {
  expect(() => buildSchema(definitions)).not.toThrow();
});

describe('keys', () => {
  const rows = [
    { sdl: 'id: ID!', name: 'id', type: 'Serial', origin: { by: 'serial' } },
    { sdl: 'id: UUID!', name: 'id', type: 'UUID', origin: { by: 'uuid' } },
    { sdl: 'isbn: ID! @key', name: 'isbn', type: 'ID', origin: { by: 'client', default: undefined } },
    { sdl: 'code: String! @key', name: 'code', type: 'String', origin: { by: 'client', default: undefined } },
    { sdl: 'id: ID! @key', name: 'id', type: 'ID', origin: { by: 'client', default: undefined } },
    { sdl: 'id: String! @key', name: 'id', type: 'String', origin: { by: 'client', default: undefined } },
  ] as const;
  for (const { sdl, name, type, origin } of rows)
    test(sdl, () => {
      const { key } = resourceOf(`type Book @resource { title: String ${sdl} }`, 'Book');
      expect({ name: key.name, type: key.type.name, required: key.required }).toEqual({
        name,
        type,
        required: true,
      });
      expect(key.origin).toEqual(origin);
    });

  test('every resource has a version that is none of its fields', () => {
    const book = resourceOf('type Book @resource { id: ID! }', 'Book');
    expect(book.version).toMatchObject({ name: '_version', origin: { by: 'version' }, required: true });
    expect(columnNames(book.columns)).toEqual(['id']);
    expect(book.fieldByName.has('_version')).toBe(false);
  });
});

describe('references', () => {
  const sdl = `
    type Post @resource {
      id: ID!
      author: User! @onDelete(do: CASCADE)
      editor: User @onDelete(do: SET_NULL) @column(name: "checker")
      topic: Topic @readonly
      owner: Machine! @set(claim: "sub")
    }
    type User @resource { id: ID! }
    type Topic @resource { slug: String! @key }
    type Machine @resource { id: UUID! }
  `;
  const post = resourceOf(sdl, 'Post');

  const rows = [
    { name: 'author', type: 'Serial', stored: 'authorId', required: true, onDelete: 'CASCADE' },
    { name: 'editor', type: 'Serial', stored: 'checker', required: false, onDelete: 'SET_NULL' },
    { name: 'topic', type: 'String', stored: 'topicId', required: false, onDelete: 'RESTRICT' },
    { name: 'owner', type: 'UUID', stored: 'ownerId', required: true, onDelete: 'RESTRICT' },
  ] as const;
  for (const { name, type, stored, required, onDelete } of rows)
    test(`${name} is stored as the key of its target`, () => {
      const reference = fieldOf(post, name, 'reference');
      const column = fieldOf(post, `${name}Id`, 'column');
      expect(reference.column).toBe(column);
      expect(column.reference).toBe(reference);
      expect(column.type.name).toBe(type);
      expect({ stored: column.stored, required: column.required }).toEqual({ stored, required });
      expect({ required: reference.required, onDelete: reference.onDelete }).toEqual({ required, onDelete });
      expect(reference.owner).toBe(post);
      expect(reference.target.pointedAtBy).toContain(reference);
    });

  test('the column precedes its reference', () => {
    expect(post.fields.map(({ name }) => name)).toEqual([
      'id',
      'authorId',
      'author',
      'editorId',
      'editor',
      'topicId',
      'topic',
      'ownerId',
      'owner',
    ]);
  });

  test('directives on the reference hold for its column', () => {
    expect(fieldOf(post, 'authorId', 'column').origin).toEqual({ by: 'client', default: undefined });
    expect(fieldOf(post, 'topicId', 'column').origin).toEqual({ by: 'nobody', default: undefined });
    expect(fieldOf(post, 'ownerId', 'column').origin).toEqual({ by: 'claim', claim: 'sub' });
  });
});

describe('far sides', () => {
  test('the one reference that points back', () => {
    const sdl = `
      type User @resource { posts: [Post!]! id: ID! name: String }
      type Post @resource { id: ID! author: User! }
    `;
    const user = resourceOf(sdl, 'User');
    const posts = fieldOf(user, 'posts', 'inverse');
    expect(posts.target.name).toBe('Post');
    expect(posts.reference).toBe(fieldOf(posts.target, 'author', 'reference'));
    expect(user.inverses).toEqual([posts]);
    expect(columnNames(user.columns)).toEqual(['id', 'name']);
    // A list stays where the file has it, though it is understood last.
    expect(user.fields.map(({ name }) => name)).toEqual(['posts', 'id', 'name']);
  });

  test('@inverse chooses among several', () => {
    const sdl = `
      type User @resource {
        id: ID!
        written: [Post!]! @inverse(of: "author")
        checked: [Post!]! @inverse(of: "editor")
      }
      type Post @resource { id: ID! author: User! editor: User }
    `;
    const user = resourceOf(sdl, 'User');
    expect(fieldOf(user, 'written', 'inverse').reference.name).toBe('author');
    expect(fieldOf(user, 'checked', 'inverse').reference.name).toBe('editor');
    expect(user.pointedAtBy.map(({ name }) => name)).toEqual(['author', 'editor']);
  });

  test('of a reference to the same type', () => {
    const node = resourceOf('type Node @resource { id: ID! parent: Node children: [Node!]! }', 'Node');
    const parent = fieldOf(node, 'parent', 'reference');
    expect(parent.target).toBe(node);
    expect(parent.column.type).toBe(node.key.type);
    expect(fieldOf(node, 'children', 'inverse').reference).toBe(parent);
    expect(node.pointedAtBy).toEqual([parent]);
  });

  test('of both sides of a join', () => {
    const sdl = `
      type Book @resource { id: ID! shelvings: [Shelving!]! }
      type Shelf @resource { id: ID! shelvings: [Shelving!]! }
      type Shelving @resource @unique(fields: ["book", "shelf"]) { id: ID! book: Book! shelf: Shelf! }
    `;
    expect(fieldOf(resourceOf(sdl, 'Book'), 'shelvings', 'inverse').reference.name).toBe('book');
    expect(fieldOf(resourceOf(sdl, 'Shelf'), 'shelvings', 'inverse').reference.name).toBe('shelf');
    const [both] = resourceOf(sdl, 'Shelving').uniques;
    expect(columnNames(both?.columns ?? [])).toEqual(['bookId', 'shelfId']);
  });

  test('a circle that a nullable reference opens is sound', () => {
    const sdl = `
      type Hen @resource { id: ID! egg: Egg }
      type Egg @resource { id: ID! hen: Hen! }
    `;
    expect(modelOf(sdl).resources).toHaveLength(2);
  });
});

test('uniques and indexes of fields, references and types', () => {
  const sdl = `
    type Book @resource
      @unique(fields: ["title", "author"])
      @index(fields: ["pages", "title"])
      @index(fields: "authorId")
    {
      id: ID!
      isbn: String @unique
      title: String @index
      pages: Int @unique @index
      author: Author @unique
      publisher: Author @index
    }
    type Author @resource { id: ID! }
  `;
  const { uniques, indexes } = resourceOf(sdl, 'Book');
  expect(uniques.map(({ columns }) => columnNames(columns))).toEqual([
    ['isbn'],
    ['pages'],
    ['authorId'],
    ['title', 'authorId'],
  ]);
  // Every reference has an index anyway, so @index on one adds nothing.
  expect(indexes.map(({ columns }) => columnNames(columns))).toEqual([
    ['title'],
    ['pages'],
    ['pages', 'title'],
    ['authorId'],
  ]);
});

describe('who sets a field', () => {
  const rows = [
    { sdl: 'String', origin: { by: 'client', default: undefined } },
    { sdl: 'String! @default(value: "")', origin: { by: 'client', default: '' } },
    { sdl: 'Boolean! @default(value: false)', origin: { by: 'client', default: false } },
    { sdl: 'Int @default(value: 0)', origin: { by: 'client', default: 0 } },
    { sdl: 'Float @default(value: -1.5e3)', origin: { by: 'client', default: -1500 } },
    { sdl: 'Color! @default(value: RED)', origin: { by: 'client', default: 'RED' } },
    { sdl: 'Color! @default(value: "GREEN")', origin: { by: 'client', default: 'GREEN' } },
    { sdl: '[String!]! @default(value: [])', origin: { by: 'client', default: [] } },
    { sdl: '[Color!] @default(value: [RED, GREEN])', origin: { by: 'client', default: ['RED', 'GREEN'] } },
    { sdl: 'JSON @default(value: {a: [1, null]})', origin: { by: 'client', default: { a: [1, null] } } },
    { sdl: 'String @readonly', origin: { by: 'nobody', default: undefined } },
    { sdl: 'String! @readonly @default(value: "new")', origin: { by: 'nobody', default: 'new' } },
    { sdl: 'String! @set(claim: "email")', origin: { by: 'claim', claim: 'email' } },
    { sdl: 'DateTime! @createdAt', origin: { by: 'createdAt' } },
    { sdl: 'DateTime! @updatedAt @readonly', origin: { by: 'updatedAt' } },
    // A default is kept as the value that a client's would have become.
    {
      sdl: 'DateTime! @readonly @default(value: "2024-05-01t12:00:00+02:00")',
      origin: { by: 'nobody', default: '2024-05-01T10:00:00.000Z' },
    },
    { sdl: 'Float @default(value: -0.0)', origin: { by: 'client', default: 0 } },
  ] as const;
  for (const { sdl, origin } of rows)
    test(sdl, () => {
      const book = resourceOf(`type Book @resource { id: ID! it: ${sdl} } enum Color { RED GREEN }`, 'Book');
      // The parser makes objects without a prototype; what counts is what they hold.
      const read = structuredClone(fieldOf(book, 'it', 'column').origin);
      expect(read).toEqual(origin as typeof read);
    });
});

describe('types of fields', () => {
  const rows = [
    { sdl: 'Int', type: 'Int', list: false, required: false },
    { sdl: 'Date!', type: 'Date', list: false, required: true },
    { sdl: 'ID', type: 'ID', list: false, required: false },
    { sdl: 'Color!', type: 'Color', list: false, required: true },
    { sdl: '[String!]', type: 'String', list: true, required: false },
    { sdl: '[Color!]!', type: 'Color', list: true, required: true },
    { sdl: '[ID!]!', type: 'ID', list: true, required: true },
  ] as const;
  for (const { sdl, ...expected } of rows)
    test(sdl, () => {
      const book = resourceOf(`type Book @resource { id: ID! it: ${sdl} } enum Color { RED GREEN }`, 'Book');
      const { type, list, required } = fieldOf(book, 'it', 'column');
      expect({ type: type.name, list, required }).toEqual(expected);
    });
});

test('constraints; an argument that is null is one that is left out', () => {
  const sdl = `
    type Book @resource {
      id: ID!
      title: String @constraint(minLength: 1, maxLength: 9, pattern: "^\\\\p{L}+$", format: null)
      mail: String @constraint(format: "email", pattern: null, maxLength: null)
      price: Float @constraint(min: 0.5, max: null)
      pages: Int
    }
  `;
  const book = resourceOf(sdl, 'Book');
  const none = {
    minLength: undefined,
    maxLength: undefined,
    pattern: undefined,
    format: undefined,
    min: undefined,
    max: undefined,
  };
  const constraintOf = (name: string) => fieldOf(book, name, 'column').constraint;
  expect(constraintOf('title')).toEqual({ ...none, minLength: 1, maxLength: 9, pattern: /^\p{L}+$/u });
  expect(constraintOf('mail')).toEqual({ ...none, format: 'email' });
  expect(constraintOf('price')).toEqual({ ...none, min: 0.5 });
  expect(constraintOf('pages')).toBeUndefined();
});

test('stored names', () => {
  const sdl = `
    type Book @resource @table(name: "old books") { id: ID! title: String @column(name: "name") pages: Int }
    type Note @resource { id: ID! @column(name: "note_id") }
  `;
  const book = resourceOf(sdl, 'Book');
  expect(book.table).toBe('old books');
  expect(book.columns.map(({ stored }) => stored)).toEqual(['id', 'name', 'pages']);
  const note = resourceOf(sdl, 'Note');
  expect(note.table).toBe('Note');
  expect(note.key.stored).toBe('note_id');
});

describe('what a resource offers', () => {
  const everything = ['LIST', 'GET', 'CREATE', 'UPDATE', 'DELETE'];
  const rows = [
    { sdl: '@resource', operations: everything, rest: true, graphql: true },
    { sdl: '@resource(only: null)', operations: everything, rest: true, graphql: true },
    { sdl: '@resource(only: [GET, LIST])', operations: ['GET', 'LIST'], rest: true, graphql: true },
    { sdl: '@resource(only: GET)', operations: ['GET'], rest: true, graphql: true },
    { sdl: '@resource(rest: false)', operations: everything, rest: false, graphql: true },
    { sdl: '@resource(graphql: false)', operations: everything, rest: true, graphql: false },
  ];
  for (const { sdl, operations, rest, graphql } of rows)
    test(sdl, () => {
      const book = resourceOf(`type Book ${sdl} { id: ID! }`, 'Book');
      expect([...book.operations]).toEqual(
        operations as typeof book.operations extends Set<infer K> ? K[] : never,
      );
      expect({ rest: book.rest, graphql: book.graphql }).toEqual({ rest, graphql });
    });

  test('a path is free when the other resource with it is not served over REST', () => {
    const sdl = `
      type Book @resource(rest: false) { id: ID! }
      type Tome @resource(path: "books") { id: ID! }
    `;
    expect(resourceOf(sdl, 'Tome').path).toBe('books');
  });

  test('no GraphQL at all is sound', () => {
    expect(modelOf('type Book @resource(graphql: false, only: [CREATE]) { id: ID! }').resources).toHaveLength(
      1,
    );
  });
});

describe('derived names', () => {
  const rows = [
    ['Book', 'book', 'books', 'books'],
    ['BlogPost', 'blogPost', 'blogPosts', 'blog-posts'],
    ['Story', 'story', 'stories', 'stories'],
    ['ShortStory', 'shortStory', 'shortStories', 'short-stories'],
    ['Day', 'day', 'days', 'days'],
    ['Box', 'box', 'boxes', 'boxes'],
    ['Bus', 'bus', 'buses', 'buses'],
    ['Church', 'church', 'churches', 'churches'],
    ['Dish', 'dish', 'dishes', 'dishes'],
    ['URLRule', 'urlRule', 'urlRules', 'url-rules'],
    ['APIKey', 'apiKey', 'apiKeys', 'api-keys'],
    ['FAQ', 'faq', 'faqs', 'faqs'],
    ['MP3File', 'mp3File', 'mp3Files', 'mp3-files'],
    ['BlogURL', 'blogURL', 'blogURLs', 'blog-urls'],
    ['BlogURLRule', 'blogURLRule', 'blogURLRules', 'blog-url-rules'],
    ['Version2Note', 'version2Note', 'version2Notes', 'version2-notes'],
    ['book', 'book', 'books', 'books'],
    ['X', 'x', 'xes', 'xes'],
  ] as const;
  for (const [type, singular, plural, path] of rows)
    test(`${type} → ${singular}, ${plural}, /${path}`, () => {
      expect<string[]>([singularOf(type), pluralOf(singular), pathOf(plural)]).toEqual([
        singular,
        plural,
        path,
      ]);
      expect(resourceOf(`type ${type} @resource { id: ID! }`, type)).toMatchObject({
        singular,
        plural,
        path,
      });
    });

  test('a plural of its own is also the path', () => {
    const sdl = 'type BlogPerson @resource(plural: "blogPeople") { id: ID! }';
    expect(resourceOf(sdl, 'BlogPerson')).toMatchObject({
      singular: 'blogPerson',
      plural: 'blogPeople',
      path: 'blog-people',
    });
  });

  test('a path of its own leaves the plural', () => {
    const sdl = 'type Person @resource(path: "who.is-who_~1") { id: ID! }';
    expect(resourceOf(sdl, 'Person')).toMatchObject({ plural: 'persons', path: 'who.is-who_~1' });
  });
});

describe('root fields', () => {
  const sdl = `
    type Todo @resource {
      id: ID!
      title: String!
      done: Boolean! @default(value: false)
      tags: [String!]
      list: List!
    }
    type List @resource { code: ID! @key name: String }
    type Query {
      todos: [Todo!]!
      todo(id: ID!): Todo
      everything: [Todo!]! @operation(is: LIST)
      listNamed("Its code" code: ID!): List @operation(is: GET)
    }
    type Mutation {
      "Adds one."
      addTodo(title: String!, listId: ID!, tags: [String!]): Todo! @operation(is: CREATE) @deprecated(reason: "Old.")
      finish(id: ID!, done: Boolean!): Todo @operation(is: UPDATE)
      deleteTodo(id: ID!): Todo
    }
    extend type Mutation {
      dropList(code: ID!): List! @operation(is: DELETE)
    }
  `;
  const { rootFields } = modelOf(sdl);

  test('are bound to operations, by @operation or by the derived name that they replace', () => {
    expect(
      rootFields.map(({ root, name, operation, resource, required, arguments: given }) => {
        const args = given.map((argument) => `${argument.name}${argument.required ? '!' : ''}`).join(' ');
        return `${root}.${name}(${args}): ${operation} ${resource.name}${required ? '!' : ''}`;
      }),
    ).toEqual([
      'Query.todos(): LIST Todo!',
      'Query.todo(id!): GET Todo',
      'Query.everything(): LIST Todo!',
      'Query.listNamed(code!): GET List',
      'Mutation.addTodo(title! listId! tags): CREATE Todo!',
      'Mutation.finish(id! done!): UPDATE Todo',
      'Mutation.deleteTodo(id!): DELETE Todo',
      'Mutation.dropList(code!): DELETE List!',
    ]);
  });

  test('have arguments that stand for the columns of the resource', () => {
    for (const { resource, arguments: given } of rootFields)
      for (const { name, column } of given) expect(column).toBe(fieldOf(resource, name, 'column'));
  });

  test('keep their descriptions and deprecations', () => {
    const add = rootFields.find(({ name }) => name === 'addTodo');
    expect(add).toMatchObject({ description: 'Adds one.', deprecated: 'Old.' });
    const named = rootFields.find(({ name }) => name === 'listNamed');
    expect(named?.arguments[0]).toMatchObject({ description: 'Its code', deprecated: undefined });
  });
});

test('descriptions, deprecations and places', () => {
  const sdl = [
    '"""',
    'Something to read.',
    '"""',
    'type Book @resource {',
    '  id: ID!',
    '  "The name." title: String @deprecated(reason: "Use name.")',
    '  pages: Int @deprecated',
    '  author: Author @deprecated(reason: "Many write.")',
    '}',
    'type Author @resource { id: ID! "What they wrote." books: [Book!]! @deprecated(reason: "Ask.") }',
    '"Of the cover." enum Color { RED "Like grass." GREEN @deprecated(reason: "Faded.") }',
  ].join('\n');
  const model = modelOf(sdl);
  const book = resourceOf(sdl, 'Book');
  expect(book).toMatchObject({ description: 'Something to read.', place: { line: 4, column: 6 } });
  expect(fieldOf(book, 'title', 'column')).toMatchObject({
    description: 'The name.',
    deprecated: 'Use name.',
    place: { line: 6, column: 15 },
  });
  expect(fieldOf(book, 'pages', 'column').deprecated).toBe('No longer supported');
  expect(fieldOf(book, 'id', 'column')).toMatchObject({ description: undefined, deprecated: undefined });
  // The key of a deprecated reference is as deprecated as the reference.
  for (const name of ['author', 'authorId'])
    expect(book.fieldByName.get(name)).toMatchObject({
      deprecated: 'Many write.',
      place: { line: 8, column: 3 },
    });
  expect(fieldOf(resourceOf(sdl, 'Author'), 'books', 'inverse')).toMatchObject({
    description: 'What they wrote.',
    deprecated: 'Ask.',
  });
  expect(model.enums).toMatchObject([
    {
      name: 'Color',
      description: 'Of the cover.',
      values: [
        { name: 'RED', description: undefined, deprecated: undefined },
        { name: 'GREEN', description: 'Like grass.', deprecated: 'Faded.' },
      ],
    },
  ]);
});

test('rules of access are kept as written', () => {
  const sdl = `
    type Book @resource
      @allow(to: READ)
      @allow(to: [UPDATE, DELETE], role: "editor", where: { ownerId: { eq: { claim: "sub" } } })
    { id: ID! secret: String @allow(to: [READ], role: "admin") }
  `;
  const book = resourceOf(sdl, 'Book');
  expect(structuredClone(book.allow)).toEqual([
    { place: { line: 3, column: 7 }, to: ['READ'], role: undefined, where: undefined, check: undefined },
    {
      place: { line: 4, column: 7 },
      to: ['UPDATE', 'DELETE'],
      role: 'editor',
      where: { ownerId: { eq: { claim: 'sub' } } },
      check: undefined,
    },
  ]);
  expect(fieldOf(book, 'secret', 'column').allow).toMatchObject([{ to: ['READ'], role: 'admin' }]);
});

describe('the fingerprint', () => {
  const { fingerprint } = modelOf('type Book @resource { id: ID! title: String }');
  const same = [
    'type Book @resource {\n  id: ID!,\n  title: String\n}\n',
    '# A comment\ntype Book @resource { id: ID! # and another\n title: String }',
    '\uFEFFtype Book @resource { id : ID ! title : String }',
  ];
  for (const sdl of same)
    test(`is the same for ${JSON.stringify(sdl)}`, () => {
      expect(modelOf(sdl).fingerprint).toBe(fingerprint);
    });
  const others = [
    'type Book @resource { id: ID! title: String pages: Int }',
    'type Book @resource { id: ID! title: String! }',
    'type Book @resource { id: ID! title: String @readonly }',
    'type Book @resource { id: ID! "A name" title: String }',
    'type Tome @resource { id: ID! title: String }',
  ];
  for (const sdl of others)
    test(`is another for ${sdl}`, () => {
      expect(modelOf(sdl).fingerprint).not.toBe(fingerprint);
    });
});

test('the shipped schema is sound', async () => {
  const sdl = await Bun.file(new URL('../../schema.graphql', import.meta.url)).text();
  expect(modelOf(sdl).resources.map(({ path }) => path)).toContain('greet');
});
