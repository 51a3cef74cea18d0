/** Checks of rules that look at a list which the same update writes: told by the links that it makes, and before what is taken. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  type Tag @resource @allow(to: [READ]) { id: ID!  name: String!  docs: [Doc!]! @through(type: "DocTag") }
  type DocTag @resource @allow(to: [READ, CREATE, DELETE]) { id: ID!  doc: Doc! @onDelete(do: CASCADE)  tag: Tag! }
  type Doc @resource
    @allow(to: [READ])
    @allow(to: [UPDATE], where: { state: { eq: "new" } }, check: { tags: { some: { name: { eq: { claim: "team" } } } } })
  {
    id: ID!
    state: String!
    slug: String @unique @caseless
    secret: String @unique @allow(to: [READ], role: "keeper") @allow(to: [UPDATE])
    tags: [Tag!]! @through(type: "DocTag")
  }`;
const data = {
  tags: [{ name: 'red' }, { name: 'blue' }],
  docs: [
    { state: 'new', slug: 'one', secret: 'first' },
    { state: 'new', slug: 'taken', secret: 'taken' },
  ],
};
const member = (team: string) => headersOf({ name: team, claims: { sub: 'ann', team } });
const red = await member('red');
const nobody = await member('grey');
const ann = await headersOf({ name: 'ann', claims: { sub: 'ann' } });

type Headers = Record<string, string>;
type Update = (app: AppUnderTest, body: object, headers: Headers) => Promise<unknown>;

const doors: Record<string, Update> = {
  REST: async (app, body, headers) => {
    const answer = await app.rest('PUT', '/docs/1', body, headers);
    return answer.status === 200 ? 'done' : answer.body.code;
  },
  'a transaction': async (app, body, headers) => {
    const where = { id: { eq: 1 } };
    const operations = [{ method: 'PUT', path: '/docs', where, atMost: 1, body }];
    const answer = await app.rest('POST', '/transaction', { operations }, headers);
    return answer.status === 200 ? 'done' : answer.body.code;
  },
  GraphQL: async (app, body, headers) => {
    const query = `mutation ($state: String, $slug: String, $secret: String, $tagIds: [ID!]) {
      updateDoc(id: 1, state: $state, slug: $slug, secret: $secret, tagIds: $tagIds) { id } }`;
    const { errors } = await app.graphql(query, { ...body }, headers);
    return errors?.[0]?.extensions['code'] ?? 'done';
  },
};

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data, env: { AUTH_SECRET: SECRET } });
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    await app.unguarded().rest('PUT', '/docs/1', { state: 'new', slug: 'one', secret: 'first', tagIds: [] });
  });

  describe.each(Object.entries(doors))('through %s', (_, update) => {
    test.each([
      { secret: 'taken' },
      { secret: 'taken', tagIds: [1] },
      { slug: 'TAKEN', tagIds: [1] },
      { slug: 'taken', tagIds: [] },
      { state: 'old', secret: 'taken', tagIds: [2] },
    ])('who may not write learns nothing of what is taken: %p', async (body) => {
      const free = Object.fromEntries(
        Object.entries(body).map(([name, value]) => [name, /taken/i.test(String(value)) ? 'free' : value]),
      );
      expect([await update(app, body, nobody), await update(app, free, nobody)]).toEqual([
        'FORBIDDEN',
        'FORBIDDEN',
      ]);
    });

    test('a link of the same update is what a check finds, whatever else changes with it', async () => {
      expect(await update(app, { state: 'old', tagIds: [2] }, red)).toBe('FORBIDDEN');
      expect(await update(app, { state: 'new', slug: 'two', tagIds: [1] }, red)).toBe('done');
      // By now it is allowed as things stand, so that what is taken can be told.
      expect(await update(app, { slug: 'TAKEN', tagIds: [1, 2] }, red)).toBe('CONFLICT');
      expect(await update(app, { state: 'old', tagIds: [] }, red)).toBe('FORBIDDEN');
      expect(await update(app, { state: 'old', tagIds: [1] }, red)).toBe('done');
    });
  });
});

/** Seats of two clubs, the first of which has a tag, under these rules. */
const seatsUnder = (ofSeat: string, ofLink: string) => ({
  sdl: `
    type Club @resource @allow(to: [READ]) { id: ID!  seats: [Seat!]! }
    type Seat @resource @allow(to: [READ]) ${ofSeat} {
      id: ID!  who: String  rank: Int  tag: String @unique  club: Club  tags: [Tag!]! @through(type: "SeatTag")
    }
    type Tag @resource @allow(to: [READ]) { id: ID!  name: String }
    type SeatTag @resource @unique(fields: ["seat", "tag"]) @allow(to: [READ, DELETE]) ${ofLink} {
      id: ID!  seat: Seat! @onDelete(do: CASCADE)  tag: Tag!
    }`,
  data: {
    clubs: [{}, {}],
    seats: [
      { who: 'ann', rank: 1, clubId: 1 },
      { who: 'ben', rank: 1, clubId: 1, tag: 'taken' },
    ],
    tags: [{ name: 'plain' }, { name: 'approved' }],
    seatTags: [{ seatId: 1, tagId: 1 }],
  },
  env: { AUTH_SECRET: SECRET },
});
const OWN = 'where: { who: { eq: { claim: "sub" } } }';
const APPROVED = `@allow(to: [UPDATE], ${OWN}, check: { tags: { some: { name: { eq: "approved" } } } })`;

/** Whoever leads the club. */
const LED = '{ club: { seats: { some: { who: { eq: { claim: "sub" } }, rank: { eq: 9 } } } } }';

/** Counts the links of a seat as its rank. */
const counting = {
  SeatTag: {
    *beforeCreate({ tx, input }: any): any {
      yield* tx.system.seats.update(input.seatId, { _inc: { rank: 1 } });
    },
  },
};

describe.each([...databases])('what an update stores and what it links, on %s', (database) => {
  const cases: [what: string, ofSeat: string, ofLink: string, asked: [object, number][]][] = [
    [
      'do not let each other in',
      APPROVED,
      '@allow(to: [CREATE], where: { seat: { rank: { eq: 9 } } })',
      [
        [{ rank: 9 }, 403],
        [{ tagIds: [2] }, 403],
        [{ rank: 9, tagIds: [2] }, 403],
      ],
    ],
    [
      'are let in by the links that come with it, and what is taken is told then',
      APPROVED,
      '@allow(to: [CREATE])',
      [
        [{ rank: 9, tag: 'taken' }, 403],
        [{ rank: 9, tag: 'taken', tagIds: [1] }, 403],
        [{ rank: 9, tag: 'taken', tagIds: [2] }, 409],
        [{ rank: 9, tagIds: [2] }, 200],
      ],
    ],
    [
      'are not held against what the record itself becomes',
      '@allow(to: [UPDATE], where: { club: { seats: { none: { rank: { eq: 9 } } } } })',
      '@allow(to: [CREATE])',
      [[{ rank: 9, tagIds: [1, 2] }, 200]],
    ],
    [
      'are not held against what the record itself becomes, whatever another rule asks of the links',
      `${APPROVED} @allow(to: [UPDATE], where: { club: { seats: { none: { rank: { eq: 9 } } } } })`,
      '@allow(to: [CREATE])',
      [[{ rank: 9, tagIds: [1] }, 200]],
    ],
    [
      'are not held against what the record itself becomes, where one of several rules asks for nothing else',
      `@allow(to: [UPDATE], where: { tags: { some: { name: { eq: "approved" } } } })
       @allow(to: [UPDATE], where: { club: { seats: { none: { rank: { eq: 9 } } } } })`,
      '@allow(to: [CREATE])',
      [[{ rank: 9, tagIds: [1] }, 200]],
    ],
    [
      'are held against the rule that let the record through',
      `@allow(to: [UPDATE], where: { tags: { some: { name: { eq: "plain" } } } })
       @allow(to: [UPDATE], where: { rank: { eq: 5 } })`,
      '@allow(to: [CREATE])',
      [
        [{ rank: 9, tagIds: [] }, 403],
        [{ rank: 9, tagIds: [1] }, 200],
        [{ rank: 5, tagIds: [] }, 200],
      ],
    ],
    [
      'are held against every rule that is left, once the links are gone that let the record go',
      `${APPROVED} @allow(to: [UPDATE], where: { rank: { lt: 5 } })`,
      '@allow(to: [CREATE])',
      [
        [{ tagIds: [2] }, 200],
        [{ rank: 9, tagIds: [1] }, 403],
        [{ rank: 4, tagIds: [1] }, 200],
      ],
    ],
    [
      'are held against the links as they will be, where another rule leads back to the type',
      `@allow(to: [UPDATE], ${OWN}, check: { tags: { none: {} } })
       @allow(to: [UPDATE], where: { club: { seats: { some: { rank: { eq: 9 } } } } })`,
      '@allow(to: [CREATE])',
      [
        [{ clubId: 2 }, 403],
        [{ clubId: 2, tagIds: [] }, 200],
      ],
    ],
    [
      'are not let in by a check that only what the record itself becomes meets',
      `@allow(to: [UPDATE], where: { who: { eq: { claim: "sub" } }, tags: { none: { name: { eq: "approved" } } } })
       @allow(to: [UPDATE], where: { rank: { eq: 1 } }, check: ${LED})`,
      '@allow(to: [CREATE])',
      [
        [{ tagIds: [2] }, 403],
        [{ rank: 9, tagIds: [2] }, 403],
        [{ rank: 9, tagIds: [1] }, 200],
        [{ tagIds: [2] }, 403],
      ],
    ],
    [
      'are not let in by a rule that only what the record itself becomes meets, once the links are gone that let it go',
      `@allow(to: [UPDATE], where: { rank: { lt: 5 } })
       @allow(to: [UPDATE], where: { and: [{ tags: { none: { name: { eq: "plain" } } } }, ${LED}] })
       @allow(to: [UPDATE], ${OWN}, check: { tags: { some: { name: { eq: "plain" } } } })`,
      '@allow(to: [CREATE])',
      [
        [{ rank: 9, tagIds: [] }, 403],
        [{ rank: 9, tagIds: [1] }, 200],
        [{ tagIds: [] }, 403],
      ],
    ],
    [
      'are not held against what the record itself becomes, in a check',
      `@allow(to: [UPDATE], where: { who: { eq: { claim: "sub" } }, tags: { none: { name: { eq: "approved" } } } },
         check: { club: { seats: { none: { rank: { eq: 9 } } } } })`,
      '@allow(to: [CREATE])',
      [[{ rank: 9, tagIds: [1] }, 200]],
    ],
  ];
  const ways = {
    one: (app: AppUnderTest, body: object) => app.rest('PUT', '/seats/1', body, ann),
    many: (app: AppUnderTest, body: object) => {
      const operation = { method: 'PUT', path: '/seats', where: { id: { eq: 1 } }, atMost: 1, body };
      return app.rest('POST', '/transaction', { operations: [operation] }, ann);
    },
  };
  test.each(cases)('%s', async (...[, ofSeat, ofLink, asked]) => {
    for (const put of Object.values(ways)) {
      const app = await openApp(database, seatsUnder(ofSeat, ofLink));
      try {
        for (const [body, status] of asked)
          expect([body, (await put(app, body)).status]).toEqual([body, status]);
      } finally {
        await app.close();
      }
    }
  });

  /** Seats with a link that is taken from them when it goes. */
  const withMain = (ofSeat: string) => {
    const { sdl: plain, ...rest } = seatsUnder(ofSeat, '@allow(to: [CREATE])');
    const main = 'club: Club  main: SeatTag @onDelete(do: SET_NULL)  tags';
    return { given: plain.replace('club: Club  tags', main), rest };
  };

  test('what the going of a link changes is judged', async () => {
    const checked = 'check: { mainId: { isNull: false }, tags: { none: { name: { eq: "plain" } } } }';
    const { given, rest } = withMain(`@allow(to: [UPDATE], ${OWN}, ${checked})`);
    for (const put of Object.values(ways)) {
      const app = await openApp(database, { ...rest, sdl: given });
      try {
        await app.unguarded().rest('PUT', '/seats/1', { mainId: 1 });
        expect((await put(app, { rank: 9 })).status).toBe(403);
        expect((await put(app, { rank: 9, _tags: { remove: [1] } })).status).toBe(403);
        expect((await app.rest('GET', '/seats/1')).body).toMatchObject({ rank: 1, mainId: 1 });
        // And told.
        const operator = app.unguarded();
        const { body, headers } = await operator.rest('PUT', '/seats/1', { rank: 9, tagIds: [] });
        const now = await operator.rest('GET', '/seats/1');
        expect([body, headers.get('ETag')]).toEqual([now.body, now.headers.get('ETag')]);
        expect(body).toMatchObject({ rank: 9, mainId: null });
      } finally {
        await app.close();
      }
    }
  });

  test('what the going of a link changes is judged by rules that look at none, too', async () => {
    const { given, rest } = withMain(
      `${APPROVED} @allow(to: [UPDATE], where: { mainId: { isNull: false } })`,
    );
    for (const put of Object.values(ways)) {
      const app = await openApp(database, { ...rest, sdl: given });
      try {
        await app.unguarded().rest('PUT', '/seats/1', { mainId: 1 });
        expect((await put(app, { rank: 9, _tags: { remove: [1] } })).status).toBe(403);
        expect((await put(app, { rank: 9, tagIds: [1] })).status).toBe(200);
      } finally {
        await app.close();
      }
    }
  });

  test('what a function of a link writes is not overwritten', async () => {
    const rules = seatsUnder(APPROVED, '@allow(to: [CREATE])');
    for (const put of Object.values(ways)) {
      const app = await openApp(database, { ...rules, logic: counting });
      try {
        expect((await put(app, { tag: 'a', tagIds: [2] })).status).toBe(403);
        await app.unguarded().rest('PUT', '/seats/1', { tagIds: [2] });
        expect((await put(app, { tag: 'a', tagIds: [1, 2] })).status).toBe(200);
        expect((await app.rest('GET', '/seats/1')).body).toMatchObject({ tag: 'a', rank: 3 });
      } finally {
        await app.close();
      }
    }
  });
});
