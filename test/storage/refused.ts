/** Changes of the schema that rows stand against: the refusals in full. */

import { A, type Refused, rows, two, User, withNull } from './changes.ts';

const newRequired = 'it is new and required, but existing records have no value for it.';
const otherType = (field: string, type: string, name: string) =>
  `${field}: its type changed to ${type}, but stored values have another type. Give the new type to a new field and copy the values, or keep "${name}" as it was.`;
const notUnique = (fields: string) =>
  `A(${fields}): it is now unique, but there are records with the same value: 1 and 2. Change such records first, or drop the @unique.`;
const less = (field: string, why: string) =>
  `${field}: it admits less than before, but ${why} has another value. Change such records first, or widen the constraint.`;
const otherKey = (field: string) =>
  `${field}: the key is another field, but records are stored under the old key. Keep the old key, or start with a new resource.`;

const broken = (keys: string) =>
  `A: a new @check, "n is enough.", but there are records that break it: ${keys}. Change such records first, or drop the @check.`;

export const refused: Record<string, Refused> = {
  'new required field': {
    from: A('s: String'),
    data: rows,
    to: A('s: String t: Int!'),
    refused: [`A.t: ${newRequired} Add @default(value: …), or drop the "!".`],
  },
  'new required time of creation': {
    from: A('s: String'),
    data: rows,
    to: A('s: String t: DateTime! @createdAt'),
    refused: [
      `A.t: ${newRequired} Start once with @default(value: …) in the place of @createdAt, which gives them one.`,
    ],
  },
  'new required reference': {
    from: `${A('s: String')} ${User}`,
    data: rows,
    to: `${A('s: String user: User!')} ${User}`,
    refused: [`A.userId: ${newRequired} Start once without the "!" and give them one, or drop the "!".`],
  },
  'new unique with duplicates': {
    from: A('s: String'),
    data: { as: [{ s: 'x' }, { s: 'x' }] },
    to: A('s: String @unique'),
    refused: [notUnique('s')],
  },
  'new unique with duplicates, beside what could be done': {
    from: A('s: String! n: Int @unique'),
    data: { as: [{ s: 'x' }, { s: 'x' }] },
    to: `${A('s: String @unique t: String @index d: Int! @default(value: 1)')} type B @resource { id: ID! }`,
    refused: [notUnique('s')],
  },
  'new unique over several fields with duplicates': {
    from: A('s: String n: Int'),
    data: {
      as: [
        { s: 'x', n: 1 },
        { s: 'x', n: 1 },
      ],
    },
    to: 'type A @resource @unique(fields: ["n", "s"]) { id: ID! s: String n: Int }',
    refused: [notUnique('n, s')],
  },
  'new unique field whose default all rows would share': {
    from: A('n: Int'),
    data: two,
    to: A('n: Int s: String! @default(value: "x") @unique'),
    refused: [notUnique('s')],
  },
  'new unique over a field and a new default': {
    from: A('n: Int'),
    data: { as: [{ n: 1 }, { n: 1 }] },
    to: 'type A @resource @unique(fields: ["n", "s"]) { id: ID! n: Int s: String! @default(value: "x") }',
    refused: [notUnique('n, s')],
  },
  'unique and ! where the default fills a duplicate in': {
    from: A('s: String'),
    data: withNull,
    to: A('s: String! @default(value: "x") @unique'),
    refused: [notUnique('s')],
  },
  '! added with nulls': {
    from: A('s: String'),
    data: withNull,
    to: A('s: String!'),
    refused: [
      'A.s: it is now required, but there are records without a value for it. Give them one first, add @default(value: …), or drop the "!".',
    ],
  },
  'constraint narrowed': {
    from: A('s: String'),
    data: { as: [{ s: 'x' }, { s: 'xx' }] },
    to: A('s: String @constraint(maxLength: 1)'),
    refused: [less('A.s', 's must have at most 1 character, but a 2')],
  },
  'constraints narrowed in one way and relaxed in another': {
    from: A(`a: Int @constraint(min: 1, max: 9)  b: Int @constraint(min: 1, max: 9)
      c: String @constraint(minLength: 2, maxLength: 3)  d: String @constraint(minLength: 2, maxLength: 3)
      e: String @constraint(maxLength: 2, pattern: "^x")  f: String @constraint(maxLength: 2)`),
    data: { as: [{ a: 1, b: 9, c: 'xx', d: 'xxx', e: 'xy', f: 'x' }] },
    to: A(`a: Int @constraint(min: 2, max: 10)  b: Int @constraint(min: 0, max: 8)
      c: String @constraint(minLength: 3, maxLength: 4)  d: String @constraint(minLength: 1, maxLength: 2)
      e: String @constraint(pattern: "^y")  f: String @constraint(format: "email")`),
    refused: [
      less('A.a', 'a must be 2 or more, but a 1'),
      less('A.b', 'b must be 8 or less, but a 1'),
      less('A.c', 'c must have at least 3 characters, but a 1'),
      less('A.d', 'd must have at most 2 characters, but a 1'),
      less('A.e', 'e must match ^y, but a 1'),
      less('A.f', 'f must be an e-mail address, but a 1'),
    ],
  },
  'constraint of a key narrowed': {
    from: 'type A @resource { s: String! @key }',
    data: { as: [{ s: 'x' }, { s: 'xx' }] },
    to: 'type A @resource { s: String! @key @constraint(maxLength: 1) }',
    refused: [less('A.s', 's must have at most 1 character, but a xx')],
  },
  'enum value removed that a row has': {
    from: `enum E { x y } ${A('s: E')}`,
    data: rows,
    to: `enum E { x } ${A('s: E')}`,
    refused: [less('A.s', 's must be one of x, but a 2')],
  },
  'enum value removed that a list has': {
    from: `enum E { x y } ${A('l: [E!]')}`,
    data: { as: [{ l: ['x', 'y'] }] },
    to: `enum E { x } ${A('l: [E!]')}`,
    refused: [less('A.l', 'l/1 must be one of x, but a 1')],
  },
  'String to an enum that does not have the values': {
    from: A('s: String'),
    data: rows,
    to: `enum E { x } ${A('s: E')}`,
    refused: [less('A.s', 's must be one of x, but a 2')],
  },
  'types that are stored in another way': {
    from: `${A('i: Float s: String b: Boolean t: String l: String j: JSON')} ${User}`,
    to: `${A('i: Int s: DateTime b: Int t: UUID l: [String!] j: [String!]')} ${User}`,
    refused: [
      otherType('A.i', 'Int', 'i'),
      otherType('A.s', 'DateTime', 's'),
      otherType('A.b', 'Int', 'b'),
      otherType('A.t', 'UUID', 't'),
      otherType('A.l', '[String!]', 'l'),
      otherType('A.j', '[String!]', 'j'),
    ],
  },
  'reference to another resource': {
    from: `${A('r: User')} ${User} type B @resource { id: ID! }`,
    to: `${A('r: B')} ${User} type B @resource { id: ID! }`,
    refused: [otherType('A.rId', 'B', 'rId')],
  },
  'type of the key': {
    from: A('s: String'),
    data: rows,
    to: 'type A @resource { id: UUID! s: String }',
    refused: [otherType('A.id', 'UUID', 'id')],
  },
  'key that is a new field': {
    from: 'type A @resource { s: ID! @key }',
    data: rows,
    to: A('s: ID!'),
    refused: [otherKey('A.id')],
  },
  'key that is another field': {
    from: 'type A @resource { s: ID! @key t: String! }',
    data: { as: [{ s: 'x', t: 'y' }] },
    to: 'type A @resource { s: ID! t: String! @key }',
    refused: [otherKey('A.t')],
  },
  'new check that records break': {
    from: A('n: Int'),
    data: { as: [{ n: 1 }, { n: 2 }, {}, { n: 9 }] },
    to: 'type A @resource @check(where: { n: { gte: 2 } }, message: "n is enough.") { id: ID! n: Int }',
    refused: [broken('1, 3')],
  },
  'new check that many records break': {
    from: A('n: Int'),
    data: { as: Array.from({ length: 30 }, () => ({ n: 1 })) },
    to: 'type A @resource @check(where: { n: { gte: 2 } }, message: "n is enough.") { id: ID! n: Int }',
    refused: [broken('1, 2, 3, 4, 5, 6, 7, 8, 9, 10')],
  },
  'check that asks for more than before': {
    from: 'type A @resource @check(where: { n: { gte: 1 } }, message: "n is there.") { id: ID! n: Int }',
    data: two,
    to: 'type A @resource @check(where: { n: { gte: 2 } }, message: "n is enough.") { id: ID! n: Int }',
    refused: [broken('1')],
  },
  'new check of two fields, one of which is new': {
    from: A('n: Int'),
    data: two,
    to: 'type A @resource @check(where: { n: { gte: { field: "m" } } }, message: "n is enough.") { id: ID! n: Int m: Int! @default(value: 2) }',
    refused: [broken('1')],
  },
  'new check of a field that is new and null': {
    from: A('n: Int'),
    data: two,
    to: 'type A @resource @check(where: { m: { gte: 2 } }, message: "n is enough.") { id: ID! n: Int m: Int @default(value: 2) }',
    refused: [broken('1, 2')],
  },
  'names that differ in letter case': {
    from: `${A('s: String')} type B @resource { id: ID! }`,
    data: rows,
    to: `${A('S: String')} type b @resource { id: ID! }`,
    refused: [
      'A.S: it would be stored in a new column "S", but there is a column "s", and names must differ in more than letter case. Add @column(name: "s") to keep using that one, or @column with another name.',
      'b: it would be stored in a new table "b", but there is a table "B", and names must differ in more than letter case. Add @table(name: "B") to keep using that one, or @table with another name.',
    ],
  },
  'one fault among much that is safe': {
    from: A('s: String'),
    data: withNull,
    to: `${A('s: String! t: String @index u: Int!')} ${User}`,
    refused: [
      'A.s: it is now required, but there are records without a value for it. Give them one first, add @default(value: …), or drop the "!".',
      `A.u: ${newRequired} Add @default(value: …), or drop the "!".`,
    ],
  },
};
