/** What is wrong with a record and with those that are nested in it is told at once, to those who may know it. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  type Employee @resource { id: ID!  name: String }
  type Tag @resource { code: ID! @key }
  type Hour @resource { id: ID!  n: Int @unique  e: Employee  units: [Unit!]!  notes: [Note!]! }
  type Unit @resource { id: ID!  uni: Int @unique  x: Employee  tag: Tag  hour: Hour  notes: [Note!]! }
  type Note @resource { id: ID!  text: String @unique  author: Employee  hour: Hour  unit: Unit }
  type Area @resource { code: ID! @key  name: String @unique  shops: [Shop!]! @inverse(of: "area") }
  type Shop @resource { id: ID!  area: Area  near: Area }`;
const data = {
  employees: [{ name: 'ann' }],
  tags: [{ code: 'new' }],
  hours: [{ n: 1 }],
  units: [{ uni: 1 }],
  notes: [{ text: 'taken' }],
  areas: [{ code: 'a', name: 'taken' }],
};

type Told = readonly string[];
const toldOf = (errors: readonly { pointer: string; code: string }[] = [], prefix = ''): Told =>
  errors.map(({ pointer, code }) => `${pointer.replace(prefix, '')} ${code}`);

/** All that is told of new records, by both doors alike. */
async function told(
  app: AppUnderTest,
  type: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<Told> {
  const path = `/${type.toLowerCase()}s`;
  const isMany = Array.isArray(body);
  const operations = [{ method: 'POST', path, body }];
  const { body: rest } = isMany
    ? await app.rest('POST', '/transaction', { operations }, headers)
    : await app.rest('POST', path, body, headers);
  const faults = toldOf(rest.errors, '/operations/0/body');
  const key = type === 'Area' ? 'code' : 'id';
  const mutation = `mutation($records: [${type}Input!]!) { create${type}s(records: $records) { ${key} } }`;
  const { errors } = await app.graphql(mutation, { records: isMany ? body : [body] }, headers);
  const { code, errors: listed } = errors?.[0].extensions ?? {};
  expect([code, toldOf(listed, isMany ? '' : '/0')]).toEqual([rest.code, faults]);
  return faults;
}

const [n, e] = ['#/n NOT_UNIQUE', '#/eId REFERENCE_NOT_FOUND'];
const rows: readonly (readonly [name: string, type: string, body: object, faults: Told])[] = [
  [
    'taken, and missing below',
    'Hour',
    { n: 1, units: [{ xId: 9 }] },
    [n, '#/units/0/xId REFERENCE_NOT_FOUND'],
  ],
  ['missing, and taken below', 'Hour', { eId: 9, units: [{ uni: 1 }] }, [e, '#/units/0/uni NOT_UNIQUE']],
  [
    'taken on both levels',
    'Hour',
    { n: 1, units: [{ uni: 2 }, { uni: 1 }] },
    [n, '#/units/1/uni NOT_UNIQUE'],
  ],
  [
    'missing on both levels',
    'Hour',
    { eId: 9, units: [{ xId: 9 }, { xId: 1 }] },
    [e, '#/units/0/xId REFERENCE_NOT_FOUND'],
  ],
  ['nothing but the record itself', 'Hour', { n: 1, units: [{ uni: 2, xId: 1, tagId: 'new' }] }, [n]],
  [
    'three levels, and two lists',
    'Hour',
    { n: 1, units: [{ uni: 1, notes: [{ text: 'taken', authorId: 9 }] }], notes: [{ text: 'taken' }] },
    [
      n,
      '#/units/0/uni NOT_UNIQUE',
      '#/units/0/notes/0/authorId REFERENCE_NOT_FOUND',
      '#/units/0/notes/0/text NOT_UNIQUE',
      '#/notes/0/text NOT_UNIQUE',
    ],
  ],
  [
    'the first of two lists, and the other',
    'Hour',
    { units: [{ uni: 1 }], notes: [{ authorId: 9 }] },
    ['#/units/0/uni NOT_UNIQUE', '#/notes/0/authorId REFERENCE_NOT_FOUND'],
  ],
  [
    'records of a list, each with its own',
    'Hour',
    [{ units: [{ uni: 1 }] }, { units: [{ xId: 9, notes: [{ text: 'taken' }] }] }, { n: 1 }],
    [
      '#/0/units/0/uni NOT_UNIQUE',
      '#/1/units/0/xId REFERENCE_NOT_FOUND',
      '#/1/units/0/notes/0/text NOT_UNIQUE',
      '#/2/n NOT_UNIQUE',
    ],
  ],
  [
    'a natural key that nothing has',
    'Hour',
    { n: 1, units: [{ tagId: 'none' }] },
    [n, '#/units/0/tagId REFERENCE_NOT_FOUND'],
  ],
  [
    'a natural key that comes with it',
    'Area',
    { code: 'b', name: 'taken', shops: [{ nearId: 'b' }] },
    ['#/name NOT_UNIQUE'],
  ],
];

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data });
  });
  afterAll(() => app.close());

  test.each([...rows])('%s', async (_, type, body, faults) => {
    expect(await told(app, type, body)).toEqual(faults);
    expect((await app.rest('GET', '/hours')).body).toHaveLength(1);
  });

  test('what an earlier write of the transaction has brought is not said to be missing', async () => {
    const after = async (units: readonly object[]) => {
      const operations = [
        { method: 'POST', path: '/employees', body: { name: 'bob' }, as: 'bob' },
        { method: 'POST', path: '/tags', body: { code: 'brought' } },
        { method: 'POST', path: '/hours', body: { n: 1, units } },
      ];
      const { body } = await app.rest('POST', '/transaction', { operations });
      return toldOf(body.errors, '/operations/2/body');
    };
    expect(await after([{ xId: { $ref: 'bob.id' } }, { tagId: 'brought' }])).toEqual([n]);
    expect(await after([{ xId: 99 }, { uni: 1 }])).toEqual([
      n,
      '#/units/0/xId REFERENCE_NOT_FOUND',
      '#/units/1/uni NOT_UNIQUE',
    ]);
  });
});

describe.each([...databases])('with rules, on %s', (database) => {
  test('nothing is told of nested records that a rule may deny, nor of what is hidden', async () => {
    const guarded = `
      type Club @resource @allow(to: [READ], where: { owner: { eq: { claim: "sub" } } }) { id: ID!  owner: String }
      type Desk @resource @allow(to: [READ]) { id: ID! }
      type Hour @resource @allow(to: [READ, CREATE], role: "authenticated")
      { id: ID!  n: Int @unique  desk: Desk  opens: [Open!]!  owns: [Own!]!  drops: [Drop!]!  parts: [Part!]! }
      type Drop @resource @allow(to: [CREATE], role: "authenticated") @allow(to: [READ], where: { owner: { eq: { claim: "sub" } } })
      { id: ID!  hour: Hour  owner: String  tag: Int @unique  desk: Desk }
      type Open @resource @allow(to: [READ, CREATE], role: "authenticated")
      { id: ID!  hour: Hour  tag: Int @unique  desk: Desk  club: Club @unique }
      type Own @resource @allow(to: [READ, CREATE], where: { owner: { eq: { claim: "sub" } } })
      { id: ID!  hour: Hour  owner: String  tag: Int @unique  desk: Desk }
      type Part @resource @allow(to: [READ, CREATE], role: "authenticated")
      { id: ID!  hour: Hour  kind: String @allow(to: [READ, CREATE], where: { kind: { ne: "x" } })  tag: Int @unique }`;
    const app = await openApp(database, {
      sdl: guarded,
      data: {
        clubs: [{ owner: 'ann' }, { owner: 'ann' }, { owner: 'eve' }, { owner: 'eve' }],
        hours: [{ n: 1 }],
        opens: [{ tag: 1, clubId: 1 }, { clubId: 3 }],
        owns: [{ owner: 'ann', tag: 1 }],
        drops: [{ owner: 'ann', tag: 1 }],
        parts: [{ tag: 1 }],
      },
      env: { AUTH_SECRET: SECRET },
    });
    try {
      const eve = await headersOf({ name: 'eve of nested conflicts', claims: { sub: 'eve' } });
      const desk = '#/deskId REFERENCE_NOT_FOUND';
      for (const [outer, fault] of [
        [{ n: 1 }, n],
        [{ deskId: 9 }, desk],
      ] as const) {
        const both = [fault, '#/opens/0/deskId REFERENCE_NOT_FOUND', '#/opens/0/tag NOT_UNIQUE'];
        expect(await told(app, 'Hour', { ...outer, opens: [{ tag: 1, deskId: 9 }] }, eve)).toEqual(both);
        // What it would not see in the end, it is denied.
        for (const owner of ['ann', 'eve'])
          for (const list of ['owns', 'drops'])
            expect(
              await told(app, 'Hour', { ...outer, [list]: [{ owner, tag: 1, deskId: 9 }] }, eve),
            ).toEqual([fault]);
        expect(await told(app, 'Hour', { ...outer, parts: [{ kind: 'x', tag: 1 }] }, eve)).toEqual([fault]);
        expect(await told(app, 'Hour', { ...outer, parts: [{ tag: 1 }] }, eve)).toEqual([
          fault,
          '#/parts/0/tag NOT_UNIQUE',
        ]);
        // Hidden and taken, hidden, not there, seen: but one that is seen and taken is told.
        for (const clubId of [1, 2, 99, 4])
          expect(await told(app, 'Hour', { ...outer, opens: [{ clubId }] }, eve)).toEqual([fault]);
        const seen = await told(app, 'Hour', { ...outer, opens: [{ clubId: 3 }] }, eve);
        expect(seen).toEqual([fault, '#/opens/0/clubId NOT_UNIQUE']);
      }
    } finally {
      await app.close();
    }
  });

  test('nothing is told of nested records that a function may still make otherwise', async () => {
    const logic = { Unit: { beforeCreate: ({ input }: { input: object }) => ({ ...input, uni: 5 }) } };
    const app = await openApp(database, { sdl, data, logic });
    try {
      expect(await told(app, 'Hour', { n: 1, units: [{ uni: 1 }], notes: [{ text: 'taken' }] })).toEqual([
        n,
        '#/notes/0/text NOT_UNIQUE',
      ]);
    } finally {
      await app.close();
    }
  });

  test('what a function collides with is told of the record that it is of, and nothing else with it', async () => {
    const logic = {
      Unit: {
        *beforeCreate({ tx, input }: any): any {
          yield* tx.notes.create({ text: 'taken' });
          return input;
        },
      },
    };
    const app = await openApp(database, { sdl, data, logic });
    try {
      const body = { units: [{ uni: 2 }], notes: [{ text: 'taken' }] };
      expect(toldOf((await app.rest('POST', '/hours', body)).body.errors)).toEqual(['#/units/0 NOT_UNIQUE']);
    } finally {
      await app.close();
    }
  });
});
