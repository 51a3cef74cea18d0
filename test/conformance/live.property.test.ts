/** Random queries and changes: a live answer at rest is the plain answer; and what is hidden gives nothing away. */

import { describe, expect, test } from 'bun:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { Resource } from '../../src/schema/model.ts';
import { readSchema } from '../../src/schema/read.ts';
import { type AppUnderTest, databases, openApp, within } from '../app.ts';
import { Listener } from '../events.ts';
import { headersOf, SECRET } from './access-matrix.ts';
import { Graphql, Rest } from './reading-doors.ts';
import { type QueryChoices, queryChoices, Resolver } from './reading-queries.ts';
import { pick, type Row, type World } from './reading-schemas.ts';

const RUNS = { sqlite: 8, postgres: 2 };

const sdl = `
enum Kind { NOVEL POEM }
type Author @resource @journal { id: ID! name: String! rank: Int books: [Book!]! }
type Book @resource @journal {
  id: ID! title: String! @caseless pages: Int kind: Kind tags: [Kind!] price: Decimal @decimal(scale: 2)
  author: Author @onDelete(do: SET_NULL) loans: [Loan!]! readers: [Reader!]! @through(type: "Loan")
}
type Loan @resource @journal { id: ID! days: Float book: Book @onDelete(do: CASCADE) reader: Reader @onDelete(do: SET_NULL) }
type Reader @resource @journal { id: ID! name: String! loans: [Loan!]! books: [Book!]! @through(type: "Loan") }
`;

/** Few enough that most queries are about what most changes change. */
const data = {
  authors: [
    { id: 1, name: 'Ann', rank: 2 },
    { id: 2, name: 'bob', rank: 1 },
    { id: 3, name: 'Cid', rank: null },
  ],
  books: [
    { id: 1, title: 'a', pages: 3, kind: 'NOVEL', tags: ['POEM'], price: '1.50', authorId: 1 },
    { id: 2, title: 'B', pages: 1, kind: 'POEM', tags: [], price: '1.05', authorId: 1 },
    { id: 3, title: 'b', pages: null, kind: null, tags: null, price: null, authorId: 2 },
    { id: 4, title: 'Ab', pages: 2, kind: 'POEM', tags: ['NOVEL', 'POEM'], price: '20.00', authorId: null },
  ],
  readers: [
    { id: 1, name: 'x' },
    { id: 2, name: 'y' },
  ],
  loans: [
    { id: 1, days: 1.5, bookId: 1, readerId: 1 },
    { id: 2, days: 0, bookId: 2, readerId: 1 },
    { id: 3, days: null, bookId: 1, readerId: 2 },
    { id: 4, days: 7, bookId: 3, readerId: null },
  ],
};

function worldOf(): World {
  const { model, faults } = readSchema(sdl);
  if (!model) throw new Error(faults.map(({ message }) => message).join('\n'));
  const named: Readonly<Record<string, Row[]>> = data;
  const rows = new Map(model.resources.map((each) => [each, named[each.plural] ?? []]));
  return { sdl, model, data, rows, logic: {} };
}

const choice = fc.nat({ max: 1000 });
const change = fc.record({
  do: fc.constantFrom('update', 'update', 'update', 'update', 'create', 'delete', 'restore'),
  resource: choice,
  row: choice,
  column: choice,
  value: choice,
});
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

/** Values that other rows have. Whether it succeeds does not matter: what fails has not happened. */
async function perform(app: AppUnderTest, { model, rows }: World, given: Change): Promise<void> {
  const resource = pick(model.resources, given.resource);
  const own = rows.get(resource) ?? [];
  const { key, columns, path } = resource;
  const row = pick(own, given.row);
  const editable = columns.filter((column) => column !== key);
  const at = `/${path}/${row[key.name]}`;
  if (given.do === 'delete') await app.rest('DELETE', at);
  else if (given.do === 'restore') await app.rest('POST', `${at}/restore`);
  else if (given.do === 'create')
    await app.rest('POST', `/${path}`, Object.fromEntries(editable.map(({ name }) => [name, row[name]])));
  else {
    const { name } = pick(editable, given.column);
    await app.rest('PUT', at, { [name]: pick(own, given.value)[name] });
  }
}

/** What was asked for, and how to ask for it again. */
interface Asked {
  readonly text: string;
  readonly plain: () => Promise<unknown>;
  readonly open: () => Promise<Listener>;
}

/** Most filters leave little, and then nothing below it matters. */
function unfiltered<Q extends Pick<QueryChoices, 'where' | 'offset' | 'shape'>>(choices: Q): Q {
  const include = choices.shape.include.map(unfiltered);
  return { ...choices, where: undefined, offset: undefined, shape: { ...choices.shape, include } };
}

/** Has the doors write the queries, and notes them. */
async function askedOf(app: AppUnderTest, world: World, queries: readonly QueryChoices[]): Promise<Asked[]> {
  const asked: Asked[] = [];
  const noted: AppUnderTest = {
    ...app,
    rest: async (method, path) => {
      const plain = async () => {
        const { status, body } = await app.rest(method, path);
        return status === 200 ? body : status;
      };
      asked.push({ text: path, plain, open: () => Listener.open(app, path) });
      return app.rest(method, path);
    },
    graphql: async (query, variables) => {
      const live = query.replace(/^(query[^{]*)\{/, '$1@live {');
      const plain = async () => (await app.graphql(query, variables)).body;
      const text = `${query} ${JSON.stringify(variables)}`;
      asked.push({ text, plain, open: () => Listener.ask(app, live, variables) });
      return app.graphql(query, variables);
    },
  };
  const resolver = new Resolver(world);
  const nowhere = async () => undefined;
  for (const [index, given] of queries.entries()) {
    const choices = index % 3 === 0 ? given : unfiltered(given);
    const resource: Resource = pick(world.model.resources, choices.resource);
    const door = index % 2 === 0 ? new Rest() : new Graphql();
    if (choices.kind === 'aggregate') {
      const numbers = await resolver.aggregates(resource, choices, nowhere);
      await door.aggregate(noted, resource, numbers, choices.brackets);
      continue;
    }
    const shape = await resolver.shape(resource, choices.shape, nowhere);
    const row = world.rows.get(resource)?.[choices.choice % 10];
    if (choices.kind === 'one' && row) {
      await door.one(noted, resource, row[resource.key.name], shape);
      continue;
    }
    const { count, brackets } = choices;
    const part = resolver.part(resource, choices);
    const offset = part.limit === undefined ? undefined : part.offset;
    await door.list(noted, { resource, shape, count, brackets, ...part, offset });
  }
  return asked;
}

interface Watched extends Asked {
  readonly listener: Listener;
  shown: unknown;
}

/** Waits until what is shown is the plain answer of now. */
async function settle(watched: Watched): Promise<void> {
  const { listener, plain, text } = watched;
  const wanted = await plain();
  const follow = async () => {
    while (!isDeepStrictEqual(watched.shown, wanted)) {
      const event = await listener.next();
      if (!event) throw new Error('the stream has ended');
      if (event.event !== 'headers')
        watched.shown = event.event === 'problem' ? event.data.status : event.data;
    }
  };
  await within(15_000, follow()).catch(() => {
    const shown = JSON.stringify(watched.shown);
    throw new Error(`${text}\nis ${JSON.stringify(wanted)}\nand shown as ${shown}`);
  });
}

describe.each([...databases])('on %s', (database) => {
  test('a live answer at rest is the plain answer', async () => {
    const world = worldOf();
    const app = await openApp(database, { sdl, data });
    const plan = fc.record({
      queries: fc.array(queryChoices, { minLength: 12, maxLength: 12, size: 'max' }),
      changes: fc.array(change, { minLength: 6, maxLength: 6, size: 'max' }),
    });
    await fc.assert(
      fc.asyncProperty(plan, async ({ queries, changes }) => {
        const watched: Watched[] = [];
        try {
          for (const each of await askedOf(app, world, queries)) {
            const listener = await each.open();
            const { status } = listener.response;
            if (status === 200) watched.push({ ...each, listener, shown: undefined });
            else expect([each.text, status]).toEqual([each.text, await each.plain()] as any);
          }
          for (const each of watched) await settle(each);
          // One by one: what comes later would make up for what was missed.
          for (const each of changes) {
            await perform(app, world, each);
            for (const one of watched) await settle(one);
          }
        } finally {
          for (const { listener } of watched) await listener[Symbol.asyncDispose]();
        }
      }),
      { numRuns: RUNS[database], endOnFailure: true },
    );
    await app.close();
  }, 300_000);

  test('worlds that differ only in what is hidden show the same', async () => {
    const sdl = `
      type Club @resource @journal
        @allow(to: [READ], where: { members: { some: { who: { eq: { claim: "sub" } } } } })
        @allow(to: [READ, CREATE, UPDATE, DELETE], role: "admin")
      { name: ID! @key note: Int! @default(value: 0) secret: Int @allow(to: [READ, CREATE, UPDATE], role: "admin") members: [Member!]! }
      type Member @resource @journal
        @allow(to: [READ], where: { who: { eq: { claim: "sub" } } })
        @allow(to: [READ, CREATE, UPDATE, DELETE], role: "admin")
      { name: ID! @key who: String! rank: Int! @default(value: 0) club: Club @onDelete(do: CASCADE) }`;
    const app = await openApp(database, { sdl, env: { AUTH_SECRET: SECRET } });
    const admin = await headersOf({ name: 'root', claims: { sub: 'root', roles: ['admin'] } });
    let world = 0;
    const step = fc.record({
      isHidden: fc.boolean(),
      do: fc.constantFrom('note', 'secret', 'rank', 'join', 'leave', 'club'),
      value: fc.nat({ max: 3 }),
    });
    /** What eve is shown of it, with hidden steps or without them. */
    const shownIn = async (
      steps: readonly { isHidden: boolean; do: string; value: number }[],
      isAll: boolean,
    ) => {
      const eve = `eve${++world}`;
      const own = await headersOf({ name: eve, claims: { sub: eve } });
      const send = (method: string, path: string, body?: object) => app.rest(method, path, body, admin);
      const name = (text: string) => `${text}-${world}`;
      for (const kind of ['seen', 'hidden'])
        await send('POST', '/clubs', {
          name: name(kind),
          members:
            kind === 'seen'
              ? [
                  { name: name('eve'), who: eve },
                  { name: name('bob'), who: 'bob' },
                ]
              : [],
        });
      const path = '/clubs?include=members&sort=-note';
      const query =
        'query @live { clubs(orderBy: [{ note: DESC }]) { note members { rank } membersAggregate { count sum { rank } } } }';
      const streams = [await Listener.open(app, path, own), await Listener.ask(app, query, {}, own)];
      const events: string[][] = streams.map(() => []);
      const read = async () => [
        JSON.stringify((await app.rest('GET', path, undefined, own)).body),
        JSON.stringify({ data: (await app.graphql(query.replace('@live', ''), {}, own)).data }),
      ];
      let before: string[] = [];
      /** Each event that is due, and so none that is not: that would come first. */
      const settle = async () => {
        const now = await read();
        for (const [index, stream] of streams.entries())
          if (now[index] !== before[index])
            events[index]?.push(
              JSON.stringify((await stream.next())?.data)
                .replaceAll(`-${world}`, '')
                .replaceAll(eve, 'eve'),
            );
        before = now;
      };
      await settle();
      for (const { isHidden, do: kind, value } of steps) {
        if (isHidden && !isAll) continue;
        const of = name(isHidden ? 'hidden' : 'seen');
        const who = name(isHidden ? 'bob' : 'eve');
        if (kind === 'note') await send('PUT', `/clubs/${of}`, { note: value });
        else if (kind === 'secret') await send('PUT', `/clubs/${name('seen')}`, { secret: value });
        else if (kind === 'rank') await send('PUT', `/members/${who}`, { rank: value });
        else if (kind === 'join')
          await send('POST', '/members', { name: who, who: isHidden ? 'bob' : eve, clubId: name('seen') });
        else if (kind === 'leave') await send('DELETE', `/members/${who}`);
        else await send('POST', '/clubs', { name: name(`hidden${value}`), note: value });
        if (!isHidden) await settle();
      }
      for (const stream of streams) await stream[Symbol.asyncDispose]();
      return events;
    };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 8, size: 'max' }), async (steps) => {
        expect(await shownIn(steps, true)).toEqual(await shownIn(steps, false));
      }),
      { numRuns: database === 'sqlite' ? 6 : 3, endOnFailure: true },
    );
    await app.close();
  }, 300_000);
});
