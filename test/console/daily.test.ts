/** What somebody who had not seen the code found misleading, cut off or out of reach in a day with the console. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Locator } from 'playwright-core';
import { browsing, service, shows, visit } from './browser.ts';
import { onBoth } from './things.ts';

const key = (at: number) => `0190f5a0-7c1e-7a64-b3f5-${String(at).padStart(12, '0')}`;

const sdl = `
type Customer @resource { id: UUID! name: String! since: DateTime email: String city: String orders: [Order!]! }
type Order @resource { id: ID! price: Decimal! @decimal(scale: 2) remark: String customer: Customer }
"""
What \`happens\`.
"""
type Log @resource @journal @check(where: { name: { ne: "x" } }, message: "A log has a name.") { id: ID! name: String! entries: [Entry!]! }
type Entry @resource @journal { id: ID! name: String! log: Log! @onDelete(do: CASCADE) }
`;

const data = {
  logs: [{ name: 'Of the ship' }],
  entries: [{ name: 'Calm', logId: 1 }],
  customers: Array.from({ length: 5 }, (_, at) => ({
    id: key(at + 1),
    name: `Ada Lovelace ${at + 1}`,
    since: '2024-05-01T12:30:00Z',
    email: 'ada@example.com',
  })),
  orders: Array.from({ length: 200 }, (_, at) => ({
    price: at === 199 ? '123456789.00' : '1.00',
    remark: at === 0 ? 'Ring twice.' : null,
    customerId: key(1 + (at % 4)),
  })),
};

browsing('a day with the console', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('sqlite', { sdl, data });
  });
  afterAll(() => duet.end());

  const isWhole = (cell: Locator) => cell.evaluate((each: any) => each.scrollWidth <= each.clientWidth);

  test('keys and numbers are never cut off, whichever rows came first, nor covered by the pencil', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Order');
    await page.getByRole('link', { name: '1', exact: true }).waitFor();
    // The widths were found for the first rows, which are shorter.
    await page.getByRole('button', { name: 'id', exact: false }).first().click();
    await page.getByRole('button', { name: 'id', exact: false }).first().click();
    const row = page.locator('tbody tr').first();
    await row.getByRole('link', { name: '200', exact: true }).waitFor();
    await shows(() => isWhole(row.locator('td').nth(0)), true);
    await shows(() => isWhole(row.locator('td.decimal')), true);
    await row.locator('td.decimal').hover();
    const pencil = await row.locator('td.decimal').evaluate((each: any) => {
      const { left, textAlign } = each.ownerDocument.defaultView.getComputedStyle(each, '::after');
      return { left, textAlign };
    });
    expect(pencil.left).toBe('2px');
    expect(here.complaints).toEqual([]);
  });

  test('a record without a name is called by its type and key, and not by a remark', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Order/record/1');
    await page.getByRole('heading', { name: 'Order 1' }).waitFor();
    await here.go('#/data/Order');
    await page.getByRole('link', { name: '1', exact: true }).waitFor();
    expect(await page.locator('thead th .head > span:first-child').allTextContents()).toEqual([
      'id',
      'price',
      'remark',
      'customer',
    ]);
  });

  test('in a narrow window too, the palette shows names, and as much of a long key as is needed', async () => {
    await using here = await visit(duet.url, { viewport: { width: 360, height: 740 } });
    const { page } = here;
    await here.go('#/data/Order');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Go to' }).fill('ada');
    const found = page.getByRole('option', { name: 'Ada Lovelace 1' });
    await found.waitFor();
    const { height = 0 } = (await found.boundingBox()) ?? {};
    expect(height).toBeLessThan(60);
    expect(await found.textContent()).toBe('Ada Lovelace 1 Customer 0190…000001');
    expect(await found.locator('.small').evaluate((each: any) => each.scrollWidth <= each.clientWidth)).toBe(
      true,
    );
  });

  test('on a telephone the name has the most room', async () => {
    await using here = await visit(duet.url, { viewport: { width: 360, height: 740 } });
    const { page } = here;
    await here.go('#/data/Customer');
    const name = page.locator('td', { hasText: 'Ada Lovelace 1' }).first();
    await name.waitFor();
    expect(await isWhole(name)).toBe(true);
    // The box that selects all rows stands above theirs, and the zone of times is told once.
    const left = async (at: number) => (await page.locator('.choose').nth(at).boundingBox())?.x;
    expect(await left(0)).toBe((await left(1)) as number);
    await page.getByRole('columnheader', { name: 'since DateTime UTC' }).waitFor();
    // The keyboard goes through the tools in the order in which they stand.
    const places = await page
      .locator('.heading .tools > *')
      .evaluateAll((all: any[]) =>
        all.map((each) => each.getBoundingClientRect()).map(({ x, y }) => y * 9 + x),
      );
    expect(places).toEqual(places.toSorted((one, other) => one - other));
  });

  test('what a key opens has the focus, and what is typed goes there', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Customer');
    await page.getByText('Ada Lovelace 4').waitFor();
    await page.keyboard.press('v');
    await shows(
      () => page.getByLabel('Name of this view').evaluate((each: any) => each.matches(':focus')),
      true,
    );
    await page.keyboard.type('new ones');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'new ones' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('f');
    await shows(() => page.getByLabel('Value').evaluate((each: any) => each.matches(':focus')), true);
    await page.keyboard.type('Lovelace 3');
    await page.keyboard.press('Enter');
    await page.waitForURL(/name\[contains\]=Lovelace/);
  });

  test('while a page is on its way, it is told that it is, and the rows that are shown keep their numbers', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    const coming = Promise.withResolvers<void>();
    const hold = async () => {
      await page.route('**/orders?**', async (route) => {
        await coming.promise;
        await route.continue();
      });
    };
    await here.go('#/data/Order');
    await page.getByText('1–25 of 200').waitFor();
    await hold();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.waitForURL(/after=/);
    await page.waitForTimeout(100);
    expect(await page.getByText('1–25 of 200').count()).toBe(1);
    await here.go('#/data/Customer');
    await page.getByText('Ada Lovelace 4').waitFor();
    await here.go('#/data/Order');
    await page.getByRole('status').filter({ hasText: 'Loading…' }).waitFor();
    coming.resolve();
    await page.getByText('1–25 of 200').waitFor();
  });

  test('what is wrong with the cell of the last row in sight can be read', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Order');
    const section = page.getByRole('region', { name: 'Order table' });
    await page.getByRole('link', { name: '1', exact: true }).waitFor();
    const edge = await section.evaluate((each: any) => each.getBoundingClientRect().bottom);
    const cells = page.locator('td.decimal');
    const tops = await cells.evaluateAll((all) =>
      all.map((each: any) => each.getBoundingClientRect().bottom),
    );
    await cells.nth(tops.findLastIndex((bottom) => bottom < edge)).dblclick();
    await page.keyboard.type('1.234');
    await page.keyboard.press('Enter');
    const fault = page.locator('#cell-fault');
    await fault.waitFor();
    const { y = 0, height = 0 } = (await fault.boundingBox()) ?? {};
    expect(y + height).toBeLessThanOrEqual(edge);
  });

  test.each([360, 1280])('at %d px a table does not scroll for what a cell is edited with', async (width) => {
    await using here = await visit(duet.url, { viewport: { width, height: 740 } });
    const { page } = here;
    const table = page.locator('.scroll');
    const measured = () =>
      table.evaluate((each: any) => [
        each.scrollHeight - each.clientHeight,
        each.scrollWidth,
        each.scrollTop,
      ]);
    // In the last row, and in the only one.
    for (const place of ['Order?id[gt]=197&_columns=id,price', 'Order?id[eq]=200&_columns=id,price']) {
      await here.go(`#/data/${place}`);
      await page.locator('table.fixed').waitFor();
      const before = await measured();
      await page.locator('tbody tr:last-child td.decimal').dblclick();
      await page.locator('#cell').fill('1.234');
      await page.keyboard.press('Enter');
      const fault = page.locator('#cell-fault');
      await fault.waitFor();
      expect([place, await measured()]).toEqual([place, before]);
      const [outer, inner, input] = await Promise.all(
        [table, fault, page.locator('#cell')].map((each) =>
          each.evaluate((element: any) => element.getBoundingClientRect().toJSON()),
        ),
      );
      expect([place, inner.left >= outer.left && inner.right <= outer.right]).toEqual([place, true]);
      expect([place, inner.top >= outer.top && inner.bottom <= outer.bottom]).toEqual([place, true]);
      // Beside the value, and not over it.
      expect([place, inner.bottom <= input.top + 1 || inner.top >= input.bottom - 1]).toEqual([place, true]);
      await page.keyboard.press('Escape');
    }
    // Nor for what stands beside the value.
    await here.go('#/data/Order?id[eq]=200&_columns=id:90,price:150,remark:80');
    await page.locator('table.fixed').waitFor();
    // The rows of the list before stay until those of this one are there.
    await shows(() => page.locator('tbody td:last-child').count(), 1);
    const before = await measured();
    await page.locator('tbody td:last-child').dblclick();
    await page.getByRole('button', { name: 'Set to empty text: remark' }).waitFor();
    expect(await measured()).toEqual(before);
    expect(here.complaints).toEqual([]);
  });

  test('on a telephone what removes a condition stands beside it, and a column of a file beside its field', async () => {
    await using here = await visit(duet.url, { viewport: { width: 360, height: 740 } });
    const { page } = here;
    const box = async (of: Locator) => (await of.boundingBox()) ?? { x: 0, y: 0, height: 0 };
    await here.go('#/data/Order');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByLabel('Field', { exact: true }).selectOption('remark');
    await page.getByLabel('Operator').selectOption('isNull');
    const line = await box(page.locator('.filter .line').filter({ has: page.getByLabel('Operator') }));
    const remove = await box(page.getByRole('button', { name: 'Remove' }));
    expect(Math.round(remove.y + remove.height)).toBe(Math.round(line.y + line.height));
    // However many lines it takes, nothing of it is above what removes it.
    const ends = await page
      .locator('.filter .condition > :not([aria-label="Remove"])')
      .evaluateAll((all: any[]) => all.map((each) => each.getBoundingClientRect().right));
    expect(remove.x).toBeGreaterThanOrEqual(Math.max(...ends));
    await here.go('#/data/Order/import');
    const file = { name: 'orders.csv', mimeType: 'text/csv', buffer: Buffer.from('remark,price\nx,1\n') };
    await page.getByLabel('File to import').setInputFiles(file);
    // One may be measured while the page still moves.
    await shows(async () => {
      const field = await box(page.getByLabel('Field of remark'));
      const name = await box(page.locator('.mapping tbody th').first());
      return Math.abs(name.y + name.height / 2 - field.y - field.height / 2) < 4;
    }, true);
    expect(here.complaints).toEqual([]);
  });
});

browsing.each(onBoth)('a day with the console, through %s on %s', (door, database) => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service(database, { sdl, data });
  });
  afterAll(() => duet.end());

  test('references are called by names, where a filter has several and where somebody else has changed one', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    await here.go('#/data/Order');
    await page.getByRole('radio', { name: door }).check();
    await page.getByText('1–25 of 200').waitFor();
    await page.keyboard.press('f');
    await page.getByLabel('Field').selectOption({ label: 'customer' });
    await page.getByLabel('Operator').selectOption('in');
    for (const name of ['Ada Lovelace 2', 'Ada Lovelace 3']) {
      await page.getByRole('combobox', { name: 'Value' }).pressSequentially(name);
      await page.getByRole('option', { name }).click();
    }
    const panel = page.getByRole('form', { name: 'Filter' });
    const values = () => panel.getByRole('list', { name: 'Values' }).getByRole('listitem').allTextContents();
    await shows(values, ['Ada Lovelace 2', 'Ada Lovelace 3']);
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('1–25 of 100').waitFor();
    await page
      .getByRole('list', { name: 'Filters' })
      .getByText('customer is one of Ada Lovelace 2, Ada Lovelace 3')
      .waitFor();
    expect(decodeURIComponent(page.url())).toContain(`customerId[in]=${key(2)},${key(3)}`);
    // They come back with their names, and go one by one.
    await page.keyboard.press('f');
    await shows(values, ['Ada Lovelace 2', 'Ada Lovelace 3']);
    await panel.getByRole('button', { name: 'Remove Ada Lovelace 2' }).click();
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('1–25 of 50').waitFor();

    const { id } = await duet.json('POST', '/orders', { price: '2.00', customerId: key(1) });
    await here.go(`#/data/Order/record/${id}/edit`);
    await page.locator('#field-customerId').fill('Ada Lovelace 2');
    await page.getByRole('option', { name: 'Ada Lovelace 2' }).click();
    await duet.json('PUT', `/orders/${id}`, { customerId: key(3) });
    await page.getByRole('button', { name: 'Save' }).click();
    const named = (at: number) => `Ada Lovelace ${at} ${key(at)}`;
    await shows(
      () => page.locator('.conflict tbody tr').allTextContents(),
      [`customer${named(1)} ${named(2)} ${named(3)}`],
    );
    await page.getByRole('button', { name: 'Save selected values' }).click();
    await page.waitForURL(new RegExp(`/record/${id}$`));
    expect(await duet.json('DELETE', `/orders/${id}`)).toBeUndefined();
    expect(here.complaints).toEqual([]);
  });

  test('a delete says what is not undone, and which of many records stand against it', async () => {
    await using here = await visit(duet.url);
    const { page } = here;
    const dialog = page.getByRole('dialog');
    await here.go('#/data/Log');
    // What the file says of it, and what is always true of it under that.
    const about = page.locator('.heading p');
    await about.waitFor();
    expect(await about.innerHTML()).toBe(
      'What <code>happens</code>.<br>Checked on every write: A log has a name.',
    );
    await here.go('#/data/Log/record/1');
    await page.getByRole('radio', { name: door }).check();
    await page.getByRole('button', { name: 'Delete' }).click();
    await dialog
      .getByText(
        'Records that belong to it are deleted too: Entry. You can bring it back for as long as the history is kept, but not what belongs to it.',
      )
      .waitFor();
    await page.keyboard.press('Escape');
    await here.go('#/data/Entry/record/1');
    await page.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByText('You can bring it back for as long as the history is kept.').waitFor();
    await page.keyboard.press('Escape');
    await here.go('#/data/Customer');
    for (const at of [4, 5]) await page.getByLabel(`Select Ada Lovelace ${at}`).click();
    await page.getByRole('button', { name: 'Delete…' }).click();
    await dialog.getByRole('button', { name: 'Delete 2 records' }).click();
    await dialog.getByText('Refused for Ada Lovelace 4.', { exact: true }).waitFor();
    // It leads there, and from there to what stands against it.
    const link = dialog.getByRole('link', { name: 'Ada Lovelace 4' });
    await here.go((await link.getAttribute('href')) ?? '');
    await page.getByRole('heading', { name: 'Ada Lovelace 4' }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByText('This cannot be undone.').waitFor();
    await dialog.getByRole('button', { name: 'Delete it' }).click();
    await shows(
      () => dialog.getByRole('alert').textContent(),
      'It cannot be deleted: Order still refers to it as customer. Show those records',
    );
    await dialog.getByRole('link', { name: 'Show those records' }).click();
    await page.getByText('50 of 200').first().waitFor();
    expect(here.complaints).toEqual([]);
  });
});
