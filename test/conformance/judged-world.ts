/** Clubs and their seats under rules that are made up anew each time, and in plain code what such rules mean for a write. */

import fc from 'fast-check';
import { caseless } from './reading-plain.ts';

export type Row = Record<string, unknown>;
export type Where = Readonly<Record<string, any>>;
export type Type = 'clubs' | 'seats';
export type State = Readonly<Record<Type, readonly Row[]>>;
export type Claims = Readonly<Record<string, unknown>>;

export interface Rules {
  readonly read: Where;
  readonly create: Where;
  readonly update: Where;
  /** Another way to update: what is so before, and what must be so after. */
  readonly release: { readonly where: Where; readonly check: Where } | undefined;
  /** Who may give or change `points`. */
  readonly points: Where;
}

export const sdlOf = ({ read, create, update, release, points }: Rules) => `
enum Rank { CHAIR MEMBER }
type Club @resource @allow(to: [READ, CREATE, UPDATE]) {
  id: ID!
  open: Boolean!
  level: Int
  seats: [Seat!]!
}
type Seat @resource
  @allow(to: [READ], where: ${literal(read)})
  @allow(to: [CREATE], where: ${literal(create)})
  @allow(to: [UPDATE], where: ${literal(update)})
  ${release ? `@allow(to: [UPDATE], where: ${literal(release.where)}, check: ${literal(release.check)})` : ''}
{
  id: ID!
  who: String! @caseless
  rank: Rank!
  points: Decimal @decimal(scale: 1) @allow(to: [CREATE, UPDATE], where: ${literal(points)})
  tag: String @unique @caseless
  club: Club
  boss: Seat
  staff: [Seat!]! @inverse(of: "boss")
  marks: [Mark!]! @through(type: "Marking")
}
type Mark @resource @allow(to: [READ]) { id: ID! }
type Marking @resource @allow(to: [READ, CREATE, DELETE]) @unique(fields: ["seat", "mark"]) {
  id: ID!
  seat: Seat @onDelete(do: CASCADE)
  mark: Mark!
}`;

/** No rule asks for the marks of a seat: whoever changes them, too, may do what it may without. */
export const marks: readonly Row[] = [{ id: 1 }, { id: 2 }];

export function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([name, each]) => `${name}: ${literal(each)}`)
    .join(', ')} }`;
}

const relations: Readonly<Record<Type, Readonly<Record<string, readonly [column: string, Type]>>>> = {
  clubs: {},
  seats: { club: ['clubId', 'clubs'], boss: ['bossId', 'seats'] },
};
const lists: Readonly<Record<string, string>> = { seats: 'clubId', staff: 'bossId' };

/** Whether a row of values matches, when everything that it leads to is as in this state. */
export function matches(type: Type, row: Row, where: Where, state: State, claims: Claims): boolean {
  return Object.entries(where).every(([name, inner]) => {
    const again = (of: Type, each: Row, filter: Where) => matches(of, each, filter, state, claims);
    if (name === 'and') return inner.every((each: Where) => again(type, row, each));
    if (name === 'or') return inner.some((each: Where) => again(type, row, each));
    if (name === 'not') return !lacks(inner, claims) && !again(type, row, inner);
    const [column, target] = relations[type][name] ?? [];
    if (column && target) {
      const found = state[target].find(({ id }) => id === row[column]);
      return found !== undefined && again(target, found, inner);
    }
    const by = lists[name];
    if (by) {
      const members = state.seats.filter((each) => each[by] === row['id'] && row['id'] !== undefined);
      return Object.entries<Where>(inner).every(([quantifier, each]) =>
        quantifier === 'some'
          ? members.some((member) => again('seats', member, each))
          : !lacks(each, claims) && !members.some((member) => again('seats', member, each)),
      );
    }
    return Object.entries(inner).every(([operator, operand]) =>
      compares(operator, row[name] ?? null, operand, claims),
    );
  });
}

/** Whether a claim is missing that it asks for: then neither it nor its `not` matches anything. */
function lacks(where: Where, claims: Claims): boolean {
  const asked = JSON.stringify(where).matchAll(/\{"claim":"(\w+)"\}/g);
  return [...asked].some(([, claim = '']) => claims[claim] === undefined);
}

function compares(operator: string, stored: any, operand: any, claims: Claims): boolean {
  const claim = operand?.claim as string | undefined;
  if (claim !== undefined && claims[claim] === undefined) return false;
  const value = comparable(stored);
  const other = comparable(claim === undefined ? operand : claims[claim]);
  switch (operator) {
    case 'isNull':
      return (value === null) === other;
    case 'ne':
      return value !== other;
    case 'gte':
      return value !== null && value >= other;
    default:
      return value === other;
  }
}

/** Exact numbers are texts; those of this world have few digits. All other text is without letter case, or has no other. */
function comparable(value: any): any {
  if (typeof value !== 'string') return value;
  return /^-?\d+(\.\d)?$/.test(value) ? Number(value) : caseless(value);
}

const who = fc.constantFrom('ann', 'Ann', 'bob', 'BOB');
const rank = fc.constantFrom('CHAIR', 'MEMBER');
const small = fc.integer({ min: 0, max: 3 });
/** Neither in the order of their texts, nor all of one sign. */
const points = fc.constantFrom('0.0', '-0.5', '2.0', '10.0');

/** `isNew`: of a record that is being created, whose own lists and id nothing may ask for. */
function wheres(type: Type, depth: number, isNew: boolean): fc.Arbitrary<Where> {
  const own: fc.Arbitrary<Where>[] =
    type === 'clubs'
      ? [fc.boolean().map((eq) => ({ open: { eq } })), small.map((gte) => ({ level: { gte } }))]
      : [
          fc.constant({ who: { eq: { claim: 'sub' } } }),
          who.map((ne) => ({ who: { ne } })),
          rank.map((eq) => ({ rank: { eq } })),
          points.map((gte) => ({ points: { gte } })),
          fc.boolean().map((isNull) => ({ points: { isNull } })),
          fc.constant({ points: { eq: { claim: 'points' } } }),
        ];
  if (depth === 0) return fc.oneof(...own);
  const inner = (of: Type) =>
    fc.oneof(
      { weight: 1, arbitrary: fc.constant({}) },
      { weight: 5, arbitrary: wheres(of, depth - 1, false) },
    );
  const list = (name: string) =>
    fc
      .tuple(fc.constantFrom('some', 'some', 'none'), inner('seats'))
      .map(([quantifier, where]) => ({ [name]: { [quantifier]: where } }));
  const related: fc.Arbitrary<Where>[] =
    type === 'clubs'
      ? [list('seats')]
      : [
          wheres('clubs', depth - 1, false).map((club) => ({ club })),
          list('seats').map((club) => ({ club })),
          wheres('seats', depth - 1, false).map((boss) => ({ boss })),
          ...(isNew ? [] : [list('staff')]),
        ];
  const several = fc.array(wheres(type, depth - 1, isNew), { minLength: 1, maxLength: 2 });
  return fc.oneof(
    ...own.slice(0, 3),
    ...related,
    ...related,
    several.map((and) => ({ and })),
    several.map((or) => ({ or })),
    wheres(type, depth - 1, isNew).map((not) => ({ not })),
  );
}

const everything: fc.Arbitrary<Where> = fc.constant({});

export const rules: fc.Arbitrary<Rules> = fc.record({
  read: fc.oneof({ weight: 3, arbitrary: everything }, { weight: 2, arbitrary: wheres('seats', 2, false) }),
  create: wheres('seats', 3, true),
  update: fc.oneof({ weight: 1, arbitrary: everything }, { weight: 4, arbitrary: wheres('seats', 3, false) }),
  release: fc.option(
    fc.record({
      where: wheres('seats', 2, false),
      check: fc.oneof(
        { weight: 1, arbitrary: everything },
        { weight: 4, arbitrary: wheres('seats', 2, false) },
      ),
    }),
    {
      nil: undefined,
      freq: 2,
    },
  ),
  points: fc.oneof({ weight: 1, arbitrary: everything }, { weight: 1, arbitrary: wheres('seats', 2, true) }),
});

export const states: fc.Arbitrary<State> = fc.record({
  clubs: fc
    .array(fc.record({ open: fc.boolean(), level: fc.option(small) }), { minLength: 1, maxLength: 2 })
    .map((rows) => rows.map((row, index) => ({ id: index + 1, ...row }))),
  seats: fc
    .array(
      fc.record({
        who,
        rank,
        points: fc.option(points),
        clubId: fc.constantFrom(null, 1),
        bossId: fc.constantFrom(null, 1),
      }),
      { minLength: 1, maxLength: 4 },
    )
    .map((rows) =>
      rows.map((row, index) => ({
        id: index + 1,
        ...row,
        tag: `taken ${index}`,
        bossId: index > 0 ? row.bossId : null,
      })),
    ),
});

/** What a seat is given; what is left out is absent. */
const given = fc.record(
  {
    points: fc.option(points),
    tag: fc.oneof(
      { weight: 4, arbitrary: fc.uuid() },
      { weight: 1, arbitrary: fc.constantFrom('taken 0', 'Taken 1') },
    ),
    clubId: fc.constantFrom(1, 1, 1, 1, 1, 2, null),
    bossId: fc.constantFrom(null, null, 1, 1, 2),
  },
  { requiredKeys: [] },
);
const mark = fc.subarray([1, 2], { minLength: 1 });
const marked = fc.oneof(
  fc.constant({}),
  fc.oneof(
    mark.map((add) => ({ _marks: { add } })),
    mark.map((remove) => ({ _marks: { remove } })),
    mark.map((markIds) => ({ markIds })),
  ),
);
const seat = fc
  .tuple(
    fc.record({ who, rank }),
    given,
    fc.oneof(
      fc.constant({}),
      mark.map((markIds) => ({ markIds })),
    ),
  )
  .map(([needed, more, links]): Row => ({ ...needed, ...more, ...links }));
const change = fc
  .tuple(fc.record({ who, rank }, { requiredKeys: [] }), given, marked)
  .map(([some, more, links]): Row => ({ ...some, ...more, ...links }))
  .filter((row) => Object.keys(row).length > 0);

export type Write =
  | { readonly do: 'create'; readonly rows: readonly [Row] }
  /** By its tag. */
  | { readonly do: 'upsert'; readonly rows: readonly [Row] }
  | { readonly do: 'create many'; readonly rows: readonly Row[] }
  | { readonly do: 'nest'; readonly club: Row; readonly rows: readonly Row[] }
  | { readonly do: 'update'; readonly id: number; readonly set: Row }
  | { readonly do: 'update many'; readonly where: Where; readonly set: Row };

const one: fc.Arbitrary<Write> = fc.oneof(
  seat.map((row) => ({ do: 'create' as const, rows: [row] as const })),
  fc
    .tuple(seat, fc.constantFrom('taken 0', 'TAKEN 1', 'Taken 2', 'free'))
    .map(([row, tag]) => ({ do: 'upsert' as const, rows: [{ ...row, tag }] as const })),
  fc.array(seat, { minLength: 2, maxLength: 3 }).map((rows) => ({ do: 'create many' as const, rows })),
  fc
    .record({ open: fc.boolean(), rows: fc.array(seat, { minLength: 1, maxLength: 2 }) })
    .map(({ open, rows }) => ({
      do: 'nest' as const,
      club: { open },
      rows: rows.map(({ clubId: _, ...row }) => row),
    })),
  fc.record({ do: fc.constant('update' as const), id: fc.integer({ min: 1, max: 4 }), set: change }),
  fc.record({
    do: fc.constant('update many' as const),
    where: fc.oneof(
      everything,
      rank.map((eq) => ({ rank: { eq } })),
    ),
    set: change,
  }),
);

/** Writes that happen together, or one that happens alone. */
export const requests: fc.Arbitrary<Write[]> = fc.oneof(
  { weight: 4, arbitrary: one.map((each) => [each]) },
  { weight: 1, arbitrary: fc.array(one, { minLength: 2, maxLength: 3 }) },
);

/** What must come of it: the state afterwards, or words of which one must be told; whether nothing may even be tried. */
export type Expected =
  | { readonly state: State }
  | { readonly told: readonly string[]; readonly isUntried: boolean };

const no = (...told: string[]): Expected => ({ told, isUntried: false });
/** No statement that writes may be sent. */
const untried: Expected = { told: ['denied'], isUntried: true };

const unmarked = ({ _marks: _, markIds: __, ...row }: Row): Row => row;

let ids = 0;

export class Judge {
  readonly #rules: Rules;
  readonly #claims: Claims;

  constructor(rules: Rules, claims: Claims) {
    this.#rules = rules;
    this.#claims = claims;
  }

  /** Whether the rule for reading could hide a record because of itself. */
  get #mayHide(): boolean {
    return /"(not|none)":/.test(JSON.stringify(this.#rules.read));
  }

  #isReleased(before: Row, after: Row, state: State): boolean {
    const { release } = this.#rules;
    const meets = (where: Where, row: Row) => matches('seats', row, where, state, this.#claims);
    return release !== undefined && meets(release.where, before) && meets(release.check, after);
  }

  #meets(rule: Exclude<keyof Rules, 'release'>, row: Row, state: State): boolean {
    return matches('seats', row, this.#rules[rule], state, this.#claims);
  }

  expected(writes: readonly Write[], before: State): Expected {
    let state = before;
    for (const [index, write] of writes.entries()) {
      const after = this.#one(write, state);
      if (!('state' in after)) {
        const early = writes.some((each) => this.#mayNeverGive(each)) ? ['denied'] : [];
        return { told: [...after.told, ...early], isUntried: index === 0 && after.isUntried };
      }
      state = after.state;
    }
    return { state };
  }

  /** A field that a caller without a claim can never give is told before anything else of the request. */
  #mayNeverGive(write: Write): boolean {
    return (
      lacks(this.#rules.points, this.#claims) && 'rows' in write && write.rows.some((row) => 'points' in row)
    );
  }

  #one(write: Write, state: State): Expected {
    switch (write.do) {
      case 'nest': {
        const club = { id: --ids, level: null, ...write.club };
        const nested = { ...state, clubs: [...state.clubs, club] };
        const rows = write.rows.map((row) => ({ ...row, clubId: club.id }));
        const after = this.#create(rows, nested);
        return 'state' in after ? after : { ...after, isUntried: false };
      }
      case 'upsert': {
        const [row] = write.rows;
        const found = state.seats.filter(({ tag }) => comparable(tag) === comparable(row['tag']));
        const isSeen = found.some((each) => this.#meets('read', each, state));
        return isSeen ? this.#update(found, row, state, true) : this.#create([row], state);
      }
      case 'update':
        return this.#update(
          state.seats.filter(({ id }) => id === write.id),
          write.set,
          state,
          true,
        );
      case 'update many':
        return this.#update(
          state.seats.filter((row) => matches('seats', row, write.where, state, {})),
          write.set,
          state,
          false,
        );
      default:
        return this.#create(write.rows, state);
    }
  }

  #isHidden(row: Row, state: State): boolean {
    const { clubId, bossId } = row;
    const boss = state.seats.find(({ id }) => id === bossId);
    return (
      (clubId != null && !state.clubs.some(({ id }) => id === clubId)) ||
      (bossId != null && !(boss && this.#meets('read', boss, state)))
    );
  }

  #create(inputs: readonly Row[], state: State): Expected {
    const rows = inputs.map(
      (input): Row => ({ points: null, tag: null, clubId: null, bossId: null, ...unmarked(input) }),
    );
    const mayPoints = inputs.every(
      (input, index) => !('points' in input) || this.#meets('points', rows[index] ?? {}, state),
    );
    if (rows.some((row) => this.#isHidden(row, state))) return no('CONFLICT');
    if (!mayPoints || !rows.every((row) => this.#meets('create', row, state))) return untried;
    const made = rows.map((row): Row => ({ id: --ids, ...row }));
    return this.#stored({ ...state, seats: [...state.seats, ...made] }, made, state);
  }

  #update(found: readonly Row[], input: Row, state: State, isOne: boolean): Expected {
    const set = unmarked(input);
    const rows = found.filter((row) => this.#meets('read', row, state));
    if (isOne && rows.length === 0) return no('NOT_FOUND');
    const { release } = this.#rules;
    const mayChange = (row: Row) =>
      this.#meets('update', row, state) ||
      (release !== undefined && matches('seats', row, release.where, state, this.#claims));
    if (!rows.every(mayChange)) return untried;
    const next = rows.map((row) => {
      const isBlind = row['bossId'] !== null && this.#isHidden({ bossId: row['bossId'] }, state);
      // To set to null what is seen as null changes nothing.
      return { ...row, ...set, ...(isBlind && set['bossId'] === null && { bossId: row['bossId'] }) } as Row;
    });
    const changed = rows.map((row, index) => 'points' in set && row['points'] !== next[index]?.['points']);
    if (rows.some((row, index) => changed[index] && !this.#meets('points', row, state))) return untried;
    if (this.#isHidden(set, state)) return no('CONFLICT');
    const released = next.map((row, index) => this.#isReleased(rows[index] ?? {}, row, state));
    const fine = next.every(
      (row, index) =>
        (released[index] ||
          (this.#meets('update', rows[index] ?? {}, state) && this.#meets('update', row, state))) &&
        (!changed[index] || this.#meets('points', row, state)),
    );
    if (!fine) return untried;
    const seats = state.seats.map((row) => next.find(({ id }) => id === row['id']) ?? row);
    const held = next.filter((_, index) => !released[index]);
    return this.#stored({ ...state, seats }, held, state, next.length);
  }

  /** Who does not see what it has written has not written it, and is not told what is taken. */
  #stored(state: State, written: readonly Row[], before: State, count = written.length): Expected {
    const tags = state.seats.map(({ tag }) => comparable(tag)).filter((tag) => tag !== null);
    const isTaken = new Set(tags).size < tags.length;
    const isSeen = written.every((row) => this.#meets('read', row, state));
    if (!isTaken) return isSeen ? { state } : no('denied');
    if (count > 1) return no('CONFLICT', 'denied');
    if (!isSeen) return no('denied');
    // Whether one shows or hides itself need not be found out, as long as nothing is told that ought not to be.
    const isWritten = ({ id }: Row) => written.some((row) => row['id'] === id);
    const others = { ...before, seats: before.seats.filter((row) => !isWritten(row)) };
    const wouldBeSeen = written.every((row) => this.#meets('read', row, others));
    return !wouldBeSeen || this.#mayHide ? no('CONFLICT', 'denied') : no('CONFLICT');
  }
}
