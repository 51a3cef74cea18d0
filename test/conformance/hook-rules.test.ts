/** Functions that write other records in the middle of a bulk write: each record is held against the rules as it is by then. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openEmptied } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  type Task @resource
    @allow(to: [READ], where: { hidden: { eq: false } })
    @allow(to: [CREATE, UPDATE, DELETE], where: { owner: { eq: { claim: "sub" } } })
  { id: ID!  owner: String!  name: String!  note: String  hidden: Boolean! @default(value: false) }`;

const others = (record: any) => ({ where: { id: { ne: String(record.id) } } });

const logic = {
  Task: {
    *beforeCreate({ tx, input }: any): any {
      if (input.name !== 'e') return;
      const [before] = yield* tx.system.tasks.list({ where: { name: { eq: 'd' } } });
      yield* tx.system.tasks.update(before.id, { note: 'by e' });
    },
    *beforeUpdate({ tx, input, record }: any): any {
      if (input.name === 'given away' && record.name === 'a')
        for (const each of yield* tx.system.tasks.list(others(record)))
          yield* tx.system.tasks.update(each.id, { owner: 'bob' });
      if (input.name === 'hidden' && record.name === 'a') yield* tx.system.tasks.update(2, { hidden: true });
      if (input.name === 'noted' && record.name === 'c') yield* tx.system.tasks.update(1, { note: 'by c' });
      if (input.name === 'own') yield* tx.system.tasks.update(record.id, { owner: 'bob' });
    },
    *beforeDelete({ tx, record }: any): any {
      if (record.note === 'given away')
        for (const each of yield* tx.system.tasks.list(others(record)))
          yield* tx.system.tasks.update(each.id, { owner: 'bob' });
      if (record.note === 'hidden') yield* tx.system.tasks.update(2, { hidden: true });
      if (record.note === 'closed') yield* tx.system.tasks.update(record.id, { owner: 'nobody' });
    },
  },
};

const ann = await headersOf({ name: 'hook rules ann', claims: { sub: 'ann' } });

describe.each([...databases])('on %s', (database) => {
  let emptied: Awaited<ReturnType<typeof openEmptied>>;
  let app: AppUnderTest;
  beforeAll(async () => {
    emptied = await openEmptied(database, { sdl, logic, env: { AUTH_SECRET: SECRET } });
  });
  afterAll(() => emptied[Symbol.asyncDispose]());
  beforeEach(async () => {
    app = await emptied.next();
    for (const name of ['a', 'b', 'c']) await app.unguarded().rest('POST', '/tasks', { owner: 'ann', name });
  });

  const stored = async () =>
    (await app.unguarded().rest('GET', '/tasks?sort=id')).body.map(
      ({ owner, name, note }: any) => `${owner} ${name} ${note}`,
    );
  const before = ['ann a null', 'ann b null', 'ann c null'];
  /** What is told, or what is answered. */
  const updated = {
    async rest(name: string) {
      const path = '/tasks?fields=owner,name,note';
      const operations = [{ method: 'PUT', path, where: {}, atMost: 9, body: { name } }];
      const { body } = await app.rest('POST', '/transaction', { operations }, ann);
      return body.code ?? body.results[0].body;
    },
    async graphql(name: string) {
      const document = `mutation { it: updateTasks(where: {}, set: { name: "${name}" }, atMost: 9) { owner name note } }`;
      const { data, errors } = await app.graphql(document, {}, ann);
      return errors?.[0].extensions.code ?? data.it;
    },
  };
  const created = {
    async rest() {
      const body = ['d', 'e'].map((name) => ({ owner: 'ann', name }));
      const operations = [{ method: 'POST', path: '/tasks?fields=name,note', body }];
      return (await app.rest('POST', '/transaction', { operations }, ann)).body.results[0].body;
    },
    async graphql() {
      const records = '[{ owner: "ann", name: "d" }, { owner: "ann", name: "e" }]';
      const document = `mutation { it: createTasks(records: ${records}) { name note } }`;
      return (await app.graphql(document, {}, ann)).data.it;
    },
  };
  const deleted = {
    async rest() {
      const operations = [{ method: 'DELETE', path: '/tasks?fields=name', where: {}, atMost: 9 }];
      const { body } = await app.rest('POST', '/transaction', { operations }, ann);
      return body.code ?? body.results[0].body;
    },
    async graphql() {
      const { data, errors } = await app.graphql(
        'mutation { it: deleteTasks(where: {}, atMost: 9) { name } }',
        {},
        ann,
      );
      return errors?.[0].extensions.code ?? data.it;
    },
  };
  const doors = ['rest', 'graphql'] as const;

  describe.each(doors)('through %s', (door) => {
    test('a record that was given away or hidden meanwhile is not changed any more, as no single write would change it', async () => {
      for (const name of ['given away', 'hidden'])
        expect([name, await updated[door](name)]).toEqual([name, 'FORBIDDEN']);
      expect(await stored()).toEqual(before);
    });

    test('the answer shows what is stored in the end', async () => {
      const shown = { owner: 'ann', name: 'noted', note: null };
      expect(await updated[door]('noted')).toEqual([{ ...shown, note: 'by c' }, shown, shown]);
      expect(await created[door]()).toEqual([
        { name: 'd', note: 'by e' },
        { name: 'e', note: null },
      ]);
    });

    test('nor is one deleted that was given away or hidden meanwhile; what its own function does to a record is no matter', async () => {
      const open = app.unguarded();
      for (const note of ['given away', 'hidden']) {
        await open.rest('PUT', '/tasks/1', { note });
        expect([note, await deleted[door]()]).toEqual([note, 'FORBIDDEN']);
        expect(await stored()).toEqual([`ann a ${note}`, ...before.slice(1)]);
      }
      for (const id of [1, 2]) await open.rest('PUT', `/tasks/${id}`, { note: 'closed' });
      expect(await deleted[door]()).toEqual([{ name: 'a' }, { name: 'b' }, { name: 'c' }]);
      expect(await stored()).toEqual([]);
    });
  });

  test('what a function makes of the record itself is held against the rules, alone and among many', async () => {
    const { body } = await app.rest('PUT', '/tasks/1', { name: 'own' }, ann);
    expect(body).toMatchObject({ code: 'FORBIDDEN' });
    for (const door of doors) expect(await updated[door]('own')).toBe('FORBIDDEN');
    expect(await stored()).toEqual(before);
  });
});
