/** Lists through a join type, written under rules: those of the join type hold, and those of the record hold afterwards. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

/**
 * An editor sees and changes what has a public tag, and must leave it so; a mover may take that away where a tag "moved" is left.
 * Links are somebody's: everybody sees those that are not secret, and removes its own.
 */
const sdl = `
  type Product @resource
    @allow(to: [READ, UPDATE], role: "editor", where: { tags: { some: { public: { eq: true } } } })
    @allow(to: [READ], role: "mover", where: { tags: { some: { public: { eq: true } } } })
    @allow(to: [UPDATE], role: "mover", where: { tags: { some: { public: { eq: true } } } }, check: { tags: { some: { name: { eq: "moved" } } } })
    @allow(to: [CREATE], role: "editor")
    @allow(to: [READ, CREATE, UPDATE, DELETE], role: "admin")
    @allow(to: [READ, UPDATE], role: "reader")
    @allow(to: [READ], role: "keeper")
    @allow(to: [UPDATE], role: "keeper", where: { tags: { some: { public: { eq: true } } } })
  {
    id: ID!  name: String!  sku: String @unique
    tags: [Tag!]! @through(type: "ProductTag") @allow(to: [CREATE, UPDATE], role: "editor") @allow(to: [CREATE, UPDATE], role: "mover") @allow(to: [UPDATE], role: "admin") @allow(to: [UPDATE], role: "keeper")
    drafts: [Tag!]! @through(type: "Draft")
  }
  type Tag @resource @allow(to: [READ], where: { name: { ne: "hidden" } }) @allow(to: [READ, UPDATE], role: "admin") {
    id: ID!  name: String!  public: Boolean!
    products: [Product!]! @through(type: "ProductTag")
  }
  type ProductTag @resource @unique(fields: ["product", "tag"])
    @allow(to: [READ], where: { secret: { eq: false } })
    @allow(to: [READ, CREATE, UPDATE, DELETE], role: "admin")
    @allow(to: [CREATE], where: { and: [{ owner: { eq: { claim: "sub" } } }, { tag: { name: { ne: "frozen" } } }] })
    @allow(to: [DELETE], where: { owner: { eq: { claim: "sub" } } })
  {
    id: ID!  product: Product  tag: Tag
    owner: String @set(claim: "sub")
    secret: Boolean! @default(value: false)
  }
  type Draft @resource @allow(to: [READ]) { id: ID!  product: Product  tag: Tag }
  type Project @resource @allow(to: [READ]) { id: ID!  tasks: [Task!]! }
  type Task @resource @allow(to: [READ])
    @allow(to: [UPDATE], role: "member", where: { project: { tasks: { some: { who: { eq: { claim: "sub" } } } } } })
    @allow(to: [UPDATE], role: "guest", where: { labels: { none: { name: { eq: "locked" } } } }, check: { project: { tasks: { some: { who: { eq: { claim: "sub" } } } } } })
  {
    id: ID!  title: String  who: String  project: Project!
    labels: [Label!]! @through(type: "TaskLabel")
  }
  type Label @resource @allow(to: [READ]) { id: ID!  name: String }
  type TaskLabel @resource @unique(fields: ["task", "label"]) @allow(to: [READ, CREATE, DELETE]) {
    id: ID!  task: Task! @onDelete(do: CASCADE)  label: Label!
  }`;

const as = (sub: string, ...roles: string[]) =>
  headersOf({ name: `${sub} ${roles}`, claims: { sub, roles } });
const ann = await as('ann', 'editor');
const bob = await as('bob', 'editor');
const mover = await as('mia', 'mover');
const admin = await as('root', 'admin');
const keeper = await as('ann', 'keeper');
const reader = await as('rob', 'reader');
const tags = { open: 1, free: 2, closed: 3, hidden: 4, frozen: 5, moved: 6 };

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  let id: number;
  beforeAll(async () => {
    const made = Object.keys(tags).map((name) => ({ name, public: name === 'open' || name === 'free' }));
    const tasks = [
      { projectId: 1, who: 'ben' },
      { projectId: 2, who: 'cid' },
    ];
    const data = { tags: made, projects: [{}, {}], tasks, labels: [{ name: 'a' }] };
    app = await openApp(database, { sdl, data, env: { AUTH_SECRET: SECRET } });
  });
  afterAll(() => app.close());
  const link = (tagId: number, secret: boolean) =>
    app.unguarded().rest('POST', '/product-tags', { productId: id, tagId, secret });
  beforeEach(async () => {
    const { body } = await app.rest('POST', '/products', { name: 'x', tagIds: [tags.open] }, ann);
    id = body.id;
  });
  const stored = async () =>
    (await app.unguarded().rest('GET', `/product-tags?productId=${id}&sort=tagId`)).body.map(
      ({ tagId }: any) => tagId,
    );

  /** The same update by either door: the tags that are shown, or the code and where it stands. */
  const doors = {
    rest: async (set: any, headers: any) => {
      const { status, body } = await app.rest('PUT', `/products/${id}?include=tags`, set, headers);
      if (status === 200) return body.tags.map((tag: any) => tag.id);
      return [body.code, ...(body.errors ?? []).map((each: any) => `${each.pointer} ${each.code}`)];
    },
    graphql: async (set: any, headers: any) => {
      const { data, errors } = await app.graphql(
        'mutation($w: ProductWhere!, $s: ProductChanges!) { it: updateProducts(where: $w, set: $s, atMost: 1) { tags { id } } }',
        { w: { id: { eq: id } }, s: set },
        headers,
      );
      if (errors) {
        const { code, errors: faults = [] } = errors[0].extensions;
        return [code, ...faults.map((each: any) => `${each.pointer} ${each.code}`)];
      }
      return data.it[0] ? data.it[0].tags.map((tag: any) => Number(tag.id)) : ['NOT_FOUND'];
    },
  };

  describe.each(Object.entries(doors))('through %s', (_, update) => {
    test('who may not create a link, or remove it, does not by way of the list', async () => {
      expect(await update({ _tags: { add: [tags.closed] } }, ann)).toEqual([tags.open, tags.closed]);
      expect(await update({ _tags: { add: [tags.frozen] } }, ann)).toEqual(['FORBIDDEN']);
      expect(await update({ tagIds: [tags.open, tags.closed, tags.frozen] }, ann)).toEqual(['FORBIDDEN']);
      expect(await update({ _tags: { remove: [tags.closed] } }, bob)).toEqual(['FORBIDDEN']);
      expect(await update({ tagIds: [tags.open] }, bob)).toEqual(['FORBIDDEN']);
      expect(await update({ _tags: { add: [tags.free], remove: [tags.moved] } }, bob)).toEqual([
        tags.open,
        tags.free,
        tags.closed,
      ]);
      expect(await update({ _tags: { remove: [tags.closed] } }, ann)).toEqual([tags.open, tags.free]);
      expect(await stored()).toEqual([tags.open, tags.free]);
    });

    test('links that are not seen stay, and to add one of them is a conflict', async () => {
      await link(tags.free, true);
      await link(tags.hidden, false);
      expect(await update({ tagIds: [tags.open, tags.closed] }, ann)).toEqual([tags.open, tags.closed]);
      expect(await stored()).toEqual([tags.open, tags.free, tags.closed, tags.hidden]);
      expect(await update({ _tags: { remove: [tags.free] } }, ann)).toEqual([tags.open, tags.closed]);
      expect(await update({ tagIds: [tags.open, tags.free] }, ann)).toEqual([
        'CONFLICT',
        '#/tagIds/1 NOT_UNIQUE',
      ]);
      expect(await update({ _tags: { add: [tags.hidden] } }, ann)).toEqual([
        'CONFLICT',
        '#/_tags/add/0 REFERENCE_NOT_FOUND',
      ]);
      expect(await update({ tagIds: [tags.moved] }, admin)).toEqual([tags.moved]);
      expect(await stored()).toEqual([tags.moved]);
    });

    test('the rules of the record hold when its links are written', async () => {
      const denied = ['FORBIDDEN'];
      expect(await update({ tagIds: [tags.closed] }, ann)).toEqual(denied);
      expect(await update({ name: 'y', _tags: { remove: [tags.open] } }, ann)).toEqual(denied);
      expect(await update({ tagIds: [tags.closed] }, keeper)).toEqual(denied);
      expect(await update({ tagIds: [tags.free] }, ann)).toEqual([tags.free]);
      expect(await update({ tagIds: [tags.open] }, keeper)).toEqual([tags.open]);
      expect(await update({ tagIds: [tags.free] }, ann)).toEqual([tags.free]);
      expect(await stored()).toEqual([tags.free]);
    });

    test('a rule with a check asks for the links as they are afterwards', async () => {
      expect(await update({ name: 'y' }, mover)).toEqual(['FORBIDDEN']);
      expect(await update({ _tags: { add: [tags.closed] } }, mover)).toEqual(['FORBIDDEN']);
      expect(await update({ _tags: { add: [tags.moved] } }, mover)).toEqual([tags.open, tags.moved]);
      expect(await stored()).toEqual([tags.open, tags.moved]);
    });

    test('new links do not let the new values of a record speak for it', async () => {
      const move = { projectId: 2 };
      const ben = await as('ben', 'member');
      const put = async (body: any) => (await app.rest('PUT', '/tasks/1', body, ben)).status;
      expect(await put(move)).toBe(403);
      expect(await put({ ...move, labelIds: [1] })).toBe(403);
      expect(await put({ title: 'b', labelIds: [1] })).toBe(200);
      const dan = await as('dan', 'guest');
      for (const links of [{}, { labelIds: [1] }, { _labels: { remove: [1] } }])
        expect((await app.rest('PUT', '/tasks/1', { who: 'dan', ...links }, dan)).status).toBe(403);
      const { body } = await app.unguarded().rest('GET', '/tasks/1');
      expect(body).toMatchObject({ projectId: 1, who: 'ben' });
    });

    test('who may not use the list says nothing of it', async () => {
      expect(await update({ tagIds: [tags.open] }, reader)).toEqual(['FORBIDDEN', '#/tagIds FORBIDDEN']);
      expect(await update({ _tags: { remove: [9] } }, reader)).toEqual(['FORBIDDEN', '#/_tags FORBIDDEN']);
      expect(await update({ draftIds: [tags.open] }, reader)).toEqual(['FORBIDDEN']);
      expect(await update({ draftIds: [] }, reader)).toEqual([tags.open]);
    });

    test('what is taken is told to who would see the record as it stands', async () => {
      const sku = `taken ${id}`;
      await app.unguarded().rest('POST', '/products', { name: 'z', sku });
      expect(await update({ sku, _tags: { add: [tags.free] } }, ann)).toEqual([
        'CONFLICT',
        '#/sku NOT_UNIQUE',
      ]);
    });
  });

  test('a new record is seen by what it is linked to, and must be', async () => {
    const create = async (body: any, headers: any) => {
      const { status, body: told } = await app.rest('POST', '/products?include=tags', body, headers);
      return status === 201 ? told.tags.map((tag: any) => tag.id) : [told.code, told.errors?.[0].pointer];
    };
    expect(await create({ name: 'a', tagIds: [tags.closed, tags.free] }, ann)).toEqual([
      tags.free,
      tags.closed,
    ]);
    expect(await create({ name: 'a', tagIds: [tags.closed] }, ann)).toEqual(['FORBIDDEN', undefined]);
    expect(await create({ name: 'a' }, ann)).toEqual(['FORBIDDEN', undefined]);
    expect(await create({ name: 'a', tagIds: [tags.free, tags.frozen] }, ann)).toEqual([
      'FORBIDDEN',
      undefined,
    ]);
    expect(await create({ name: 'a', tagIds: [tags.free, tags.hidden] }, ann)).toEqual([
      'CONFLICT',
      '#/tagIds/1',
    ]);
    expect(await create({ name: 'a', tagIds: [tags.free] }, admin)).toEqual(['FORBIDDEN', '#/tagIds']);
    expect(await create({ name: 'a', tagIds: [tags.free], draftIds: [1] }, ann)).toEqual([
      'FORBIDDEN',
      undefined,
    ]);
    expect(await create({ name: 'a', sku: 'once', tagIds: [tags.free] }, ann)).toEqual([tags.free]);
    // Whether the link may be made hangs on other records too: until it is there, nobody can tell who would see the record.
    expect(await create({ name: 'a', sku: 'once', tagIds: [tags.free] }, ann)).toEqual([
      'FORBIDDEN',
      undefined,
    ]);
    expect(await create({ name: 'a', sku: 'once', tagIds: [tags.closed] }, ann)).toEqual([
      'FORBIDDEN',
      undefined,
    ]);
  });
});
