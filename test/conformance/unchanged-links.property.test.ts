/** An update that names the links of its record is judged by what both become, and as the same update without them where they stay. */

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';
import { literal, type Row, type Where } from './judged-world.ts';

interface Rules {
  readonly read: Where;
  readonly update: Where | undefined;
  /** Another way to update, with what must be so after. */
  readonly release: { readonly where: Where; readonly check: Where } | undefined;
  /** Who may change `note`. */
  readonly note: Where;
}

const sdlOf = ({ read, update, release, note }: Rules) => `
type Page @resource
  @allow(to: [READ], where: ${literal(read)})
  ${update ? `@allow(to: [UPDATE], where: ${literal(update)})` : ''}
  ${release ? `@allow(to: [UPDATE], where: ${literal(release.where)}, check: ${literal(release.check)})` : ''}
{
  id: ID!
  team: String
  state: String
  note: String @allow(to: [UPDATE], where: ${literal(note)})
  book: Book!
  tags: [Tag!]! @through(type: "PageTag")
}
type Book @resource @allow(to: [READ]) { id: ID! pages: [Page!]! }
type Tag @resource @allow(to: [READ]) { id: ID! name: String }
type PageTag @resource @allow(to: [READ, CREATE, DELETE]) @unique(fields: ["page", "tag"]) {
  id: ID!
  page: Page @onDelete(do: CASCADE)
  tag: Tag!
}`;

const teams = fc.constantFrom('red', 'blue');
const states = fc.constantFrom('draft', 'done');
const names = ['news', 'locked'] as const;

const anything: fc.Arbitrary<Where> = fc.constant({});
const ofTeam: fc.Arbitrary<Where> = fc.constant({ team: { eq: { claim: 'team' } } });

/** It leads back to the page itself, whose new values must not be found there. */
const ofBook: fc.Arbitrary<Where> = fc
  .tuple(fc.constantFrom('some', 'none'), states)
  .map(([how, eq]) => ({ book: { pages: { [how]: { state: { eq } } } } }));

function wheres(depth: number): fc.Arbitrary<Where> {
  const own: fc.Arbitrary<Where>[] = [
    ofTeam,
    states.map((eq) => ({ state: { eq } })),
    fc
      .tuple(fc.constantFrom('some', 'none'), fc.constantFrom(...names))
      .map(([how, eq]) => ({ tags: { [how]: { name: { eq } } } })),
  ];
  if (depth === 0) return fc.oneof(...own);
  const both = fc.tuple(wheres(depth - 1), wheres(depth - 1));
  return fc.oneof(
    ...own,
    ...own,
    both.map((and) => ({ and })),
    both.map((or) => ({ or })),
  );
}

const rules: fc.Arbitrary<Rules> = fc.record({
  read: fc.oneof(anything, ofTeam, wheres(1)),
  update: fc.option(
    fc.oneof(
      anything,
      wheres(1),
      ofBook,
      fc.tuple(ofBook, wheres(0)).map((or) => ({ or })),
    ),
    { nil: undefined, freq: 5 },
  ),
  release: fc.option(fc.record({ where: wheres(1), check: fc.oneof(anything, wheres(1), ofBook) }), {
    nil: undefined,
  }),
  note: fc.oneof(anything, wheres(0), ofBook),
});
const page = fc.record({ team: teams, state: states, tagIds: fc.subarray([1, 2]) });
const changes = fc
  .record({ team: teams, state: states, note: fc.constant('n') }, { requiredKeys: [] })
  .filter((set) => Object.keys(set).length > 0);

/** Each names them, and leaves them as they are. */
const ways: readonly ((tagIds: readonly number[]) => Row)[] = [
  (tagIds) => ({ tagIds }),
  (add) => ({ _tags: { add } }),
  (tagIds) => ({ _tags: { remove: [1, 2].filter((id) => !tagIds.includes(id)) } }),
];

const sends: Readonly<
  Record<
    string,
    (app: AppUnderTest, id: number, set: Row, headers: Record<string, string>) => Promise<unknown>
  >
> = {
  rest: async (app, id, set, headers) => (await app.rest('PUT', `/pages/${id}`, set, headers)).body.code,
  'rest, of many': async (app, id, body, headers) => {
    const operations = [{ method: 'PUT', path: '/pages', where: { id: { eq: id } }, atMost: 1, body }];
    return (await app.rest('POST', '/transaction', { operations }, headers)).body.code;
  },
  graphql: async (app, id, set, headers) => {
    const given = literal(set).slice(1, -1);
    const { errors } = await app.graphql(`mutation { updatePage(id: ${id}, ${given}) { id } }`, {}, headers);
    return errors?.[0]?.extensions.code;
  },
};

interface Linked {
  readonly row: Row;
  readonly tagIds: readonly number[];
}

/** What a filter means for a page that is alone in its book, where it is `found` as it is stored. */
function matches(where: Where, { row, tagIds }: Linked, found: Row): boolean {
  return Object.entries<any>(where).every(([name, inner]) => {
    if (name === 'and') return inner.every((each: Where) => matches(each, { row, tagIds }, found));
    if (name === 'or') return inner.some((each: Where) => matches(each, { row, tagIds }, found));
    if (name === 'tags') {
      const [[how, { name: asked }]] = Object.entries<any>(inner) as [[string, Where]];
      return tagIds.some((id) => names[id - 1] === asked.eq) === (how === 'some');
    }
    if (name === 'book') {
      const [[how, { state }]] = Object.entries<any>(inner.pages) as [[string, Where]];
      return (found['state'] === state.eq) === (how === 'some');
    }
    return row[name] === (name === 'team' ? 'red' : inner.eq);
  });
}

/** Just before the record is written, its new values in its place and its links as they will be. */
function isAllowed({ read, update, release }: Rules, old: Linked, next: Linked): boolean {
  const becomes = (where: Where) => matches(where, next, old.row);
  const was = (where: Where) => matches(where, old, old.row);
  if (!was(read)) return false;
  if (release && was(release.where) && becomes(release.check)) return true;
  return update !== undefined && was(update) && becomes(update) && matches(read, next, next.row);
}

describe.each([...databases])('on %s', (database) => {
  test('with links that come and go, a record never lets itself through', async () => {
    const headers = await headersOf({ name: 'ann of red', claims: { sub: 'ann', team: 'red' } });
    const told = { done: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(
        rules,
        fc.array(fc.tuple(page, changes, fc.subarray([1, 2])), { minLength: 6, maxLength: 9 }),
        async (made, tried) => {
          const pages = tried.map(([{ tagIds: _, ...row }], index) => ({ ...row, bookId: index + 1 }));
          const pageTags = tried.flatMap(([{ tagIds }], index) =>
            tagIds.map((tagId) => ({ pageId: index + 1, tagId })),
          );
          const books = pages.map(() => ({}));
          const data = { books, tags: names.map((name) => ({ name })), pages, pageTags };
          const app = await openApp(database, { sdl: sdlOf(made), data, env: { AUTH_SECRET: SECRET } });
          try {
            for (const [
              index,
              [{ tagIds: linked, ...row }, { note: _, ...set }, tagIds],
            ] of tried.entries()) {
              const [, send] = Object.entries(sends)[index % 3] ?? [];
              const code = await send?.(app, index + 1, { ...set, tagIds }, headers);
              const [old, next] = [
                { row, tagIds: linked },
                { row: { ...row, ...set }, tagIds },
              ];
              const isDone = isAllowed(made, old, next);
              told[isDone ? 'done' : 'refused']++;
              const context = `${JSON.stringify([old, next])} under ${JSON.stringify(made)}`;
              // Of many, those that nobody sees are none.
              const isSeen = matches(made.read, old, row);
              expect([context, code === undefined && isSeen]).toEqual([context, isDone]);
              const { body } = await app.unguarded().rest('GET', `/pages/${index + 1}?include=tags`);
              const { row: stored, tagIds: there } = isDone ? next : old;
              expect([context, body]).toMatchObject([
                context,
                { ...stored, tags: there.map((id) => ({ id })) },
              ]);
            }
          } finally {
            await app.close();
          }
        },
      ),
      { numRuns: database === 'sqlite' ? 50 : 10, interruptAfterTimeLimit: 10_000 },
    );
    for (const times of Object.values(told)) expect(times).toBeGreaterThan(0);
  }, 60_000);

  test('links that stay change nothing about it', async () => {
    const headers = await headersOf({ name: 'ann of red', claims: { sub: 'ann', team: 'red' } });
    await fc.assert(
      fc.asyncProperty(
        rules,
        fc.array(fc.tuple(page, changes, fc.nat(ways.length - 1)), { minLength: 4, maxLength: 6 }),
        async (made, tried) => {
          // Each twice: one is changed with its links, and one without.
          const twins = tried
            .flatMap(([{ tagIds: _, ...row }]) => [row, row])
            .map((row, index) => ({ ...row, bookId: index + 1 }));
          const pageTags = tried.flatMap(([{ tagIds }], index) =>
            tagIds.flatMap((tagId) => [1, 2].map((twin) => ({ pageId: 2 * index + twin, tagId }))),
          );
          const books = twins.map(() => ({}));
          const data = { books, tags: names.map((name) => ({ name })), pages: twins, pageTags };
          const app = await openApp(database, { sdl: sdlOf(made), data, env: { AUTH_SECRET: SECRET } });
          try {
            const operator = app.unguarded();
            const stored = async (id: number) =>
              (await operator.rest('GET', `/pages/${id}?include=tags`)).body;
            for (const [index, [{ tagIds }, set, way]] of tried.entries())
              for (const [door, send] of Object.entries(sends)) {
                const [alone, linked] = [2 * index + 1, 2 * index + 2];
                const links = ways[way]?.(tagIds) ?? {};
                const told = [
                  await send(app, alone, set, headers),
                  await send(app, linked, { ...set, ...links }, headers),
                ];
                const context = `${door}: ${JSON.stringify([tried[index], links])} under ${JSON.stringify(made)}`;
                expect([context, told[1] ?? 'done']).toEqual([context, told[0] ?? 'done']);
                const other = await stored(alone);
                expect([context, await stored(linked)]).toEqual([
                  context,
                  { ...other, id: linked, bookId: linked },
                ]);
              }
          } finally {
            await app.close();
          }
        },
      ),
      { numRuns: database === 'sqlite' ? 60 : 15, interruptAfterTimeLimit: 20_000 },
    );
  }, 60_000);
});
