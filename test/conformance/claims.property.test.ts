/** Whatever a rule asks of a claim, and however deep: who does not bring the claim gains nothing by it, by no `not` or `none` either. */

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { literal } from './access-doors.ts';
import { headersOf, SECRET } from './access-matrix.ts';

type Row = Readonly<Record<string, any>>;
type Where = Readonly<Record<string, any>>;
type Claims = Readonly<Record<string, unknown>>;
type Type = 'docs' | 'bans' | 'tags' | 'teams' | 'members';

interface Rules {
  readonly see: Where;
  readonly write: Where;
  /** Who may read and change `secret`. */
  readonly field: Where;
  readonly create: Where;
}

/** One kind of document for each set of rules, so that many are asked in one application. */
const sdlOf = (made: readonly Rules[]) => `
type Team @resource @allow(to: [READ]) { id: ID!  name: String!  open: Boolean!  members: [Member!]! }
type Member @resource @allow(to: [READ]) { id: ID!  who: String!  team: Team! }
type Tag @resource @allow(to: [READ]) { id: ID!  name: String! }
${made
  .map(
    ({ see, write, field, create }, n) => `
type Doc${n} @resource
  @allow(to: [READ], where: ${literal('', see)})
  @allow(to: [UPDATE, DELETE], where: ${literal('', write)})
  @allow(to: [CREATE], where: ${literal('', create)})
{
  id: ID!  owner: String  level: Int  labels: [String!]  team: Team
  secret: String @allow(to: [READ, UPDATE], where: ${literal('', field)})
  bans: [Ban${n}!]!
  tags: [Tag!]! @through(type: "Link${n}")
}
type Ban${n} @resource @allow(to: [READ]) { id: ID!  who: String  active: Boolean!  doc: Doc${n} @onDelete(do: CASCADE) }
type Link${n} @resource @unique(fields: ["doc", "tag"]) { id: ID!  doc: Doc${n} @onDelete(do: CASCADE)  tag: Tag }`,
  )
  .join('')}`;

const teams = [
  { id: 1, name: 'ann', open: true },
  { id: 2, name: 'red', open: false },
];
const members = [{ id: 1, who: 'bob', teamId: 1 }];
const tags = [
  { id: 1, name: 'ann' },
  { id: 2, name: 'bob' },
];
/** The first two have nothing related to them. */
const docs: readonly Row[] = [
  { id: 1, owner: null, level: null, labels: null, teamId: null },
  { id: 2, owner: 'ann', level: 2, labels: [], teamId: null },
  { id: 3, owner: 'bob', level: 2, labels: ['ann', 'bob'], teamId: 1 },
  { id: 4, owner: 'cid', level: 0, labels: ['cid'], teamId: 2 },
].map((row) => ({ ...row, secret: 'kept' }));
const bans: readonly Row[] = [
  { id: 1, who: 'ann', active: true, docId: 3 },
  { id: 2, who: 'bob', active: false, docId: 4 },
];
const links: readonly Row[] = [
  { id: 1, docId: 3, tagId: 1 },
  { id: 2, docId: 4, tagId: 2 },
];

/** Of each claim: there and fitting, missing, null, of another kind, saying nothing. */
const callers: readonly { readonly name: string; readonly claims?: Claims & { readonly sub: string } }[] = [
  { name: 'claims nobody' },
  { name: 'claims ann', claims: { sub: 'ann', level: '2', names: ['ann', 'bob'], start: 'a', none: [] } },
  { name: 'claims bob', claims: { sub: 'bob', level: 'high', names: [], start: '' } },
  { name: 'claims cid', claims: { sub: 'cid', level: null, names: ['cid', { no: 1 }] } },
];

const listOf = (claim: unknown): unknown[] => (Array.isArray(claim) ? claim : [claim]);

/** The value that the operand stands for; undefined when it is a claim that cannot be one. */
function operandOf(column: string, operator: string, operand: any, claims: Claims): any {
  if (Array.isArray(operand)) {
    const each = operand.map((one) => operandOf(column, operator, one, claims));
    return each.includes(undefined) ? undefined : each.flat();
  }
  if (operand?.claim === undefined) return operand;
  const given = listOf(claims[operand.claim] ?? undefined).map((each) => {
    if (column === 'level') return Number.isInteger(Number(each)) ? Number(each) : undefined;
    return typeof each === 'string' ? each : undefined;
  });
  if (given.includes(undefined)) return undefined;
  if (operator === 'in' || operator === 'hasSome') return given;
  if (operator === 'hasEvery') return given.length > 0 ? given : undefined;
  if (given.length !== 1 || (operator === 'startsWith' && given[0] === '')) return undefined;
  return given[0];
}

function compares(stored: any, operator: string, other: any): boolean {
  switch (operator) {
    case 'isNull':
      return (stored === null) === other;
    case 'ne':
      return stored !== other;
    case 'in':
      return other.includes(stored);
    case 'startsWith':
      return stored?.startsWith(other) ?? false;
    case 'has':
      return stored?.includes(other) ?? false;
    case 'hasSome':
      return stored !== null && other.some((each: unknown) => stored.includes(each));
    case 'hasEvery':
      return stored?.length >= 0 && other.every((each: unknown) => stored.includes(each));
    default:
      return stored === other;
  }
}

const targets: Readonly<Record<string, Type>> = {
  team: 'teams',
  bans: 'bans',
  tags: 'tags',
  members: 'members',
};

function related(name: string, row: Row): readonly Row[] {
  if (name === 'team') return teams.filter(({ id }) => id === row['teamId']);
  if (name === 'members') return members.filter(({ teamId }) => teamId === row['id']);
  if (name === 'bans') return bans.filter(({ docId }) => docId === row['id']);
  const linked = links.filter(({ docId }) => docId === row['id']);
  return tags.filter(({ id }) => linked.some(({ tagId }) => tagId === id));
}

/** Whether something in it asks for a claim that is not to be had. */
function lacks(where: Where, claims: Claims): boolean {
  return Object.entries(where).some(([name, inner]) => {
    if (name === 'and' || name === 'or') return inner.some((each: Where) => lacks(each, claims));
    if (name === 'not' || name === 'team') return lacks(inner, claims);
    if (targets[name]) return Object.values<Where>(inner).some((each) => lacks(each, claims));
    return Object.entries(inner).some(
      ([operator, operand]) => operandOf(name, operator, operand, claims) === undefined,
    );
  });
}

/** Three values in two: what lacks a claim holds as little as its `not` does. Without a row: whether it could hold for any. */
function holds(row: Row | undefined, where: Where, claims: Claims): boolean {
  return Object.entries(where).every(([name, inner]) => {
    if (name === 'and') return inner.every((each: Where) => holds(row, each, claims));
    if (name === 'or') return inner.some((each: Where) => holds(row, each, claims));
    if (name === 'not') return !lacks(inner, claims) && !(row && holds(row, inner, claims));
    const some = (each: Where) =>
      row ? related(name, row).some((other) => holds(other, each, claims)) : holds(row, each, claims);
    if (name === 'team') return some(inner);
    if (targets[name])
      return Object.entries<Where>(inner).every(([quantifier, each]) =>
        quantifier === 'some' ? some(each) : !lacks(each, claims) && !(row && some(each)),
      );
    return Object.entries(inner).every(([operator, operand]) => {
      const other = operandOf(name, operator, operand, claims);
      return other !== undefined && (!row || compares(row[name], operator, other));
    });
  });
}

const sub = { claim: 'sub' };
const names = { claim: 'names' };
const own: Readonly<Record<Type, readonly Where[]>> = {
  docs: [
    { owner: { eq: sub } },
    { owner: { ne: sub } },
    { owner: { in: names } },
    { owner: { startsWith: { claim: 'start' } } },
    { level: { eq: { claim: 'level' } } },
    { labels: { has: sub } },
    { labels: { hasSome: names } },
    { labels: { hasEvery: names } },
    { labels: { hasEvery: [sub, names] } },
    { owner: { isNull: true } },
    { level: { ne: 2 } },
  ],
  bans: [{ who: { eq: sub } }, { who: { in: names } }, { who: { eq: sub }, active: { eq: true } }, {}],
  tags: [{ name: { eq: sub } }, { name: { in: names } }],
  teams: [{ name: { eq: sub } }, { name: { startsWith: { claim: 'start' } } }, { open: { eq: true } }],
  members: [{ who: { eq: sub } }, { who: { ne: 'bob' } }],
};

/** `isNew`: of a record that has no lists yet. */
function wheres(type: Type, depth: number, isNew = false): fc.Arbitrary<Where> {
  const plain = fc.constantFrom(...own[type].filter((each) => Object.keys(each).length > 0));
  if (depth === 0) return plain;
  const inner = (of: Type) => wheres(of, depth - 1);
  const list = (name: string, of: Type) =>
    fc
      .tuple(fc.constantFrom('some', 'none', 'none'), fc.oneof(fc.constantFrom(...own[of]), inner(of)))
      .map(([quantifier, where]): Where => ({ [name]: { [quantifier]: where } }));
  const reached: fc.Arbitrary<Where>[] =
    type === 'docs'
      ? [
          inner('teams').map((team) => ({ team })),
          ...(isNew ? [] : [list('bans', 'bans'), list('tags', 'tags')]),
        ]
      : type === 'teams'
        ? [list('members', 'members')]
        : [];
  const same = wheres(type, depth - 1, isNew);
  const several = fc.array(same, { minLength: 2, maxLength: 2 });
  return fc.oneof(
    plain,
    ...reached,
    ...reached,
    several.map((and) => ({ and })),
    several.map((or) => ({ or })),
    same.map((not) => ({ not })),
    same.map((not) => ({ not })),
  );
}

const rules: fc.Arbitrary<Rules> = fc.record({
  see: fc.oneof(fc.constant({}), wheres('docs', 3)),
  write: wheres('docs', 3),
  field: wheres('docs', 2),
  create: wheres('docs', 3, true),
});

const notBanned = { bans: { none: { who: { eq: sub }, active: { eq: true } } } };
const notInTeam = { not: { team: { name: { eq: sub } } } };
const examples: [Rules[]][] = [
  [
    [
      { see: notBanned, write: notBanned, field: notBanned, create: notInTeam },
      { see: {}, write: notInTeam, field: notInTeam, create: notInTeam },
      { see: {}, write: { bans: { none: { not: { who: { eq: sub } } } } }, field: {}, create: {} },
      { see: {}, write: { tags: { none: { name: { in: names } } } }, field: {}, create: {} },
      { see: { or: [notBanned, { level: { ne: 2 } }] }, write: {}, field: {}, create: {} },
      { see: { labels: { hasEvery: [names, { claim: 'none' }] } }, write: {}, field: {}, create: {} },
    ],
  ],
];

const fresh: readonly Row[] = [
  { owner: 'ann', level: 2, teamId: 1 },
  { owner: 'bob', level: 0, teamId: null },
];

class World {
  readonly #app: AppUnderTest;
  readonly #rules: readonly Rules[];
  readonly #docs: Row[][];

  constructor(app: AppUnderTest, made: readonly Rules[]) {
    this.#app = app;
    this.#rules = made;
    this.#docs = made.map(() => [...docs]);
  }

  async asked(): Promise<void> {
    for (const [index, { name, claims }] of callers.entries()) {
      const headers = await headersOf({ name, claims });
      const told = (await this.#app.rest('GET', '/access.json', undefined, headers)).body;
      for (const [n, made] of this.#rules.entries()) {
        const could = (rule: keyof Rules) => holds(undefined, made[rule], claims ?? {});
        const may = could('see')
          ? ['READ', ...(could('create') ? ['CREATE'] : []), ...(could('write') ? ['UPDATE', 'DELETE'] : [])]
          : [];
        const context = `${name}: ${JSON.stringify(made)}`;
        expect([context, told[`Doc${n}`]]).toEqual([context, may]);
        await this.#reads(n, claims, headers, context);
        await this.#writes(n, index, claims, headers, context);
      }
    }
  }

  async #reads(n: number, claims: Claims | undefined, headers: Record<string, string>, context: string) {
    const { see, field } = this.#rules[n] as Rules;
    const path = `/doc${n}s?fields=id,secret&count=true&sort=id`;
    const answer = await this.#app.rest('GET', path, undefined, headers);
    const { data, errors } = await this.#app.graphql(
      `{ it: doc${n}s(orderBy: [{ id: ASC }]) { id } }`,
      {},
      headers,
    );
    const said = claims ?? {};
    if (!claims && !holds(undefined, see, said)) {
      expect([context, answer.status, errors?.[0].extensions.code]).toEqual([
        context,
        401,
        'UNAUTHENTICATED',
      ]);
      return;
    }
    const seen = this.#docs[n]?.filter((row) => holds(row, see, said)) ?? [];
    const shown = seen.map((row) =>
      holds(row, field, said) ? { id: row['id'], secret: row['secret'] } : { id: row['id'] },
    );
    expect([context, answer.body]).toEqual([context, shown]);
    expect([context, answer.headers.get('X-Total-Count')]).toEqual([context, String(seen.length)]);
    expect([context, data?.it]).toEqual([context, seen.map(({ id }) => ({ id: String(id) }))]);
  }

  async #writes(
    n: number,
    turn: number,
    claims: Claims | undefined,
    headers: Record<string, string>,
    context: string,
  ) {
    const { see, write, field, create } = this.#rules[n] as Rules;
    const said = claims ?? {};
    const isClosed = (rule: Where) =>
      !claims && !(holds(undefined, see, said) && holds(undefined, rule, said));
    const tell = (row: Row, rule: Where, more: Where = {}) => {
      if (isClosed(rule)) return 'denied';
      if (!holds(row, see, said)) return 'NOT_FOUND';
      return holds(row, rule, said) && holds(row, more, said) ? undefined : 'denied';
    };
    const stored = this.#docs[n] ?? [];
    for (const [place, row] of [...stored].entries()) {
      const change = { secret: `by ${turn}` };
      const expected = tell(row, write, field);
      expect([
        context,
        place,
        await this.#send('update', n, row['id'], change, turn + place, headers),
      ]).toEqual([context, place, [expected]]);
      if (!expected) stored[place] = { ...row, ...change };
    }
    const last = stored.at(-1) as Row;
    const expected = tell(last, write);
    expect([context, await this.#send('delete', n, last['id'], {}, turn + n, headers)]).toEqual([
      context,
      [expected],
    ]);
    if (!expected) stored.pop();
    for (const [place, given] of fresh.entries()) {
      const row = { labels: null, secret: null, ...given };
      const mayCreate = !isClosed(create) && holds(row, create, said) && holds(row, see, said);
      const [code, id] = await this.#send('create', n, 0, given, turn + place, headers);
      expect([context, given, code]).toEqual([context, given, mayCreate ? undefined : 'denied']);
      if (mayCreate) stored.push({ ...row, id });
    }
  }

  /** Through either door in turn: what was told, undefined when it was done, and the key of what was made. */
  async #send(
    what: 'create' | 'update' | 'delete',
    n: number,
    id: number,
    input: Row,
    turn: number,
    headers: Record<string, string>,
  ): Promise<[code: string | undefined, id?: number]> {
    const plainly = (code: string) => (code === 'FORBIDDEN' || code === 'UNAUTHENTICATED' ? 'denied' : code);
    if (turn % 2 === 0) {
      const method = { create: 'POST', update: 'PUT', delete: 'DELETE' }[what];
      const path = what === 'create' ? `/doc${n}s` : `/doc${n}s/${id}`;
      const body = what === 'delete' ? undefined : input;
      const answer = await this.#app.rest(method, path, body, headers);
      if (answer.status >= 300) return [plainly(answer.body.code)];
      return what === 'create' ? [undefined, answer.body.id] : [undefined];
    }
    const args = Object.entries({ ...(what !== 'create' && { id }), ...input });
    const given = args.map(([name, value]) => `${name}: ${literal('', value)}`).join(', ');
    const { data, errors } = await this.#app.graphql(
      `mutation { it: ${what}Doc${n}(${given}) { id } }`,
      {},
      headers,
    );
    if (errors) return [plainly(errors[0].extensions.code)];
    return what === 'create' ? [undefined, Number(data.it.id)] : [undefined];
  }
}

describe.each([...databases])('on %s', (database) => {
  test('rules of any shape, callers with and without the claims, through both doors', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(rules, { minLength: 6, maxLength: 6 }), async (made) => {
        const each = (rows: readonly Row[], name: string) =>
          Object.fromEntries(made.map((_, n) => [`${name}${n}s`, rows]));
        const data = {
          teams,
          members,
          tags,
          ...each(docs, 'doc'),
          ...each(bans, 'ban'),
          ...each(links, 'link'),
        };
        const app = await openApp(database, { sdl: sdlOf(made), data, env: { AUTH_SECRET: SECRET } });
        try {
          await new World(app, made).asked();
        } finally {
          await app.close();
        }
      }),
      {
        numRuns: database === 'sqlite' ? 8 : 3,
        interruptAfterTimeLimit: 30_000,
        endOnFailure: true,
        examples,
      },
    );
  }, 60_000);
});
