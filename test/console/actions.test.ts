/** Actions and computed fields: what functions do, run and shown in the console, through both doors. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { browsing, service, shows, visit } from './browser.ts';
import { fetchCurl } from './curl.ts';

const sdl = `
enum Speed { SLOW FAST }
type Item @resource {
  id: ID!
  name: String!
  price: Decimal! @decimal(scale: 2)
  quantity: Int! @constraint(min: 0)
  "What all of them cost."
  worth: Decimal! @decimal(scale: 2) @computed(from: ["price", "quantity"])
}
type Line @resource { id: ID! item: Item! quantity: Int! speed: Speed! due: Date note: String }
input Wish { itemId: ID! quantity: Int! = 1 at: DateTime }
type Receipt { lines: [Line!]! best: Item count: Int! part: Receipt }
type Mutation {
  "Takes an \`Item\` out of the stock."
  placeOrder(itemId: ID!, quantity: Int! @constraint(min: 1), speed: Speed! = SLOW, due: Date, note: String): Line! @action
  placeAll(wishes: [Wish!]!): Receipt! @action
  reset: Boolean @action @deprecated
}
type Query {
  greeting(name: String): String @action
  total: Int! @action
  bestsellers(first: Int! = 2, speeds: [Speed!], wish: Wish): [Item!]! @action
}
`;

const logic = `
export default {
  Item: { worth: ({ price, quantity }) => (Number(price) * quantity).toFixed(2) },
  Mutation: {
    *placeOrder({ tx, refuse }, { itemId, quantity, speed, due, note }) {
      const item = yield* tx.items.get(itemId);
      if (!item) throw refuse('There is no such item.', 'itemId');
      if (item.quantity < quantity) throw refuse('There are not so many.', 'quantity');
      yield* tx.items.update(item.id, { _inc: { quantity: -quantity } });
      return yield* tx.lines.create({ itemId, quantity, speed, due, note });
    },
    *placeAll({ tx }, { wishes }) {
      const lines = [];
      for (const { itemId, quantity } of wishes) lines.push(yield* tx.lines.create({ itemId, quantity, speed: 'FAST' }));
      return { lines: lines.map(({ id }) => id), best: wishes[0].itemId, count: lines.length, part: null };
    },
    reset: () => null,
  },
  Query: {
    greeting: (_, { name }) => (name === 'nobody' ? null : \`Hello, \${name ?? 'all'}!\`),
    total: () => 1200,
    *bestsellers({ tx }, { first, speeds, wish }) {
      if (speeds?.length === 2) return [];
      return yield* tx.items.list({ orderBy: [{ quantity: 'ASC' }], first: wish?.quantity ?? first });
    },
  },
};
`;

const data = {
  items: [
    { id: 1, name: 'Teapot', price: '12.50', quantity: 40 },
    { id: 2, name: 'Cup', price: '3.00', quantity: 19 },
    { id: 3, name: 'Spoon', price: '1.00', quantity: 90 },
  ],
};

// On both databases the answers are the same, and data.test.ts shows that what is made of them is.
browsing('on postgres', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('postgres', { sdl, data, logic });
  });
  afterAll(() => duet.end());

  test.each(['REST', 'GraphQL'])('an action is run by a form of its arguments, through %s', async (door) => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('');
    await page.getByRole('radio', { name: door }).check();
    await page.getByRole('navigation').getByRole('link', { name: 'placeOrder' }).click();
    await page.getByRole('heading', { name: 'placeOrder Line!' }).waitFor();
    // Defaults are told, and what is wrong stands at its field.
    await shows(
      () => page.getByLabel('speed').locator('option').allTextContents(),
      ['SLOW by default', 'SLOW', 'FAST'],
    );
    // Types are those of the schema file, and what they refer to is searched.
    await page.getByPlaceholder('Search items').waitFor();
    expect(await page.locator('form .field .type').allTextContents()).toEqual([
      'ID!',
      'Int!',
      'Speed!',
      'Date',
      'String',
    ]);
    const run = page.getByRole('button', { name: 'Run' });
    const faultAt = (name: string, text: string) =>
      page.locator(`.field[data-name=${name}]`).getByRole('alert').filter({ hasText: text }).waitFor();
    await run.click();
    await faultAt('itemId', 'itemId is required');
    await faultAt('quantity', 'quantity is required');
    // A click shows what there is to choose from.
    await page.getByLabel('itemId').click();
    await page.getByRole('option', { name: 'Spoon' }).waitFor();
    await page.getByLabel('itemId').pressSequentially('cu');
    await page.getByRole('option', { name: 'Cup' }).click();
    await page.getByRole('textbox', { name: 'quantity' }).fill('0');
    await run.click();
    await faultAt('quantity', 'must be 1 or more');
    await page.getByRole('textbox', { name: 'quantity' }).fill('1000');
    await run.click();
    await faultAt('quantity', 'There are not so many.');
    const before = (await duet.json('GET', '/lines')).length;
    await page.getByRole('textbox', { name: 'quantity' }).fill('2');
    await page.getByLabel('speed').selectOption('FAST');
    await page.getByLabel('due').fill('2031-02-03');
    await run.click();
    const answer = page.getByRole('region', { name: 'The answer' });
    await answer.getByText('2031-02-03').waitFor();
    const told = page.getByRole('status').filter({ hasText: 'placeOrder has run.' });
    await told.waitFor();
    // What it refers to has a name.
    expect(await answer.getByRole('link', { name: 'Cup' }).getAttribute('href')).toBe('#/data/Item/record/2');
    const { y = 0 } = (await answer.getByRole('link', { name: /^Line \d+$/ }).boundingBox()) ?? {};
    const dock = await page.getByRole('region', { name: 'REST and GraphQL' }).boundingBox();
    expect(y).toBeLessThan(dock?.y ?? 0);
    // That it has run is not said beside a refusal.
    await page.getByRole('textbox', { name: 'quantity' }).fill('0');
    await run.click();
    await faultAt('quantity', 'must be 1 or more');
    expect(await told.count()).toBe(0);
    await page.getByRole('textbox', { name: 'quantity' }).fill('2');
    await run.click();
    await told.waitFor();
    const lines = await duet.json('GET', '/lines?sort=-id');
    expect(lines.length).toBe(before + 2);
    expect(lines[0]).toMatchObject({
      itemId: 2,
      quantity: 2,
      speed: 'FAST',
      due: '2031-02-03',
      note: null,
    });
    await page.getByLabel('What to show').selectOption('Last change');
    const article = page.getByRole('article', { name: door });
    await article.locator('.cost', { hasText: /^[\d.]+ ms · \d+ B · [1-9]\d* statements?$/ }).waitFor();
    // The command does the same.
    await article.getByRole('button', { name: 'curl' }).click();
    await article.getByText('Copied').waitFor();
    const command = (await page.evaluate('navigator.clipboard.readText()')) as string;
    expect((await fetchCurl(command)).status).toBe(200);
    expect((await duet.json('GET', '/lines')).length).toBe(before + 3);
    // What was run is not lost by leaving.
    await answer.getByRole('link').first().click();
    await page.getByRole('heading', { name: String(lines[0].id) }).waitFor();
    expect(here.complaints).toEqual([]);
  });

  test.each(['REST', 'GraphQL'])(
    'inputs are rows of fields, plain types are answered whole, through %s',
    async (door) => {
      await using here = await visit(duet.url);
      const { page } = here;
      await here.go('#/actions/placeAll');
      await page.getByRole('radio', { name: door }).check();
      const run = page.getByRole('button', { name: 'Run' });
      const wishes = page.locator('.field[data-name=wishes]');
      const wish = (at: number) => wishes.getByRole('group', { name: `wishes, item ${at}` });
      const choose = async (at: number, name: string) => {
        await wish(at).getByLabel('itemId').click();
        await wish(at).getByRole('option', { name }).click();
      };
      // The first row is there, and on a telephone all of it is within its edges.
      await wish(1).getByLabel('itemId').waitFor();
      await page.setViewportSize({ width: 360, height: 740 });
      const outside = () =>
        wish(1).evaluate((each: any) => {
          const { left, right } = each.getBoundingClientRect();
          return [...each.querySelectorAll('*')]
            .map((part) => part.getBoundingClientRect())
            .filter((part) => part.width > 0 && (part.left < left || part.right > right)).length;
        });
      await shows(outside, 0);
      // What must be given is marked at its own place, in a form that nobody has filled in too.
      await run.click();
      await wish(1).getByRole('alert').filter({ hasText: 'itemId is required' }).waitFor();
      expect(await wishes.getByRole('alert').count()).toBe(1);
      await shows(() => page.evaluate('document.activeElement.id'), 'field-wishes-0-itemId');
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
      await page.setViewportSize({ width: 1280, height: 900 });
      for (let at = 1; at < 3; at++) await wishes.getByRole('button', { name: 'Add item' }).click();
      await wish(1).getByLabel('quantity').fill('two');
      await run.click();
      await wishes.getByRole('alert').filter({ hasText: 'not a number' }).waitFor();
      await wish(1).getByLabel('quantity').fill('2');
      await choose(1, 'Teapot');
      await choose(3, 'Spoon');
      await run.click();
      await wish(2).getByRole('alert').filter({ hasText: 'itemId is required' }).waitFor();
      expect(await wishes.getByRole('alert').count()).toBe(1);
      await wishes.getByRole('button', { name: 'Remove item 2' }).click();
      await run.click();
      const told = page.getByRole('region', { name: 'The answer' }).locator('pre');
      await told.filter({ hasText: 'Teapot' }).waitFor();
      const value = JSON.parse((await told.textContent()) ?? '');
      expect(value).toMatchObject({ count: 2, best: { id: 1, name: 'Teapot', worth: expect.any(String) } });
      expect(value.lines.map(({ itemId, quantity }: any) => [itemId, quantity])).toEqual([
        [1, 2],
        [3, 1],
      ]);
      expect(here.complaints).toEqual([]);
    },
  );

  test.each(['REST', 'GraphQL'])(
    'a question is asked with its arguments, and answered as a table, through %s',
    async (door) => {
      await using here = await visit(duet.url);
      const { page } = here;
      await here.go('#/actions/bestsellers?first=1');
      await page.getByRole('radio', { name: door }).check();
      const run = page.getByRole('button', { name: 'Run' });
      const names = () => page.locator('section.answer tbody td:first-child').allTextContents();
      await run.click();
      await shows(names, ['Cup']);
      await page.getByRole('textbox', { name: 'first' }).fill('');
      await run.click();
      await shows(names, ['Cup', 'Teapot']);
      const wish = page.getByRole('group', { name: 'wish' });
      await wish.getByLabel('quantity').fill('3');
      await run.click();
      await wish.getByRole('alert').filter({ hasText: 'itemId is required' }).waitFor();
      await wish.getByLabel('itemId').click();
      await wish.getByRole('option', { name: 'Teapot' }).click();
      await run.click();
      await shows(names, ['Cup', 'Teapot', 'Spoon']);
      const item = page.locator('#field-speeds');
      await item.click();
      await item.click();
      await run.click();
      await page.locator('section.answer pre', { hasText: '[]' }).waitFor();
      expect(here.complaints).toEqual([]);
    },
  );

  test('computed fields are read-only, with what they are made of, on the record and in its forms', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    for (const door of ['REST', 'GraphQL']) {
      await here.go('#/data/Item/record/3');
      await page.getByRole('radio', { name: door }).check();
      await page
        .locator('dl.fields > div', { hasText: 'computed from price, quantity' })
        .getByText('90.00')
        .waitFor();
      await page.getByRole('link', { name: 'Edit' }).click();
      const worth = page.getByLabel('worth');
      await shows(() => worth.textContent(), '90.00');
      await page.getByText(/What all of them cost\.\s*Computed from price, quantity\./).waitFor();
      expect(await worth.evaluate((element) => element.tagName)).toBe('OUTPUT');
      await page.getByRole('textbox', { name: 'name' }).fill('Spoon, silver');
      await shows(() => worth.textContent(), '90.00');
      await page.getByRole('textbox', { name: 'price' }).fill('2');
      await shows(() => worth.textContent(), 'computed when it is saved');
      await page.getByRole('textbox', { name: 'price' }).fill('1.00');
      await shows(() => worth.textContent(), '90.00');
      await page.getByRole('textbox', { name: 'name' }).fill('Spoon');
    }
    await here.go('#/data/Item/new');
    await shows(() => page.getByLabel('worth').textContent(), 'computed when it is saved');
    expect(here.complaints).toEqual([]);
  });

  test('without arguments there is only the button, and nothing is an answer too', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('');
    await page.getByRole('navigation').getByRole('link', { name: 'reset deprecated' }).click();
    await page.getByRole('button', { name: 'Run' }).click();
    const answer = page.getByRole('region', { name: 'The answer' }).locator('p');
    await shows(() => answer.allTextContents(), ['null']);
    // A text is a text, and not JSON.
    for (const door of ['REST', 'GraphQL']) {
      await here.go('#/actions/greeting');
      await page.getByRole('radio', { name: door }).check();
      await page.getByRole('button', { name: 'Run' }).click();
      await shows(() => answer.allTextContents(), ['Hello, all!']);
      await here.go('#/actions/total');
      await page.getByRole('button', { name: 'Run' }).click();
      await shows(() => answer.allTextContents(), ['1200']);
    }
    expect(here.complaints).toEqual([]);
  });
});
