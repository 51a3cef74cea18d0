/** What is plainly valid is valid for graphql-js too, and as large as it is counted otherwise: of random documents, and of those with words left out, doubled or moved. */

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
import { DuetError } from '../../src/base/errors.ts';
import { beyondLimits, isWithin, type Sizes } from '../../src/graphql/limits.ts';
import { mergingIn } from '../../src/graphql/merged.ts';
import { graphqlDoor } from '../../src/graphql/schema.ts';
import { plainly } from '../../src/graphql/validity.ts';
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

const codes = {
  depth: 'QUERY_TOO_DEEP',
  aliases: 'TOO_MANY_ALIASES',
  directives: 'TOO_MANY_DIRECTIVES',
  rootFields: 'TOO_MANY_ROOT_FIELDS',
  fields: 'TOO_MANY_FIELDS',
} as const;

/** What is too large of a document by the walks that follow fragments and merge fields. */
function beyond(schema: GraphQLSchema, document: DocumentNode, sizes: Sizes): unknown[] {
  const limits = { ...sizes, tokens: 9000, introspectionDepth: 0 };
  const { errors } = mergingIn(schema)(document, limits.fields);
  const all = [...beyondLimits(document, limits), ...errors].map(({ originalError }) => originalError);
  return [...new Set(all.map((error) => (error instanceof DuetError ? error.code : error)))];
}

const rules = specifiedRules.filter((rule) => rule !== OverlappingFieldsCanBeMergedRule);

test('what is plainly valid is valid', () => {
  const seen = { good: 0, left: 0, bad: 0, counted: 0 };
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
      const plain = plainly(schema, document);
      if (plain) expect([text, errors]).toEqual([text, []]);
      seen[plain ? 'good' : errors.length > 0 ? 'bad' : 'left']++;
      if (!plain?.sizes) return;
      seen.counted++;
      // Nothing is to be merged, and one less of anything is too little.
      expect([text, validate(schema, document, [OverlappingFieldsCanBeMergedRule])]).toEqual([text, []]);
      expect(plain.fields).toBe(mergingIn(schema)(document, 9000).fields);
      expect([text, beyond(schema, document, plain.sizes)]).toEqual([text, []]);
      expect(isWithin(plain.sizes, { ...plain.sizes, tokens: 0, introspectionDepth: 0 })).toBe(true);
      for (const name of Object.keys(codes) as (keyof Sizes)[]) {
        const less = { ...plain.sizes, [name]: plain.sizes[name] - 1 };
        expect([text, beyond(schema, document, less)]).toEqual([text, [codes[name]]]);
        expect(isWithin(plain.sizes, { ...less, tokens: 0, introspectionDepth: 0 })).toBe(false);
      }
    }),
    { numRuns: RUNS, unbiased: true },
  );
  // Most of what is valid is found to be, and much of what is not is tried.
  expect(seen.good).toBeGreaterThan(seen.left);
  expect(seen.bad).toBeGreaterThan(RUNS / 10);
  expect(seen.counted).toBeGreaterThan(RUNS / 10);
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
  expect(plainly(schema, document)).toBeUndefined();
});

/** Where fields have to be merged first, nobody can tell how many there are, nor whether they can be. */
const overlapping = [
  '{ items { name: id name } }',
  '{ items { name name } }',
  '{ items { a: id b: id c: id d: id e: id f: id g: id h: id i: id name: id name } }',
  '{ items { id ... { name } } }',
  '{ items { ...F } } fragment F on Item { id }',
];

test.each(overlapping)('%s is not counted', (text) => {
  const found = plainly(schemas[1] as GraphQLSchema, parse(text));
  expect(found).toBeDefined();
  expect(found?.sizes).toBeUndefined();
});
