/** The deployments in examples/: what each is there to show, through both doors. */

import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import shopLogic from '../../examples/shop/logic.ts';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

type Headers = Record<string, string>;

async function open(database: (typeof databases)[number], name: string): Promise<AppUnderTest> {
  const file = (path: string) => Bun.file(new URL(`../../examples/${name}/${path}`, import.meta.url));
  const [sdl, data] = await Promise.all([file('schema.graphql').text(), file('data.json').json()]);
  const logic = name === 'shop' ? { logic: shopLogic } : {};
  return openApp(database, { sdl, data, ...logic, env: { AUTH_SECRET: SECRET } });
}

const as = (claims: { sub: string; [claim: string]: unknown }): Promise<Headers> =>
  headersOf({ name: JSON.stringify(claims), claims });

/** The values of one field of all records that a caller sees, found the same through both doors. */
async function seen(app: AppUnderTest, list: string, field: string, headers: Headers): Promise<unknown[]> {
  const path = list.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const rest = (await app.rest('GET', `/${path}`, undefined, headers)).body;
  const { data } = await app.graphql(`{ ${list} { ${field} } }`, {}, headers);
  const [byRest, byGraphql] = [rest, data[list]].map((rows) => rows.map((row: any) => row[field]));
  expect(byRest).toEqual(byGraphql);
  return byRest;
}

/** Where the shop puts its mails. */
const mails = join(tmpdir(), `${crypto.randomUUID()}.ndjson`);
process.env['SHOP_MAILS'] = mails;
afterAll(() => rmSync(mails, { force: true }));

describe.each([...databases])('on %s', (database) => {
  describe('start', async () => {
    const app = await open(database, 'start');
    afterAll(() => app.close());
    const editor = await as({ sub: 'me', roles: ['editor'] });

    test('everybody reads, editors write', async () => {
      expect(await seen(app, 'books', 'title', {})).toContain('Dune');
      const book = { title: 'Emma', pages: 474, authorId: 2 };
      expect((await app.rest('POST', '/books', book)).status).toBe(401);
      expect((await app.rest('POST', '/books', book, editor)).status).toBe(201);
      const { data } = await app.graphql(
        'mutation { createBook(title: "Persuasion", authorId: 2) { author { name } } }',
        {},
        editor,
      );
      expect(data.createBook).toEqual({ author: { name: 'Frank Herbert' } });
    });

    test('the constraint and the reference hold', async () => {
      const refused = await app.rest('POST', '/books', { title: '', pages: 0, authorId: 1 }, editor);
      expect([refused.status, refused.body.errors.length]).toEqual([400, 2]);
      const { errors } = await app.graphql(
        'mutation { createBook(title: "x", authorId: 99) { id } }',
        {},
        editor,
      );
      expect(errors?.[0].extensions.code).toBe('CONFLICT');
    });
  });

  describe('shop', async () => {
    const app = await open(database, 'shop');
    afterAll(() => app.close());
    const [ada, staff] = await Promise.all([as({ sub: 'ada' }), as({ sub: 'sam', roles: ['staff'] })]);
    const pots = async () => (await app.rest('GET', '/stocks/4', undefined, staff)).body.quantity;

    test('everybody sees the products, customers their own orders, staff all', async () => {
      expect((await seen(app, 'products', 'sku', {})).length).toBe(4);
      expect(await seen(app, 'customers', 'name', ada)).toEqual(['Ada Lovelace']);
      expect((await seen(app, 'orderLines', 'quantity', ada)).length).toBe(3);
      expect((await seen(app, 'orders', 'state', staff)).length).toBe(3);
      expect((await app.rest('GET', '/orders/2', undefined, ada)).status).toBe(404);
    });

    const wanted = (customerId: number, productId: number, quantity: number) => ({
      customerId,
      lines: [{ productId, quantity }],
    });
    const place = (body: object, headers: Headers) => app.rest('POST', '/actions/place-order', body, headers);

    test('a customer orders for itself, by the action alone, and does not say how far the order is', async () => {
      const placed = await place(wanted(1, 2, 3), ada);
      expect(placed.body).toMatchObject({
        number: 4,
        customerId: 1,
        state: 'OPEN',
        goods: '19.20',
        shipping: '4.90',
        total: '24.10',
      });
      const lines = await app.rest('GET', `/order-lines?orderId=${placed.body.id}`, undefined, ada);
      expect(lines.body).toMatchObject([{ productId: 2, quantity: 3, price: '6.40', total: '19.20' }]);
      const other = await place(wanted(2, 2, 1), ada);
      expect(other.body.errors).toEqual([
        { pointer: '#/customerId', code: 'REFUSED', detail: 'There is no such customer.' },
      ]);
      for (const body of [{ customerId: 1 }, { customerId: 1, state: 'PAID' }])
        expect((await app.rest('POST', '/orders', body, ada)).status).toBe(403);
      const { errors } = await app.graphql(
        'mutation { placeOrder(customerId: 1, lines: [{ productId: 1, quantity: 0 }]) { id } }',
        {},
        ada,
      );
      expect(errors?.[0].extensions.errors).toMatchObject([
        { pointer: '#/lines/0/quantity', code: 'OUT_OF_RANGE' },
      ]);
    });

    test('an order takes what it needs out of the stock, or nothing happens', async () => {
      const orders = async () => (await seen(app, 'orders', 'state', staff)).length;
      const before = await orders();
      const tooMany = await place(wanted(2, 3, 3), staff);
      expect([tooMany.status, await pots(), await orders()]).toEqual([400, 2, before]);
      expect(tooMany.body.detail).toBe('There are no 3 of product 3 in one place.');
      const done = await place(wanted(2, 3, 1), staff);
      expect([done.status, await pots(), await orders()]).toEqual([200, 1, before + 1]);
      const { errors, data } = await app.graphql(
        `mutation @atomic {
          a: placeOrder(customerId: 2, lines: [{ productId: 3, quantity: 1 }]) { id }
          b: placeOrder(customerId: 2, lines: [{ productId: 3, quantity: 1 }]) { id }
        }`,
        {},
        staff,
      );
      expect([errors?.[0].extensions.code, data, await pots()]).toEqual(['VALIDATION_FAILED', null, 1]);
      expect(await orders()).toBe(before + 1);
    });

    test('the customer is mailed what an order comes to', async () => {
      rmSync(mails, { force: true });
      const { body: order } = await place(wanted(1, 2, 2), ada);
      const text = `Your order ${order.number} comes to ${order.total}.`;
      const sent = async () => (existsSync(mails) ? await Bun.file(mails).text() : '');
      for (let tries = 0; tries < 600 && !(await sent()).includes(text); tries++) await Bun.sleep(50);
      const [mail] = (await sent()).split('\n').filter((line) => line.includes(text));
      expect(JSON.parse(mail ?? '{}')).toEqual({ id: expect.any(String), to: 'ada@example.com', text });
    });

    test('orders that are placed at once have numbers of their own', async () => {
      const placed = await Promise.all(Array.from({ length: 8 }, () => place(wanted(1, 1, 1), ada)));
      expect(placed.map(({ status }) => status)).toEqual(Array(8).fill(200));
      const numbers = placed.map(({ body }) => body.number).sort((a, b) => a - b);
      expect(numbers).toEqual(Array.from({ length: 8 }, (_, index) => numbers[0] + index));
    });

    test('staff changes lines, and the total follows', async () => {
      const { body: order } = await place(wanted(2, 1, 2), staff);
      const total = async () => {
        const { body } = await app.rest('GET', `/orders/${order.id}`, undefined, staff);
        return [body.goods, body.shipping, body.total];
      };
      const [line] = (await app.rest('GET', `/order-lines?orderId=${order.id}`, undefined, staff)).body;
      const change = (body: object) => app.rest('PUT', `/order-lines/${line.id}`, body, staff);
      expect(await total()).toEqual(['13.80', '4.90', '18.70']);
      expect((await change({ quantity: 3, price: '1.00' })).status).toBe(400);
      await change({ quantity: 10 });
      expect(await total()).toEqual(['69.00', '0.00', '69.00']);
      await change({ _inc: { quantity: -9 } });
      expect(await total()).toEqual(['6.90', '4.90', '11.80']);
      const more = { orderId: order.id, productId: 4, quantity: 2 };
      expect((await app.rest('POST', '/order-lines', more, staff)).body).toMatchObject({ price: '9.50' });
      expect(await total()).toEqual(['25.90', '4.90', '30.80']);
      expect((await change({ productId: 2 })).body.errors).toMatchObject([
        { pointer: '#/productId', code: 'REFUSED' },
      ]);
      await app.rest('DELETE', `/order-lines/${line.id}`, undefined, staff);
      expect(await total()).toEqual(['19.00', '4.90', '23.90']);
      const highest = await app.rest('GET', '/orders?total%5Blt%5D=24&sort=-total&limit=1', undefined, staff);
      expect(highest.body).toMatchObject([{ id: order.id, total: '23.90' }]);
      expect((await app.rest('DELETE', `/orders/${order.id}`, undefined, staff)).status).toBe(204);
    });

    test('products are found by their words, whatever the letter case, those with the word in their name first', async () => {
      const found = async (search: string) =>
        (await app.rest('GET', `/products?search=${search}&sort=_relevance&fields=sku`)).body;
      expect(await found('TEA')).toEqual([{ sku: 'TEA-0001' }, { sku: 'POT-0001' }, { sku: 'TEA-0002' }]);
      expect(await found('green%20te')).toEqual([{ sku: 'TEA-0001' }]);
      const { data } = await app.graphql(
        '{ products(search: "tea", orderBy: [{ _relevance: DESC }]) { sku } }',
      );
      expect(data.products).toEqual(await found('tea'));
    });

    test('an address has no twin that differs in letter case', async () => {
      const twin = await app.rest('POST', '/customers', { name: 'Ada', email: 'ADA@example.com' }, staff);
      expect([twin.status, twin.body.errors[0]]).toEqual([
        409,
        expect.objectContaining({ pointer: '#/email', code: 'NOT_UNIQUE' }),
      ]);
    });

    test('a product has tags, which staff alone gives it', async () => {
      const gifts = '/products?where={"tags":{"some":{"name":{"eq":"gift"}}}}&fields=sku,price,tags.name';
      expect((await app.rest('GET', gifts)).body).toEqual([
        { sku: 'TEA-0002', price: '6.40', tags: [{ name: 'tea' }, { name: 'gift' }] },
        { sku: 'POT-0001', price: '49.00', tags: [{ name: 'dishes' }, { name: 'gift' }] },
      ]);
      expect((await app.rest('PUT', '/products/2', { tagIds: [1] }, ada)).body.code).toBe('FORBIDDEN');
      expect((await app.rest('PUT', '/products/2', { tagIds: [1] }, staff)).status).toBe(200);
      const { data } = await app.graphql(
        'mutation { updateProduct(id: 4, _tags: { add: [3] }) { tags { name } } }',
        {},
        staff,
      );
      expect(data.updateProduct.tags).toEqual([{ name: 'dishes' }, { name: 'gift' }]);
      expect((await app.rest('GET', gifts)).body.map(({ sku }: any) => sku)).toEqual([
        'POT-0001',
        'CUP-0001',
      ]);
    });

    test('an order goes forward only, and its total is exact in the report by customer and month', async () => {
      const back = await app.rest('PUT', '/orders/3', { state: 'OPEN' }, staff);
      expect(back.body.errors[0].code).toBe('TRANSITION_NOT_ALLOWED');
      const until = 'placedAt[lt]=2026-04-01T00:00:00.000Z';
      const groups = 'aggregate=count,sum(total)&groupBy=customerId,month(placedAt)';
      const report = await app.rest('GET', `/orders?${until}&${groups}`, undefined, staff);
      expect(report.body).toEqual([
        { by: { customerId: 1, placedAtMonth: '2026-02-01' }, count: 1, sum: { total: '17.70' } },
        { by: { customerId: 1, placedAtMonth: '2026-03-01' }, count: 1, sum: { total: '51.80' } },
        { by: { customerId: 2, placedAtMonth: '2026-03-01' }, count: 1, sum: { total: '53.90' } },
      ]);
      const { data } = await app.graphql(
        '{ ordersAggregate(groupBy: [customerId, placedAtMonth], where: { placedAt: { lt: "2026-04-01T00:00:00.000Z" } }) { by { customerId placedAtMonth } count sum { total } } }',
        {},
        staff,
      );
      expect(data.ordersAggregate).toEqual(
        report.body.map(({ by, ...rest }: any) => ({
          ...rest,
          by: { ...by, customerId: String(by.customerId) },
        })),
      );
    });

    test('an order goes with its lines; a product stays while lines name it', async () => {
      expect((await app.rest('DELETE', '/products/1', undefined, staff)).status).toBe(409);
      expect((await app.rest('DELETE', '/orders/1', undefined, staff)).status).toBe(204);
      expect((await app.rest('GET', '/order-lines/1', undefined, staff)).status).toBe(404);
    });
  });

  describe('tracker', async () => {
    const app = await open(database, 'tracker');
    afterAll(() => app.close());
    const [red, blue, admin] = await Promise.all([
      as({ sub: 'ada', tenant: 'red' }),
      as({ sub: 'grace', tenant: 'blue' }),
      as({ sub: 'root', tenant: 'blue', roles: ['admin'] }),
    ]);

    test('a tenant sees its own, whatever it asks for', async () => {
      for (const [list, field, ofRed, ofBlue] of [
        ['projects', 'name', 1, 2],
        ['members', 'handle', 1, 2],
        ['issues', 'title', 1, 2],
        ['comments', 'body', 1, 2],
      ] as const) {
        expect([list, (await seen(app, list, field, red)).length]).toEqual([list, ofRed]);
        expect([list, (await seen(app, list, field, blue)).length]).toEqual([list, ofBlue]);
        expect((await app.rest('GET', `/${list}`)).status).toBe(401);
      }
      expect((await app.rest('GET', '/issues/2', undefined, red)).status).toBe(404);
    });

    test('nothing leads into another tenant', async () => {
      const issue = { projectId: 2, title: 'mine?' };
      expect((await app.rest('POST', '/issues', issue, red)).body.code).toBe('CONFLICT');
      const { errors } = await app.graphql('mutation { updateIssue(id: 1, assigneeId: 2) { id } }', {}, red);
      expect(errors?.[0].extensions.code).toBe('CONFLICT');
      expect((await app.rest('PUT', '/issues/2', { title: 'x' }, red)).status).toBe(404);
    });

    test('members report, comment and close; admins make and delete', async () => {
      const { data } = await app.graphql(
        'mutation { createIssue(projectId: 3, title: "Backups") { id reporter state } }',
        {},
        blue,
      );
      expect(data.createIssue).toEqual({ id: expect.any(String), reporter: 'grace', state: 'OPEN' });
      const path = `/issues/${data.createIssue.id}`;
      expect((await app.rest('PUT', path, { state: 'DONE' }, blue)).body.state).toBe('DONE');
      expect((await app.rest('DELETE', path, undefined, blue)).status).toBe(403);
      expect((await app.rest('DELETE', path, undefined, admin)).status).toBe(204);
      const project = { code: 'NEW', name: 'New' };
      expect((await app.rest('POST', '/projects', project, blue)).status).toBe(403);
      expect((await app.rest('POST', '/projects', project, admin)).body.tenant).toBe('blue');
    });

    test('a comment is its author’s', async () => {
      expect((await app.rest('PUT', '/comments/2', { body: 'x' }, blue)).status).toBe(403);
      expect((await app.rest('PUT', '/comments/3', { body: 'x' }, blue)).status).toBe(200);
    });
  });

  describe('blog', async () => {
    const app = await open(database, 'blog');
    afterAll(() => app.close());
    const [ada, grace, editor] = await Promise.all([
      as({ sub: 'ada' }),
      as({ sub: 'grace' }),
      as({ sub: 'ed', roles: ['editor'] }),
    ]);

    test('drafts are their author’s and the editors’', async () => {
      expect((await seen(app, 'posts', 'title', {})).length).toBe(2);
      expect((await seen(app, 'posts', 'title', grace)).length).toBe(2);
      expect((await seen(app, 'posts', 'title', ada)).length).toBe(3);
      expect((await seen(app, 'posts', 'title', editor)).length).toBe(3);
    });

    test('an author publishes and tags; nobody writes under another name', async () => {
      const post = { title: 'Draft', body: 'b', authorId: 1, taggings: [{ tagId: 'history' }] };
      const created = await app.rest('POST', '/posts', post, ada);
      expect([created.status, created.body.published]).toEqual([201, false]);
      expect((await app.rest('POST', '/posts', post, grace)).status).toBe(403);
      const { data } = await app.graphql('{ tag(name: "history") { taggings { post { title } } } }', {}, ada);
      expect(data.tag.taggings.length).toBe(3);
      expect((await app.rest('GET', '/tags/history?include=taggings')).body.taggings.length).toBe(2);
    });

    test('known callers comment on what is published; addresses are for editors', async () => {
      const comment = { postId: 1, body: 'Indeed.' };
      expect((await app.rest('POST', '/comments', comment)).status).toBe(401);
      expect((await app.rest('POST', '/comments', comment, ada)).body.by).toBe('ada');
      expect((await app.rest('POST', '/comments', { ...comment, postId: 2 }, ada)).status).toBe(403);
      expect('email' in (await app.rest('GET', '/users/1')).body).toBe(false);
      expect((await app.rest('GET', '/users/1', undefined, editor)).body.email).toBe('ada@example.com');
    });
  });
});
