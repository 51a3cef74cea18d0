/** Thousands of random requests at one application, with just enough order in between that they find something. */

import { buildSchema, type GraphQLSchema } from 'graphql';
import { accessRules } from '../../../src/access/faults.ts';
import type { Model } from '../../../src/schema/model.ts';
import { connectionName } from '../../../src/schema/names.ts';
import { readSchema } from '../../../src/schema/read.ts';
import type { AppUnderTest, Doors } from '../../app.ts';
import { Description, join } from '../../rest/described.ts';
import { Borders } from './borders.ts';
import { Judge, type Verdict } from './judge.ts';
import { type Arsenal, Gunner, type Shot } from './requests.ts';
import { Memory } from './schema-values.ts';

/** More records would only make the answers longer. */
const FEW = 3;
const MANY = 30;
const SETTLE_EVERY = 100;
/** So many at once in every other hundred. */
const AT_ONCE = 8;
const LINK = /<(\/[^>]*[?&](?:after|before)=([\w-]+))>/g;

export class Campaign {
  readonly #app: AppUnderTest;
  readonly #judge: Judge;
  readonly #borders: Borders;
  readonly #arsenal: Arsenal;
  readonly #cursors = new Map<string, readonly string[]>();
  readonly #model: Model;
  /** Sees and may do everything. */
  readonly #operator: Doors;
  readonly described: Description;
  /** How often each was answered so, such as `POST /books 201`, and `data` or `errors` for GraphQL. */
  readonly outcomes = new Map<string, number>();

  private constructor(
    app: AppUnderTest,
    described: Description,
    schema: GraphQLSchema,
    sdl: string,
    callers: Arsenal['callers'],
  ) {
    this.described = described;
    this.#model = readSchema(sdl, accessRules).model as Model;
    this.#operator = app.unguarded();
    this.#app = app;
    this.#judge = new Judge(app, described, schema);
    this.#borders = new Borders(described);
    const [memory, borders] = [new Memory(), this.#borders];
    this.#arsenal = { described, schema, memory, cursors: this.#cursors, callers, borders };
  }

  static async of(app: AppUnderTest, sdl: string, callers: Arsenal['callers']): Promise<Campaign> {
    const schema = buildSchema(await (await app.fetch('/schema.graphql')).text());
    return new Campaign(app, await Description.of(app), schema, sdl, callers);
  }

  async run(seed: number, requests: number): Promise<void> {
    for (let index = 0; index < requests; ) {
      const which = `request ${index} of FUZZ_SEED=${seed}`;
      if (index % SETTLE_EVERY === 0) {
        // Before what is wrong can be deleted.
        await this.#audit(`before ${which}`);
        await this.#settle(seed + index);
      }
      const rest = Math.min(SETTLE_EVERY - (index % SETTLE_EVERY), requests - index);
      const count = Math.floor(index / SETTLE_EVERY) % 2 === 0 ? 1 : Math.min(AT_ONCE, rest);
      const shots = Array.from({ length: count }, (_, at) =>
        new Gunner(this.#arsenal, seed * 1_000_003 + index + at).shot(),
      );
      // By its id an answer is known from the others.
      if (count > 1) for (const { headers } of shots) delete headers['X-Request-Id'];
      await this.#volley(shots, which);
      index += count;
    }
    await this.#audit(`at the end of FUZZ_SEED=${seed}`);
  }

  /** Fires all of them at once, and learns in their order: what comes next does not depend on who was answered first. */
  async #volley(shots: readonly Shot[], which: string): Promise<void> {
    this.#app.observations.length = 0;
    const fired = await Promise.allSettled(shots.map((shot) => this.#judge.fire(shot)));
    for (const [at, outcome] of fired.entries()) {
      const shot = shots[at] as Shot;
      try {
        if (outcome.status === 'rejected') throw outcome.reason;
        if (!outcome.value) continue;
        this.#borders.check(shot, outcome.value, shot.method);
        this.#learn(shot.method, outcome.value);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        const sent = `(${at + 1} of ${shots.length} at once): ${JSON.stringify(shot, undefined, 1)}`;
        throw new Error(`${which} ${sent}\n${message}`);
      }
    }
  }

  #learn(method: string, { status, headers, route, body }: Verdict): void {
    const [code = status] = /\b[A-Z]+(_[A-Z]+)+\b/.exec(JSON.stringify(body?.errors ?? '')) ?? [];
    const outcome = body?.data
      ? 'data'
      : route === '/graphql'
        ? `GraphQL ${code}`
        : `${method} ${route} ${status}`;
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    const { memory } = this.#arsenal;
    const tag = headers.get('ETag');
    if (tag !== null) memory.remember('tags', tag);
    for (const [, link = '', cursor = ''] of (headers.get('Link') ?? '').matchAll(LINK)) {
      memory.remember('links', link);
      memory.remember('cursors', cursor);
    }
  }

  /** Finds out what there is, and keeps it from becoming too much or nothing. */
  async #settle(seed: number): Promise<void> {
    for (const resource of this.#model.resources) {
      const { path, key, name, operations } = resource;
      if (resource.rest && operations.has('LIST')) {
        const rows = async () => (await this.#operator.rest('GET', `/${path}?fields=${key.name}`)).body;
        let keys: (string | number)[] = (await rows()).map((row: any) => row[key.name]);
        for (const surplus of operations.has('DELETE') ? keys.slice(MANY) : [])
          await this.#operator.rest('DELETE', `/${path}/${encodeURIComponent(surplus)}`);
        for (let attempt = 0; operations.has('CREATE') && keys.length < FEW && attempt < FEW; attempt++) {
          const body = new Gunner(this.#arsenal, seed + attempt).input(`/${path}`);
          const made = await this.#operator.rest('POST', `/${path}`, body);
          if (made.status === 201) keys = [...keys, made.body[key.name]];
        }
        this.#arsenal.memory.keys.set(path, keys.slice(0, MANY));
      }
      if (resource.graphql && operations.has('LIST')) {
        const { data } = await this.#operator.graphql(
          `{ all: ${connectionName(resource)}(first: 3) { edges { cursor } } }`,
        );
        this.#cursors.set(
          name,
          data.all.edges.map((edge: { cursor: string }) => edge.cursor),
        );
      }
    }
  }

  /** Every record obeys the file: its types and constraints, what must be unique, and what it refers to. */
  async #audit(when: string): Promise<void> {
    const lists = this.#model.resources.filter(({ rest, operations }) => rest && operations.has('LIST'));
    const tables = new Map<string, any[]>();
    for (const { path, name } of lists) tables.set(name, (await this.#operator.rest('GET', `/${path}`)).body);
    for (const resource of lists) {
      const { name, path, columns, uniques, key, operations } = resource;
      const rows = tables.get(name) ?? [];
      for (const row of rows)
        this.described.fit(
          join('#/components/schemas', name),
          row,
          `${when}, a stored ${name}: ${JSON.stringify(row)}`,
        );
      if (operations.has('CREATE')) {
        const created = this.described.operation('POST', `/${path}`);
        for (const row of rows) this.#borders.checkRecord(created, row, `${when}, a stored ${name}`);
      }
      for (const unique of [[key], ...uniques.map((each) => each.columns)]) {
        const values = rows
          .map((row) => unique.map((column) => row[column.name]))
          .filter((each) => !each.includes(null))
          .map((each) => JSON.stringify(each));
        if (new Set(values).size < values.length) throw new Error(`${when}, a ${name} twice: ${values}`);
      }
      for (const { name: column, reference } of columns) {
        const targets = reference && tables.get(reference.target.name);
        if (!targets) continue;
        const known = new Set([null, ...targets.map((row) => row[reference.target.key.name])]);
        for (const row of rows)
          if (!known.has(row[column]))
            throw new Error(`${when}, ${name}.${column} leads nowhere: ${row[column]}`);
      }
    }
  }
}
