/** Whether fields can be merged is told as graphql-js tells it, of documents that are full of fields with the same name. */

import { afterAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { buildSchema, parse, validate } from 'graphql';
import { type AppUnderTest, openApp } from '../app.ts';
import { Dice } from './generated.ts';

const RUNS = 1500;
const MIXED_RUNS = 1000;
const DEEPEST = 3;

const sdl = `
  type Knot @resource {
    id: ID!
    x: Int
    y: String
    one: Knot
    two: Knot
    ones: [Knot!]! @inverse(of: "one")
    twos: [Knot!]! @inverse(of: "two")
  }`;

/** The same twice, but for what a field may be: where fragments lead from one type to the other, only that conflicts. */
const twoTypes = ['Knot', 'Bead']
  .map((name) => sdl.replaceAll('Knot', name).replace('id: ID!', 'id: UUID!'))
  .join('')
  .replace('y: String', 'y: String!');

/** Some ask for the same, though they are written in another way, and some only look as if they did. */
const given = [
  '',
  '',
  '',
  '(first: 1)',
  '(first: 2)',
  '(first: $n)',
  '(where: { x: { eq: 1 }, y: { eq: "a" } }, first: 1)',
  '(first: 1, where: { y: { eq: "a" }, x: { eq: 1 } })',
  '(where: { y: { eq: "a" }, x: { eq: $n } })',
  '(where: { y: { eq: """a""" } })',
  '(where: { y: { eq: "a" } })',
  '(where: { y: { eq: null } })',
  '(where: { y: { eq: "null" } })',
  '(where: { x: { in: [1, 2] } })',
  '(where: { x: { in: [2, 1] } })',
];

class Documents {
  readonly #dice: Dice;
  readonly #fragments = new Map<string, string>();
  readonly #types: readonly string[];

  constructor(choices: readonly number[], types: readonly string[]) {
    this.#dice = new Dice(choices);
    this.#types = types;
  }

  next(): string {
    const roots = Array.from(
      { length: 1 + this.#dice.roll(2) },
      () => `${this.#as(['a: ', 'b: '])}knots${this.#given()} ${this.#selection('Knot', 0, 0)}`,
    );
    const fragments = [...this.#fragments.values()];
    return `query ($n: Int = 1) { knots(first: $n) { id } ${roots.join(' ')} } ${fragments.join(' ')}`;
  }

  #selection(type: string, depth: number, fragment: number): string {
    const parts = Array.from({ length: 1 + this.#dice.roll(3) }, () => this.#part(type, depth, fragment));
    return `{ ${parts.join(' ')} }`;
  }

  #part(type: string, depth: number, fragment: number): string {
    const dice = this.#dice;
    switch (dice.roll(depth < DEEPEST ? 7 + this.#types.length : 3)) {
      case 8:
        return this.#byWayOfNode(depth, fragment);
      case 7:
        return `...${dice.pick(['', ` on ${type}`, ' @include(if: true)'])} ${this.#selection(type, depth + 1, fragment)}`;
      case 6:
      case 5:
        return this.#spread(type, fragment);
      case 4:
        return `${this.#as(['', '', 'one: ', 'r: '])}${dice.pick(['one', 'two'])} ${this.#selection(type, depth + 1, fragment)}`;
      case 3:
        return `${this.#as(['', '', 'ones: ', 'r: '])}${dice.pick(['ones', 'twos'])}${this.#given()} ${this.#selection(type, depth + 1, fragment)}`;
      default:
        return `${this.#as(['', '', '', '', 'x: ', 'one: '])}${dice.pick(['id', 'x', 'y', '__typename'])}`;
    }
  }

  #byWayOfNode(depth: number, fragment: number): string {
    const others = this.#types
      .slice(this.#dice.roll(2))
      .map((type) => `... on ${type} ${this.#selection(type, depth + 1, fragment)}`);
    return `... on Node { ${this.#as(['x: '])}id ${others.join(' ')} }`;
  }

  /** Of a fragment further on: none spreads itself. */
  #spread(type: string, fragment: number): string {
    const next = fragment + 1 + this.#dice.roll(3);
    const name = `${type}${next}`;
    if (!this.#fragments.has(name)) {
      this.#fragments.set(name, '');
      const selection = this.#selection(type, next > 6 ? DEEPEST : 1, next);
      this.#fragments.set(name, `fragment ${name} on ${type} ${selection}`);
    }
    return `...${name}`;
  }

  #as(aliases: readonly string[]): string {
    return this.#dice.pick(aliases);
  }

  #given(): string {
    return this.#dice.pick(given);
  }
}

const opened: AppUnderTest[] = [];
afterAll(async () => {
  for (const app of opened) await app.close();
});

const cases: [string, string, string[], number][] = [
  ['of one type', sdl, ['Knot'], RUNS],
  ['of two types, by way of Node', twoTypes, ['Knot', 'Bead'], MIXED_RUNS],
];

test.each(cases)(
  'as graphql-js does, %s',
  async (_, sdl, types, numRuns) => {
    const env = { LIMIT_ALIASES: '1000', LIMIT_DEPTH: '50', LIMIT_TOKENS: '9000' };
    const app = await openApp('sqlite', { sdl, env });
    opened.push(app);
    const schema = buildSchema(await (await app.fetch('/schema.graphql')).text());
    const seen = { merged: 0, conflict: 0 };
    const choices = fc.array(fc.nat({ max: 1_000_000 }), { minLength: 5, maxLength: 120, size: 'max' });
    await fc.assert(
      fc.asyncProperty(choices, async (choices) => {
        const query = new Documents(choices, types).next();
        const wanted = validate(schema, parse(query)).map(({ message }) => message);
        const { body } = await app.rest('POST', '/graphql', { query, operationName: 'Missing' });
        const code = wanted.length > 0 ? 'GRAPHQL_VALIDATION_FAILED' : 'OPERATION_RESOLUTION_FAILURE';
        expect([query, wanted, body.errors[0].extensions.code]).toEqual([query, wanted, code]);
        for (const message of wanted) expect(message).toInclude(' conflict because ');
        for (const { message } of wanted.length > 0 ? body.errors : [])
          expect(message).toMatch(
            /^Fields "\w+" conflict because .*\. Use different aliases on the fields to fetch both if this was intentional\.$/,
          );
        seen[wanted.length > 0 ? 'conflict' : 'merged']++;
      }),
      { numRuns, unbiased: true },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(numRuns / 10);
  },
  120_000,
);
