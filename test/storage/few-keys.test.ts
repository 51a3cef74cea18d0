/** What belongs to a list of records is found for each of them, however many they are: SQLite is asked otherwise for few than for many. */

import { describe, expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';

const sdl = `
type Shelf @resource(plural: "shelves") { id: ID! books: [Book!]! }
type Book @resource { id: ID! title: String! shelf: Shelf! tags: [Tag!]! @through(type: "Tagging") }
type Tag @resource { name: ID! @key books: [Book!]! @through(type: "Tagging") }
type Tagging @resource @unique(fields: ["book", "tag"]) {
  id: ID!
  book: Book! @onDelete(do: CASCADE)
  tag: Tag! @onDelete(do: CASCADE)
}
`;
const MOST = 130;
const COUNTS = [1, 2, 7, 8, 9, 127, 128, 129, MOST];
const numbers = Array.from({ length: MOST }, (_, at) => at + 1);
/** Of any characters; some are also numbers. */
const nameOf = (number: number) => (number % 3 === 0 ? String(number) : `"${number}", ?1`);
/** Two for each shelf but the last, in turns: what one shelf has does not stand together. */
const books = ['a', 'b'].flatMap((letter) =>
  numbers.slice(0, -1).map((shelfId) => ({ title: `${shelfId}${letter}`, shelfId })),
);
const tagsOf = ({ title, shelfId }: (typeof books)[number]) =>
  title.endsWith('b') ? [nameOf(shelfId), nameOf(MOST)].toSorted() : [nameOf(shelfId)];
const titlesOf = (shelfId: number) => (shelfId === MOST ? [] : [`${shelfId}a`, `${shelfId}b`]);
const data = {
  shelves: numbers.map((id) => ({ id })),
  tags: numbers.map((number) => ({ name: nameOf(number) })),
  books,
  taggings: books.flatMap((book, at) => tagsOf(book).map((tagId) => ({ bookId: at + 1, tagId }))),
};

describe.each([...databases])('on %s', (database) => {
  test('children, parents, and records on the other side of pairs', async () => {
    const app = await openApp(database, { sdl, data });
    const query = `query ($first: Int!, $offset: Int!) {
      shelves(first: $first) { id books { title } }
      books(first: $first, offset: $offset) { title shelf { id } tags(orderBy: [{ name: ASC }]) { name } }
    }`;
    for (const first of COUNTS) {
      const offset = books.length - first;
      const { body } = await app.graphql(query, { first, offset });
      const shelves = numbers.slice(0, first);
      expect(body).toEqual({
        data: {
          shelves: shelves.map((id) => ({
            id: String(id),
            books: titlesOf(id).map((title) => ({ title })),
          })),
          books: books.slice(offset).map((book) => ({
            title: book.title,
            shelf: { id: String(book.shelfId) },
            tags: tagsOf(book).map((name) => ({ name })),
          })),
        },
      });
      const listed = await app.rest('GET', `/shelves?limit=${first}&include=books`);
      expect(listed.body.map((shelf: any) => shelf.books.map(({ title }: any) => title))).toEqual(
        shelves.map(titlesOf),
      );
    }
    await app.close();
  });
});
