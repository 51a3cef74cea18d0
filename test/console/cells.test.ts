/** What is typed into a cell of a table is saved by whoever goes elsewhere, or they are asked; through both doors. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { browsing, service, shows } from './browser.ts';
import { editing, onBoth, question } from './things.ts';

const sdl = `
type Owner @resource { id: ID! name: String! clinics: [Clinic!]! }
type Tag @resource { id: ID! name: String! }
type Clinic @resource {
  id: ID!
  name: String!
  beds: Int @constraint(max: 1000)
  opened: Date
  note: String
  words: [String!]
  owner: Owner
}`;

/** Ways to leave a cell for other rows or another page; after each of them the address has this. */
const ways: Record<string, { leave: (page: Page) => Promise<unknown>; to: RegExp }> = {
  'a link of the menu': {
    leave: (page) =>
      page.getByRole('navigation', { name: 'Places' }).getByRole('link', { name: 'Tag' }).click(),
    to: /#\/data\/Tag$/,
  },
  Back: { leave: (page) => page.evaluate('history.back()'), to: /#\/data\/Owner$/ },
  'another address': { leave: (page) => page.evaluate("location.hash = '#/data/Tag'"), to: /#\/data\/Tag$/ },
  Next: { leave: (page) => page.getByRole('button', { name: 'Next' }).click(), to: /after=/ },
  'the search': { leave: (page) => page.getByRole('searchbox').fill('Clinic 9'), to: /_find=Clinic/ },
  'another order': { leave: (page) => page.getByRole('button', { name: /^name/ }).click(), to: /sort=name/ },
};

const data = {
  owners: [{ name: 'Ada' }, { name: 'Grace' }],
  clinics: Array.from({ length: 60 }, (_, at) => ({ name: `Clinic ${at + 1}`, beds: at, ownerId: 1 })),
};

const place = '#/data/Clinic?_columns=name,beds,opened';
const cell = (page: Page, row: number, column: number) =>
  page.locator(`tr[aria-rowindex="${row + 1}"] td:nth-child(${column})`);
const beds = (page: Page) => page.getByRole('textbox', { name: 'beds' });
const edit = async (page: Page, text: string) => {
  // Not before the rows are in this order: those that were there before give way a moment later.
  await cell(page, 2, 1).getByText('Clinic 2', { exact: true }).waitFor();
  await cell(page, 2, 2).dblclick();
  await beds(page).fill(text);
};

browsing.each(onBoth)('cells, through %s on %s', (door, database) => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service(database, { sdl, data });
  });
  afterAll(() => duet.end());
  const saved = async () => (await duet.json('GET', '/clinics/2')).beds;

  test.each(Object.keys(ways))('%s saves a cell, and asks where it cannot be saved', async (name) => {
    const { leave, to } = ways[name] as (typeof ways)[string];
    await duet.json('PUT', '/clinics/2', { beds: 1 });
    await using here = await editing(duet.url, door, '#/data/Owner');
    const { page } = here;
    await here.go(place);
    await edit(page, '77');
    await leave(page);
    await page.waitForURL(to);
    await beds(page).waitFor({ state: 'detached' });
    expect(await saved()).toBe(77);
    expect(await question(page).count()).toBe(0);
    // What is refused, here or by the service, stays in its cell, or is given up by whoever says so.
    for (const text of ['many', '1001']) {
      await here.go('#/data/Owner');
      await here.go(place);
      await edit(page, text);
      await leave(page);
      await question(page).waitFor();
      await page.keyboard.press('Escape');
      await question(page).waitFor({ state: 'detached' });
      await shows(() => page.evaluate('location.hash'), place);
      expect(await cell(page, 2, 2).locator('input').inputValue()).toBe(text);
      await page
        .getByRole('alert')
        .filter({ hasText: /not a number|1000/i })
        .waitFor();
      if (name === 'the search') await page.getByRole('searchbox').fill('');
      await leave(page);
      await question(page).getByRole('button', { name: 'Discard changes' }).click();
      await page.waitForURL(to);
      await shows(() => page.locator('form.cell').count(), 0);
    }
    expect(await saved()).toBe(77);
    // The next cell is edited as ever.
    await here.go(place);
    await edit(page, '78');
    await page.keyboard.press('Enter');
    await shows(saved, 78);
    expect(here.complaints).toEqual([]);
  });

  test('a reload asks as browsers do, and so do a day of which only a part is typed and another cell', async () => {
    await using here = await editing(duet.url, door, place);
    const { page } = here;
    const asked: string[] = [];
    page.on('dialog', async (dialog) => {
      asked.push(dialog.type());
      await dialog.dismiss();
    });
    await edit(page, '12');
    await page.evaluate('void setTimeout(() => location.reload())');
    await shows(() => asked, ['beforeunload']);
    expect(await beds(page).inputValue()).toBe('12');
    await page.keyboard.press('Escape');
    await cell(page, 2, 3).dblclick();
    await page.keyboard.type('02');
    await cell(page, 3, 2).dblclick();
    await page.getByRole('alert').filter({ hasText: 'This is not complete.' }).waitFor();
    await question(page).getByRole('button', { name: 'Keep editing' }).click();
    await cell(page, 2, 3).locator('input').waitFor();
    expect(await beds(page).count()).toBe(0);
  });

  test('what somebody else has written meanwhile is overwritten by Enter alone', async () => {
    await duet.json('PUT', '/clinics/2', { beds: 1 });
    await using here = await editing(duet.url, door, place);
    const { page } = here;
    await shows(() => cell(page, 2, 2).textContent(), '1');
    await duet.json('PUT', '/clinics/2', { beds: 5 });
    await edit(page, '12');
    for (let times = 0; times < 2; times++) {
      await page.getByRole('button', { name: 'Next' }).click();
      await question(page).getByRole('button', { name: 'Keep editing' }).click();
      await page.getByRole('alert').filter({ hasText: 'changed it to 5' }).waitFor();
    }
    expect(await saved()).toBe(5);
    await beds(page).press('Enter');
    await shows(saved, 12);
  });
});

browsing('cells', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('sqlite', { sdl, data });
  });
  afterAll(() => duet.end());

  test('the dialog that changes many rows asks before it takes along what was typed', async () => {
    await using here = await editing(duet.url, 'REST', '#/data/Owner');
    const { page } = here;
    await here.go(place);
    await page.getByRole('checkbox', { name: 'Select Clinic 5', exact: true }).click();
    await page.getByRole('button', { name: 'Change…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Change 1 record?' });
    await dialog.getByLabel('Field to change').selectOption('beds');
    // Nothing is typed yet.
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Change…' }).click();
    await dialog.getByLabel('Field to change').selectOption('beds');
    await dialog.getByLabel('beds', { exact: true }).fill('9');
    for (const close of [
      () => page.keyboard.press('Escape'),
      () => dialog.getByRole('button', { name: 'Cancel' }).click(),
      () => page.evaluate('history.back()'),
    ]) {
      await close();
      await question(page).getByRole('button', { name: 'Keep editing' }).click();
      await shows(() => page.evaluate('location.hash'), place);
      expect(await dialog.getByLabel('beds', { exact: true }).inputValue()).toBe('9');
    }
    await dialog.getByRole('button', { name: 'Change 1 record' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await question(page).count()).toBe(0);
    expect((await duet.json('GET', '/clinics/5')).beds).toBe(9);
    expect(here.complaints).toEqual([]);
  });

  test('what stands before a page closes when another one is behind it', async () => {
    await using here = await editing(duet.url, 'REST', '#/data/Owner');
    const { page } = here;
    const dialog = page.getByRole('dialog');
    await here.go('#/data/Tag');
    await page.keyboard.press('Control+k');
    await dialog.waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Owner' }).waitFor();
    await dialog.waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await dialog.waitFor();
    await page.evaluate("location.hash = '#/data/Tag'");
    await page.getByRole('heading', { name: 'Tag' }).waitFor();
    await dialog.waitFor({ state: 'detached' });
    await here.go(place);
    await page.getByRole('checkbox', { name: 'Select Clinic 5', exact: true }).click();
    await page.getByRole('button', { name: 'Delete…' }).click();
    await dialog.waitFor();
    await page.evaluate("location.hash = '#/data/Clinic?sort=name'");
    await dialog.waitFor({ state: 'detached' });
    expect(here.complaints).toEqual([]);
  });

  test('a long text and a list are in sight where they are edited, in one row and in the last', async () => {
    const { id } = await duet.json('POST', '/clinics', {
      name: 'Long',
      note: 'one\ntwo\nthree\nfour\nfive\nsix',
      words: ['de', 'en', 'fr'],
    });
    await using here = await editing(duet.url, 'REST', '#/data/Owner');
    const { page } = here;
    const table = page.getByRole('region', { name: 'Clinic table' });
    const editor = page.locator('form.cell');
    for (const query of [`id[eq]=${id}`, 'sort=id&limit=100'])
      for (const column of [2, 3]) {
        await here.go(`#/data/Clinic?${query}&_columns=name,note,words`);
        await page
          .getByRole('link', { name: 'Clinic 1', exact: true })
          .or(page.getByText('Long'))
          .first()
          .waitFor();
        await table.evaluate((each: any) => each.scrollTo(0, 1e6));
        await page.locator('tr', { hasText: 'Long' }).locator(`td:nth-child(${column})`).dblclick();
        await editor.waitFor();
        const [whole, part] = [await table.boundingBox(), await editor.boundingBox()];
        expect((part?.y ?? 0) + (part?.height ?? 0)).toBeLessThan((whole?.y ?? 0) + (whole?.height ?? 0));
        // Below the head.
        const head = await page.locator('thead').boundingBox();
        expect(part?.y ?? 0).toBeGreaterThanOrEqual((head?.y ?? 0) + (head?.height ?? 0) - 1);
        await page.keyboard.press('Escape');
      }
    // An empty list covers the row below it, or leaves it alone.
    await duet.json('PUT', '/clinics/1', { words: [] });
    await duet.json('PUT', '/clinics/2', { words: ['de', 'en'] });
    await here.go('#/data/Clinic?sort=id&_columns=name,words');
    await cell(page, 1, 2).dblclick();
    await editor.waitFor();
    const bottom = (each: any) => each.getBoundingClientRect().bottom;
    expect(await editor.evaluate(bottom)).toBeGreaterThanOrEqual(
      await cell(page, 2, 2).locator('.tag').first().evaluate(bottom),
    );
    expect(here.complaints).toEqual([]);
  });

  test('the first letter takes the place of the record that a cell refers to', async () => {
    await using here = await editing(duet.url, 'REST', '#/data/Clinic?_columns=name,ownerId');
    const { page } = here;
    await cell(page, 1, 2).dblclick({ position: { x: 90, y: 15 } });
    await shows(() => page.getByRole('combobox', { name: 'ownerId' }).inputValue(), 'Ada');
    await page.getByRole('option', { name: 'Grace' }).waitFor();
    await page.keyboard.type('Gra');
    await shows(() => page.getByRole('combobox', { name: 'ownerId' }).inputValue(), 'Gra');
    expect(here.complaints).toEqual([]);
  });
});
