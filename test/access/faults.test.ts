/** Every fault that a file's rules of access can have, with its place and its cure; and what is none. */

import { describe, expect, test } from 'bun:test';
import { accessRules } from '../../src/access/faults.ts';
import { readSchema } from '../../src/schema/read.ts';

function faultsOf(sdl: string): string[] {
  const { faults = [] } = readSchema(sdl, accessRules);
  return faults.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

/** A type with one rule, which begins at 1:21. */
const ruled = (rule: string, fields = 'title: String') =>
  `type Book @resource @allow(${rule}) { id: ID! ${fields} }`;

/** A type with one check, which begins at 1:21. */
const checked = (check: string, fields = 'title: String') =>
  `type Book @resource @check(${check}) { id: ID! ${fields} }`;

const publicOrOwn = '{ or: [{ public: { eq: true } }, { owner: { eq: { claim: "sub" } } }] }';
const product = `type Product @resource @allow(to: [READ], where: ${publicOrOwn}) { id: ID! public: Boolean owner: String }`;

const rows: Readonly<Record<string, readonly [sdl: string, fault: string]>> = {
  'a rule with a check that is for more than updates': [
    ruled('to: [READ, UPDATE], check: { title: { eq: "x" } }'),
    '1:21 The rule on "Book" has a "check", which a record is held against after an UPDATE. Give UPDATE a rule of its own: @allow(to: [UPDATE], …)',
  ],
  'a rule with a check that does not fit': [
    ruled('to: [UPDATE], check: { titel: { eq: "x" } }'),
    '1:21 The rule on "Book" does not fit at titel: "titel" is no field of Book. Did you mean "title"?',
  ],
  'a rule on a field with a check': [
    'type Book @resource { id: ID! title: String @allow(to: [UPDATE], check: { title: { eq: "x" } }) }',
    '1:45 "Book.title" is a field: a rule on it has no "check". Move the rule to the type.',
  ],
  'a check over a reference': [
    `type User @resource { id: ID! name: String books: [Book!]! }
type Book @resource @check(where: { owner: { name: { eq: "x" } } }, message: "m") { id: ID! owner: User }`,
    '2:21 A @check of Book asks for "owner", which leads to other records; it can ask for the record\'s own fields only. Ask for "ownerId", or use a rule: @allow(…)',
  ],
  'a check over a list': [
    `type User @resource @check(where: { books: { none: { title: { eq: "x" } } } }, message: "m") { id: ID! books: [Book!]! }
type Book @resource { id: ID! title: String owner: User }`,
    '1:21 A @check of User asks for "books", which leads to other records; it can ask for the record\'s own fields only. Use a rule: @allow(…)',
  ],
  'a check of an unknown field': [
    checked('where: { titel: { eq: "x" } }, message: "m"'),
    '1:21 A @check of Book does not fit at titel: "titel" is no field of Book. Did you mean "title"?',
  ],
  'a check against an unknown field': [
    checked('where: { title: { eq: { field: "titel" } } }, message: "m"'),
    '1:21 A @check of Book names "titel", which is no stored field of it. Did you mean "title"?',
  ],
  'a check against a field of another type': [
    checked('where: { title: { eq: { field: "pages" } } }, message: "m"', 'title: String pages: Int'),
    '1:21 A @check of Book compares "title" with "pages", which is of another type. Compare fields of one type.',
  ],
  'a check of two fields of which one is without letter case': [
    checked(
      'where: { title: { ne: { field: "name" } } }, message: "m"',
      'title: String @caseless name: String',
    ),
    '1:21 A @check of Book compares "title" with "name", of which one is @caseless. Add it to both, or to neither.',
  ],
  'a check that looks for a field in another': [
    checked('where: { title: { contains: { field: "name" } } }, message: "m"', 'title: String name: String'),
    '1:21 A @check of Book holds "title" against another field by "contains". Use one of: eq, ne, gt, gte, lt, lte.',
  ],
  'a check of the id that the database gives': [
    checked('where: { id: { gt: 5 } }, message: "m"'),
    '1:21 A @check of Book asks for "id", which a record does not have before it is created. Ask for another field.',
  ],
  'a check with a claim': [
    checked('where: { title: { eq: { claim: "sub" } } }, message: "m"'),
    '1:21 A @check of Book does not fit at title.eq: title eq must be a string. Another field is written { field: "name" }.',
  ],
  'a check that asks for nothing': [
    checked('where: {}, message: "m"'),
    '1:21 A @check of Book asks for nothing. Say what must match.',
  ],
  'a check without words': [
    checked('where: { title: { eq: "x" } }, message: " "'),
    '1:21 A @check of Book has no message. Say what must be true.',
  ],
  'an unknown field': [
    ruled('to: [READ], where: { titel: { eq: "x" } }'),
    '1:21 The rule on "Book" does not fit at titel: "titel" is no field of Book. Did you mean "title"?',
  ],
  'an unknown field of a related type': [
    `type User @resource { id: ID! name: String }
type Book @resource @allow(to: [READ], where: { owner: { nam: { eq: "x" } } }) { id: ID! owner: User }`,
    '2:21 The rule on "Book" does not fit at owner.nam: "nam" is no field of User. Did you mean "name"?',
  ],
  'an unknown operator': [
    ruled('to: [READ], where: { title: { is: "x" } }'),
    '1:21 The rule on "Book" does not fit at title.is: "is" is no operator of title. Did you mean "in"?',
  ],
  'a value of the wrong type': [
    ruled('to: [READ], where: { title: { eq: 5 } }'),
    '1:21 The rule on "Book" does not fit at title.eq: title eq must be a string.',
  ],
  'a null operand': [
    ruled('to: [READ], where: { title: { eq: null } }'),
    '1:21 The rule on "Book" does not fit at title.eq: title eq needs a value; use isNull to look for null.',
  ],
  'an operator object without an operand': [
    ruled('to: [READ], where: { title: {} }'),
    '1:21 The rule on "Book" does not fit at title: title is empty; ask for something, such as { eq: … }, or leave it out.',
  ],
  'an alternative that says nothing': [
    ruled('to: [READ], where: { or: [{ title: { eq: "x" } }, {}] }'),
    '1:21 The rule on "Book" does not fit at or.1: a filter in or is empty; say what must match, or leave it out.',
  ],
  'a filter that is none': [
    ruled('to: [READ], where: "title"'),
    '1:21 The rule on "Book" does not fit: where must be an object of fields, and, or, not.',
  ],
  'a claim without an operator': [
    ruled('to: [READ], where: { title: { claim: "sub" } }'),
    '1:21 The rule on "Book" does not fit at title: title must be an object such as { eq: … }.',
  ],
  'a claim whose name is no text': [
    ruled('to: [READ], where: { title: { eq: { claim: 5 } } }'),
    '1:21 The rule on "Book" does not fit at title.eq: title eq must be a string. A claim is written { claim: "sub" }.',
  ],
  'a claim with more beside it': [
    ruled('to: [READ], where: { title: { eq: { claim: "sub", or: "x" } } }'),
    '1:21 The rule on "Book" does not fit at title.eq: title eq must be a string. A claim is written { claim: "sub" }.',
  ],
  'a claim where only true and false fit': [
    ruled('to: [READ], where: { title: { isNull: { claim: "sub" } } }'),
    '1:21 The rule on "Book" does not fit at title.isNull: title isNull must be true or false.',
  ],
  'a rule that allows nothing': [
    ruled('to: []'),
    '1:21 The rule on "Book" allows nothing. Name what: to: [READ]',
  ],
  'a role without a name': [
    ruled('to: [READ], role: ""'),
    '1:21 The rule on "Book" names no role. Name one, or leave it out.',
  ],
  'a rule on a field that only a type can have': [
    'type Book @resource { id: ID! title: String @allow(to: [UPDATE, DELETE]) }',
    '1:45 "Book.title" is a field: a rule on it can allow READ, CREATE, UPDATE. Move DELETE to the type.',
  ],
  'a rule on a field that does not fit its type': [
    'type Book @resource { id: ID! title: String @allow(to: [UPDATE], where: { pages: { gt: 1 } }) }',
    '1:45 The rule on "Book.title" does not fit at pages: "pages" is no field of Book. There are: id, title, and, or, not.',
  ],
  'a field that can be hidden and is required': [
    'type Book @resource { id: ID! title: String! @allow(to: [READ], role: "editor") }',
    '1:46 "Book.title" has a rule on who may READ it and can be null for the others. Drop its "!", or the rule.',
  ],
  'a key that can be hidden': [
    'type Book @resource { id: ID! @allow(to: [READ], role: "editor") }',
    '1:31 "Book.id" has a rule on who may READ it and can be null for the others. Drop its "!", or the rule.',
  ],
  'a reference that can be hidden and is required': [
    `type User @resource { id: ID! }
type Book @resource { id: ID! owner: User! @allow(to: [READ], role: "editor") }`,
    '2:44 "Book.owner" has a rule on who may READ it and can be null for the others. Drop its "!", or the rule.',
  ],
  'a list that can be hidden and is required': [
    `type User @resource { id: ID! books: [Book!]! @allow(to: [READ], role: "editor") }
type Book @resource { id: ID! owner: User }`,
    '1:38 "User.books" has a rule on who may READ it and must be written [Book!]',
  ],
  'a list that cannot be hidden and is nullable': [
    `type User @resource { id: ID! books: [Book!] @allow(to: [CREATE], role: "editor") }
type Book @resource { id: ID! owner: User }`,
    '1:38 "User.books" is the far side of a reference and must be written [Book!]!',
  ],
  'a required reference to what nobody may see': [
    `type User @resource { id: ID! }
type Book @resource @allow(to: [READ]) { id: ID! owner: User! }`,
    '2:50 The rule at 2:21 lets people READ Book who may not READ each User. Drop the "!" of "Book.owner", or add @allow(to: [READ]) to User.',
  ],
  'a required reference to what only some may see': [
    `type User @resource @allow(to: [READ], role: "admin") { id: ID! }
type Book @resource @allow(to: [READ], role: "editor") { id: ID! owner: User! }`,
    '2:66 The rule at 2:21 lets people READ Book who may not READ each User. Drop the "!" of "Book.owner", or add @allow(to: [READ], role: "editor") to User.',
  ],
  'a required reference to what is only seen in part': [
    `type User @resource @allow(to: [READ], where: { name: { ne: "x" } }) { id: ID! name: String }
type Book @resource @allow(to: [READ], where: { owner: { name: { eq: "y" } } }) { id: ID! owner: User! }`,
    '2:91 The rule at 2:21 lets people READ Book who may not READ each User. Drop the "!" of "Book.owner", or add @allow(to: [READ]) to User.',
  ],
  'a required reference to what not everybody may see who has a claim': [
    `type User @resource @allow(to: [READ], role: "admin") { id: ID! }
type Book @resource @allow(to: [READ], role: "admin") @allow(to: [READ], where: { by: { eq: { claim: "sub" } } }) { id: ID! by: String owner: User! }`,
    '2:136 The rule at 2:55 lets people READ Book who may not READ each User. Drop the "!" of "Book.owner", or add @allow(to: [READ], role: "authenticated") to User.',
  ],
  'a required reference to what only the known may see, where a claim is only one of two ways': [
    `type User @resource @allow(to: [READ], role: "authenticated") { id: ID! }
type Book @resource @allow(to: [READ], where: { or: [{ by: { isNull: true } }, { by: { eq: { claim: "sub" } } }] }) { id: ID! by: String owner: User! }`,
    '2:138 The rule at 2:21 lets people READ Book who may not READ each User. Drop the "!" of "Book.owner", or add @allow(to: [READ]) to User.',
  ],
  'a required reference where only one of two ways demands that the other be seen': [
    `${product}
type Line @resource @allow(to: [READ], where: { or: [{ product: ${publicOrOwn} }, { note: { eq: "x" } }] }) { id: ID! note: String product: Product! }`,
    '2:189 The rule at 2:21 lets people READ Line who may not READ each Product. Drop the "!" of "Line.product", or add @allow(to: [READ]) to Product.',
  ],
  'a required reference where the rule demands something else of the other in one way': [
    `${product}
type Line @resource @allow(to: [READ], where: { product: { or: [{ public: { eq: true } }, { owner: { eq: { claim: "team" } } }] } }) { id: ID! product: Product! }`,
    '2:144 The rule at 2:21 lets people READ Line who may not READ each Product. Drop the "!" of "Line.product", or add @allow(to: [READ]) to Product.',
  ],
  'a required reference to one of several values of which one is a claim that not everybody brings': [
    `type Product @resource @allow(to: [READ], where: { color: { in: ["RED", { claim: "color" }] } }) { id: ID! color: String }
type Line @resource @allow(to: [READ], where: { product: { color: { eq: "RED" } } }) { id: ID! product: Product! }`,
    '2:96 The rule at 2:21 lets people READ Line who may not READ each Product. Drop the "!" of "Line.product", or add @allow(to: [READ]) to Product.',
  ],
  'a required reference where different records of a list have what one of them must have': [
    `type Product @resource @allow(to: [READ], where: { tags: { some: { name: { eq: "a" }, kind: { eq: "b" } } } }) { id: ID! tags: [Tag!]! }
type Tag @resource { id: ID! name: String kind: String product: Product }
type Line @resource @allow(to: [READ], where: { product: { and: [{ tags: { some: { name: { eq: "a" } } } }, { tags: { some: { kind: { eq: "b" } } } }] } }) { id: ID! product: Product! }`,
    '3:167 The rule at 3:21 lets people READ Line who may not READ each Product. Drop the "!" of "Line.product", or add @allow(to: [READ]) to Product.',
  ],
  'a rule for CREATE that asks for a list of the new record': [
    `type Club @resource @allow(to: [READ, CREATE], where: { or: [{ open: { eq: true } }, { not: { seats: { some: {} } } }] }) { id: ID! open: Boolean seats: [Seat!]! }
type Seat @resource { id: ID! club: Club }`,
    '1:21 The rule on "Club" asks for "Club.seats", which a record does not have before it is created. Give CREATE a rule of its own that asks for what is known then, such as the fields that are given: @allow(to: [CREATE], …)',
  ],
  'a rule for CREATE that asks for the id that the database gives': [
    ruled('to: [CREATE], where: { id: { in: { claim: "books" } } }'),
    '1:21 The rule on "Book" asks for "Book.id", which a record does not have before it is created. Give CREATE a rule of its own that asks for what is known then, such as the fields that are given: @allow(to: [CREATE], …)',
  ],
  'a rule for CREATE on a field that asks for a list of the new record': [
    `type Club @resource { id: ID! open: Boolean @allow(to: [CREATE], where: { seats: { none: {} } }) seats: [Seat!]! }
type Seat @resource { id: ID! club: Club }`,
    '1:45 The rule on "Club.open" asks for "Club.seats", which a record does not have before it is created. Give CREATE a rule of its own that asks for what is known then, such as the fields that are given: @allow(to: [CREATE], …)',
  ],
  'a claim without a name': [
    'type Book @resource { id: ID! owner: String @set(claim: "") }',
    '1:31 "@set" on "Book.owner" names no claim. Name one: @set(claim: "sub")',
  ],
  'a key that is set from a claim': [
    'type Book @resource { code: ID! @key @set(claim: "sub") }',
    '1:23 The key "Book.code" cannot be set from a claim. Remove "@set".',
  ],
};

describe('is refused:', () => {
  for (const [name, [sdl, fault]] of Object.entries(rows))
    test(name, () => {
      expect(faultsOf(sdl)).toEqual([fault]);
    });
});

test('all faults are told at once, in the order of the file, with those of other kinds', () => {
  const sdl = `type Book @resource @allow(to: [], where: { a: { eq: 1 } }) @allow(to: [READ], role: "") {
  id: ID!
  title: Strin
  secret: String! @allow(to: [READ])
}`;
  expect(faultsOf(sdl).map((fault) => fault.split(' ')[0])).toEqual(['1:21', '1:21', '1:61', '3:10', '4:19']);
});

const manyWays = `{ and: [${Array.from({ length: 9 }, (_, at) => `{ or: [{ color: { ne: "${at}" } }, { color: { startsWith: "${at}" } }] }`).join()}] }`;
const user =
  'type User @resource @allow(to: [READ], where: { public: { eq: true } }) { id: ID! public: Boolean! }';
const sound: Readonly<Record<string, string>> = {
  'claims of every form': `
    type Book @resource
      @allow(to: [READ], where: { or: [{ owner: { eq: { claim: "sub" } } }, { pages: { in: { claim: "pages" } } }] })
      @allow(to: [UPDATE], where: { not: { owner: { startsWith: { claim: "prefix" } } }, pages: { in: [1, { claim: "p" }] } })
    { id: ID! owner: String pages: Int }`,
  'a field that is named claim':
    'type A @resource @allow(to: [READ], where: { claim: { eq: "x" } }) { id: ID! claim: String }',
  'a required field that some may not write':
    'type A @resource { id: ID! state: String! @default(value: "new") @allow(to: [CREATE, UPDATE], role: "editor") }',
  'a required reference where no rule is': 'type B @resource { id: ID! } type A @resource { id: ID! b: B! }',
  'a required reference to what everybody may see who sees this':
    'type B @resource @allow(to: [READ], role: "authenticated") { id: ID! } type A @resource @allow(to: [READ], role: "editor") { id: ID! b: B! }',
  'a required reference to what everybody may see who is known, and a rule that only the known can meet': `
    type Product @resource @allow(to: [READ], role: "authenticated") { id: ID! }
    type Line @resource @allow(to: [READ], where: { owner: { eq: { claim: "sub" } } }) { id: ID! owner: String product: Product! }`,
  'the same where the claim is behind relations, or inside of a not': `
    type Product @resource @allow(to: [READ], role: "authenticated") { id: ID! lines: [Line!]! }
    type Line @resource
      @allow(to: [READ], where: { product: { lines: { some: { owner: { eq: { claim: "sub" } } } } } })
      @allow(to: [READ], where: { price: { gt: 1 }, not: { owner: { in: [{ claim: "foes" }, "x"] } } })
    { id: ID! owner: String price: Int product: Product! }`,
  'a rule for CREATE that asks for lists of others, for keys that are known, and for its own fields': `
    type Club @resource @allow(to: [CREATE], where: { id: { in: { claim: "clubs" } } }) { id: UUID! seats: [Seat!]! }
    type Seat @resource
      @allow(to: [CREATE], where: { club: { id: { eq: { claim: "club" } }, seats: { some: { id: { gt: 1 } } } }, made: { gt: "2020-01-01T00:00:00Z" } })
      @allow(to: [READ, UPDATE, DELETE], where: { pins: { some: {} }, id: { gt: 1 } })
    { id: ID! club: Club made: DateTime! @createdAt pins: [Pin!]! }
    type Pin @resource @allow(to: [CREATE], where: { code: { startsWith: "a" } }) { code: ID! @key seat: Seat }`,
  'a required reference where the rule itself demands that the other be seen': `${user}
    type Book @resource @allow(to: [READ], where: { owner: { public: { eq: true } }, title: { ne: "" } })
    { id: ID! title: String owner: User! }`,
  'the same where the other is seen in one of several ways': `${product}
    type Line @resource @allow(to: [READ], where: { product: ${publicOrOwn} }) { id: ID! product: Product! }`,
  'the same where the rule has several ways itself, of which one is for those who are known': `
    type Product @resource
      @allow(to: [READ], where: { public: { eq: true } })
      @allow(to: [READ], role: "authenticated", where: { owner: { eq: { claim: "sub" } } })
    { id: ID! public: Boolean owner: String }
    type Line @resource
      @allow(to: [READ], where: { or: [{ product: { public: { eq: true } }, note: { ne: "" } }, { product: { owner: { eq: { claim: "sub" } } } }] })
    { id: ID! note: String product: Product! }`,
  'the same where values come in another order, or fewer of them': `
    type Product @resource @allow(to: [READ], where: { color: { in: ["RED", "BLUE"] }, not: { size: { in: [1, 2] } } })
    { id: ID! color: String size: Int }
    type Line @resource
      @allow(to: [READ], where: { product: { color: { in: ["BLUE", "RED"] }, not: { size: { in: [2, 1] } } } })
      @allow(to: [READ], where: { product: { color: { eq: "RED" }, not: { size: { in: [1, 2] } } } })
    { id: ID! product: Product! }`,
  'the same where what is demanded of the other is said in several places, or of what it is related to': `
    type Shop @resource { id: ID! open: Boolean town: String }
    type Tag @resource { id: ID! name: String kind: String product: Product }
    type Product @resource
      @allow(to: [READ], where: { shop: { open: { eq: true }, town: { eq: "a" } } })
      @allow(to: [READ], where: { tags: { some: { or: [{ name: { eq: "a" } }, { kind: { eq: "b" } }] } } })
    { id: ID! shop: Shop tags: [Tag!]! }
    type Line @resource
      @allow(to: [READ], where: { product: { shop: { open: { eq: true } } }, and: [{ product: { shop: { town: { in: ["a"] }, and: [{ town: { eq: "a" } }] } } }] })
      @allow(to: [READ], where: { product: { tags: { some: { kind: { eq: "b" }, name: { ne: "c" } } } } })
    { id: ID! product: Product! }`,
  'the same with more ways than are tried': `
    type Product @resource @allow(to: [READ], where: ${manyWays}) { id: ID! color: String }
    type Line @resource @allow(to: [READ], where: { product: ${manyWays} }) { id: ID! product: Product! }`,
};

describe('is sound:', () => {
  for (const [name, sdl] of Object.entries(sound))
    test(name, () => {
      expect(faultsOf(sdl)).toEqual([]);
    });
});
