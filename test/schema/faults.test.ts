/** Every fault that a schema file can have: the text of the file, and the place and message of all that is wrong with it. */

import { expect, test } from 'bun:test';
import { readSchema } from '../../src/schema/read.ts';

interface Row {
  readonly name: string;
  readonly sdl: string;
  /** `line:column message`, in the order in which they are reported. */
  readonly faults: readonly string[];
}

const rows: readonly Row[] = [
  {
    name: 'Upserts: names that mean two sets of fields, and a field that is called as their argument',
    sdl: `
      type Seat @resource @unique(fields: ["a", "b"]) { id: ID! a: String b: String a_b: String @unique }
      type Note @resource { id: ID! code: String @unique by: String }
      type Free @resource { id: ID! by: String }
      type Same @resource { code: ID! @key @unique }
    `,
    faults: [
      '1:6 Seat can be looked up by "a_b" in two ways: by a_b, and by a, b. Rename a field.',
      '2:52 Note field "by" collides with a name that Duet derives. Rename it.',
    ],
  },
  {
    name: 'Lists: two that point at each other, with the type that they need',
    sdl: `
      type Product @resource { id: ID! tags: [Tag!]! }
      type Tag @resource { id: ID! products: [Product!]! }
    `,
    faults: [
      '1:40 Product.tags and Tag.products point at each other, and nothing stores the pairs. Add @through(type: "ProductTag") to both lists, and a type for the pairs: type ProductTag @resource @unique(fields: ["product", "tag"]) { id: ID! product: Product! @onDelete(do: CASCADE) tag: Tag! @onDelete(do: CASCADE) }',
      '2:40 Tag.products and Product.tags point at each other, and nothing stores the pairs. Add @through(type: "ProductTag") to both lists, and a type for the pairs: type ProductTag @resource @unique(fields: ["product", "tag"]) { id: ID! product: Product! @onDelete(do: CASCADE) tag: Tag! @onDelete(do: CASCADE) }',
    ],
  },
  {
    name: 'Lists through a join type that is not there, does not fit, or cannot tell its sides apart',
    sdl: `
      type Product @resource {
        id: ID!
        a: [Tag!]! @through(type: "ProductTga")
        b: [Tag!]! @through(type: "Link")
        c: Tag @through(type: "ProductTag")
        d: String @through(type: "ProductTag")
        e: [Tag!]! @through(type: "Note")
        f: [Tag!]! @through(type: "Label")
        g: [Tag!]! @through(type: "Twice")
        h: [Tag!] @through(type: "ProductTag")
        i: [Tag!]! @through(type: "ProductTag") @inverse(of: "tag")
        j: [Product!]! @through(type: "Pair")
        k: [Tag!]! @through
        tag: [Tag!]! @through(type: "ProductTag")
        tags: [Tag!]! @through(type: "ProductTag")
        tagIds: [String!]
      }
      type Tag @resource { id: ID! products: [Product!]! }
      type ProductTag @resource { id: ID! product: Product! tag: Tag! }
      type Note @resource { id: ID! product: Product! }
      type Label @resource { id: ID! tag: Tag! }
      type Twice @resource { id: ID! product: Product! tag: Tag! other: Tag }
      type Pair @resource { id: ID! one: Product! other: Product! }
    `,
    faults: [
      '3:14 There is no type "ProductTga" for "Product.a" to lead through. Did you mean "ProductTag" or "Product"?',
      '4:14 There is no type "Link" for "Product.b" to lead through. Add it: type Link @resource @unique(fields: ["product", "tag"]) { id: ID! product: Product! @onDelete(do: CASCADE) tag: Tag! @onDelete(do: CASCADE) }',
      '5:10 "@through" does not fit "Product.c", which is a reference. Remove it.',
      '6:13 "@through" does not fit "Product.d", which is a stored value. Remove it.',
      '7:14 Note has no reference to Tag, so "Product.e" cannot lead through it. Add to Note: tag: Tag! @onDelete(do: CASCADE)',
      '8:14 Label has no reference to Product, so "Product.f" cannot lead through it. Add to Label: product: Product! @onDelete(do: CASCADE)',
      '9:14 Twice has several references to Tag (tag, other), and "Product.g" needs exactly one. Keep one there, or lead through a type of its own: type ProductTag @resource @unique(fields: ["product", "tag"]) { id: ID! product: Product! @onDelete(do: CASCADE) tag: Tag! @onDelete(do: CASCADE) }',
      '10:6 "Product.h" leads through a join type and must be written [Tag!]!',
      '11:14 "Product.i" leads through a join type and is no inverse. Remove @inverse, or @through.',
      '12:18 "Product.j" leads from Product to Product, and nothing tells which reference of Pair is which side. Show its records instead, once for each reference: pairs: [Pair!]! @inverse(of: "one")',
      '13:6 Nothing in Tag points back to Product.k. Add a reference to Tag, such as: product: Product!',
      '13:14 Argument "@through(type:)" of required type "String!" was not provided.',
      '15:3 "Product.tag" and "Product.tags" are both written as "tagIds". Rename one.',
      '16:3 Product field "tagIds" collides with a name that Duet derives. Rename it.',
    ],
  },
  {
    name: 'Lists: one that leads through a join type, and one back that does not',
    sdl: `
      type Product @resource { id: ID! tags: [Tag!]! @through(type: "Pair") }
      type Tag @resource { id: ID! products: [Product!]! }
      type Pair @resource { id: ID! product: Product tag: Tag }
    `,
    faults: [
      '2:40 Nothing in Product points back to Tag.products. Lead it through the type that Product.tags leads through: @through(type: "Pair")',
    ],
  },
  {
    name: 'Transitions: from and to unknown values, of what is no enum, and of nothing',
    sdl: `
      enum State { NEW PAID }
      type Order @resource {
        id: ID!
        a: State @transitions(allow: { NWE: [PAID] })
        b: State @transitions(allow: { NEW: [PIAD, 1] })
        c: String @transitions(allow: { NEW: [PAID] })
        d: [State!] @transitions(allow: { NEW: [PAID] })
        e: State @transitions(allow: {})
        f: State @transitions(allow: { NEW: PAID })
      }
    `,
    faults: [
      '4:12 "@transitions" on "Order.a" names "NWE", which is no value of State. Did you mean "NEW"?',
      '5:12 "@transitions" on "Order.b" names "PIAD", which is no value of State. Did you mean "PAID"?',
      '5:12 "@transitions" on "Order.b" names 1, which is no value of State. There are: NEW, PAID.',
      '6:13 "@transitions" on "Order.c" needs a field of an enum. Remove it, or make it one.',
      '7:15 "@transitions" on "Order.d" needs a field of an enum. Remove it, or make it one.',
      '8:12 "@transitions" on "Order.e" names no change. Write: allow: { NEW: [PAID] }',
      '9:12 "@transitions" on "Order.f" must list where NEW can go, such as NEW: [PAID]',
    ],
  },
  {
    name: 'Letter case: of a key, and of what is no text',
    sdl: `
      enum State { NEW }
      type Order @resource {
        code: String! @key @caseless
        a: Int @caseless
        b: [String!] @caseless
        c: State @caseless
        d: ID @caseless
        e: Order @caseless
        f: [Order!]! @inverse(of: "e") @caseless
      }
      type Line @resource { id: ID! @caseless }
    `,
    faults: [
      '3:22 "@caseless" does not fit "Order.code", which is the key: paths name records by it letter by letter. Remove it, or let another field be @unique @caseless.',
      '4:10 "@caseless" on "Order.a" needs a String field. Remove it.',
      '5:16 "@caseless" on "Order.b" needs a String field, and this is a list. Remove it.',
      '6:12 "@caseless" on "Order.c" needs a String field. Remove it.',
      '7:9 "@caseless" on "Order.d" needs a String field. Remove it.',
      '8:12 "@caseless" does not fit "Order.e", which is a reference. Remove it.',
      '9:34 "@caseless" does not fit "Order.f", which is a list of the records that point here. Remove it.',
      '11:31 "@caseless" on "Line.id" needs a String field. Remove it.',
    ],
  },
  {
    name: 'The file as a whole: text that is no SDL',
    sdl: `
      type Book @resource {
        id: ID!
    `,
    faults: ['1:21 "type Book" is not closed: a "}" is missing at its end.'],
  },
  {
    name: 'The file as a whole: a type that is not closed before the next one',
    sdl: `
      scalar X
      type Author @resource @allow(to: [READ], where: { name: { eq: "}" } }) {
        id: ID!
        type: String!
      "Written by somebody."
      type Book @resource { id: ID! }
    `,
    faults: ['2:72 "type Author" is not closed: a "}" is missing at its end.'],
  },
  {
    name: 'The file as a whole: a field without its colon',
    sdl: `
      type Book @resource { id ID! }
    `,
    faults: ['1:26 Syntax Error: Expected ":", found Name "ID".'],
  },
  {
    name: 'The file as a whole: an empty type body',
    sdl: `
      type Book @resource {}
    `,
    faults: ['1:22 Syntax Error: Expected Name, found "}".'],
  },
  {
    name: 'The file as a whole: nothing but a comment',
    sdl: `
      # Later.
    `,
    faults: [
      '1:1 The file declares no resource. Add one, such as: type Book @resource { id: ID! title: String! }',
    ],
  },
  {
    name: 'The file as a whole: no resource at all',
    sdl: `
      enum Color { RED }
    `,
    faults: [
      '1:1 The file declares no resource. Add one, such as: type Book @resource { id: ID! title: String! }',
    ],
  },
  {
    name: 'The file as a whole: definitions that are no part of a Duet file',
    sdl: `
      type Book @resource { id: ID! }
      scalar Money
      interface Node { id: ID! }
      union Any = Book
      input BookInput { title: String }
      extend type Book { title: String }
      directive @mine on OBJECT
      schema { query: Query }
      query { books }
    `,
    faults: [
      '2:1 A scalar type definition cannot stand here. A Duet file holds types with @resource, enums, Query and Mutation.',
      '3:1 An interface type definition cannot stand here. A Duet file holds types with @resource, enums, Query and Mutation.',
      '4:1 A union type definition cannot stand here. A Duet file holds types with @resource, enums, Query and Mutation.',
      '5:1 An input object type definition cannot stand here. A Duet file holds types with @resource, enums, Query and Mutation.',
      '6:1 An object type extension cannot stand here. A Duet file holds types with @resource, enums, Query and Mutation.',
      '7:1 A directive definition cannot stand here. A Duet file holds types with @resource, enums, Query and Mutation.',
      '8:1 A schema definition cannot stand here. A Duet file holds types with @resource, enums, Query and Mutation.',
      '9:1 An operation definition cannot stand here. A Duet file holds types with @resource, enums, Query and Mutation.',
    ],
  },
  {
    name: 'The file as a whole: two types with one name',
    sdl: `
      type Book @resource { id: ID! }
      enum Book { RED }
    `,
    faults: ['2:6 There are two types "Book". Rename or remove one.'],
  },
  {
    name: 'The file as a whole: names of types that are taken',
    sdl: `
      type Book @resource { id: ID! }
      type String @resource { id: ID! }
      type DateTime @resource { id: ID! }
      enum DuetAction { READ }
      enum PageInfo { A }
      type Subscription { id: ID! }
    `,
    faults: [
      '2:6 The type name "String" is taken by Duet. Choose another.',
      '3:6 The type name "DateTime" is taken by Duet. Choose another.',
      '4:6 The type name "DuetAction" is taken by Duet. Choose another.',
      '5:6 The type name "PageInfo" is taken by Duet. Choose another.',
      '6:6 The type name "Subscription" is taken by Duet. Choose another.',
    ],
  },
  {
    name: 'The file as a whole: an enum without values',
    sdl: `
      type Book @resource { id: ID! color: Color }
      enum Color
    `,
    faults: ['2:6 Enum "Color" has no values. Add one, such as: enum Color { OTHER }'],
  },
  {
    name: 'The file as a whole: a type that is no resource',
    sdl: `
      type Book { id: ID! }
    `,
    faults: ['1:6 Type "Book" is not a resource. Write: type Book @resource { … }'],
  },
  {
    name: 'The file as a whole: a type that implements an interface',
    sdl: `
      type Book implements Node @resource { id: ID! }
    `,
    faults: ['1:6 Type "Book" cannot implement interfaces. Remove "implements".'],
  },
  {
    name: 'The file as a whole: directives on Query and Mutation',
    sdl: `
      type Book @resource { id: ID! }
      type Query @resource { books: [Book!]! }
      type Mutation @table(name: "mutations") { deleteBook(id: ID!): Book }
    `,
    faults: [
      '2:12 "@resource" does not fit "Query". Remove it.',
      '3:15 "@table" does not fit "Mutation". Remove it.',
    ],
  },
  {
    name: 'Directives: an unknown directive that resembles a known one',
    sdl: `
      type Book @resuorce @resource { id: ID! }
    `,
    faults: ['1:11 Unknown directive "@resuorce". Did you mean "resource"?'],
  },
  {
    name: 'Directives: an unknown directive that resembles none',
    sdl: `
      type Book @resource @graph { id: ID! }
    `,
    faults: [
      '1:21 Unknown directive "@graph". There are: @resource @key @default @set @createdAt @updatedAt @readonly @unique @index @constraint @decimal @check @transitions @search @caseless @inverse @through @onDelete @column @table @operation @journal @computed @action @allow.',
    ],
  },
  {
    name: 'Journals: times, rights and names',
    sdl: `
      type Book @resource @journal(keep: "30 days") { id: ID! }
      type Tag @resource @journal(keep: "0d") { id: ID! }
      type Note @resource @allow(to: [READ, HISTORY]) { id: ID! }
      type BookChange @resource { id: ID! }
      type Change @resource(path: "changes") { id: ID! }
      type Show @resource(path: "live") { id: ID! }
    `,
    faults: [
      '1:21 "@journal" on Book keeps changes for "30 days", which is no time. Write a number of minutes, hours or days, such as "90m", "12h" or "30d", or "forever".',
      '2:20 "@journal" on Tag keeps changes for "0d", which is no time. Write a number of minutes, hours or days, such as "90m", "12h" or "30d", or "forever".',
      '3:21 The rule on "Note" allows HISTORY, but Note keeps none. Add @journal(keep: "30d") to the type, or take HISTORY out.',
      '4:6 Type "BookChange" collides with a name that Duet derives. Rename it.',
      '4:6 BookChange needs the root field Query.bookChanges, which "@journal" on Book has. Choose another: @resource(plural: "…")',
      '5:6 Type "Change" collides with a name that Duet derives. Rename it.',
      '5:6 The path "/changes" of Change is taken by Duet. Choose one: @resource(path: "…")',
      '5:6 Change needs the root field Query.changes, which "@journal" has. Choose another: @resource(plural: "…")',
      '6:6 The path "/live" of Show is taken by Duet. Choose one: @resource(path: "…")',
    ],
  },
  {
    name: 'Directives: directives in the wrong place',
    sdl: `
      type Book @resource @key @deprecated {
        id: ID! @table(name: "ids")
      }
      enum Color @resource { RED @index }
      type Query {
        book(id: ID! @constraint(min: 1)): Book
      }
    `,
    faults: [
      '1:21 "@key" cannot stand here. Move it to: field definition.',
      '1:26 "@deprecated" cannot stand here. Move it to: field definition or argument definition or input field definition or enum value or directive definition.',
      '2:11 "@table" cannot stand here. Move it to: object.',
      '4:12 "@resource" cannot stand here. Move it to: object.',
      '4:28 "@index" cannot stand here. Move it to: field definition or object.',
      '6:16 "@constraint" does not fit an argument of "Query.book". Put it on the field of Book.',
    ],
  },
  {
    name: 'Directives: a directive twice',
    sdl: `
      type Book @resource @resource { id: ID! title: String @readonly @readonly }
    `,
    faults: [
      '1:21 "@resource" stands here twice. Remove one.',
      '1:65 "@readonly" stands here twice. Remove one.',
    ],
  },
  {
    name: 'Directives: unknown arguments',
    sdl: `
      type Book @resource(paht: "books", table: "b") { id: ID! title: String @readonly(please: true) }
    `,
    faults: [
      '1:21 Unknown argument "paht" on "@resource". Did you mean "path"?',
      '1:36 Unknown argument "table" on "@resource". It takes: path, plural, only, rest, graphql.',
      '1:82 Unknown argument "please" on "@readonly". It takes none.',
    ],
  },
  {
    name: 'Directives: an argument twice',
    sdl: `
      type Book @resource(path: "a", path: "b") { id: ID! }
    `,
    faults: ['1:32 Repeated argument "path" on "@resource". Remove one.'],
  },
  {
    name: 'Directives: missing and wrong arguments',
    sdl: `
      type Book @resource(only: [READ]) {
        id: ID!
        title: String @default
        pages: Int @constraint(minLength: "1")
        author: String @default(value: null)
      }
    `,
    faults: [
      '1:11 Argument "@resource(only:)" has invalid value at [0]: Value "READ" does not exist in "DuetOperation" enum.',
      '3:17 Argument "@default(value:)" of required type "JSON!" was not provided.',
      '4:14 Argument "@constraint(minLength:)" has invalid value: Int cannot represent non-integer value: "1"',
      '5:18 Argument "@default(value:)" has invalid value: Expected value of non-null type "JSON!" not to be null.',
    ],
  },
  {
    name: 'Fields: fields that exist twice',
    sdl: `
      type Book @resource {
        id: ID!
        id: ID!
        title: String
        title: Int
      }
    `,
    faults: ['3:3 "Book.id" exists twice. Rename one.', '5:3 "Book.title" exists twice. Rename one.'],
  },
  {
    name: "Fields: a field that has the name of a reference's key",
    sdl: `
      type Book @resource { id: ID! authorId: Int author: Author }
      type Author @resource { id: ID! bookId: ID book: Book @unique }
    `,
    faults: [
      '1:45 "Book.authorId" exists twice. It stores the key of "author". Rename one.',
      '2:44 "Author.bookId" exists twice. It stores the key of "book". Rename one.',
    ],
  },
  {
    name: 'Fields: a list that has the name of another field',
    sdl: `
      type Author @resource { id: ID! books: Int books: [Book!]! }
      type Book @resource { id: ID! author: Author }
    `,
    faults: ['1:44 "Author.books" exists twice. Rename one.'],
  },
  {
    name: 'Fields: no key',
    sdl: `
      type Book @resource { title: String! }
    `,
    faults: ['1:6 Type "Book" has no key. Add: id: ID! (or id: UUID!, or @key on an ID! or String! field)'],
  },
  {
    name: 'Fields: two keys',
    sdl: `
      type Book @resource { id: ID! isbn: ID! @key code: String! @key }
    `,
    faults: ['1:31 Type "Book" has two keys, "id" and "isbn". Keep one.'],
  },
  {
    name: 'Fields: keys of the wrong type',
    sdl: `
      type Book @resource { isbn: ID @key }
      type Author @resource { number: Int! @key }
      type Shelf @resource { names: [String!]! @key }
    `,
    faults: [
      '1:29 The key "Book.isbn" must be ID! or String!',
      '2:33 The key "Author.number" must be ID! or String!',
      '3:31 The key "Shelf.names" must be ID! or String!',
    ],
  },
  {
    name: 'Fields: ids of the wrong type',
    sdl: `
      type Book @resource { id: ID }
      type Author @resource { id: Int! }
      type Shelf @resource { id: [ID!]! name: ID! @key }
    `,
    faults: [
      '1:27 "Book.id" must be ID! or UUID! (the server assigns it), or carry @key',
      '2:6 Type "Author" has no key. Add: id: ID! (or id: UUID!, or @key on an ID! or String! field)',
      '2:29 "Author.id" must be ID! or UUID! (the server assigns it), or carry @key',
      '3:28 "Shelf.id" must be ID! or UUID! (the server assigns it), or carry @key',
    ],
  },
  {
    name: 'Fields: a key that the server assigns, set by another as well',
    sdl: `
      type Book @resource { id: ID! @default(value: 1) }
      type Author @resource { id: UUID! @set(claim: "sub") @createdAt }
    `,
    faults: [
      '1:31 "@default" does not fit "Book.id", which the server assigns. Remove it.',
      '2:35 "@set" does not fit "Author.id", which the server assigns. Remove it.',
      '2:54 "@createdAt" does not fit "Author.id", which the server assigns. Remove it.',
    ],
  },
  {
    name: 'Fields: an argument on a field',
    sdl: `
      type Book @resource { id: ID! title(length: Int): String }
    `,
    faults: ['1:37 "Book.title" cannot take arguments. Remove them.'],
  },
  {
    name: 'Fields: an unknown type that resembles a known one',
    sdl: `
      type User @resource { id: ID! posts: [Pots!]! }
      type Post @resource { id: ID! user: User! }
    `,
    faults: ['1:38 Unknown type "Pots" on User.posts. Did you mean "Post"?'],
  },
  {
    name: 'Fields: an unknown type that resembles none',
    sdl: `
      type Book @resource { id: ID! price: Money }
      enum Color { RED }
    `,
    faults: [
      '1:38 Unknown type "Money" on Book.price. There are: ID, String, Int, BigInt, Decimal, Float, Boolean, DateTime, Date, UUID, JSON, Color, Book.',
    ],
  },
  {
    name: 'Fields: directives that do not fit the kind of field',
    sdl: `
      type Author @resource { id: ID! books: [Book!]! @unique @readonly @default(value: []) }
      type Book @resource {
        id: ID! @operation(is: GET)
        title: String @inverse(of: "author") @onDelete(do: CASCADE)
        author: Author @key @default(value: "x") @createdAt @constraint(min: 1)
      }
    `,
    faults: [
      '1:49 "@unique" does not fit "Author.books", which is a list of the records that point here. Remove it.',
      '1:57 "@readonly" does not fit "Author.books", which is a list of the records that point here. Remove it.',
      '1:67 "@default" does not fit "Author.books", which is a list of the records that point here. Remove it.',
      '3:11 "@operation" does not fit "Book.id", which is a stored value. Remove it.',
      '4:17 "@inverse" does not fit "Book.title", which is a stored value. Remove it.',
      '4:40 "@onDelete" does not fit "Book.title", which is a stored value. Remove it.',
      '5:18 "@key" does not fit "Book.author", which is a reference. Remove it.',
      '5:23 "@default" does not fit "Book.author", which is a reference. Remove it.',
      '5:44 "@createdAt" does not fit "Book.author", which is a reference. Remove it.',
      '5:55 "@constraint" does not fit "Book.author", which is a reference. Remove it.',
    ],
  },
  {
    name: 'Fields: fields of an index on a field',
    sdl: `
      type Book @resource { id: ID! title: String @unique(fields: ["title"]) @index(fields: []) }
    `,
    faults: [
      '1:45 "@unique" on a field takes no fields. Move it to the type, or drop the argument.',
      '1:72 "@index" on a field takes no fields. Move it to the type, or drop the argument.',
    ],
  },
  {
    name: 'Fields: lists of what may be null, and of lists',
    sdl: `
      type Book @resource { id: ID! tags: [String] marks: [[Int!]!]! }
    `,
    faults: [
      '1:37 "Book.tags" must be a list of non-null items: [String!] or [String!]!',
      '1:53 "Book.marks" must be a list of non-null items: [Int!] or [Int!]!',
    ],
  },
  {
    name: 'Fields: a far side that is not written as one',
    sdl: `
      type Author @resource { id: ID! books: [Book!] others: [Book]! }
      type Book @resource { id: ID! author: Author }
    `,
    faults: [
      '1:40 "Author.books" is the far side of a reference and must be written [Book!]!',
      '1:56 "Author.others" is the far side of a reference and must be written [Book!]!',
    ],
  },
  {
    name: 'Fields: two ways to set one field',
    sdl: `
      type Book @resource { id: ID! at: DateTime! @default(value: "2024-01-01T00:00:00Z") @createdAt }
    `,
    faults: ['1:45 "Book.at" is set by @default and @createdAt. Keep one.'],
  },
  {
    name: 'Fields: times that are none',
    sdl: `
      type Book @resource { id: ID! created: String! @createdAt updated: DateTime @updatedAt all: [DateTime!]! @createdAt }
    `,
    faults: [
      '1:48 "@createdAt" needs "Book.created" to be DateTime!',
      '1:77 "@updatedAt" needs "Book.updated" to be DateTime!',
      '1:106 "@createdAt" needs "Book.all" to be DateTime!',
    ],
  },
  {
    name: 'Fields: a pattern that is no regular expression',
    sdl: `
      type Book @resource { id: ID! title: String @constraint(pattern: "(") }
    `,
    faults: ['1:45 "(" is not a regular expression (with the u flag). Mend the pattern.'],
  },
  {
    name: 'Far sides: nothing points back',
    sdl: `
      type Author @resource { id: ID! books: [Book!]! }
      type Book @resource { id: ID! }
    `,
    faults: [
      '1:40 Nothing in Book points back to Author.books. Add a reference to Book, such as: author: Author!',
    ],
  },
  {
    name: 'Far sides: several references point back',
    sdl: `
      type Author @resource { id: ID! books: [Book!]! }
      type Book @resource { id: ID! writer: Author reviewer: Author }
    `,
    faults: [
      '1:40 Several references point back to Author.books: writer, reviewer. Name one: @inverse(of: "writer")',
    ],
  },
  {
    name: 'Far sides: a reference that is not there',
    sdl: `
      type Author @resource { id: ID! books: [Book!]! @inverse(of: "writter") all: [Book!]! @inverse(of: "publisher") }
      type Book @resource { id: ID! writer: Author owner: Shelf }
      type Shelf @resource { id: ID! authors: [Author!]! @inverse(of: "shelf") }
    `,
    faults: [
      '1:49 Book has no reference "writter" to Author. Did you mean "writer"?',
      '1:87 Book has no reference "publisher" to Author. There are: writer.',
      '3:52 Author has no reference "shelf" to Shelf. Add a reference to Shelf there.',
    ],
  },
  {
    name: 'Uniques and indexes of a type: without fields',
    sdl: `
      type Book @resource @unique @index(fields: []) { id: ID! }
    `,
    faults: [
      '1:21 "@unique" on a type needs its fields, such as: @unique(fields: ["title"])',
      '1:29 "@index" on a type needs its fields, such as: @index(fields: ["title"])',
    ],
  },
  {
    name: 'Uniques and indexes of a type: of fields that are not stored',
    sdl: `
      type Author @resource @unique(fields: ["nmae", "books"]) { id: ID! name: String books: [Book!]! }
      type Book @resource { id: ID! author: Author }
    `,
    faults: [
      '1:23 "@unique" names "nmae", which is no stored field of Author. Did you mean "name"?',
      '1:23 "@unique" names "books", which is no stored field of Author.',
    ],
  },
  {
    name: 'Uniques and indexes of a type: of one field twice',
    sdl: `
      type Book @resource @index(fields: ["title", "title"]) @unique(fields: ["author", "authorId"]) { id: ID! title: String author: Book }
    `,
    faults: [
      '1:21 "@index" names a field twice. Remove one.',
      '1:56 "@unique" names a field twice. Remove one.',
    ],
  },
  {
    name: 'Search: of fields that are no text',
    sdl: `
      type Author @resource @search(fields: ["nmae", "books", "age", "tags", "name"]) { id: ID! name: String age: Int tags: [String!] books: [Book!]! }
      type Book @resource @search(fields: []) { id: ID! author: Author }
      type Note @resource @search { id: ID! text: String }
      type Page @resource @search(fields: ["text", "text"]) { id: ID! text: String }
      type Wide @resource @search(fields: [${Array.from({ length: 17 }, (_, index) => `"f${index}"`).join()}]) { id: ID! ${Array.from({ length: 17 }, (_, index) => `f${index}: String`).join(' ')} }
    `,
    faults: [
      '1:23 "@search" names "nmae", which is no String field of Author. Did you mean "name"?',
      '1:23 "@search" names "books", which is no String field of Author. There are: name.',
      '1:23 "@search" names "age", which is no String field of Author. There are: name.',
      '1:23 "@search" names "tags", which is no String field of Author. There are: name.',
      '2:21 "@search" on Book names no field. Name String fields. There are: none.',
      '3:21 Argument "@search(fields:)" of required type "[String!]!" was not provided.',
      '4:21 "@search" names a field twice. Remove one.',
      '5:21 "@search" on Wide names 17 fields. Name at most 16.',
    ],
  },
  {
    name: 'Root fields: a directive that does not fit',
    sdl: `
      type Book @resource { id: ID! }
      type Query { books: [Book!]! @readonly }
    `,
    faults: ['2:30 "@readonly" does not fit the root field "Query.books". Remove it.'],
  },
  {
    name: 'Root fields: a type that is no resource',
    sdl: `
      type Book @resource { id: ID! }
      type Query { time: DateTime boook: Boook @operation(is: GET) }
    `,
    faults: [
      '2:20 "Query.time" must return a resource, not "DateTime".',
      '2:36 "Query.boook" must return a resource, not "Boook". Did you mean "Book"?',
    ],
  },
  {
    name: 'Root fields: no operation',
    sdl: `
      type Book @resource { id: ID! }
      type Query { all: [Book!]! }
      type Mutation { add: Book }
    `,
    faults: [
      '2:14 "Query.all" says not what it does. Add: @operation(is: LIST)',
      '3:17 "Mutation.add" says not what it does. Add: @operation(is: CREATE)',
    ],
  },
  {
    name: 'Root fields: a derived name for another operation',
    sdl: `
      type Book @resource { id: ID! }
      type Query { book: [Book!]! @operation(is: LIST) }
    `,
    faults: [
      '2:14 "Query.book" is the derived name of GET, so it cannot be bound to LIST. Rename it.',
      '2:14 "Query.book" needs the root field Query.book, which Book has. Rename it.',
    ],
  },
  {
    name: 'Root fields: an operation under the wrong root',
    sdl: `
      type Book @resource { id: ID! }
      type Query { add: Book @operation(is: CREATE) }
      type Mutation { all: [Book!]! @operation(is: LIST) }
    `,
    faults: [
      '2:14 CREATE belongs under Mutation. Move "add" there.',
      '3:17 LIST belongs under Query. Move "all" there.',
    ],
  },
  {
    name: 'Root fields: an operation that the resource does not offer',
    sdl: `
      type Book @resource(only: [GET]) { id: ID! }
      type Note @resource(graphql: false) { id: ID! }
      type Query { all: [Book!]! @operation(is: LIST) note(id: ID!): Note }
    `,
    faults: [
      '3:14 Book does not offer LIST in GraphQL. Remove "Query.all", or widen its @resource.',
      '3:49 Note does not offer GET in GraphQL. Remove "Query.note", or widen its @resource.',
    ],
  },
  {
    name: 'Root fields: return types that do not fit the operation',
    sdl: `
      type Book @resource { id: ID! }
      type Query { all: [Book!] @operation(is: LIST) book(id: ID!): Book! some: [Book]! @operation(is: LIST) }
      type Mutation { add: [Book!]! @operation(is: CREATE) }
    `,
    faults: [
      '2:19 "Query.all" does LIST and must return [Book!]!',
      '2:63 "Query.book" does GET and must return Book',
      '2:75 "Query.some" does LIST and must return [Book!]!',
      '3:22 "Mutation.add" does CREATE and must return Book',
    ],
  },
  {
    name: 'Root fields: arguments that are needed',
    sdl: `
      type Book @resource { id: ID! title: String! tags: [String!]! kind: Kind! author: Author! done: Boolean! @default(value: false) }
      type Author @resource { name: String! @key }
      enum Kind { NOVEL }
      type Query { one: Book @operation(is: GET) }
      type Mutation {
        add: Book! @operation(is: CREATE)
        rename(name: String!): Author @operation(is: UPDATE)
        drop: Book @operation(is: DELETE)
      }
    `,
    faults: [
      '4:14 "Query.one" does GET and needs the argument id: ID!',
      '6:3 "Mutation.add" does CREATE and needs the argument title: String!',
      '6:3 "Mutation.add" does CREATE and needs the argument tags: [String!]!',
      '6:3 "Mutation.add" does CREATE and needs the argument kind: Kind!',
      '6:3 "Mutation.add" does CREATE and needs the argument authorId: String!',
      '8:3 "Mutation.drop" does DELETE and needs the argument id: ID!',
    ],
  },
  {
    name: 'Root fields: arguments that are not there',
    sdl: `
      type Book @resource { id: ID! title: String made: DateTime! @createdAt }
      type Query { all(limit: Int): [Book!]! @operation(is: LIST) one(id: ID!, title: String): Book @operation(is: GET) }
      type Mutation {
        add(titel: String, made: DateTime): Book! @operation(is: CREATE)
      }
    `,
    faults: [
      '2:18 "Query.all" does LIST and has no argument "limit". It takes none.',
      '2:74 "Query.one" does GET and has no argument "title". It takes: id.',
      '4:7 "Mutation.add" does CREATE and has no argument "titel". Did you mean "title"?',
      '4:22 "Mutation.add" does CREATE and has no argument "made". It takes: title.',
    ],
  },
  {
    name: "Root fields: arguments of another type than the field's",
    sdl: `
      type Book @resource { id: ID! title: String! tags: [String!] }
      type Mutation {
        add(title: Int!, tags: [String]): Book! @operation(is: CREATE)
        addOne(title: String, tags: String): Book! @operation(is: CREATE)
        rename(id: ID, title: [String!]): Book @operation(is: UPDATE)
      }
    `,
    faults: [
      '3:14 The argument "title" of "Mutation.add" must be String!',
      '3:26 The argument "tags" of "Mutation.add" must be [String!]',
      '4:17 The argument "title" of "Mutation.addOne" must be String!',
      '4:31 The argument "tags" of "Mutation.addOne" must be [String!]',
      '5:14 The argument "id" of "Mutation.rename" must be ID!',
      '5:25 The argument "title" of "Mutation.rename" must be String',
    ],
  },
  {
    name: 'Root fields: an argument with a default',
    sdl: `
      type Book @resource { id: ID! title: String }
      type Mutation { add(title: String = "new"): Book! @operation(is: CREATE) }
    `,
    faults: ['2:37 Arguments have no default of their own. Put @default on Book.title.'],
  },
  {
    name: 'Root fields: an argument twice',
    sdl: `
      type Book @resource { id: ID! title: String }
      type Mutation { add(title: String, title: String): Book! @operation(is: CREATE) }
    `,
    faults: ['2:36 "Mutation.add" takes "title" twice. Remove one.'],
  },
  {
    name: 'Root fields: a deprecated argument that must be given',
    sdl: `
      type Book @resource { id: ID! title: String! }
      type Mutation { add(title: String! @deprecated): Book! @operation(is: CREATE) }
    `,
    faults: [
      '2:36 The argument "title" of "Mutation.add" must be given, so it cannot be deprecated. Remove it.',
    ],
  },
  {
    name: 'Root fields: arguments of a type without a key are not judged',
    sdl: `
      type Book @resource { title: String }
      type Query { one(id: ID!): Book @operation(is: GET) }
    `,
    faults: ['1:6 Type "Book" has no key. Add: id: ID! (or id: UUID!, or @key on an ID! or String! field)'],
  },
  {
    name: 'Root fields: names that begin with an underscore',
    sdl: `
      type Book @resource { id: ID! }
      type Query { _all: [Book!]! @operation(is: LIST) }
    `,
    faults: ['2:14 "Query._all" begins with "_", which Duet keeps for itself. Rename it.'],
  },
  {
    name: 'Root fields: a root field declared twice',
    sdl: `
      type Book @resource { id: ID! }
      type Query { all: [Book!]! @operation(is: LIST) books: [Book!]! }
      extend type Query { all: [Book!]! @operation(is: LIST) books: [Book!]! }
    `,
    faults: [
      '3:21 "Query.all" is declared twice. Remove one.',
      '3:56 "Query.books" is declared twice. Remove one.',
    ],
  },
  {
    name: 'Root fields: a root field with a name that another resource has',
    sdl: `
      type Book @resource { id: ID! }
      type Note @resource { id: ID! }
      type Query { notes: [Book!]! @operation(is: LIST) Books: [Book!]! @operation(is: LIST) notesConnection: [Book!]! @operation(is: LIST) }
    `,
    faults: [
      '3:14 "Query.notes" needs the root field Query.notes, which Note has. Rename it.',
      '3:51 "Query.Books" needs the root field Query.Books, which Book has. Rename it.',
      '3:88 "Query.notesConnection" needs the root field Query.notesConnection, which Note has. Rename it.',
    ],
  },
  {
    name: 'Root fields: two resources with the same root fields',
    sdl: `
      type Sheep @resource(plural: "sheep") { id: ID! }
      type Person @resource(plural: "people") { id: ID! }
      type People @resource { id: ID! }
    `,
    faults: [
      '1:6 Sheep needs the root field Query.sheep, which Sheep has. Choose another: @resource(plural: "…")',
      '1:6 Sheep needs the root field Mutation.createSheep, which Sheep has. Choose another: @resource(plural: "…")',
      '1:6 Sheep needs the root field Mutation.updateSheep, which Sheep has. Choose another: @resource(plural: "…")',
      '1:6 Sheep needs the root field Mutation.deleteSheep, which Sheep has. Choose another: @resource(plural: "…")',
      '1:6 Sheep needs the root field Mutation.upsertSheep, which Sheep has. Choose another: @resource(plural: "…")',
      '3:6 People needs the root field Query.people, which Person has. Choose another: @resource(plural: "…")',
      '3:6 People needs the root field Mutation.createPeople, which Person has. Choose another: @resource(plural: "…")',
      '3:6 People needs the root field Mutation.updatePeople, which Person has. Choose another: @resource(plural: "…")',
      '3:6 People needs the root field Mutation.deletePeople, which Person has. Choose another: @resource(plural: "…")',
      '3:6 People needs the root field Mutation.upsertPeople, which Person has. Choose another: @resource(plural: "…")',
    ],
  },
  {
    name: 'Names: names that begin with an underscore',
    sdl: `
      type _Book @resource(plural: "books") { id: ID! _title: String _shelf: Shelf }
      type Shelf @resource { id: ID! color: _Color }
      enum _Color { _RED }
    `,
    faults: [
      '1:6 Type "_Book" begins with "_", which Duet keeps for itself. Rename it.',
      '1:6 The table name "_Book" must be 1 to 60 ASCII characters, without commas, and not begin with "_" or be a name of SQLite itself.',
      '1:49 _Book field "_title" begins with "_", which Duet keeps for itself. Rename it.',
      '1:64 _Book field "_shelfId" begins with "_", which Duet keeps for itself. Rename it.',
      '1:64 _Book field "_shelf" begins with "_", which Duet keeps for itself. Rename it.',
      '3:6 Type "_Color" begins with "_", which Duet keeps for itself. Rename it.',
      '3:15 _Color value "_RED" begins with "_", which Duet keeps for itself. Rename it.',
    ],
  },
  {
    name: 'Names: an enum value twice',
    sdl: `
      type Book @resource { id: ID! color: Color }
      enum Color { RED RED }
    `,
    faults: ['2:18 Color value "RED" exists twice. Remove one.'],
  },
  {
    name: 'Names: names that collide with derived ones',
    sdl: `
      type Book @resource { id: ID! ifVersion: Int and: Int or: Shelf not: Int }
      type BookWhere @resource { id: ID! }
      enum BookConnection { A }
      type Shelf @resource { id: ID! books: [Book!]! booksConnection: Int BooksAggregate: Int }
    `,
    faults: [
      '1:31 Book field "ifVersion" collides with a name that Duet derives. Rename it.',
      '1:46 Book field "and" collides with a name that Duet derives. Rename it.',
      '1:55 Book field "or" collides with a name that Duet derives. Rename it.',
      '1:65 Book field "not" collides with a name that Duet derives. Rename it.',
      '2:6 Type "BookWhere" collides with a name that Duet derives. Rename it.',
      '3:6 Type "BookConnection" collides with a name that Duet derives. Rename it.',
      '4:48 Shelf field "booksConnection" collides with a name that Duet derives. Rename it.',
      '4:69 Shelf field "BooksAggregate" and "booksAggregate" differ only in letter case. Rename one.',
    ],
  },
  {
    name: 'Names: names that differ only in letter case',
    sdl: `
      type Book @resource { id: ID! title: String TITLE: String author: Author AuthorID: Int }
      type BOOK @resource(plural: "tomes") @table(name: "tomes") { id: ID! }
      type Author @resource { id: ID! }
      type query @resource { id: ID! }
      type date @resource { id: ID! }
      enum Color { RED Red }
    `,
    faults: [
      '1:45 Book field "TITLE" and "title" differ only in letter case. Rename one.',
      '1:74 Book field "AuthorID" and "authorId" differ only in letter case. Rename one.',
      '2:6 Type "BOOK" and "Book" differ only in letter case. Rename one.',
      '2:6 BOOK needs the root field Query.book, which Book has. Choose another: @resource(plural: "…")',
      '2:6 BOOK needs the root field Mutation.createBOOK, which Book has. Choose another: @resource(plural: "…")',
      '2:6 BOOK needs the root field Mutation.updateBOOK, which Book has. Choose another: @resource(plural: "…")',
      '2:6 BOOK needs the root field Mutation.deleteBOOK, which Book has. Choose another: @resource(plural: "…")',
      '2:6 BOOK needs the root field Mutation.upsertBOOK, which Book has. Choose another: @resource(plural: "…")',
      '4:6 Type "query" and "Query" differ only in letter case. Rename one.',
      '5:6 Type "date" and "Date" differ only in letter case. Rename one.',
      '6:18 Color value "Red" and "RED" differ only in letter case. Rename one.',
    ],
  },
  {
    name: 'Names: a plural that is no name',
    sdl: `
      type Book @resource(plural: "the books", path: "books") { id: ID! }
    `,
    faults: ['1:6 The plural "the books" of Book must be a name of letters and digits, such as "people".'],
  },
  {
    name: 'Names: a path that is no segment',
    sdl: `
      type Book @resource(path: "a/b") { id: ID! }
      type Note @resource(path: "..") { id: ID! }
    `,
    faults: [
      '1:6 The path "a/b" of Book must be one path segment of letters, digits and - . _ ~',
      '2:6 The path ".." of Note must be one path segment of letters, digits and - . _ ~',
    ],
  },
  {
    name: 'Names: paths that are taken',
    sdl: `
      type Book @resource(path: "GraphQL") { id: ID! }
      type Note @resource(path: "notes") { id: ID! }
      type Remark @resource(path: "Notes") { id: ID! }
    `,
    faults: [
      '1:6 The path "/GraphQL" of Book is taken by Duet. Choose one: @resource(path: "…")',
      '3:6 The path "/Notes" of Remark is taken by Note. Choose one: @resource(path: "…")',
    ],
  },
  {
    name: 'Names: two types in one table',
    sdl: `
      type Book @resource { id: ID! }
      type Tome @resource @table(name: "BOOK") { id: ID! }
    `,
    faults: ['2:6 Tome and Book are stored in the same table "BOOK". Rename one: @table(name: "…")'],
  },
  {
    name: 'Names: table names that cannot be stored',
    sdl: `
      type Book @resource @table(name: "sqlite_book") { id: ID! }
      type Note @resource @table(name: "_note") { id: ID! }
      type Cafe @resource @table(name: "café") { id: ID! }
      type Nil @resource @table(name: "") { id: ID! }
    `,
    faults: [
      '1:6 The table name "sqlite_book" must be 1 to 60 ASCII characters, without commas, and not begin with "_" or be a name of SQLite itself.',
      '2:6 The table name "_note" must be 1 to 60 ASCII characters, without commas, and not begin with "_" or be a name of SQLite itself.',
      '3:6 The table name "café" must be 1 to 60 ASCII characters, without commas, and not begin with "_" or be a name of SQLite itself.',
      '4:6 The table name "" must be 1 to 60 ASCII characters, without commas, and not begin with "_" or be a name of SQLite itself.',
    ],
  },
  {
    name: 'Names: two fields in one column',
    sdl: `
      type Book @resource { id: ID! title: String name: String @column(name: "Title") author: Author ownerId: ID @column(name: "authorId") }
      type Author @resource { id: ID! }
    `,
    faults: [
      '1:45 Book.name and Book.title are stored in the same column. Rename one: @column(name: "…")',
      '1:96 Book.ownerId and Book.authorId are stored in the same column. Rename one: @column(name: "…")',
    ],
  },
  {
    name: 'Names: column names that cannot be stored',
    sdl: `
      type Book @resource { id: ID! title: String @column(name: "_title") aNameThatIsFarTooLongForPostgreSQLBecauseItCutsNamesAtSixtyThree: Int sqlite_title: String }
    `,
    faults: [
      '1:31 The column name "_title" must be 1 to 60 ASCII characters, without commas, and not begin with "_" or be a name of SQLite itself.',
      '1:69 The column name "aNameThatIsFarTooLongForPostgreSQLBecauseItCutsNamesAtSixtyThree" must be 1 to 60 ASCII characters, without commas, and not begin with "_" or be a name of SQLite itself.',
      '1:139 The column name "sqlite_title" must be 1 to 60 ASCII characters, without commas, and not begin with "_" or be a name of SQLite itself.',
    ],
  },
  {
    name: 'Records: a required field that nobody can give',
    sdl: `
      type Book @resource { id: ID! title: String! @readonly author: Author! @readonly }
      type Author @resource { name: ID! @key @readonly }
    `,
    faults: [
      '1:31 "Book.title" is required, but @readonly keeps clients from giving it. Add @default, drop the "!", or give Book a beforeCreate in logic.ts.',
      '1:56 "Book.authorId" is required, but @readonly keeps clients from giving it. Remove it.',
      '2:25 "Author.name" is required, but @readonly keeps clients from giving it. Remove it.',
    ],
  },
  {
    name: 'Records: a required reference that is to become null',
    sdl: `
      type Book @resource { id: ID! author: Author! @onDelete(do: SET_NULL) }
      type Author @resource { id: ID! }
    `,
    faults: [
      '1:31 "Book.author" cannot be set to null on delete. Drop the "!", or choose RESTRICT or CASCADE.',
    ],
  },
  {
    name: 'Records: records that require themselves',
    sdl: `
      type Person @resource { id: ID! mother: Person! }
    `,
    faults: [
      '1:33 No Person could ever be created: it requires itself through Person.mother. Make one of them nullable.',
    ],
  },
  {
    name: 'Records: records that require one another',
    sdl: `
      type Hen @resource { id: ID! egg: Egg! }
      type Egg @resource { id: ID! nest: Nest! }
      type Nest @resource { id: ID! hen: Hen! owner: Owner! }
      type Owner @resource { id: ID! }
    `,
    faults: [
      '1:30 No Hen could ever be created: it requires itself through Hen.egg, Egg.nest, Nest.hen. Make one of them nullable.',
      '2:30 No Egg could ever be created: it requires itself through Egg.nest, Nest.hen, Hen.egg. Make one of them nullable.',
      '3:31 No Nest could ever be created: it requires itself through Nest.hen, Hen.egg, Egg.nest. Make one of them nullable.',
    ],
  },
  {
    name: 'Defaults: of a natural key',
    sdl: `
      type Book @resource { isbn: ID! @key @default(value: "1") }
    `,
    faults: ['1:23 The key "Book.isbn" cannot have a default. Remove it.'],
  },
  {
    name: "Defaults: of another type than the field's",
    sdl: `
      type Book @resource {
        id: ID!
        title: String @default(value: 1)
        pages: Int @default(value: 99999999999)
        price: Float @default(value: 1e999)
        done: Boolean @default(value: "true")
        made: DateTime @default(value: "yesterday")
        color: Color @default(value: BLUE)
        tags: [String!] @default(value: ["a", 2, true])
        marks: [Int!] @default(value: 3)
        name: String @default(value: "") @constraint(minLength: 1)
      }
      enum Color { RED }
    `,
    faults: [
      '3:3 The default of "Book.title" does not fit: title must be a string. Mend the value.',
      '4:3 The default of "Book.pages" does not fit: pages must be -2147483648 to 2147483647. Mend the value.',
      '5:3 The default of "Book.price" does not fit: price must be finite. Mend the value.',
      '6:3 The default of "Book.done" does not fit: done must be true or false. Mend the value.',
      '7:3 The default of "Book.made" does not fit: made must be an RFC 3339 time, to the millisecond at most. Mend the value.',
      '8:3 The default of "Book.color" does not fit: color must be one of RED. Mend the value.',
      '9:3 The default of "Book.tags" does not fit: tags/1 must be a string. Mend the value.',
      '9:3 The default of "Book.tags" does not fit: tags/2 must be a string. Mend the value.',
      '10:3 The default of "Book.marks" does not fit: marks must be a list. Mend the value.',
      '11:3 The default of "Book.name" does not fit: name must have at least 1 character. Mend the value.',
    ],
  },
  {
    name: 'Constraints: of text on what is no text',
    sdl: `
      type Book @resource {
        id: UUID! @constraint(minLength: 1)
        pages: Int @constraint(maxLength: 3, pattern: "1", format: "email")
        color: Color @constraint(pattern: "R")
      }
      enum Color { RED }
    `,
    faults: [
      '2:3 "minLength" on "Book.id" needs a String or ID field. Remove it.',
      '3:3 "maxLength" on "Book.pages" needs a String or ID field. Remove it.',
      '3:3 "pattern" on "Book.pages" needs a String or ID field. Remove it.',
      '3:3 "format" on "Book.pages" needs a String or ID field. Remove it.',
      '4:3 "pattern" on "Book.color" needs a String or ID field. Remove it.',
    ],
  },
  {
    name: 'Constraints: of numbers on what is no number',
    sdl: `
      type Book @resource { id: ID! title: String @constraint(min: 1, max: 2) at: Date @constraint(min: 1) }
    `,
    faults: [
      '1:31 "min" on "Book.title" needs a field that is a number. Remove it.',
      '1:31 "max" on "Book.title" needs a field that is a number. Remove it.',
      '1:73 "min" on "Book.at" needs a field that is a number. Remove it.',
    ],
  },
  {
    name: 'Decimals: without a scale, with a wrong one, or no Decimal at all',
    sdl: `
      type Item @resource {
        id: ID!
        price: Decimal
        tax: Decimal! @decimal(scale: 19)
        rate: Decimal @decimal(scale: -1)
        cost: Decimal @decimal(scale: "2")
        sum: Decimal @decimal
        name: String @decimal(scale: 2)
        weight: Float @decimal(scale: 2)
        shop: Item @decimal(scale: 2)
      }
    `,
    faults: [
      '3:10 "Item.price" is a Decimal, and nothing says how many digits it has behind the point. Add, for two: @decimal(scale: 2)',
      '4:17 The scale of "Item.tax" must be 0 to 18, not 19. Give the digits behind the point, such as 2 for cents.',
      '5:17 The scale of "Item.rate" must be 0 to 18, not -1. Give the digits behind the point, such as 2 for cents.',
      '6:17 Argument "@decimal(scale:)" has invalid value: Int cannot represent non-integer value: "2"',
      '7:16 Argument "@decimal(scale:)" of required type "Int!" was not provided.',
      '8:16 "@decimal" on "Item.name" needs a Decimal field. Remove it.',
      '9:17 "@decimal" on "Item.weight" needs a Decimal field. Remove it.',
      '10:14 "@decimal" does not fit "Item.shop", which is a reference. Remove it.',
    ],
  },
  {
    name: 'Exact numbers: bounds and defaults that do not fit',
    sdl: `
      type Item @resource {
        id: ID!
        price: Decimal @decimal(scale: 2) @constraint(min: 0.005)
        tax: Decimal @decimal(scale: 2) @constraint(max: 1e3)
        units: BigInt @constraint(max: 9223372036854775808)
        count: BigInt @constraint(min: 9007199254740993, max: 9007199254740992)
        cost: Decimal @decimal(scale: 2) @default(value: 12.5)
        part: BigInt @default(value: "1.5")
      }
    `,
    faults: [
      '3:37 "min" on "Item.price" must be a number with at most 2 digits behind the point, such as "12.50". Write out its digits, without an exponent.',
      '4:35 "max" on "Item.tax" must be a number with at most 2 digits behind the point, such as "12.50". Write out its digits, without an exponent.',
      '5:17 "max" on "Item.units" must be -9223372036854775808 to 9223372036854775807. Write out its digits, without an exponent.',
      '6:3 Nothing can meet the constraint on "Item.count": the least is above the most. Swap them.',
      '7:3 The default of "Item.cost" does not fit: cost must be a string with a number with at most 2 digits behind the point, such as "12.50". Mend the value.',
      '8:3 The default of "Item.part" does not fit: part must be a whole number, such as "42". Mend the value.',
    ],
  },
  {
    name: 'Constraints: negative lengths',
    sdl: `
      type Book @resource { id: ID! title: String @constraint(minLength: -1) name: String @constraint(maxLength: -2) }
    `,
    faults: [
      '1:31 The lengths on "Book.title" must not be negative.',
      '1:72 The lengths on "Book.name" must not be negative.',
      '1:72 Nothing can meet the constraint on "Book.name": the least is above the most. Swap them.',
    ],
  },
  {
    name: 'Constraints: that nothing can meet',
    sdl: `
      type Book @resource { id: ID! title: String @constraint(minLength: 2, maxLength: 1) pages: Int @constraint(min: 2.5, max: 2) }
    `,
    faults: [
      '1:31 Nothing can meet the constraint on "Book.title": the least is above the most. Swap them.',
      '1:85 Nothing can meet the constraint on "Book.pages": the least is above the most. Swap them.',
    ],
  },
  {
    name: 'Constraints: unknown formats',
    sdl: `
      type Book @resource { id: ID! mail: String @constraint(format: "e-mail") color: String @constraint(format: "rgb") }
    `,
    faults: [
      '1:31 Unknown format "e-mail" on "Book.mail". Did you mean "email"?',
      '1:74 Unknown format "rgb" on "Book.color". There are: email, uri, uuid, date-time, date, ipv4, ipv6.',
    ],
  },
  {
    name: 'Constraints: dangerous patterns',
    sdl: `
      type Book @resource {
        id: ID!
        nested: String @constraint(pattern: "^(a+)+$")
        either: String @constraint(pattern: "^(a|ab)*$")
        again: String @constraint(pattern: "^(a)\\\\1$")
      }
    `,
    faults: [
      '3:18 The pattern "^(a+)+$" has nested quantifiers, with which hostile text takes for ever to check. Write it without.',
      '4:18 The pattern "^(a|ab)*$" has alternatives in a repeated group, with which hostile text takes for ever to check. Write it without.',
      '5:17 The pattern "^(a)\\1$" has back-references, with which hostile text takes for ever to check. Write it without.',
    ],
  },
  {
    name: 'Constraints: patterns that take long on long text',
    sdl: `
      type Book @resource {
        id: ID!
        twice: String @constraint(pattern: "^a*b*a*$")
        anywhere: String @constraint(pattern: "a+b", maxLength: 104)
        short: String @constraint(pattern: "a+b", maxLength: 103)
        many: [String!] @constraint(pattern: ".*x.*y", maxLength: 18)
        never: String @constraint(pattern: "^${'a?'.repeat(20)}b", maxLength: 1)
        plain: String @constraint(pattern: "^[a-z]+-[a-z]+$")
      }
    `,
    faults: [
      '3:17 The pattern "^a*b*a*$" tries the same text again and again, which takes long where it is long. Add "maxLength: 98" or less, or begin it with ^ and let what repeats end where the next part begins.',
      '4:20 The pattern "a+b" tries the same text again and again, which takes long where it is long. Add "maxLength: 103" or less, or begin it with ^ and let what repeats end where the next part begins.',
      '6:19 The pattern ".*x.*y" tries the same text again and again, which takes long where it is long. Add "maxLength: 17" or less, or begin it with ^ and let what repeats end where the next part begins.',
      `7:17 The pattern "^${'a?'.repeat(20)}b" tries the same text again and again, which takes long even where it is short. Write it with fewer quantifiers or alternatives.`,
    ],
  },
  {
    name: 'Constraints: patterns that are too long to be judged',
    sdl: `
      type Book @resource { id: ID! word: String @constraint(pattern: "^${'(?:a*|b*|)'.repeat(200)}x", maxLength: 1) }
    `,
    faults: [
      `1:44 The pattern "^${'(?:a*|b*|)'.repeat(10).slice(0, 99)}…" has 2002 characters, and may have 500. Shorten it; a list of words can be an enum.`,
    ],
  },
  {
    name: 'Indexes: on what cannot be compared',
    sdl: `
      type Book @resource @index(fields: ["title", "extra"]) {
        id: ID!
        title: String
        extra: JSON
        tags: [String!] @unique
      }
    `,
    faults: [
      '1:21 "Book.extra" is a list or JSON and cannot be unique or indexed. Take it out.',
      '5:3 "Book.tags" is a list or JSON and cannot be unique or indexed. Take it out.',
    ],
  },
  {
    name: 'Doors: nothing to query',
    sdl: `
      type Hidden @resource(graphql: false) { id: ID! }
      type Book @resource(only: [CREATE, DELETE]) { id: ID! }
    `,
    faults: [
      '2:6 GraphQL would have nothing to query. Allow LIST or GET on a resource, or write graphql: false on all.',
    ],
  },
  {
    name: 'Together: every fault at once, in the order of the file',
    sdl: `
      "A sign of many faults"
      type Post @resource(only: [SEE]) {
        id: Int!
        title: Strng! @uniqe
        author: User! @onDelete(do: SET_NULL)
        tags: [String]
        TAGS: Int @default(value: "none")
      }
      input Search { text: String }
      type User @resource(path: "posts") @index(fields: ["nick"]) {
        name: String! @key @readonly
        posts: [Post!]
      }
      type Mutation {
        publish(titel: String): Post! @operation(is: CREATE)
      }
    `,
    faults: [
      '2:6 Type "Post" has no key. Add: id: ID! (or id: UUID!, or @key on an ID! or String! field)',
      '2:11 Argument "@resource(only:)" has invalid value at [0]: Value "SEE" does not exist in "DuetOperation" enum. Did you mean the enum value "GET"?',
      '3:7 "Post.id" must be ID! or UUID! (the server assigns it), or carry @key',
      '4:10 Unknown type "Strng" on Post.title. Did you mean "String"?',
      '4:17 Unknown directive "@uniqe". Did you mean "unique"?',
      '5:3 "Post.author" cannot be set to null on delete. Drop the "!", or choose RESTRICT or CASCADE.',
      '6:9 "Post.tags" must be a list of non-null items: [String!] or [String!]!',
      '7:3 Post field "TAGS" and "tags" differ only in letter case. Rename one.',
      '7:3 The default of "Post.TAGS" does not fit: TAGS must be a whole number. Mend the value.',
      '9:1 An input object type definition cannot stand here. A Duet file holds types with @resource, enums, Query and Mutation.',
      '10:6 The path "/posts" of User is taken by Post. Choose one: @resource(path: "…")',
      '10:36 "@index" names "nick", which is no stored field of User.',
      '11:3 "User.name" is required, but @readonly keeps clients from giving it. Remove it.',
      '12:10 "User.posts" is the far side of a reference and must be written [Post!]!',
    ],
  },
];

/** Columns count in the file, not in this one: the indentation of a row is no part of it. */
function fileOf(sdl: string): string {
  return sdl.replace('\n', '').replaceAll(/^ {1,6}/gm, '');
}

for (const { name, sdl, faults } of rows)
  test(name, () => {
    const found = readSchema(fileOf(sdl)).faults ?? [];
    expect(found.map(({ line, column, message }) => `${line}:${column} ${message}`)).toEqual([...faults]);
  });

test('the cure for two lists that point at each other can be pasted', () => {
  const file = `
    type Product @resource { id: ID! tags: [Tag!]! }
    type Tag @resource { id: ID! products: [Product!]! }`;
  for (const { message } of readSchema(file).faults ?? []) {
    const [, through = '', type = ''] =
      /Add (@through\([^)]*\)) to both lists, and a type for the pairs: (.*)$/.exec(message) ?? [];
    const pasted = `${file.replaceAll('!]!', `!]! ${through}`)}\n${type}`;
    const { model, faults } = readSchema(pasted);
    expect(faults).toBeUndefined();
    expect(model?.resources.map(({ throughs }) => throughs.map(({ name }) => name))).toEqual([
      ['tags'],
      ['products'],
      [],
    ]);
  }
  expect.assertions(4);
});

test('no two rows have the same name', () => {
  expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
});
