/** Random schemas, rows, documents and troubles: a compiled query answers with the bytes that graphql-js answers with. */

import { describe, expect, spyOn, test } from 'bun:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { type GraphQLError, getOperationAST, parse, validate, validateExecutionArgs } from 'graphql';
import type { Code } from '../../src/base/errors.ts';
import { answerLimits, type Config, hasAuthentication } from '../../src/config/config.ts';
import { anonymous, type Caller } from '../../src/engine/caller.ts';
import { Engine } from '../../src/engine/engine.ts';
import { Policy } from '../../src/engine/policy/policy.ts';
import { CompiledQuery, type Outcome } from '../../src/graphql/compiled/compiled.ts';
import { formatted } from '../../src/graphql/errors.ts';
import { execute } from '../../src/graphql/execute.ts';
import { type Door, graphqlDoor } from '../../src/graphql/schema.ts';
import type { Model } from '../../src/schema/model.ts';
import { connectionName } from '../../src/schema/names.ts';
import {
  type AppUnderTest,
  type DatabaseKind,
  type Deployment,
  databases,
  JSON_HEADERS,
  openApp,
} from '../app.ts';
import { headersOf, SECRET } from '../conformance/access-matrix.ts';
import { callers, sdl as guardedSdl, newWorld } from '../conformance/access-world.ts';
import { worldChoices, worldOf } from '../conformance/reading-schemas.ts';
import { FaultyStorage, misfits, type Trouble } from './faulty.ts';
import { Generator, type Known, type Request } from './generated.ts';

/** Schemas on SQLite, and a quarter of them on PostgreSQL; each is asked 20 documents. */
const RUNS = Number(process.env['RUNS'] ?? 50);
/** Milliseconds, for smaller cases of a failure too. */
const LONGEST = 60_000;

/** How the compiled path ended, as the handler saw it. */
type End = 'data' | 'performed' | 'refused' | 'not compiled';

/** An application, and beside it the executor alone on the same storage. */
class Pair {
  readonly app: AppUnderTest;
  readonly #door: Door;
  readonly #engine: Engine;
  readonly #storage: FaultyStorage;
  readonly #known: Known;
  #cases = 0;
  readonly ends: Record<'clean' | 'other', Record<End, number>> = { clean: none(), other: none() };

  private constructor(app: AppUnderTest, model: Model, config: Config, storage: FaultyStorage, known: Known) {
    const door = graphqlDoor(model);
    if (!door) throw new Error('no door');
    const policy = new Policy(model, hasAuthentication(config));
    const { limitOperations: operations, limitDeadline: deadline } = config;
    const most = answerLimits(config);
    this.app = app;
    this.#door = door;
    this.#engine = new Engine(storage, policy, {
      ...most,
      operations,
      deadline,
    });
    this.#storage = storage;
    this.#known = known;
  }

  static async open(database: DatabaseKind, deployment: Deployment): Promise<Pair> {
    let parts: [Model, Config, FaultyStorage] | undefined;
    const app = await openApp(database, {
      ...deployment,
      env: { ...wide, ...deployment.env },
      around: (storage, model, config) => {
        const faulty = new FaultyStorage(storage);
        parts = [model, config, faulty];
        return faulty;
      },
    });
    if (!parts) throw new Error('the storage was not opened');
    const rows = Object.values(deployment.data as Record<string, Record<string, unknown>[]>).flat();
    const keys = new Set(rows.map((row) => String(row['id'] ?? row['code'] ?? row['name'])));
    const [model] = parts;
    const cursors = new Map<string, string[]>();
    for (const resource of model.resources) {
      const { data } = await app
        .unguarded()
        .graphql(`{ all: ${connectionName(resource)}(first: 3) { edges { cursor } } }`);
      cursors.set(
        resource.name,
        data.all.edges.map((edge: { cursor: string }) => edge.cursor),
      );
    }
    return new Pair(app, ...parts, { keys: [...keys].slice(0, 20), cursors });
  }

  generated(choices: readonly number[]): Request {
    return new Generator(this.#door.schema, choices, this.#known).request();
  }

  /** Asks both the same, and complains where they differ; twice, since code of its own is made for the second time. */
  async compare(
    request: Request,
    trouble: Trouble,
    headers: Record<string, string> = {},
    caller = anonymous,
  ): Promise<void> {
    for (let time = 0; time < 2; time++) await this.#compareOnce(request, trouble, headers, caller);
  }

  async #compareOnce(
    request: Request,
    trouble: Trouble,
    headers: Record<string, string>,
    caller: Caller,
  ): Promise<void> {
    this.#storage.trouble = trouble;
    const id = `case-${++this.#cases}`;
    const { end, ...seen } = await this.#asked(request, id, headers);
    const wanted = await this.#reference(request, id, caller);
    if (!isDeepStrictEqual(seen, wanted))
      throw new Error(
        [
          JSON.stringify(trouble),
          request.query,
          JSON.stringify({ ...request, query: undefined }),
          `compiled: ${JSON.stringify(seen)}`,
          `executor: ${JSON.stringify(wanted)}`,
        ].join('\n'),
      );
    const { errors } = JSON.parse(wanted.body);
    const isClean = errors === undefined && trouble.is === 'none';
    this.ends[isClean ? 'clean' : 'other'][end]++;
  }

  async #asked(request: Request, id: string, headers: Record<string, string>) {
    using run = spyOn(CompiledQuery.prototype, 'run');
    const response = await this.app.fetch('/graphql', {
      method: 'POST',
      headers: { ...JSON_HEADERS, 'X-Request-Id': id, ...headers },
      body: JSON.stringify(request),
    });
    expect(response.status).toBe(200);
    const body = await response.text();
    await this.#storage.settled();
    const causes = new Set<string>();
    for (const each of this.app.observations.splice(0))
      if (each.event === 'failure' && each.requestId === id) causes.add(String(each.cause));
    const [result] = run.mock.results;
    const outcome = (await result?.value) as Outcome | undefined;
    const end: End = !result ? 'not compiled' : outcome?.data ? 'data' : outcome ? 'performed' : 'refused';
    return { body, causes, end };
  }

  /** What graphql-js makes of it, in the words of the handler. Who was told more than once, and when, may differ. */
  async #reference({ query, variables, operationName }: Request, id: string, caller: Caller) {
    const { schema, bindings } = this.#door;
    const document = parse(query);
    const invalid = validate(schema, document);
    if (invalid.length > 0)
      throw new Error(`the generator made no valid document:\n${query}\n${invalid.join('\n')}`);
    const written = (errors: readonly GraphQLError[], code: Code) =>
      errors.map((error) => formatted(error, code, id));
    const causes = new Set<string>();
    // As it comes over the wire, and without what every object inherits.
    const variableValues = JSON.parse(JSON.stringify(variables), (_, value) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.setPrototypeOf(value, null)
        : value,
    );
    const valid = validateExecutionArgs({ schema, document, operationName, variableValues });
    if (!('operation' in valid)) {
      const code = getOperationAST(document, operationName)
        ? 'BAD_USER_INPUT'
        : 'OPERATION_RESOLUTION_FAILURE';
      return { body: JSON.stringify({ errors: written(valid, code) }), causes };
    }
    const { data, errors } = await execute(valid, {
      engine: this.#engine,
      caller,
      deadline: this.#engine.deadline(),
      bindings,
      idempotency: undefined,
      gone: () => false,
      failed: (cause) => causes.add(String(cause)),
    });
    const body = errors ? { errors: written(errors, 'BAD_USER_INPUT'), data } : { data };
    await this.#storage.settled();
    return { body: JSON.stringify(body), causes };
  }
}

/** What documents may have is tested elsewhere. */
const wide = {
  LIMIT_TOKENS: '10000',
  LIMIT_DEPTH: '50',
  LIMIT_ALIASES: '1000',
  LIMIT_DIRECTIVES: '1000',
  LIMIT_ROOT_FIELDS: '1000',
};

function none(): Record<End, number> {
  return { data: 0, performed: 0, refused: 0, 'not compiled': 0 };
}

interface Choices {
  readonly document: readonly number[];
  readonly trouble: Trouble;
}

const nat = fc.nat({ max: 1_000_000 });
const trouble: fc.Arbitrary<Trouble> = fc.oneof(
  { weight: 5, arbitrary: fc.constant({ is: 'none' } as const) },
  {
    weight: 4,
    arbitrary: fc.record({
      is: fc.constant('rows' as const),
      every: fc.integer({ min: 1, max: 20 }),
      from: fc.nat({ max: 8 }),
      choices: fc.array(nat, { minLength: 1, maxLength: 12 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      is: fc.constant('failure' as const),
      step: fc.nat({ max: 2 }),
      error: fc.nat({ max: 2 }),
    }),
  },
);
const choices: fc.Arbitrary<Choices> = fc.record({
  document: fc.array(nat, { minLength: 5, maxLength: 250, size: 'max' }),
  trouble,
});
const asked = fc.array(choices, { minLength: 1, maxLength: 39, size: 'max' });

describe.each([...databases])('on %s', (database) => {
  const ends = { clean: none(), other: none() };
  const runs = database === 'sqlite' ? RUNS : Math.ceil(RUNS / 4);

  test('compiled queries answer as graphql-js does', async () => {
    const few = fc.constantFrom('50000', '50000', '6');
    await fc.assert(
      fc.asyncProperty(worldChoices, few, asked, async (world, objects, all) => {
        const { sdl, data, logic } = worldOf(world);
        const pair = await Pair.open(database, { sdl, data, logic, env: { LIMIT_OBJECTS: objects } });
        try {
          for (const { document, trouble } of all) await pair.compare(pair.generated(document), trouble);
        } finally {
          await pair.app.close();
        }
        for (const kind of ['clean', 'other'] as const)
          for (const end of Object.keys(ends[kind]) as End[]) ends[kind][end] += pair.ends[kind][end];
      }),
      { numRuns: runs, unbiased: true, interruptAfterTimeLimit: LONGEST },
    );
  }, 600_000);

  test.each([...callers])(
    'under rules too: $name',
    async (who) => {
      const pair = await Pair.open(database, {
        sdl: guardedSdl,
        data: newWorld(),
        env: { AUTH_SECRET: SECRET },
      });
      const headers = await headersOf(who);
      const roles = who.claims ? [who.claims['roles'] ?? who.claims['role'] ?? []].flat() : [];
      const caller = who.claims
        ? { subject: who.claims.sub, roles: roles as string[], claims: who.claims }
        : anonymous;
      try {
        await fc.assert(
          fc.asyncProperty(choices, ({ document, trouble }) =>
            pair.compare(pair.generated(document), trouble, headers, caller),
          ),
          { numRuns: runs, unbiased: true, interruptAfterTimeLimit: LONGEST },
        );
      } finally {
        await pair.app.close();
      }
    },
    600_000,
  );

  test('every value that does not fit, in a column of every type', async () => {
    const types = [
      'ID',
      'String',
      'Int',
      'Float',
      'Boolean',
      'DateTime',
      'Date',
      'UUID',
      'JSON',
      'Color',
      '[Color!]',
    ];
    const lines = types.flatMap((type, index) => [`may${index}: ${type}`, `must${index}: ${type}!`]);
    const sdl = `enum Color { RED } type Ant @resource { id: ID! ${lines.join('\n')} }`;
    const sound = [
      'a',
      'a',
      1,
      1,
      true,
      '2024-02-29T00:00:00Z',
      '2024-02-29',
      crypto.randomUUID(),
      {},
      'RED',
      ['RED'],
    ];
    const row = Object.fromEntries(
      sound.flatMap((value, at) => [
        [`may${at}`, value],
        [`must${at}`, value],
      ]),
    );
    const pair = await Pair.open(database, { sdl, data: { ants: [{ id: 1, ...row }] } });
    try {
      for (const name of ['id', ...Object.keys(row)])
        for (const value of misfits)
          await pair.compare(
            { query: `{ ants { ${name} } }`, variables: {}, operationName: undefined },
            { is: 'column', name, value },
          );
    } finally {
      await pair.app.close();
    }
  });

  test('most answers without an error were compiled, and others of every kind were met', () => {
    const { data, ...others } = ends.clean;
    const executed = Object.values(others).reduce((sum, count) => sum + count, 0);
    // Thirty to fifty times as many: only records of any type, by `node`, are left to the executor.
    expect(data).toBeGreaterThan(8 * executed);
    // What the executor has to make anew has something wrong with it.
    expect(ends.clean.performed).toBe(0);
    for (const end of ['performed', 'refused', 'not compiled'] as const)
      expect(ends.other[end]).toBeGreaterThan(data / 50);
  });
});
