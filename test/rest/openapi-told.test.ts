/** What `/openapi.json` tells people and their tools: bodies that can be sent as they are, what takes a token, names of the schema. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type AppUnderTest, openApp } from '../app.ts';
import { headersOf, SECRET } from '../conformance/access-matrix.ts';

const sdl = `
  type Product @resource @journal(keep: "forever") @allow(to: [READ]) @allow(to: [CREATE, UPDATE], role: "staff") {
    id: ID!
    sku: String! @unique @constraint(pattern: "^[A-Z]{3}-[0-9]{4}$")
    size: String @constraint(pattern: "^(s|m)x+$")
    tags: [Tag!]! @through(type: "ProductTag")
    stocks: [Stock!]!
  }
  type Tag @resource @allow(to: [READ]) { id: ID! name: String! }
  type ProductTag @resource @allow(to: [READ]) { id: ID! product: Product! tag: Tag! }
  type Stock @resource @allow(to: [READ], role: "authenticated") { id: ID! product: Product quantity: Int! @constraint(min: 3) }
  type Query { best: [Product!]! @action @allow(role: "staff") }
`;

let app: AppUnderTest;
let document: any;
beforeAll(async () => {
  app = await openApp('sqlite', {
    sdl,
    env: { AUTH_SECRET: SECRET },
    logic: {
      Query: {
        best: () => [],
      },
    },
  });
  document = (await app.rest('GET', '/openapi.json')).body;
});
afterAll(() => app.close());

test('the example of a create has what is needed, and is created', async () => {
  const { example } = document.paths['/products'].post.requestBody.content['application/json'];
  expect(Object.keys(example)).toEqual(['sku']);
  const headers = await headersOf({ name: 'staff', claims: { sub: 's', roles: ['staff'] } });
  expect((await app.rest('POST', '/products', example, headers)).status).toBe(201);
  const changed = document.paths['/products/{id}'].put.requestBody.content['application/json'].example;
  expect((await app.rest('PUT', '/products/1', changed, headers)).status).toBe(200);
});

test('what the anonymous may never do takes a token', () => {
  const { paths } = document;
  const asked = (path: string, method: string) => paths[path][method].security;
  const token = [{ bearer: [] }];
  expect(document.security).toEqual([{ bearer: [] }, {}]);
  expect(asked('/products', 'get')).toBeUndefined();
  expect(asked('/products', 'post')).toEqual(token);
  expect(asked('/products/{id}', 'put')).toEqual(token);
  expect(asked('/products/{id}/restore', 'post')).toEqual(token);
  expect(asked('/changes/products', 'get')).toBeUndefined();
  expect(asked('/stocks', 'get')).toEqual(token);
  expect(asked('/actions/best', 'get')).toEqual(token);
  expect(asked('/metrics', 'get')).toEqual(token);
});

test('a pattern comes with a text that it matches', () => {
  const { sku, size } = document.components.schemas.ProductFields.properties;
  for (const { pattern, examples } of [sku, size]) expect(examples[0]).toMatch(new RegExp(pattern));
});

test('the introduction filters by fields that there are', async () => {
  const told: string = document.info.description;
  expect(told).toContain('`GET /stocks?quantity=3`, `quantity[gte]=3`');
  expect(told).toContain('`GET /product-tags?product.sku=ABC-4567`');
  expect((await app.rest('GET', '/product-tags?product.sku=ABC-4567')).status).toBe(200);
  expect(document.components.schemas.Version.examples).toEqual([1]);
});
