/** Whatever the rules are, a record is judged by its new values and by what was stored before it: it never justifies itself. */

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type AppUnderTest, type Doors, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';
import {
  type Claims,
  Judge,
  marks,
  type Row,
  type Rules,
  requests,
  rules,
  type State,
  sdlOf,
  states,
  type Write,
} from './judged-world.ts';

const doors = ['rest', 'graphql'] as const;
const callers: readonly (Claims & { readonly sub: string })[] = [{ sub: 'ann', points: 2 }, { sub: 'bob' }];

/** What was told, in one word; undefined when it was done. */
async function send(
  app: Doors,
  door: (typeof doors)[number],
  writes: readonly Write[],
  headers: Record<string, string>,
): Promise<string | undefined> {
  const code = await (door === 'rest' ? byRest(app, writes, headers) : byGraphql(app, writes, headers));
  return code === 'FORBIDDEN' || code === 'UNAUTHENTICATED' ? 'denied' : code;
}

function operationOf(write: Write) {
  switch (write.do) {
    case 'create':
      return { method: 'POST', path: '/seats', body: write.rows[0] };
    case 'upsert':
      return { method: 'POST', path: '/seats?upsert=tag', body: write.rows[0] };
    case 'create many':
      return { method: 'POST', path: '/seats', body: write.rows };
    case 'nest':
      return { method: 'POST', path: '/clubs', body: { ...write.club, seats: write.rows } };
    case 'update':
      return { method: 'PUT', path: `/seats/${write.id}`, body: write.set };
    case 'update many':
      return { method: 'PUT', path: '/seats', where: write.where, atMost: 99, body: write.set };
  }
}

async function byRest(app: Doors, writes: readonly Write[], headers: Record<string, string>) {
  const operations = writes.map(operationOf);
  const [only, ...others] = operations;
  const isLone = only && others.length === 0 && !Array.isArray(only.body) && !('where' in only);
  const { status, body } = isLone
    ? await app.rest(only.method, only.path, only.body, headers)
    : await app.rest('POST', '/transaction', { operations }, headers);
  return status < 300 ? undefined : String(body.code);
}

function fieldOf(write: Write): string {
  switch (write.do) {
    case 'create':
      return `createSeat(${members(write.rows[0])}) { id }`;
    case 'upsert':
      return `upsertSeat(by: tag, ${members(write.rows[0])}) { id }`;
    case 'create many':
      return `createSeats(records: ${value('', write.rows)}) { id }`;
    case 'nest':
      return `createClub(${members({ ...write.club, seats: write.rows })}) { id }`;
    case 'update':
      return `updateSeat(id: ${write.id}, ${members(write.set)}) { id }`;
    case 'update many':
      return `updateSeats(where: ${value('', write.where)}, set: ${value('', write.set)}, atMost: 99) { id }`;
  }
}

async function byGraphql(app: Doors, writes: readonly Write[], headers: Record<string, string>) {
  const names = ['a', 'b', 'c'];
  const fields = writes.map((write, index) => `${names[index]}: ${fieldOf(write)}`);
  const { errors } = await app.graphql(`mutation @atomic { ${fields.join(' ')} }`, {}, headers);
  return errors?.[0] && String(errors[0].extensions.code);
}

const members = (row: Row) =>
  Object.entries(row)
    .map(([name, each]) => `${name}: ${value(name, each)}`)
    .join(', ');

function value(name: string, each: unknown): string {
  if (Array.isArray(each)) return `[${each.map((item) => value(name, item)).join(', ')}]`;
  if (typeof each === 'object' && each !== null)
    return `{ ${Object.entries(each)
      .map(([inner, item]) => `${inner}: ${value(inner === 'eq' ? name : inner, item)}`)
      .join(', ')} }`;
  return name === 'rank' ? String(each) : JSON.stringify(each);
}

async function stored(app: Doors): Promise<State> {
  const read = async (path: string) => (await app.rest('GET', path)).body as Row[];
  return { clubs: await read('/clubs'), seats: await read('/seats') };
}

/** Without the keys of what is new, which only the database knows. */
function comparable({ clubs, seats }: State, known: State) {
  const isKnown = (rows: readonly Row[], id: unknown) => rows.some((row) => row['id'] === id);
  const plain = (rows: readonly Row[], old: readonly Row[]) =>
    rows
      .map((row) => ({
        ...row,
        id: isKnown(old, row['id']) ? row['id'] : 'new',
        ...('clubId' in row &&
          row['clubId'] !== null &&
          !isKnown(known.clubs, row['clubId']) && { clubId: 'new' }),
      }))
      .map((row) => JSON.stringify(Object.entries(row).sort()))
      .sort();
  return { clubs: plain(clubs, known.clubs), seats: plain(seats, known.seats) };
}

/** Whether a write names only what is there already: what an earlier one of the same request makes has a key nobody knows. */
function isOfBefore(write: Write, { clubs, seats }: State): boolean {
  const isThere = (rows: readonly Row[], id: unknown) => id == null || rows.some((row) => row['id'] === id);
  const given = 'rows' in write ? write.rows : [write.set];
  return (
    given.every(({ clubId, bossId }) => isThere(clubs, clubId) && isThere(seats, bossId)) &&
    (write.do !== 'update' || isThere(seats, write.id))
  );
}

async function judged(app: AppUnderTest, made: Rules, sent: readonly Write[][]): Promise<void> {
  const operator = app.unguarded();
  let state = await stored(operator);
  for (const [index, writes] of sent.entries()) {
    if (writes.length > 1 && !writes.every((write) => isOfBefore(write, state))) continue;
    const claims = callers[index % callers.length] ?? { sub: '' };
    const door = doors[(index >> 1) % doors.length] ?? 'rest';
    const headers = await headersOf({ name: `${claims.sub} judged`, claims });
    const expected = new Judge(made, claims).expected(writes, state);
    app.statements.length = 0;
    const told = await send(app, door, writes, headers);
    const tried = app.statements.filter((sql) => /^(INSERT INTO|UPDATE) "(Seat|Club|seat|club)/i.test(sql));
    const after = await stored(operator);
    const context = `${claims.sub} by ${door}: ${JSON.stringify(writes)} on ${JSON.stringify(state)}`;
    if ('state' in expected) {
      expect([context, told]).toEqual([context, undefined]);
      expect([context, comparable(after, state)]).toEqual([context, comparable(expected.state, state)]);
    } else {
      expect([context, expected.told.includes(String(told)) ? expected.told : told]).toEqual([
        context,
        expected.told,
      ]);
      expect([context, after]).toEqual([context, state]);
      if (expected.isUntried && writes.length === 1) expect([context, tried]).toEqual([context, []]);
    }
    state = after;
  }
}

/** A seat is seen for what it was, and no longer for what it becomes: whether its tag is taken is not told. */
const hidesItself: Rules = {
  read: { club: { seats: { some: { who: { ne: 'bob' } } } } },
  create: {},
  update: { club: { level: { gte: 0 } } },
  release: undefined,
  points: {},
};
const seat = { who: 'ann', rank: 'CHAIR', points: null, bossId: null };
const twoSeats: State = {
  clubs: [{ id: 1, open: false, level: 0 }],
  seats: [
    { ...seat, id: 1, clubId: 1, tag: 'taken 0' },
    { ...seat, id: 2, clubId: null, tag: 'taken 1' },
  ],
};

describe.each([...databases])('on %s', (database) => {
  test('rules of any shape, writes of any kind, through both doors', async () => {
    await fc.assert(
      fc.asyncProperty(
        rules,
        states,
        fc.array(requests, { minLength: 8, maxLength: 12 }),
        async (made, data, sent) => {
          const app = await openApp(database, {
            sdl: sdlOf(made),
            data: { ...data, marks },
            env: { AUTH_SECRET: SECRET },
          });
          try {
            await judged(app, made, sent);
          } finally {
            await app.close();
          }
        },
      ),
      {
        numRuns: database === 'sqlite' ? 150 : 25,
        interruptAfterTimeLimit: 40_000,
        examples: [
          [hidesItself, twoSeats, [[{ do: 'update many', where: {}, set: { who: 'bob', tag: 'taken 1' } }]]],
        ],
      },
    );
  }, 120_000);
});
