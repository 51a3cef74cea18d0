/** Functions that take part in writes: on every path each runs once per record, in order, and sees what came before it. */

import { beforeEach, describe, expect, test } from 'bun:test';
import { type AppUnderTest, type DatabaseKind, databases, openApp, openEmptied } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  type Project @resource {
    id: ID!
    name: String! @constraint(minLength: 1)
    counter: Int! @default(value: 0)
    slug: String! @readonly
    issues: [Issue!]!
    notes: [Note!]!
  }
  type Issue @resource @check(where: { weight: { lte: 100 } }, message: "Not too heavy.") {
    id: ID!
    title: String! @constraint(minLength: 1, maxLength: 20)
    weight: Int! @default(value: 1)
    code: String @unique
    number: Int! @readonly
    changes: Int! @readonly @default(value: 0)
    project: Project! @onDelete(do: CASCADE)
    parent: Issue @onDelete(do: SET_NULL)
  }
  type Tally @resource { id: ID!  n: Int!  changes: Int! @readonly @default(value: 0) }
  type Ticket @resource { id: ID!  number: Int! @readonly }
  type Seat @resource { id: ID!  name: String! @unique }
  type Note @resource { id: ID!  text: String!  project: Project @onDelete(do: SET_NULL) }
  type Wish @resource { id: ID!  projectId: Int! }
  type Mutation { report(projectId: ID!): Issue! @action }
`;

/** What the functions were called with, in order. */
let calls: string[] = [];

const logic = {
  Project: {
    beforeCreate({ input }: any) {
      calls.push(`create project ${input.name}`);
      return { ...input, slug: input.name.toLowerCase() };
    },
    *beforeDelete({ tx, record }: any): any {
      const issues = yield* tx.issues.list({ where: { projectId: { eq: record.id } } });
      calls.push(`delete project ${record.name} of ${issues.length}`);
    },
  },
  Issue: {
    *beforeCreate({ tx, input, refuse }: any): any {
      if (input.title === 'refused') throw refuse('Not this title.', 'title');
      if (input.title === 'whole') throw refuse('Not at all.');
      if (input.title === 'broken') throw new TypeError('a mistake of mine');
      const before = yield* tx.issues.list({ where: { projectId: { eq: input.projectId } } });
      calls.push(`create issue ${input.title} after ${before.map((each: any) => each.title).join('+')}`);
      const { counter } = yield* tx.system.projects.update(input.projectId, { _inc: { counter: 1 } });
      return { ...input, number: counter };
    },
    beforeUpdate({ input, record, refuse }: any) {
      if (input.title === 'refused') throw refuse('Not this title.', 'title');
      if (input.title === 'broken') throw new TypeError('a mistake of mine');
      calls.push(`update issue ${record.title} ${JSON.stringify(input)}`);
      return { ...input, changes: record.changes + 1 };
    },
    beforeDelete({ record, refuse }: any) {
      if (record.title === 'kept') throw refuse('This one stays.');
      calls.push(`delete issue ${record.title}`);
    },
  },
  Wish: {
    *beforeCreate({ tx, input }: any): any {
      yield* tx.issues.create({ title: 'a', projectId: input.projectId });
      calls.push('create wish');
    },
  },
  Mutation: {
    *report({ tx }: any, { projectId }: any): any {
      const { id } = yield* tx.issues.create({ title: 'a', projectId });
      return yield* tx.issues.update(id, { weight: 2 });
    },
  },
  Ticket: {
    *beforeCreate({ tx, input }: any): any {
      const [last] = yield* tx.tickets.aggregate({ max: ['number'] });
      return { ...input, number: (last.max.number ?? 0) + 1 };
    },
  },
  Seat: {
    *beforeCreate({ tx, input }: any): any {
      yield* tx.notes.create({ text: input.name });
    },
  },
  Tally: {
    // Without checks, an increment alone would be a single statement that reads nothing.
    beforeUpdate: ({ input, record }: any) => ({ ...input, changes: record.changes + input._inc.n }),
  },
  Note: {
    beforeUpdate({ input, record }: any) {
      calls.push(`update note ${record.text} ${JSON.stringify(input)}`);
    },
  },
};

const opened = new Map<DatabaseKind, Awaited<ReturnType<typeof openEmptied>>>();

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeEach(async () => {
    const emptied = opened.get(database) ?? (await openEmptied(database, { sdl, logic }));
    opened.set(database, emptied);
    app = await emptied.next();
    await app.rest('POST', '/projects', { name: 'P' });
    calls = [];
  });

  const project = async () => (await app.rest('GET', '/projects')).body[0];
  const issues = async () =>
    (await app.rest('GET', '/issues?fields=title,weight,number,changes')).body.map(
      ({ title, weight, number, changes }: any) => `${number}. ${title} ${weight} ${changes}`,
    );
  const sent = (method: string, path: string, body?: unknown) => app.rest(method, path, body);
  const told = (errors: any[] | undefined) => errors?.map(({ pointer, code }) => `${pointer} ${code}`);

  /** A write, and what the functions are to say of it. `P` is the project, `I` the issue that is there. */
  interface Row {
    readonly path: string;
    readonly rest: (p: number, i: number) => Promise<any>;
    readonly graphql: (p: number, i: number) => Promise<any>;
    readonly calls: readonly string[];
    readonly issues: readonly string[];
  }
  const rows: readonly Row[] = [
    {
      path: 'create',
      rest: (p) => sent('POST', '/issues', { title: 'a', projectId: p }),
      graphql: (p) => app.graphql(`mutation { createIssue(title: "a", projectId: ${p}) { id } }`),
      calls: ['create issue a after I'],
      issues: ['1. I 1 0', '2. a 1 0'],
    },
    {
      path: 'nested',
      rest: () =>
        sent('POST', '/projects', { name: 'Q', issues: [{ title: 'a' }, { title: 'b', weight: 2 }] }),
      graphql: () =>
        app.graphql(
          'mutation { createProject(name: "Q", issues: [{ title: "a" }, { title: "b", weight: 2 }]) { id } }',
        ),
      calls: ['create project Q', 'create issue a after ', 'create issue b after a'],
      issues: ['1. I 1 0', '1. a 1 0', '2. b 2 0'],
    },
    {
      path: 'bulk create',
      rest: (p) =>
        sent('POST', '/transaction', {
          operations: [
            {
              method: 'POST',
              path: '/issues',
              body: ['a', 'b', 'c'].map((title) => ({ title, projectId: p })),
            },
          ],
        }),
      graphql: (p) =>
        app.graphql(
          `mutation { createIssues(records: [${['a', 'b', 'c'].map((title) => `{ title: "${title}", projectId: ${p} }`)}]) { id } }`,
        ),
      calls: ['create issue a after I', 'create issue b after I+a', 'create issue c after I+a+b'],
      issues: ['1. I 1 0', '2. a 1 0', '3. b 1 0', '4. c 1 0'],
    },
    {
      path: 'update',
      rest: (_, i) => sent('PUT', `/issues/${i}`, { weight: 5 }),
      graphql: (_, i) => app.graphql(`mutation { updateIssue(id: ${i}, weight: 5) { id } }`),
      calls: ['update issue I {"weight":5}'],
      issues: ['1. I 5 1'],
    },
    {
      path: '_inc',
      rest: (_, i) => sent('PUT', `/issues/${i}`, { _inc: { weight: 5 } }),
      graphql: (_, i) => app.graphql(`mutation { updateIssue(id: ${i}, _inc: { weight: 5 }) { id } }`),
      calls: ['update issue I {"_inc":{"weight":5}}'],
      issues: ['1. I 6 1'],
    },
    {
      path: 'bulk update',
      rest: () =>
        sent('POST', '/transaction', {
          operations: [
            { method: 'PUT', path: '/issues', where: { weight: { eq: 1 } }, atMost: 5, body: { weight: 7 } },
          ],
        }),
      graphql: () =>
        app.graphql(
          'mutation { updateIssues(where: { weight: { eq: 1 } }, set: { weight: 7 }, atMost: 5) { id } }',
        ),
      calls: ['update issue I {"weight":7}'],
      issues: ['1. I 7 1'],
    },
    {
      path: 'upsert of what is new',
      rest: (p) => sent('POST', '/issues?upsert=code', { code: 'n', title: 'a', projectId: p }),
      graphql: (p) =>
        app.graphql(`mutation { upsertIssue(by: code, code: "n", title: "a", projectId: ${p}) { id } }`),
      calls: ['create issue a after I'],
      issues: ['1. I 1 0', '2. a 1 0'],
    },
    {
      path: 'upsert of what is there',
      rest: () => sent('POST', '/issues?upsert=code', { code: 'i', weight: 3 }),
      graphql: () => app.graphql('mutation { upsertIssue(by: code, code: "i", weight: 3) { id } }'),
      calls: ['update issue I {"weight":3,"code":"i"}'],
      issues: ['1. I 3 1'],
    },
    {
      path: 'transaction',
      rest: (p) =>
        sent('POST', '/transaction', {
          operations: [
            { method: 'POST', path: '/issues', body: { title: 'a', projectId: p } },
            { method: 'PUT', path: '/issues', where: { title: { eq: 'a' } }, atMost: 1, body: { weight: 2 } },
            { method: 'POST', path: '/issues', body: { title: 'b', projectId: p } },
          ],
        }),
      graphql: (p) =>
        app.graphql(
          `mutation @atomic { a: createIssue(title: "a", projectId: ${p}) { id }
            b: updateIssues(where: { title: { eq: "a" } }, set: { weight: 2 }, atMost: 1) { id }
            c: createIssue(title: "b", projectId: ${p}) { id } }`,
        ),
      calls: ['create issue a after I', 'update issue a {"weight":2}', 'create issue b after I+a'],
      issues: ['1. I 1 0', '2. a 2 1', '3. b 1 0'],
    },
    {
      path: 'delete',
      rest: (_, i) => sent('DELETE', `/issues/${i}`),
      graphql: (_, i) => app.graphql(`mutation { deleteIssue(id: ${i}) { id } }`),
      calls: ['delete issue I'],
      issues: [],
    },
    {
      path: 'cascade',
      rest: (p) => sent('DELETE', `/projects/${p}`),
      graphql: (p) => app.graphql(`mutation { deleteProject(id: ${p}) { id } }`),
      calls: ['delete project P of 1', 'delete issue I', 'update note N {"projectId":null}'],
      issues: [],
    },
    {
      path: 'bulk delete',
      rest: () =>
        sent('POST', '/transaction', {
          operations: [{ method: 'DELETE', path: '/issues', where: { weight: { eq: 1 } }, atMost: 5 }],
        }),
      graphql: () => app.graphql('mutation { deleteIssues(where: { weight: { eq: 1 } }, atMost: 5) { id } }'),
      calls: ['delete issue I'],
      issues: [],
    },
    {
      path: 'a write of another function',
      rest: (p) => sent('POST', '/wishes', { projectId: p }),
      graphql: (p) => app.graphql(`mutation { createWish(projectId: ${p}) { id } }`),
      calls: ['create issue a after I', 'create wish'],
      issues: ['1. I 1 0', '2. a 1 0'],
    },
    {
      path: 'an action',
      rest: (p) => sent('POST', '/actions/report', { projectId: p }),
      graphql: (p) => app.graphql(`mutation { report(projectId: ${p}) { id } }`),
      calls: ['create issue a after I', 'update issue a {"weight":2}'],
      issues: ['1. I 1 0', '2. a 2 1'],
    },
  ];

  describe.each(['rest', 'graphql'] as const)('through %s', (door) => {
    test.each([...rows])('$path', async (row) => {
      const { id: p } = await project();
      const { body } = await app.rest('POST', '/issues', { title: 'I', code: 'i', projectId: p });
      await app.rest('POST', '/notes', { text: 'N', projectId: p });
      calls = [];
      const answer = await row[door](p, body.id);
      expect({ errors: answer.errors, status: answer.status }).toMatchObject({ errors: undefined });
      expect(answer.status).toBeLessThan(300);
      expect(calls).toEqual([...row.calls]);
      expect(await issues()).toEqual([...row.issues]);
    });

    const create = async (title: string, p: number) => {
      const answer =
        door === 'rest'
          ? (await sent('POST', '/issues', { title, projectId: p })).body
          : (await app.graphql(`mutation { createIssue(title: "${title}", projectId: ${p}) { id } }`))
              .errors?.[0].extensions;
      return { code: answer.code, faults: told(answer.errors) };
    };

    test('a refusal stands at its field, and leaves nothing behind', async () => {
      const { id } = await project();
      const code = 'VALIDATION_FAILED';
      expect(await create('refused', id)).toEqual({ code, faults: ['#/title REFUSED'] });
      expect(await create('whole', id)).toEqual({ code, faults: ['# REFUSED'] });
      expect(await issues()).toEqual([]);
      expect(await project()).toMatchObject({ counter: 0 });
    });

    test('any other error is not for the client, and leaves nothing behind', async () => {
      const { id } = await project();
      app.observations.length = 0;
      expect(await create('broken', id)).toEqual({ code: 'INTERNAL', faults: undefined });
      expect(app.observations).toContainEqual(
        expect.objectContaining({
          event: 'failure',
          cause: expect.objectContaining({ message: 'a mistake of mine' }),
        }),
      );
      expect(await issues()).toEqual([]);
    });

    test('what the client gives is held against the schema before a function sees it, and the whole record after', async () => {
      const { id } = await project();
      expect(await create('', id)).toEqual({ code: 'VALIDATION_FAILED', faults: ['#/title LENGTH'] });
      expect(calls).toEqual([]);
      // The function is not asked to forgive what breaks a rule of the whole record.
      const heavy = { title: 'a', projectId: id, weight: 101 };
      const answer =
        door === 'rest'
          ? (await sent('POST', '/issues', heavy)).body
          : (await app.graphql(`mutation { createIssue(title: "a", projectId: ${id}, weight: 101) { id } }`))
              .errors?.[0].extensions;
      expect(told(answer.errors)).toEqual(['# CHECK_FAILED']);
      expect(calls).toEqual(['create issue a after ']);
      expect(await project()).toMatchObject({ counter: 0 });
    });

    test('in the middle of a bulk write and of a transaction', async () => {
      const { id } = await project();
      const records = ['a', 'refused', 'c'].map((title) => ({ title, projectId: id }));
      const many =
        door === 'rest'
          ? (
              await sent('POST', '/transaction', {
                operations: [{ method: 'POST', path: '/issues', body: records }],
              })
            ).body
          : (
              await app.graphql(
                `mutation($records: [IssueInput!]!) { createIssues(records: $records) { id } }`,
                {
                  records,
                },
              )
            ).errors?.[0].extensions;
      const at = door === 'rest' ? '#/operations/0/body/1/title' : '#/1/title';
      expect(told(many.errors)).toEqual([`${at} REFUSED`]);
      const several =
        door === 'rest'
          ? (
              await sent('POST', '/transaction', {
                operations: records.map((body) => ({ method: 'POST', path: '/issues', body })),
              })
            ).body
          : (
              await app.graphql(
                `mutation @atomic { ${records.map(({ title }, at) => `m${at}: createIssue(title: "${title}", projectId: ${id}) { id }`).join(' ')} }`,
              )
            ).errors?.[0].extensions;
      expect(told(several.errors)).toEqual([
        door === 'rest' ? '#/operations/1/body/title REFUSED' : '#/title REFUSED',
      ]);
      expect(await issues()).toEqual([]);
      expect(await project()).toMatchObject({ counter: 0 });
    });

    test('a nested record that is refused is told where it stands', async () => {
      const records = [{ title: 'a' }, { title: 'refused' }];
      const answer =
        door === 'rest'
          ? (await sent('POST', '/projects', { name: 'Q', issues: records })).body
          : (
              await app.graphql(
                'mutation { createProject(name: "Q", issues: [{ title: "a" }, { title: "refused" }]) { id } }',
              )
            ).errors?.[0].extensions;
      expect(told(answer.errors)).toEqual(['#/issues/1/title REFUSED']);
      expect((await app.rest('GET', '/projects')).body).toHaveLength(1);
    });

    test('a cascade that is refused deletes nothing', async () => {
      const { id } = await project();
      for (const title of ['a', 'kept']) await app.rest('POST', '/issues', { title, projectId: id });
      const answer =
        door === 'rest'
          ? (await sent('DELETE', `/projects/${id}`)).body
          : (await app.graphql(`mutation { deleteProject(id: ${id}) { id } }`)).errors?.[0].extensions;
      expect(told(answer.errors)).toEqual(['# REFUSED']);
      expect(await issues()).toEqual(['1. a 1 0', '2. kept 1 0']);
    });
  });

  test('an increment that needs nothing else runs the function too', async () => {
    const { body } = await app.rest('POST', '/tallies', { n: 1 });
    const answer = await app.rest('PUT', `/tallies/${body.id}`, { _inc: { n: 3 } });
    expect(answer.body).toMatchObject({ n: 4, changes: 3 });
    const { data } = await app.graphql(
      `mutation { updateTally(id: ${body.id}, _inc: { n: 2 }) { n changes } }`,
    );
    expect(data.updateTally).toEqual({ n: 6, changes: 5 });
  });

  test('clients cannot give what a function sets', async () => {
    const { body } = await app.rest('POST', '/projects', { name: 'Q', slug: 'mine' });
    expect(told(body.errors)).toEqual(['#/slug READ_ONLY']);
    expect((await app.rest('POST', '/projects', { name: 'Qx' })).body).toMatchObject({ slug: 'qx' });
  });

  test('what a function has written goes with the record that was not', async () => {
    expect((await app.rest('POST', '/seats', { name: 'a' })).status).toBe(201);
    const { body } = await app.rest('POST', '/seats', { name: 'a' });
    expect(told(body.errors)).toEqual(['#/name NOT_UNIQUE']);
    expect((await app.rest('GET', '/notes')).body).toHaveLength(1);
  });

  test('functions that look and then write, side by side, are run one after the other', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => app.rest('POST', '/tickets', {})));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    expect(answers.map(({ body }) => body.number).sort()).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test('records that are created side by side each have a number of their own', async () => {
    const { id } = await project();
    const titles = Array.from({ length: 8 }, (_, index) => `t${index}`);
    const answers = await Promise.all(
      titles.map((title) => app.rest('POST', '/issues', { title, projectId: id })),
    );
    expect(answers.map(({ status }) => status)).toEqual(titles.map(() => 201));
    expect(answers.map(({ body }) => body.number).sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });
});

/** A deployment for what a function may do, and what becomes of it when it does what it may not. */
const shop = `
  type Item @resource @allow(to: [READ]) @allow(to: [UPDATE], role: "keeper") {
    id: ID!
    name: String! @unique
    price: Decimal! @decimal(scale: 2)
    quantity: Int! @constraint(min: 0)
  }
  type Order @resource @allow(to: [READ, CREATE, UPDATE, DELETE]) {
    id: ID!
    item: Item!
    quantity: Int! @constraint(min: 1)
    how: String
    credit: Int @constraint(min: 0) @allow(to: [READ], role: "keeper")
    price: Decimal! @readonly @decimal(scale: 2)
    buyer: String! @set(claim: "name")
  }
  type Loop @resource @allow(to: [READ, CREATE]) { id: ID!  depth: Int! }
`;

const shopLogic = {
  Order: {
    *beforeCreate({ tx, input, caller, refuse }: any): any {
      const item = yield* tx.items.get(input.itemId);
      if (!item) throw refuse('There is no such item.', 'itemId');
      if (input.how === 'as the caller') yield* tx.items.update(item.id, { quantity: 0 });
      else if (input.how === 'caught') {
        try {
          yield* tx.system.items.update(item.id, { name: 'taken' });
        } catch {}
      } else if (input.how === 'missing') {
        try {
          yield* tx.system.items.delete(999);
        } catch {}
      } else if (input.how === 'no star') yield tx.items.get(1);
      else if (input.how === 'in place') input.quantity = 7;
      else if (input.how === 'unknown') return { ...input, prize: '1' };
      else if (input.how === 'left out') return input;
      else if (input.how === 'collides')
        yield* tx.system.items.create({ name: 'taken', price: '1', quantity: 1 });
      else if (input.how === 'sums') {
        const [all] = yield* tx.items.aggregate({ count: true, sum: ['quantity'] });
        const first = yield* tx.items.list({
          where: { quantity: { gt: 0 } },
          orderBy: [{ name: 'DESC' }],
          first: 1,
        });
        return { ...input, price: `${all.sum.quantity}`, buyer: `${all.count} ${first[0].name}` };
      } else if (input.how === 'upserts') {
        yield* tx.system.items.upsert('name', { name: 'spoon', quantity: 9 });
        yield* tx.system.items.upsert(['name'], { name: 'knife', price: '3', quantity: 1 });
      } else yield* tx.system.items.update(item, { _inc: { quantity: -input.quantity } });
      return { ...input, price: item.price, ...(caller.claims.name === undefined && { buyer: 'somebody' }) };
    },
    *beforeUpdate({ tx, record, input }: any): any {
      // Another change of the same record, which is not to be lost, nor to be a conflict.
      if (input.how === 'pays') return { ...input, _inc: { credit: -1000 } };
      if (input.how === 'again') yield* tx.system.orders.update(record.id, { price: '77' });
    },
  },
  Loop: {
    *beforeCreate({ tx, input }: any): any {
      if (input.depth > 1) yield* tx.system.loops.create({ depth: input.depth - 1 });
    },
  },
};

const ann = await headersOf({ name: 'hooks ann', claims: { sub: 'ann', name: 'Ann' } });
const keeper = await headersOf({
  name: 'hooks keeper',
  claims: { sub: 'kim', name: 'Kim', roles: ['keeper'] },
});
const shops = new Map<DatabaseKind, Awaited<ReturnType<typeof openEmptied>>>();

describe.each([...databases])('what a function may do, on %s', (database) => {
  let app: AppUnderTest;
  let spoon: number;
  beforeEach(async () => {
    const env = { AUTH_SECRET: SECRET };
    const emptied =
      shops.get(database) ?? (await openEmptied(database, { sdl: shop, logic: shopLogic, env }));
    shops.set(database, emptied);
    app = await emptied.next();
    const open = app.unguarded();
    spoon = (await open.rest('POST', '/items', { name: 'spoon', price: '2.50', quantity: 10 })).body.id;
    await open.rest('POST', '/items', { name: 'taken', price: '1', quantity: 10 });
  });
  const order = async (how: string | null, quantity = 1) => {
    app.observations.length = 0;
    const { status, body } = await app.rest('POST', '/orders', { itemId: spoon, quantity, how }, ann);
    const failed = app.observations.find(({ event }) => event === 'failure') as any;
    return { status, body, cause: failed?.cause.message as string | undefined };
  };
  const items = async () =>
    (await app.rest('GET', '/items')).body.map(({ name, quantity }: any) => `${name} ${quantity}`);

  test('it reads and writes in the transaction, and sets what clients cannot', async () => {
    expect((await order(null, 3)).body).toMatchObject({ price: '2.50', buyer: 'Ann' });
    expect(await items()).toEqual(['spoon 7', 'taken 10']);
  });

  test('a claim that nobody has can be set by it', async () => {
    const { status, body } = await app.rest('POST', '/orders', { itemId: spoon, quantity: 1 });
    expect([status, body.buyer]).toEqual([201, 'somebody']);
  });

  test('it aggregates, lists and upserts', async () => {
    expect((await order('sums')).body).toMatchObject({ price: '20.00', buyer: '2 taken' });
    expect((await order('upserts')).status).toBe(201);
    expect(await items()).toEqual(['spoon 9', 'taken 10', 'knife 1']);
  });

  test('a refusal by what it asked is told at the field', async () => {
    const { body } = await app.rest('POST', '/orders', { itemId: 999, quantity: 1 }, ann);
    expect(body).toMatchObject({
      code: 'VALIDATION_FAILED',
      errors: [{ pointer: '#/itemId', code: 'REFUSED' }],
    });
  });

  test('tx has the rights of the caller', async () => {
    expect((await order('as the caller')).body).toMatchObject({ code: 'FORBIDDEN' });
    const { status } = await app.rest(
      'POST',
      '/orders',
      { itemId: spoon, quantity: 1, how: 'as the caller' },
      keeper,
    );
    expect(status).toBe(201);
    expect(await items()).toEqual(['spoon 0', 'taken 10']);
  });

  test('what a function adds to is told to those who may read it, and to others neither its value nor whether it has one', async () => {
    const { id } = (await order(null)).body;
    const pay = async (headers: Record<string, string>) => {
      const rest = await app.rest('PUT', `/orders/${id}`, { how: 'pays' }, headers);
      const { errors } = await app.graphql(
        `mutation { updateOrder(id: ${id}, how: "pays") { id } }`,
        {},
        headers,
      );
      const { code, errors: faults } = errors?.[0].extensions ?? {};
      expect([rest.body.code, rest.body.errors]).toEqual([code, faults]);
      return [rest.status, faults[0].detail.replaceAll(id, 'n')];
    };
    const hidden = [409, 'credit does not admit what is added to it in order n'];
    expect(await pay(ann)).toEqual(hidden);
    expect(await pay(keeper)).toEqual([409, 'credit has no value to add to in order n']);
    await app.unguarded().rest('PUT', `/orders/${id}`, { credit: 777 });
    expect(await pay(ann)).toEqual(hidden);
    expect(await pay(keeper)).toEqual([409, expect.stringContaining('-223')]);
  });

  test('what another record cannot take is a conflict, and nothing has happened', async () => {
    const { body } = await order(null, 11);
    expect(body).toMatchObject({ code: 'CONFLICT', errors: [{ pointer: '#', code: 'OUT_OF_RANGE' }] });
    const collided = await order('collides');
    expect(collided.body).toMatchObject({ code: 'CONFLICT', errors: [{ pointer: '#', code: 'NOT_UNIQUE' }] });
    expect(await items()).toEqual(['spoon 10', 'taken 10']);
  });

  test('who catches the error of a write that failed cannot go on, on either database', async () => {
    expect((await order('caught')).body).toMatchObject({ code: 'CONFLICT' });
    expect((await order('missing')).status).toBe(201);
    expect(await items()).toEqual(['spoon 10', 'taken 10']);
  });

  test.each([
    ['no star', /yield\* tx/],
    ['in place', /readonly/],
    ['unknown', /gave back "prize", which it cannot set. Did you mean "price"/],
    ['left out', /left "price" without a value/],
  ] as const)('a mistake is told in the log: %s', async (how, why) => {
    const { body, cause } = await order(how);
    expect(body).toMatchObject({ code: 'INTERNAL' });
    expect(cause).toMatch(why);
    expect((await app.rest('GET', '/orders')).body).toEqual([]);
  });

  test('functions that lead to each other without end are stopped, with their path', async () => {
    expect((await app.rest('POST', '/loops', { depth: 8 })).status).toBe(201);
    expect((await app.rest('GET', '/loops')).body).toHaveLength(8);
    app.observations.length = 0;
    expect((await app.rest('POST', '/loops', { depth: 9 })).body).toMatchObject({ code: 'INTERNAL' });
    const failed = app.observations.find(({ event }) => event === 'failure') as any;
    expect(failed.cause.message).toMatch(/more than 8 deep: Loop.beforeCreate → Loop.beforeCreate → /);
    expect((await app.rest('GET', '/loops')).body).toHaveLength(8);
  });

  test('a record that its own function has changed is no conflict of the update', async () => {
    const { body } = await order(null);
    const { headers } = await app.rest('GET', `/orders/${body.id}`, undefined, ann);
    const sent = { ...ann, 'If-Match': headers.get('ETag') ?? '' };
    const answer = await app.rest('PUT', `/orders/${body.id}`, { how: 'again' }, sent);
    expect([answer.status, answer.body.price, answer.body.how]).toEqual([200, '77.00', 'again']);
  });
});

test('a type without functions is written as if there were none', async () => {
  const two =
    'type Plain @resource { id: ID!  text: String! } type Other @resource { id: ID!  text: String! }';
  const other = { Other: { *beforeCreate(): any {}, *beforeUpdate(): any {}, *beforeDelete(): any {} } };
  const statements = [];
  for (const given of [{}, { logic: other }]) {
    const app = await openApp('sqlite', { sdl: two, ...given });
    await app.rest('POST', '/plains', { text: 'a' });
    await app.rest('PUT', '/plains/1', { text: 'b' });
    await app.rest('DELETE', '/plains/1');
    statements.push([...app.statements]);
    await app.close();
  }
  expect(statements[1]).toEqual(statements[0] ?? []);
});

test('a plain function that gives back a generator is a mistake: what it asks would race others, and not be undone', async () => {
  const sdl = 'type Note @resource { id: ID!  text: String! }';
  const copied = function* ({ tx, input }: any): any {
    if (input.text === 'a') yield* tx.notes.create({ text: 'copy' });
  };
  const app = await openApp('sqlite', {
    sdl,
    logic: { Note: { beforeCreate: (given: any) => copied(given) } },
  });
  expect((await app.rest('POST', '/notes', { text: 'a' })).body).toMatchObject({ code: 'INTERNAL' });
  const failed = app.observations.find(({ event }) => event === 'failure') as any;
  expect(failed.cause.message).toBe(
    'Note.beforeCreate gave back a generator, and is none itself. Write *beforeCreate({ tx }) { … }',
  );
  expect((await app.rest('GET', '/notes')).body).toEqual([]);
  await app.close();
});

test('a function that keeps others waiting is told of in the log, by its name', async () => {
  const sdl = 'type Slow @resource { id: ID!  ms: Int! }';
  const busy = (ms: number) => {
    for (const end = performance.now() + ms; performance.now() < end; );
  };
  const app = await openApp('sqlite', {
    sdl,
    logic: {
      Slow: {
        *beforeCreate({ tx, input }: any): any {
          busy(input.ms / 2);
          yield* tx.slows.list();
          busy(input.ms / 2);
        },
      },
    },
  });
  await app.rest('POST', '/slows', { ms: 120 });
  const told = app.observations.flatMap((each) => (each.event === 'notice' ? [each.message] : []));
  expect(told).toEqual([expect.stringMatching(/^Slow\.beforeCreate took \d+ ms of its own/)]);
  await app.close();
});

/** The function may fill it; where it does not, a token is what is missing, and no mistake of the function. */
test.each([...databases])(
  'a claim that is missing is told where a function leaves it, on %s',
  async (database) => {
    const sdl = `
    type Team @resource @allow(to: [READ, CREATE]) { id: ID!  notes: [Note!]! }
    type Note @resource @allow(to: [READ, CREATE]) { id: ID!  text: String!  by: String! @set(claim: "team")  team: Team }`;
    const given: Record<string, object> = { filled: { by: 'x' }, emptied: { by: null } };
    const logic = { Note: { beforeCreate: ({ input }: any) => ({ ...input, ...given[input.text] }) } };
    const app = await openApp(database, { sdl, logic, env: { AUTH_SECRET: SECRET } });
    const callers: [string, Record<string, string>][] = [
      ['UNAUTHENTICATED', {}],
      ['FORBIDDEN', await headersOf({ name: 'hooks without a team', claims: { sub: 'ann' } })],
    ];
    for (const [code, headers] of callers) {
      const alone = await app.rest('POST', '/notes', { text: 'plain' }, headers);
      const nested = await app.rest('POST', '/teams', { notes: [{ text: 'plain' }] }, headers);
      const { errors } = await app.graphql('mutation { createNote(text: "plain") { id } }', {}, headers);
      expect([alone.body.code, nested.body.code, errors?.[0].extensions.code]).toEqual([code, code, code]);
      expect((await app.rest('POST', '/notes', { text: 'filled' }, headers)).body.by).toBe('x');
    }
    // What a function takes away is its own mistake.
    const member = await headersOf({ name: 'hooks with a team', claims: { sub: 'ann', team: 'a' } });
    expect((await app.rest('POST', '/notes', { text: 'plain' }, member)).body.by).toBe('a');
    expect((await app.rest('POST', '/notes', { text: 'emptied' }, member)).body.code).toBe('INTERNAL');
    await app.close();
  },
);
