/** Cursors stay what they were, name what they belong to, and cost little however long the filter and the values are. */

import { expect, spyOn, test } from 'bun:test';
import fc from 'fast-check';
import { cursorTo, isDigestOf, isNameOf, queryName, queryNames } from '../../src/query/cursors.ts';
import { all, any, canonical, equal, type Filter, not } from '../../src/query/filter.ts';
import { type Order, totalOrder } from '../../src/query/order.ts';
import type { Resource } from '../../src/schema/model.ts';
import { readSchema } from '../../src/schema/read.ts';

const sdl = `
  type User @resource { id: ID!  posts: [Post!]! }
  type Tag @resource { id: ID!  posts: [Post!]! }
  type Post @resource { id: ID!  title: String @caseless  text: String  stars: Int  author: User!  tag: Tag }`;

const post = readSchema(sdl).model?.byType.get('Post') as Resource;
const columnOf = (name: string) => post.columns.find((column) => column.name === name) ?? post.key;
const [author, tag, stars, title] = ['authorId', 'tagId', 'stars', 'title'].map(columnOf) as [
  any,
  any,
  any,
  any,
];
const order: Order = totalOrder(post, [{ column: title, descending: true }]);

/** As all names were made once: of the whole filter, for each record anew. */
function formerName(where: Filter): string {
  const text = (filter: Filter) => ['Post', canonical(filter), '-title', 'id'].join('\n');
  const parts = where.is === 'all' ? where.of : [where];
  const names = parts
    .filter((part) => part.is === 'eq' && part.column.reference)
    .map((parent) => Bun.hash.crc32(text(all(parts.filter((part) => part !== parent)))).toString(36));
  return [Bun.hash(text(where)).toString(36), ...names.sort().slice(0, 2)].join('.');
}

const key = fc.integer({ min: 1, max: 3 });
const ordinary: fc.Arbitrary<Filter> = fc
  .record({
    parents: fc.subarray([tag]),
    key,
    stars: fc.uniqueArray(fc.integer({ min: 0, max: 9 }), { maxLength: 3 }),
    titles: fc.uniqueArray(fc.string(), { maxLength: 3 }),
    apart: fc.boolean(),
  })
  .map(({ parents, key, stars: numbers, titles, apart }) => {
    const texts = titles.map((value) => equal(title, value));
    return all([
      ...numbers.map((value) => not(equal(stars, value))),
      ...parents.map((column) => equal(column, key)),
      ...(apart ? texts : texts.slice(0, 1).map((one) => any([one, equal(stars, 1)]))),
    ]);
  });
/** By what one part says, and by how many parts it has. */
const long: fc.Arbitrary<Filter> = fc
  .tuple(
    ordinary,
    fc.constantFrom<Filter>(
      equal(title, 'x'.repeat(2000)),
      any(Array.from({ length: 200 }, (_, value) => equal(stars, value))),
      all(Array.from({ length: 200 }, (_, value) => not(equal(stars, value)))),
      { is: 'in', column: stars, values: Array.from({ length: 500 }, (_, value) => value) },
    ),
  )
  .map(([one, other]) => all([one, other]));

test('the names of ordinary filters stay what they were, for the list of each record as well', () => {
  fc.assert(
    fc.property(ordinary, fc.array(key, { minLength: 1 }), (where, keys) => {
      expect(queryName(post, where, order)).toBe(formerName(where));
      const names = queryNames(post, where, order);
      for (const each of keys)
        expect(names(equal(author, each))).toBe(formerName(all([equal(author, each), where])));
    }),
  );
});

test('the list of a record has the name that it has by itself, and both forms of the name are taken', () => {
  fc.assert(
    fc.property(fc.oneof(ordinary, long), key, (where, own) => {
      const whole = all([where, equal(author, own)]);
      const name = queryNames(post, where, order)(equal(author, own));
      expect(queryName(post, whole, order)).toBe(name);
      for (const each of [name, formerName(whole)]) {
        expect(isNameOf(post, whole, order, false)(each)).toBe(true);
        expect(isNameOf(post, where, order, true)(each)).toBe(true);
        expect(isNameOf(post, where, order, false)(each)).toBe(false);
        expect(isNameOf(post, all([where, equal(author, 4)]), order, false)(each)).toBe(false);
        expect(isNameOf(post, all([where, equal(title, 'other')]), order, true)(each)).toBe(false);
      }
    }),
  );
});

test('of a long filter, or of one that repeats itself, no record has more than a short text of its own', () => {
  const repeating = all(Array.from({ length: 200 }, () => equal(tag, 1)));
  fc.assert(
    fc.property(fc.oneof(long, fc.constant(repeating)), (where) => {
      const names = queryNames(post, where, order);
      const hashed = spyOn(Bun.hash, 'crc32');
      for (let own = 0; own < 5; own++) names(equal(author, own));
      const lengths = hashed.mock.calls.map(([text]) => (text as string).length);
      hashed.mockRestore();
      expect(lengths.length).toBeLessThanOrEqual(10);
      expect(Math.max(...lengths)).toBeLessThan(1500);
    }),
  );
});

const formerDigest = (place: readonly unknown[]) =>
  new Bun.CryptoHasher('sha256').update(JSON.stringify(place)).digest().subarray(0, 16).toString('base64url');
const contentOf = (cursor: string) => JSON.parse(Buffer.from(cursor, 'base64url').toString());
const orders = ['title', 'text'].map((name) =>
  totalOrder(post, [{ column: columnOf(name), descending: false }]),
);
const letters = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength, maxLength, size: 'max' });

test('the cursors of values up to a thousand characters stay what they were', () => {
  fc.assert(
    fc.property(letters(0, 1000), fc.nat(), fc.constantFrom(...orders), (text, id, order) => {
      const whole = Buffer.from(JSON.stringify(['name', text, id])).toString('base64url');
      const cut = {
        digest: formerDigest([text, id]),
        key: id,
        begins: false,
        lead: [text.slice(0, 137)],
        cut: true,
      };
      const abridged = Buffer.from(JSON.stringify(['name', cut])).toString('base64url');
      expect(cursorTo('name', order, [text, id])).toBe(whole.length <= 420 ? whole : abridged);
    }),
  );
});

test('a longer value is known by its digest, by that of before as well, and no other is', () => {
  fc.assert(
    fc.property(letters(1001, 5000), fc.nat(), fc.nat(), (text, id, at) => {
      const place = [text, id];
      const cursor = cursorTo('name', order, place);
      expect(cursor.length).toBeLessThanOrEqual(420);
      const { digest, lead } = contentOf(cursor)[1];
      expect(lead).toEqual([text.slice(0, 137)]);
      const index = at % text.length;
      const changed = `${text.slice(0, index)}d${text.slice(index + 1)}`;
      for (const each of [digest, formerDigest(place)]) {
        expect(isDigestOf(each, place)).toBe(true);
        for (const other of [
          [changed, id],
          [text, id + 1],
          [`${text}a`, id],
          [null, id],
        ])
          expect(isDigestOf(each, other)).toBe(false);
      }
    }),
  );
});

test('of a text of a megabyte, a cursor folds and writes out no more than a beginning', () => {
  const text = 'Ab ç'.repeat(250_000);
  for (const order of orders) {
    const [folding, digesting] = [spyOn(String.prototype, 'normalize'), spyOn(Bun.CryptoHasher, 'hash')];
    cursorTo('name', order, [text, 1]);
    const lengths = [
      ...folding.mock.contexts.map((each) => String(each).length),
      ...digesting.mock.calls.map(([, given]) => String(given).length),
    ];
    folding.mockRestore();
    digesting.mockRestore();
    expect(Math.max(...lengths)).toBeLessThanOrEqual(1000);
  }
});
