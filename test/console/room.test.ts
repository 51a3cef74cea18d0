/** Windows of every width have room for what is needed: nothing is covered, and what goes on beyond an edge says so. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { browsing, service, shows, visit } from './browser.ts';

const sdl = `
type Item @resource { id: ID! title: String! note: String count: Int ${'abcdefgh'.replace(/./g, '$&: String ')} }
${'abcdefghijkl'.replace(/./g, 'type Kind$& @resource { id: ID! }\n')}`;

const data = {
  items: Array.from({ length: 30 }, (_, at) => ({
    title: `Item ${at + 1}`,
    note: 'word '.repeat(30),
    count: at,
  })),
};

browsing('room', () => {
  let duet: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    duet = await service('sqlite', { sdl, data });
  });
  afterAll(() => duet.end());

  const telephone = { isDrawn: true, viewport: { width: 360, height: 740 } };
  const boxOf = (of: Locator) => of.evaluate((each: any) => each.getBoundingClientRect().toJSON());
  /** What is drawn there, to be compared. */
  const drawn = async (page: Page, x: number, y: number, width: number, height: number) =>
    (await page.screenshot({ clip: { x, y, width, height }, animations: 'disabled' })).toString('base64');

  test('on a telephone inputs are in sight while the service is away, and when it is back', async () => {
    await using here = await visit(duet.url, telephone);
    const { page } = here;
    await here.go('#/data/Item/record/1/edit');
    await page.locator('#field-title').fill('Typed');
    const panel = page.getByRole('button', { name: 'REST and GraphQL' });
    await panel.click();
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Save' }).click();
    const told = page.locator('.gone.notice');
    await told.waitFor();
    const inputs = page.locator('form.record :is(input, textarea)');
    const tools = page.locator('form.record > .tools');
    await tools.getByText('Not sent').waitFor();
    const inSight = async (top: number) => {
      const bottom = (await boxOf(tools)).top;
      const boxes = await Promise.all((await inputs.all()).map(boxOf));
      return boxes.filter((box) => box.top >= top && box.bottom <= bottom).length;
    };
    expect(await inSight((await boxOf(told)).bottom)).toBeGreaterThan(2);
    // What the notice covers comes out below it for whoever goes there.
    await inputs.nth(3).focus();
    const over = (await boxOf(inputs.first())).top - (await boxOf(told)).top;
    await page.locator('main').evaluate((each: any, by) => each.scrollBy(0, by), over);
    expect((await boxOf(inputs.first())).top).toBeLessThan((await boxOf(told)).bottom);
    await inputs.first().focus();
    expect((await boxOf(inputs.first())).top).toBeGreaterThanOrEqual((await boxOf(told)).bottom);
    await page.context().setOffline(false);
    await told.waitFor({ state: 'detached' });
    await panel.waitFor();
    await inputs.first().focus();
    expect(await inSight((await boxOf(page.locator('main'))).top)).toBeGreaterThan(0);
    expect(here.complaints).toEqual([]);
  });

  test.each([360, 1280, 1920])(
    'what was done is told below the page, and covers nothing of it at %i px',
    async (width) => {
      await using here = await visit(duet.url, { isDrawn: true, viewport: { width, height: 740 } });
      const { page } = here;
      await here.go('#/data/Item/record/1/edit');
      await page.locator('#field-count').fill(String(width));
      await page.getByRole('button', { name: 'Save' }).click();
      // At once, as long as it is told.
      const toast = page.locator('.toast.shown');
      const [main, told, dock] = await toast.evaluate((each: any) =>
        ['main', '.toast', '.dock'].map((place) =>
          each.ownerDocument.querySelector(place).getBoundingClientRect().toJSON(),
        ),
      );
      expect(main.bottom).toBeLessThanOrEqual(told.top);
      // In a wide window the panel stands beside the page.
      const isBeside = width > 1800;
      expect(isBeside ? told.right <= dock.left : told.bottom <= dock.top).toBe(true);
      // And takes no room when it is gone.
      await toast.waitFor({ state: 'detached' });
      const { bottom } = await boxOf(page.locator('main'));
      expect(bottom).toBe(isBeside ? dock.bottom : (await boxOf(page.locator('.dock'))).top);
      expect(here.complaints).toEqual([]);
    },
  );

  test('the palette shows whole rows, and leaves room for the line below them', async () => {
    await using here = await visit(duet.url, { isDrawn: true });
    const { page } = here;
    await here.go('');
    await page.keyboard.press('Control+k');
    const list = page.getByRole('listbox', { name: 'Results' });
    const rows = list.getByRole('option');
    await rows.first().waitFor();
    expect(await list.evaluate((each: any) => each.scrollHeight > each.clientHeight)).toBe(true);
    const { bottom } = await boxOf(list);
    const boxes = await Promise.all((await rows.all()).map(boxOf));
    expect(boxes.filter((box) => box.top < bottom - 1 && box.bottom > bottom + 1)).toEqual([]);
    const line = await boxOf(page.getByText('Escape to close.'));
    expect(line.top).toBeGreaterThanOrEqual(bottom + 6);
    expect(here.complaints).toEqual([]);
  });

  test('the frame of a cell that has the focus is whole beside its pencil', async () => {
    await using here = await visit(duet.url, { isDrawn: true });
    const { page } = here;
    await here.go('#/data/Item');
    await page.locator('table.fixed').waitFor();
    await page.getByPlaceholder('Search items').focus();
    await page.keyboard.press('ArrowDown');
    for (const of of ['title', 'id', 'note', 'count']) {
      const cell = page.locator('td:focus');
      await cell.waitFor();
      const { left, right, top, height } = await boxOf(cell);
      const sides = async () => [
        await drawn(page, left, top + 4, 2, height - 8),
        await drawn(page, right - 2, top + 4, 2, height - 8),
      ];
      await page.mouse.move(5, 5);
      const without = await sides();
      await cell.hover();
      expect([of, await sides()]).toEqual([of, without]);
      await page.keyboard.press('ArrowRight');
    }
    expect(here.complaints).toEqual([]);
  });

  test('code is never wider than its place, and where it goes on above or below, that edge is shaded', async () => {
    await using here = await visit(duet.url, { isDrawn: true });
    const { page } = here;
    const ends = async (code: Locator) => {
      const { right, top, bottom } = await code.evaluate((each: any) => {
        const box = each.getBoundingClientRect();
        const top = box.top + each.clientTop;
        return { right: box.right, top, bottom: top + each.clientHeight };
      });
      // Beside the text, and on whole pixels.
      const strip = (y: number) => drawn(page, Math.floor(right) - 5, y, 2, 3);
      const [first, last] = [Math.ceil(top) + 1, Math.floor(bottom) - 4];
      const plain = await strip(Math.round((first + last) / 2));
      return [(await strip(first)) !== plain, (await strip(last)) !== plain];
    };
    const scroll = (code: Locator, to: number) => code.evaluate((each: any, y) => each.scrollTo(0, y), to);
    const held = async (code: Locator) => {
      expect(await code.evaluate((each: any) => each.scrollWidth > each.clientWidth)).toBe(false);
      expect(await code.evaluate((each: any) => each.scrollHeight > each.clientHeight)).toBe(true);
      expect(await ends(code)).toEqual([false, true]);
      await scroll(code, 20);
      expect(await ends(code)).toEqual([true, true]);
      await scroll(code, 10_000);
      expect(await ends(code)).toEqual([true, false]);
    };
    await here.go('#/data/Item');
    await page.getByText('Both have the same records.').waitFor();
    const codes = page.locator('.door pre');
    await held(codes.nth(1));
    // What is whole has no shade.
    expect(await ends(codes.nth(0))).toEqual([false, false]);
    await page.getByLabel('Select Item 1', { exact: true }).check();
    await page.getByRole('button', { name: 'Delete…' }).click();
    await held(page.getByRole('dialog').locator('pre').nth(1));
    expect(here.complaints).toEqual([]);
  });

  test('a table beside which the panel comes late is measured again', async () => {
    await using here = await visit(duet.url, { isDrawn: true, viewport: { width: 1920, height: 900 } });
    const { page } = here;
    // What draws tables is there.
    await here.go('#/data/Item');
    await page.locator('table.fixed').waitFor();
    await here.go('#/nothing');
    await page.locator('.dock').waitFor({ state: 'detached' });
    // A browser that is busy: what is to be done after the next frame waits until the rows are there, and the panel comes after them.
    await page.evaluate(`
      window.held = [];
      window.own = { requestAnimationFrame, setTimeout };
      window.requestAnimationFrame = () => 0;
      window.setTimeout = (step) => held.push(step);
    `);
    await page.evaluate("location.hash = '#/data/Item?_columns=id,title,count'");
    const table = page.getByRole('region', { name: 'Item table' });
    await table.locator('table.fixed').waitFor();
    await page.locator('.dock').waitFor();
    await page.evaluate('Object.assign(window, own); for (const step of held) step();');
    await shows(() => table.evaluate((each: any) => each.scrollWidth > each.clientWidth), false);
    expect(here.complaints).toEqual([]);
  });
});
