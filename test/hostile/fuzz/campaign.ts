/** Thousands of random requests at one application, with just enough order in between that they find something. */

import { buildSchema, type GraphQLSchema } from 'graphql';
import { accessRules } from '../../../src/access/faults.ts';
import type { Model, Resource } from '../../../src/schema/model.ts';
import { connectionName } from '../../../src/schema/names.ts';
import { readSchema } from '../../../src/schema/read.ts';
import type { AppUnderTest, Doors } from '../../app.ts';
import { Description, join } from '../../rest/described.ts';
import { Judge, type Verdict } from './judge.ts';
import { type Arsenal, Gunner } from './requests.ts';
import { Memory } from './schema-values.ts';

/** More records would only make the answers longer. */
const FEW = 3;
const MANY = 30;
const SETTLE_EVERY = 100;
const LINK = /<(\/[^>]*[?&](?:after|before)=([\w-]+))>/g;

export class Campaign {
  readonly #judge: Judge;
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
    this.#judge = new Judge(app, described, schema);
    this.#arsenal = { described, schema, memory: new Memory(), cursors: this.#cursors, callers };
  }

  static async of(app: AppUnderTest, sdl: string, callers: Arsenal['callers']): Promise<Campaign> {
    const schema = buildSchema(await (await app.fetch('/schema.graphql')).text());
    return new Campaign(app, await Description.of(app), schema, sdl, callers);
  }

  async run(seed: number, requests: number): Promise<void> {
    for (let index = 0; index < requests; index++) {
      if (index % SETTLE_EVERY === 0) await this.#settle(seed + index);
      const shot = new Gunner(this.#arsenal, seed * 1_000_003 + index).shot();
      try {
        const verdict = await this.#judge.fire(shot);
        if (verdict) this.#learn(shot.method, verdict);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        const sent = `request ${index}: ${JSON.stringify(shot, undefined, 1)}`;
        throw new Error(`with FUZZ_SEED=${seed}, ${sent}\n${message}`);
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
  async audit(): Promise<number> {
    let records = 0;
    const lists = this.#model.resources.filter(({ rest, operations }) => rest && operations.has('LIST'));
    const tables = new Map<string, any[]>();
    for (const { path, name } of lists) tables.set(name, (await this.#operator.rest('GET', `/${path}`)).body);
    for (const resource of lists) {
      const { name, columns, uniques, key } = resource;
      const rows = tables.get(name) ?? [];
      records += rows.length;
      for (const row of rows)
        this.described.fit(
          join('#/components/schemas', name),
          row,
          `a stored ${name}: ${JSON.stringify(row)}`,
        );
      this.#auditInputs(resource, rows);
      for (const unique of [[key], ...uniques.map((each) => each.columns)]) {
        const values = rows
          .map((row) => unique.map((column) => row[column.name]))
          .filter((each) => !each.includes(null))
          .map((each) => JSON.stringify(each));
        if (new Set(values).size < values.length) throw new Error(`a ${name} twice: ${values}`);
      }
      for (const { name: column, reference } of columns) {
        const targets = reference && tables.get(reference.target.name);
        if (!targets) continue;
        const known = new Set([null, ...targets.map((row) => row[reference.target.key.name])]);
        for (const row of rows)
          if (!known.has(row[column])) throw new Error(`${name}.${column} leads nowhere: ${row[column]}`);
      }
    }
    return records;
  }

  /** What is stored is what could be sent: only the schemas of input have the constraints. */
  #auditInputs({ path, operations }: Resource, rows: readonly any[]): void {
    if (!operations.has('CREATE')) return;
    const { requestBody } = this.described.operation('POST', `/${path}`).operation;
    const { $ref } = requestBody.content['application/json'].schema;
    for (const field of Object.keys(this.described.at($ref).properties))
      for (const row of rows)
        if (Object.hasOwn(row, field))
          this.described.fit(join(`${$ref}/properties`, field), row[field], `a stored ${field} of /${path}`);
  }
}
