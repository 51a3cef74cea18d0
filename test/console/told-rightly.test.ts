/** What a screen says of the answers, of a list that is cut, of the clipboard and of a refusal is so. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { browsing, service, visit } from './browser.ts';

const sdl = `
type Dish @resource @check(where: { price: { lt: 50 } }, message: "Nobody pays that.") {
  id: ID!  name: String!  price: Int @constraint(max: 100)  labels: [Label!]! @through(type: "DishLabel")  parts: [Part!]!
}
type Label @resource { id: ID!  name: String!  note: String  dishes: [Dish!]! @through(type: "DishLabel") }
type DishLabel @resource { id: ID!  dish: Dish!  label: Label! }
type Part @resource { id: ID!  name: String!  dish: Dish }
type Measure @resource { id: ID!  size: Float! }
type Word @resource { id: ID!  text: String!  count: Int  forms: [String!]! }
`;

const data = {
  dishes: [
    { id: 1, name: 'Soup', price: 5 },
    { id: 2, name: 'Stew', price: 9 },
  ],
  measures: [1e-7, 10 / 3, -12_345.678, 1e21, 2024].map((size) => ({ size })),
  labels: [{ id: 1, name: 'Hot', note: 'Whatever else it has.' }],
  dishLabels: [{ id: 1, dishId: 1, labelId: 1 }],
  parts: [1, 2, 3, 4, 5, 6, 7].map((id) => ({ id, name: `Part ${id}`, dishId: id > 6 ? 2 : 1 })),
};

browsing('told rightly', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('sqlite', { sdl, data });
  });
  afterAll(() => duet.end());

  test('rows with lists in them are the same through both doors', async () => {
    await using here = await visit(duet.url);
    for (const type of ['Dish', 'Label']) {
      await here.go(`#/data/${type}`);
      await here.page.getByText('Both have the same records.').waitFor();
    }
    await here.go('#/data/Dish/record/1');
    await here.page.getByText('Both have the same records.').waitFor();
    expect(here.complaints).toEqual([]);
  });

  test.each([1800, 1920, 2560])(
    'what is told beside a record makes no page of %d px wider',
    async (width) => {
      await using here = await visit(duet.url, { viewport: { width, height: 1200 } });
      await here.go('#/data/Dish/record/1');
      await here.page.getByText('Both have the same records.').waitFor();
      expect(await here.page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      // Nor is it cut.
      const agree = "document.querySelector('.agree')";
      expect(await here.page.evaluate(`${agree}.scrollWidth <= ${agree}.clientWidth`)).toBe(true);
    },
  );

  test('a number in a table is the one that is stored', async () => {
    await using here = await visit(duet.url);
    await here.go('#/data/Measure');
    await here.page.getByText('1e-7').first().waitFor();
    const cells = await here.page.locator('tbody tr').allTextContents();
    for (const [at, text] of ['1e-7', '3.3333333333333335', '-12,345.678', '1e+21', '2024'].entries())
      expect(cells[at]).toContain(text);
  });

  test('a list of which only the beginning is shown says so', async () => {
    await using here = await visit(duet.url);
    const parts = here.page.getByRole('region', { name: 'parts' });
    await here.go('#/data/Dish/record/1');
    await parts.getByText('The first 5; there are more.').waitFor();
    await here.go('#/data/Dish/record/2');
    await parts.getByText('Part 7').waitFor();
    expect(await parts.getByText('there are more').count()).toBe(0);
  });

  test('where the browser gives no clipboard, what is selected is copied, or it is told that it is not', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Dish');
    const copy = page.getByRole('article', { name: 'REST' }).getByRole('button', { name: 'Copy curl' });
    await page.evaluate(`navigator.clipboard.writeText('before')`);
    await page.evaluate(
      `navigator.clipboard.writeText = async () => { throw new DOMException('', 'NotAllowedError') }`,
    );
    await copy.click();
    await copy.getByText('Copied').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toStartWith('curl ');
    await page.evaluate('document.execCommand = () => false');
    await copy.getByText('Copy', { exact: true }).waitFor();
    await copy.click();
    await copy.getByText('Not copied').waitFor();
    expect(here.complaints).toEqual([]);
  });

  test('a refused change of many is not told of the one that stands there now', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Dish');
    await page.getByRole('checkbox', { name: /all/i }).first().check();
    await page.getByRole('button', { name: 'Change…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Field to change').selectOption('price');
    await dialog.getByLabel('price', { exact: true }).fill('60');
    await dialog.getByRole('button', { name: 'Change 2 records' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('price', { exact: true }).fill('10');
    await dialog.getByRole('alert').waitFor({ state: 'detached' });
    await dialog.getByRole('button', { name: 'Change 2 records' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await duet.json('GET', '/dishes')).map(({ price }: any) => price)).toEqual([10, 10]);
  });

  test('a list that nobody has given is not one that is empty', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Word/new');
    await page.locator('#field-text').fill('sing');
    await page.getByRole('button', { name: 'Create' }).click();
    const field = page.locator('.field[data-name="forms"]');
    await field.getByText('forms is required').waitFor();
    expect(await field.getByText('empty list', { exact: true }).count()).toBe(0);
    await page.getByRole('button', { name: 'Set to empty list: forms' }).click();
    await field.getByText('empty list', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.locator('main > dl.fields').waitFor();
    expect(await duet.json('GET', '/words')).toEqual([{ id: 1, text: 'sing', count: null, forms: [] }]);
  });

  test('what is wrong with a field that was left is told once what was pressed is let go', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Word/new');
    await page.locator('#field-count').fill('many');
    const button = await page.getByRole('button', { name: 'Add item to forms' }).boundingBox();
    if (!button) throw new Error('there is nothing to press');
    await page.mouse.move(button.x + 8, button.y + 8);
    await page.mouse.down();
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
    await page.mouse.up();
    await page.locator('#field-forms-0').waitFor();
    await page.locator('#field-count-fault').waitFor();
  });

  test('what a door has answered before is not told beside a record that is gone', async () => {
    const { id } = await duet.json('POST', '/words', { text: 'gone', forms: [] });
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go(`#/data/Word/record/${id}`);
    await page.getByText('Both have the same records.').waitFor();
    await duet.json('DELETE', `/words/${id}`);
    await here.go('#/data/Dish');
    // Where a browser is slow, two steps at once would be none.
    await page.getByRole('heading', { name: 'Dish', exact: true }).waitFor();
    await here.go(`#/data/Word/record/${id}`);
    await page.getByText(`There is no Word ${id}`).waitFor();
    await page.getByRole('article', { name: 'REST' }).getByText(/^404 /).waitFor();
    await page.getByRole('article', { name: 'GraphQL' }).getByText('not sent yet').waitFor();
  });

  test('nor does a door that answers late take away what the other has answered meanwhile', async () => {
    const { id } = await duet.json('POST', '/words', { text: 'going', forms: [] });
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Dish');
    await page.getByText('Both have the same records.').waitFor();
    const late = Promise.withResolvers<void>();
    await page.route('**/graphql', async (route) => {
      await late.promise;
      await route.continue();
    });
    const sent = page.waitForRequest('**/graphql');
    await here.go(`#/data/Word/record/${id}`);
    await sent;
    await duet.json('DELETE', `/words/${id}`);
    await here.go('#/data/Dish');
    // Where a browser is slow, two steps at once would be none.
    await page.getByRole('heading', { name: 'Dish', exact: true }).waitFor();
    await here.go(`#/data/Word/record/${id}`);
    const told = page.getByRole('article', { name: 'REST' }).getByText(/^404 /);
    await told.waitFor();
    const answered = page.waitForResponse('**/graphql');
    late.resolve();
    await (await answered).finished();
    await page.getByRole('article', { name: 'GraphQL' }).getByText(' statement').waitFor();
    expect(await told.count()).toBe(1);
  });

  test('faults of a list in JSON are told by the numbers of its records, since nobody knows their lines', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Measure/import');
    const text = JSON.stringify([{ size: 1 }, { size: 'wide' }], null, 2);
    await page
      .locator('input[type="file"]')
      .setInputFiles({ name: 'measures.json', mimeType: 'application/json', buffer: Buffer.from(text) });
    await page
      .getByRole('listitem')
      .filter({ hasText: /^record 2, size: / })
      .waitFor();
    // Through the door that is chosen, as all that is written.
    await page.getByRole('radio', { name: 'GraphQL' }).check();
    const buffer = Buffer.from('[{"size":77}]');
    await page
      .locator('input[type="file"]')
      .setInputFiles({ name: 'measures.json', mimeType: 'application/json', buffer });
    const sent = page.waitForRequest((request) => request.postData()?.includes('77') === true);
    await page.getByRole('button', { name: 'Import 1 record' }).click();
    expect(new URL((await sent).url()).pathname).toBe('/graphql');
    await page.getByText('Imported 1 record').waitFor();
  });

  test('where no type has a journal, the page of webhooks says what they need', async () => {
    await using here = await visit(duet.url);
    await here.go('#/operate/webhooks');
    await here.page.getByText('No type has a journal').waitFor();
    expect(await here.page.getByRole('button', { name: 'New webhook' }).count()).toBe(0);
  });
});
