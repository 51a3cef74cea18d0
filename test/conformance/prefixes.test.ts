/** `startsWith` is by characters, whatever they are: a prefix may end at any border of Unicode. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const sdl = 'type Word @resource { id: ID!  text: String! @index  plain: String! }';

/** The last and the first on either side of where characters begin to take another form, or are none at all. */
const borders = [
  ...['\u0001', 'a', '\u007f', '\u0080', '\u07ff', '\u0800'],
  ...['\ud7fe', '\ud7ff', '\ue000', '\ue001'],
  ...['\ufffd', '\uffff', '\u{10000}', '\u{10fffe}', '\u{10ffff}'],
];
const pairs = borders.flatMap((first) => borders.map((second) => first + second));
const texts = [
  '',
  ...borders,
  ...pairs,
  ...borders.flatMap((last) => [`a\ud7ff${last}`, `\u{10ffff}\u{10ffff}${last}`]),
];
const data = { words: texts.map((text) => ({ text, plain: text })) };

const named = (text: string) => [...text].map((each) => each.codePointAt(0)?.toString(16)).join(' ');
const starting = (prefix: string) => texts.filter((text) => text.startsWith(prefix)).map(named);

/** SQLite and PostgreSQL compare the bytes of UTF-8, which are in the order of code points; JavaScript does not. */
const byCodePoint = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data });
  });
  afterAll(() => app.close());

  const found = async (field: string, prefix: string) => {
    const where = { [field]: { startsWith: prefix } };
    const query = new URLSearchParams({ fields: 'text', where: JSON.stringify(where) });
    const { body } = await app.rest('GET', `/words?${query}`);
    const { data } = await app.graphql('query($where: WordWhere!) { words(where: $where) { text } }', {
      where,
    });
    return [body, data.words].map((words) => words.map(({ text }: { text: string }) => named(text)));
  };

  test('every prefix of one and of two characters at the borders', async () => {
    for (const prefix of ['', ...borders, ...pairs]) {
      const wanted = starting(prefix);
      for (const field of ['text', 'plain'])
        expect([named(prefix), ...(await found(field, prefix))]).toEqual([named(prefix), wanted, wanted]);
    }
  });

  test('any prefix at all', async () => {
    const character = fc.oneof(
      fc.constantFrom(...borders),
      fc.integer({ min: 1, max: 0x10ffff }).map((point) => String.fromCodePoint(point)),
    );
    const prefix = fc.array(character, { maxLength: 4 }).map((each) => each.join(''));
    await fc.assert(
      fc.asyncProperty(
        prefix.filter((text) => text.isWellFormed()),
        async (text) => {
          const wanted = starting(text);
          expect(await found('text', text)).toEqual([wanted, wanted]);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('the order is that of the characters too', async () => {
    const { body } = await app.rest('GET', '/words?fields=text&sort=text');
    const wanted = texts.toSorted(byCodePoint).map(named);
    expect(body.map(({ text }: { text: string }) => named(text))).toEqual(wanted);
  });
});
