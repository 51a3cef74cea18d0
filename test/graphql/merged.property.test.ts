/** Whether fields can be merged is told as graphql-js tells it, of documents that are full of fields with the same name. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { buildSchema, type GraphQLSchema, parse, validate } from 'graphql';
import { type AppUnderTest, openApp } from '../app.ts';
import { Dice } from './generated.ts';

const RUNS = 1500;
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
  readonly #fragments = new Map<number, string>();

  constructor(choices: readonly number[]) {
    this.#dice = new Dice(choices);
  }

  next(): string {
    const roots = Array.from(
      { length: 1 + this.#dice.roll(2) },
      () => `${this.#as(['a: ', 'b: '])}knots${this.#given()} ${this.#selection(0, 0)}`,
    );
    const fragments = [...this.#fragments.values()];
    return `query ($n: Int = 1) { knots(first: $n) { id } ${roots.join(' ')} } ${fragments.join(' ')}`;
  }

  #selection(depth: number, fragment: number): string {
    const parts = Array.from({ length: 1 + this.#dice.roll(3) }, () => this.#part(depth, fragment));
    return `{ ${parts.join(' ')} }`;
  }

  #part(depth: number, fragment: number): string {
    const dice = this.#dice;
    switch (dice.roll(depth < DEEPEST ? 8 : 3)) {
      case 7:
        return `...${dice.pick(['', ' on Knot', ' @include(if: true)'])} ${this.#selection(depth + 1, fragment)}`;
      case 6:
      case 5:
        return this.#spread(fragment);
      case 4:
        return `${this.#as(['', '', 'one: ', 'r: '])}${dice.pick(['one', 'two'])} ${this.#selection(depth + 1, fragment)}`;
      case 3:
        return `${this.#as(['', '', 'ones: ', 'r: '])}${dice.pick(['ones', 'twos'])}${this.#given()} ${this.#selection(depth + 1, fragment)}`;
      default:
        return `${this.#as(['', '', '', '', 'x: ', 'one: '])}${dice.pick(['id', 'x', 'y', '__typename'])}`;
    }
  }

  /** Of a fragment further on: none spreads itself. */
  #spread(fragment: number): string {
    const next = fragment + 1 + this.#dice.roll(3);
    if (!this.#fragments.has(next)) {
      this.#fragments.set(next, '');
      const selection = this.#selection(next > 6 ? DEEPEST : 1, next);
      this.#fragments.set(next, `fragment F${next} on Knot ${selection}`);
    }
    return `...F${next}`;
  }

  #as(aliases: readonly string[]): string {
    return this.#dice.pick(aliases);
  }

  #given(): string {
    return this.#dice.pick(given);
  }
}

let app: AppUnderTest;
let schema: GraphQLSchema;
beforeAll(async () => {
  app = await openApp('sqlite', {
    sdl,
    env: { LIMIT_ALIASES: '1000', LIMIT_DEPTH: '50', LIMIT_TOKENS: '9000' },
  });
  schema = buildSchema(await (await app.fetch('/schema.graphql')).text());
});
afterAll(() => app.close());

test('as graphql-js does', async () => {
  const seen = { merged: 0, conflict: 0 };
  const choices = fc.array(fc.nat({ max: 1_000_000 }), { minLength: 5, maxLength: 120, size: 'max' });
  await fc.assert(
    fc.asyncProperty(choices, async (choices) => {
      const query = new Documents(choices).next();
      const wanted = validate(schema, parse(query)).map(({ message }) => message);
      const { body } = await app.rest('POST', '/graphql', { query, operationName: 'Missing' });
      const code = wanted.length > 0 ? 'GRAPHQL_VALIDATION_FAILED' : 'OPERATION_RESOLUTION_FAILURE';
      expect([query, wanted, body.errors[0].extensions.code]).toEqual([query, wanted, code]);
      for (const message of wanted) expect(message).toInclude(' conflict because ');
      for (const { message } of wanted.length > 0 ? body.errors : [])
        expect(message).toMatch(
          /^Fields "\w+" conflict because ("\w+" and "\w+" are different fields|they have differing arguments)\. Use different aliases on the fields to fetch both if this was intentional\.$/,
        );
      seen[wanted.length > 0 ? 'conflict' : 'merged']++;
    }),
    { numRuns: RUNS, unbiased: true },
  );
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(RUNS / 10);
}, 120_000);
