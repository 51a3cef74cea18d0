/** Random writes of lists through a join type, by callers with different rights, against a plain model of what they mean. */

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type AppUnderTest, databases, openEmptied } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const RUNS = Number(process.env['RUNS'] ?? 60);

/**
 * A link is its maker's: everybody sees those that are not secret, whose tag is not hidden. Nobody but an admin makes one to a
 * frozen tag, and only who made it, or an admin, removes it. A guest changes records and no links.
 */
const sdl = `
  type Product @resource
    @allow(to: [READ])
    @allow(to: [CREATE, UPDATE], role: "authenticated")
  {
    id: ID!  name: String!
    tags: [Tag!]! @through(type: "ProductTag")
  }
  type Tag @resource
    @allow(to: [READ], where: { hidden: { eq: false } })
    @allow(to: [READ, UPDATE], role: "admin")
  {
    id: ID!  hidden: Boolean!  frozen: Boolean!
    products: [Product!]! @through(type: "ProductTag") @allow(to: [UPDATE], role: "admin")
  }
  type ProductTag @resource @unique(fields: ["product", "tag"])
    @allow(to: [READ], where: { secret: { eq: false } })
    @allow(to: [CREATE], role: "user", where: { tag: { frozen: { eq: false } } })
    @allow(to: [DELETE], role: "user", where: { maker: { eq: { claim: "sub" } } })
    @allow(to: [READ, CREATE, DELETE], role: "admin")
  {
    id: ID!  product: Product  tag: Tag
    maker: String @set(claim: "sub")
    secret: Boolean! @default(value: false)
  }`;

const TAGS = [
  { hidden: false, frozen: false },
  { hidden: false, frozen: false },
  { hidden: false, frozen: true },
  { hidden: true, frozen: false },
];
const PRODUCTS = 3;

const callers = {
  ann: { sub: 'ann', roles: ['user'] },
  bob: { sub: 'bob', roles: ['user'] },
  guest: { sub: 'guest', roles: [] },
  admin: { sub: 'root', roles: ['admin'] },
} as const;
type Who = keyof typeof callers;

interface Step {
  readonly who: Who;
  readonly door: 'rest' | 'graphql' | 'bulk';
  /** Of a tag: its list of products is written instead. */
  readonly back: boolean;
  readonly one: number;
  readonly exactly: boolean;
  readonly add: readonly number[];
  readonly remove: readonly number[];
}

interface Link {
  readonly product: number;
  readonly tag: number;
  readonly maker: string | null;
  readonly secret: boolean;
}

const key = fc.integer({ min: 1, max: 5 });
const step: fc.Arbitrary<Step> = fc.record({
  who: fc.constantFrom(...(Object.keys(callers) as Who[])),
  door: fc.constantFrom('rest', 'graphql', 'bulk'),
  back: fc.boolean(),
  one: fc.integer({ min: 1, max: 3 }),
  exactly: fc.boolean(),
  add: fc.array(key, { maxLength: 3 }),
  remove: fc.array(key, { maxLength: 2 }),
});

/** What the contract says, written down as plainly as possible: the links afterwards, or why there are none other. */
function applied(links: readonly Link[], step: Step): { readonly links: readonly Link[] } | string {
  const { who, back, one, exactly } = step;
  const isAdmin = who === 'admin';
  const { sub } = callers[who];
  const tagIsSeen = (tag: number) => isAdmin || TAGS[tag - 1]?.hidden === false;
  if (back && !isAdmin) return tagIsSeen(one) ? 'FORBIDDEN' : 'NOT_FOUND';
  const pair = (other: number) => (back ? { product: other, tag: one } : { product: one, tag: other });
  const isThere = ({ product, tag }: { product: number; tag: number }) =>
    product <= PRODUCTS && tag <= TAGS.length && tagIsSeen(tag);
  const same = (a: { product: number; tag: number }, b: { product: number; tag: number }) =>
    a.product === b.product && a.tag === b.tag;
  const isSeen = (link: Link) => (isAdmin || !link.secret) && tagIsSeen(link.tag);
  const mine = links.filter((link) => (back ? link.tag : link.product) === one && isSeen(link));
  const wanted = [...new Set(step.add)].map(pair);
  const unwanted = [...new Set(step.remove)].map(pair);
  if (!exactly && unwanted.some((each) => wanted.some((other) => same(each, other))))
    return 'VALIDATION_FAILED';
  const gone = mine.filter((link) =>
    exactly ? !wanted.some((each) => same(each, link)) : unwanted.some((each) => same(each, link)),
  );
  const fresh = wanted.filter((each) => !mine.some((link) => same(each, link)));
  if (gone.some(({ maker }) => !isAdmin && !(who !== 'guest' && maker === sub))) return 'FORBIDDEN';
  if (fresh.some((each) => !isThere(each))) return 'CONFLICT';
  const mayMake = ({ tag }: { tag: number }) => isAdmin || (who !== 'guest' && !TAGS[tag - 1]?.frozen);
  if (!fresh.every(mayMake)) return 'FORBIDDEN';
  if (fresh.some((each) => links.some((link) => same(each, link)))) return 'CONFLICT';
  const made = fresh.map((each) => ({ ...each, maker: sub, secret: false }));
  return { links: [...links.filter((link) => !gone.includes(link)), ...made] };
}

async function perform(app: AppUnderTest, step: Step, headers: Record<string, string>): Promise<string> {
  const { door, back, one, exactly, add, remove } = step;
  const names = back
    ? { type: 'Tag', path: 'tags', ids: 'productIds', changes: '_products' }
    : { type: 'Product', path: 'products', ids: 'tagIds', changes: '_tags' };
  const body = exactly ? { [names.ids]: add } : { [names.changes]: { add, remove } };
  if (door === 'rest') {
    const answer = await app.rest('PUT', `/${names.path}/${one}`, body, headers);
    return answer.status === 200 ? 'fine' : answer.body.code;
  }
  const { data, errors } =
    door === 'graphql'
      ? await app.graphql(
          `mutation($v: ${exactly ? '[ID!]' : 'IDLinks'}) { it: update${names.type}(id: ${one}, ${Object.keys(body)[0]}: $v) { id } }`,
          { v: Object.values(body)[0] },
          headers,
        )
      : await app.graphql(
          `mutation($s: ${names.type}Changes!) { it: update${names.type}s(where: { id: { eq: ${one} } }, set: $s, atMost: 1) { id } }`,
          { s: body },
          headers,
        );
  if (errors) return errors[0].extensions.code;
  return Array.isArray(data.it) && data.it.length === 0 ? 'NOT_FOUND' : 'fine';
}

const written = (links: readonly Link[]) =>
  links.map(({ product, tag, maker, secret }) => `${product}-${tag} ${maker} ${secret}`).sort();

test('links are what the writes of those who may have made of them, through every door and on every database', async () => {
  const worlds = await Promise.all(
    databases.map((database) => openEmptied(database, { sdl, env: { AUTH_SECRET: SECRET } })),
  );
  const headers = Object.fromEntries(
    await Promise.all(
      Object.entries(callers).map(
        async ([name, claims]) => [name, await headersOf({ name, claims })] as const,
      ),
    ),
  );
  /** Links that are there before, made by nobody. */
  const firsts = fc.uniqueArray(
    fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 4 }), fc.boolean()),
    { maxLength: 4, selector: ([product, tag]) => `${product}-${tag}` },
  );
  await fc.assert(
    fc.asyncProperty(firsts, fc.array(step, { minLength: 1, maxLength: 12 }), async (first, steps) => {
      for (const world of worlds) {
        const app = await world.next();
        const free = app.unguarded();
        for (let each = 0; each < PRODUCTS; each++) await free.rest('POST', '/products', { name: 'x' });
        for (const tag of TAGS) await free.rest('POST', '/tags', tag);
        for (const [productId, tagId, secret] of first)
          await free.rest('POST', '/product-tags', { productId, tagId, secret });
        let links: readonly Link[] = first.map(([product, tag, secret]) => ({
          product,
          tag,
          secret,
          maker: null,
        }));
        for (const each of steps) {
          const expected = applied(links, each);
          const outcome = await perform(app, each, headers[each.who] ?? {});
          expect([each, outcome]).toEqual([each, typeof expected === 'string' ? expected : 'fine']);
          if (typeof expected !== 'string') links = expected.links;
          const stored = (await free.rest('GET', '/product-tags')).body.map(
            ({ productId, tagId, maker, secret }: any) => ({ product: productId, tag: tagId, maker, secret }),
          );
          expect([each, ...written(stored)]).toEqual([each, ...written(links)]);
        }
      }
    }),
    { numRuns: RUNS, interruptAfterTimeLimit: 120_000 },
  );
}, 300_000);
