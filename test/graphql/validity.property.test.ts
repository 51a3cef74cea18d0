/** What is plainly valid is valid for graphql-js too: of random documents, and of those with words left out, doubled or moved. */

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  type DocumentNode,
  type GraphQLSchema,
  Lexer,
  OverlappingFieldsCanBeMergedRule,
  parse,
  Source,
  specifiedRules,
  TokenKind,
  validate,
} from 'graphql';
import { graphqlDoor } from '../../src/graphql/schema.ts';
import { isPlainlyValid } from '../../src/graphql/validity.ts';
import { sdl as guarded } from '../conformance/access-world.ts';
import { modelOf } from '../storage/deployment.ts';
import { Dice, Generator } from './generated.ts';

const RUNS = Number(process.env['RUNS'] ?? 1500);

const shop = `
  type Item @resource @search(fields: ["name"]) @journal {
    id: ID!
    name: String!
    price: Decimal! @decimal(scale: 2)
    state: State!
    tag: Tag
    parts: JSON
  }
  enum State { NEW OLD }
  type Tag @resource { id: UUID!  name: String! @unique  items: [Item!]! }
  type Sold { item: Item!  many: Int! }
  input Basket { itemId: ID!  many: Int! = 1 }
  type Query { best(first: Int!, of: [State!]): [Sold!]! @action }
  type Mutation { buy(basket: [Basket!]!, note: String): Item! @action }`;

const schemas = [guarded, shop].map((sdl) => {
  const door = graphqlDoor(modelOf(sdl));
  if (!door) throw new Error('nothing is served');
  return door.schema;
});

/** What may come in between the words of a document. */
const words = [
  '...F0',
  '... on Item { id }',
  '... on Person { id }',
  '@skip(if: true)',
  '@include(if: $v0)',
  '@atomic',
  '__typename',
  '__schema { types { name } }',
  'constructor',
  'id',
  'first: 1',
  'first: null',
  '(id: 1)',
  '{ id }',
  '$v0: Int',
  'fragment F0 on Item { id }',
  'query Other { __typename }',
  '= 1',
  '!',
];

/** Instead of a value. */
const values = [
  'null',
  '$v0',
  '$v1',
  '$v0',
  '[]',
  '[null]',
  '{}',
  '"x"',
  '1',
  '-1.5',
  'NEW',
  'true',
  '99999999999',
];

/** The text with some of its words left out, doubled, or in the place of others of their kind. */
function muddled(text: string, dice: Dice): string {
  const lexer = new Lexer(new Source(text));
  const tokens: { kind: TokenKind; text: string }[] = [];
  for (let token = lexer.advance(); token.kind !== TokenKind.EOF; token = lexer.advance())
    tokens.push({ kind: token.kind, text: text.slice(token.start, token.end) });
  for (let times = 1 + dice.roll(4); times > 0; times--) {
    const at = dice.roll(tokens.length);
    const [token] = tokens.slice(at, at + 1);
    if (!token) break;
    const alike = tokens.filter(({ kind }) => kind === token.kind);
    const isValue = tokens[at - 1]?.text === ':' && token.kind !== TokenKind.NAME;
    const how = dice.roll(10);
    if (how === 0) tokens.splice(at, 1);
    else if (how === 1) tokens.splice(at, 0, { kind: TokenKind.NAME, text: dice.pick(words) });
    // A whole argument or field of an input.
    else if (how === 2 && tokens[at + 1]?.text === ':') tokens.splice(at, 3);
    else if (isValue) tokens.splice(at, 1, { ...token, text: dice.pick(values) });
    else tokens.splice(at, 1, dice.pick(alike));
  }
  return tokens.map((token) => token.text).join(' ');
}

function parsed(text: string): DocumentNode | undefined {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

const rules = specifiedRules.filter((rule) => rule !== OverlappingFieldsCanBeMergedRule);

test('what is plainly valid is valid', () => {
  const seen = { good: 0, left: 0, bad: 0 };
  const choices = fc.array(fc.nat({ max: 1_000_000 }), { minLength: 5, maxLength: 80, size: 'max' });
  fc.assert(
    fc.property(choices, choices, fc.boolean(), (choices, more, isWhole) => {
      const dice = new Dice(more);
      const schema = dice.pick(schemas);
      const { query } = new Generator(schema, choices, { keys: ['1'], cursors: new Map() }).request(
        dice.once(4) ? 'mutation' : 'query',
      );
      const text = isWhole ? query : muddled(query, dice);
      const document = parsed(text);
      if (!document) return;
      const errors = validate(schema, document, rules).map(({ message }) => message);
      const isPlain = isPlainlyValid(schema, document);
      if (isPlain) expect([text, errors]).toEqual([text, []]);
      seen[isPlain ? 'good' : errors.length > 0 ? 'bad' : 'left']++;
    }),
    { numRuns: RUNS, unbiased: true },
  );
  // Most of what is valid is found to be, and much of what is not is tried.
  expect(seen.good).toBeGreaterThan(seen.left);
  expect(seen.bad).toBeGreaterThan(RUNS / 10);
}, 120_000);

/** What is rare among random ones. */
const refused = [
  'query A { __typename } query A { __typename }',
  '{ items { ...F } } fragment F on Item { id } fragment F on Item { name }',
  'query ($a: Int) { __typename }',
  'query @include(if: true) { __typename }',
  '{ items { ...F } } fragment F on Tag { id }',
  '{ items { ...F } } fragment F on Item { id ...G } fragment G on Item { ...F }',
  '{ items { ...F } } fragment F on State { __typename }',
  'mutation { buy(basket: [{ many: 2 }]) { id } }',
  '{ items { tag { ...F } } } fragment F on Tag { id } type Item { id: ID! }',
  '{ items { id { __typename } } }',
  '{ items }',
  'subscription { itemChanges { position } tagChanges { position } }',
];

test.each(refused)('%s is not', (text) => {
  const schema = schemas[1] as GraphQLSchema;
  const document = parse(text);
  expect(validate(schema, document, rules)).not.toEqual([]);
  expect(isPlainlyValid(schema, document)).toBe(false);
});
