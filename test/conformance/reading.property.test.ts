/** Random schemas, rows and queries: both doors on both databases answer as a plain computation on the rows does. */

import { expect, spyOn, test } from 'bun:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { Resource } from '../../src/schema/model.ts';
import { Bounds } from '../../src/storage/sqlite/bounds.ts';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { Folder } from '../process.ts';
import {
  type Door,
  type Failure,
  Graphql,
  type ListRequest,
  type NestedPage,
  type NestedRequest,
  type Page,
  Rest,
} from './reading-doors.ts';
import { faultOf } from './reading-faults.ts';
import { type Aggregates, aggregated, listed, pointingAt, shown, TooLarge } from './reading-plain.ts';
import { type CursorAt, isNumeric, type QueryChoices, queryChoices, Resolver } from './reading-queries.ts';
import { pick, type Row, type World, worldChoices, worldOf } from './reading-schemas.ts';

/** Schemas; each is asked 25 queries on average. */
const RUNS = Number(process.env['RUNS'] ?? 40);

interface Lane {
  readonly name: string;
  readonly app: AppUnderTest;
  readonly door: Door;
}

class Examiner {
  readonly #world: World;
  readonly #lanes: readonly Lane[];
  readonly #resolver: Resolver;

  constructor(world: World, apps: readonly AppUnderTest[]) {
    this.#world = world;
    this.#resolver = new Resolver(world);
    this.#lanes = apps.flatMap((app, index) =>
      [new Rest(), new Graphql()].map((door) => ({ name: `${door.name} on ${databases[index]}`, app, door })),
    );
  }

  async examine(choices: QueryChoices): Promise<void> {
    const { resources } = this.#world.model;
    const resource = pick(resources, choices.resource);
    if (choices.kind === 'aggregate') return this.#aggregate(resource, choices);
    if (choices.kind === 'faulty') return this.#faulty(resource, choices);
    if (choices.kind === 'nested') return this.#nested(resource, choices);
    const shape = await this.#resolver.shape(resource, choices.shape, this.#cursorAt);
    if (choices.kind === 'one') {
      const row = this.#world.rows.get(resource)?.[choices.choice % 10];
      const key = row?.[resource.key.name] ?? '0190f5a0-0000-7a64-b3f5-2b1f3c0e9a11';
      const wanted = row ? shown(this.#world, resource, row, shape) : null;
      await this.#ask(wanted, ({ app, door }) => door.one(app, resource, key, shape));
      return;
    }
    const { count, brackets } = choices;
    const part = this.#resolver.part(resource, choices);
    const request: ListRequest = { resource, shape, count, brackets, ...part };
    const rows = listed(this.#world, resource, part).map((row) => shown(this.#world, resource, row, shape));
    const total = count ? rows.length : undefined;
    // Without a limit there are no links, whatever is left out.
    if (part.limit === undefined)
      await this.#page({ ...request, offset: undefined }, { rows, total, next: false, previous: false });
    else await this.#pages(request, part.limit, rows, total);
  }

  /** Forwards to the end and back to the start, each page through every lane with the same cursor. */
  async #pages(request: ListRequest, limit: number, all: readonly Row[], total: number | undefined) {
    let end = request.offset ?? 0;
    let page: Page;
    let { offset } = request;
    let after: string | undefined;
    do {
      const rows = all.slice(end, end + limit);
      const wanted = { rows, total, next: end + limit < all.length, previous: end > 0 && rows.length > 0 };
      page = await this.#page({ ...request, offset, after }, wanted);
      // Beyond the end there is nothing, and no way back.
      if (offset !== undefined && rows.length === 0) return;
      offset = undefined;
      after = page.next ?? undefined;
      end += rows.length;
    } while (after !== undefined);
    end -= page.rows.length;
    while (page.previous !== null) {
      const start = Math.max(0, end - limit);
      const wanted = { rows: all.slice(start, end), total, next: true, previous: start > 0 };
      page = await this.#page({ ...request, offset, before: page.previous }, wanted);
      end = start;
    }
    expect(end).toBe(0);
  }

  /** Which cursors there are is known; what they are must be the same everywhere. */
  async #page(
    request: ListRequest,
    wanted: { rows: readonly Row[]; total: number | undefined; next: boolean; previous: boolean },
  ): Promise<Page> {
    let cursors: Pick<Page, 'next' | 'previous'> | undefined;
    const answers = await this.#ask(
      wanted,
      async ({ app, door }) => door.list(app, request),
      (answer) => {
        if (!('rows' in answer)) return answer;
        const { next, previous } = answer;
        cursors ??= { next, previous };
        const same = cursors.next === next && cursors.previous === previous;
        return {
          ...answer,
          next: same ? next !== null : next,
          previous: same ? previous !== null : previous,
        };
      },
    );
    return answers[0] as Page;
  }

  /** The lists of all records; then on from a cursor in that of one, and back. */
  async #nested(resource: Resource, choices: QueryChoices): Promise<void> {
    if (resource.inverses.length === 0) return;
    const world = this.#world;
    const field = pick(resource.inverses, choices.choice);
    const { target } = field;
    const chosen = new Set(choices.shape.fields.map((nth) => pick(target.columns, nth)));
    const shape = {
      columns: chosen.size > 0 ? target.columns.filter((each) => chosen.has(each)) : undefined,
      include: [],
    };
    const { limit = 2, offset = 0, ...part } = this.#resolver.part(target, choices);
    const numbers = await this.#resolver.aggregates(target, choices, this.#cursorAt);
    const inexact = new Set(target.columns.flatMap((each) => (each.type.name === 'Float' ? each.name : [])));
    const lists = listed(world, resource, { where: undefined, sort: [] }).map((row) => {
      const own = new Set(pointingAt(world, field, row));
      const all = listed(world, target, part).filter((each) => own.has(each));
      return { key: row[resource.key.name], own, all: all.map((each) => shown(world, target, each, shape)) };
    });
    const ask = async (of: typeof lists, from: number, change: Partial<NestedRequest['page']>) => {
      const page = {
        ...part,
        limit,
        offset: undefined,
        shape,
        count: choices.count,
        brackets: false,
        ...change,
      };
      let wanted: NestedPage[];
      try {
        wanted = of.map(({ own, all }) => ({
          rows: all.slice(from, from + limit),
          total: choices.count ? all.length : undefined,
          next: (from + limit < all.length) as never,
          previous: (from > 0 && from < all.length) as never,
          numbers: aggregated(world, target, numbers, own),
        }));
      } catch (error) {
        if (error instanceof TooLarge) return undefined;
        throw error;
      }
      let cursors: string | undefined;
      const request = { resource, field, keys: of.map(({ key }) => key), page, numbers };
      const answers = await this.#ask(
        wanted,
        ({ app, door }) => door.nested(app, request),
        (answer) => {
          if ('code' in answer) return answer;
          const told = JSON.stringify(
            answer.map(({ next, previous, rows }) => rows.length > 0 && [next, previous]),
          );
          cursors ??= told;
          return answer.map((each, index) => ({
            ...each,
            next: cursors === told ? each.next !== null : each.next,
            previous: cursors === told ? each.previous !== null : each.previous,
            numbers: each.numbers.map((row, nth) => rounded(row, wanted[index]?.numbers[nth], inexact)),
          }));
        },
      );
      return answers[0] as readonly NestedPage[];
    };
    const first = await ask(lists, offset, { offset: choices.offset });
    const going = first?.findIndex(({ next }) => next !== null) ?? -1;
    const [list, next] = [lists[going], first?.[going]?.next];
    if (!list || !next) return;
    const [second] = (await ask([list], offset + limit, { after: next })) ?? [];
    if (second?.previous) await ask([list], offset, { before: second.previous });
  }

  async #aggregate(resource: Resource, choices: QueryChoices): Promise<void> {
    const wanted = await this.#resolver.aggregates(resource, choices, this.#cursorAt);
    const inexact = new Set(resource.columns.filter((each) => isNumeric(each) && each.type.name === 'Float'));
    const names = new Set([...inexact].map(({ name }) => name));
    const rows = this.#aggregated(resource, wanted);
    await this.#ask(
      rows,
      ({ app, door }) => door.aggregate(app, resource, wanted, choices.brackets),
      (answer) =>
        Array.isArray(answer) && Array.isArray(rows)
          ? answer.map((row, index) => rounded(row, rows[index], names))
          : answer,
    );
  }

  #aggregated(resource: Resource, wanted: Aggregates): readonly Row[] | Failure {
    try {
      return aggregated(this.#world, resource, wanted);
    } catch (error) {
      if (error instanceof TooLarge) return { code: 'VALIDATION_FAILED', faults: ['OUT_OF_RANGE'] };
      throw error;
    }
  }

  async #faulty(resource: Resource, choices: QueryChoices): Promise<void> {
    const part = this.#resolver.part(resource, choices);
    const other = { where: { not: { and: [part.where ?? {}] } }, sort: part.sort };
    const stray = await this.#cursorAt(resource, other, choices.choice);
    const { change, code, typed } = faultOf(resource, choices.choice, stray?.cursor);
    const shape = { columns: [resource.key], include: [] };
    const given = { ...part, offset: undefined, ...change };
    const request: ListRequest = { resource, shape, count: false, brackets: false, ...given };
    const own = new Set(['GRAPHQL_VALIDATION_FAILED', 'BAD_USER_INPUT']);
    await this.#ask(
      { code: 'VALIDATION_FAILED', faults: [code] },
      ({ app, door }) => door.list(app, request),
      (answer, { door }) =>
        typed && door.name === 'GraphQL' && 'code' in answer && own.has(answer.code)
          ? { code: 'VALIDATION_FAILED', faults: [code] }
          : answer,
    );
  }

  /** Asks through every lane and holds each answer against what is wanted. */
  async #ask<T>(
    wanted: unknown,
    ask: (lane: Lane) => Promise<T>,
    seen: (answer: T, lane: Lane) => unknown = (answer) => answer,
  ): Promise<T[]> {
    const answers = await Promise.all(this.#lanes.map(ask));
    const views = this.#lanes.map((lane, index) => seen(answers[index] as T, lane));
    if (!views.every((view) => isDeepStrictEqual(view, wanted))) throw this.#complaint(wanted, views);
    return answers;
  }

  #complaint(wanted: unknown, views: readonly unknown[]): Error {
    const { sdl, data } = this.#world;
    const rows = Object.entries(data).flatMap(([plural, list]) =>
      list.map((row) => `${plural}: ${JSON.stringify(row)}`),
    );
    const asked = new Set(this.#lanes.map(({ door }) => `${door.name}: ${door.asked}`));
    const told = this.#lanes.map(
      ({ name }, index) =>
        `${isDeepStrictEqual(views[index], wanted) ? '  ' : '≠ '}${name}: ${JSON.stringify(views[index])}`,
    );
    const causes = this.#lanes.flatMap(({ app }) =>
      app.observations.flatMap((each) => ('cause' in each ? [String(each.cause)] : [])),
    );
    return new Error(
      [
        '',
        sdl,
        ...rows,
        '',
        ...asked,
        '',
        `  wanted: ${JSON.stringify(wanted)}`,
        ...told,
        ...new Set(causes),
        '',
      ].join('\n'),
    );
  }

  readonly #cursorAt: CursorAt = async (resource, part, position) => {
    const rows = listed(this.#world, resource, part);
    const [lane] = this.#lanes;
    if (rows.length < 2 || !lane) return undefined;
    const limit = 1 + (position % (rows.length - 1));
    const shape = { columns: [resource.key], include: [] };
    const request = { resource, ...part, shape, limit, offset: undefined, count: false, brackets: false };
    const page = await lane.door.list(lane.app, request);
    const row = rows[limit - 1];
    return row && 'next' in page && page.next !== null ? { row, cursor: page.next } : undefined;
  };
}

/** Takes over what differs from the wanted number only by the order in which floats were added. */
function rounded(row: any, wanted: any, inexact: ReadonlySet<string>): any {
  const copy = { ...row };
  for (const of of ['sum', 'avg'])
    for (const name of Object.keys(row[of] ?? {})) {
      const [seen, exact] = [row[of][name], wanted?.[of]?.[name]];
      const close = Math.abs(seen - exact) <= 1e-9 * Math.max(1, Math.abs(exact));
      if (inexact.has(name) && seen !== null && exact !== null && close)
        copy[of] = { ...copy[of], [name]: exact };
    }
  return copy;
}

const queries = fc.array(queryChoices, { minLength: 1, maxLength: 49, size: 'max' });

/** All statements of SQLite look at the clock, for which theirs is another text; none is late. */
function lookingAtClock(): Disposable {
  const until = () => performance.now() + 600_000;
  const allowance = spyOn(Bounds.prototype, 'allowance').mockReturnValue({
    admits: until,
    wasLong: () => {},
    hadMany: () => {},
    mostTurns: 0,
  });
  const admits = spyOn(Bounds.prototype, 'admits').mockImplementation(until);
  return {
    [Symbol.dispose]: () => {
      allowance.mockRestore();
      admits.mockRestore();
    },
  };
}

test('reading is the same through every door and on every database', async () => {
  await fc.assert(
    fc.asyncProperty(worldChoices, queries, fc.boolean(), async (choices, asked, looks) => {
      const world = worldOf(choices);
      const { sdl, data, logic } = world;
      const env = { LIMIT_URL: '65536' };
      using folder = new Folder({});
      using _clock = looks ? lookingAtClock() : undefined;
      const apps = await Promise.all(
        databases.map((database) => {
          // Only what another process could read instead is ever ended.
          const url = looks && database === 'sqlite' ? `sqlite:${folder.file('duet.db')}` : undefined;
          return openApp(database, { sdl, data, env, logic, ...(url && { url }) });
        }),
      );
      try {
        const examiner = new Examiner(world, apps);
        for (const query of asked) await examiner.examine(query);
      } finally {
        await Promise.all(apps.map((app) => app.close()));
      }
    }),
    // Unbiased: small choices are no likelier to be telling than large ones.
    { numRuns: RUNS, unbiased: true },
  );
}, 600_000);
