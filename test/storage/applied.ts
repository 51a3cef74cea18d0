/** Changes of the schema that a database follows: the steps in words, and the records afterwards. */

import { A, type Applied, rows, two, User, withNull } from './changes.ts';

/** A field that every old row is given the default of. */
const added = (field: string, value: unknown): Applied => ({
  from: A('n: Int'),
  data: two,
  to: A(`n: Int f: ${field}`),
  applied: ['add column A.f'],
  after: {
    as: [
      { id: 1, n: 1, f: value },
      { id: 2, n: 2, f: value },
    ],
  },
});

export const applied: Record<string, Applied> = {
  'new resource': {
    from: A('n: Int'),
    data: two,
    to: `${A('n: Int')} type B @resource { id: ID! a: A! t: String @index }`,
    applied: [
      'create table B',
      'add foreign key B.aId to A',
      'create index on B (aId)',
      'create index on B (t)',
    ],
    after: {
      as: [
        { id: 1, n: 1 },
        { id: 2, n: 2 },
      ],
      bs: [],
    },
  },
  'new check that every record meets': {
    from: A('n: Int m: Int'),
    data: { as: [{ n: 1, m: 2 }, { n: 2 }] },
    to: 'type A @resource @check(where: { or: [{ m: { isNull: true } }, { m: { gt: { field: "n" } } }] }, message: "m is above n.") { id: ID! n: Int m: Int }',
    applied: ['refuse writes to A from older nodes'],
  },
  'new check of fields that are given their default': {
    from: A('n: Int'),
    data: { as: [{ n: 1 }, {}] },
    to: 'type A @resource @check(where: { n: { lt: { field: "m" } } }, message: "m is above n.") { id: ID! n: Int! @default(value: 3) m: Int! @default(value: 4) }',
    applied: [
      'fill A.n with its default',
      'forbid null in A.n',
      'add column A.m',
      'refuse writes to A from older nodes',
    ],
    after: {
      as: [
        { id: 1, n: 1, m: 4 },
        { id: 2, n: 3, m: 4 },
      ],
    },
    back: {
      as: [
        { id: 1, n: 1 },
        { id: 2, n: 3 },
      ],
    },
  },
  'new transitions': {
    from: 'enum E { X Y } type A @resource { id: ID! e: E! }',
    data: { as: [{ e: 'Y' }] },
    to: 'enum E { X Y } type A @resource { id: ID! e: E! @default(value: X) @transitions(allow: { X: [Y] }) }',
    applied: ['refuse writes to A from older nodes'],
  },
  'new nullable field': added('String', null),
  'new nullable field with a default': added('String @default(value: "x")', null),
  'new required Int': added('Int! @default(value: -7)', -7),
  'new required Float': added('Float! @default(value: 1e21)', 1e21),
  'new required Boolean': added('Boolean! @default(value: true)', true),
  'new required DateTime': added(
    'DateTime! @default(value: "2024-05-01T14:30:00.5+02:00")',
    '2024-05-01T12:30:00.500Z',
  ),
  'new required Date': added('Date! @default(value: "2024-05-01")', '2024-05-01'),
  'new required list': added('[String!]! @default(value: ["a", "it\'s"])', ['a', "it's"]),
  'new required JSON': added('JSON! @default(value: {a: [1, "\'\\""]})', { a: [1, '\'"'] }),
  'new required text with quotes': added(
    'String! @default(value: "it\'s \\"so\\" \\\\ $1 ?1")',
    'it\'s "so" \\ $1 ?1',
  ),
  'new required enum': {
    ...added('Color! @default(value: RED)', 'RED'),
    to: `enum Color { RED BLUE } ${A('n: Int f: Color! @default(value: RED)')}`,
  },
  'new required field of an odd name': {
    ...added('Int! @default(value: 1)', 1),
    to: A('n: Int f: Int! @default(value: 1) @column(name: "a \\"b\\".c\'") @index'),
    applied: ['add column A.a "b".c\'', 'create index on A (a "b".c\')'],
  },
  'new required field on an empty table': {
    from: A('n: Int'),
    to: A('n: Int f: String! t: DateTime! @createdAt'),
    applied: ['add column A.f', 'forbid null in A.f', 'add column A.t', 'forbid null in A.t'],
  },
  'new reference': {
    from: `${A('n: Int')} ${User}`,
    data: two,
    to: `${A('n: Int user: User')} ${User}`,
    applied: ['add column A.userId', 'add foreign key A.userId to User', 'create index on A (userId)'],
    after: {
      as: [
        { id: 1, n: 1, userId: null },
        { id: 2, n: 2, userId: null },
      ],
      users: [],
    },
  },
  'new reference to a new resource': {
    from: A('n: Int'),
    data: two,
    to: `${A('n: Int user: User')} ${User}`,
    applied: [
      'add column A.userId',
      'create table User',
      'add foreign key A.userId to User',
      'create index on A (userId)',
    ],
    after: {
      as: [
        { id: 1, n: 1, userId: null },
        { id: 2, n: 2, userId: null },
      ],
      users: [],
    },
  },
  'new required reference on an empty table': {
    from: `${A('n: Int')} ${User}`,
    to: `${A('n: Int user: User!')} ${User}`,
    applied: [
      'add column A.userId',
      'forbid null in A.userId',
      'add foreign key A.userId to User',
      'create index on A (userId)',
    ],
  },
  'new index': {
    from: A('n: Int'),
    data: two,
    to: A('n: Int @index'),
    applied: ['create index on A (n)'],
  },
  'new unique': {
    from: A('n: Int'),
    data: { as: [...two.as, {}, {}] },
    to: A('n: Int @unique'),
    applied: ['create unique index on A (n)'],
  },
  'new unique over several fields': {
    from: A('n: Int s: String'),
    data: {
      as: [
        { n: 1, s: 'x' },
        { n: 1, s: 'y' },
        { n: 1, s: null },
        { n: 1, s: null },
      ],
    },
    to: `type A @resource @unique(fields: ["n", "s"]) { id: ID! n: Int s: String }`,
    applied: ['create unique index on A (n, s)'],
  },
  'new unique field with a default, for a single row': {
    ...added('String! @default(value: "x") @unique', 'x'),
    data: { as: [{ n: 1 }] },
    applied: ['add column A.f', 'create unique index on A (f)'],
    after: { as: [{ id: 1, n: 1, f: 'x' }] },
  },
  'removed unique': {
    from: A('n: Int @unique'),
    data: two,
    to: A('n: Int'),
    applied: ['drop unique index on A (n)'],
  },
  'removed index stays': { from: A('n: Int @index'), data: two, to: A('n: Int'), applied: [] },
  '! dropped': { from: A('s: String!'), data: rows, to: A('s: String'), applied: ['allow null in A.s'] },
  '! added without nulls': {
    from: A('s: String'),
    data: rows,
    to: A('s: String!'),
    applied: ['forbid null in A.s'],
  },
  '! added with nulls and a default': {
    from: A('s: String'),
    data: withNull,
    to: A('s: String! @default(value: "it\'s")'),
    applied: ['fill A.s with its default', 'forbid null in A.s'],
    after: {
      as: [
        { id: 1, s: 'x' },
        { id: 2, s: "it's" },
      ],
    },
    back: {
      as: [
        { id: 1, s: 'x' },
        { id: 2, s: "it's" },
      ],
    },
  },
  'constraint relaxed': {
    from: A('s: String @constraint(maxLength: 1)'),
    data: rows,
    to: A('s: String'),
    applied: [],
  },
  'constraint narrowed, and rows fit': {
    from: A('s: String'),
    data: withNull,
    to: A('s: String @constraint(maxLength: 1)'),
    applied: [],
  },
  'enum value added': {
    from: `enum E { x y } ${A('s: E')}`,
    data: rows,
    to: `enum E { x y z } ${A('s: E')}`,
    applied: [],
  },
  'enum value removed that no row has': {
    from: `enum E { x y z } ${A('s: E l: [E!]')}`,
    data: { as: [{ s: 'x', l: ['y'] }] },
    to: `enum E { x y } ${A('s: E l: [E!]')}`,
    applied: [],
  },
  'String to enum and back': {
    from: A('s: String'),
    data: rows,
    to: `enum E { x y } ${A('s: E')}`,
    applied: [],
  },
  'ID to String': { from: A('s: ID'), data: rows, to: A('s: String'), applied: [] },
  'field renamed with @column': {
    from: A('s: String @unique'),
    data: rows,
    to: A('t: String @unique @column(name: "s")'),
    applied: [],
    after: {
      as: [
        { id: 1, t: 'x' },
        { id: 2, t: 'y' },
      ],
    },
  },
  'field renamed without': {
    from: A('s: String!'),
    data: rows,
    to: A('t: String'),
    applied: ['add column A.t', 'allow null in A.s'],
    surplus: ['A.s'],
    after: {
      as: [
        { id: 1, t: null },
        { id: 2, t: null },
      ],
    },
  },
  'type renamed with @table': {
    from: `${A('s: String')} type B @resource { id: ID! a: A }`,
    data: { ...rows, bs: [{ aId: 1 }] },
    to: `type C @resource @table(name: "A") { id: ID! s: String } type B @resource { id: ID! a: C }`,
    applied: [],
    after: {
      cs: [
        { id: 1, s: 'x' },
        { id: 2, s: 'y' },
      ],
      bs: [{ id: 1, aId: 1 }],
    },
  },
  'type renamed without': {
    from: A('s: String'),
    data: rows,
    to: 'type C @resource { id: ID! s: String }',
    applied: ['create table C'],
    surplus: ['A'],
    after: { cs: [] },
  },
  'a comment': { from: A('s: String'), data: rows, to: `# well\n${A('s: String  # so\n')}`, applied: [] },
};
