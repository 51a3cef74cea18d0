/** Tables that refuse what a node's file allows: a newer file was applied, or somebody else has rules of their own. */

import { describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases } from '../app.ts';
import { Deployment } from './deployment.ts';

const A = (fields: string) => `type A @resource { id: ID! ${fields} }`;
const create = 'mutation ($n: Int) { createA(n: $n) { id } }';

/** The code of an answer by each way to write: REST, GraphQL, a transaction, an atomic mutation. */
async function codes(app: AppUnderTest, n: number | null): Promise<unknown[]> {
  const operations = [{ method: 'POST', path: '/as', body: { n } }];
  const answers = [
    await app.rest('POST', '/as', { n }),
    await app.graphql(create, { n }),
    await app.rest('POST', '/transaction', { operations }),
    await app.graphql(create.replace('{', '@atomic {'), { n }),
  ];
  return answers.map(({ status, body }) => [status, body.code ?? body.errors?.[0].extensions.code]);
}

const refused = (code: string, status: number) => [
  [status, code],
  [200, code],
  [status, code],
  [200, code],
];

describe.each([...databases])('on %s', (kind) => {
  test('what a newer file requires is named', async () => {
    await using deployment = await Deployment.create(kind);
    const old = await deployment.app(A('n: Int'));
    await deployment.evolve(A('n: Int! m: Int! @column(name: "em")'));
    expect(await codes(old, null)).toEqual(refused('CONFLICT', 409));
    const { body } = await old.rest('POST', '/transaction', {
      operations: [{ method: 'POST', path: '/as', body: {} }],
    });
    const detail = 'n is required by a newer schema than that of this node';
    expect(body).toMatchObject({
      operation: 0,
      errors: [{ pointer: '#/operations/0/body/n', code: 'REQUIRED', detail }],
    });
    // A field that this node's file does not have at all.
    expect((await old.rest('POST', '/as', { n: 1 })).body.detail).toBe(
      'em is required by a newer schema than that of this node. Give it a value, or send the request to a node of the newer schema.',
    );
    expect((await old.rest('GET', '/as')).body).toEqual([]);
    expect((await old.rest('GET', '/readyz')).status).toBe(200);
    await old.close();
  });

  test('what a newer file has dropped is told, and the node is not ready', async () => {
    await using deployment = await Deployment.create(kind);
    const before = `${A('n: Int s: String')} type B @resource { id: ID! }`;
    const later = A('n: Int');
    await deployment.evolve(before, { as: [{ n: 1, s: 'x' }], bs: [{}] });
    const old = await deployment.app(before);
    expect((await old.rest('GET', '/as/1')).body).toEqual({ id: 1, n: 1, s: 'x' });
    await old.graphql('{ as { id n s } bs { id } }');
    await deployment.evolve(later);
    expect((await old.rest('GET', '/readyz')).status).toBe(200);
    await deployment.prune(later, ['A.s', 'B']);
    const outdated = (answer: { status: number; body: any }) => [answer.status, answer.body.code];
    for (const path of ['/as', '/as/1', '/as?fields=s', '/as?s=x', '/bs', '/bs/1', '/readyz'])
      expect([path, ...outdated(await old.rest('GET', path))]).toEqual([path, 503, 'SCHEMA_OUTDATED']);
    for (const query of [
      '{ as { s } }',
      '{ a(id: 1) { n s } }',
      '{ as(where: { s: { eq: "x" } }) { id } }',
      '{ bs { id } }',
    ])
      expect((await old.graphql(query)).errors).toMatchObject([{ extensions: { code: 'SCHEMA_OUTDATED' } }]);
    expect(await codes(old, 1)).toEqual(refused('SCHEMA_OUTDATED', 503));
    expect(outdated(await old.rest('PUT', '/as/1', { n: 2 }))).toEqual([503, 'SCHEMA_OUTDATED']);
    for (const many of [
      { method: 'DELETE', path: '/bs', where: {} },
      { method: 'PUT', path: '/as', where: { s: { eq: 'x' } }, body: { n: 2 } },
    ])
      expect(
        outdated(await old.rest('POST', '/transaction', { operations: [{ ...many, atMost: 9 }] })),
      ).toEqual([503, 'SCHEMA_OUTDATED']);
    await old.close();
    expect(await deployment.records(later)).toEqual({ as: [{ id: 1, n: 1 }] });
  });

  const rules: Record<typeof kind, [string, string][]> = {
    sqlite: [
      ['a CHECK', 'ALTER TABLE "A" ADD COLUMN "secret" INTEGER CHECK (n < 5)'],
      [
        'a trigger',
        `CREATE TRIGGER t BEFORE INSERT ON "A" WHEN NEW.n > 4 BEGIN SELECT RAISE(ABORT, 'secret'); END`,
      ],
    ],
    postgres: [
      ['a CHECK', 'ALTER TABLE "A" ADD CONSTRAINT secret CHECK (n < 5)'],
      [
        'an exclusion',
        'ALTER TABLE "A" ADD CONSTRAINT secret EXCLUDE USING btree ((n > 4) WITH =) WHERE (n > 4)',
      ],
      ['a trigger', raising("RAISE EXCEPTION 'secret'")],
      [
        'a trigger at the commit',
        raising("RAISE EXCEPTION 'secret'").replace(
          'TRIGGER t BEFORE INSERT ON "A"',
          'CONSTRAINT TRIGGER t AFTER INSERT ON "A" DEFERRABLE INITIALLY DEFERRED',
        ),
      ],
      // Whatever they mean where Duet's own statements end so, or a connection.
      ...['U1234', '0A000', '22012', '22003', '2201E', '2201F', '2200H', '42P01', '57P01', '08006'].map(
        (state): [string, string] => [
          `a trigger with state ${state}`,
          raising(`RAISE EXCEPTION 'secret' USING ERRCODE = '${state}'`),
        ],
      ),
      ['a trigger that leaves the row out', raising('RETURN NULL')],
      ['a trigger that asserts', raising("ASSERT false, 'secret'")],
      ['a trigger with a fault', raising("NEW.n = 'secret'::int")],
    ],
  };
  test.each(rules[kind])(
    '%s that somebody else made is a conflict, with its cause in the log',
    async (name, sql) => {
      await using deployment = await Deployment.create(kind);
      const app = await deployment.app(A('n: Int'));
      await deployment.sql(sql);
      if (name === 'an exclusion') await deployment.sql('INSERT INTO "A" (n, _version) VALUES (9, 1)');
      const before = app.observations.length;
      expect(await codes(app, 5)).toEqual(refused('CONFLICT', 409));
      const { body } = await app.rest('POST', '/as', { n: 5 });
      expect(JSON.stringify(body)).not.toContain('secret');
      const causes = app.observations
        .slice(before)
        .flatMap((each) => (each.event === 'failure' ? [each.cause as Error] : []));
      expect(causes).toHaveLength(5);
      for (const { cause } of causes) expect(String(cause)).toMatch(/secret|CHECK|answered no row/);
      expect((await app.rest('POST', '/as', { n: 4 })).status).toBe(201);
      await app.close();
    },
  );
});

describe.each([...databases])('on %s, a trigger that leaves out', (kind) => {
  const leaving = (what: 'INSERT' | 'UPDATE' | 'DELETE', table: string) =>
    kind === 'sqlite'
      ? `CREATE TRIGGER t_${table} BEFORE ${what} ON "${table}" BEGIN SELECT RAISE(IGNORE); END`
      : `CREATE FUNCTION leave_${table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
         CREATE TRIGGER t BEFORE ${what} ON "${table}" FOR EACH ROW EXECUTE FUNCTION leave_${table}()`;
  const open = async (deployment: Deployment) => {
    const app = await deployment.app(`
      type A @resource { id: ID! n: Int s: String @unique }
      type J @resource @journal(keep: "1d") { id: ID! n: Int }
      type P @resource { id: ID! cs: [C!]! }
      type C @resource { id: ID! p: P! @onDelete(do: CASCADE) }
      type N @resource { code: ID! @key n: Int }`);
    for (const [path, record] of [
      ['/as', { n: 1, s: 'x' }],
      ['/js', { n: 1 }],
      ['/ps', {}],
      ['/cs', { pId: 1 }],
      ['/ns', { code: 'k' }],
    ] as const)
      expect((await app.rest('POST', path, record)).status).toBe(201);
    return app;
  };
  const told = async (ways: Record<string, () => Promise<{ body?: any; errors?: any }>>) => {
    for (const [way, send] of Object.entries(ways)) {
      const { body, errors } = await send();
      expect([way, body?.code ?? errors?.[0].extensions?.code ?? body]).toEqual([way, 'CONFLICT']);
    }
  };

  test('a create is a conflict, and nothing has come', async () => {
    await using deployment = await Deployment.create(kind);
    const app = await open(deployment);
    for (const table of ['A', 'J', 'C', 'N']) await deployment.sql(leaving('INSERT', table));
    const lists = async () =>
      Promise.all(
        ['/as', '/js', '/ps', '/cs', '/ns'].map(async (path) => (await app.rest('GET', path)).body),
      );
    const before = await lists();
    const many = (path: string, ...body: object[]) =>
      app.rest('POST', '/transaction', { operations: [{ method: 'POST', path, body }] });
    await told({
      alone: () => app.rest('POST', '/as', { n: 2 }),
      'under a key': () => app.rest('POST', '/as', { n: 2 }, { 'Idempotency-Key': 'k' }),
      noted: () => app.rest('POST', '/js', { n: 2 }),
      'what refers to another': () => app.rest('POST', '/cs', { pId: 1 }),
      nested: () => app.rest('POST', '/ps', { cs: [{}] }),
      'a natural key': () => app.rest('POST', '/ns', { code: 'new' }),
      upsert: () => app.rest('POST', '/ns?upsert=code', { code: 'new' }),
      'by GraphQL': () => app.graphql('mutation { createA(n: 2) { id } }'),
      many: () => many('/as', { n: 2 }, { n: 3 }),
    });
    expect(await lists()).toEqual(before);
    await app.close();
  });

  test('an update is a conflict, however it is asked for', async () => {
    await using deployment = await Deployment.create(kind);
    const app = await open(deployment);
    for (const table of ['A', 'J']) await deployment.sql(leaving('UPDATE', table));
    await told({
      alone: () => app.rest('PUT', '/as/1', { n: 2 }),
      'by its version': () => app.rest('PUT', '/as/1', { n: 2 }, { 'If-Match': '"1"' }),
      unique: () => app.rest('PUT', '/as/1', { s: 'y' }),
      'to add': () => app.rest('PUT', '/as/1', { _inc: { n: 1 } }),
      upsert: () => app.rest('POST', '/as?upsert=s', { s: 'x', n: 3 }),
      noted: () => app.rest('PUT', '/js/1', { n: 2 }),
      many: () =>
        app.graphql('mutation { updateAs(where: { n: { eq: 1 } }, set: { n: 2 }, atMost: 5) { id } }'),
    });
    await app.close();
  });

  test('a delete is one, and nothing has gone', async () => {
    await using deployment = await Deployment.create(kind);
    const app = await open(deployment);
    for (const table of ['A', 'J', 'C', 'N']) await deployment.sql(leaving('DELETE', table));
    const paths = ['/as/1', '/js/1', '/ps/1', '/cs/1', '/ns/k'];
    const stored = () => Promise.all(paths.map(async (path) => (await app.rest('GET', path)).body));
    const changes = async () => (await app.rest('GET', '/changes/js/1')).body;
    const [records, before] = [await stored(), await changes()];
    await told({
      alone: () => app.rest('DELETE', '/as/1'),
      'by its version': () => app.rest('DELETE', '/as/1', undefined, { 'If-Match': '"1"' }),
      'under a key': () => app.rest('DELETE', '/as/1', undefined, { 'Idempotency-Key': 'k' }),
      noted: () => app.rest('DELETE', '/js/1'),
      'what goes with another': () => app.rest('DELETE', '/ps/1'),
      'a natural key': () => app.rest('DELETE', '/ns/k'),
      'by GraphQL': () => app.graphql('mutation { deleteA(id: "1") { id } }'),
      many: () => app.graphql('mutation { deleteAs(where: { n: { eq: 1 } }, atMost: 5) { id } }'),
    });
    expect(await stored()).toEqual(records);
    expect(await changes()).toEqual(before);
    expect(JSON.stringify(before)).toContain('CREATED');
    await app.close();
  });
});

test.each([
  ...['ABORT', 'FAIL', 'ROLLBACK'].map((how) => [how, `SELECT RAISE(${how}, 'no')`] as const),
  ...['FAIL', 'ROLLBACK'].flatMap((how) =>
    ['"u"', '"c"'].map((column) => {
      const audit = `INSERT OR ${how} INTO "audit" (${column}) VALUES (1)`;
      return [audit, audit] as const;
    }),
  ),
  ...[
    'INSERT INTO "audit" ("f") VALUES (999)',
    'INSERT INTO "audit" (rowid) VALUES (1)',
    'INSERT INTO "audit" ("u") VALUES (json(\'{\'))',
    'INSERT INTO "audit" ("u") VALUES (abs(-9223372036854775807 - 1))',
  ].map((audit) => [audit, audit] as const),
])(
  'on sqlite, what a trigger refuses by %s is not stored, and those that are written with it are',
  async (_, fails) => {
    await using deployment = await Deployment.create('sqlite');
    const app = await deployment.app(A('n: Int'));
    await deployment.sql(
      'CREATE TABLE "audit" ("u" INTEGER UNIQUE, "c" INTEGER CHECK ("c" > 5), "f" INTEGER REFERENCES "A" ("id") DEFERRABLE INITIALLY DEFERRED)',
    );
    await deployment.sql('INSERT INTO "audit" ("u") VALUES (1)');
    expect((await app.rest('POST', '/as', { n: 1 })).status).toBe(201);
    for (const what of ['INSERT', 'UPDATE'])
      await deployment.sql(
        `CREATE TRIGGER t_${what} AFTER ${what} ON "A" WHEN NEW."n" = 5 BEGIN ${fails}; END`,
      );
    const numbers = [2, 5, 3, 5, 4];
    const created = await Promise.all(numbers.map((n) => app.rest('POST', '/as', { n })));
    expect(created.map(({ status }) => status)).toEqual([201, 409, 201, 409, 201]);
    const updated = await Promise.all([5, 6].map((n) => app.rest('PUT', '/as/1', { n })));
    expect(updated.map(({ status }) => status)).toEqual([409, 200]);
    // What fails by itself, beside one that fails with others, fails alone, too.
    const beside = await Promise.all([
      app.rest('PUT', '/as/999', { n: 1 }),
      app.rest('POST', '/as', { n: 5 }),
      app.rest('POST', '/as', { n: 0 }),
    ]);
    expect(beside.map(({ status }) => status)).toEqual([404, 409, 201]);
    const both = (n: number) =>
      app.rest('POST', '/transaction', {
        operations: [7, n].map((each) => ({ method: 'POST', path: '/as', body: { n: each } })),
      });
    const together = await Promise.all([8, 5, 9].map(both));
    expect(together.map(({ status }) => status)).toEqual([200, 409, 200]);
    const { body } = await app.rest('GET', '/as');
    expect(body.map(({ n }: { n: number }) => n).sort()).toEqual([0, 2, 3, 4, 6, 7, 7, 8, 9]);
    await app.close();
  },
);

test.each([...databases])(
  'on %s, what must be unique by somebody else, or there in a table of theirs, is a conflict without a word of it',
  async (kind) => {
    await using deployment = await Deployment.create(kind);
    const app = await deployment.app(A('n: Int s: String'));
    await deployment.sql('CREATE UNIQUE INDEX "secret" ON "A" (lower("s"))');
    await deployment.sql('CREATE TABLE "audit" ("secret" INTEGER NOT NULL)');
    await deployment.sql(
      kind === 'sqlite'
        ? 'CREATE TRIGGER t AFTER INSERT ON "A" WHEN NEW."n" = 5 BEGIN INSERT INTO "audit" VALUES (NULL); END'
        : `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF NEW.n = 5 THEN INSERT INTO "audit" VALUES (NULL); END IF; RETURN NEW;
           END $$;
           CREATE TRIGGER t AFTER INSERT ON "A" FOR EACH ROW EXECUTE FUNCTION f()`,
    );
    for (const s of ['a', 'b']) expect((await app.rest('POST', '/as', { n: 1, s })).status).toBe(201);
    for (const answer of [
      await app.rest('POST', '/as', { n: 1, s: 'A' }),
      await app.rest('PUT', '/as/2', { s: 'A' }),
      await app.rest('POST', '/as', { n: 5 }),
    ]) {
      expect([answer.status, answer.body.code]).toEqual([409, 'CONFLICT']);
      expect(JSON.stringify(answer.body)).not.toMatch(/secret|audit/);
    }
    await app.close();
  },
);

test.each([...databases])(
  'on %s, a trigger that meets what is unique in another type is a conflict',
  async (kind) => {
    await using deployment = await Deployment.create(kind);
    const app = await deployment.app(
      `${A('n: Int s: String')} type Old @resource { id: ID! mail: String! @unique }`,
    );
    for (const n of [1, 2]) expect((await app.rest('POST', '/as', { n, s: 'w' })).status).toBe(201);
    expect((await app.rest('POST', '/olds', { mail: 'w' })).status).toBe(201);
    const archive = 'INSERT INTO "Old" (mail, _version) VALUES';
    if (kind === 'postgres')
      await deployment.sql(
        `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${archive} ('w', 1); RETURN NULL; END $$`,
      );
    for (const what of ['INSERT', 'UPDATE', 'DELETE'])
      await deployment.sql(
        kind === 'sqlite'
          ? `CREATE TRIGGER t_${what} AFTER ${what} ON "A" BEGIN ${archive} ('w', 1); END`
          : `CREATE TRIGGER t_${what} AFTER ${what} ON "A" FOR EACH ROW EXECUTE FUNCTION f()`,
      );
    const many = (operation: object) => app.rest('POST', '/transaction', { operations: [operation] });
    const where = { n: { gte: 0 } };
    for (const answer of [
      await app.rest('POST', '/as', { n: 3 }),
      await app.rest('PUT', '/as/1', { n: 3 }),
      await app.rest('DELETE', '/as/1'),
      await many({ method: 'PUT', path: '/as', where, body: { n: 4 }, atMost: 9 }),
      await many({ method: 'DELETE', path: '/as', where, atMost: 9 }),
    ]) {
      expect([answer.status, answer.body.code]).toEqual([409, 'CONFLICT']);
      expect(JSON.stringify(answer.body)).not.toContain('mail');
    }
    await app.close();
  },
);

test.each(['ABORT', 'FAIL', 'ROLLBACK'])(
  'on sqlite, who sends what a trigger refuses by %s keeps nobody from writing',
  async (how) => {
    await using deployment = await Deployment.create('sqlite');
    const app = await deployment.app(A('n: Int'));
    await deployment.sql(
      `CREATE TRIGGER t BEFORE INSERT ON "A" WHEN NEW."n" = 5 BEGIN SELECT RAISE(${how}, 'no'); END`,
    );
    let isOver = false;
    let refused = 0;
    const sending = Array.from({ length: 40 }, async () => {
      while (!isOver && refused < 100_000) {
        expect((await app.rest('POST', '/as', { n: 5 })).status).toBe(409);
        refused++;
      }
    });
    // Each is answered although there are always others behind it.
    for (let n = 100; n < 120; n++) expect((await app.rest('POST', '/as', { n })).status).toBe(201);
    isOver = true;
    await Promise.all(sending);
    expect(refused).toBeGreaterThan(40);
    await app.close();
  },
);

function raising(what: string): string {
  return `
    CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NEW.n > 4 THEN ${what}; END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER t BEFORE INSERT ON "A" FOR EACH ROW EXECUTE FUNCTION f()`;
}
